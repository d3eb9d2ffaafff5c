//! What takes from percentiles: failures, timeouts, too few samples, too short a run.

use super::*;

#[test]
fn failures_shape() {
    let failed = |n: u64| {
        World::with(|w| {
            w.measured().ok -= n;
            w.measured().failed[FailureKind::RESET.index()] = n;
        })
        .finding(Code::FailuresShapePercentile)
    };
    let severity = |n: u64| failed(n).map(|f| f.severity);
    assert_eq!(severity(N / 10_000), None);
    assert!(failed(N / 10_000 + 1).is_some_and(|f| f.message.contains("from p99.99 on")));
    assert!(failed(N / 100 + 1).is_some_and(|f| f.message.contains("from p99 on")));
    assert_eq!(severity(N / 100 + 1), DEGRADES);
    assert_eq!(severity((FAILED_SHARE_INVALIDATES * N as f64) as u64), DEGRADES);
    assert_eq!(severity((FAILED_SHARE_INVALIDATES * N as f64) as u64 + 1), INVALIDATES);

    // One failure in a hundred arrivals touches only percentiles that rest on nothing anyway.
    let few = World::with(|w| {
        *w.measured() = Outcomes { due: 500, sent: 500, ok: 499, ..Outcomes::default() };
        w.measured().failed[0] = 1;
        w.evidence.scheduled = 500;
        w.bank.track_mut(Series::Response).clear();
        (0..499).for_each(|_| w.bank.track_mut(Series::Response).record(RESPONSE));
    });
    assert_eq!(few.severity(Code::FailuresShapePercentile), NOTE);
}

#[test]
fn timeouts_shape() {
    let timed_out =
        |n: u64| World::with(|w| w.censor(n, w.evidence.timeout, |outcomes| outcomes.timed_out = n));
    assert_eq!(timed_out(N / 10_000).severity(Code::TimeoutsShapePercentile), None);
    assert_eq!(timed_out(N / 10_000 + 1).severity(Code::TimeoutsShapePercentile), NOTE);
    assert_eq!(timed_out(N / 100).severity(Code::TimeoutsShapePercentile), NOTE);
    let shaped = timed_out(N / 100 + 1).finding(Code::TimeoutsShapePercentile).expect("raised");
    assert_eq!(shaped.severity, Severity::Degrades);
    assert_eq!(
        shaped.message.replace(['\u{a0}', '\u{202f}'], " "),
        "From p99 on the response time is only known to be longer than 5 s: 1 001 of 100 000 arrivals timed \
         out after 5 s."
    );

    let cut = |n: u64| World::with(|w| w.censor(n, RESPONSE, |outcomes| outcomes.unfinished = n));
    let one = cut(1).finding(Code::CutOff).expect("raised").message;
    assert!(one.contains("arrivals was under way") && one.contains("it enters the percentiles"), "{one}");
    let limit = (CUT_OFF_SHARE_DEGRADES * N as f64) as u64;
    assert_eq!(cut(0).severity(Code::CutOff), None);
    assert_eq!(cut(limit).severity(Code::CutOff), NOTE);
    assert_eq!(cut(limit + 1).severity(Code::CutOff), DEGRADES);
}

#[test]
fn few_samples() {
    assert_eq!(World::healthy().severity(Code::FewSamples), None);
    let one_less = World::with(|w| {
        w.bank.track_mut(Series::Response).clear();
        (0..N - 1).for_each(|_| w.bank.track_mut(Series::Response).record(RESPONSE));
    });
    let few = one_less.finding(Code::FewSamples).expect("raised");
    assert_eq!(few.severity, Severity::Note);
    assert_eq!(
        few.message.replace(['\u{a0}', '\u{202f}'], " "),
        "p99.99 rests on too little: of 99 999 samples fewer than 10 lie above."
    );
    assert_eq!(
        few.remedy.replace(['\u{a0}', '\u{202f}'], " "),
        "Measure longer: p99.99 takes 100 000 arrivals, about 100 s at this rate."
    );
    // Half of them fail, so that it takes twice as long; and no run lasts for longer than a week.
    let remedy = |scheduled: u64| {
        let few = World::with(|w| {
            w.bank.track_mut(Series::Response).clear();
            (0..500).for_each(|_| w.bank.track_mut(Series::Response).record(RESPONSE));
            *w.measured() = Outcomes { due: 1000, sent: 1000, ok: 500, ..Outcomes::default() };
            w.measured().failed[0] = 500;
            w.evidence.scheduled = scheduled;
        });
        few.finding(Code::FewSamples).expect("raised").remedy.replace(['\u{a0}', '\u{202f}'], " ")
    };
    assert_eq!(
        remedy(1000),
        "Measure longer: p99.99 takes 100 000 arrivals that do not fail, about 5.6 h at this rate if as many go on to \
         fail."
    );
    let longest = remedy(10);
    assert!(longest.contains("more than a run can have at this rate"), "{longest}");
}

#[test]
fn too_short_to_tell() {
    let short = |unanswered: u64| {
        let world = World::with(|w| {
            w.rows.truncate(2);
            w.rows[1].in_flight = unanswered;
            w.evidence.load_to = Nanos::from_secs(2);
        });
        world.severity(Code::TooShort)
    };
    let limit = (TOO_SHORT_UNANSWERED_SHARE * N as f64) as u64;
    assert_eq!(short(limit), None);
    assert_eq!(short(limit + 1), DEGRADES);
    // Long enough to see growth: another finding's business.
    let long = World::with(|w| w.rows[99].in_flight = limit + 1);
    assert_eq!(long.severity(Code::TooShort), None);
}
