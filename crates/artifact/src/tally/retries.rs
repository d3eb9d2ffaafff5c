//! What came of retries.

use super::Tally;
use crate::causes::causes;
use crate::document::Retries;
use unblink_core::record::Outcomes;

impl Tally {
    /// Of the measured part; nothing where no request could be tried again.
    pub(super) fn retries(&self) -> Option<Retries> {
        let counters = &self.totals.counters;
        let all = self.retries_of(&counters.measured)?;
        Some(Retries { causes: causes(&counters.retry_causes, &self.header), ..all })
    }

    /// The same of these arrivals; causes are known of all together.
    pub(super) fn retries_of(&self, outcomes: &Outcomes) -> Option<Retries> {
        self.header.plan.retry.as_ref()?;
        let (sent, of) = (outcomes.sent, outcomes.retries);
        let attempts = sent + of.sent_again;
        Some(Retries {
            attempts,
            amplification: (sent > 0).then(|| attempts as f64 / sent as f64),
            retried: of.retried,
            recovered: of.recovered,
            exhausted: of.exhausted,
            refused_by_budget: of.refused_by_budget,
            refused_by_room: of.refused_by_room,
            causes: Default::default(),
        })
    }
}
