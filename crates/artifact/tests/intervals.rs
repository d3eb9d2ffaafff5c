//! Intervals in the document: of simulated runs whose percentiles are known.

mod support;

use support::{RATE, ending, header, intervals, tally};
use unblink_artifact::document::{IntervalKind, LoadPhase, Quantile, RunDocument};
use unblink_core::sim::{ServerSpec, Windows};
use unblink_core::time::{MILLISECOND_NS, Nanos, SECOND_NS};

const SECONDS: u64 = 60;

/// A minute of even arrivals at a server that answers after 10 ms.
fn document(change: impl FnOnce(&mut ServerSpec), timeout: Nanos) -> RunDocument {
    tally(&header(SECONDS, 0), &intervals(SECONDS, timeout, change)).document(&ending(SECONDS, 0))
}

fn quantile(document: &RunDocument, q: f64) -> &Quantile {
    document.response_time.quantiles.iter().find(|quantile| quantile.q == q).expect("printed")
}

#[test]
fn one_stall_is_one_event_at_its_time() {
    let stall = Windows::once(Nanos::from_secs(30), Nanos::from_secs(1));
    let document = document(|server| server.shut = vec![stall], Nanos::from_secs(30));
    let p99 = quantile(&document, 0.99);
    assert_eq!(p99.interval, Some(IntervalKind::OneEvent));
    let at = p99.event_at_ns.expect("when");
    assert!(at.abs_diff(30 * SECOND_NS) <= 100 * MILLISECOND_NS, "{at}");
    assert_eq!((p99.low, p99.high), (None, None));
    let p50 = quantile(&document, 0.5);
    let (low, high) = (p50.low.expect("low"), p50.high.expect("high"));
    assert!(low <= 10 * MILLISECOND_NS && 10 * MILLISECOND_NS <= high && high - low < 20_000, "{p50:?}");
    let service = &document.service_time.quantiles;
    assert!(service.iter().all(|quantile| quantile.interval.is_some()));
    assert!(document.send_lag.quantiles.iter().all(|quantile| quantile.interval.is_none()));
}

#[test]
fn one_event_has_one_date_in_every_row() {
    // Whatever else happens, and whether the rows' own values are of the event's start or of its end.
    for (at_ms, length_ms) in [(30_000, 1_000), (17_350, 400), (41_000, 5_000)] {
        let stall = Windows::once(Nanos::from_millis(at_ms), Nanos::from_millis(length_ms));
        let document = document(|server| server.shut = vec![stall], Nanos::from_secs(30));
        let both = [&document.response_time, &document.service_time];
        let dates: Vec<u64> = both
            .into_iter()
            .flat_map(|d| &d.quantiles)
            .filter(|quantile| quantile.interval == Some(IntervalKind::OneEvent))
            .map(|quantile| quantile.event_at_ns.expect("dated"))
            .collect();
        assert!(dates.len() >= 4, "{at_ms}: {:?}", document.response_time.quantiles);
        // Who fell due just before had not been answered yet when it began.
        let due = at_ms * MILLISECOND_NS - 10 * MILLISECOND_NS;
        assert!(dates.iter().all(|date| date.abs_diff(due) <= SECOND_NS / RATE), "{at_ms}: {dates:?}");
    }
}

#[test]
fn a_killed_run_says_so_in_the_place_of_intervals() {
    let mut intervals = support::run(1, SECONDS, 0);
    intervals.truncate(40);
    let header = header(SECONDS, 0);
    let ending = unblink_artifact::tally::Ending::unknown(&header, Nanos::from_secs(40));
    let document = tally(&header, &intervals).document(&ending);
    assert!(document.arrivals.unfinished > 0);
    for quantile in &document.response_time.quantiles {
        assert_eq!(quantile.interval, Some(IntervalKind::Killed), "{quantile:?}");
    }
}

#[test]
fn a_ramp_has_no_intervals() {
    let mut ramp = header(SECONDS, 0);
    ramp.plan.phases = vec![LoadPhase { from_per_s: 1.0, to_per_s: 9.0, duration_ns: SECONDS * SECOND_NS }];
    let document = tally(&ramp, &support::run(1, SECONDS, 0)).document(&ending(SECONDS, 0));
    for quantile in &document.response_time.quantiles {
        assert_eq!((quantile.interval, quantile.low), (Some(IntervalKind::NotSteady), None));
    }
}

#[test]
fn failures_take_their_share_of_what_is_answered() {
    let document = document(|server| server.error_one_in = 5, Nanos::from_secs(30));
    let p99 = quantile(&document, 0.99).answered_within.expect("arrivals failed");
    let ok = document.arrivals.ok as f64 / document.arrivals.scheduled as f64;
    // Every answer takes the same time.
    assert!((p99 - ok).abs() < 1e-9 && (0.75..0.85).contains(&ok), "{p99} {ok}");
}

#[test]
fn what_timed_out_leaves_two_bounds() {
    let stalls = Windows {
        first: Nanos::from_secs(2),
        length: Nanos::from_secs(1),
        every: Some(Nanos::from_secs(4)),
        count: None,
    };
    let document = document(|server| server.shut = vec![stalls], Nanos::from_millis(500));
    let p99 = quantile(&document, 0.99);
    assert!(p99.censored && p99.if_never.is_none(), "{p99:?}");
    let now = p99.if_answered_now.expect("a bound");
    assert!(now.abs_diff(500 * MILLISECOND_NS) < MILLISECOND_NS, "{now}");
    assert_eq!(quantile(&document, 0.5).if_answered_now, None);
}
