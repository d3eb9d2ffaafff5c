//! What came of answers that come event by event.

use super::distribution::of_survival;
use super::intervals::{Measured, put_ranges};
use super::operations::spilled_times;
use super::{Tally, per_second};
use crate::document::{Distribution, Events, OperationEvents};
use unblink_analysis::interval::History;
use unblink_analysis::quantile::Survival;
use unblink_core::record::{Interval, Series};

const FIRST: [Series; 2] = [Series::FirstEvent, Series::FirstEventCensored];
const FIRST_SERVICE: [Series; 2] = [Series::FirstEventService, Series::FirstEventServiceCensored];
const GAP: [Series; 2] = [Series::EventGap, Series::EventGapCensored];

/// What the intervals of their percentiles are made of.
#[derive(Clone, Debug, Default)]
pub(super) struct EventHistories {
    first: History,
    first_service: History,
    gap: History,
}

impl EventHistories {
    /// Takes in the next interval.
    pub(super) fn add(&mut self, interval: &Interval) {
        let level = interval.gauges.in_flight + interval.gauges.backlog;
        let EventHistories { first, first_service, gap } = self;
        for (history, [completed, censored]) in [(first, FIRST), (first_service, FIRST_SERVICE), (gap, GAP)] {
            let [completed, censored] = [completed, censored].map(|series| interval.bank.track(series));
            history.add(interval.start, interval.length, level, completed, censored);
        }
    }
}

impl Tally {
    /// Of the measured part; nothing where no event came.
    pub(super) fn events(&self, measured: &Measured<'_>) -> Option<Events> {
        let of = self.totals.counters.events;
        let times = |history: &History, both: [Series; 2], measured: &Measured<'_>, open: u64| {
            let [completed, censored] = both.map(|series| self.totals.track(series));
            self.with_intervals(history, (completed, censored), measured, open)
        };
        let of_attempts = self.of_attempts(*measured);
        // An arrival has many gaps: of those that are lost nobody knows how many.
        let of_gaps = measured.with_countless_lost();
        let EventHistories { first, first_service, gap } = &self.event_histories;
        let [first_open, gap_open] = self.open_events(measured.open);
        let [first_service_open, _] = self.open_events(measured.open_in_flight);
        (of.begun > 0).then(|| Events {
            begun: of.begun,
            events: of.events,
            keep_alives: of.keep_alives,
            per_answer: (of.whole > 0).then(|| of.events_of_whole as f64 / of.whole as f64),
            per_s: of.open().map(|_| per_second(of.in_load, measured.to - measured.from)),
            first: times(first, FIRST, measured, first_open),
            first_service: times(first_service, FIRST_SERVICE, &of_attempts, first_service_open),
            gap: with_nothing(times(gap, GAP, &of_gaps, gap_open)),
        })
    }

    /// Of `open` arrivals that have no ending, since the run has none: how many had no event yet, and how many had one and a
    /// gap open. Each may be either where that was not counted.
    pub(super) fn open_events(&self, open: u64) -> [u64; 2] {
        let begun = self.totals.counters.events.open().map(|begun| begun.min(open));
        begun.map_or([open, open], |begun| [open - begun, begun])
    }

    /// The same of one operation, of which `open` arrivals have no ending, and which any of `lost` more may have asked for. How they
    /// vary over time is not kept.
    pub(super) fn events_of(&self, place: usize, open: u64, lost: u64) -> Option<OperationEvents> {
        let operations = &self.totals.operations;
        let times = |[completed, censored]: [Series; 2], lost: u64| {
            spilled_times(operations, place, [completed, censored], open).unwrap_or_else(|| {
                let tracks = (operations.track(place, completed), operations.track(place, censored));
                let survival = Survival::with_open(&tracks.0, &tracks.1, open);
                let mut times = of_survival(&survival, &tracks.0, tracks.1.max_ns);
                put_ranges(&mut times, &survival, lost);
                times
            })
        };
        let begun = operations.get(place)?.sums(Series::FirstEvent).count;
        (begun > 0).then(|| OperationEvents { first: times(FIRST, lost), gap: with_nothing(times(GAP, 0)) })
    }
}

/// The lowest bin of a histogram begins at 1 ns, and holds what took no time at all: events of one read.
fn with_nothing(mut gaps: Distribution) -> Distribution {
    for quantile in &mut gaps.quantiles {
        let ends = [Some(&mut quantile.value), quantile.low.as_mut(), quantile.high.as_mut()];
        ends.into_iter().flatten().filter(|ns| **ns == 1).for_each(|ns| *ns = 0);
    }
    gaps
}
