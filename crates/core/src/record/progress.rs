//! How far an answer has come that comes event by event.

use super::counted::counted;
use crate::time::Instant;

/// What one read has brought of an answer.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Events {
    /// Events that ended in it: all have the same time.
    pub events: u32,
    /// Parts that carry no data and keep the connection open.
    pub keep_alives: u32,
}

/// How far a flight's answer has come.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Events so far.
    pub(super) count: u64,
    /// When the latest came.
    pub(super) last: Option<Instant>,
}

counted! {
    /// Answers that come event by event.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct EventCounts {
        /// Answers of which an event has come.
        begun,
        /// Those of them that have ended, however they did.
        over,
        /// Events, of whatever answer.
        events,
        /// Parts that carry no data.
        keep_alives,
        /// Answers that were `ok`.
        whole,
        /// Events of these.
        events_of_whole,
        /// Events that came while the measured load lasted, whichever arrival they answered.
        in_load,
    }
}

impl EventCounts {
    /// Answers that have begun and have not ended. `None` if that was not counted, nor what came in the load, as in records of
    /// earlier builds: an event comes while the load lasts, or after it, when the answers before it have ended.
    pub fn open(&self) -> Option<u64> {
        (self.over > 0 || self.in_load > 0 || self.begun == 0).then(|| self.begun.saturating_sub(self.over))
    }
}
