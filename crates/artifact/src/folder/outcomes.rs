//! Where arrivals ended, in the line of an interval.

use super::by_name::ByName;
use super::kinds::Kinds;
use crate::header::RunHeader;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unblink_core::failure::FailureKind;
use unblink_core::record::{Outcomes, RetryCounts};

#[derive(Serialize, Deserialize)]
pub(super) struct OutcomesLine {
    #[serde(flatten)]
    counts: ByName<Outcomes>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    failed: BTreeMap<String, u64>,
    #[serde(default, skip_serializing_if = "ByName::is_empty")]
    retries: ByName<RetryCounts>,
}

impl OutcomesLine {
    pub(super) fn of(o: &Outcomes, header: &RunHeader) -> OutcomesLine {
        let mut failed = BTreeMap::new();
        for (index, &n) in o.failed.iter().enumerate().filter(|(_, n)| **n > 0) {
            *failed.entry(header.failure_code(index)).or_insert(0) += n;
        }
        OutcomesLine { counts: ByName(*o), failed, retries: ByName(o.retries) }
    }

    pub(super) fn outcomes(&self, kinds: &Kinds<'_>) -> Result<Outcomes, String> {
        let mut failed = [0; FailureKind::COUNT];
        for (code, &n) in &self.failed {
            failed[kinds.index(code)?] = n;
        }
        Ok(Outcomes { failed, retries: self.retries.0, ..self.counts.0 })
    }
}
