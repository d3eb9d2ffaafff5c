//! What arrivals to some origins failed of, and what that says of how they were received.

use super::Case;
use crate::evidence::FULL;
use unblink_core::failure::FailureKind;

/// Failed arrivals by kind.
pub(super) type ByKind = [u64; FailureKind::COUNT];

/// Failures of the arrivals to these origins, or of all where there is no account of each origin.
pub(super) fn failed(case: &Case<'_>, origins: impl Iterator<Item = usize>) -> ByKind {
    let apart = &case.evidence.totals.origins;
    let mut all = [0; FailureKind::COUNT];
    if apart.iter().all(|origin| origin.outcomes.due == 0) {
        all.copy_from_slice(&case.measured().failed);
        return all;
    }
    for origin in origins.filter_map(|number| apart.get(number)) {
        all.iter_mut().zip(&origin.outcomes.failed).for_each(|(sum, n)| *sum += n);
    }
    all
}

/// Those of them that failed because the target took no more connections.
pub(super) fn of_full(case: &Case<'_>, failed: &ByKind) -> u64 {
    let is_full = |(_, name): &(usize, &String)| FULL.contains(&name.as_str());
    let places = case.evidence.protocol_failures.iter().enumerate().filter(is_full);
    places.map(|(number, _)| failed[FailureKind::protocol(number).index()]).sum()
}

/// What most of them failed of, where that shows that something answered at the other end: a word of its protocol, or of TLS.
pub(super) fn heard(case: &Case<'_>, failed: &ByKind) -> Option<String> {
    let (place, &n) = failed.iter().enumerate().max_by_key(|(_, n)| **n)?;
    if n == 0 {
        return None;
    }
    match FailureKind::code_at(place) {
        Ok(code) => (place == FailureKind::TLS.index()).then(|| code.to_string()),
        Err(number) => case.evidence.protocol_failures.get(number).map(|name| format!("protocol_{name}")),
    }
}
