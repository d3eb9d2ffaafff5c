//! What came of answers that come event by event.

use super::Distribution;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Answers that come event by event (`--stream`), in the measured part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Events {
    /// Answers of which an event has come, whatever became of them.
    pub begun: u64,
    /// Events of these.
    pub events: u64,
    /// Blocks of event streams without data, such as comments that keep a connection open. They are no events.
    pub keep_alives: u64,
    /// Events of an `ok` answer, on average; `null` where none was.
    pub per_answer: Option<f64>,
    /// Events per second that came while the measured load lasted, whichever arrival they answered; `null` in records of
    /// earlier builds, which did not count them.
    pub per_s: Option<f64>,
    /// Intended start to the first event: what a user feels. Arrivals that were given up without an event are known to
    /// take longer.
    pub first: Distribution,
    /// Send to the first event.
    pub first_service: Distribution,
    /// From one event of an answer to the next. A gap that was open when its answer was given up is known to be longer.
    pub gap: Distribution,
}

/// The same of one operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OperationEvents {
    /// Intended start to the first event.
    pub first: Distribution,
    /// From one event of an answer to the next.
    pub gap: Distribution,
}
