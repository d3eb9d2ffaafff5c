//! What is sent, and in which order. The lanes of a worker send one after the other, and each sends all that it has
//! connections for; where a turn ends before that, the next one begins with another lane.

use super::books::Books;
use super::entry::Entry;
use super::hold;
use unblink_core::dispatch::{ConnId, FlightId, SENDS_PER_CALL_MAX};
use unblink_core::outcome::Outcome;
use unblink_core::time::Instant;

impl Books<'_> {
    pub(super) fn send(
        &mut self,
        (conn, flight): (ConnId, FlightId),
        operation: u32,
        index: u64,
        at: Instant,
    ) -> Result<(), String> {
        self.look()?;
        self.turn.sends += 1;
        hold!(self.turn.sends <= SENDS_PER_CALL_MAX, "{} sends in a turn", self.turn.sends);
        let origin = usize::from(conn.origin);
        hold!(origin < self.lanes.len(), "{flight:?} is sent to origin {origin} of {}", self.lanes.len());
        self.pass_lanes_before(origin)?;
        self.round.sends += 1;
        let place = loop {
            let Some(place) = self.take_waiting(origin) else {
                return Err(format!("{index} is sent to origin {origin} at {at:?}, and nothing waits"));
            };
            if !self.is_late(place) {
                break place;
            }
            self.give_up_before_sends(place);
        };
        let usable_since = self.lanes[origin].carried.room_since;
        let entry = &mut self.entries[place];
        hold!(entry.index == index, "{index} is sent at {at:?} before {entry:?}");
        hold!(entry.operation == operation, "{entry:?} is sent as operation {operation}");
        hold!(at >= entry.intended, "{entry:?} is sent at {at:?}, before its time");
        entry.sends += 1;
        if entry.sent.is_none() {
            (entry.sent, entry.attempt) = (Some(at), Some(at));
            entry.usable_since = usable_since.max(entry.ready_at);
            self.tally.sent(entry.measured, at);
            self.turn.first_sends += 1;
            if entry.begins {
                self.tally.user_begins(at);
            }
        } else if entry.attempt.is_none() {
            entry.attempt = Some(at);
            self.sent_again(place);
        } else {
            hold!(entry.resent, "{entry:?} is sent more than twice");
            self.tally.connections(conn.origin).resent += 1;
        }
        self.time_attempt(place);
        hold!(
            self.origin_of.insert(flight, origin).is_none(),
            "{flight:?} bears a name that was used before"
        );
        let Entry { intended, repeats, .. } = self.entries[place];
        self.under_way.begin((intended, origin, self.round_of(repeats)), place);
        self.lanes[origin].carried.take_off(conn, flight, place)
    }

    /// One had waited for too long when its turn came.
    fn give_up_before_sends(&mut self, place: usize) {
        self.finish(place, Outcome::TimedOut, None, 0);
        self.tally.came_before_sends(self.turn.first_sends);
    }

    /// The next one that is to be sent to `origin`, or to end unsent in its place.
    pub(super) fn take_waiting(&mut self, origin: usize) -> Option<usize> {
        let place = self.lanes[origin].pop_waiting()?;
        let entry = &self.entries[place];
        if entry.repeats == 0 && entry.sends == 0 {
            self.tries.begins();
        }
        Some(place)
    }

    fn pass_lanes_before(&mut self, origin: usize) -> Result<(), String> {
        loop {
            let lane = self.round.lane(self.lanes.len());
            let Some(lane) = lane else { return Err(format!("origin {origin} is out of turn")) };
            if lane == origin {
                return Ok(());
            }
            self.pass_lane(lane)?;
        }
    }

    /// A lane has sent all that it could: what has still waited beside a connection with room was late.
    fn pass_lane(&mut self, lane: usize) -> Result<(), String> {
        while self.lanes[lane].carried.have_room() {
            let Some(place) = self.take_waiting(lane) else { break };
            let entry = self.entries[place];
            let now = self.now();
            hold!(self.is_late(place), "{entry:?} waits beside a connection with room at {now:?}");
            self.give_up_before_sends(place);
        }
        self.round.pass();
        Ok(())
    }

    /// The turn has sent all that it may, or all that it could.
    pub(super) fn end_sends(&mut self) -> Result<(), String> {
        let lanes = self.lanes.len();
        while let Some(lane) = self.round.lane(lanes) {
            if self.turn.sends == SENDS_PER_CALL_MAX && self.lanes[lane].could_send() {
                self.round.cut(lane, lanes);
                break;
            }
            self.pass_lane(lane)?;
        }
        Ok(())
    }
}
