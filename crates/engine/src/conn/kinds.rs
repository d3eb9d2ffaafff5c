//! How what is wrong with an answer is counted.

use unblink_core::failure::FailureKind;
use unblink_wire::protocol::Violation;
use unblink_workload::answer::Missed;

/// How it is counted that a value was not taken.
pub(super) fn kind_of_missed(why: Missed) -> FailureKind {
    match why {
        Missed::Absent => FailureKind::NOT_CAPTURED,
        Missed::TooLong => FailureKind::CAPTURED_TOO_LONG,
    }
}

/// How a violation is counted.
pub(super) fn kind_of_violation(violation: Violation) -> FailureKind {
    match violation {
        Violation::TooLarge => FailureKind::TOO_LARGE,
        Violation::ClosedEarly => FailureKind::CLOSED_EARLY,
        Violation::Malformed(number) => FailureKind::protocol(usize::from(number)),
    }
}
