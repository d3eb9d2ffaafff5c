//! What answers say beyond their status: whether a step that asks again and again has what it waits for, and where a request is
//! redirected to.

use super::random::Random;
use super::service::Service;
use crate::arrival::{Arrival, Key};
use crate::random::mixed;
use crate::record::Then;
use crate::time::Instant;
use std::collections::BTreeMap;
use std::num::NonZeroU16;

/// Keeps these draws apart from others that are seeded by the same number.
const DRAWS: u64 = 0x686f_6c64_735f_6174;

/// What the answers to steps of journeys say, by the step's operation. Of those that do not stand here, the first answer is what is
/// waited for, and none leads elsewhere.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Content {
    /// Of steps that ask again and again.
    pub holds: BTreeMap<u32, Holds>,
    /// Of steps that follow redirects.
    pub redirects: BTreeMap<u32, Hops>,
}

impl Content {
    fn is_empty(&self) -> bool {
        self.holds.is_empty() && self.redirects.is_empty()
    }
}

/// From when on an answer is what a step waits for.
#[derive(Clone, PartialEq, Debug)]
pub enum Holds {
    /// The answer to so manieth of its requests, counted from 1, and each behind it.
    Answer(u32),
    /// An answer that leaves the server so long after the step was to start, or later. Drawn once for each journey.
    After(Service),
}

/// Redirects of a request, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Hops {
    /// How many.
    pub count: u32,
    /// The operation that follows each.
    pub next: u32,
}

/// What an answer will say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Says {
    /// Nothing follows from it.
    Done,
    /// What is waited for is there if it leaves the server then, or later.
    HoldsFrom(Instant),
    NotYet,
    Redirected(u32),
}

impl Says {
    /// What an answer says that leaves the server at `at`.
    pub(super) fn at(self, at: Instant) -> Then {
        match self {
            Says::Done => Then::Done,
            Says::HoldsFrom(from) if at >= from => Then::Done,
            Says::HoldsFrom(_) | Says::NotYet => Then::NotYet,
            Says::Redirected(next) => Then::Redirected(next),
        }
    }
}

/// The content of answers, and how far each journey is.
#[derive(Debug)]
pub(super) struct Contents {
    content: Content,
    /// For each operation that follows a redirect, that of its step.
    step_of: BTreeMap<u32, u32>,
    /// By slot of the journey. Bounded by the number of slots.
    courses: BTreeMap<NonZeroU16, Course>,
    zero: Instant,
    seed: u64,
}

/// Where a journey is.
#[derive(Clone, Copy, Debug)]
struct Course {
    /// Of the request that it has sent last. An attempt that is made again has the same.
    key: Key,
    /// The operation of its step.
    step: u32,
    /// When that was to start.
    since: Instant,
    /// Requests of the step, or of the redirects in a row, with this one.
    count: u32,
}

impl Contents {
    pub(super) fn new(content: Content, zero: Instant, seed: u64) -> Contents {
        let step_of = content.redirects.iter().map(|(&step, hops)| (hops.next, step)).collect();
        Contents { content, step_of, courses: BTreeMap::new(), zero, seed }
    }

    /// What the answer to a request of this arrival will say, which is sent now.
    #[inline]
    pub(super) fn of(&mut self, arrival: &Arrival) -> Says {
        match arrival.slot {
            Some(slot) if !self.content.is_empty() => self.of_journey(arrival, slot),
            _ => Says::Done,
        }
    }

    fn of_journey(&mut self, arrival: &Arrival, slot: NonZeroU16) -> Says {
        let (key, operation) = (arrival.key, arrival.operation);
        let step = self.step_of.get(&operation).copied().unwrap_or(operation);
        let (holds, hops) = (self.content.holds.get(&step), self.content.redirects.get(&step));
        if holds.is_none() && hops.is_none() {
            return Says::Done;
        }
        let begun = Course { key, step, since: arrival.intended, count: 1 };
        let course = self.courses.entry(slot).or_insert(begun);
        let is_same = course.step == step && (course.key.load, course.key.unit) == (key.load, key.unit);
        *course = match is_same {
            true if course.key.step == key.step => *course,
            // It waits for the same, or has been sent on; a request of the step itself begins a chain of redirects.
            true if holds.is_some() || operation != step => {
                Course { key, count: course.count + 1, ..*course }
            }
            _ => begun,
        };
        match (holds, hops) {
            (Some(Holds::Answer(number)), _) if course.count >= *number => Says::Done,
            (Some(Holds::Answer(_)), _) => Says::NotYet,
            (Some(Holds::After(time)), _) => {
                let of_journey = mixed(mixed(mixed(self.seed ^ DRAWS) ^ u64::from(key.load)) ^ key.unit);
                let mut random = Random::new(mixed(of_journey ^ u64::from(step)), 0);
                Says::HoldsFrom(course.since + time.draw(course.since.since(self.zero), &mut random))
            }
            (None, Some(hops)) if course.count <= hops.count => Says::Redirected(hops.next),
            _ => Says::Done,
        }
    }
}
