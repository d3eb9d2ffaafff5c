//! Kinds of failure, and codes of answers, by their names.

use crate::codes::{self, NamedCodes};
use crate::header::RunHeader;
use std::collections::BTreeMap;
use unblink_core::code::Code;
use unblink_core::failure::FailureKind;

/// From a failure's name back to its kind, and from a code's. Violations that the codec has no name for share the last one.
pub(super) struct Kinds<'a> {
    codes: Option<&'a NamedCodes>,
    by_code: BTreeMap<String, FailureKind>,
}

impl Kinds<'_> {
    pub(super) fn new(header: &RunHeader) -> Kinds<'_> {
        let by_code = FailureKind::all().map(|kind| (header.failure_code(kind.index()), kind)).collect();
        Kinds { codes: header.codes.as_ref(), by_code }
    }

    pub(super) fn kind(&self, code: &str) -> Result<FailureKind, String> {
        self.by_code.get(code).copied().ok_or_else(|| format!("{code:?} is not a kind of failure"))
    }

    pub(super) fn code(&self, name: &str) -> Result<Code, String> {
        codes::code_called(name, self.codes).ok_or_else(|| format!("{name:?} is not a code of an answer"))
    }

    pub(super) fn index(&self, code: &str) -> Result<usize, String> {
        self.kind(code).map(FailureKind::index)
    }
}
