//! What is known of an answer.

use crate::code::Code;
use crate::failure::FailureKind;
use crate::time::Instant;

/// An answer as the dispatcher and the recorder need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Why it does not count as `ok`, if it doesn't.
    pub failure: Option<FailureKind>,
    /// What it says of itself, where that is counted.
    pub code: Option<Code>,
    /// When the first byte was read.
    pub first_byte: Instant,
    /// It is as it must be, and not yet what the step of a journey waits for that asks again and again.
    pub not_yet: bool,
    /// The connection may carry another request.
    pub reusable: bool,
}
