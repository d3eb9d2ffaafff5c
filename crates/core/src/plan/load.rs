//! What offers the load of a run.

use super::RAMP_UP_WITHOUT_THINKING;
use crate::rate::Rate;
use crate::recorded::Recorded;
use crate::recorded_users::RecordedUsers;
use crate::schedule::{Phase, Process, recorded_phases};
use crate::time::Nanos;

/// What offers the load, before it is checked.
#[derive(Clone, PartialEq, Debug)]
pub enum LoadSpec {
    /// Arrivals by schedule.
    Open {
        /// The measured shape, end to end; the warm-up is put before it.
        phases: Vec<Phase>,
        /// How arrivals lie around it.
        process: Process,
    },
    /// Several of those at once.
    Several(Vec<OpenPart>),
    /// Arrivals as they were recorded; the warm-up is the beginning of the record. The record says what they ask for, too.
    Recorded(Recorded),
    /// The same by user: each request follows the answer to the one before it, after the recorded pause. A closed load.
    RecordedUsers(RecordedUsers),
    /// A finite population.
    Closed {
        /// How many users.
        users: u32,
        /// From an answer to the next request.
        think: Nanos,
        /// Their first requests are spread evenly over this time; measuring begins after it.
        ramp_up: Nanos,
        /// Length of the measured part.
        duration: Nanos,
    },
}

/// One of several open loads.
#[derive(Clone, PartialEq, Debug)]
pub struct OpenPart {
    /// How it is called.
    pub name: Option<String>,
    /// Its shape, end to end. If it begins with the measured part, the warm-up is put before it.
    pub phases: Vec<Phase>,
    /// How arrivals lie around it.
    pub process: Process,
    /// When it begins, after the start of the measured part.
    pub start: Nanos,
    /// The numbers of the operations that it asks for; all of the run without.
    pub only: Option<Vec<u32>>,
}

impl OpenPart {
    /// A load that begins with the measured part and asks for everything.
    pub fn whole(phases: Vec<Phase>, process: Process) -> OpenPart {
        OpenPart { name: None, phases, process, start: Nanos::ZERO, only: None }
    }

    /// Its shape, from the schedule's zero on.
    pub(super) fn placed(&self, warmup: Nanos) -> Vec<Phase> {
        let first = self.phases.first().map_or(Rate::default(), |phase| phase.from);
        let (before, rate) = match self.start {
            Nanos::ZERO => (warmup, first),
            start => (warmup + start, Rate::default()),
        };
        let before = (before > Nanos::ZERO).then_some(Phase::hold(rate, before));
        before.into_iter().chain(self.phases.iter().copied()).collect()
    }
}

impl LoadSpec {
    /// How many users a closed load has.
    pub fn users(&self) -> Option<u32> {
        match self {
            LoadSpec::Closed { users, .. } => Some(*users),
            LoadSpec::RecordedUsers(users) => Some(u32::try_from(users.users()).unwrap_or(u32::MAX)),
            LoadSpec::Open { .. } | LoadSpec::Several(_) | LoadSpec::Recorded(_) => None,
        }
    }

    /// A finite population that begins spread over a think time: then as many are thinking at each moment as later.
    pub fn closed(users: u32, think: Nanos, duration: Nanos) -> LoadSpec {
        let ramp_up = if think > Nanos::ZERO { think } else { RAMP_UP_WITHOUT_THINKING };
        LoadSpec::Closed { users, think, ramp_up, duration }
    }

    /// The open loads, each as one of several. None if the load is closed.
    pub fn open_parts(&self) -> Vec<OpenPart> {
        match self {
            LoadSpec::Open { phases, process } => vec![OpenPart::whole(phases.clone(), *process)],
            LoadSpec::Several(parts) => parts.clone(),
            LoadSpec::Recorded(recorded) => {
                vec![OpenPart::whole(recorded_phases(recorded), Process::Recorded)]
            }
            LoadSpec::Closed { .. } | LoadSpec::RecordedUsers(_) => Vec::new(),
        }
    }
}

/// A stretch of time in which the rates of all open loads together go in a straight line.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stretch {
    /// Rate at its start.
    pub from_per_s: f64,
    /// Rate at its end.
    pub to_per_s: f64,
    /// Its length.
    pub length: Nanos,
}

impl Stretch {
    /// The highest rate in it.
    pub fn highest_per_s(&self) -> f64 {
        self.from_per_s.max(self.to_per_s)
    }
}

/// The highest rate of open loads together, per second; 0 of none.
pub fn highest_per_s(parts: &[OpenPart]) -> f64 {
    together(parts).iter().map(Stretch::highest_per_s).fold(0.0, f64::max)
}

/// What open loads ask for together, from the start of the measured part to the end of the last of them.
pub fn together(parts: &[OpenPart]) -> Vec<Stretch> {
    let mut edges = vec![Nanos::ZERO];
    for part in parts {
        let mut at = part.start;
        edges.push(at);
        for phase in &part.phases {
            at += phase.duration;
            edges.push(at);
        }
    }
    edges.sort_unstable();
    edges.dedup();
    let sum = |at: Nanos, side: Side| parts.iter().map(|part| part.rate_beside(at, side)).sum();
    let stretch = |edges: &[Nanos]| Stretch {
        from_per_s: sum(edges[0], Side::After),
        to_per_s: sum(edges[1], Side::Before),
        length: edges[1] - edges[0],
    };
    edges.windows(2).map(stretch).collect()
}

/// The highest rate per second that they may offer together: bursts of several loads may coincide.
pub fn highest_together(parts: &[OpenPart]) -> f64 {
    let mut edges: Vec<Nanos> = Vec::new();
    for part in parts {
        let ends = part.phases.iter().scan(part.start, |at, phase| {
            *at += phase.duration;
            Some(*at)
        });
        edges.extend([part.start].into_iter().chain(ends));
    }
    let highest = |side| {
        let at = |&at: &Nanos| -> f64 {
            parts.iter().map(|part| part.rate_beside(at, side) * part.process.peak()).sum()
        };
        edges.iter().map(at).fold(0.0, f64::max)
    };
    // Rates go in straight lines between the edges.
    highest(Side::Before).max(highest(Side::After))
}

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Before,
    After,
}

impl OpenPart {
    /// The rate just before or just after `at`, which counts from the start of the measured part.
    fn rate_beside(&self, at: Nanos, side: Side) -> f64 {
        let mut begin = self.start;
        for phase in &self.phases {
            let end = begin + phase.duration;
            let holds = match side {
                Side::Before => begin < at && at <= end,
                Side::After => begin <= at && at < end,
            };
            if holds {
                let share = (at - begin).0 as f64 / phase.duration.0 as f64;
                return phase.from.as_per_s() + share * (phase.to.as_per_s() - phase.from.as_per_s());
            }
            begin = end;
        }
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A base and a ramp that begins later, with a pause before it ends.
    #[test]
    fn rates_add_up_where_loads_overlap() {
        let seconds = Nanos::from_secs;
        let base = vec![Phase::hold(Rate::per_second(100), seconds(10))];
        let ramp = Phase { from: Rate::default(), to: Rate::per_second(50), duration: seconds(5) };
        let ramp = OpenPart { start: seconds(8), ..OpenPart::whole(vec![ramp], Process::Even) };
        let all: Vec<_> = together(&[OpenPart::whole(base, Process::Even), ramp])
            .iter()
            .map(|s| (s.from_per_s, s.to_per_s, s.length.0 / 1_000_000_000))
            .collect();
        assert_eq!(all, [(100.0, 100.0, 8), (100.0, 120.0, 2), (20.0, 50.0, 3)]);
    }
}
