//! How an arrival ends.

use crate::failure::FailureKind;

/// How an arrival ended: each in exactly one of these ways.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Outcome {
    /// A whole answer, as expected.
    #[default]
    Ok,
    /// Failed, and why.
    Failed(FailureKind),
    /// Longer than the timeout.
    TimedOut,
    /// In flight when the run ended.
    Unfinished,
    /// Still waiting when the run ended.
    Unsent,
}
