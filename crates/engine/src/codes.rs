//! What codes of answers count as, in the protocol that is measured.

use unblink_core::code::Code;
use unblink_core::failure::FailureKind;
use unblink_wire::protocol::{Codes, Protocol, Reply};

/// The codes of a protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CodeRules {
    codes: Codes,
    /// Those by name that mean no failure.
    successes: u16,
    /// Kinds of violations, behind which the failures of codes stand.
    violations: usize,
}

impl CodeRules {
    /// Of this protocol.
    pub fn of<P: Protocol>() -> CodeRules {
        CodeRules { codes: P::CODES, successes: P::SUCCESSES, violations: P::VIOLATIONS.len() }
    }

    /// How the answer is counted.
    #[inline]
    pub fn code(self, reply: &Reply) -> Option<Code> {
        match self.codes {
            Codes::Statuses => Code::of_status(reply.code),
            Codes::Named { .. } => Code::at(reply.code),
        }
    }

    /// The failure that its code alone means, if it means one.
    #[inline]
    pub fn failure(self, reply: &Reply) -> Option<FailureKind> {
        match self.codes {
            Codes::Statuses => FailureKind::of_status(reply.code),
            Codes::Named { .. } => {
                let number = reply.code.checked_sub(self.successes)?;
                Some(FailureKind::protocol(self.violations + usize::from(number)))
            }
        }
    }
}
