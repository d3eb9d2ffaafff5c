//! Arrivals beside the process that they claim to be.

use super::*;
use crate::arrivals::{ArrivalProcess, ClaimedProcess, GapsTest, TimesTest};
use crate::evidence::LoadArrivals;

#[test]
fn arrivals_not_as_claimed() {
    let bad = GapsTest {
        gaps: 900,
        a2: 20.0,
        p_value: ARRIVAL_P_VALUE_MAX / 2.0,
        distance: ARRIVAL_DISTANCE_MIN,
        correlation: 0.0,
    };
    let good = GapsTest { p_value: ARRIVAL_P_VALUE_MAX, ..bad };
    let follows = GapsTest { correlation: -ARRIVAL_CORRELATION_MIN, ..good };
    let raised = |planned: GapsTest, sent: GapsTest, change: fn(&mut World)| {
        let test = |gaps| TimesTest { gaps: Some(gaps), deviation_max: None };
        let process = ArrivalProcess {
            claimed: ClaimedProcess::Poisson,
            arrivals: 960,
            intended: test(planned),
            sent: test(sent),
        };
        let world = World::with(|w| {
            w.evidence.arrivals = vec![LoadArrivals { load: None, process }].leak();
            change(w);
        });
        world.severity(Code::ArrivalsNotAsClaimed)
    };
    assert_eq!(raised(good, good, |_| ()), None);
    assert_eq!(raised(bad, good, |_| ()), DEGRADES);
    assert_eq!(raised(good, bad, |_| ()), DEGRADES);
    assert_eq!(raised(good, bad, |w| w.bank.counters.lag.no_connection_ns = u64::MAX / 4), NOTE);
    assert_eq!(raised(good, GapsTest { distance: ARRIVAL_DISTANCE_MIN - 0.001, ..bad }, |_| ()), None);
    assert_eq!(raised(follows, good, |_| ()), DEGRADES);
    assert_eq!(
        raised(good, follows, |_| ()),
        None,
        "lateness that varies makes neighbours follow each other"
    );
    assert_eq!(raised(GapsTest { gaps: 100, ..follows }, good, |_| ()), None, "by chance");

    let even = |off: Nanos| {
        let times = TimesTest { gaps: None, deviation_max: Some(off) };
        let claimed = ClaimedProcess::Even;
        let process = ArrivalProcess { claimed, arrivals: 960, intended: times, sent: times };
        let none = TimesTest { gaps: None, deviation_max: None };
        let sound = ArrivalProcess { intended: none, sent: none, ..process };
        let of = |load, process| LoadArrivals { load: Some(load), process };
        let arrivals = [of("base", sound), of("spike", process)];
        World::with(|w| w.evidence.arrivals = arrivals.to_vec().leak()).finding(Code::ArrivalsNotAsClaimed)
    };
    assert!(even(ARRIVAL_OFF_THE_LINE_MAX).is_none());
    let finding = even(Nanos(ARRIVAL_OFF_THE_LINE_MAX.0 + 1)).expect("raised");
    assert_eq!(finding.severity, Severity::Degrades);
    assert!(finding.message.contains("of the load \"spike\""), "{}", finding.message);
}
