//! Everything that the workers of a run must know.

use crate::expect::Expect;
use crate::pacing::Pacing;
use crate::target::Target;
use std::sync::Arc;
use unblink_core::failure::FailureKind;
use unblink_core::plan::Plan;
use unblink_wire::{Limits, ProtocolError, RequestKind};

/// A request, rendered ahead of its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Everything before the body, or all of a request whose body is its own.
    pub head: Box<[u8]>,
    /// What follows it: one for all requests that have the same.
    pub body: Arc<[u8]>,
    /// How its answer is framed.
    pub kind: RequestKind,
    /// It asks for the connection to be closed after the answer.
    pub closes: bool,
}

impl Operation {
    /// Bytes of head and body.
    pub fn length(&self) -> usize {
        self.head.len() + self.body.len()
    }

    /// Head and body behind their first `written` bytes.
    pub(crate) fn left(&self, written: usize) -> (&[u8], &[u8]) {
        let of_body = written.saturating_sub(self.head.len());
        (&self.head[written.min(self.head.len())..], &self.body[of_body.min(self.body.len())..])
    }
}

/// A run that is ready to start.
#[derive(Clone, Debug)]
pub struct Job {
    /// When and how much.
    pub plan: Plan,
    /// Where to.
    pub target: Target,
    /// What, in turn; as many as the plan has operations.
    pub operations: Vec<Operation>,
    /// What an answer must be like.
    pub expect: Expect,
    /// Limits on an answer.
    pub limits: Limits,
    /// What punctuality may cost.
    pub pacing: Pacing,
}

/// The names of the codec's violations, by number, for [`FailureKind::code_at`].
pub fn protocol_names() -> Vec<&'static str> {
    ProtocolError::ALL.iter().map(|e| e.code()).collect()
}

/// How a violation is counted.
pub(crate) fn kind_of_violation(error: ProtocolError) -> FailureKind {
    match error {
        ProtocolError::BodyTooLarge => FailureKind::TOO_LARGE,
        e if e.is_closed_early() => FailureKind::CLOSED_EARLY,
        e => FailureKind::protocol(
            ProtocolError::ALL.iter().position(|&known| known == e).unwrap_or(usize::MAX),
        ),
    }
}
