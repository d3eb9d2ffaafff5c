//! What came of retries.

use super::Tally;
use crate::document::Retries;
use crate::folder::causes;

impl Tally {
    /// Of the measured part; nothing where no request could be tried again.
    pub(super) fn retries(&self) -> Option<Retries> {
        let counters = &self.totals.counters;
        let (sent, of) = (counters.measured.sent, counters.measured.retries);
        self.header.plan.retry.as_ref()?;
        let attempts = sent + of.sent_again;
        Some(Retries {
            attempts,
            amplification: (sent > 0).then(|| attempts as f64 / sent as f64),
            retried: of.retried,
            recovered: of.recovered,
            exhausted: of.exhausted,
            refused_by_budget: of.refused_by_budget,
            refused_by_room: of.refused_by_room,
            causes: causes(&counters.retry_causes, &self.header),
        })
    }
}
