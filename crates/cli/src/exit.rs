//! Exit codes: 0 pass, 2 usage, 3 run invalid, 130 interrupted. 130 comes before 3.

use unblink_artifact::document::{RunDocument, RunStatus, ValidityStatus};

/// Everything is as it should be.
pub(crate) const OK: u8 = 0;
/// Wrong usage, or nothing could be started.
pub(crate) const USAGE: u8 = 2;
/// The run can't be believed.
pub(crate) const INVALID: u8 = 3;
/// Ended by the user.
pub(crate) const INTERRUPTED: u8 = 130;

/// The code of a finished run.
pub(crate) fn of_run(document: &RunDocument) -> u8 {
    match (document.status, document.validity.status) {
        (RunStatus::Interrupted, _) => INTERRUPTED,
        (_, ValidityStatus::Invalid) => INVALID,
        _ => OK,
    }
}
