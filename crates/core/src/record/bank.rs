//! Everything that is recorded in a stretch of time.

use super::counts::Counts;
use super::steps::StepCounts;
use super::{Apart, ArrivalSample, Counters, Layout, Operations, Series, Slowest, Timeline, Track};
use crate::heat::HeatGrid;
use crate::time::Nanos;
use hdrhistogram::Counter;

/// What most arrivals have in common is counted once and quickly, and put where it belongs when the bank is full.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared {
    /// Intended start to last byte.
    pub(super) response: Counts,
    /// Send to an answer that came in one piece: service time and first byte, with no transfer after it.
    pub(super) at_once: Counts,
    /// Intended start to send, with no wait for a connection: send lag, all of it the generator's own.
    pub(super) unwaited: Counts,
}

/// Everything recorded in one interval, by one worker or by all.
#[derive(Clone, Debug)]
pub struct Bank<C: Counter> {
    tracks: [Track<C>; Series::COUNT],
    /// While it is being filled: what belongs to several series at once, and the response times.
    pub(super) shared: Shared,
    /// By operation; empty when the run has only one.
    pub operations: Operations<C>,
    /// The same by load.
    pub loads: Operations<C>,
    /// By journey: how each ended, and how long it took. Behind these the same of each step that asks again and again.
    pub journeys: Operations<C>,
    /// By step of all journeys, in the order of their operations.
    pub steps: Vec<StepCounts>,
    /// The operation of the first of these.
    pub(super) first_step: u32,
    /// The same by origin.
    pub origins: Operations<C>,
    /// Counts.
    pub counters: Counters,
    /// Response times by intended time.
    pub heat: HeatGrid,
    /// The slowest of the interval.
    pub slowest: Slowest,
    /// Arrivals that were sent in it, a bounded part of them, by load.
    pub samples: Vec<ArrivalSample>,
    /// What happened when. Whoever joins banks knows whether they are of the same time: [`Bank::add`] leaves it as it is.
    pub timeline: Timeline,
}

impl<C: Counter> Bank<C> {
    /// An empty bank.
    pub fn new(layout: impl Into<Layout>) -> Bank<C> {
        let Layout { operations, loads, journeys, steps, redirected, origins } = layout.into();
        Bank {
            tracks: std::array::from_fn(|_| Track::default()),
            shared: Shared::default(),
            operations: Operations::new(operations),
            loads: Operations::new(loads),
            journeys: Operations::each_of(journeys),
            steps: vec![StepCounts::default(); steps],
            first_step: operations.saturating_sub(steps + redirected) as u32,
            origins: Operations::new(origins),
            counters: Counters::default(),
            heat: HeatGrid::default(),
            slowest: Slowest::default(),
            samples: vec![ArrivalSample::default(); loads],
            timeline: Timeline::default(),
        }
    }

    /// One distribution.
    pub fn track(&self, series: Series) -> &Track<C> {
        &self.tracks[series as usize]
    }

    /// One distribution, to write.
    #[inline]
    pub fn track_mut(&mut self, series: Series) -> &mut Track<C> {
        &mut self.tracks[series as usize]
    }

    /// What is recorded apart; empty where a run has one only.
    pub fn apart(&self, by: Apart) -> &Operations<C> {
        match by {
            Apart::Operation => &self.operations,
            Apart::Load => &self.loads,
            Apart::Journey => &self.journeys,
            Apart::Origin => &self.origins,
        }
    }

    /// The same, to write.
    pub fn apart_mut(&mut self, by: Apart) -> &mut Operations<C> {
        match by {
            Apart::Operation => &mut self.operations,
            Apart::Load => &mut self.loads,
            Apart::Journey => &mut self.journeys,
            Apart::Origin => &mut self.origins,
        }
    }

    /// Forgets everything, keeps the memory.
    pub fn clear(&mut self) {
        self.tracks.iter_mut().for_each(Track::clear);
        self.shared.response.clear();
        self.shared.at_once.clear();
        self.shared.unwaited.clear();
        Apart::ALL.into_iter().for_each(|by| self.apart_mut(by).clear());
        self.steps.fill_with(StepCounts::default);
        self.counters = Counters::default();
        self.heat.clear();
        self.slowest = Slowest::default();
        self.samples.iter_mut().for_each(ArrivalSample::clear);
        self.timeline.begin(Nanos::ZERO);
    }

    /// Puts what was counted once into every series that it belongs to.
    pub(super) fn settle(&mut self) {
        let shared = std::mem::take(&mut self.shared);
        self.add_shared(&shared);
    }

    fn add_shared(&mut self, shared: &Shared) {
        let Shared { response, at_once, unwaited } = shared;
        response.add_to(self.track_mut(Series::Response));
        for series in [Series::Service, Series::FirstByte] {
            at_once.add_to(self.track_mut(series));
        }
        for series in [Series::SendLag, Series::GeneratorLate] {
            unwaited.add_to(self.track_mut(series));
        }
        self.track_mut(Series::Transfer).add_zeros(at_once.count());
    }
}

impl Bank<u64> {
    /// Adds another worker's or another interval's bank.
    pub fn add<D: Counter>(&mut self, other: &Bank<D>) {
        self.tracks.iter_mut().zip(&other.tracks).for_each(|(a, b)| a.add(b));
        self.add_shared(&other.shared);
        Apart::ALL.into_iter().for_each(|by| self.apart_mut(by).add(other.apart(by)));
        self.steps.iter_mut().zip(&other.steps).for_each(|(a, b)| a.add(b));
        self.counters.add(&other.counters);
        self.heat.merge(&other.heat);
        self.slowest.merge(&other.slowest);
        self.samples.iter_mut().zip(&other.samples).for_each(|(a, b)| a.add(b));
    }
}
