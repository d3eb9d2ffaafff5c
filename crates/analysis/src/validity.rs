//! Can a run be believed?

use crate::checks;
use crate::evidence::Evidence;
use crate::finding::{Finding, Severity};

/// Can the run be believed?
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
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
