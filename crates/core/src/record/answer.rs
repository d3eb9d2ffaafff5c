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
    /// Bytes of its body, as they were sent.
    pub body_bytes: u64,
    /// When the first byte was read.
    pub first_byte: Instant,
    /// What follows it, if it is as it must be.
    pub then: Then,
    /// The connection may carry another request.
    pub reusable: bool,
    /// It leaves something open on its connection, such as a transaction, that only its own journey may go on with.
    pub leaves_open: bool,
}

impl Answer {
    /// It is as it must be, says nothing that is counted and has no body, and its connection may carry another request.
    pub const fn plain(first_byte: Instant) -> Answer {
        Answer {
            failure: None,
            code: None,
            body_bytes: 0,
            first_byte,
            then: Then::Done,
            reusable: true,
            leaves_open: false,
        }
    }
}

/// What follows an answer that is as it must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// Its request is done.
    #[default]
    Done,
    /// It is not yet what the step of a journey waits for that asks again and again.
    NotYet,
    /// It says that what was asked for is elsewhere: this operation asks there.
    Redirected(u32),
}
