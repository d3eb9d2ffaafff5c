//! What becomes of attempts that are not the end of their arrival.

use super::{Flight, Recorder, RetryCause, Series};
use crate::outcome::Outcome;
use crate::time::Instant;

impl Recorder {
    /// An attempt after the first send of its arrival goes out.
    pub fn sent_again(&mut self, flight: &Flight) {
        self.count(&flight.arrival, |outcomes| outcomes.retries.sent_again += 1);
    }

    /// The attempt of `flight` has come to nothing at `now`, and another one was granted. Of one that is given up without an
    /// answer it is known that its service takes longer than it was waited for.
    pub fn turned_away(&mut self, flight: &Flight, cause: RetryCause, now: Instant) {
        if !self.is_measured(&flight.arrival) {
            return;
        }
        self.bank.counters.retry_causes.count(cause);
        self.note_tried_again(flight);
        if cause == RetryCause::TryTimeout
            && let Some(sent) = flight.attempt
        {
            self.record(flight, Series::ServiceCensored, now.since(sent));
        }
    }

    /// Another attempt would have been granted, had the budget allowed it.
    pub fn refused_by_budget(&mut self, flight: &Flight) {
        self.count(&flight.arrival, |outcomes| outcomes.retries.refused_by_budget += 1);
    }

    /// Another attempt would have been granted, were not so many waiting for theirs already.
    pub fn refused_by_room(&mut self, flight: &Flight) {
        self.count(&flight.arrival, |outcomes| outcomes.retries.refused_by_room += 1);
    }

    /// An arrival with more than one attempt has ended.
    #[cold]
    pub(super) fn note_retried(&mut self, flight: &Flight, outcome: Outcome) {
        let has_failed = matches!(outcome, Outcome::Failed(_) | Outcome::TimedOut);
        self.count(&flight.arrival, |outcomes| {
            outcomes.retries.retried += 1;
            outcomes.retries.recovered += u64::from(outcome == Outcome::Ok);
            outcomes.retries.exhausted += u64::from(has_failed && flight.is_last);
        });
    }
}
