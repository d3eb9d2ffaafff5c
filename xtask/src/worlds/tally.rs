//! What an interval must count, as the log goes on.

use super::entry::Entry;
use super::timeline::Moments;
use unblink_core::outcome::Outcome;
use unblink_core::record::{Answer, BEGUN_GRACE, ConnectionCounts, Counters, Outcomes};
use unblink_core::time::Instant;

/// Counts of the interval so far.
pub(super) struct Tally {
    pub(super) counters: Counters,
    /// Places of the measured arrivals that have ended.
    pub(super) ended: Vec<usize>,
    pub(super) load_end: Instant,
    pub(super) measured_from: Instant,
    /// By time.
    pub(super) moments: Moments,
}

impl Tally {
    pub(super) fn new(load_end: Instant, measured_from: Instant, moments: Moments) -> Tally {
        Tally { counters: Counters::default(), ended: Vec::new(), load_end, measured_from, moments }
    }

    pub(super) fn connections(&mut self, origin: u8) -> &mut ConnectionCounts {
        &mut self.counters.origins[usize::from(origin)]
    }

    pub(super) fn outcomes(&mut self, measured: bool) -> &mut Outcomes {
        if measured { &mut self.counters.measured } else { &mut self.counters.warmup }
    }

    pub(super) fn sent(&mut self, measured: bool, at: Instant) {
        let in_load = at < self.load_end;
        let outcomes = self.outcomes(measured);
        outcomes.sent += 1;
        outcomes.sent_in_load += u64::from(in_load);
        self.moments.sent(at);
    }

    pub(super) fn came_before_sends(&mut self, sends: usize) {
        self.moments.came_before_sends(sends);
    }

    pub(super) fn due(&mut self, entry: &Entry) {
        self.outcomes(entry.measured).due += 1;
        self.moments.due(entry.intended);
    }

    /// A user has asked for the first time, or has failed to.
    pub(super) fn user_begins(&mut self, at: Instant) {
        self.counters.users_begun += u64::from(at < self.measured_from + BEGUN_GRACE);
    }

    pub(super) fn answered(&mut self, measured: bool, answer: &Answer) {
        if let Some(code) = answer.code {
            self.counters.codes[code.index()] += u64::from(measured);
        }
    }

    pub(super) fn ended(&mut self, place: usize, entry: &Entry) {
        if entry.measured {
            self.ended.push(place);
        }
        let Some(end) = entry.end else { return };
        if entry.begins && entry.sent.is_none() && matches!(end.outcome, Outcome::Failed(_)) {
            self.user_begins(end.at);
        }
        self.moments.ended(end.at, entry.sent.is_some(), end.outcome);
        let outcomes = self.outcomes(entry.measured);
        match end.outcome {
            Outcome::Ok => outcomes.ok += 1,
            Outcome::Failed(kind) => outcomes.failed[kind.index()] += 1,
            Outcome::TimedOut => {
                outcomes.timed_out += 1;
                outcomes.timed_out_never_sent += u64::from(entry.sent.is_none());
            }
            Outcome::Unfinished => outcomes.unfinished += 1,
            Outcome::Unsent => outcomes.unsent += 1,
        }
    }
}
