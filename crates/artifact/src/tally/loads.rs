//! Each load of the run with what came of it.

use super::intervals::Measured;
use super::{Ending, Tally, arrivals};
use crate::document::{Arrivals, Load, LoadPlan, OperationArrivals};
use unblink_core::record::{Apart, OperationRecord, Series};

impl Tally {
    pub(super) fn loads(&self, ending: &Ending, all: &Arrivals, measured: &Measured<'_>) -> Vec<Load> {
        let apart = &self.totals.loads;
        let plans = self.header.loads.iter();
        match apart.is_empty() {
            true => plans.take(1).map(|plan| self.only_load(plan, ending, all)).collect(),
            false => plans
                .zip(apart.iter())
                .enumerate()
                .map(|(place, (plan, record))| self.load(place, plan, record, ending, measured))
                .collect(),
        }
    }

    /// What is known of all arrivals is known of the only load.
    fn only_load(&self, plan: &LoadPlan, ending: &Ending, all: &Arrivals) -> Load {
        Load {
            plan: plan.clone(),
            arrivals: OperationArrivals::of_all(all),
            warmup: self.warmup_arrivals(ending),
            arrival_process: self.arrival_process(0, ending).map(arrivals::document),
            response_time: None,
            service_time: None,
        }
    }

    fn load(
        &self,
        place: usize,
        plan: &LoadPlan,
        record: &OperationRecord,
        ending: &Ending,
        measured: &Measured<'_>,
    ) -> Load {
        let times = |series, open| self.times((Apart::Load, place), series, measured, open);
        let outcomes = &record.outcomes;
        let open = measured.open_of(outcomes);
        Load {
            plan: plan.clone(),
            arrivals: self.arrivals_apart(outcomes, ending.scheduled_by_load.get(place).copied(), ending),
            warmup: None,
            arrival_process: self.arrival_process(place, ending).map(arrivals::document),
            response_time: Some(times([Series::Response, Series::ResponseCensored], open)),
            service_time: (measured.open == 0).then(|| times([Series::Service, Series::ServiceCensored], 0)),
        }
    }
}
