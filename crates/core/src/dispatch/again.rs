//! Attempts after the first: arrivals that wait for their next attempt, and attempts that are given up.
//!
//! An attempt that came to nothing does not end its arrival if there may be another attempt. The arrival then waits.
//! When its time has come, it goes to its lane, in order with the arrivals that fell due. Its timeout keeps running all
//! the while. No further attempt is granted if it would begin after the timeout.

use super::arena::{List, NONE};
use super::landing::Bound;
use super::{Actions, Dispatch, Policy, Retry, TIMEOUTS_PER_CALL_MAX};
use crate::arrival::Arrival;
use crate::code::Code;
use crate::load::Load;
use crate::origins::SocketUse;
use crate::record::{Flight, Recorder, RetryCause};
use crate::time::{Instant, Nanos};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// The index of the links that lead from one attempt to the next, in the order in which they were sent.
const BY_ATTEMPT: usize = 2;

/// The most arrivals of a worker that may wait for their next attempt. Any further arrival ends with the attempt that
/// it had. Memory is reserved for all of them, and is touched only as they come.
const WAITING_MAX: usize = 1 << 16;

/// An arrival that waits for its next attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    /// The attempt may be sent from then on.
    pub(super) at: Instant,
    pub(super) flight: Flight,
}

/// Ordered by the time of the next attempt, then by arrival.
impl Ord for Again {
    fn cmp(&self, other: &Again) -> std::cmp::Ordering {
        let by = |again: &Again| (again.at, again.flight.arrival.intended, again.flight.arrival.index);
        by(self).cmp(&by(other))
    }
}

impl PartialOrd for Again {
    fn partial_cmp(&self, other: &Again) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Again {
    fn eq(&self, other: &Again) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Again {}

/// What a worker knows about its retries.
#[derive(Debug)]
pub(super) struct Retrying {
    retry: Retry,
    /// Whether each operation may be tried again.
    may_repeat: Vec<bool>,
    /// Arrivals of all lanes whose time has not come yet.
    ahead: BinaryHeap<Reverse<Again>>,
    /// Arrivals whose time has come, in that order, one queue per line. The lines are the origins, followed by one more
    /// line per origin for journeys with connections of their own.
    ready: Vec<VecDeque<Again>>,
    /// How many wait in `ahead` and `ready` together.
    waiting: usize,
    /// Attempts under way that may be given up, ordered by the time at which they were sent.
    timed: List<BY_ATTEMPT>,
    /// Arrivals that had their first attempt.
    arrivals: u64,
    /// Attempts after the first that were granted.
    granted: u64,
}

impl Retrying {
    pub(super) fn new(policy: &Policy) -> Option<Retrying> {
        let retry = policy.retry.clone()?;
        let lines = policy.origins.count() * if policy.own.is_some() { 2 } else { 1 };
        Some(Retrying {
            // A connection of a journey's own is what the steps before have made of it: none can be tried again.
            may_repeat: (0..)
                .zip(&policy.idempotent)
                .map(|(operation, &idempotent)| {
                    (idempotent || retry.is_unsafe) && policy.origins.socket_use(operation) == SocketUse::None
                })
                .collect(),
            ahead: BinaryHeap::with_capacity(WAITING_MAX),
            ready: (0..lines).map(|_| VecDeque::with_capacity(WAITING_MAX)).collect(),
            waiting: 0,
            timed: List::EMPTY,
            arrivals: 0,
            granted: 0,
            retry,
        })
    }

    /// An arrival has its first attempt.
    pub(super) fn begins(&mut self) {
        self.arrivals += 1;
    }

    /// Moves the arrivals whose time has come to their lanes.
    pub(super) fn release(&mut self, until: Instant, line_of: impl Fn(&Arrival) -> usize) {
        while let Some(Reverse(again)) = self.ahead.peek().copied().filter(|Reverse(again)| again.at <= until)
        {
            self.ahead.pop();
            self.ready[line_of(&again.flight.arrival)].push_back(again);
        }
    }

    /// When the next one's time comes.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.ahead.peek().map(|Reverse(again)| again.at)
    }

    /// The arrival of a line that may be sent and has waited longest.
    pub(super) fn first_ready(&self, line: usize) -> Option<&Again> {
        self.ready[line].front()
    }

    pub(super) fn pop_ready(&mut self, line: usize) -> Option<Flight> {
        let Again { at, mut flight } = self.ready[line].pop_front()?;
        self.waiting -= 1;
        // Nobody could have sent it before that.
        flight.ready = at;
        Some(flight)
    }

    /// Takes away an arrival even if its time has not come yet, because the run ends.
    pub(super) fn pop_any(&mut self) -> Option<Flight> {
        let Reverse(again) = self.ahead.pop()?;
        self.waiting -= 1;
        Some(again.flight)
    }

    #[inline]
    pub(super) fn ready_of(&self, line: usize) -> u64 {
        self.ready[line].len() as u64
    }

    /// All arrivals that wait, in no particular order.
    pub(super) fn all(&self) -> impl Iterator<Item = &Flight> {
        let ready = self.ready.iter().flatten().map(|again| &again.flight);
        self.ahead.iter().map(|Reverse(again)| &again.flight).chain(ready)
    }

    /// How many wait for their time to come.
    pub(super) fn ahead(&self) -> u64 {
        self.ahead.len() as u64
    }

    /// How many wait, whether their time has come or not.
    pub(super) fn waiting(&self) -> u64 {
        self.waiting as u64
    }

    /// The attempt that has been under way longest, and when it is given up if there may be another one.
    fn first_to_give_up(&self, sent: impl Fn(u32) -> Option<Instant>) -> Option<(u32, Instant)> {
        let (slot, limit) = (self.timed.head, self.retry.try_timeout?);
        if slot == NONE { None } else { sent(slot).map(|at| (slot, at + limit)) }
    }

    /// Counts an attempt that is granted to `flight`, or says why there is none. The attempt would begin at the time
    /// returned.
    fn grant(
        &mut self,
        flight: &Flight,
        (cause, code): (RetryCause, Option<Code>),
        deadline: Instant,
        now: Instant,
        rec: &mut Recorder,
    ) -> Option<Instant> {
        let Retrying { retry, waiting, arrivals, granted, .. } = self;
        let may = self.may_repeat.get(flight.arrival.operation as usize).copied().unwrap_or(false);
        if !may || flight.repeats + 1 >= retry.attempts || !retry.is_for(cause, code) {
            return None;
        }
        let at = Instant(now.0.saturating_add(retry.wait(flight.arrival.key, flight.repeats).0));
        if at >= deadline {
            return None;
        }
        if !retry.is_within_budget(*granted, *arrivals) {
            rec.refused_by_budget(flight);
            return None;
        }
        if *waiting == WAITING_MAX {
            rec.refused_by_room(flight);
            return None;
        }
        *granted += 1;
        Some(at)
    }
}

impl<L: Load> Dispatch<L> {
    /// Whether the arrival of `flight` gets another attempt after one that ended in this way. `code` is the status of
    /// the answer, if there was one. If there is another attempt, the arrival now waits for it.
    pub(super) fn is_tried_again(
        &mut self,
        flight: &Flight,
        cause: RetryCause,
        code: Option<Code>,
        now: Instant,
        rec: &mut Recorder,
    ) -> bool {
        if self.holds(&flight.arrival) {
            return false;
        }
        let Some(retrying) = &mut self.retrying else { return false };
        let deadline = flight.arrival.intended + self.policy.timeout;
        let Some(at) = retrying.grant(flight, (cause, code), deadline, now, rec) else { return false };
        rec.turned_away(flight, cause, now);
        let repeats = flight.repeats + 1;
        let is_last = repeats + 1 == retrying.retry.attempts;
        let flight = Flight { repeats, is_last, attempt: None, resent: false, ..*flight };
        retrying.waiting += 1;
        retrying.ahead.push(Reverse(Again { at, flight }));
        true
    }

    /// The attempt of the flight at `slot` has been sent. It may be given up later, unless it is the last one.
    #[inline(never)]
    pub(super) fn time_attempt(&mut self, slot: u32) {
        let Some(retrying) = &mut self.retrying else { return };
        let Bound { flight, is_timed, .. } = &mut self.flights[slot];
        let (sent, is_first) = (flight.attempt, !*is_timed);
        if retrying.retry.try_timeout.is_none() || flight.is_last || !is_first {
            return;
        }
        *is_timed = true;
        // Sends come in order, except for the rare second send, which keeps the time of the first.
        let mut prev = retrying.timed.tail;
        while prev != NONE && self.flights[prev].flight.attempt > sent {
            prev = self.flights.prev(&retrying.timed, prev);
        }
        self.flights.insert_after(&mut retrying.timed, prev, slot);
    }

    /// The attempt of the flight at `slot` is no longer watched.
    #[inline]
    pub(super) fn forget_attempt(&mut self, slot: u32) {
        if let Some(retrying) = &mut self.retrying
            && std::mem::take(&mut self.flights[slot].is_timed)
        {
            self.flights.unlink(&mut retrying.timed, slot);
        }
    }

    /// The attempt that has taken longest, and when it will have taken too long.
    pub(super) fn first_to_give_up(&self) -> Option<(u32, Instant)> {
        self.retrying.as_ref()?.first_to_give_up(|slot| self.flights[slot].flight.attempt)
    }

    /// Gives up attempts that have taken too long. An attempt that may not be repeated is waited for until the timeout.
    /// As with the timeout, an answer that comes exactly at the limit is still in time.
    pub(super) fn give_up_attempts(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        if self.retrying.is_none() {
            return;
        }
        for _ in 0..TIMEOUTS_PER_CALL_MAX {
            let Some((slot, _)) = self.first_to_give_up().filter(|&(_, at)| now > at) else { return };
            self.forget_attempt(slot);
            let flight = self.flights[slot].flight;
            if self.is_tried_again(&flight, RetryCause::TryTimeout, None, now, rec) {
                self.let_go(slot, now, out, rec);
            }
        }
        self.more_to_do = true;
    }

    /// When the next attempt falls due or is given up.
    pub(super) fn next_again(&self) -> Option<Instant> {
        let retrying = self.retrying.as_ref()?;
        let at = retrying.next_at().map(|at| self.policy.grain.map_or(at, |grain| grain.next(at)));
        let given_up = self.first_to_give_up().map(|(_, at)| at + Nanos(1));
        [at, given_up].into_iter().flatten().min()
    }
}
