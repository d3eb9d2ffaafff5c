//! What is wrong in one of several lanes, or with one of several loads, is seen.

use super::*;
use unblink_core::origins::Origins;
use unblink_core::plan::OpenPart;

/// Origins that something is asked of.
fn origins(recording: &Recording) -> usize {
    recording.total.counters.origins.iter().filter(|counts| counts.attempted > 0).count()
}

fn loads(recording: &Recording) -> usize {
    recording.total.loads.len()
}

/// Places of the sends, each with its origin.
fn sends(recording: &Recording) -> Vec<(usize, u8)> {
    let origin = |entry: &Entry| match entry {
        Entry::Seen(_, Sight::Action(Action::Send { conn, .. })) => Some(conn.origin),
        _ => None,
    };
    let places = recording.log.iter().enumerate();
    places.filter_map(|(place, entry)| Some((place, origin(entry)?))).collect()
}

#[test]
fn each_kind_of_world_is_met() {
    let cases: Vec<Case> = (0..400).map(generate::case).collect();
    let share = |is_it: fn(&Case) -> bool| cases.iter().filter(|case| is_it(case)).count();
    let several_origins = share(|case| case.plan.origins.count() > 1);
    let several_loads = share(|case| matches!(case.plan.load, LoadSpec::Several(_)));
    let both = share(|case| case.plan.origins.count() > 1 && matches!(case.plan.load, LoadSpec::Several(_)));
    assert!((50..150).contains(&several_origins), "{several_origins}");
    assert!((30..110).contains(&several_loads) && both > 5, "{several_loads}, {both}");
    let closed =
        share(|case| case.plan.origins.count() > 1 && matches!(case.plan.load, LoadSpec::Closed { .. }));
    assert!(closed > 5, "{closed}");
}

#[test]
fn a_lane_that_waits_beside_its_room_is_seen() {
    // The client goes on to its next turn without a send, as if another lane had held this one up.
    must_be_seen(|recording| {
        let Some((place, _)) = sends(recording).into_iter().rfind(|(_, origin)| *origin > 0) else {
            return false;
        };
        let Entry::Seen(at, _) = recording.log[place] else { return false };
        recording.log.truncate(place);
        recording.log.push(Entry::Seen(at, Sight::Turn(Event::Tick)));
        true
    });
}

/// Three loads of one rate, each at an origin of its own: each turn sends one request to each.
fn in_step() -> Case {
    let mut case = generate::case(0);
    let part = |operation| {
        let phases = vec![Phase::hold(Rate::per_second(100), Nanos::from_secs(1))];
        OpenPart { only: Some(vec![operation]), ..OpenPart::whole(phases, Process::Even) }
    };
    case.plan = PlanSpec {
        idempotent: vec![true; 3],
        origins: Origins::new(&[0, 1, 2]).unwrap(),
        ..PlanSpec::plain(
            LoadSpec::Several((0..3).map(part).collect()),
            Pool::Fixed { n: 2 },
            Nanos::from_secs(1),
        )
    };
    case.world = WorldSpec::new(ServerSpec::new(Service::Constant(Nanos::from_millis(1))));
    case.stop = None;
    case
}

#[test]
fn lanes_out_of_turn_are_seen() {
    let case = in_step();
    let plan = generate::plan(&case).unwrap();
    let recording = record(&plan, &case, 0);
    check(&case, &plan, 0, &recording).unwrap();
    let sends = sends(&recording);
    assert_eq!(sends.len(), 300);
    for (a, b) in [(0, 1), (1, 2), (0, 2)] {
        let mut recording = recording.clone();
        let is_at = |origin: u8| sends.iter().filter(move |(_, of)| *of == origin).map(|(place, _)| *place);
        let (first, second) = (is_at(a).nth(50).unwrap(), is_at(b).nth(50).unwrap());
        // Each with what it sends, which reaches its server at once.
        (0..3).for_each(|behind| recording.log.swap(first + behind, second + behind));
        let violation = check(&case, &plan, 0, &recording).unwrap_err();
        assert!(violation.contains("waits beside a connection with room"), "{violation}");
    }
}

#[test]
fn a_request_to_another_origin_is_seen() {
    must_be_seen(|recording| {
        let count = origins(recording) as u8;
        let Some((place, _)) = sends(recording).pop().filter(|_| count > 1) else { return false };
        if let Entry::Seen(_, Sight::Action(Action::Send { conn, .. })) = &mut recording.log[place] {
            conn.origin = (conn.origin + 1) % count;
        }
        true
    });
}

#[test]
fn a_count_of_another_origin_is_seen() {
    let several = |s: &Snapshot| s.counters.origins.iter().filter(|counts| counts.opened > 0).count() > 1;
    must_be_seen(in_an_interval(several, |s| s.counters.origins[1].opened += 1));
    must_be_seen(in_an_interval(several, |s| s.gauges.origins[1].connections += 1));
    must_be_seen(in_an_interval(several, |s| s.gauges.origins[1].connections_peak += 1));
    // All together they are as they were.
    must_be_seen(in_an_interval(several, |s| {
        s.counters.origins[0].attempted -= 1;
        s.counters.origins[1].attempted += 1;
    }));
    let differ = |s: &Snapshot| s.gauges.origins[0] != s.gauges.origins[1];
    must_be_seen(in_an_interval(differ, |s| s.gauges.origins.swap(0, 1)));
}

#[test]
fn what_is_wrong_with_a_load_is_seen() {
    must_be_seen(|recording| {
        let load = recording.total.loads.get_mut(1);
        load.map(|load| load.outcomes.unsent += 1).is_some()
    });
    // An arrival too many in one and one too few in another.
    must_be_seen(|recording| {
        let is_due = |place| recording.total.loads.get(place).is_some_and(|load| load.outcomes.due > 0);
        if !is_due(0) || loads(recording) < 2 {
            return false;
        }
        let mut of = |place, more: u64| {
            let due = recording.total.loads.get_mut(place).map(|load| &mut load.outcomes.due);
            due.into_iter().for_each(|due| *due = due.wrapping_add(more));
        };
        of(0, u64::MAX);
        of(1, 1);
        true
    });
    must_be_seen(|recording| {
        let load = recording.total.loads.get_mut(1);
        load.map(|load| load.codes[100] += 1).is_some()
    });
    for series in Series::BY_OPERATION {
        must_be_seen(move |recording| {
            let several = loads(recording) > 1;
            if several {
                recording.total.loads.record(1, series, Nanos(1));
            }
            several
        });
    }
    must_be_seen(|recording| {
        let samples = &mut recording.total.samples;
        let differ = samples.len() > 1 && samples[0] != samples[1];
        if differ {
            samples.swap(0, 1);
        }
        differ
    });
}
