//! What a judgement says, and what it rests on.

use super::Objective;
use super::window::WindowCounts;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Is an objective met?
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "VerdictStatus")]
pub enum VerdictStatus {
    /// Yes.
    Pass,
    /// It can't be told.
    Inconclusive,
    /// No.
    Fail,
}

/// What a verdict rests on, or why there is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "VerdictReason")]
pub enum Reason {
    /// The 95 % interval lies on one side of the limit.
    Interval,
    /// There is no 95 % interval; this run alone shows it.
    ThisRun,
    /// Windows were counted.
    Windows,
    /// What makes the run invalid may decide it.
    NotBelievable,
    /// The generator's own lateness or absence may decide it.
    Generator,
    /// Not answered as expected: more arrivals failed than lie above the percentile, or all of them.
    Unanswered,
    /// The limit lies within the 95 % interval, or within what is not known.
    Straddles,
    /// More samples are needed.
    FewSamples,
    /// One or few events decide the figure, or the run is too short for them.
    NoInterval,
    /// Arrivals known only to take longer may lie on either side.
    Censored,
    /// The run has no such figure.
    NotThere,
    /// It would be met, and the run was stopped before its planned end.
    Withheld,
    /// What became of the arrivals of machines that were lost may decide it.
    Lost,
}

/// A verdict with its evidence; values in the figure's unit.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Judgement {
    /// Is it met?
    pub verdict: VerdictStatus,
    /// Why.
    pub reason: Reason,
    /// The figure; of windows, the share of good ones.
    pub value: Option<f64>,
    /// The figure is at least that.
    pub is_lower_bound: bool,
    /// Lower end of its 95 % interval.
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Arrivals that it rests on.
    pub samples: u64,
    /// At least this many would do, where they are too few.
    pub needed: Option<u64>,
    /// Windows by how they ended.
    pub windows: Option<WindowCounts>,
}

impl Judgement {
    pub(super) fn new(samples: u64) -> Judgement {
        Judgement {
            verdict: VerdictStatus::Inconclusive,
            reason: Reason::FewSamples,
            value: None,
            is_lower_bound: false,
            low: None,
            high: None,
            samples,
            needed: None,
            windows: None,
        }
    }

    /// Of a target that was asked and did not answer.
    pub fn unanswered() -> Judgement {
        Judgement::new(0).decided(VerdictStatus::Fail, Reason::Unanswered)
    }

    /// The same of a run that was stopped before its planned end, which can only miss an objective.
    pub fn of_stopped(self) -> Judgement {
        match self.verdict {
            VerdictStatus::Pass => self.decided(VerdictStatus::Inconclusive, Reason::Withheld),
            VerdictStatus::Inconclusive | VerdictStatus::Fail => self,
        }
    }

    pub(super) fn decided(self, verdict: VerdictStatus, reason: Reason) -> Judgement {
        Judgement { verdict, reason, ..self }
    }

    /// By the interval: `low` and `high` hold where the figure lies; an end that is not known decides nothing.
    pub(super) fn by_interval(self, objective: &Objective, otherwise: Reason) -> Judgement {
        let (better, worse) = match objective.is_upper_limit() {
            true => (self.low, self.high),
            false => (self.high, self.low),
        };
        if better.is_some_and(|end| !objective.holds(end)) {
            return self.decided(VerdictStatus::Fail, Reason::Interval);
        }
        match worse {
            Some(end) if objective.holds(end) => self.decided(VerdictStatus::Pass, Reason::Interval),
            Some(_) => self.decided(VerdictStatus::Inconclusive, Reason::Straddles),
            None => self.decided(VerdictStatus::Inconclusive, otherwise),
        }
    }
}
