//! Each journey with what came of it.

use super::intervals::Measured;
use super::{Ending, Tally, per_second};
use crate::document::{Distribution, Journey, JourneyAccount, JourneyPlan, JourneyStep, StepPlan};
use unblink_analysis::evidence::{JourneyEnds, PartAccount};
use unblink_core::record::{Apart, OperationRecord, Series, StepCounts};
use unblink_core::time::Nanos;

impl Tally {
    pub(super) fn journeys(&self, ending: &Ending, measured: &Measured<'_>) -> Vec<Journey> {
        let plans = self.header.journeys.iter().zip(self.totals.journeys.iter()).enumerate();
        plans
            .map(|(place, (plan, record))| {
                let scheduled = self.scheduled_journeys(place, record, ending);
                self.journey(place, plan, record, (scheduled, ending), measured)
            })
            .collect()
    }

    fn journey(
        &self,
        place: usize,
        plan: &JourneyPlan,
        record: &OperationRecord,
        (scheduled, ending): (u64, &Ending),
        measured: &Measured<'_>,
    ) -> Journey {
        let of = &record.outcomes;
        let open = self.journeys_without_end(place);
        let mut counts = self.steps_of(place).to_vec();
        if open > 0 {
            without_end(record.outcomes.due, &mut counts);
        }
        let steps = plan.steps.iter().zip(&counts);
        // Behind the journeys are the steps that are asked again and again.
        let is_waited = |step: &&StepPlan| step.until.is_some();
        let before = self.header.journeys[..place].iter().flat_map(|journey| &journey.steps);
        let mut waits = self.header.journeys.len() + before.filter(is_waited).count()..;
        let mut time_to_done = |step: &StepPlan| {
            let place = step.until.and_then(|_| waits.next())?;
            Some(self.times(
                (Apart::Journey, place),
                [Series::Response, Series::ResponseCensored],
                measured,
                0,
            ))
        };
        Journey {
            name: plan.name.clone(),
            share: plan.share,
            under_way_max: plan.under_way_max,
            cookies: plan.cookies,
            own_connection: plan.own_connection,
            hold_connection: plan.hold_connection,
            account: JourneyAccount {
                scheduled,
                completed: of.ok,
                exited: self.steps_of(place).iter().map(|step| step.exited).sum(),
                failed: of.failed_total(),
                timed_out: of.timed_out,
                unfinished: of.unfinished + open,
                unsent: of.unsent,
            },
            offered: self
                .journeys_offered(place, record, ending, measured.to - measured.from)
                .unwrap_or_default(),
            failures: self.failures(of),
            time: self.times(
                (Apart::Journey, place),
                [Series::Response, Series::ResponseCensored],
                measured,
                open,
            ),
            steps: steps.map(|(plan, counts)| step(plan, counts, time_to_done(plan))).collect(),
        }
    }

    /// In a run without an end some journeys have no ending, though none of their requests may be open: they think. Of a step
    /// that is asked again and again it is not known how many wait; no more than are under way.
    pub(super) fn journeys_without_end(&self, place: usize) -> u64 {
        let waits = self.header.journeys.iter().enumerate().flat_map(|(journey, plan)| {
            plan.steps.iter().filter(|step| step.until.is_some()).map(move |_| journey)
        });
        let journey = (0..self.header.journeys.len()).chain(waits).nth(place);
        match journey.and_then(|journey| self.totals.journeys.get(journey)) {
            Some(record) if !self.has_open_borders() => {
                record.outcomes.due.saturating_sub(record.outcomes.ended())
            }
            _ => 0,
        }
    }

    /// Journeys of the schedule per second; `None` of a step of theirs.
    pub(super) fn journeys_offered(
        &self,
        place: usize,
        record: &OperationRecord,
        ending: &Ending,
        length: Nanos,
    ) -> Option<f64> {
        let started = match self.has_open_borders() {
            true => record.outcomes.due,
            false => self.scheduled_journeys(place, record, ending),
        };
        (place < self.header.journeys.len()).then(|| per_second(started, length))
    }

    /// Where those of each kind ended, for the check of their failures.
    pub(super) fn journey_ends(&self) -> Vec<JourneyEnds<'_>> {
        let journeys = self.header.journeys.iter().zip(self.totals.journeys.iter()).enumerate();
        let ends = journeys.map(|(place, (plan, record))| {
            let of = &record.outcomes;
            let steps = plan.steps.iter().zip(self.steps_of(place));
            let lost =
                steps.map(|(step, counts)| (step.operation.as_str(), counts.failed + counts.timed_out));
            JourneyEnds {
                name: &plan.name,
                ended: of.ended(),
                failed: of.failed_total(),
                timed_out: of.timed_out,
                cut_off: of.unfinished + of.unsent,
                worst_step: lost.max_by_key(|(_, lost)| *lost).filter(|(_, lost)| *lost > 0),
            }
        });
        ends.collect()
    }

    fn scheduled_journeys(&self, place: usize, record: &OperationRecord, ending: &Ending) -> u64 {
        if ending.breaks_off() && !self.has_open_borders() {
            return record.outcomes.due;
        }
        let by_schedule = ending.scheduled_by_journey.get(place).copied();
        self.scheduled_apart(&record.outcomes, by_schedule, ending)
    }

    /// The steps of one journey.
    fn steps_of(&self, place: usize) -> &[StepCounts] {
        let before: usize = self.header.journeys[..place].iter().map(|journey| journey.steps.len()).sum();
        &self.totals.steps[before..before + self.header.journeys[place].steps.len()]
    }

    /// Of each journey and each step, for the check of the account: whoever has passed a step or skipped it enters the next,
    /// unless the run ends while it thinks.
    pub(super) fn accounts_of_journeys(&self, ending: &Ending) -> Vec<PartAccount<'_>> {
        let mut all = Vec::new();
        for (place, (plan, record)) in
            self.header.journeys.iter().zip(self.totals.journeys.iter()).enumerate()
        {
            // Whoever was under way on a machine whose record breaks off is there still.
            let open = if ending.breaks_off() { self.journeys_without_end(place) } else { 0 };
            let (due, ended) = (record.outcomes.due, record.outcomes.ended() + open);
            let mut counts = self.steps_of(place).to_vec();
            if open > 0 {
                without_end(due, &mut counts);
            }
            let mut came = self.scheduled_journeys(place, record, ending);
            all.push(PartAccount { name: &plan.name, scheduled: came, due, ended });
            for (step, counts) in plan.steps.iter().zip(&counts) {
                let (due, ended) = (counts.entered, counts.left());
                all.push(PartAccount { name: &step.operation, scheduled: came, due, ended });
                came = (counts.passed + counts.skipped).saturating_sub(counts.thinking + counts.exited);
            }
        }
        all
    }
}

/// Of `begun` journeys. Whoever entered a step and did not leave it is there still, and whoever has no answer yet to the first request
/// is at the first one. Whoever left a step and is not known to have entered the next one thinks, or waits for the first answer
/// there: that is not told apart.
fn without_end(begun: u64, steps: &mut [StepCounts]) {
    if let Some(first) = steps.first_mut() {
        first.entered = first.entered.max(begun);
    }
    for place in 0..steps.len() {
        let next = steps.get(place + 1).map(|next| next.entered);
        let step = &mut steps[place];
        step.unfinished += step.entered.saturating_sub(step.left());
        if let Some(entered) = next {
            step.thinking = (step.passed + step.skipped).saturating_sub(step.exited + entered);
        }
    }
}

fn step(plan: &StepPlan, counts: &StepCounts, time_to_done: Option<Distribution>) -> JourneyStep {
    JourneyStep {
        plan: plan.clone(),
        entered: counts.entered,
        passed: counts.passed,
        skipped: counts.skipped,
        failed: counts.failed,
        timed_out: counts.timed_out,
        unfinished: counts.unfinished,
        unsent: counts.unsent,
        thinking: counts.thinking,
        exited: counts.exited,
        requests: counts.requests,
        time_to_done,
    }
}
