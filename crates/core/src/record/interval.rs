//! An interval as all workers recorded it.

use super::{Ages, Bank, Gauges, Layout};
use crate::time::Nanos;

/// What all workers together recorded in one interval.
#[derive(Clone, Debug)]
pub struct Interval {
    /// Start, after t = 0 of the schedule.
    pub start: Nanos,
    /// Length: one second, more when a hand-over came late, less at the end.
    pub length: Nanos,
    /// True when a worker's hand-over came late and this interval holds what belongs to two.
    pub double: bool,
    /// What was recorded.
    pub bank: Bank<u64>,
    /// Levels at its end.
    pub gauges: Gauges,
    /// How long those have waited at its end who have no answer, warm-up included. Empty in an interval from a folder of an
    /// earlier version, and of a simulated client other than the dispatcher.
    pub ages: Ages,
}

impl Interval {
    /// Nothing yet, at t = 0.
    pub fn empty(layout: impl Into<Layout>) -> Interval {
        Interval {
            start: Nanos::ZERO,
            length: Nanos::ZERO,
            double: false,
            bank: Bank::new(layout),
            gauges: Gauges::default(),
            ages: Ages::default(),
        }
    }
}
