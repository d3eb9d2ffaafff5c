//! How arrivals, attempts to connect and connections end.

use super::books::{Books, TIMEOUTS_PER_TURN};
use super::carried::State;
use super::entry::End;
use super::hold;
use unblink_core::code::Code;
use unblink_core::dispatch::{Action, CloseKind, Closing, ConnId, FlightId, IDLE_MAX, Pool, Room};
use unblink_core::failure::FailureKind;
use unblink_core::outcome::Outcome;
use unblink_core::record::{Answer, RetryCause};

/// Waiting arrivals of a lane that one turn lets expire.
pub(super) const EXPIRIES_PER_TURN: usize = 4096;

impl Books<'_> {
    /// What has taken too long is given up, the oldest first; its connection is closed if that leaves it no use.
    pub(super) fn expire_flights(&mut self) {
        for _ in 0..TIMEOUTS_PER_TURN {
            let Some(place) = self.under_way.oldest().filter(|&place| self.is_late(place)) else { return };
            let origin = self.origin(place);
            let Some((slot, flight, is_over)) = self.lanes[origin].carried.abandon(place) else { return };
            self.finish(place, Outcome::TimedOut, None, slot);
            self.cancel_or_close(origin, (slot, flight, is_over));
        }
    }

    /// Nobody waits for the answer of what is under way here any more.
    pub(super) fn let_go(&mut self, place: usize) {
        let origin = self.origin(place);
        if let Some(given_up) = self.lanes[origin].carried.abandon(place) {
            self.cancel_or_close(origin, given_up);
        }
    }

    fn cancel_or_close(&mut self, origin: usize, (slot, flight, is_over): (u32, FlightId, bool)) {
        let conn = self.lanes[origin].carried.name(origin, slot);
        if self.room.cancels {
            self.owed.push_back(Action::Cancel { conn, flight });
        } else if is_over {
            self.owed.push_back(Action::Close(conn, CloseKind::Abort));
        }
    }

    pub(super) fn close(&mut self, id: ConnId, kind: CloseKind) -> Result<(), String> {
        let state = self.carried(id)?.state_of(id);
        let Some(state) = state else { return Err(format!("{id:?} is closed twice")) };
        if (state, kind) == (State::Open, CloseKind::Graceful) {
            return self.close_unneeded(id);
        }
        hold!(kind == CloseKind::Abort, "{id:?} is closed though it could be used again");
        if let State::Opening(since) = state {
            let timeout = self.plan.spec().timeout;
            hold!(self.turn.now.since(since) > timeout, "{id:?} is given up after less than the timeout");
            self.tally.connections(id.origin).failed += 1;
            self.carried(id)?.give_up_opening(id.slot);
            let now = self.turn.now;
            self.lanes[usize::from(id.origin)].paced.fails(since, now);
            return Ok(());
        }
        // At the end of the run.
        let carried = self.carried(id)?.end(id.slot).carried;
        hold!(!carried.is_empty(), "{id:?} is closed, and nothing is under way on it");
        let is_late = carried.iter().all(|&place| self.is_late(place));
        self.turn.gave_up |= !is_late;
        self.tally.connections(id.origin).closed_on_timeout += u64::from(is_late);
        for place in carried {
            let outcome = if self.is_late(place) { Outcome::TimedOut } else { Outcome::Unfinished };
            self.finish(place, outcome, None, id.slot);
        }
        Ok(())
    }

    /// Only a pool that grows shrinks, and only by what it has not needed for long.
    fn close_unneeded(&mut self, id: ConnId) -> Result<(), String> {
        let since = self.carried(id)?.rested_since(id.slot);
        let rested = since.map(|since| self.turn.now.since(since));
        hold!(matches!(self.plan.pool_of(0), Pool::Auto { .. }), "{id:?} of a fixed pool is closed");
        hold!(rested >= Some(IDLE_MAX), "{id:?} is closed after having rested for {rested:?}");
        hold!(self.carried(id)?.resting() > 1, "{id:?} is closed, and it was the last one");
        self.carried(id)?.end(id.slot);
        self.tally.connections(id.origin).closed_unneeded += 1;
        Ok(())
    }

    pub(super) fn connect_failed(&mut self, id: ConnId, kind: FailureKind) -> Result<(), String> {
        let Some(State::Opening(began)) = self.carried(id)?.state_of(id) else { return Ok(()) };
        self.carried(id)?.give_up_opening(id.slot);
        let (origin, now) = (usize::from(id.origin), self.turn.now);
        self.lanes[origin].paced.fails(began, now);
        let counts = self.tally.connections(id.origin);
        counts.failed += 1;
        counts.refused += u64::from(kind == FailureKind::CONNECT_REFUSED);
        if self.lanes[origin].paced.is_paced {
            return self.fail_together(origin, kind);
        }
        // A failed attempt costs the oldest that still has time, of those that wait for the same origin.
        self.expire_waiting(origin);
        match self.take_waiting(origin) {
            Some(place) => self.try_again_or_fail(place, kind, 0),
            None => Ok(()),
        }
    }

    pub(super) fn answered(&mut self, id: FlightId, answer: &Answer) -> Result<(), String> {
        let carried = self.carried_of(id)?;
        let now = self.turn.now;
        let Some((place, slot)) = self.lanes[carried].carried.land(id, now)? else { return Ok(()) };
        self.lanes[carried].carried.note_answer(slot);
        let Some(place) = place else { return Ok(()) };
        if let Some(kind) = answer.failure
            && self.is_tried_again(place, RetryCause::Failed(kind), answer.code)?
        {
            return Ok(());
        }
        self.tally.answered(self.entries[place].measured, answer);
        let outcome = match answer.failure {
            _ if self.is_late(place) => Outcome::TimedOut,
            Some(kind) => Outcome::Failed(kind),
            None => Outcome::Ok,
        };
        self.finish(place, outcome, answer.code, slot);
        Ok(())
    }

    /// A place is free again; what had it was given up before.
    pub(super) fn lost(&mut self, id: FlightId) -> Result<(), String> {
        let (origin, now) = (self.carried_of(id)?, self.turn.now);
        let landed = self.lanes[origin].carried.land(id, now)?;
        hold!(!matches!(landed, Some((Some(_), _))), "{id:?} was not given up, and is lost");
        self.lanes[origin].carried.ignore(id);
        Ok(())
    }

    pub(super) fn closed(&mut self, id: ConnId, closing: &Closing) -> Result<(), String> {
        let Some(state) = self.carried(id)?.state_of(id) else { return Ok(()) };
        hold!(state == State::Open, "a reset on {id:?}: {state:?}");
        self.tally.connections(id.origin).closed_by_target += 1;
        let remains = self.carried(id)?.end(id.slot);
        hold!(self.room != Room::SINGLE || remains.carried.len() == 1, "a reset on {id:?}, which rests");
        // Of several that were under way, nobody knows which the target had looked at.
        let was_idle = self.room.places == 1 && remains.has_answered;
        for place in remains.carried {
            let entry = self.entries[place];
            let again = was_idle && self.plan.spec().idempotent[entry.operation as usize];
            if again && !closing.answered && !entry.resent && !self.is_late(place) {
                self.under_way.end(place);
                self.tries.forget(place);
                self.entries[place].resent = true;
                self.lanes[usize::from(id.origin)].second_sends.push_back(place);
            } else {
                self.try_again_or_fail(place, closing.kind, id.slot)?;
            }
        }
        Ok(())
    }

    /// An attempt has failed without an answer.
    pub(super) fn try_again_or_fail(
        &mut self,
        place: usize,
        kind: FailureKind,
        slot: u32,
    ) -> Result<(), String> {
        if !self.is_tried_again(place, RetryCause::Failed(kind), None)? {
            let outcome = if self.is_late(place) { Outcome::TimedOut } else { Outcome::Failed(kind) };
            self.finish(place, outcome, None, slot);
        }
        Ok(())
    }

    pub(super) fn expire_waiting(&mut self, origin: usize) {
        for _ in 0..EXPIRIES_PER_TURN {
            let lane = &self.lanes[origin];
            let fronts = [
                lane.second_sends.front().copied(),
                lane.ready.front().map(|(_, place)| *place),
                lane.waiting.front().map(|(_, place)| *place),
            ];
            let is_late = |front: &Option<usize>| front.is_some_and(|place| self.is_late(place));
            let late = fronts.iter().position(is_late);
            let lane = &mut self.lanes[origin];
            let place = match late {
                Some(0) => lane.second_sends.pop_front(),
                Some(1) => lane.ready.pop_front().map(|(_, place)| place),
                Some(_) => lane.waiting.pop_front().map(|(_, place)| place),
                None => None,
            };
            let Some(place) = place else { return };
            self.finish(place, Outcome::TimedOut, None, 0);
        }
    }

    pub(super) fn finish(&mut self, place: usize, outcome: Outcome, code: Option<Code>, slot: u32) {
        self.under_way.end(place);
        self.tries.forget(place);
        if self.entries[place].repeats > 0 {
            self.retried(place, outcome);
        }
        let entry = &mut self.entries[place];
        entry.end = Some(End { at: self.turn.now, outcome, code, slot });
        self.tally.ended(place, entry);
        self.arrivals.ended(entry.index, self.turn.now);
    }
}
