//! Who the users of a closed load are: all alike, or those that were recorded.

use super::ring::Ring;
use crate::arrival::Key;
use crate::mix::Place;
use crate::recorded_users::RecordedUsers;
use crate::share::Share;
use crate::time::{Instant, Nanos};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Pauses that are handed over ahead at the most.
const PAUSES_MAX: usize = 4_096;

/// The users of a closed load, over all workers.
#[derive(Clone, Debug)]
pub enum Population {
    /// All do the same.
    Alike {
        /// How many.
        users: u32,
        /// From the end of an answer to the next request.
        think: Nanos,
        /// Their first requests are spread evenly over this time, so that they don't march in step.
        ramp_up: Nanos,
    },
    /// Each begins when it was recorded, and pauses as it was recorded.
    Recorded(RecordedUsers),
}

/// A request that falls due.
#[derive(Clone, Copy, Debug)]
pub(super) struct Coming {
    pub(super) index: u64,
    pub(super) key: Key,
    pub(super) place: Place,
}

/// Those of one worker.
#[derive(Clone, Debug)]
pub(super) enum Users {
    Alike(Alike),
    Paused(Paused),
    Recorded(Returning),
}

impl Users {
    pub(super) fn new(population: Population, share: Share, start: Instant) -> Users {
        let (first, step) = (u64::from(share.first), u64::from(share.of));
        match population {
            Population::Alike { users, think, ramp_up } => {
                let beginners = Beginners { next: first, step, users: u64::from(users), start, ramp_up };
                let mine = users.div_ceil(share.of) as usize;
                Users::Alike(Alike { beginners, thinking: Ring::new(mine), think })
            }
            Population::Recorded(users) => {
                // Of those who come again, all may be this worker's.
                let mine = users.users().div_ceil(step).min(u64::from(users.returning())) as usize;
                let pausing = BinaryHeap::with_capacity(mine);
                Users::Recorded(Returning { users, next: first, step, start, pausing })
            }
        }
    }

    /// Pauses of users who do the same but for these.
    pub(super) fn pauses(&mut self) -> Option<&mut VecDeque<Nanos>> {
        if let Users::Alike(Alike { beginners, thinking, think }) = self {
            let (mine, beginners) = (thinking.most(), beginners.clone());
            let pauses = VecDeque::with_capacity(mine.min(PAUSES_MAX));
            let pausing = BinaryHeap::with_capacity(mine);
            *self = Users::Paused(Paused { beginners, pausing, pauses, last: *think });
        }
        match self {
            Users::Paused(paused) => Some(&mut paused.pauses),
            Users::Alike(_) | Users::Recorded(_) => None,
        }
    }

    /// How many there are at the most.
    pub(super) fn most(&self) -> u64 {
        match self {
            Users::Alike(Alike { beginners, .. }) | Users::Paused(Paused { beginners, .. }) => {
                beginners.users.div_ceil(beginners.step)
            }
            Users::Recorded(recorded) => recorded.users.users().div_ceil(recorded.step),
        }
    }

    /// When the next request falls due, and whether it is the first of its user: of one time, that one comes first.
    #[inline(always)]
    pub(super) fn next(&self) -> Option<(Instant, bool)> {
        match self {
            // Most of the time.
            Users::Alike(Alike { beginners, thinking, .. }) if beginners.next >= beginners.users => {
                thinking.front().map(|user| (user.until, false))
            }
            _ => self.next_of_all(),
        }
    }

    /// The same where somebody may have yet to begin.
    #[inline(never)]
    fn next_of_all(&self) -> Option<(Instant, bool)> {
        let (again, begins) = match self {
            Users::Alike(alike) => {
                (alike.thinking.front().map(|user| user.until), alike.beginners.next_start())
            }
            Users::Paused(paused) => {
                (paused.pausing.peek().map(|Reverse((until, ..))| *until), paused.beginners.next_start())
            }
            Users::Recorded(recorded) => {
                (recorded.pausing.peek().map(|Reverse((until, _))| *until), recorded.next_start())
            }
        };
        match (again, begins) {
            (Some(until), Some(start)) if until < start => Some((until, false)),
            (_, Some(start)) => Some((start, true)),
            (Some(until), None) => Some((until, false)),
            (None, None) => None,
        }
    }

    /// Takes that one.
    #[inline]
    pub(super) fn take(&mut self, begins: bool) -> Option<Coming> {
        match self {
            Users::Alike(alike) => alike.take(begins).map(|next| alike.beginners.coming(next)),
            Users::Paused(paused) => paused.take(begins).map(|next| paused.beginners.coming(next)),
            Users::Recorded(recorded) => recorded.take(begins).map(Returning::coming),
        }
    }

    /// The request with this key ended at `now`. When its user comes again, if ever.
    #[inline(always)] // for each request
    pub(super) fn ended(&mut self, key: Key, now: Instant) -> Option<Instant> {
        match self {
            Users::Alike(alike) => alike.ended(key, now),
            Users::Paused(paused) => paused.ended(key, now),
            Users::Recorded(recorded) => recorded.ended(key, now),
        }
    }
}

/// Users who do the same.
#[derive(Clone, Debug)]
pub(super) struct Alike {
    beginners: Beginners,
    /// Who comes again and when, in order: all think for the same time, so that whoever ended first is first.
    thinking: Ring<Thinking>,
    think: Nanos,
}

/// A user between two requests.
#[derive(Clone, Copy, Debug, Default)]
struct Thinking {
    until: Instant,
    user: u32,
    /// The number of the next request.
    step: u32,
}

/// The users of a worker who have not begun: those from `next` on, in steps.
#[derive(Clone, Debug)]
struct Beginners {
    next: u64,
    step: u64,
    users: u64,
    start: Instant,
    ramp_up: Nanos,
}

impl Beginners {
    /// User u of n begins at u/n of the ramp-up.
    #[inline]
    fn next_start(&self) -> Option<Instant> {
        (self.next < self.users).then(|| self.start_of_next())
    }

    #[inline(never)] // it divides 128 bits, and only while users begin
    fn start_of_next(&self) -> Instant {
        let share = u128::from(self.ramp_up.0) * u128::from(self.next) / u128::from(self.users);
        self.start + Nanos(share as u64)
    }

    /// The next one begins.
    fn begin(&mut self) -> u32 {
        let user = self.next as u32;
        self.next += self.step;
        user
    }

    /// The request of a user with this number.
    #[inline]
    fn coming(&self, (user, step): (u32, u32)) -> Coming {
        let user = u64::from(user);
        Coming {
            index: u64::from(step) * self.users + user,
            key: Key { load: 0, unit: user, step },
            place: Place { sequence: user, sequences: self.users.max(1), ordinal: u64::from(step) },
        }
    }
}

impl Alike {
    #[inline]
    fn take(&mut self, begins: bool) -> Option<(u32, u32)> {
        if begins {
            return Some((self.beginners.begin(), 0));
        }
        self.thinking.pop().map(|next| (next.user, next.step))
    }

    #[inline(always)] // for each request
    fn ended(&mut self, Key { unit, step, .. }: Key, now: Instant) -> Option<Instant> {
        let until = now + self.think;
        // Both fit: there are a million users at the most, and nobody asks four thousand million times.
        self.thinking.push(Thinking { until, user: unit as u32, step: step.wrapping_add(1) });
        Some(until)
    }
}

/// Users who do the same, each after a pause of its own that whoever drives the load hands over.
#[derive(Clone, Debug)]
pub(super) struct Paused {
    beginners: Beginners,
    /// Until when somebody pauses, who, and the number of the next request.
    pausing: BinaryHeap<Reverse<(Instant, u32, u32)>>,
    pauses: VecDeque<Nanos>,
    /// The one that was taken last.
    last: Nanos,
}

impl Paused {
    #[inline(never)] // off the way of users who do the same
    fn take(&mut self, begins: bool) -> Option<(u32, u32)> {
        if begins {
            return Some((self.beginners.begin(), 0));
        }
        self.pausing.pop().map(|Reverse((_, user, step))| (user, step))
    }

    #[inline(never)]
    fn ended(&mut self, Key { unit, step, .. }: Key, now: Instant) -> Option<Instant> {
        self.last = self.pauses.pop_front().unwrap_or(self.last);
        let until = now + self.last;
        self.pausing.push(Reverse((until, unit as u32, step.wrapping_add(1))));
        Some(until)
    }
}

/// Users who come again when they did.
#[derive(Clone, Debug)]
pub(super) struct Returning {
    users: RecordedUsers,
    /// Who begins next, and how many users of other workers lie between two of this one's.
    next: u64,
    step: u64,
    start: Instant,
    /// Until when somebody pauses, and the number of the arrival that follows.
    pausing: BinaryHeap<Reverse<(Instant, u64)>>,
}

impl Returning {
    #[inline(never)]
    fn next_start(&self) -> Option<Instant> {
        (self.next < self.users.users())
            .then(|| self.users.recorded().at(self.users.begin(self.next)))
            .flatten()
            .map(|at| self.start + at)
    }

    /// The number of its arrival.
    #[inline(never)]
    fn take(&mut self, begins: bool) -> Option<u64> {
        if begins {
            let user = self.next;
            self.next += self.step;
            return Some(self.users.begin(user));
        }
        self.pausing.pop().map(|Reverse((_, k))| k)
    }

    fn coming(k: u64) -> Coming {
        let place = Place { sequence: 0, sequences: 1, ordinal: k };
        Coming { index: k, key: Key::single(k), place }
    }

    #[inline(never)]
    fn ended(&mut self, key: Key, now: Instant) -> Option<Instant> {
        let link = self.users.link(key.unit);
        let until = (link.next > 0).then(|| now + link.pause)?;
        self.pausing.push(Reverse((until, link.next)));
        Some(until)
    }
}
