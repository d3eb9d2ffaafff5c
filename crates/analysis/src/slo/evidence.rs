//! What an objective is judged by.

use super::{Figure, RatioHistory, Unit};
use crate::interval::{EndedBy, History};
use crate::moves::{Moved, Moves};
use unblink_core::record::Track;
use unblink_core::time::Nanos;

/// What is known of the run as a whole.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Run {
    /// Its account closes, and something was measured: without that nothing is told.
    pub is_accounted: bool,
    /// In which direction what was found can have moved its figures.
    pub moves: Moves,
    /// An objective says how many errors there may be, so that percentiles need not speak for what failed.
    pub errors_are_judged: bool,
    /// One constant rate, or closed, and not saturated: percentiles have 95 % intervals.
    pub is_steady: bool,
    /// Begin of the measured load after t = 0.
    pub from: Nanos,
    /// End of the measured load after t = 0.
    pub to: Nanos,
    /// What ended it: a run that goes on until it is precise has wider intervals.
    pub ended: EndedBy,
    /// Bursts that a bursty load is expected to have between `from` and `to`.
    pub bursts: Option<f64>,
    /// Arrivals per second by the schedule; `None`: closed.
    pub offered_per_s: Option<f64>,
    /// Closed: how many users there are at once.
    pub users: Option<u64>,
    /// Arrivals of machines that were lost, of which nobody knows what came.
    pub lost: u64,
    /// How much was lost of that which is judged is not known: neither its best nor its worst can be told.
    pub loss_is_unbounded: bool,
    /// `ok` per second up to the last completion.
    pub achieved_per_s: f64,
    /// `ok` per second of the load's own length: the same without the time that the last answers took.
    pub achieved_in_load_per_s: f64,
}

impl Run {
    /// Of some of it nobody knows what came.
    pub(super) fn has_lost(&self) -> bool {
        self.lost > 0 || self.loss_is_unbounded
    }

    /// How what was found can have moved `figure`.
    pub(super) fn moved(&self, figure: Figure) -> Moved {
        match figure.unit() {
            Unit::Time => self.moves.times,
            Unit::Share if figure == Figure::Errors => self.moves.errors,
            Unit::Share | Unit::Rate => self.moves.achieved,
        }
    }
}

/// What an objective speaks of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// Requests, by their response times.
    Arrivals,
    /// Journeys, by their journey times; or a step that is asked again and again, by its times to done.
    Journeys,
}

/// Where arrivals ended.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Counts {
    /// All of them.
    pub arrivals: u64,
    /// Failed or timed out.
    pub errors: u64,
    /// Failed alone.
    pub failed: u64,
    /// Without an ending: they may still become errors.
    pub open: u64,
}

/// The arrivals that an objective speaks of: all, or those of one request; or its journeys.
#[derive(Clone, Copy, Debug)]
pub struct Population<'a> {
    /// Response times.
    pub completed: &'a Track<u64>,
    /// Ages of what is known only to take longer.
    pub censored: &'a Track<u64>,
    /// Arrivals of which not even an age is known.
    pub open: u64,
    /// Response times by stretches of time.
    pub history: &'a History,
    /// Where they ended.
    pub counts: Counts,
    /// What of all this may be the generator's own doing.
    pub relief: Relief<'a>,
    /// Errors of ended arrivals, over time.
    pub errors: &'a RatioHistory,
    /// Sum of response times in ns (the censored at their ages) of their number, over time.
    pub mean: &'a RatioHistory,
}

/// What the generator itself may have done to a population of arrivals.
#[derive(Clone, Copy, Debug)]
pub struct Relief<'a> {
    /// A journey has many requests, and which of them were touched is not known: what was added to all of them together may
    /// have been added to any journey.
    pub of: Subject,
    /// Response times that it touched, as they were recorded.
    pub hindered: &'a Track<u64>,
    /// The same without what it added; `None` where it is not known which of them belong here (one request of several).
    pub unhindered: Option<&'a Track<u64>>,
    /// Failed arrivals that it may have caused.
    pub failed: u64,
    /// Timed out arrivals that it may have caused.
    pub timed_out_own: u64,
    /// Arrivals that timed out.
    pub timed_out: u64,
    /// Arrivals that it may have touched unseen: each as slow as any, or one of the timed out.
    pub unseen: u64,
}

impl Population<'_> {
    /// How many arrivals `figure` rests on: what failed has no response time.
    pub fn samples(&self, figure: Figure) -> u64 {
        match figure.unit() {
            Unit::Time => self.completed.count() + self.censored.count() + self.open,
            _ => self.counts.arrivals,
        }
    }
}

/// The ends of the share of errors, where it has no interval of blocks.
pub(super) fn errors_of_this_run(population: &Population<'_>) -> Option<(f64, f64)> {
    population.errors.independent_share().map(|share| with_open(share, &population.counts))
}

/// What has no ending may all be errors yet, or none of it.
pub(super) fn with_open((low, high): (f64, f64), counts: &Counts) -> (f64, f64) {
    let open = counts.open as f64 / counts.arrivals.max(1) as f64;
    (low * (1.0 - open), (high + open).min(1.0))
}
