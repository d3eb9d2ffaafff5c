//! Exit codes: 0 pass, 1 an objective missed or a regression, 2 usage, 3 run invalid or inconclusive, 130 interrupted.
//! 130 comes before 3, and 3 before 1: no verdict without validity.

use unblink_artifact::document::{OnInconclusive, RunDocument, RunStatus, ValidityStatus, VerdictStatus};

/// Everything is as it should be.
pub(crate) const OK: u8 = 0;
/// An objective is missed, the run was stopped because it hurt, or the candidate is slower than the baseline.
pub(crate) const FAILED: u8 = 1;
/// Wrong usage, or nothing could be started.
pub(crate) const USAGE: u8 = 2;
/// The run can't be believed, or an objective can't be told.
pub(crate) const INVALID: u8 = 3;
/// Ended by the user.
pub(crate) const INTERRUPTED: u8 = 130;

/// The code of a finished run.
pub(crate) fn of_run(document: &RunDocument) -> u8 {
    match document.status {
        RunStatus::Interrupted => INTERRUPTED,
        RunStatus::Running | RunStatus::Complete | RunStatus::Aborted => of_report(document),
    }
}

/// The code of a report: that a run was interrupted is long past.
pub(crate) fn of_report(document: &RunDocument) -> u8 {
    if document.validity.status == ValidityStatus::Invalid {
        return INVALID;
    }
    let verdict = document.verdict.as_ref();
    match verdict.map(|verdict| (verdict.status, verdict.on_inconclusive)) {
        Some((VerdictStatus::Fail, _)) => FAILED,
        // What hurt enough to be stopped did not pass, whatever else can't be told.
        _ if document.aborted.is_some() => FAILED,
        Some((VerdictStatus::Inconclusive, None)) => INVALID,
        Some((VerdictStatus::Inconclusive, Some(OnInconclusive::Fail))) => FAILED,
        Some((VerdictStatus::Inconclusive, Some(OnInconclusive::Pass)) | (VerdictStatus::Pass, _)) | None => {
            OK
        }
    }
}
