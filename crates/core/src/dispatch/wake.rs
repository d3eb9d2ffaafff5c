//! When the dispatcher has to look at the clock again.

use super::Dispatch;
use super::connections::Pace;
use super::lane::Lane;
use crate::load::Load;
use crate::record::Recorder;
use crate::time::{Instant, Nanos};

impl<L: Load> Dispatch<L> {
    /// Takes note of how things stand after an event.
    #[inline(always)]
    pub(super) fn look_around(&mut self, now: Instant, rec: &mut Recorder) {
        let Dispatch { load, lanes, retrying, more_to_do, .. } = self;
        for (origin, lane) in lanes.iter_mut().enumerate() {
            let due = load.as_ref().map_or(0, |load| load.waiting(origin));
            let again = retrying.as_ref().map_or(0, |retrying| retrying.ready_of(origin));
            *more_to_do |= lane.look_at(due, again, now);
        }
        if self.binds {
            self.look_at_bound(now);
        }
        rec.look_at_absences(now);
    }

    /// The same of journeys that have connections.
    #[inline(never)]
    fn look_at_bound(&mut self, now: Instant) {
        if self.policy.own.is_some() {
            for origin in 0..self.lanes.len() {
                self.more_to_do |= self.look_at_own(origin, now);
            }
        }
        if self.policy.held.is_some() {
            // What follows on a connection that is held can be sent whatever the limit is.
            self.lanes.iter_mut().for_each(|lane| lane.woke_for_due = true);
        }
        // Some are left over, or have ended only while this turn sent.
        self.more_to_do |= self.has_left();
    }

    /// When a [`Event::Tick`](super::Event::Tick) is due at the latest. A time that has passed means: at once.
    pub fn next_wake(&mut self) -> Option<Instant> {
        self.quiet_until = Instant(0);
        if self.finished {
            return None;
        }
        if let Some(load) = &mut self.load {
            load.draw_ahead();
        }
        if self.more_to_do {
            return Some(Instant(0));
        }
        let too_long = match self.is_plain {
            true => self.first_too_long(),
            false => self.first_too_long().min(self.first_of_others()),
        };
        if self.is_plain {
            self.quiet_until = too_long;
        }
        let wake = too_long.min(self.first_due());
        (wake != Instant(u64::MAX)).then_some(wake)
    }

    /// When the next arrival falls due that somebody must look at.
    #[inline]
    fn first_due(&self) -> Instant {
        let load = self.load.as_ref().filter(|_| self.lanes.iter().any(|lane| lane.woke_for_due));
        let due = load.and_then(Load::next_due);
        due.map_or(Instant(u64::MAX), |due| self.policy.grain.map_or(due, |grain| grain.next(due)))
    }

    /// When the first of what every lane has will have taken too long, or the run.
    #[inline]
    fn first_too_long(&self) -> Instant {
        // A response time equal to the timeout is still in time.
        let timeout = self.policy.timeout + Nanos(1);
        let mut wake = Instant(u64::MAX);
        let mut no_later = |at: Option<Instant>| wake = at.map_or(wake, |at| wake.min(at));
        no_later(self.oldest().map(|(at, _)| at + timeout));
        for (origin, Lane { connections, resend, .. }) in self.lanes.iter().enumerate() {
            no_later(connections.first_opening().map(|(_, since)| since + timeout));
            no_later(resend.front().map(|flight| flight.arrival.intended + timeout));
            no_later(connections.unneeded().map(|(_, at)| at));
            no_later(connections.owed_at().filter(|_| connections.can_open()));
            no_later(connections.pace.as_ref().and_then(Pace::until));
            if let Some(oldest) = self.load.as_ref().and_then(|load| load.oldest(origin)) {
                no_later(Some(oldest.intended + timeout));
            }
            // Whoever waits then: an arrival, a further attempt, a second send, or a pool that is to keep its size.
            no_later(connections.blocked_until);
        }
        no_later(self.load.as_ref().map(|load| self.drain_end(load)));
        wake
    }

    /// The same of attempts after the first, of journeys with connections of their own, and of connections that grow old.
    #[inline(never)]
    fn first_of_others(&self) -> Instant {
        let timeout = self.policy.timeout + Nanos(1);
        let mut wake = Instant(u64::MAX);
        let mut no_later = |at: Option<Instant>| wake = at.map_or(wake, |at| wake.min(at));
        no_later(self.next_again());
        for (origin, Lane { connections, own, .. }) in self.lanes.iter().enumerate() {
            no_later(self.first_ready(origin).map(|again| again.flight.arrival.intended + timeout));
            no_later(connections.first_to_age().map(|(_, at)| at));
            no_later(self.first_socket(origin).map(|intended| intended + timeout));
            if own.is_some() {
                no_later(self.oldest_for_own(origin).map(|intended| intended + timeout));
            }
        }
        wake
    }
}
