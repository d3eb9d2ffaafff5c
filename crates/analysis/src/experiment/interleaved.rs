//! Runs of two targets in turn: baseline, candidate, candidate, baseline, and so on (ABBA), so that a machine that
//! slowly changes does the same to both.

use super::{Experiment, Step};

/// A run that does not count is made again, so many times for each side: a passing disturbance costs a run, not the
/// whole comparison.
pub const SPARE_RUNS: u32 = 2;

/// Which of the two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Side {
    /// What was.
    Baseline,
    /// What is to take its place.
    Candidate,
}

impl Side {
    /// Both, in the order in which they are told.
    pub const ALL: [Side; 2] = [Side::Baseline, Side::Candidate];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Side::Baseline => "baseline",
            Side::Candidate => "candidate",
        }
    }
}

/// One run of one side.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Turn {
    /// Whose turn it is.
    pub side: Side,
    /// Of all runs that count, which one this is to be, from 1.
    pub number: u32,
}

/// Why no comparison comes of it: runs of this side don't count, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyLost(pub Side);

/// The state machine. What it wants to know of a run is whether it counts.
#[derive(Clone, Debug)]
pub struct Interleaved {
    runs: u32,
    /// Runs that count, by side.
    counted: [u32; 2],
    /// Runs that don't, by side.
    lost: [u32; 2],
}

impl Interleaved {
    /// This many runs of each side, of which `done` are there already.
    pub fn new(runs: u32, done: [u32; 2]) -> Interleaved {
        Interleaved { runs, counted: done.map(|n| n.min(runs)), lost: [0, 0] }
    }
}

impl Experiment for Interleaved {
    type Trial = Turn;
    type Outcome = bool;
    type Doom = TooManyLost;

    fn next_trial(&self) -> Option<Turn> {
        if self.doomed().is_some() {
            return None;
        }
        // The side that is behind; of two that are as far, the one that this pair begins with.
        let pair = self.counted.into_iter().min().filter(|&pair| pair < self.runs)?;
        let order = if pair % 2 == 0 { Side::ALL } else { [Side::Candidate, Side::Baseline] };
        let side = order.into_iter().find(|&side| self.counted[side as usize] == pair)?;
        Some(Turn { side, number: self.counted.iter().sum::<u32>() + 1 })
    }

    fn observe(&mut self, step: Step<Turn, bool>) {
        let side = step.trial.side as usize;
        match step.outcome {
            true => self.counted[side] += 1,
            false => self.lost[side] += 1,
        }
    }

    fn doomed(&self) -> Option<TooManyLost> {
        Side::ALL.into_iter().find(|&side| self.lost[side as usize] > SPARE_RUNS).map(TooManyLost)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sides in the order of their turns; `counts` says which turn, from 0, counts.
    fn turns(mut experiment: Interleaved, counts: impl Fn(usize) -> bool) -> (String, Interleaved) {
        let mut order = String::new();
        while let Some(trial) = experiment.next_trial() {
            let outcome = counts(order.len());
            order.push(if trial.side == Side::Baseline { 'A' } else { 'B' });
            experiment.observe(Step { trial, outcome });
        }
        (order, experiment)
    }

    #[test]
    fn turns_are_in_abba_order() {
        let (order, experiment) = turns(Interleaved::new(5, [0, 0]), |_| true);
        assert_eq!(order, "ABBAABBAAB");
        assert!(experiment.converged());
    }

    #[test]
    fn what_is_there_is_not_measured_again() {
        assert_eq!(turns(Interleaved::new(5, [3, 2]), |_| true).0, "BBAAB");
        assert_eq!(turns(Interleaved::new(5, [5, 3]), |_| true).0, "BB");
        assert_eq!(turns(Interleaved::new(1, [4, 4]), |_| true).0, "");
    }

    #[test]
    fn a_lost_run_is_made_again_at_once_and_three_of_a_side_end_it() {
        let (order, experiment) = turns(Interleaved::new(5, [0, 0]), |turn| turn != 1 && turn != 4);
        assert_eq!(order, "ABBBAAABBAAB");
        assert!(experiment.converged());
        let (order, experiment) = turns(Interleaved::new(5, [0, 0]), |turn| turn == 0);
        assert_eq!(order, "ABBB");
        assert_eq!(experiment.doomed(), Some(TooManyLost(Side::Candidate)));
        assert!(!experiment.converged());
    }
}
