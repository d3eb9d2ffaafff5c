//! Experiments: several runs that together answer one question.
//!
//! An [`Experiment`] is a state machine without IO. It says which trial comes next and takes note of what came of it;
//! a [`TrialRunner`] runs a trial, in virtual time or against a real target. The state of an experiment is a function
//! of the trials observed so far, so that an experiment which was interrupted goes on when they are replayed.

mod criterion;
mod gather;
pub mod interleaved;
pub mod knee;
mod own_limit;
mod simulated;
mod trial;

pub use criterion::{Criterion, DELIVERED_SHARE_MIN, Miss, Percentile, RateVerdict};
pub use gather::{Ended, Gather};
pub use simulated::{SimulatedRunner, SimulatedSetup};
pub use trial::{Purpose, Step, Trial, TrialOutcome};

/// Decides which trial comes next.
pub trait Experiment {
    /// What is run next.
    type Trial;
    /// What the experiment wants to know of it.
    type Outcome;
    /// Why there can be no answer.
    type Doom;
    /// The next trial; nothing when the experiment is over.
    fn next_trial(&self) -> Option<Self::Trial>;
    /// Takes note of what came of a trial.
    fn observe(&mut self, step: Step<Self::Trial, Self::Outcome>);
    /// Why no answer can be trusted, once that is known.
    fn doomed(&self) -> Option<Self::Doom>;
    /// Every trial that was needed has been observed.
    fn converged(&self) -> bool {
        self.next_trial().is_none() && self.doomed().is_none()
    }
}

/// Runs trials: simulated, on this machine, or on many.
pub trait TrialRunner {
    /// What it runs.
    type Trial;
    /// What it tells of a trial.
    type Outcome;
    /// What can go wrong beside the trial itself.
    type Error;
    /// Runs one trial after the target has come to rest. `None`: it was interrupted, and nothing can be told of it.
    fn run(&mut self, trial: &Self::Trial) -> Result<Option<Self::Outcome>, Self::Error>;
}

/// Runs `experiment` to its end and tells `each` of every trial as it ends. True unless it was interrupted.
pub fn drive<E, R>(
    experiment: &mut E,
    runner: &mut R,
    mut each: impl FnMut(&Step<E::Trial, E::Outcome>) -> Result<(), R::Error>,
) -> Result<bool, R::Error>
where
    E: Experiment,
    R: TrialRunner<Trial = E::Trial, Outcome = E::Outcome>,
{
    while let Some(trial) = experiment.next_trial() {
        let Some(outcome) = runner.run(&trial)? else { return Ok(false) };
        let step = Step { trial, outcome };
        each(&step)?;
        experiment.observe(step);
    }
    Ok(true)
}
