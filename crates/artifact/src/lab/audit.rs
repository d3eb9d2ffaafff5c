//! `unblink.lab-audit/1`: can this tool be believed?

use super::LabCell;
use crate::document::Tool;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of an audit.
pub const AUDIT_SCHEMA: &str = "unblink.lab-audit/1";

/// What a tool does in every scenario that it was put through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditDocument {
    /// Always `unblink.lab-audit/1`.
    pub schema: String,
    /// Which tool audits.
    pub tool: Tool,
    /// The command that is audited.
    pub command: Vec<String>,
    /// All that it was asked.
    pub checks: Vec<AuditCheck>,
    /// What its numbers say that it does.
    pub mechanism: Mechanism,
    /// Why that is said.
    pub evidence: String,
    /// Scenario by scenario.
    pub scenarios: Vec<AuditScenario>,
    /// Whatever the figures rest on.
    pub cells: Vec<LabCell>,
}

/// One question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditCheck {
    /// Stable name.
    pub code: String,
    /// The question.
    pub question: String,
    /// The answer.
    pub passed: Passed,
    /// One line that says why, with the numbers.
    pub because: String,
}

/// The answer to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Passed {
    /// Yes.
    Yes,
    /// No.
    No,
    /// The numbers do not tell.
    Unknown,
}

/// How a tool comes to its figures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mechanism {
    /// It keeps its schedule and measures from it.
    Open,
    /// It asks again when it is answered.
    ClosedLoop,
    /// The same, with values made up for what it did not ask.
    BackFilled,
    /// It drops what falls due while it is busy.
    Queueless,
    /// It sends everything, late, and counts from the send.
    SendClock,
    /// It sends everything, late, and counts from the schedule, but catches up slowly.
    CappedCatchUp,
    /// The numbers do not tell.
    Unknown,
}

/// One scenario of an audit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AuditScenario {
    /// Its name.
    pub name: String,
    /// p99 within 5 % of the truth?
    pub p99: Passed,
    /// The truth, as text.
    pub truth: String,
    /// The report, as text.
    pub reported: String,
}
