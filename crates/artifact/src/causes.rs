//! What attempts came to nothing of, by code.

use crate::header::RunHeader;
use std::collections::BTreeMap;
use unblink_core::record::RetryCauses;

/// The code of the cause that is no failure.
pub(crate) const TRY_TIMEOUT: &str = "try_timeout";

/// By code; those that there were.
pub(crate) fn causes(of: &RetryCauses, header: &RunHeader) -> BTreeMap<String, u64> {
    let mut causes = BTreeMap::new();
    for (index, &n) in of.failed.iter().enumerate().filter(|(_, n)| **n > 0) {
        *causes.entry(header.failure_code(index)).or_insert(0) += n;
    }
    if of.try_timeout > 0 {
        causes.insert(TRY_TIMEOUT.to_string(), of.try_timeout);
    }
    causes
}
