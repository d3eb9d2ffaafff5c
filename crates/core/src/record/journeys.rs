//! Journeys: how far each came, how it ended, how long it took.

use super::steps::StepCounts;
use super::{Recorder, Series};
use crate::arrival::Arrival;
use crate::outcome::Outcome;
use crate::record::RECORDABLE_MAX;
use crate::time::{Instant, Nanos};

/// What happens to journeys. Like arrivals they are measured or not by their intended time, whenever their requests are.
impl Recorder {
    /// A request of a journey falls due, and the journey with its first one.
    #[inline(never)] // only of journeys
    pub(super) fn journey_due(&mut self, arrival: &Arrival) {
        let (follows, is_after_load) = (arrival.follows(), self.is_after_load(arrival));
        self.count(arrival, |outcomes| {
            outcomes.followed += u64::from(follows);
            outcomes.after_load += u64::from(is_after_load);
        });
        if let Some(journey) = self.measured_start(arrival) {
            self.bank.journeys.get_mut(journey).into_iter().for_each(|of| of.outcomes.due += 1);
        }
    }

    /// A request of a journey is sent, and with its first one the journey begins.
    #[inline(never)]
    pub(super) fn journey_sent(&mut self, arrival: &Arrival) {
        if let Some(journey) = self.measured_start(arrival) {
            self.bank.journeys.get_mut(journey).into_iter().for_each(|of| of.outcomes.sent += 1);
        }
    }

    /// Only what follows can be intended so late.
    #[inline]
    pub(super) fn is_after_load(&self, arrival: &Arrival) -> bool {
        arrival.follows() && arrival.intended >= self.load_end
    }

    fn measured_start(&self, arrival: &Arrival) -> Option<usize> {
        arrival.journey().filter(|_| arrival.starts_journey() && arrival.intended >= self.measured_from)
    }

    /// Counts what a journey that was to start at `intended` has come to, at the step whose operation is `operation`.
    pub fn at_step(&mut self, intended: Instant, operation: u32, count: impl Fn(&mut StepCounts)) {
        let place = operation.wrapping_sub(self.bank.first_step) as usize;
        if intended >= self.measured_from {
            self.bank.steps.get_mut(place).into_iter().for_each(count);
        }
    }

    /// When a request intended at this time is given up.
    pub fn given_up_at(&self, intended: Instant) -> Instant {
        intended + self.timeout
    }

    /// A journey that was to start at `intended` has ended at `at`, or was still under way then.
    pub fn journey_ended(&mut self, journey: usize, intended: Instant, outcome: Outcome, at: Instant) {
        if intended >= self.measured_from {
            self.ended_apart(journey, outcome, at.since(intended));
        }
    }

    /// A step that asks again and again has its answer at `at`, or did not have it then. Its first request was intended at
    /// `since`, and its journey at `intended`; `place` is where it is recorded.
    pub fn wait_ended(
        &mut self,
        place: usize,
        (intended, since): (Instant, Instant),
        outcome: Outcome,
        at: Instant,
    ) {
        if intended >= self.measured_from {
            self.bank.journeys.get_mut(place).into_iter().for_each(|of| of.outcomes.due += 1);
            self.ended_apart(place, outcome, at.since(since));
        }
    }

    fn ended_apart(&mut self, place: usize, outcome: Outcome, time: Nanos) {
        let Some(of) = self.bank.journeys.get_mut(place) else { return };
        let outcomes = &mut of.outcomes;
        let (count, series) = match outcome {
            Outcome::Ok => (&mut outcomes.ok, Series::Response),
            Outcome::Failed(kind) => {
                outcomes.failed[kind.index()] += 1;
                return;
            }
            Outcome::TimedOut => (&mut outcomes.timed_out, Series::ResponseCensored),
            Outcome::Unfinished => (&mut outcomes.unfinished, Series::ResponseCensored),
            Outcome::Unsent => (&mut outcomes.unsent, Series::ResponseCensored),
        };
        *count += 1;
        // What is longer than a histogram holds is known to be as long at the least.
        let series = if time > RECORDABLE_MAX { Series::ResponseCensored } else { series };
        self.bank.journeys.record(place, series, time.min(RECORDABLE_MAX));
    }
}
