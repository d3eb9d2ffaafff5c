//! What the service counts itself, beside what was counted here.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A count of the service's own, from before the load to behind its drain, beside ours.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceCount {
    /// The metric and its labels.
    pub metric: String,
    /// By how much it grew.
    pub there: u64,
    /// At least so many it should have counted: those whose answers came whole.
    pub here_min: u64,
    /// At most so many can be ours: all that were sent, the warm-up and second attempts included.
    pub here_max: u64,
}

impl ServiceCount {
    /// Ours that the service did not count.
    pub fn missing(&self) -> u64 {
        self.here_min.saturating_sub(self.there)
    }

    /// What it counted that can't be ours.
    pub fn foreign(&self) -> u64 {
        self.there.saturating_sub(self.here_max)
    }
}

/// What came of holding ours against the service's own.
#[derive(Clone, Copy, Debug)]
pub struct CrossChecked<'a> {
    /// Requests there and here, if both are known.
    pub requests: Option<&'a ServiceCount>,
    /// Answers that say that something failed.
    pub errors: Option<&'a ServiceCount>,
    /// How often a counter of the service began anew.
    pub resets: u64,
    /// What kept the check from being whole, the worst first.
    pub problems: &'a [String],
}
