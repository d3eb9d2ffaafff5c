//! What attempts came to nothing of, and what was wrong on connections, by code.

use crate::header::RunHeader;
use std::collections::BTreeMap;
use unblink_core::failure::FailureKind;
use unblink_core::record::{Breaches, RetryCauses};

/// The code of the cause that is not a failure.
const TRY_TIMEOUT: &str = "try_timeout";

/// By code; those that there were.
pub(crate) fn causes(of: &RetryCauses, header: &RunHeader) -> BTreeMap<String, u64> {
    let mut causes = by_code(&of.failed, header);
    if of.try_timeout > 0 {
        causes.insert(TRY_TIMEOUT.to_string(), of.try_timeout);
    }
    causes
}

/// The way back; `kind` knows the kinds of failure by their codes.
pub(crate) fn read(
    from: &BTreeMap<String, u64>,
    kind: impl Fn(&str) -> Result<FailureKind, String>,
) -> Result<RetryCauses, String> {
    let mut causes = RetryCauses::default();
    for (code, &n) in from {
        match code.as_str() {
            TRY_TIMEOUT => causes.try_timeout = n,
            code => causes.failed[kind(code)?.index()] = n,
        }
    }
    Ok(causes)
}

/// Of what connections were closed, by code.
pub(crate) fn breaches(of: &Breaches, header: &RunHeader) -> BTreeMap<String, u64> {
    by_code(&of.0, header)
}

/// The way back.
pub(crate) fn read_breaches(
    from: &BTreeMap<String, u64>,
    kind: impl Fn(&str) -> Result<FailureKind, String>,
) -> Result<Breaches, String> {
    let mut breaches = Breaches::default();
    for (code, &n) in from {
        breaches.0[kind(code)?.index()] = n;
    }
    Ok(breaches)
}

/// Those of which there were some.
fn by_code(counts: &[u64; FailureKind::COUNT], header: &RunHeader) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (index, &n) in counts.iter().enumerate().filter(|(_, n)| **n > 0) {
        *all.entry(header.failure_code(index)).or_insert(0) += n;
    }
    all
}
