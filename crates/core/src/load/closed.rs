//! A closed population of users.

use super::population::{Coming, Population, Users};
use super::{Load, LoadNumber};
use crate::arrival::{Arrival, Key};
use crate::mix::Asked;
use crate::origins::Origins;
use crate::outcome::Outcome;
use crate::record::{Ages, Recorder};
use crate::share::Share;
use crate::time::{Instant, Nanos};
use std::collections::VecDeque;

/// Room for users who are ready is made for so many at the most before the start.
const USERS_MAX: u32 = 1_000_000;

/// When nobody comes.
const NEVER: Instant = Instant(u64::MAX);

/// A finite population: each user waits for its answer, thinks, and comes again.
#[derive(Clone, Debug)]
pub struct Closed {
    users: Users,
    /// When the next request falls due, and whether it is the first of its user.
    next: (Instant, bool),
    /// Those whose next request is due, by its origin.
    ready: Vec<VecDeque<Arrival>>,
    number: LoadNumber,
    stop: Instant,
    asked: Asked,
    origins: Origins,
    measured_from: Instant,
    left: u64,
    in_flight: u64,
}

/// What a worker's share of a closed population is.
#[derive(Clone, Debug)]
pub struct ClosedShare {
    /// Which load of the run this is, and of how many.
    pub number: LoadNumber,
    /// Who they are, over all workers.
    pub population: Population,
    /// When the first user starts.
    pub start: Instant,
    /// Nothing starts at this time or later.
    pub end: Instant,
    /// Requests that start at this time or later are measured; those before are warm-up.
    pub measured_from: Instant,
    /// Measured requests over all workers at the most.
    pub limit: u64,
    /// Which users are this worker's: those whose number is `first` (mod `of`).
    pub share: Share,
    /// What each user asks for: a sequence of its own.
    pub asked: Asked,
    /// Where these are asked.
    pub origins: Origins,
}

impl Closed {
    /// One worker's users.
    pub fn new(spec: ClosedShare) -> Closed {
        let (first, of) = (u64::from(spec.share.first), u64::from(spec.share.of));
        let users = Users::new(spec.population, spec.share, spec.start);
        let waiting = users.most().min(u64::from(USERS_MAX)) as usize;
        let mut closed = Closed {
            users,
            next: (NEVER, false),
            ready: (0..spec.origins.count()).map(|_| VecDeque::with_capacity(waiting)).collect(),
            number: spec.number,
            stop: spec.end,
            asked: spec.asked,
            origins: spec.origins,
            measured_from: spec.measured_from,
            left: spec.limit / of + u64::from(first < spec.limit % of),
            in_flight: 0,
        };
        closed.look_ahead();
        closed
    }
}

impl Closed {
    /// What is due falls due.
    #[inline(always)] // into what follows an answer
    fn fall_due(&mut self, now: Instant, mut due: impl FnMut(Arrival)) {
        while self.is_due(now) {
            let (intended, begins) = self.next;
            let Some(Coming { index, key, place }) = self.users.take(begins) else { return };
            let arrival = Arrival {
                index: self.number.in_run(index),
                key: Key { load: self.number.load, ..key },
                operation: self.asked.at(place),
                intended,
                begins,
                ..Arrival::default()
            };
            self.left -= u64::from(intended >= self.measured_from);
            self.look_ahead();
            due(arrival);
            self.ready[self.origins.of(arrival.operation)].push_back(arrival);
        }
    }

    /// Finds who comes next, if anybody still may.
    #[inline(always)]
    fn look_ahead(&mut self) {
        let next = self.users.next().filter(|&(at, _)| self.left > 0 && at < self.stop);
        self.next = next.unwrap_or((NEVER, false));
    }

    #[inline]
    fn is_due(&self, now: Instant) -> bool {
        self.next.0 <= now && self.next.0 != NEVER
    }
}

impl Load for Closed {
    #[inline(always)]
    fn advance(&mut self, now: Instant, due: impl FnMut(Arrival)) {
        self.fall_due(now, due);
    }

    #[inline]
    fn may_be_due(&self, now: Instant) -> bool {
        self.is_due(now)
    }

    #[inline]
    fn head(&self, origin: usize) -> Option<Arrival> {
        self.ready[origin].front().copied()
    }

    #[inline]
    fn pop(&mut self, origin: usize) {
        self.ready[origin].pop_front();
        self.in_flight += 1;
    }

    #[inline(always)]
    fn take(&mut self, origin: usize) -> Option<Arrival> {
        let arrival = self.ready[origin].pop_front()?;
        self.in_flight += 1;
        Some(arrival)
    }

    #[inline]
    fn waiting(&self, origin: usize) -> u64 {
        self.ready[origin].len() as u64
    }

    fn add_ages(&self, now: Instant, ages: &mut Ages) {
        for ready in &self.ready {
            ages.add_in_order(ready.len() as u64, |rank| now.since(ready[rank as usize].intended));
        }
    }

    #[inline]
    fn next_due(&self) -> Option<Instant> {
        Some(self.next.0).filter(|&at| at != NEVER)
    }

    #[inline(always)] // into what follows an answer
    fn ended(&mut self, arrival: &Arrival, _outcome: Outcome, now: Instant, _rec: &mut Recorder) {
        self.in_flight -= 1;
        let again = self.users.ended(arrival.key, now);
        // Nobody comes before that.
        if let Some(again) = again.filter(|&again| again < self.next.0 && again < self.stop)
            && self.left > 0
        {
            self.next = (again, false);
        }
    }

    fn pauses(&mut self) -> Option<&mut VecDeque<Nanos>> {
        self.users.pauses()
    }

    fn stop(&mut self, at: Instant) {
        self.stop = self.stop.min(at);
        self.look_ahead();
    }

    fn end(&self) -> Instant {
        self.stop
    }

    #[inline]
    fn is_exhausted(&self, now: Instant) -> bool {
        // A user in flight comes again when its answer is there, unless the run is over by then.
        let is_anyone_here = self.in_flight > 0 || self.ready.iter().any(|ready| !ready.is_empty());
        let nobody_returns = self.left == 0 || now >= self.stop || !is_anyone_here;
        nobody_returns && self.next_due().is_none()
    }
}
