//! Each load of the run with what came of it.

use super::{Ending, Tally, arrivals};
use crate::document::{Arrivals, Load};

impl Tally {
    /// What is known of all arrivals is known of the only load.
    pub(super) fn loads(&self, ending: &Ending, all: &Arrivals) -> Vec<Load> {
        let only = self.header.loads.iter().take(1).map(|plan| Load {
            plan: plan.clone(),
            arrivals: all.clone(),
            warmup: self.warmup_arrivals(ending),
            arrival_process: self.arrival_process().map(arrivals::document),
        });
        only.collect()
    }
}
