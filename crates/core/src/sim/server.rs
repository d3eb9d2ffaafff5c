//! The server: slots, a queue, service times, and ways to misbehave.
//!
//! A request takes a slot if they are limited, first come first served; works for its service time; and if
//! the server is shut at the moment it would answer, waits until it opens, still in its slot. A request
//! that its client has given up keeps its slot, as in most real servers. So every answer is known at the
//! moment in which the request arrives.

use super::crowding::{Crowd, Crowding};
use super::limit::{Bucket, Limit};
use super::random::{Random, nanos};
use super::service::{EventSpec, Service};
use super::watch::Taken;
use super::window::{DrawnWindows, RandomWindows, Windows};
use crate::dispatch::FlightId;
use crate::time::{Instant, Nanos};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// How a server behaves. Times count from the schedule's zero.
#[derive(Clone, PartialEq, Debug)]
pub struct ServerSpec {
    /// More than this is answered 429 at once.
    pub limit: Option<Limit>,
    /// Requests in service at once; no limit without it.
    pub slots: Option<u32>,
    /// Requests that may wait for a slot; one more is answered 503 at once.
    pub queue_max: Option<u64>,
    /// How long the work takes.
    pub service: Service,
    /// The same of single operations, by number.
    pub service_of: BTreeMap<u32, Service>,
    /// Every n-th request takes this long instead.
    pub every_nth: Option<(Nanos, u64)>,
    /// A request in n, at random, takes this long instead.
    pub slow_one_in: Option<(Nanos, u64)>,
    /// Of a connection, one request is worked on at a time, in the order in which they came: behind a slow one, the others wait.
    pub in_order: bool,
    /// Answers come event by event, if they do. While it is shut, no event leaves.
    pub events: Option<EventSpec>,
    /// How it works while it is crowded.
    pub crowding: Option<Crowding>,
    /// While it is shut, nothing is answered.
    pub shut: Vec<Windows>,
    /// The same at random times.
    pub shut_at_random: Option<RandomWindows>,
    /// While the accept queue is stalled, attempts to connect are dropped and tried again by the client's
    /// kernel after 1 s, 3 s, 7 s and so on.
    pub accept_stalled: Vec<Windows>,
    /// Refuses connections, and resets those that carry a request.
    pub down: Vec<Windows>,
    /// A connection in n, at random, is refused.
    pub refuse_one_in: u64,
    /// A request in n, at random, is reset halfway through its work.
    pub reset_one_in: u64,
    /// A request in n, at random, is answered 500 at once.
    pub error_one_in: u64,
}

impl ServerSpec {
    /// A server without limits and without misfortune.
    pub fn new(service: Service) -> ServerSpec {
        ServerSpec {
            limit: None,
            slots: None,
            queue_max: None,
            service,
            service_of: BTreeMap::new(),
            every_nth: None,
            slow_one_in: None,
            in_order: false,
            events: None,
            crowding: None,
            shut: Vec::new(),
            shut_at_random: None,
            accept_stalled: Vec::new(),
            down: Vec::new(),
            refuse_one_in: 0,
            reset_one_in: 0,
            error_one_in: 0,
        }
    }
}

/// What becomes of an attempt to connect.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Attempt {
    Accepted(Instant),
    Refused(Instant),
}

/// First wait of a kernel before it sends a SYN again; each further one is twice as long (RFC 6298 §5).
const SYN_RETRY: Nanos = Nanos::from_secs(1);
/// Linux gives up after six.
const SYN_RETRIES: u32 = 6;

#[derive(Clone, Debug)]
pub(super) struct Server {
    spec: ServerSpec,
    zero: Instant,
    random: Random,
    at_random: Option<DrawnWindows>,
    bucket: Option<Bucket>,
    /// When each slot is free.
    free: BinaryHeap<Reverse<Instant>>,
    /// When those that wait for a slot begin.
    begins: VecDeque<Instant>,
    crowd: Option<Crowd>,
    served: u64,
    busy_until: Instant,
    /// When the events of the latest answer leave.
    events: Vec<Instant>,
}

impl Server {
    pub(super) fn new(spec: ServerSpec, zero: Instant, seed: u64) -> Server {
        let at_random = spec.shut_at_random.map(|windows| DrawnWindows::new(windows, Random::new(seed, 2)));
        let free = (0..spec.slots.unwrap_or(0)).map(|_| Reverse(Instant(0))).collect();
        Server {
            bucket: spec.limit.map(Bucket::new),
            zero,
            random: Random::new(seed, 1),
            at_random,
            free,
            begins: VecDeque::new(),
            crowd: spec.crowding.map(Crowd::new),
            served: 0,
            busy_until: Instant(0),
            events: Vec::new(),
            spec,
        }
    }

    /// When the last of the work taken so far ends.
    pub(super) fn busy_until(&self) -> Instant {
        self.busy_until
    }

    /// Answers come event by event.
    pub(super) fn has_events(&self) -> bool {
        self.spec.events.is_some()
    }

    /// When the events of the answer to the latest request leave, in order.
    pub(super) fn events(&self) -> &[Instant] {
        &self.events
    }

    /// An attempt to connect arrives.
    pub(super) fn connect(&mut self, now: Instant) -> Attempt {
        let (mut at, mut wait) = (now, SYN_RETRY);
        for _ in 0..SYN_RETRIES {
            let offset = at.since(self.zero);
            if !self.spec.accept_stalled.iter().any(|w| w.end_of(offset).is_some()) {
                break;
            }
            at = at + wait;
            wait = wait + wait;
        }
        if self.is_down(at) || self.random.one_in(self.spec.refuse_one_in) {
            return Attempt::Refused(at);
        }
        Attempt::Accepted(at)
    }

    /// Of a connection, one request at a time is worked on.
    pub(super) fn is_in_order(&self) -> bool {
        self.spec.in_order
    }

    /// A request arrives; `now` never goes back. It is not worked on before `after`.
    pub(super) fn request(
        &mut self,
        flight: FlightId,
        operation: u32,
        now: Instant,
        after: Instant,
    ) -> Taken {
        self.events.clear();
        let at_once = now.max(after);
        if self.is_down(now) {
            return Taken { flight, work: None, ends: now, status: None };
        }
        if self.spec.error_one_in > 0 && self.random.one_in(self.spec.error_one_in) {
            return Taken { flight, work: None, ends: at_once, status: Some(500) };
        }
        if self.bucket.as_mut().is_some_and(|bucket| !bucket.take(now)) {
            return Taken { flight, work: None, ends: at_once, status: Some(429) };
        }
        let begin = match self.free.peek() {
            None => now,
            Some(&Reverse(free)) => now.max(free),
        };
        if let Some(queue_max) = self.spec.queue_max.filter(|_| begin > now) {
            while self.begins.front().is_some_and(|&begin| begin <= now) {
                self.begins.pop_front();
            }
            if self.begins.len() as u64 >= queue_max {
                return Taken { flight, work: None, ends: at_once, status: Some(503) };
            }
            self.begins.push_back(begin);
        }
        // Its slot waits with it.
        let begin = begin.max(after);
        let end = self.finish(operation, begin, now);
        self.busy_until = self.busy_until.max(end);
        if self.spec.slots.is_some() {
            self.free.pop();
            self.free.push(Reverse(end));
        }
        if self.spec.reset_one_in > 0 && self.random.one_in(self.spec.reset_one_in) {
            let ends = begin + Nanos(end.since(begin).0 / 2);
            self.events.retain(|&event| event <= ends);
            return Taken { flight, work: Some((begin, end)), ends, status: None };
        }
        Taken { flight, work: Some((begin, end)), ends: end, status: Some(200) }
    }

    /// When work that begins at `begin` is answered.
    fn finish(&mut self, operation: u32, begin: Instant, now: Instant) -> Instant {
        self.served += 1;
        let service = self.spec.service_of.get(&operation).unwrap_or(&self.spec.service);
        let service = service.draw(begin.since(self.zero), &mut self.random);
        let slow = self.spec.slow_one_in.filter(|&(_, n)| self.random.one_in(n)).map(|(time, _)| time);
        let nth = self.spec.every_nth.filter(|&(_, n)| self.served.is_multiple_of(n)).map(|(time, _)| time);
        let factor = self.crowd.as_mut().map_or(1.0, |crowd| crowd.factor(now));
        let work = nth.or(slow).unwrap_or(service);
        let work = if factor == 1.0 { work } else { nanos(work.0 as f64 * factor) };
        let end = self.open_from(begin + work, now);
        let end = self.send_events(end, now);
        if let Some(crowd) = &mut self.crowd {
            crowd.leaves(end);
        }
        end
    }

    /// The last of the events, the first of which leaves at `first`.
    fn send_events(&mut self, first: Instant, now: Instant) -> Instant {
        let Some(EventSpec { count, gap }) = self.spec.events.clone() else { return first };
        let mut at = first;
        self.events.push(at);
        for _ in 1..count {
            let gap = gap.draw(at.since(self.zero), &mut self.random);
            at = self.open_from(at + gap, now);
            self.events.push(at);
        }
        at
    }

    /// The first moment from `at` on at which it answers.
    fn open_from(&mut self, at: Instant, now: Instant) -> Instant {
        let mut at = at.since(self.zero);
        // One stretch may end within another.
        while let Some(open) = self.open_after(at, now.since(self.zero)) {
            at = open;
        }
        self.zero + at
    }

    fn open_after(&mut self, at: Nanos, past: Nanos) -> Option<Nanos> {
        let on_clock = self.spec.shut.iter().find_map(|windows| windows.end_of(at));
        on_clock.or_else(|| self.at_random.as_mut()?.end_of(at, past))
    }

    fn is_down(&self, at: Instant) -> bool {
        self.spec.down.iter().any(|windows| windows.end_of(at.since(self.zero)).is_some())
    }
}
