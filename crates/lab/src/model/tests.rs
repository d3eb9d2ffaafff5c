//! Requests played in virtual time.

use super::*;
use crate::{ClockStart, Gate, oracle};
use std::time::Duration;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

fn model(scenario: Scenario) -> Model {
    Model::new(scenario, EventClock::new(ClockStart::FirstRequest, 20 * MS, 5 * S))
}

fn preset(name: &str) -> Scenario {
    Scenario::preset(name).expect("a preset")
}

/// Plays arrivals against the model in virtual time, with a loop that is `late_ns` late at each step.
fn play(scenario: Scenario, arrivals_ns: impl Iterator<Item = u64>, late_ns: u64) -> Vec<Served> {
    let mut model = model(scenario);
    let mut served = Vec::new();
    for at_ns in arrivals_ns {
        while model.next_wake_ns().is_some_and(|ns| ns + late_ns <= at_ns) {
            let now_ns = model.next_wake_ns().expect("a wake") + late_ns;
            served.extend(model.serve(now_ns));
        }
        model.arrive(at_ns, 0, None);
    }
    while let Some(ns) = model.next_wake_ns() {
        served.extend(model.serve(ns + late_ns));
    }
    served
}

/// The model answers an even load as the oracle says, request by request, even if the loop is late.
#[test]
fn agrees_with_the_oracle() {
    for name in Scenario::NAMES {
        let expected = oracle::open_loop(&preset(name), 1_000, Duration::from_secs(60), None);
        for late_ns in [0, 300_000] {
            let mut served = play(preset(name), (0..60_000).map(|k| k * MS), late_ns);
            served.sort_by_key(|request| request.number);
            assert_eq!(served.len(), expected.len());
            for (request, &expected_ns) in served.iter().zip(&expected) {
                let response_ns = request.due_ns - request.arrived_ns;
                // A late loop moves nothing but the slot of a request that came before the loop noticed.
                assert!(response_ns.abs_diff(expected_ns) <= late_ns, "{name}: {request:?}, {expected_ns}");
            }
        }
    }
}

/// Random operations: each arrival is served once, in turn, never early, never above the cap.
#[test]
fn random_lives_keep_the_rules() {
    for seed in 1..=200_u64 {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut random = |below: u64| {
            // Xorshift, by Marsaglia.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state % below
        };
        let cap = random(6) as u32;
        let mut scenario = preset(Scenario::NAMES[random(5) as usize]);
        scenario.max_concurrency = (cap > 0).then_some(cap);
        scenario.gates.push(Gate {
            first_at_ns: 50 * MS,
            duration_ns: 30 * MS,
            period_ns: 90 * MS,
            count: 9,
        });
        let mut model = Model::new(scenario.clone(), EventClock::new(ClockStart::FirstRequest, S, 5 * S));
        let (mut now_ns, mut alive, mut served) = (random(S), Vec::new(), Vec::new());
        for step in 0..2_000 {
            now_ns += random(4 * MS);
            match random(8) {
                0..3 if step < 1_500 => alive.push(model.arrive(now_ns, 0, None)),
                3 if !alive.is_empty() => {
                    // May hit a number that is in use again, like a client that goes at once.
                    let gone = alive.swap_remove(random(alive.len() as u64) as usize);
                    model.abandon(gone);
                }
                _ => served.extend(std::iter::from_fn(|| model.serve(now_ns)).map(|r| (r, now_ns))),
            }
        }
        while let Some(ns) = model.next_wake_ns() {
            now_ns = now_ns.max(ns);
            served.extend(model.serve(now_ns).map(|r| (r, now_ns)));
        }
        assert_eq!(served.len() as u64, model.arrivals(), "seed {seed}");
        assert_eq!((model.in_flight(), model.free_slots), (0, scenario.max_concurrency), "seed {seed}");
        assert!(served.is_sorted_by_key(|(r, now_ns)| (*now_ns, r.due_ns)), "seed {seed}");
        served.sort_by_key(|(r, _)| r.number);
        assert!(served.iter().enumerate().all(|(k, (r, _))| r.number == k as u64), "seed {seed}");
        assert!(served.is_sorted_by_key(|(r, _)| r.slot_ns), "first come, first served: seed {seed}");
        for (r, at_ns) in &served {
            let zero_ns = r.clock_ns.expect("a clock");
            assert!(r.arrived_ns <= r.slot_ns && r.due_ns <= *at_ns, "seed {seed}: {r:?}");
            assert!(r.due_ns >= r.slot_ns + r.baseline_ns, "seed {seed}: {r:?}");
            assert_eq!(scenario.gate_end_ns(r.due_ns - zero_ns), None, "seed {seed}: {r:?}");
            let sharing = served.iter().filter(|(o, _)| (o.slot_ns..o.due_ns).contains(&r.slot_ns)).count();
            assert!(cap == 0 || sharing <= cap as usize, "seed {seed}: {sharing} in {cap} slots");
        }
    }
}

#[test]
fn slots_are_handed_over_when_due_not_when_noticed() {
    let mut scenario = preset("healthy");
    scenario.max_concurrency = Some(1);
    let served = play(scenario, [0, 1, 2].into_iter(), 3 * MS);
    assert_eq!(served.iter().map(|r| r.slot_ns).collect::<Vec<_>>(), [0, 10 * MS, 20 * MS]);
    assert_eq!(served[2].due_ns, 30 * MS);
}

#[test]
fn slots_go_first_come_first_served_even_to_the_abandoned() {
    let mut scenario = preset("healthy");
    scenario.max_concurrency = Some(2);
    let mut model = model(scenario);
    let ids: Vec<_> = (0..5).map(|k| model.arrive(k, k, None)).collect();
    model.abandon(ids[2]);
    assert_eq!(model.in_flight(), 5);
    let mut order = Vec::new();
    while let Some(ns) = model.next_wake_ns() {
        order.extend(model.serve(ns).map(|r| (r.ticket, r.abandoned, r.slot_ns)));
    }
    let expected =
        [(0, false, 0), (1, false, 1), (2, true, 10 * MS), (3, false, 10 * MS + 1), (4, false, 20 * MS)];
    assert_eq!(order, expected);
    assert_eq!(model.in_flight(), 0);
    assert_eq!(model.free_slots, Some(2));
}

#[test]
fn a_gate_releases_the_oldest_first() {
    let mut scenario = preset("healthy");
    scenario.baseline =
        crate::Baseline::Ramp { from_ns: 50 * MS, to_ns: 1, start_ns: 20 * MS, end_ns: 30 * MS };
    scenario.gates = vec![Gate::once(20 * MS, S)];
    // The second sleeps less than the first; both reach a shut gate.
    let served = play(scenario, [0, 30 * MS].into_iter(), 0);
    assert_eq!(
        served.iter().map(|r| (r.number, r.due_ns)).collect::<Vec<_>>(),
        [(0, 1_020 * MS), (1, 1_020 * MS)]
    );
}

#[test]
fn nothing_is_served_before_it_is_due() {
    let mut model = model(preset("healthy"));
    model.arrive(0, 7, None);
    assert_eq!(model.serve(10 * MS - 1), None);
    assert_eq!(model.serve(10 * MS).map(|r| (r.ticket, r.baseline_ns)), Some((7, 10 * MS)));
    assert_eq!(model.serve(S), None);
}

#[test]
fn a_probe_does_not_move_the_stall() {
    // A probe, 50 ms of nothing, then the run: the stall lies 30 s after the run's first request.
    let arrivals = std::iter::once(0).chain((0..31_000).map(|k| 60 * MS + k * MS));
    let served = play(preset("stall"), arrivals, 0);
    assert_eq!(served[0].clock_ns, Some(0));
    let stalled: Vec<_> = served.iter().filter(|r| r.due_ns - r.arrived_ns > 10 * MS).collect();
    assert_eq!(stalled.len(), 1_000);
    assert!(stalled.iter().all(|r| r.due_ns == 31_060 * MS && r.clock_ns == Some(60 * MS)));
}

#[test]
fn unarmed_gates_stay_open() {
    let clock = EventClock::new(ClockStart::Arm, 20 * MS, 5 * S);
    let mut scenario = preset("healthy");
    scenario.gates = vec![Gate::once(0, S)];
    let mut model = Model::new(scenario, clock);
    model.arrive(5, 0, None);
    assert_eq!(model.next_wake_ns(), Some(5 + 10 * MS));
    model.serve(S);
    assert!(model.arm(2 * S));
    model.arrive(2 * S, 0, None);
    assert_eq!(model.next_wake_ns(), Some(3 * S));
}

#[test]
fn events_follow_each_other_and_a_gate_holds_them() {
    let mut scenario = preset("healthy");
    scenario.max_concurrency = Some(1);
    scenario.gates = vec![Gate::once(35 * MS, 100 * MS)];
    let mut model = model(scenario);
    let events = EventStream { count: 4, gap: Duration::from_millis(20) };
    model.arrive(0, 1, Some(events));
    model.arrive(0, 2, None);
    let mut seen = Vec::new();
    while let Some(ns) = model.next_wake_ns() {
        // Late by 3 ms each time, which adds up to nothing.
        let served = model.serve(ns + 3 * MS).expect("due");
        seen.push((served.ticket, served.due_ns / MS, served.part().map(|part| (part.nth, part.is_last))));
    }
    let expected = [
        (1, 10, Some((0, false))),
        (1, 30, Some((1, false))),
        (1, 135, Some((2, false))),
        (1, 155, Some((3, true))),
        // The slot was taken until the last event.
        (2, 165, None),
    ];
    assert_eq!(seen, expected);
    assert_eq!((model.in_flight(), model.free_slots), (0, Some(1)));
}

#[test]
fn a_failure_is_one_answer() {
    let mut scenario = preset("errors");
    scenario.faults[0].when.first_at_ns = 0;
    let mut model = model(scenario);
    model.arrive(0, 0, Some(EventStream::default()));
    let served = model.serve(0).expect("due at once");
    assert_eq!((served.ending, served.part()), (Ending::Error, None));
    assert_eq!(model.in_flight(), 0);
}
