//! A place in a schedule.

use super::{Schedule, Superposed};
use crate::share::Share;
use crate::time::Nanos;

/// A place in a part of the schedule, whose arrivals it yields in order of time.
///
/// Cloning is exact, so that "what is due" and "what is not yet sent" are two cursors over one schedule and a backlog of a
/// million arrivals takes no memory.
#[derive(Clone, Debug)]
pub struct Cursor {
    points: Points,
    phase: usize,
    /// The burst or lull, where there are any.
    stretch: usize,
}

/// Where the process's next point is. Recorded arrivals lie evenly in their Λ.
#[derive(Clone, Debug)]
enum Points {
    Even { index: u64, steps: Steps },
    Drawn(Box<Superposed>, Skip),
}

/// Which even arrivals a cursor yields.
#[derive(Clone, Debug)]
enum Steps {
    /// Each so many'th.
    Every(u64),
    /// A share's; `group` is that of the arrival that comes next.
    Dealt { share: Share, group: u64 },
}

/// Drawn arrivals that are left out: before the next one, and after each.
#[derive(Clone, Copy, Debug)]
struct Skip {
    next: u64,
    each: u64,
}

impl Steps {
    /// The number of the arrival after `index`.
    fn after(&mut self, index: u64) -> u64 {
        match self {
            Steps::Every(step) => index + *step,
            Steps::Dealt { share, group } => {
                *group += 1;
                share.in_group(*group)
            }
        }
    }
}

impl Cursor {
    /// Of all arrivals in order of time, the one with `first` before it and each `step`th from there.
    pub fn new(schedule: &Schedule, first: u64, step: u64) -> Cursor {
        let points = match schedule.process.seed() {
            None => Points::Even { index: first, steps: Steps::Every(step) },
            Some(seed) => Points::Drawn(
                Box::new(Superposed::new(schedule, seed, Share::WHOLE)),
                Skip { next: first, each: step - 1 },
            ),
        };
        Cursor { points, phase: 0, stretch: 0 }
    }

    /// The arrivals of a share.
    pub fn of_share(schedule: &Schedule, share: Share) -> Cursor {
        let points = match schedule.process.seed() {
            None if share.of == 1 => Points::Even { index: 0, steps: Steps::Every(1) },
            None => Points::Even { index: share.in_group(0), steps: Steps::Dealt { share, group: 0 } },
            Some(seed) => {
                Points::Drawn(Box::new(Superposed::new(schedule, seed, share)), Skip { next: 0, each: 0 })
            }
        };
        Cursor { points, phase: 0, stretch: 0 }
    }

    /// To the place of `other`, which is of the same share. Allocates nothing.
    pub fn go_to(&mut self, other: &Cursor) {
        self.phase = other.phase;
        self.stretch = other.stretch;
        match (&mut self.points, &other.points) {
            (Points::Drawn(mine, skip), Points::Drawn(theirs, their_skip)) => {
                mine.go_to(theirs);
                *skip = *their_skip;
            }
            (mine, theirs) => *mine = theirs.clone(),
        }
    }

    /// The next arrival: its number and its intended time after the start. `None` at the end, for good.
    pub fn next(&mut self, schedule: &Schedule) -> Option<(u64, Nanos)> {
        let (index, units) = self.points.next(schedule)?;
        if schedule.recorded.is_some() {
            return Some((index, schedule.at_units(units)?));
        }
        let units = match &schedule.warp {
            None => units,
            Some(warp) => warp.shape_from(&mut self.stretch, units),
        };
        while units >= schedule.phases[self.phase].units_after {
            self.phase += 1;
        }
        Some((index, schedule.phases[self.phase].due(units)))
    }

    /// The intended time, after the start, of the arrival that `n` others precede from here. Only even arrivals have one
    /// that is known without going there.
    pub fn even_ahead(&self, schedule: &Schedule, n: u64) -> Option<Nanos> {
        let Points::Even { index, steps } = &self.points else { return None };
        let index = match steps {
            Steps::Every(step) => index + step * n,
            Steps::Dealt { share, group } => share.in_group(group + n),
        };
        Some(schedule.expected_at(index))
    }
}

impl Points {
    /// The next arrival's number and its Λ, which lies before the schedule's end.
    fn next(&mut self, schedule: &Schedule) -> Option<(u64, u128)> {
        match self {
            Points::Even { index, steps } => {
                let units = u128::from(*index) * schedule.units_per_request;
                if units >= schedule.end_units {
                    return None;
                }
                let this = *index;
                *index = steps.after(this);
                Some((this, units))
            }
            Points::Drawn(streams, skip) => {
                for _ in 0..std::mem::replace(&mut skip.next, skip.each) {
                    streams.next(schedule)?;
                }
                streams.next(schedule)
            }
        }
    }
}
