//! Attempts after the first, in the line of an interval.

use super::kinds::Kinds;
use crate::causes::TRY_TIMEOUT;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unblink_core::record::{RetryCauses, RetryCounts};

/// Of the arrivals of one account.
#[derive(Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct RetriesLine {
    sent_again: u64,
    retried: u64,
    recovered: u64,
    exhausted: u64,
    refused_by_budget: u64,
    refused_by_room: u64,
}

impl RetriesLine {
    pub(super) fn of(of: &RetryCounts) -> RetriesLine {
        RetriesLine {
            sent_again: of.sent_again,
            retried: of.retried,
            recovered: of.recovered,
            exhausted: of.exhausted,
            refused_by_budget: of.refused_by_budget,
            refused_by_room: of.refused_by_room,
        }
    }

    pub(super) fn counts(self) -> RetryCounts {
        RetryCounts {
            sent_again: self.sent_again,
            retried: self.retried,
            recovered: self.recovered,
            exhausted: self.exhausted,
            refused_by_budget: self.refused_by_budget,
            refused_by_room: self.refused_by_room,
        }
    }

    /// Most accounts have none: what is not there is not written.
    pub(super) fn is_empty(&self) -> bool {
        *self == RetriesLine::default()
    }
}

pub(super) fn fill_causes(
    from: &BTreeMap<String, u64>,
    to: &mut RetryCauses,
    kinds: &Kinds,
) -> Result<(), String> {
    for (code, &n) in from {
        match code.as_str() {
            TRY_TIMEOUT => to.try_timeout = n,
            code => to.failed[kinds.kind(code)?.index()] = n,
        }
    }
    Ok(())
}
