//! What arrivals waited for before they were sent, and why response and service time differ.

use super::{none_ok, shown, wrong_client};
use crate::format::{self, Bound};
use unblink_artifact::document::RunDocument;

/// Below this, response and service time are the same to a reader.
const DIFFERENCE_NS_MIN: u64 = 1_000_000;

/// Why response and service time differ, or that they don't.
pub(crate) fn difference(doc: &RunDocument) -> String {
    if let Some(client) = wrong_client(doc) {
        return format!("What the client {client:?} would report, not what users feel.");
    }
    let (response, service) = (&doc.response_time, &doc.service_time);
    if let Some(why) = none_ok(doc) {
        return format!("{why}. There is no response time.");
    }
    if response.count == 0 {
        return "Nothing was answered: there is no response time.".into();
    }
    let pairs = || {
        // What the table does not show is not spoken of.
        response.quantiles[..shown(response).0]
            .iter()
            .filter_map(|r| service.quantiles.iter().find(|s| s.q == r.q).map(|s| (r, s)))
    };
    if let Some((r, s)) = pairs().find(|(r, s)| r.censored && !s.censored) {
        return format!(
            "At {} users waited longer than {}; the service time shows {}: {}.",
            format::quantile_label(r.q),
            format::least(r.value),
            format::duration(s.value),
            cause(doc)
        );
    }
    let known = pairs().filter(|(r, s)| !r.censored && !s.censored);
    // Each by itself: a gap that is little of the highest percentile may be most of another.
    let (mut widest, mut compared): (Option<(String, u64)>, bool) = (None, false);
    let mut consider = |label: String, r: u64, s: u64| {
        compared = true;
        let gap = r.saturating_sub(s);
        let differs = gap >= DIFFERENCE_NS_MIN && gap >= r / 20;
        if differs && widest.as_ref().is_none_or(|(_, widest)| gap > *widest) {
            widest = Some((label, gap));
        }
    };
    for (r, s) in known {
        consider(format!("At {}", format::quantile_label(r.q)), r.value, s.value);
    }
    if let (0, Some(r), Some(s)) = (response.censored, response.max, service.max) {
        consider("In the worst case".into(), r, s);
    }
    let of_part = if doc.part.is_some() { " of this part" } else { "" };
    match (widest, doc.send_lag.max) {
        (None, _) if !compared => {
            "How response and service time differ is not known: too much is beyond the timeout.".into()
        }
        (Some((label, gap)), _) => format!(
            "{label} users waited {} longer than the service time shows: {}.",
            format::duration(gap),
            cause(doc)
        ),
        (_, Some(lag)) if lag < DIFFERENCE_NS_MIN => {
            format!(
                "Response and service time agree: every request{of_part} was sent within {} of its time.",
                Bound::Upper.duration(lag)
            )
        }
        _ => "Response and service time are within 1 ms or 5 % of each other in every percentile that is shown.".into(),
    }
}

/// Which part of the send lag is the largest, in words. What retries took is not known beside it.
pub(super) fn cause(doc: &RunDocument) -> &'static str {
    if doc.retries.as_ref().is_some_and(|retries| retries.retried > 0) {
        return match doc.send_lag.max {
            Some(lag) if lag < DIFFERENCE_NS_MIN => "some were tried again",
            _ => "some were tried again, or waited to be sent",
        };
    }
    let lag = &doc.lag_causes;
    let largest = [lag.no_connection_ns, lag.no_room_ns, lag.connecting_ns, lag.generator_ns]
        .into_iter()
        .fold(0, u64::max);
    if largest == 0 {
        "arrivals waited to be sent"
    } else if largest == lag.no_connection_ns {
        "arrivals queued for a connection"
    } else if largest == lag.no_room_ns {
        "arrivals waited for room on a connection"
    } else if largest == lag.connecting_ns {
        "arrivals waited for connections to be opened"
    } else {
        "the load generator was late"
    }
}

/// Whether any arrival waited to be sent. The one that is just being sent counts as waiting in every run, also in a
/// simulated one in which no time passes between.
pub(crate) fn waited(doc: &RunDocument) -> bool {
    doc.send_lag.max.is_none_or(|max| max > 0)
        || doc.arrivals.unsent > 0
        || doc.arrivals.timed_out_never_sent > 0
}

/// How many arrivals waited to be sent, for what, and how long.
pub(crate) fn waits(doc: &RunDocument) -> Vec<String> {
    let lag = &doc.lag_causes;
    [
        (lag.no_connection, lag.no_connection_ns, "because every connection was in use"),
        (lag.no_room, lag.no_room_ns, "because every connection was full"),
        (lag.connecting, lag.connecting_ns, "for a connection to be opened"),
    ]
    .into_iter()
    .filter_map(|(n, ns, why)| {
        let each = format::duration(ns.checked_div(n)?);
        Some(match n {
            1 => format!("1 arrival waited {why}: {each}."),
            n => format!("{} arrivals waited {why}, {each} on average.", format::count(n)),
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn why_response_and_service_time_differ() {
        assert_eq!(
            format::plain(&difference(&fixture::pool())),
            "At p99.9 users waited 950 ms longer than the service time shows: arrivals queued for a connection."
        );
        let mut full = fixture::pool();
        let lag = &mut full.lag_causes;
        std::mem::swap(&mut lag.no_connection, &mut lag.no_room);
        std::mem::swap(&mut lag.no_connection_ns, &mut lag.no_room_ns);
        assert_eq!(cause(&full), "arrivals waited for room on a connection");
        let said = waits(&full).join(" ");
        assert!(said.contains("because every connection was full"), "{said}");
        assert!(difference(&fixture::stall()).starts_with("Response and service time agree"));
        // The widest gap is little of its own percentile, the other one most of it.
        let mut doc = fixture::stall();
        doc.send_lag.max = Some(20_000_000);
        for (r, s) in doc.response_time.quantiles.iter_mut().zip(&mut doc.service_time.quantiles) {
            (r.value, s.value) =
                if r.q > 0.99 { (1_000_000_000, 990_000_000) } else { (3_000_000, 1_000_000) };
        }
        let said = format::plain(&difference(&doc));
        assert!(said.starts_with("At p50 users waited 2 ms longer than the service time shows"), "{said}");
        // A percentile that is not shown is not named.
        for r in &mut doc.response_time.quantiles {
            (r.value, r.few_samples) =
                if r.q > 0.9 { (9_000_000_000, r.q > 0.95) } else { (1_000_000, false) };
        }
        doc.response_time.max = None;
        let last = doc.response_time.quantiles[shown(&doc.response_time).0 - 1].q;
        let said = format::plain(&difference(&doc));
        let named = said.split(' ').nth(1).expect("a percentile");
        assert!(
            doc.response_time.quantiles.iter().any(|r| r.q <= last && format::quantile_label(r.q) == named),
            "{said}"
        );
        for r in &mut doc.response_time.quantiles {
            r.value = if r.few_samples && r.q > last { 9_000_000_000 } else { 1_000_000 };
        }
        assert_eq!(
            difference(&doc),
            "Response and service time are within 1 ms or 5 % of each other in every percentile that is shown."
        );
        let mut censored = fixture::saturated();
        censored.service_time = fixture::stall().service_time;
        censored.lag_causes.connecting_ns = u64::MAX;
        assert_eq!(
            format::plain(&difference(&censored)),
            "At p50 users waited longer than 5 s; the service time shows 10.1 ms: arrivals waited for connections \
             to be opened."
        );
    }

    #[test]
    fn a_part_does_not_speak_for_the_whole_run() {
        let mut doc = fixture::stall();
        doc.part = Some(unblink_artifact::document::Part { from_ns: 0, to_ns: 1 });
        assert!(difference(&doc).contains("every request of this part was sent"), "{}", difference(&doc));
    }

    #[test]
    fn one_is_not_many() {
        let doc = fixture::one_arrival();
        assert_eq!(
            waits(&doc).iter().map(|wait| format::plain(wait)).collect::<Vec<_>>(),
            ["1 arrival waited for a connection to be opened: 210 µs."]
        );
    }
}
