//! What came of each operation and of each load.

use super::{Ending, Tally, distribution, intervals::Measured};
use crate::document::{Distribution, Operation, OperationArrivals, OperationPlan, RunStatus, Spilled};
use unblink_analysis::evidence::PartAccount;
use unblink_analysis::interval::History;
use unblink_core::record::{Apart, Interval, OperationRecord, Operations, Outcomes, Series};

/// Response and service times of each operation, load, journey or origin over time, for their 95 % intervals; empty when
/// there is a single operation, load or origin.
#[derive(Clone, Debug, Default)]
pub(super) struct HistoriesApart {
    each: Vec<OfOne>,
}

#[derive(Clone, Debug, Default)]
struct OfOne {
    response: History,
    service: History,
}

impl HistoriesApart {
    /// Takes in the next interval.
    pub(super) fn add(&mut self, interval: &Interval, by: Apart) {
        let operations = interval.bank.apart(by);
        self.each.resize_with(operations.len(), OfOne::default);
        for (place, of) in self.each.iter_mut().enumerate() {
            let times = [
                (&mut of.response, Series::Response, Series::ResponseCensored),
                (&mut of.service, Series::Service, Series::ServiceCensored),
            ];
            for (history, completed, censored) in times {
                // How many of one of them are under way is not recorded.
                let (completed, censored) =
                    (operations.bins(place, completed), operations.bins(place, censored));
                history.add_bins(interval.start, interval.length, 0, completed, censored);
            }
        }
    }
}

impl Tally {
    /// Each operation with its account, its answers and its times.
    pub(super) fn operations(&self, ending: &Ending, measured: &Measured<'_>) -> Vec<Operation> {
        let plans = self.header.operations.iter();
        let apart = &self.totals.operations;
        match apart.is_empty() {
            true => plans.take(1).map(|plan| self.only_operation(plan, ending, measured)).collect(),
            false => plans
                .zip(apart.iter())
                .enumerate()
                .map(|(place, (plan, record))| self.operation(place, plan, record, ending, measured))
                .collect(),
        }
    }

    /// What is known of all arrivals is known of the only operation.
    fn only_operation(&self, plan: &OperationPlan, ending: &Ending, measured: &Measured<'_>) -> Operation {
        let arrivals = self.account(ending).arrivals;
        Operation {
            plan: plan.clone(),
            arrivals: OperationArrivals::of_all(&arrivals),
            failures: self.failures(&self.totals.counters.measured),
            codes: self.codes(&self.totals.counters.codes),
            body_bytes: self.body_bytes(&self.totals.counters.codes, self.totals.counters.body_bytes),
            // Of all operations, the document has them already.
            events: None,
            retries: self.retries_of(&self.totals.counters.measured),
            response_time: self.response_time(measured),
            service_time: Some(self.service_time(measured)),
            spilled: 0,
        }
    }

    fn operation(
        &self,
        place: usize,
        plan: &OperationPlan,
        record: &OperationRecord,
        ending: &Ending,
        measured: &Measured<'_>,
    ) -> Operation {
        let is_whole = self.header.operations_are_whole;
        let times = |completed, censored, open| {
            self.times((Apart::Operation, place), [completed, censored], measured, open)
        };
        let open = measured.open_of(&record.outcomes);
        Operation {
            plan: plan.clone(),
            arrivals: self.arrivals_apart(
                &record.outcomes,
                ending.scheduled_by_operation.get(place).copied(),
                ending,
            ),
            failures: if is_whole { self.failures(&record.outcomes) } else { Default::default() },
            codes: self.codes(&record.codes),
            body_bytes: self.body_bytes(&record.codes, record.body_bytes),
            events: self.events_of(place, open, measured.lost),
            retries: self.retries_of(&record.outcomes),
            response_time: times(Series::Response, Series::ResponseCensored, open),
            service_time: (is_whole && measured.open == 0)
                .then(|| times(Series::Service, Series::ServiceCensored, 0)),
            spilled: Series::BY_OPERATION.iter().map(|&series| record.sums(series).spilled).sum(),
        }
    }

    /// Of the bodies of these answers, where there are any and their sizes were recorded.
    fn body_bytes(&self, codes: &[u64], bytes: u64) -> Option<u64> {
        (self.header.has_sizes && codes.iter().any(|n| *n > 0)).then_some(bytes)
    }

    /// Of an operation, a load or an origin. `scheduled` is what the schedule says, if it does.
    pub(super) fn arrivals_apart(
        &self,
        of: &Outcomes,
        scheduled: Option<u64>,
        ending: &Ending,
    ) -> OperationArrivals {
        let ok_and_failed =
            OperationArrivals { ok: of.ok, failed: of.failed_total(), ..OperationArrivals::default() };
        if !self.header.operations_are_whole {
            return ok_and_failed;
        }
        let is_open = ending.status == RunStatus::Running && !self.has_open_borders();
        OperationArrivals {
            scheduled: Some(self.scheduled_apart(of, scheduled, ending)),
            timed_out: Some(of.timed_out),
            timed_out_never_sent: Some(of.timed_out_never_sent),
            unfinished: (!is_open).then_some(of.unfinished),
            unsent: (!is_open).then_some(of.unsent),
            ..ok_and_failed
        }
    }

    /// How many were to come of an operation, a load, an origin or a journey: by the schedule, or else as many as fell due.
    pub(super) fn scheduled_apart(&self, of: &Outcomes, by_schedule: Option<u64>, ending: &Ending) -> u64 {
        match self.has_open_borders() {
            true => of.ended(),
            // What fell due on a machine that was lost and has no end stands in the account of all as lost.
            false if ending.breaks_off() => of.ended(),
            false => by_schedule.filter(|_| ending.status != RunStatus::Running).unwrap_or(of.due),
        }
    }

    /// Of each operation, load and origin whose arrivals the schedule tells, and of journeys, for the check of the account.
    pub(super) fn accounts_apart<'a>(
        &'a self,
        ending: &Ending,
        origins: &'a [String],
    ) -> Vec<PartAccount<'a>> {
        if !self.header.operations_are_whole || ending.status == RunStatus::Running {
            return Vec::new();
        }
        let operations = self.header.operations.iter().map(|plan| plan.name.as_str());
        let loads = self.header.loads.iter().map(|plan| plan.name.as_deref().unwrap_or_default());
        let operations = accounts(&ending.scheduled_by_operation, operations, &self.totals.operations);
        let mut all: Vec<PartAccount<'_>> = operations.collect();
        all.extend(accounts(&ending.scheduled_by_load, loads, &self.totals.loads));
        all.extend(self.accounts_of_journeys(ending));
        if self.has_origin_accounts() {
            all.extend(accounts(
                &ending.scheduled_by_origin,
                origins.iter().map(String::as_str),
                &self.totals.origins,
            ));
        }
        all
    }

    /// Durations of one operation, load, journey or origin, of which `open` more have no known age.
    pub(super) fn times(
        &self,
        (by, place): (Apart, usize),
        [completed, censored]: [Series; 2],
        measured: &Measured<'_>,
        open: u64,
    ) -> Distribution {
        let (operations, histories) = match by {
            Apart::Operation => (&self.totals.operations, &self.operation_histories),
            Apart::Load => (&self.totals.loads, &self.load_histories),
            Apart::Journey => (&self.totals.journeys, &self.journey_histories),
            Apart::Origin => (&self.totals.origins, &self.origin_histories),
        };
        if let Some(spilled) = spilled_times(operations, place, [completed, censored], open) {
            return spilled;
        }
        let tracks = (&operations.track(place, completed), &operations.track(place, censored));
        let history = histories
            .each
            .get(place)
            .map(|of| if completed == Series::Response { &of.response } else { &of.service });
        let none = History::default();
        let is_service = completed == Series::Service;
        let measured = if is_service { self.of_attempts(*measured) } else { *measured };
        self.with_intervals(history.unwrap_or(&none), tracks, &measured, open)
    }

    /// Durations that no operation had room for.
    pub(super) fn spilled(&self) -> Option<Spilled> {
        let operations = &self.totals.operations;
        let both = |completed, censored| {
            Some(distribution(operations.spilled(completed)?, operations.spilled(censored)?))
        };
        let response_time = both(Series::Response, Series::ResponseCensored)?;
        let service_time = both(Series::Service, Series::ServiceCensored)?;
        (response_time.count + service_time.count > 0).then_some(Spilled { response_time, service_time })
    }
}

/// Durations of which not all found room, if so, and `open` more. Those that did are no sample of all, so that not even a
/// bound of a percentile follows from them.
pub(super) fn spilled_times(
    records: &Operations<u64>,
    place: usize,
    [completed, censored]: [Series; 2],
    open: u64,
) -> Option<Distribution> {
    let record = records.get(place)?;
    let (known, cut) = (record.sums(completed), record.sums(censored));
    (known.spilled + cut.spilled > 0).then(|| Distribution {
        quantiles: Vec::new(),
        mean: (open + cut.count == 0).then(|| known.sum_ns as f64 / known.count as f64),
        max: Some(known.max_ns.max(cut.max_ns)),
        max_censored: open + cut.count > 0,
        censored: open + cut.count,
        count: open + cut.count + known.count,
        ..distribution(&records.track(place, completed), &records.track(place, censored))
    })
}

/// Those of which the schedule says how many there are.
fn accounts<'a>(
    scheduled: &[u64],
    names: impl Iterator<Item = &'a str>,
    records: &Operations<u64>,
) -> impl Iterator<Item = PartAccount<'a>> {
    scheduled.iter().zip(names.zip(records.iter())).map(|(&scheduled, (name, record))| PartAccount {
        name,
        scheduled,
        due: record.outcomes.due,
        ended: record.outcomes.ended(),
    })
}
