//! Arrivals that waited for an attempt to connect and end with it together, at origins where attempts come at a pace.
//!
//! So do requests that wait in a pool of connections to a database. No queue builds up while the target is gone, and each fails of
//! what the attempt failed of. As long as a connection is there that can take them, or one is being opened, they wait for that.

use super::connections::Whose;
use super::{Dispatch, EXPIRIES_PER_CALL_MAX};
use crate::failure::FailureKind;
use crate::load::Load;
use crate::record::{Flight, Recorder, RetryCause};
use crate::time::Instant;

/// Those that have not ended yet of the arrivals that waited for an attempt.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failing {
    kind: FailureKind,
    /// When it failed: what fell due later waits for another one.
    at: Instant,
    /// Those that may use anybody's connection.
    everybody: bool,
    /// Those that want one of their own.
    own: bool,
}

impl<L: Load> Dispatch<L> {
    /// An attempt has failed that was for `whose` requests. Those that waited for it end, if nothing else is there for them.
    pub(super) fn fail_together(
        &mut self,
        origin: usize,
        whose: Whose,
        kind: FailureKind,
        now: Instant,
        rec: &mut Recorder,
    ) {
        let connections = &self.lanes[origin].connections;
        let (is_none, is_for_all) = (connections.total() == 0, whose == Whose::Everybody);
        let everybody = is_none || is_for_all && connections.of_everybody() == 0;
        let own = is_none || !is_for_all && connections.has_none_for_own();
        if !everybody && !own {
            return;
        }
        self.expire_waiting(origin, now, rec);
        if own {
            self.expire_own(origin, now, rec);
        }
        // What waits now has fallen due until now.
        let failing = Failing { kind, at: now, everybody, own };
        self.fail_waiting(origin, failing, now, rec);
    }

    /// Goes on where the last call ended as many as one may.
    pub(super) fn fail_the_rest(&mut self, origin: usize, now: Instant, rec: &mut Recorder) {
        if let Some(failing) = self.lanes[origin].failing {
            self.fail_waiting(origin, failing, now, rec);
        }
    }

    fn fail_waiting(&mut self, origin: usize, failing: Failing, now: Instant, rec: &mut Recorder) {
        self.lanes[origin].failing = Some(failing);
        for _ in 0..EXPIRIES_PER_CALL_MAX {
            let Some(flight) = self.take_failing(origin, failing, now) else {
                self.lanes[origin].failing = None;
                return;
            };
            let flight = Flight { unaccepted: !failing.kind.is_local(), ..flight };
            if !self.is_tried_again(&flight, RetryCause::Failed(failing.kind), None, now, rec) {
                self.end_unanswered(&flight, 0, Some(failing.kind), now, rec);
            }
        }
        self.more_to_do = true;
    }

    /// The next of them. In a later call, those that have begun to wait since then are behind the others.
    fn take_failing(&mut self, origin: usize, failing: Failing, now: Instant) -> Option<Flight> {
        let is_later = |waits_since: Option<Instant>| now > failing.at && waits_since >= Some(failing.at);
        if failing.everybody
            && !is_later(self.first_waiting(origin))
            && let Some(flight) = self.take_waiting(origin)
        {
            return Some(flight);
        }
        if failing.own && !is_later(self.oldest_for_own(origin)) {
            return self.take_for_own(origin);
        }
        None
    }

    /// Since when the first waits that is not to be sent a second time.
    fn first_waiting(&self, origin: usize) -> Option<Instant> {
        let again = self.first_ready(origin).map(|again| again.at);
        let head = self.load.as_ref().and_then(|load| load.head(origin)).map(|arrival| arrival.intended);
        [again, head].into_iter().flatten().min()
    }
}
