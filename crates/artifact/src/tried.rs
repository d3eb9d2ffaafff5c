//! What `unblink try --json` prints: each request as it was sent once, and what came of it. Secrets are masked.

use crate::document::Protocol;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of the document.
pub const TRY_SCHEMA: &str = "unblink.try/1";

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

/// What came of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TriedOutcome {
    /// The answer is as it must be.
    AsExpected,
    /// It is not.
    Unexpected,
    /// There was none, or no whole one.
    NoAnswer,
    /// It was not sent, because something lacks.
    NotSent,
    /// It is what a run sent that is over, drawn again.
    DrawnAgain,
}

/// One request and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedRequest {
    /// What it is called in reports.
    pub name: String,
    /// The number of the arrival that sends the same in the run; absent where no arrival does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival: Option<u64>,
    /// What came of it.
    pub outcome: TriedOutcome,
    /// Why it is not as expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What is to be known beside, each a sentence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The named values that were drawn for it.
    pub drawn: Vec<NamedValue>,
    /// What was sent, or would have been; absent where it can't be known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<TriedMessage>,
    /// What came back, as far as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<TriedMessage>,
    /// From the attempt to connect to the last byte of the answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_ns: Option<u64>,
    /// The conditions on its answer.
    pub expected: Vec<TriedCondition>,
    /// What was to be taken from its answer.
    pub captures: Vec<TriedCapture>,
}

/// A name and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedValue {
    /// The name.
    pub name: String,
    /// The value; `***` if it may be a secret.
    pub value: String,
}

/// A request or an answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedMessage {
    /// The first line.
    pub line: String,
    /// The headers, in order.
    pub headers: Vec<NamedValue>,
    /// The body; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body: Option<TriedBody>,
}

/// A body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TriedBody {
    /// Its length as it was sent.
    pub bytes: u64,
    /// Its length once its coding, such as gzip, was undone; absent where none had to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoded_bytes: Option<u64>,
    /// Its beginning, if it is text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Its first bytes in hexadecimal digits, if it is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hex: Option<String>,
    /// There is more than is shown.
    pub is_cut: bool,
    /// Why it could not be decoded, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undecoded: Option<String>,
}

/// A condition on an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriedCondition {
    /// What must hold, without what may be a secret.
    pub condition: String,
    /// It holds; absent where that can't be told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<bool>,
    /// What was found instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
}

/// A value that is taken from an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TriedCapture {
    /// How templates call it.
    pub name: String,
    /// The value was there and is used from here on.
    pub is_taken: bool,
    /// Its length in bytes; absent where it is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Why it was not taken, or is not used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}
