//! Did the run meet what was asked of it?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use unblink_analysis::slo::{Reason as VerdictReason, VerdictStatus};

/// What is asked of a run, known when it starts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Objectives {
    /// Service level objectives in words, as in `--slo`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slos: Vec<String>,
    /// Rules by which the run is stopped, as in `--abort-on`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub abort_on: Vec<String>,
    /// What the exit code is to be when it can't be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_inconclusive: Option<OnInconclusive>,
}

impl Objectives {
    /// Nothing was asked.
    pub fn is_empty(&self) -> bool {
        self.slos.is_empty() && self.abort_on.is_empty()
    }
}

/// What an objective that can't be told counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnInconclusive {
    /// As met.
    Pass,
    /// As missed.
    Fail,
}

/// Did the run meet what was asked of it?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Verdict {
    /// The worst of the objectives: one that is missed outweighs one that can't be told.
    pub status: VerdictStatus,
    /// What the exit code was to be when it can't be told (`--on-inconclusive`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_inconclusive: Option<OnInconclusive>,
    /// Each objective, in the order in which they were given.
    pub slos: Vec<SloResult>,
}

/// An objective and what became of it. Values and the limit are in `unit`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SloResult {
    /// The objective in words.
    pub slo: String,
    /// Is it met?
    pub status: VerdictStatus,
    /// What that rests on, or why it can't be told.
    pub reason: VerdictReason,
    /// The same in a sentence with its numbers.
    pub message: String,
    /// The request that it speaks of, or `load NAME`, or `origin URL`; `null`: all arrivals.
    pub name: Option<String>,
    /// `p99`, `mean`, `max`, `errors` or `achieved`.
    pub figure: String,
    /// Unit of the figure.
    pub unit: FigureUnit,
    /// `<`, `<=`, `>` or `>=`.
    pub relation: String,
    /// The limit.
    pub limit: f64,
    /// The figure over the whole run; `null` when nothing was recorded, and of windows.
    pub value: Option<f64>,
    /// The figure is known only to be larger than `value`.
    pub is_lower_bound: bool,
    /// Lower end of its 95 % interval; of `achieved`: up to the last completion.
    pub low: Option<f64>,
    /// Upper end of its 95 % interval; of `achieved`: over the length of the load.
    pub high: Option<f64>,
    /// Arrivals that it rests on.
    pub samples: u64,
    /// Windows, if the objective is to hold in windows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub windows: Option<WindowResult>,
}

/// In how many windows an objective held.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowResult {
    /// Length of a window.
    pub length_ns: u64,
    /// The share in which it is to hold, 0 to 1.
    pub share_needed: f64,
    /// It held.
    pub good: u64,
    /// It did not.
    pub bad: u64,
    /// Too little was recorded, or is known only to take longer, or the run ended before the window did.
    pub unknown: u64,
}

/// What an objective's figure is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FigureUnit {
    /// Nanoseconds.
    Ns,
    /// 0 to 1.
    Share,
    /// Per second.
    PerS,
}

/// A run that was stopped by a rule or a guard.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Aborted {
    /// The rule in words, as in `--abort-on`, or what made the guard stop it.
    pub rule: String,
    /// When it was stopped, after t = 0.
    pub at_ns: u64,
    /// The guard that stopped it. Absent where a rule of `--abort-on` did, which speaks of the target.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guard: Option<GuardKind>,
}

/// What stops a load although the target could bear it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum GuardKind {
    /// `--budget-requests`.
    BudgetRequests,
    /// `--budget-errors`.
    BudgetErrors,
    /// `--budget-time`.
    BudgetTime,
    /// `--kill-file`.
    KillFile,
    /// `--kill-url`.
    KillUrl,
    /// Journeys or retries came to more requests than the cap on the rate.
    MaxRate,
    /// The target's name came to an address that no load may go to.
    Moved,
    /// The coordinator of a run of many machines stopped them all.
    Coordinator,
    /// Nothing was heard of that coordinator any more.
    Lease,
    /// A machine was not ready at the start that was settled beforehand, or was told to end before it, and so sent nothing.
    LateStart,
    /// A machine of many could not write its record any more, or nothing of it came to whoever leads them: no rule would have seen the load.
    Record,
}
