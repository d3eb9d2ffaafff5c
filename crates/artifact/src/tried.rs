//! What `unblink try --json` prints: each request as it was sent once, and what came of it; and what `unblink show RUN
//! --failures --json` prints. Secrets are masked.

use crate::document::Protocol;
pub use crate::exchange::{
    KeptFailure, NamedValue, TriedBody, TriedCapture, TriedCondition, TriedMessage, TriedOutcome,
    TriedRequest,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the document.
pub const TRY_SCHEMA: &str = "unblink.try/1";
/// The version of [`FailuresDocument`].
pub const FAILURES_SCHEMA: &str = "unblink.failures/1";

/// What a run would ask, asked once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TryDocument {
    /// `unblink.try/1`.
    pub schema: String,
    /// What was spoken. Requests are shown as HTTP/1.1 writes them, whatever it is.
    pub protocol: Protocol,
    /// Every answer was as it must be, and everything was sent.
    pub as_expected: bool,
    /// What the plan asks before its load, in order.
    pub setup: Vec<TriedRequest>,
    /// The requests that stand alone.
    pub requests: Vec<TriedRequest>,
    /// The journeys, each with its steps in order.
    pub journeys: Vec<TriedJourney>,
    /// Requests of a long list that were left out.
    pub left_out: u64,
}

/// A journey.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedJourney {
    /// What it is called.
    pub name: String,
    /// Its steps, each once.
    pub steps: Vec<TriedRequest>,
}

/// What a run kept of the requests that failed (`--keep-failures`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FailuresDocument {
    /// `unblink.failures/1`.
    pub schema: String,
    /// What was spoken. Requests are shown as HTTP/1.1 writes them, whatever it is.
    pub protocol: Protocol,
    /// The first of each kind, in the order in which they ended.
    pub failures: Vec<KeptFailure>,
}
