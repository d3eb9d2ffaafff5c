//! How what is wrong with an answer is counted.

use unblink_core::failure::FailureKind;
use unblink_core::record::Breach;
use unblink_wire::protocol::{Protocol, Violation};
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

/// For what its connection is closed; nothing if it is the target that ends it.
pub(super) fn breach_of<P: Protocol>(violation: Violation) -> Option<Breach> {
    let is_end = violation == Violation::ClosedEarly || P::is_farewell(violation);
    let breach = Breach { kind: kind_of_violation(violation), is_unasked: P::is_unasked(violation) };
    (!is_end).then_some(breach)
}
