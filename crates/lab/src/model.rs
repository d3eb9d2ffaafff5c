//! The life of a request, as a pure state machine: arrive, take a slot, sleep, wait at the gate, be answered.
//!
//! The moment of an answer is fixed when the slot is taken, and the slot passes on at that moment, not at the
//! later one at which the loop got round to it. So lateness shows in single answers but never adds up: five slots
//! of 10 ms serve exactly 500 requests/s however late the loop is.
//!
//! Poll [`Model::serve`] whenever [`Model::next_wake_ns`] has passed. All times are ns since the server was bound.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::Scenario;
use crate::clock::EventClock;
use crate::fault::{Ending, Harm};

/// A request in the model; reused once it is served.
pub(crate) type RequestId = u32;

/// A request that is to be answered now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// Counted from 0 in order of arrival.
    pub(crate) number: u64,
    /// What the caller gave with the arrival.
    pub(crate) ticket: u64,
    pub(crate) arrived_ns: u64,
    pub(crate) slot_ns: u64,
    pub(crate) baseline_ns: u64,
    /// When the scenario wants the answer.
    pub(crate) due_ns: u64,
    /// The zero of the event clock by which it was served; `None`: the clock stood still.
    pub(crate) clock_ns: Option<u64>,
    /// The client closed before the answer.
    pub(crate) abandoned: bool,
    pub(crate) ending: Ending,
}

/// All requests in flight, abandoned ones included. Nothing is shed: apart from the abandoned, they are bounded by
/// the connections, each of which has one request here at a time, or 1,000 over HTTP/2. Takes about 100 bytes per request.
#[derive(Debug)]
pub(crate) struct Model {
    scenario: Scenario,
    clock: EventClock,
    /// Slots nobody holds; `None`: unlimited.
    free_slots: Option<u32>,
    requests: Vec<Served>,
    unused: Vec<RequestId>,
    /// Without a slot, oldest first.
    queue: VecDeque<RequestId>,
    /// With a slot, by due time, then by arrival: a gate releases the oldest first.
    timed: BinaryHeap<Reverse<(u64, u64, RequestId)>>,
    arrivals: u64,
    /// When the last request in flight was answered.
    idle_since_ns: u64,
}

impl Model {
    pub(crate) fn new(scenario: Scenario, clock: EventClock) -> Self {
        Self {
            free_slots: scenario.max_concurrency,
            scenario,
            clock,
            requests: Vec::new(),
            unused: Vec::new(),
            queue: VecDeque::new(),
            timed: BinaryHeap::new(),
            arrivals: 0,
            idle_since_ns: 0,
        }
    }

    /// A complete request arrives. `ticket` comes back with its answer.
    pub(crate) fn arrive(&mut self, now_ns: u64, ticket: u64) -> RequestId {
        self.clock.arrive(now_ns, (self.in_flight() == 0).then_some(self.idle_since_ns));
        let request = Served {
            number: self.arrivals,
            ticket,
            arrived_ns: now_ns,
            slot_ns: 0,
            baseline_ns: 0,
            due_ns: 0,
            clock_ns: None,
            abandoned: false,
            ending: Ending::Ok,
        };
        self.arrivals += 1;
        let id = match self.unused.pop() {
            Some(id) => {
                self.requests[id as usize] = request;
                id
            }
            None => {
                self.requests.push(request);
                (self.requests.len() - 1) as RequestId
            }
        };
        match &mut self.free_slots {
            Some(0) => self.queue.push_back(id),
            Some(free) => {
                *free -= 1;
                self.take_slot(id, now_ns);
            }
            None => self.take_slot(id, now_ns),
        }
        id
    }

    /// The client is gone. The work is done all the same.
    pub(crate) fn abandon(&mut self, id: RequestId) {
        self.requests[id as usize].abandoned = true;
    }

    /// The next request due at or before `now_ns`, in order of due time, then of arrival. Call until `None`.
    pub(crate) fn serve(&mut self, now_ns: u64) -> Option<Served> {
        let &Reverse((due_ns, _, id)) = self.timed.peek()?;
        if due_ns > now_ns {
            return None;
        }
        self.timed.pop();
        let served = self.requests[id as usize];
        self.unused.push(id);
        if let Some(free) = &mut self.free_slots {
            match self.queue.pop_front() {
                Some(next) => {
                    // It may have come after the slot was due to be free, while the loop was late.
                    let slot_ns = due_ns.max(self.requests[next as usize].arrived_ns);
                    self.take_slot(next, slot_ns);
                }
                None => *free += 1,
            }
        }
        self.idle_since_ns = now_ns;
        Some(served)
    }

    /// Everything still in flight, in no order, as if it were over now: the server ends.
    pub(crate) fn leave(&mut self, now_ns: u64) -> Vec<Served> {
        let waiting = std::mem::take(&mut self.queue).into_iter();
        let waiting =
            waiting.map(|id| Served { slot_ns: now_ns, due_ns: now_ns, ..self.requests[id as usize] });
        let timed = std::mem::take(&mut self.timed).into_iter();
        let timed = timed.map(|Reverse((_, _, id))| self.requests[id as usize]);
        let all = waiting.chain(timed);
        all.map(|served| Served { abandoned: true, clock_ns: self.clock.started_ns(), ..served }).collect()
    }

    /// When [`serve`](Self::serve) is to be called next.
    pub(crate) fn next_wake_ns(&self) -> Option<u64> {
        self.timed.peek().map(|&Reverse((due_ns, _, _))| due_ns)
    }

    /// When connections are accepted again, in ns; `None` when they are now.
    pub(crate) fn accepts_at_ns(&self, now_ns: u64) -> Option<u64> {
        let zero_ns = self.clock.started_ns()?;
        let end_ns = self.scenario.harm_end_ns(Harm::NoAccept, now_ns.saturating_sub(zero_ns))?;
        Some(zero_ns + end_ns)
    }

    /// The next freeze after `after_ns`: when, and for how long, in ns.
    pub(crate) fn next_freeze(&self, after_ns: u64) -> Option<(u64, u64)> {
        let zero_ns = self.clock.started_ns()?;
        let freezes = self.scenario.faults.iter().filter(|fault| fault.harm == Harm::Freeze);
        let all = freezes.flat_map(|fault| fault.when.stretches());
        all.map(|(from_ns, to_ns)| (zero_ns + from_ns, to_ns - from_ns)).find(|&(at_ns, _)| at_ns > after_ns)
    }

    /// Starts the event clock, if it is started that way.
    pub(crate) fn arm(&mut self, now_ns: u64) -> bool {
        self.clock.arm(now_ns)
    }

    /// The requests that have arrived.
    pub(crate) fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// The requests that have arrived and are not yet served.
    pub(crate) fn in_flight(&self) -> u64 {
        (self.queue.len() + self.timed.len()) as u64
    }

    /// The zero of the event clock.
    pub(crate) fn clock_ns(&self) -> Option<u64> {
        self.clock.started_ns()
    }

    fn take_slot(&mut self, id: RequestId, slot_ns: u64) {
        let clock_ns = self.clock.started_ns();
        let request = &mut self.requests[id as usize];
        let (baseline_ns, due_ns, ending) = match clock_ns {
            Some(zero_ns) => {
                let treated = self.scenario.treat(request.number, slot_ns.saturating_sub(zero_ns));
                (treated.delay_ns, zero_ns + treated.end_ns, treated.ending)
            }
            None => {
                let baseline_ns = self.scenario.baseline_ns(0);
                (baseline_ns, slot_ns + baseline_ns, Ending::Ok)
            }
        };
        *request = Served { slot_ns, baseline_ns, due_ns, clock_ns, ending, ..*request };
        self.timed.push(Reverse((due_ns, request.number, id)));
    }
}

#[cfg(test)]
mod tests {
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
            model.arrive(at_ns, 0);
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
                    assert!(
                        response_ns.abs_diff(expected_ns) <= late_ns,
                        "{name}: {request:?}, {expected_ns}"
                    );
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
                    0..3 if step < 1_500 => alive.push(model.arrive(now_ns, 0)),
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
                let sharing =
                    served.iter().filter(|(o, _)| (o.slot_ns..o.due_ns).contains(&r.slot_ns)).count();
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
        let ids: Vec<_> = (0..5).map(|k| model.arrive(k, k)).collect();
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
        model.arrive(0, 7);
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
        model.arrive(5, 0);
        assert_eq!(model.next_wake_ns(), Some(5 + 10 * MS));
        model.serve(S);
        assert!(model.arm(2 * S));
        model.arrive(2 * S, 0);
        assert_eq!(model.next_wake_ns(), Some(3 * S));
    }
}
