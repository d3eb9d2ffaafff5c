//! What was left out at the beginning of a run.

use crate::facts;
use crate::format::{self, plural};
use unblink_artifact::document::{RunDocument, TransientStatus};

/// What the stretch before it is called in a picture; nothing when there is none.
pub(crate) fn left_out_name(doc: &RunDocument) -> Option<&'static str> {
    match &doc.transient {
        Some(transient) if transient.to_ns > 0 => Some("left out"),
        _ => doc.warmup.as_ref().filter(|_| doc.plan.warmup_ns > 0).map(|_| "warm-up"),
    }
}

/// What became of the transient of a run with `--warmup auto`, its percentiles included.
pub(crate) fn transient(doc: &RunDocument) -> Option<String> {
    let transient = doc.transient.as_ref()?;
    let event = transient.event_at_ns.map(|at| {
        format!(
            " The event at {} is not a transient, so nothing from there on is left out.",
            format::moment(crate::event::about(doc, at))
        )
    });
    let event = event.unwrap_or_default();
    match (transient.status, &transient.arrivals, &transient.response_time) {
        (TransientStatus::LeftOut, Some(arrivals), Some(response)) => {
            let value = |q| facts::quantile(response, q).map_or("–".to_string(), facts::value);
            Some(format!(
                "The first {} are left out as a transient: {}, p50 {}, p99 {}, max {}.{event}",
                format::duration(transient.to_ns),
                plural(arrivals.scheduled, "arrival", "arrivals"),
                value(0.5),
                value(0.99),
                facts::max(response)
            ))
        }
        (TransientStatus::None, ..) => Some(format!("No transient was found to leave out.{event}")),
        // The finding says why.
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use unblink_artifact::document::{Arrivals, Transient};

    #[test]
    fn what_is_left_out_is_told_with_its_percentiles() {
        let mut doc = fixture::stall();
        assert_eq!((transient(&doc), doc.measured_from_ns(), left_out_name(&doc)), (None, 0, None));
        doc.transient = Some(Transient {
            status: TransientStatus::LeftOut,
            to_ns: 10_000_000_000,
            event_at_ns: None,
            arrivals: Some(Arrivals { scheduled: 10_000, ..Arrivals::default() }),
            response_time: Some(doc.service_time.clone()),
        });
        let text = format::plain(&transient(&doc).unwrap_or_default());
        assert!(
            text.starts_with("The first 10 s are left out as a transient: 10 000 arrivals, p50 "),
            "{text}"
        );
        assert!(text.contains(", p99 ") && text.contains(", max "), "{text}");
        assert_eq!((doc.measured_from_ns(), left_out_name(&doc)), (10_000_000_000, Some("left out")));

        let nothing = Transient {
            status: TransientStatus::None,
            to_ns: 0,
            event_at_ns: Some(3_000_000_000),
            arrivals: None,
            response_time: None,
        };
        doc.transient = Some(nothing.clone());
        let text = transient(&doc).unwrap_or_default();
        assert!(text.contains("No transient") && text.contains("The event at"), "{text}");
        doc.transient = Some(Transient { status: TransientStatus::NotFound, ..nothing });
        assert_eq!((transient(&doc), left_out_name(&doc)), (None, None));
    }
}
