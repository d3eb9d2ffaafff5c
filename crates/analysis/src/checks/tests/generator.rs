//! What the generator itself did.

use super::*;

#[test]
fn sent_below_offered() {
    let late = |n: u64| World::with(|w| w.evidence.sent_in_load = N - n);
    let degrades = ((1.0 - SENT_SHARE_DEGRADES) * N as f64).round() as u64;
    let invalidates = ((1.0 - SENT_SHARE_INVALIDATES) * N as f64).round() as u64;
    assert_eq!(late(degrades).severity(Code::SentBelowOffered), None);
    assert_eq!(late(degrades + 1).severity(Code::SentBelowOffered), DEGRADES);
    assert_eq!(late(invalidates).severity(Code::SentBelowOffered), DEGRADES);
    assert_eq!(late(invalidates + 1).severity(Code::SentBelowOffered), INVALIDATES);

    // Others may have kept more from being sent, which is not counted here.
    let said = late(invalidates + 1).finding(Code::SentBelowOffered).expect("found").message;
    assert!(said.ends_with("were not sent before the load ended, for reasons of its own."), "{said}");

    let mut pool_is_why = late(invalidates + 1);
    pool_is_why.bank.counters.lag.no_connection_ns = N * 5_000;
    assert_eq!(pool_is_why.severity(Code::SentBelowOffered), None);

    let few = |n: u64| {
        World::with(|w| {
            (w.evidence.scheduled, w.evidence.sent_in_load) = (100, 100 - n);
            *w.measured() = Outcomes { due: 100, sent: 100, ok: 100, ..Outcomes::default() };
        })
    };
    assert_eq!(few(SENT_MISSING_MIN - 1).severity(Code::SentBelowOffered), None);
    assert_eq!(few(SENT_MISSING_MIN).severity(Code::SentBelowOffered), INVALIDATES);
}

/// Of 100,000 arrivals, `n` were sent `late` because of the generator.
fn late(n: u64, late: Nanos) -> World {
    World::with(|w| {
        let track = w.bank.track_mut(Series::GeneratorLate);
        track.clear();
        (0..N - n).for_each(|_| track.record(Nanos(1)));
        (0..n).for_each(|_| track.record(late));
    })
}

#[test]
fn generator_late() {
    let p99 = N / 100 + 1;
    let just_above = |share: f64| Nanos((share * RESPONSE.0 as f64 * 1.01) as u64);
    let just_below = |share: f64| Nanos((share * RESPONSE.0 as f64 * 0.99) as u64);
    assert_eq!(late(p99, just_below(LATE_SHARE_DEGRADES)).severity(Code::GeneratorLate), None);
    assert_eq!(late(p99, just_above(LATE_SHARE_DEGRADES)).severity(Code::GeneratorLate), DEGRADES);
    assert_eq!(late(p99, just_below(LATE_SHARE_INVALIDATES)).severity(Code::GeneratorLate), DEGRADES);
    let invalid = late(p99, just_above(LATE_SHARE_INVALIDATES)).finding(Code::GeneratorLate);
    let invalid = invalid.expect("a finding");
    assert!(invalid.severity == Severity::Invalidates && invalid.message.contains(" at p99,"), "{invalid:?}");
    assert!(invalid.remedy.starts_with("Lower the rate, "), "{invalid:?}");
    let mut scripted = late(p99, just_above(LATE_SHARE_INVALIDATES));
    scripted.evidence.script = Some("script slow.lua");
    let remedy = scripted.finding(Code::GeneratorLate).expect("a finding").remedy;
    assert!(
        remedy.starts_with("The script slow.lua runs in") && remedy.contains(", lower the rate, "),
        "{remedy}"
    );

    let tail = N / 1_000 + 1;
    assert_eq!(late(tail, just_below(LATE_SHARE_INVALIDATES)).severity(Code::GeneratorLate), None);
    assert_eq!(late(tail, just_above(LATE_SHARE_INVALIDATES)).severity(Code::GeneratorLate), DEGRADES);

    // A target that answers in 100 µs: lateness below the floor is never held against the generator.
    let fast = |own: Nanos| {
        let mut world = late(N / 2 + 1, own);
        world.bank.track_mut(Series::Response).clear();
        (0..N).for_each(|_| world.bank.track_mut(Series::Response).record(Nanos::from_micros(1_100)));
        world.severity(Code::GeneratorLate)
    };
    assert_eq!((fast(LATE_FLOOR), fast(LATE_FLOOR + Nanos::from_micros(2))), (None, INVALIDATES));
}

#[test]
fn lateness_is_part_of_what_failed_too() {
    // Half of all fail after 60 ms, of which 3 ms are the generator's; the others take 1 ms and were sent in time.
    let mixed = World::with(|w| {
        w.bank = Bank::new(1);
        let half = N / 2;
        for _ in 0..half {
            w.bank.track_mut(Series::Response).record(Nanos::from_millis(1));
            w.bank.track_mut(Series::Failed).record(Nanos::from_millis(60));
            w.bank.track_mut(Series::GeneratorLate).record(Nanos::from_micros(1));
            w.bank.track_mut(Series::GeneratorLate).record(Nanos::from_millis(3));
        }
        let failed = &mut w.bank.counters.measured;
        (failed.due, failed.sent, failed.ok) = (N, N, half);
        failed.failed[FailureKind::STATUS_5XX.index()] = half;
    });
    assert_eq!(mixed.severity(Code::GeneratorLate), None);
}

#[test]
fn generator_headroom() {
    let busy = |all: f64, max: f64| {
        World::with(|w| (w.evidence.busy_share, w.evidence.busy_share_max) = (all, max))
            .severity(Code::GeneratorBusy)
    };
    assert_eq!(busy(0.5, BUSY_SHARE_DEGRADES), None);
    assert_eq!(busy(0.5, BUSY_SHARE_DEGRADES + 0.001), DEGRADES);
    assert_eq!(busy(BUSY_SHARE_INVALIDATES, 1.0), DEGRADES);
    assert_eq!(busy(BUSY_SHARE_INVALIDATES + 0.001, 1.0), INVALIDATES);
    let short = World::with(|w| {
        (w.evidence.busy_share, w.bank.counters.own.total) = (1.0, BUSY_TIME_MIN - Nanos(1));
    });
    assert_eq!(short.severity(Code::GeneratorBusy), None, "a share of a moment");

    let steal = |share: f64| World::with(|w| w.evidence.steal_share = Some(share)).severity(Code::CpuSteal);
    assert_eq!(steal(STEAL_SHARE_DEGRADES), None);
    assert_eq!(steal(STEAL_SHARE_DEGRADES + 0.001), DEGRADES);
    assert_eq!(steal(STEAL_SHARE_INVALIDATES), DEGRADES);
    assert_eq!(steal(STEAL_SHARE_INVALIDATES + 0.001), INVALIDATES);
    assert_eq!(World::with(|w| w.evidence.steal_share = None).severity(Code::CpuSteal), None);
}

#[test]
fn generator_paused() {
    // One arrival in fifty takes 30 ms, so that p99 is among the slow and p98 is not.
    let paused = |longest: Nanos, share: f64| {
        let world = World::with(|w| {
            let own = &mut w.bank.counters.own;
            own.total = Nanos::from_secs(SECONDS);
            own.paused = Nanos((own.total.0 as f64 * share) as u64);
            own.pause_max = longest;
            let response = w.bank.track_mut(Series::Response);
            response.clear();
            (0..N).for_each(|k| response.record(if k % 50 == 0 { Nanos::from_millis(30) } else { RESPONSE }));
        });
        world.severity(Code::GeneratorPaused)
    };
    assert_eq!(paused(Nanos::ZERO, 0.0), None);
    assert_eq!(paused(PAUSE_MIN - Nanos(1), 0.001), None);
    assert_eq!(paused(PAUSE_MIN, 0.001), NOTE);
    // Away for 1.5 % of the time, p99 of the rest lies at 10 ms, or 30 ms less the longest pause.
    assert_eq!(paused(Nanos::from_millis(3), 0.015), None);
    assert_eq!(paused(Nanos::from_micros(3_001), 0.015), DEGRADES);
    assert_eq!(paused(Nanos::from_millis(15), 0.015), DEGRADES);
    assert_eq!(paused(Nanos::from_micros(15_001), 0.015), INVALIDATES);
    assert_eq!(paused(Nanos::from_millis(25), 0.0), NOTE);
}

#[test]
fn generator_without_a_processor() {
    // As above, but the loop slept and saw no pause; the kernel counts 1.5 s of waiting in 100 s.
    let starved = |each: Nanos| {
        let world = World::with(|w| {
            let own = &mut w.bank.counters.own;
            own.total = Nanos::from_secs(SECONDS);
            own.run_delay = Nanos::from_millis(1_500);
            own.run_slices = own.run_delay.0 / each.0;
            let response = w.bank.track_mut(Series::Response);
            response.clear();
            (0..N).for_each(|k| response.record(if k % 50 == 0 { Nanos::from_millis(30) } else { RESPONSE }));
        });
        world.severity(Code::GeneratorPaused)
    };
    assert_eq!(starved(RUN_DELAY_MIN - Nanos(1_000)), None);
    assert_eq!(starved(RUN_DELAY_MIN), INVALIDATES);
}
