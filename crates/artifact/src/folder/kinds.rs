//! Kinds of failure by their codes.

use crate::header::RunHeader;
use std::collections::BTreeMap;
use unblink_core::failure::FailureKind;

/// From a failure's name back to its kind. Violations that the codec has no name for share the last one.
pub(super) struct Kinds {
    by_code: BTreeMap<String, FailureKind>,
}

impl Kinds {
    pub(super) fn new(header: &RunHeader) -> Kinds {
        let by_code = FailureKind::all().map(|kind| (header.failure_code(kind.index()), kind)).collect();
        Kinds { by_code }
    }

    pub(super) fn kind(&self, code: &str) -> Result<FailureKind, String> {
        self.by_code.get(code).copied().ok_or_else(|| format!("{code:?} is not a kind of failure"))
    }

    pub(super) fn index(&self, code: &str) -> Result<usize, String> {
        self.kind(code).map(FailureKind::index)
    }
}
