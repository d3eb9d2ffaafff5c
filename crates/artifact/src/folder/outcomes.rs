//! Where arrivals ended, in the line of an interval.

use super::kinds::Kinds;
use super::retry_line::RetriesLine;
use crate::header::RunHeader;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use unblink_core::failure::FailureKind;
use unblink_core::record::Outcomes;

#[derive(Serialize, Deserialize)]
pub(super) struct OutcomesLine {
    due: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    followed: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    after_load: u64,
    sent: u64,
    sent_in_load: u64,
    ok: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    ok_after_load: u64,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    failed: BTreeMap<String, u64>,
    timed_out: u64,
    timed_out_never_sent: u64,
    timed_out_pool_full: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    timed_out_never_sent_own: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    timed_out_hindered: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    failed_hindered: u64,
    unfinished: u64,
    unsent: u64,
    #[serde(default, skip_serializing_if = "is_zero")]
    unsent_own: u64,
    #[serde(default, skip_serializing_if = "RetriesLine::is_empty")]
    retries: RetriesLine,
}

impl OutcomesLine {
    pub(super) fn of(o: &Outcomes, header: &RunHeader) -> OutcomesLine {
        let mut failed = BTreeMap::new();
        for (index, &n) in o.failed.iter().enumerate().filter(|(_, n)| **n > 0) {
            *failed.entry(header.failure_code(index)).or_insert(0) += n;
        }
        OutcomesLine {
            due: o.due,
            followed: o.followed,
            after_load: o.after_load,
            sent: o.sent,
            sent_in_load: o.sent_in_load,
            ok: o.ok,
            ok_after_load: o.ok_after_load,
            failed,
            timed_out: o.timed_out,
            timed_out_never_sent: o.timed_out_never_sent,
            timed_out_pool_full: o.timed_out_pool_full,
            timed_out_never_sent_own: o.timed_out_never_sent_own,
            timed_out_hindered: o.timed_out_hindered,
            failed_hindered: o.failed_hindered,
            unfinished: o.unfinished,
            unsent: o.unsent,
            unsent_own: o.unsent_own,
            retries: RetriesLine::of(&o.retries),
        }
    }

    pub(super) fn outcomes(&self, kinds: &Kinds) -> Result<Outcomes, String> {
        let mut failed = [0; FailureKind::COUNT];
        for (code, &n) in &self.failed {
            failed[kinds.index(code)?] = n;
        }
        Ok(Outcomes {
            due: self.due,
            followed: self.followed,
            after_load: self.after_load,
            sent: self.sent,
            sent_in_load: self.sent_in_load,
            ok: self.ok,
            ok_after_load: self.ok_after_load,
            failed,
            timed_out: self.timed_out,
            timed_out_never_sent: self.timed_out_never_sent,
            timed_out_pool_full: self.timed_out_pool_full,
            timed_out_never_sent_own: self.timed_out_never_sent_own,
            timed_out_hindered: self.timed_out_hindered,
            failed_hindered: self.failed_hindered,
            unfinished: self.unfinished,
            unsent: self.unsent,
            unsent_own: self.unsent_own,
            retries: self.retries.counts(),
        })
    }
}

/// Most runs have none: what is not there is not written.
fn is_zero(n: &u64) -> bool {
    *n == 0
}
