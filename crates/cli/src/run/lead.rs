//! Who says when a run begins, and may end it, where that is not this process.

use super::guards::Stopper;
use crate::observe::Observer;
use anyhow::Result;
use std::sync::Arc;
use unblink_artifact::document::ClockReading;
use unblink_core::time::{Instant, Nanos};
use unblink_engine::clock::WallTime;
use unblink_workload::script::Script;

/// Why nothing of a run was sent whose start had been confirmed.
pub(crate) const UNBEGUN: &str = "a machine was told to end before the start";

/// Somebody else, who also sees each interval.
pub(crate) trait Lead: Observer {
    /// All is ready. Waits for the word to begin.
    ///
    /// # Errors
    /// It won't come.
    fn begin(&mut self) -> Result<Begun>;

    /// The load is under way since `start`, and can be stopped. Its script may ask for that.
    fn follow(&mut self, stopper: Stopper, start: Instant, script: Option<Arc<Script>>);

    /// How the clocks compared when that was looked at last, if it was after the start.
    fn clock(&self) -> Option<ClockReading>;

    /// How late what was recorded was kept by the bus at the most, up to now.
    fn bus_behind(&self) -> Nanos;

    /// The run is over, and its record is not whole.
    fn unwritten(&mut self, why: String);
}

/// A start that somebody else has settled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Begun {
    /// The schedule's zero by the monotonic clock of this machine: a step of its wall clock before the start moves nothing.
    pub at_monotonic_ns: u64,
    /// The same by the clock of who settled it: it is the same for all who were told.
    pub told: WallTime,
    /// That clock less this machine's.
    pub offset_ns: i64,
    /// The difference is wrong by at most this.
    pub error_ns: u64,
}
