//! Can the run be believed, and in which direction can what was found have moved its figures?

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unblink_analysis::finding::FindingCode;
pub use unblink_analysis::finding::Severity;
pub use unblink_analysis::validity::Status as ValidityStatus;

/// Can the run be believed?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Validity {
    /// The worst of the findings.
    pub status: ValidityStatus,
    /// What was found, worst first.
    pub findings: Vec<Finding>,
}

impl Validity {
    /// What was found with this name, if it was.
    pub fn finding(&self, code: FindingCode) -> Option<&Finding> {
        self.findings.iter().find(|finding| finding.code == code.code())
    }
}

/// Something that a reader must know before the figures.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Stable name.
    pub code: String,
    /// `note`, `degrades` or `invalidates`.
    pub severity: Severity,
    /// What was found, one sentence with its numbers.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
    /// The numbers behind it, by name with unit.
    pub evidence: BTreeMap<String, f64>,
    /// In which direction it can have moved the figures; absent where it has moved none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub may_have_moved: Option<MayHaveMoved>,
}

/// In which direction a finding can have moved each figure, seen from what the target would have shown without it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MayHaveMoved {
    /// Percentiles, mean and maximum of response time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_time: Option<Direction>,
    /// The share of errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<Direction>,
    /// The rate of good answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub achieved: Option<Direction>,
}

/// A direction in which a figure may have been moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// It can only look worse than it is: what is met is met.
    Worse,
    /// It can only look better than it is: what is missed is missed.
    Better,
    /// Either way.
    Either,
}
