//! What `unblink plan check --json` prints: for editors and build servers.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the document.
pub const PLAN_CHECK_SCHEMA: &str = "unblink.plan-check/1";

/// Are these plans in order?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanCheckDocument {
    /// `unblink.plan-check/1`.
    pub schema: String,
    /// All of them are.
    pub in_order: bool,
    /// Each plan, in the order in which they were given.
    pub plans: Vec<PlanCheck>,
}

/// One plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanCheck {
    /// As it was given.
    pub file: String,
    /// It could be run or simulated.
    pub in_order: bool,
    /// What it comes to, in one line; absent where it is not in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// What is wrong: all that is found without knowing what was meant instead.
    pub errors: Vec<PlanError>,
}

/// What is wrong with a plan, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanError {
    /// From 1 on; absent where no single place is to blame.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// In characters, from 1 on; stands beside `line`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u64>,
    /// One sentence.
    pub message: String,
    /// What was probably meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}
