//! The intervals of percentiles in words.

use super::{answered_within, invalid_note, is_few, quantile, rows, shown, unshown};
use crate::event;
use crate::format;
use unblink_artifact::document::{
    Distribution, IntervalKind, Quantile, RunDocument, ShapeResult, SoakFigure, SoakFigureName,
};

/// The percentiles that the two extremes are told for: what people quote.
const EXTREMES_OF: [f64; 3] = [0.5, 0.9, 0.99];

/// The mark of what forbids to quote the figures.
pub(crate) const INVALID: &str = "✗";

/// What is to be known of the percentiles of a run beside a table of `columns`: a mark and a sentence each.
pub(crate) fn notes(doc: &RunDocument, columns: &[&Distribution]) -> Vec<(&'static str, String)> {
    let response = &doc.response_time;
    let (listed, more) = rows(doc);
    let shown = || listed.iter().flat_map(|row| columns.iter().filter_map(|d| quantile(d, row.q)));
    let mut notes: Vec<(&'static str, String)> = Vec::new();
    notes.extend(invalid_note(doc).map(|note| (INVALID, note.into())));
    if shown().any(is_few) {
        notes.push(("~", "fewer than 10 samples lie above it".into()));
    }
    let intervals = shown().any(|of| !interval(of).is_empty());
    let intervals = intervals.then(|| "in parentheses: the 95\u{a0}% interval".to_string());
    let about = unshown(more).into_iter().chain(intervals).chain(without_interval(doc));
    let bounds = extremes(response).into_iter().chain(with_lost(doc)).chain(answered_within(doc));
    notes.extend(about.chain(bounds).map(|sentence| ("·", sentence)));
    if response.censored > 0 {
        let open = format::plural(response.censored, "arrival", "arrivals");
        notes.push((">", format!("longer than that: {open} had not ended by then")));
    }
    notes
}

/// The 95 % interval of a quantile: `(405–415 ms)`; nothing where there is none.
pub(crate) fn interval(quantile: &Quantile) -> String {
    match (quantile.low, quantile.high) {
        (Some(low), Some(high)) => format!("({})", format::between(low, high)),
        _ => String::new(),
    }
}

/// Why some of the printed percentiles have no interval, a sentence for each reason.
fn without_interval(doc: &RunDocument) -> Vec<String> {
    let d = &doc.response_time;
    let mut told: Vec<(String, Vec<f64>)> = Vec::new();
    for quantile in &d.quantiles[..shown(d).0] {
        let Some(reason) = reason(doc, quantile) else { continue };
        // A drift looks like an event, and like a memory longer than any run.
        let reason = if drifts(doc) { "no interval, since response times drift".to_string() } else { reason };
        match told.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, of)) => of.push(quantile.q),
            None => told.push((reason, vec![quantile.q])),
        }
    }
    told.into_iter()
        .map(|(reason, of)| {
            let labels: Vec<String> = of.into_iter().map(format::quantile_label).collect();
            format!("{}: {reason}", labels.join(", "))
        })
        .collect()
}

/// A soak has found that response times are not at one level.
fn drifts(doc: &RunDocument) -> bool {
    let Some(ShapeResult::Soak(soak)) = &doc.shape else { return false };
    let is_time = |figure: &SoakFigure| matches!(figure.figure, SoakFigureName::P50 | SoakFigureName::P99);
    soak.figures.iter().any(|figure| figure.is_drift && is_time(figure))
}

fn reason(doc: &RunDocument, quantile: &Quantile) -> Option<String> {
    let measured = |ns| format::duration(ns);
    Some(match quantile.interval? {
        IntervalKind::BlockBootstrap | IntervalKind::Exact => return None,
        IntervalKind::Censored => "the interval's upper end lies beyond what is known".into(),
        IntervalKind::NotEnoughData => "not enough data for an interval".into(),
        IntervalKind::OneEvent => match quantile.event_at_ns {
            Some(at) => {
                let at = format::moment(event::about(doc, at));
                format!("one event at t = {at} decides this percentile")
            }
            None => "one event decides this percentile".into(),
        },
        IntervalKind::FewEvents => match quantile.events {
            Some(1) => "one event decides this percentile".into(),
            None => "few events decide this percentile".into(),
            Some(events) => format!("few events (about {events}) decide this percentile"),
        },
        IntervalKind::TooShort => match quantile.needed_ns {
            Some(needed) => format!("too short for an interval, which needs {}", measured(needed)),
            None => "too short for an interval".into(),
        },
        IntervalKind::NotSteady if doc.validity.findings.iter().any(|f| f.code == "saturated") => {
            // Who could not carry it is for the findings to say: it may be the client.
            "no interval, since the load was not carried".into()
        }
        IntervalKind::NotSteady => "no interval, since the rate changes".into(),
        IntervalKind::Killed => {
            "no interval: the run was killed or goes on, and what was under way may be the slowest".into()
        }
        IntervalKind::Lost => "no interval: machines were lost, and their arrivals may be the slowest".into(),
    })
}

/// Between which values the percentiles lie, whatever became of the arrivals of machines that were lost.
fn with_lost(doc: &RunDocument) -> Option<String> {
    let d = &doc.response_time;
    let ranges = d.quantiles[..shown(d).0].iter().filter_map(|quantile| {
        let low = quantile.if_lost_at_once?;
        let range = match quantile.if_lost_never {
            Some(high) => format::between(low, high),
            None => format!("> {}", format::duration(low)),
        };
        Some(format!("{} {range}", format::quantile_label(quantile.q)))
    });
    let ranges: Vec<String> = ranges.collect();
    let lost = format::plural(doc.arrivals.lost, "lost arrival", "lost arrivals");
    (!ranges.is_empty()).then(|| format!("whatever became of the {lost}: {}", ranges.join(", ")))
}

/// Between which values the percentiles lie, whatever became of the censored arrivals.
fn extremes(d: &Distribution) -> Option<String> {
    let of = |value: &dyn Fn(&Quantile) -> Option<String>| -> Vec<String> {
        let told = d.quantiles[..shown(d).0].iter().filter(|quantile| EXTREMES_OF.contains(&quantile.q));
        told.filter(|quantile| quantile.if_answered_now.is_some())
            .filter_map(|quantile| {
                Some(format!("{} {}", format::quantile_label(quantile.q), value(quantile)?))
            })
            .collect()
    };
    let now = of(&|quantile| quantile.if_answered_now.map(format::duration));
    let never = of(&|quantile| Some(quantile.if_never.map_or("without end".into(), format::duration)));
    (!now.is_empty()).then(|| {
        format!(
            "if all censored arrivals had been answered at their age: {}; if never: {}",
            now.join(", "),
            never.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn each_reason_is_told_once() {
        let mut doc = fixture::stall();
        for quantile in &mut doc.response_time.quantiles {
            match quantile.q {
                q if q < 0.98 => {
                    quantile.interval = Some(IntervalKind::BlockBootstrap);
                    quantile.low = Some(9_900_000);
                    quantile.high = Some(10_200_000);
                }
                _ => {
                    quantile.interval = Some(IntervalKind::OneEvent);
                    quantile.event_at_ns = Some(30_000_000_000);
                }
            }
        }
        let told = without_interval(&doc);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].starts_with("p98, p99"), "{told:?}");
        assert!(told[0].ends_with("one event at t = 30\u{a0}s decides this percentile"), "{told:?}");
        assert_eq!(interval(&doc.response_time.quantiles[0]), "(9.90–10.2\u{a0}ms)");
        assert_eq!(interval(&doc.response_time.quantiles[6]), "");
    }

    #[test]
    fn reasons_are_told_as_they_are() {
        let mut doc = fixture::stall();
        let mut told = |kind, events| {
            for quantile in &mut doc.response_time.quantiles {
                (quantile.interval, quantile.events) = (Some(kind), events);
            }
            without_interval(&doc).join("; ")
        };
        assert!(told(IntervalKind::FewEvents, Some(1)).ends_with(": one event decides this percentile"));
        assert!(
            told(IntervalKind::FewEvents, Some(4)).ends_with("few events (about 4) decide this percentile")
        );
        assert!(told(IntervalKind::NotSteady, None).ends_with("no interval, since the rate changes"));
        assert!(told(IntervalKind::Killed, None).contains("no interval: the run was killed"));
        assert!(told(IntervalKind::Lost, None).contains("no interval: machines were lost"));
    }

    /// The client's connections may have been the limit.
    #[test]
    fn nobody_is_blamed_for_a_missing_interval() {
        let mut doc = fixture::saturated();
        doc.response_time = fixture::stall().response_time;
        for quantile in &mut doc.response_time.quantiles {
            quantile.interval = Some(IntervalKind::NotSteady);
        }
        let told = without_interval(&doc).join("; ");
        assert!(told.ends_with("no interval, since the load was not carried"), "{told}");
    }

    #[test]
    fn extremes_are_told_where_censoring_bears_on_a_percentile() {
        let mut doc = fixture::stall();
        assert_eq!(extremes(&doc.response_time), None);
        let p99 = doc.response_time.quantiles.iter_mut().find(|q| q.q == 0.99).expect("p99");
        p99.if_answered_now = Some(5_000_000_000);
        let told = extremes(&doc.response_time).expect("told");
        assert!(told.contains("age: p99 5\u{a0}s; if never: p99 without end"), "{told}");
    }
}
