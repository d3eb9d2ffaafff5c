//! Attempts that come too soon are seen, and arrivals that an attempt has ended and should not have, or the other way round.

use super::*;
use unblink_core::origins::Origins;

/// The target is gone for half a second.
fn gone(origins: Origins) -> Case {
    let mut case = generate::case(0);
    let phase = Phase::hold(Rate::per_second(500), Nanos::from_secs(1));
    case.plan = PlanSpec {
        origins,
        ..PlanSpec::plain(
            LoadSpec::Open { phases: vec![phase], process: Process::Even },
            Pool::Auto { max: 50 },
            Nanos::from_secs(5),
        )
    };
    let down = vec![Windows::once(Nanos::from_millis(100), Nanos::from_millis(500))];
    case.world =
        WorldSpec::new(ServerSpec { down, ..ServerSpec::new(Service::Constant(Nanos::from_millis(1))) });
    case.stop = None;
    case
}

#[test]
fn another_pace_is_seen() {
    let both = [gone(Origins::default()), gone(Origins::default().with_pace(0))];
    for (case, other) in [(&both[0], &both[1]), (&both[1], &both[0])] {
        let (plan, other_plan) = (generate::plan(case).unwrap(), generate::plan(other).unwrap());
        let recording = record(&plan, case, 0);
        assert_eq!(check(case, &plan, 0, &recording), Ok(500));
        let seen = check(other, &other_plan, 0, &recording);
        assert!(seen.is_err(), "nobody has seen it");
    }
}

#[test]
fn worlds_with_a_pace_are_met() {
    let cases = (0..400).map(generate::case);
    let paced =
        cases.filter(|case| (0..case.plan.origins.count()).any(|origin| case.plan.origins.is_paced(origin)));
    let paced = paced.count();
    assert!((80..180).contains(&paced), "{paced}");
}
