//! What is told while a run goes on, against a stall whose figures follow from arithmetic.

mod support;

use support::{RATE, TIMEOUT, header, intervals};
use unblink_analysis::waiting::SoFar;
use unblink_artifact::header::RunHeader;
use unblink_artifact::tally::{Snapshot, Tally};
use unblink_core::record::Interval;
use unblink_core::sim::Windows;
use unblink_core::time::{MILLISECOND_NS, Nanos, SECOND_NS};

const SECONDS: u64 = 12;
/// From 5 s to 8 s nothing is answered.
const SHUT: (u64, u64) = (5, 3);
/// Between two arrivals.
const GAP_NS: u64 = SECOND_NS / RATE;

fn snapshots(header: RunHeader, intervals: &[Interval]) -> Vec<Snapshot> {
    let mut tally = Tally::new(header);
    let mut look = |interval: &Interval| {
        tally.add(interval);
        tally.snapshot(interval)
    };
    intervals.iter().map(&mut look).collect()
}

fn stalled(timeout: Nanos) -> Vec<Interval> {
    intervals(SECONDS, timeout, |server| {
        server.shut = vec![Windows::once(Nanos::from_secs(SHUT.0), Nanos::from_secs(SHUT.1))];
    })
}

/// `found` is `exact_ns`, which is an age: told too short by a sixteenth at most.
fn assert_age(found: Option<SoFar>, exact_ns: u64, what: &str) {
    let SoFar { value_ns, is_longer } = found.expect("somebody waits");
    let is_right = is_longer && value_ns <= exact_ns && (exact_ns - value_ns) * 16 <= exact_ns;
    assert!(is_right, "{what}: {value_ns}, longer: {is_longer}, exact: {exact_ns}");
}

/// The median and the 99th percentile of everyone in the second that ends at `end_s`, by hand: an arrival every 10 ms,
/// each answered after 10 ms or when the target answers again.
fn exact(end_s: u64) -> [(u64, bool); 2] {
    let (shut, open) = (SHUT.0 * SECOND_NS, (SHUT.0 + SHUT.1) * SECOND_NS);
    let (from, to) = ((end_s - 1) * SECOND_NS, end_s * SECOND_NS);
    let mut everyone: Vec<(u64, bool)> = Vec::new();
    for intended in (0..SECONDS * RATE).map(|k| k * GAP_NS).filter(|intended| *intended < to) {
        let work = intended + 10 * MILLISECOND_NS;
        let answered = if (shut..open).contains(&work) { open } else { work };
        match answered < to {
            true if answered >= from => everyone.push((answered - intended, false)),
            true => {}
            false => everyone.push((to - intended, true)),
        }
    }
    everyone.sort_unstable();
    [50, 99].map(|percent| everyone[(everyone.len() * percent).div_ceil(100) - 1])
}

#[test]
fn a_stall_raises_the_last_second_and_is_over_when_it_is_over() {
    let told = snapshots(header(SECONDS, 0), &stalled(Nanos::from_secs(30)));
    // About 1 s of stall, 2 s, 3 s; and half of that in the middle.
    for (end_s, p99_ms) in [(6, 990), (7, 1_980), (8, 2_970)] {
        let [(p50, p50_waits), (p99, p99_waits)] = exact(end_s);
        assert!(
            p50_waits && p99_waits && p99.abs_diff(p99_ms * MILLISECOND_NS) <= 2 * GAP_NS,
            "{end_s} s: {p99}"
        );
        assert!(p50.abs_diff(p99 / 2) <= 2 * GAP_NS, "{end_s} s: {p50}");
    }
    for (snapshot, end_s) in told.iter().zip(1..=SECONDS) {
        assert_eq!(snapshot.at, Nanos::from_secs(end_s));
        for (found, (exact_ns, is_longer)) in
            [snapshot.last.p50, snapshot.last.p99].into_iter().zip(exact(end_s))
        {
            let what = format!("after {end_s} s");
            match is_longer {
                true => assert_age(found, exact_ns, &what),
                false => {
                    let found = found.expect("answers");
                    assert!(
                        !found.is_longer && found.value_ns.abs_diff(exact_ns) <= exact_ns / 1000,
                        "{what}"
                    );
                }
            }
        }
    }
    // The second in which all of them are answered, and the one after it.
    assert!(told[8].last.p99.is_some_and(|p99| !p99.is_longer && p99.value_ns > 2_900 * MILLISECOND_NS));
    assert!(told[9].last.p99.is_some_and(|p99| p99.value_ns.abs_diff(10 * MILLISECOND_NS) < MILLISECOND_NS));
    assert_eq!(told[9].last.ok_per_s, RATE as f64);
    // Over all of it a quarter has waited: 300 of 1,100 arrivals from 0 s to 3 s.
    let so_far = told[10].so_far;
    assert_eq!((so_far.due, so_far.errors), (11 * RATE, 0));
    let p99 = so_far.p99.expect("answers").value_ns;
    assert!(p99.abs_diff(2_900 * MILLISECOND_NS) <= 3 * GAP_NS, "{p99}");
}

#[test]
fn so_far_counts_those_who_wait() {
    let told = snapshots(header(SECONDS, 0), &stalled(Nanos::from_secs(30)));
    // 500 were answered, 300 wait, of whom 8 have waited for 2.93 s or longer.
    assert_age(told[7].so_far.p99, 2_930 * MILLISECOND_NS, "p99 of 800");
    assert_eq!(told[7].so_far.p50, told[4].so_far.p50);
}

/// Who has timed out is known to take longer than the timeout, in the second in which that shows.
#[test]
fn timed_out_is_longer_than_the_timeout() {
    let told = snapshots(header(SECONDS, 0), &stalled(Nanos::from_secs(1)));
    for second in [6, 7] {
        assert!(told[second].last.errors > 90);
        assert_age(told[second].last.p99, SECOND_NS, "p99");
    }
    assert_eq!(told[10].last.errors, 0);
}

/// Of the warm-up no times are on record; who waits is known all the same.
#[test]
fn a_stall_during_the_warm_up_is_told_too() {
    let mut stalled = stalled(Nanos::from_secs(30));
    for interval in &mut stalled {
        interval.bank.counters.warmup = std::mem::take(&mut interval.bank.counters.measured);
        for series in unblink_core::record::Series::ALL {
            interval.bank.track_mut(series).clear();
        }
    }
    let told = snapshots(header(1, SECONDS), &stalled);
    assert_eq!((told[2].is_warmup, told[2].last.p50, told[2].last.p99), (true, None, None));
    assert_age(told[7].last.p99, 2_970 * MILLISECOND_NS, "p99");
    assert_eq!((told[7].so_far.due, told[7].so_far.p99), (0, None));
    assert_eq!(TIMEOUT.0, header(1, 1).plan.timeout_ns);
}
