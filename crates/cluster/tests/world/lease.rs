//! How long an agent's workers may send, as the engine's controls have it: each asks before it looks at the schedule and before
//! it writes.

use super::MS;
use unblink_cluster::message::Time;

/// From a wish to stop to the stop.
const STOP_LEAD: Time = 20 * MS;

/// Of one agent, by its own clock.
#[derive(Debug, Default)]
pub(super) struct Lease {
    until: Option<Time>,
    /// Where the load ended with it.
    pub(super) ended: Option<Time>,
    /// Nothing falls due from then on.
    pub(super) stop: Option<Time>,
    /// When any worker looked at the schedule last.
    looked: Time,
    /// When something of this changed last, in true time: workers are woken.
    pub(super) told_at: Option<u64>,
}

impl Lease {
    /// So long the load may go on, as far as is known.
    pub(super) fn lease_until(&mut self, until: Time, own: Time) {
        if self.ended.is_none() {
            if self.until.is_none() {
                self.looked = self.looked.max(own + STOP_LEAD);
            }
            self.until = self.until.max(Some(until));
        }
    }

    /// It is over.
    pub(super) fn end(&mut self) {
        if self.ended.is_none() {
            let at = self.looked + 1;
            self.ended = Some(at);
            self.stop = Some(self.stop.map_or(at, |stop| stop.min(at)));
        }
    }

    /// Nothing falls due from then on.
    pub(super) fn stop_from(&mut self, at: Time, own: Time) {
        let at = at.max(own + STOP_LEAD);
        self.stop = Some(self.stop.map_or(at, |stop| stop.min(at)));
    }

    /// May a worker look at what has fallen due by now?
    pub(super) fn may_look(&mut self, own: Time) -> bool {
        let may = self.may_send(own);
        if may {
            self.looked = self.looked.max(own);
        }
        may
    }

    /// May it write a request now?
    pub(super) fn may_send(&mut self, own: Time) -> bool {
        if self.until.is_some_and(|until| own >= until) {
            self.end();
        }
        self.ended.is_none()
    }

    /// A worker whose load began at `zero` and that knows of that stop, and has ceased or not, does not know all.
    pub(super) fn is_news(&self, zero: Time, stop: Time, has_ceased: bool) -> bool {
        self.ended.is_some() && !has_ceased || self.stop.is_some_and(|at| at.max(zero) < stop)
    }
}
