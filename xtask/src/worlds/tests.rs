//! A few hundred worlds pass; what once failed stays here; and a checker that can't fail is none, so each
//! kind of wrong log and wrong record is shown to be seen.

mod apart;
mod journeys;
mod paced;
mod tries;

use super::recording::Snapshot;
use super::*;
use unblink_core::code::Code;
use unblink_core::dispatch::{Action, Event, Pool, Room};
use unblink_core::plan::{LoadSpec, PlanSpec};
use unblink_core::record::{Series, SlowArrival};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{NetworkSpec, ServerSpec, Service, Sight, Windows, WorldSpec};

/// More by hand: `cargo xtask worlds --seeds 100000`.
const WORLDS: u64 = 300;

#[test]
fn worlds_pass() {
    for seed in 0..WORLDS {
        if let Err(failure) = run(seed) {
            panic!("{}", describe(&failure));
        }
    }
}

/// Pauses across the end of an interval, whose arrivals counted as seen then; ages of 0 beside a completed 1 ns.
/// What was sent after the end of an interval, in its last turn, was expected before it.
const FAILED_ONCE: [u64; 7] = [2_399, 32_205, 47_080, 53_484, 65_700, 76_799, 94_636];

/// A journey gave up as it waited, another took its slot in the same turn, and its connection was closed under its request.
const FAILED_WITH_OWN_CONNECTIONS: [u64; 1] = [494];

#[test]
fn worlds_of_own_connections_that_failed_once_pass() {
    for seed in FAILED_WITH_OWN_CONNECTIONS {
        run_case(&generate::case(seed)).unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
    }
}

#[test]
fn worlds_that_failed_once_pass() {
    for seed in FAILED_ONCE {
        let mut case = generate::case(seed);
        case.world.room = Room::SINGLE;
        run_case(&case).unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
    }
}

#[test]
fn an_arrival_is_not_seen_by_a_generator_that_is_away() {
    // What is left of world 32205: the generator is away at the end of the first second.
    let mut case = generate::case(0);
    let phase = Phase { from: Rate::default(), to: Rate::from_milli(18_249), duration: Nanos(1_011_714_087) };
    case.plan = PlanSpec::plain(
        LoadSpec::Open { phases: vec![phase], process: Process::Even },
        Pool::Fixed { n: 1 },
        Nanos(318_043_174),
    );
    case.world = WorldSpec::new(ServerSpec::new(Service::Constant(Nanos::ZERO)));
    case.world.generator.pauses = Some(Windows {
        first: Nanos(527_105_842),
        length: Nanos(185_317_529),
        every: Some(Nanos(195_075_023)),
        count: None,
    });
    case.stop = None;
    run_case(&case).unwrap();
}

#[test]
fn the_seed_decides_everything() {
    for seed in 0..20 {
        let case = generate::case(seed);
        let plan = generate::plan(&case).unwrap();
        let once = || record(&plan, &case, 0);
        assert_eq!(format!("{:?}", once().log), format!("{:?}", once().log), "seed {seed}");
    }
}

#[test]
fn mistakes_of_usage_are_told() {
    let ask = |args: &[&str]| worlds(&args.iter().map(ToString::to_string).collect::<Vec<_>>());
    assert_eq!(ask(&["--seeds"]).unwrap_err(), "--seeds takes a number");
    assert_eq!(ask(&["--seeds", "many"]).unwrap_err(), "--seeds many: not a whole number");
    assert_eq!(ask(&["--worlds", "3"]).unwrap_err(), "--worlds is not known");
    assert!(
        ask(&["--from", "18446744073709551615"]).unwrap_err().starts_with("--from 18446744073709551615: ")
    );
    assert_eq!(ask(&["--seed", "3"]).unwrap().unwrap().worlds, 1);
}

/// Worlds in which nothing is too small to be seen: without warm-up, jitter or a generator that is late.
fn exact_cases() -> impl Iterator<Item = (u64, Case)> {
    let cases = (0..150).map(|seed| (seed, generate::case(seed)));
    cases.filter(|(_, case)| {
        let WorldSpec { network, generator, .. } = case.world;
        let is_exact = network.jitter == Nanos::ZERO && generator == GeneratorSpec::default();
        // Users who take their time to begin are not measured until they have.
        is_exact
            && generate::plan(case)
                .is_ok_and(|plan| plan.measured_from() == Nanos::ZERO && plan.journeys().is_none())
    })
}

/// Makes `change`, which says whether it found its place, in worlds that pass; every changed one must fail.
#[track_caller]
fn must_be_seen(change: impl Fn(&mut Recording) -> bool) {
    let mut changed = 0;
    for (seed, case) in exact_cases() {
        let plan = generate::plan(&case).unwrap();
        let mut recording = record(&plan, &case, 0);
        if change(&mut recording) {
            changed += 1;
            assert!(check(&case, &plan, 0, &recording).is_err(), "seed {seed}: nobody has seen it");
        }
        if changed == 10 {
            return;
        }
    }
    assert!(changed >= 3, "only {changed} worlds had the place for it");
}

/// The place in the middle of those log entries that `is_it` finds.
fn middle(recording: &Recording, is_it: impl Fn(&Entry) -> bool) -> Option<usize> {
    let places: Vec<usize> = (0..recording.log.len()).filter(|&i| is_it(&recording.log[i])).collect();
    places.get(places.len() / 2).copied()
}

fn is_send(entry: &Entry) -> bool {
    matches!(entry, Entry::Seen(_, Sight::Action(Action::Send { .. })))
}

fn is_answer(entry: &Entry) -> bool {
    matches!(entry, Entry::Seen(_, Sight::Turn(Event::Answered(..))))
}

fn is_close(entry: &Entry) -> bool {
    matches!(entry, Entry::Seen(_, Sight::Action(Action::Close(..))))
}

fn is_request(entry: &Entry) -> bool {
    matches!(entry, Entry::Seen(_, Sight::Request(_)))
}

/// Changes the interval in the middle of those that `is_it` finds.
fn in_an_interval(
    is_it: impl Fn(&Snapshot) -> bool,
    change: impl Fn(&mut Snapshot),
) -> impl Fn(&mut Recording) -> bool {
    move |recording| {
        let place =
            middle(recording, |entry| matches!(entry, Entry::HandedOver(snapshot) if is_it(snapshot)));
        match place.map(|place| &mut recording.log[place]) {
            Some(Entry::HandedOver(snapshot)) => {
                change(snapshot);
                true
            }
            _ => false,
        }
    }
}

#[test]
fn an_event_that_is_lost_repeated_or_moved_is_seen() {
    // Nobody needs an answer to what has been given up, or on a connection that has been.
    let needs_all = |recording: &Recording| {
        let counters = &recording.total.counters;
        let timed_out = counters.measured.timed_out + counters.warmup.timed_out;
        timed_out == 0 && !recording.log.iter().any(is_close)
    };
    let place_of = |recording: &Recording, is_it: fn(&Entry) -> bool| {
        middle(recording, is_it).filter(|_| needs_all(recording))
    };
    for is_it in [is_send, is_answer, is_request] {
        must_be_seen(|recording| {
            place_of(recording, is_it).map(|place| recording.log.remove(place)).is_some()
        });
        must_be_seen(|recording| {
            let place = place_of(recording, is_it);
            place.map(|place| recording.log.insert(place, recording.log[place].clone())).is_some()
        });
    }
    // A nanosecond later, every sum is another one; earlier, something is before its time.
    for is_it in [is_send, is_answer] {
        for shift in [1, -1] {
            must_be_seen(|recording| {
                let needs_all = needs_all(recording);
                let Some(place) = recording.log.iter().rposition(is_it).filter(|_| needs_all) else {
                    return false;
                };
                let Entry::Seen(at, _) = &mut recording.log[place] else { return false };
                at.0 = at.0.checked_add_signed(shift).unwrap();
                true
            });
        }
    }
}

#[test]
fn arrivals_out_of_turn_are_seen() {
    must_be_seen(|recording| {
        let sends: Vec<usize> = (0..recording.log.len()).filter(|&i| is_send(&recording.log[i])).collect();
        let arrival = |entry: &Entry| match entry {
            Entry::Seen(_, Sight::Action(Action::Send { arrival, .. })) => *arrival,
            _ => 0,
        };
        let log = &mut recording.log;
        let other = sends.windows(2).find(|pair| arrival(&log[pair[0]]) != arrival(&log[pair[1]]));
        let Some(&[first, second]) = other else { return false };
        let (earlier, later) = (arrival(&log[first]), arrival(&log[second]));
        for (place, new) in [(first, later), (second, earlier)] {
            if let Entry::Seen(_, Sight::Action(Action::Send { arrival, .. })) = &mut log[place] {
                *arrival = new;
            }
        }
        true
    });
}

#[test]
fn another_code_and_a_slot_too_many_are_seen() {
    must_be_seen(|recording| {
        let Some(place) = middle(recording, is_answer) else { return false };
        if let Entry::Seen(_, Sight::Turn(Event::Answered(_, answer))) = &mut recording.log[place] {
            answer.code = Code::of_status(204);
        }
        true
    });
    // Work that begins before its slot is free, or later than it could.
    for earlier in [true, false] {
        must_be_seen(|recording| {
            let waits = |entry: &Entry| match entry {
                Entry::Seen(at, Sight::Request(taken)) => taken.work.is_some_and(|(begin, _)| begin > *at),
                _ => false,
            };
            let Some(place) = middle(recording, waits) else { return false };
            if let Entry::Seen(_, Sight::Request(taken)) = &mut recording.log[place] {
                let shift = if earlier { -1 } else { 1 };
                let (begin, _) = taken.work.as_mut().unwrap();
                begin.0 = begin.0.checked_add_signed(shift).unwrap();
            }
            true
        });
    }
}

#[test]
fn a_count_that_is_one_off_is_seen() {
    let any = |_: &Snapshot| true;
    must_be_seen(in_an_interval(any, |s| s.counters.measured.due += 1));
    must_be_seen(in_an_interval(any, |s| s.counters.measured.unsent += 1));
    must_be_seen(in_an_interval(any, |s| s.counters.warmup.timed_out += 1));
    must_be_seen(in_an_interval(any, |s| s.counters.measured.sent_in_load += 1));
    must_be_seen(in_an_interval(any, |s| s.counters.codes[100] += 1));
    must_be_seen(in_an_interval(any, |s| s.counters.origins[0].resent += 1));
    must_be_seen(in_an_interval(any, |s| s.counters.bytes_received += 1));
    must_be_seen(in_an_interval(any, |s| s.gauges.backlog += 1));
    must_be_seen(in_an_interval(any, |s| s.gauges.origins[0].connections_peak += 1));
    must_be_seen(in_an_interval(any, |s| s.ages.add(Nanos::ZERO, 1)));
    must_be_seen(in_an_interval(any, |s| s.cells[0].in_flight_max += 1));
    must_be_seen(in_an_interval(any, |s| s.cells[0].backlog_max += 1));
    must_be_seen(in_an_interval(|s| s.cells.len() > 1 && s.cells[0] != s.cells[1], |s| s.cells.swap(0, 1)));
    must_be_seen(in_an_interval(any, |s| s.start.0 += 1));
    must_be_seen(in_an_interval(any, |s| s.double = true));
    // One outcome instead of another keeps the sum, and is wrong.
    let ok = |s: &Snapshot| s.counters.measured.ok > 0;
    must_be_seen(in_an_interval(ok, |s| {
        s.counters.measured.ok -= 1;
        s.counters.measured.timed_out += 1;
    }));
    let fast = SlowArrival { index: u64::MAX, ..SlowArrival::default() };
    must_be_seen(in_an_interval(|s| s.slowest.as_slice().is_empty(), move |s| s.slowest.offer(fast)));
}

#[test]
fn a_value_in_the_wrong_place_is_seen() {
    for series in Series::ALL {
        must_be_seen(move |recording| {
            recording.total.track_mut(series).record(Nanos(1));
            true
        });
    }
    // The count, the sum and the maximum stay as they were.
    must_be_seen(|recording| {
        let track = recording.total.track_mut(Series::Response);
        let bins: Vec<(u64, u64)> = track.bins().collect();
        if bins.len() < 2 {
            return false;
        }
        let (first, second) = (bins[0].0.max(1), bins[1].0);
        track.histogram.reset();
        track.histogram.record_n(first, bins[0].1 - 1).unwrap();
        track.histogram.record(second).unwrap();
        bins[1..].iter().for_each(|&(top, n)| track.histogram.record_n(top, n).unwrap());
        true
    });
    must_be_seen(|recording| {
        recording.total.heat.record(Nanos::ZERO, 0);
        true
    });
    must_be_seen(|recording| {
        let lag = &mut recording.total.counters.lag;
        if lag.connecting_ns == 0 {
            return false;
        }
        // The generator takes the blame for one nanosecond of waiting.
        lag.connecting_ns -= 1;
        lag.generator_ns += 1;
        true
    });
    must_be_seen(|recording| {
        recording.last_ok = recording.last_ok.map(|at| at + Nanos(1));
        recording.last_ok.is_some()
    });
}

#[test]
fn a_panic_is_a_violation() {
    // Without work that takes time, without a way to go and without a thought, time stands still.
    let mut case = generate::case(0);
    case.world = WorldSpec::new(ServerSpec::new(Service::Constant(Nanos::ZERO)));
    case.plan.load = LoadSpec::closed(1, Nanos::ZERO, Nanos::from_secs(1));
    (case.plan.threads, case.plan.limit, case.stop) = (1, None, None);
    let violation = run_case(&case).unwrap_err();
    assert!(violation.starts_with(ENDLESS), "{violation}");
}

#[test]
fn a_failing_world_is_made_smaller() {
    let fails = |case: &Case| {
        let wrong = case.world.server.reset_one_in > 0 && case.plan.timeout > Nanos::from_millis(40);
        if wrong { Err("wrong".to_string()) } else { Ok(Sum::default()) }
    };
    let case = (0..).map(generate::case).find(|case| fails(case).is_err()).unwrap();
    let (smallest, _) = shrink::shrink(case.clone(), "wrong".to_string(), fails);
    let WorldSpec { server, network, generator, .. } = smallest.world;
    assert!(server.reset_one_in > 0 && smallest.plan.timeout <= Nanos::from_millis(80));
    let plain = ServerSpec { reset_one_in: server.reset_one_in, ..ServerSpec::new(server.service.clone()) };
    assert_eq!((server, network, generator), (plain, NetworkSpec::default(), GeneratorSpec::default()));
    assert_eq!((smallest.plan.threads, smallest.plan.limit, smallest.stop), (1, None, None));
}
