//! Can a run be believed?

use crate::checks;
use crate::evidence::Evidence;
use crate::finding::{Finding, FindingCode, Severity};
pub use crate::moves::GENERATOR_IS_NARROWEST;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Can the run be believed?
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "ValidityStatus")]
pub enum Status {
    /// Yes.
    Valid,
    /// Yes, but read the findings first.
    Degraded,
    /// No: no verdict can rest on it.
    Invalid,
}

/// The answer, and why.
#[derive(Clone, PartialEq, Debug)]
pub struct Assessment {
    /// The worst of the findings.
    pub status: Status,
    /// What was found, worst first.
    pub findings: Vec<Finding>,
}

/// Looks at everything that one run can decide about itself.
pub fn assess(evidence: &Evidence<'_>) -> Assessment {
    let mut findings = checks::all(evidence);
    findings.sort_by(|a, b| b.severity.cmp(&a.severity).then(a.code.cmp(&b.code)));
    let status = match findings.first().map(|f| f.severity) {
        None | Some(Severity::Note) => Status::Valid,
        Some(Severity::Degrades) => Status::Degraded,
        Some(Severity::Invalidates) => Status::Invalid,
    };
    Assessment { status, findings }
}

/// Is an invalidating finding of this code the target's doing? It then says that the target failed under the load,
/// not that the measurement did. `generator_is_narrowest`: of what is saturated.
pub fn is_targets_doing(code: &str, generator_is_narrowest: bool) -> bool {
    use FindingCode::{
        ClientShedLoad, FailuresShapePercentile, NeverConnected, NoAnswers, PreflightFailed, Saturated,
    };
    // What a full pool sheds, a target has kept waiting for: the same pool was enough for another one.
    let codes = [PreflightFailed, NeverConnected, NoAnswers, FailuresShapePercentile, ClientShedLoad];
    codes.iter().any(|of| of.code() == code) || (code == Saturated.code() && !generator_is_narrowest)
}
