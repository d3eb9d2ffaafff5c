//! The life of a request, as a pure state machine: arrive, take a slot, sleep, wait at the gate, be answered.
//!
//! The moment of an answer is fixed when the slot is taken, and the slot passes on at that moment, not at the
//! later one at which the loop got round to it. So lateness shows in single answers but never adds up: five slots
//! of 10 ms serve exactly 500 requests/s however late the loop is.
//!
//! Poll [`Model::serve`] whenever [`Model::next_wake_ns`] has passed. All times are ns since the server was bound.

#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use crate::clock::EventClock;
use crate::events::Part;
use crate::fault::{Ending, Harm};
use crate::{EventStream, Scenario};

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
    /// Its answer comes bit by bit.
    pub(crate) stream: Option<Position>,
}

/// Where in its answer a request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Position {
    /// Of the event that is due, from 0.
    nth: u32,
    of: EventStream,
}

impl Served {
    /// The event that is due; `None`: the whole answer.
    pub(crate) fn part(&self) -> Option<Part> {
        let Position { nth, of } = self.stream.filter(|_| self.ending == Ending::Ok)?;
        Some(Part { request: self.number, nth, is_last: nth + 1 == of.count })
    }
}

/// All requests in flight, abandoned ones included. Nothing is shed: apart from the abandoned, they are bounded by
/// the connections, each of which has one request here at a time, or many. Takes about 100 bytes per request.
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

    /// A complete request arrives. `ticket` comes back with its answer, which comes as `events` if there are any.
    pub(crate) fn arrive(&mut self, now_ns: u64, ticket: u64, events: Option<EventStream>) -> RequestId {
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
            stream: events.map(|of| Position { nth: 0, of }),
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
        if let Some(Part { is_last: false, .. }) = served.part() {
            self.plan_next_event(id);
            return Some(served);
        }
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

    /// Events follow each other by when they were due, like the answers of a slot; a shut gate holds them. The request keeps
    /// its slot until the last one.
    fn plan_next_event(&mut self, id: RequestId) {
        let request = &mut self.requests[id as usize];
        let Some(Position { nth, of }) = request.stream else { return };
        let slept_ns = request.due_ns + of.gap.as_nanos() as u64;
        let zero_ns = request.clock_ns.unwrap_or(slept_ns);
        let held_ns = request.clock_ns.and_then(|zero_ns| self.scenario.gate_end_ns(slept_ns - zero_ns));
        request.due_ns = held_ns.map_or(slept_ns, |end_ns| zero_ns + end_ns);
        request.stream = Some(Position { nth: nth + 1, of });
        self.timed.push(Reverse((request.due_ns, request.number, id)));
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
