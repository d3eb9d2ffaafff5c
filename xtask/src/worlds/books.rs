//! What became of each arrival, from the log alone and by the plainest rules; and, on the way, what a
//! dispatcher must never do: more requests on a connection than it takes, more connections than the pool has, a request
//! before its time or out of turn, one left waiting beside a connection with room.

use super::arrivals::{Arrivals, Due};
use super::carried::{Carried, State};
use super::entry::{End, Entry};
use super::hold;
use super::tally::Tally;
use super::timeline::Moments;
use std::collections::{BTreeSet, HashMap, VecDeque};
use unblink_core::dispatch::{
    ACTIONS_MAX, Action, CloseKind, Closing, ConnId, Event, FlightId, IDLE_MAX, OPENS_PER_TICK_MAX, Pool,
    Room, SENDS_PER_CALL_MAX,
};
use unblink_core::failure::FailureKind;
use unblink_core::outcome::Outcome;
use unblink_core::plan::Plan;
use unblink_core::record::Answer;
use unblink_core::sim::{Part, Sight, ZERO};
use unblink_core::time::{Instant, Nanos};

/// Waiting arrivals that one turn lets expire.
const EXPIRIES_PER_TURN: usize = 4096;
/// Requests under way that one turn gives up.
const TIMEOUTS_PER_TURN: usize = 64;
/// Connects in progress to begin with; each that succeeds allows one more.
const OPENING_MIN: u64 = 128;

#[derive(Clone, Copy, Default, Debug)]
struct Turn {
    now: Instant,
    /// Of the latest action.
    at: Instant,
    sends: usize,
    opens: usize,
    actions: usize,
    looked: bool,
    /// Waiting arrivals expire in this turn, after the flights, of which the client speaks first.
    expires: bool,
    over: bool,
    /// A request was given up before its timeout, as it may be in the last turn alone.
    gave_up: bool,
}

/// One worker's books.
pub(super) struct Books<'a> {
    plan: &'a Plan,
    max: usize,
    pub(super) arrivals: Arrivals,
    pub(super) entries: Vec<Entry>,
    waiting: VecDeque<usize>,
    second_sends: VecDeque<usize>,
    room: Room,
    carried: Carried,
    /// What is under way, by intended time; of one time, in the order of sending.
    in_flight: BTreeSet<(Instant, u64, usize)>,
    /// Of each that is, the number of its sending.
    sendings: HashMap<usize, u64>,
    sent: u64,
    /// What the client has to do next, since requests have been given up.
    owed: VecDeque<Action>,
    turn: Turn,
    /// When the client looked at the clock.
    pub(super) turns: Vec<Instant>,
    pub(super) connects: Vec<Nanos>,
    /// Most usable connections at once.
    pub(super) peak: usize,
    /// The pool has been at its limit.
    pub(super) was_full: bool,
    /// At the end of a turn after the schedule's zero, a connection was being opened or could have been.
    pub(super) was_growing: bool,
    /// Of the interval.
    pub(super) tally: Tally,
}

impl<'a> Books<'a> {
    pub(super) fn new(plan: &'a Plan, part: Part, room: Room) -> Result<Books<'a>, String> {
        let (Pool::Auto { max } | Pool::Fixed { n: max }) = plan.pool_of(part.worker);
        let load_end = ZERO + plan.load_length();
        let load_end = part.stop.map_or(load_end, |stop| load_end.min(ZERO + stop));
        let arrivals = Arrivals::new(plan, part)?;
        Ok(Books {
            plan,
            max: max as usize,
            tally: Tally::new(load_end, arrivals.measured_from, Moments::default()),
            arrivals,
            entries: Vec::new(),
            waiting: VecDeque::new(),
            second_sends: VecDeque::new(),
            room,
            carried: Carried::new(room),
            in_flight: BTreeSet::new(),
            sendings: HashMap::new(),
            sent: 0,
            owed: VecDeque::new(),
            turn: Turn::default(),
            turns: Vec::new(),
            connects: Vec::new(),
            peak: 0,
            was_full: false,
            was_growing: false,
        })
    }

    pub(super) fn backlog(&self) -> u64 {
        (self.waiting.len() + self.second_sends.len()) as u64
    }

    /// (in flight, open connections)
    pub(super) fn levels(&self) -> (u64, u64) {
        (self.carried.in_flight as u64, self.carried.open as u64)
    }

    /// The places in `entries` of those who have not ended: in flight, to be sent again, waiting.
    pub(super) fn without_end(&self) -> [Vec<usize>; 3] {
        let in_flight = self.in_flight.iter().map(|&(.., place)| place);
        [in_flight.collect(), Vec::from_iter(self.second_sends.clone()), Vec::from_iter(self.waiting.clone())]
    }

    pub(super) fn see(&mut self, at: Instant, sight: &Sight) -> Result<(), String> {
        match sight {
            Sight::Turn(event) => {
                self.end_turn()?;
                self.begin_turn(at, event)
            }
            Sight::Action(action) => self.action(at, action),
            Sight::Request(_) => Ok(()),
        }
    }

    fn begin_turn(&mut self, now: Instant, event: &Event) -> Result<(), String> {
        hold!(!self.turn.gave_up, "a request was given up before its timeout, and the run went on");
        hold!(now >= self.turn.at, "the clock goes back from {:?} to {now:?}", self.turn.at);
        self.turn = Turn { now, at: now, ..Turn::default() };
        self.turns.push(now);
        match *event {
            Event::Tick => {
                self.turn.expires = true;
                self.expire_flights();
            }
            Event::Connected(id, times) => {
                if let Some(State::Opening(since)) = self.carried.state_of(id) {
                    hold!(times.connect <= now.since(since), "connected in {:?}, too soon", times.connect);
                    self.carried.opened(id.slot, now);
                    self.peak = self.peak.max(self.carried.open);
                    self.connects.push(times.connect);
                    self.tally.connections().opened += 1;
                }
            }
            Event::ConnectFailed(id, kind) => self.connect_failed(id, kind),
            Event::Answered(id, answer) => self.answered(id, &answer)?,
            Event::Lost(id, _) => {
                let landed = self.carried.land(id, now)?;
                hold!(!matches!(landed, Some((Some(_), _))), "{id:?} was not given up, and is lost");
                self.carried.ignore(id);
            }
            Event::Closed(id, closing) => self.closed(id, &closing)?,
            Event::Sent(_) | Event::Room(..) | Event::Retired(_) => {
                return Err(format!("a turn was spent on {event:?}"));
            }
        }
        Ok(())
    }

    /// Once in a turn, after the ends that come of the event itself, the client looks for what has fallen due.
    fn look(&mut self) {
        if !std::mem::replace(&mut self.turn.looked, true) {
            if self.turn.expires {
                self.expire_waiting();
            }
            self.take_note_of_due(self.turn.now);
        }
    }

    /// Arrivals that fall due at `until` or before are waiting from now on.
    pub(super) fn take_note_of_due(&mut self, until: Instant) {
        while let Some(Due { index, operation, intended, begins }) = self.arrivals.next_due(until) {
            let measured = self.arrivals.is_measured(intended);
            self.waiting.push_back(self.entries.len());
            let entry = Entry {
                index,
                intended,
                operation,
                measured,
                begins,
                sent: None,
                sends: 0,
                usable_since: Instant(0),
                end: None,
            };
            self.tally.due(&entry);
            self.entries.push(entry);
        }
    }

    /// What a turn leaves behind must be in order: nothing waits beside a usable connection.
    pub(super) fn end_turn(&mut self) -> Result<(), String> {
        if std::mem::replace(&mut self.turn.over, true) {
            return Ok(());
        }
        self.look();
        while self.turn.sends < SENDS_PER_CALL_MAX && self.carried.have_room() {
            let Some(place) = self.pop_waiting() else { break };
            let entry = self.entries[place];
            let now = self.turn.now;
            hold!(self.is_late(place), "{entry:?} waits beside a connection with room at {now:?}");
            self.finish(place, Outcome::TimedOut, 0, 0);
        }
        hold!(self.owed.is_empty(), "{:?} was not done", self.owed.front());
        let (total, opening) = (self.carried.total(), self.carried.opening);
        let opening_max = OPENING_MIN + self.connects.len() as u64;
        hold!(opening as u64 <= opening_max, "{opening} connects in progress");
        hold!(self.turn.actions <= ACTIONS_MAX, "{} actions in a turn", self.turn.actions);
        self.was_growing |= self.turn.now >= ZERO && (total < self.max || opening > 0);
        Ok(())
    }

    /// The run is over: whatever is left was cut off in its last turn.
    pub(super) fn end_run(&mut self) {
        self.look();
        while let Some(place) = self.pop_waiting() {
            let outcome = match (self.is_late(place), self.entries[place].sent) {
                (true, _) => Outcome::TimedOut,
                (false, Some(_)) => Outcome::Unfinished,
                (false, None) => Outcome::Unsent,
            };
            self.finish(place, outcome, 0, 0);
        }
    }

    fn action(&mut self, at: Instant, action: &Action) -> Result<(), String> {
        hold!(at >= self.turn.at, "an action at {at:?}, after one at {:?}", self.turn.at);
        self.turn.at = at;
        self.turn.actions += 1;
        if let Some(owed) = self.owed.pop_front() {
            hold!(owed == *action, "{action:?} instead of {owed:?}");
            if let Action::Close(id, _) = owed {
                self.tally.connections().closed_on_timeout += 1;
                self.carried.end(id.slot);
            }
            return Ok(());
        }
        match *action {
            Action::Open(id) => self.open(id),
            Action::Send { conn, flight, operation, arrival } => {
                self.send((conn, flight), operation, arrival, at)
            }
            Action::Cancel { flight, .. } => Err(format!("{flight:?} is cancelled before its timeout")),
            Action::Close(id, kind) => self.close(id, kind),
        }
    }

    fn open(&mut self, id: ConnId) -> Result<(), String> {
        self.turn.opens += 1;
        hold!(self.turn.opens <= OPENS_PER_TICK_MAX, "{} attempts to connect in a turn", self.turn.opens);
        hold!((id.slot as usize) < self.max, "{id:?} in a pool of {}", self.max);
        self.carried.begin_opening(id, self.turn.now)?;
        let total = self.carried.total();
        hold!(total <= self.max, "{total} connections in a pool of {}", self.max);
        self.was_full |= total == self.max;
        self.tally.connections().attempted += 1;
        Ok(())
    }

    fn send(
        &mut self,
        (conn, flight): (ConnId, FlightId),
        operation: u32,
        index: u64,
        at: Instant,
    ) -> Result<(), String> {
        self.look();
        self.turn.sends += 1;
        hold!(self.turn.sends <= SENDS_PER_CALL_MAX, "{} sends in a turn", self.turn.sends);
        let place = loop {
            let Some(place) = self.pop_waiting() else {
                return Err(format!("{index} is sent at {at:?}, and nothing waits"));
            };
            if !self.is_late(place) {
                break place;
            }
            self.finish(place, Outcome::TimedOut, 0, 0);
        };
        let usable_since = self.carried.room_since;
        let entry = &mut self.entries[place];
        hold!(entry.index == index, "{index} is sent at {at:?} before {entry:?}");
        hold!(entry.operation == operation, "{entry:?} is sent as operation {operation}");
        hold!(at >= entry.intended, "{entry:?} is sent at {at:?}, before its time");
        entry.sends += 1;
        if entry.sent.is_none() {
            entry.sent = Some(at);
            entry.usable_since = usable_since;
            self.tally.sent(entry.measured, at);
            if entry.begins {
                self.tally.user_begins(at);
            }
        } else {
            hold!(entry.sends == 2, "{entry:?} is sent more than twice");
            self.tally.connections().resent += 1;
        }
        self.sent += 1;
        self.in_flight.insert((entry.intended, self.sent, place));
        self.sendings.insert(place, self.sent);
        self.carried.take_off(conn, flight, place)
    }

    /// What has taken too long is given up, the oldest first; its connection is closed if that leaves it no use.
    fn expire_flights(&mut self) {
        for _ in 0..TIMEOUTS_PER_TURN {
            let Some(&(_, _, place)) = self.in_flight.first() else { return };
            if !self.is_late(place) {
                return;
            }
            let Some((conn, flight, is_over)) = self.carried.abandon(place) else { return };
            self.finish(place, Outcome::TimedOut, 0, conn.slot);
            if self.room.cancels {
                self.owed.push_back(Action::Cancel { conn, flight });
            } else if is_over {
                self.owed.push_back(Action::Close(conn, CloseKind::Abort));
            }
        }
    }

    fn close(&mut self, id: ConnId, kind: CloseKind) -> Result<(), String> {
        let Some(state) = self.carried.state_of(id) else { return Err(format!("{id:?} is closed twice")) };
        if (state, kind) == (State::Open, CloseKind::Graceful) {
            return self.close_unneeded(id);
        }
        hold!(kind == CloseKind::Abort, "{id:?} is closed though it could be used again");
        if let State::Opening(since) = state {
            let timeout = self.plan.spec().timeout;
            hold!(self.turn.now.since(since) > timeout, "{id:?} is given up after less than the timeout");
            self.tally.connections().failed += 1;
            self.carried.give_up_opening(id.slot);
            return Ok(());
        }
        // At the end of the run.
        let carried = self.carried.end(id.slot).carried;
        hold!(!carried.is_empty(), "{id:?} is closed, and nothing is under way on it");
        let is_late = carried.iter().all(|&place| self.is_late(place));
        self.turn.gave_up |= !is_late;
        self.tally.connections().closed_on_timeout += u64::from(is_late);
        for place in carried {
            let outcome = if self.is_late(place) { Outcome::TimedOut } else { Outcome::Unfinished };
            self.finish(place, outcome, 0, id.slot);
        }
        Ok(())
    }

    /// Only a pool that grows shrinks, and only by what it has not needed for long.
    fn close_unneeded(&mut self, id: ConnId) -> Result<(), String> {
        let since = self.carried.rested_since(id.slot);
        let rested = since.map(|since| self.turn.now.since(since));
        hold!(matches!(self.plan.pool_of(0), Pool::Auto { .. }), "{id:?} of a fixed pool is closed");
        hold!(rested >= Some(IDLE_MAX), "{id:?} is closed after having rested for {rested:?}");
        hold!(self.carried.resting() > 1, "{id:?} is closed, and it was the last one");
        self.carried.end(id.slot);
        self.tally.connections().closed_unneeded += 1;
        Ok(())
    }

    fn connect_failed(&mut self, id: ConnId, kind: FailureKind) {
        let Some(State::Opening(_)) = self.carried.state_of(id) else { return };
        self.carried.give_up_opening(id.slot);
        self.tally.connections().failed += 1;
        self.tally.connections().refused += u64::from(kind == FailureKind::CONNECT_REFUSED);
        // A failed attempt costs the oldest that still has time.
        self.expire_waiting();
        if let Some(place) = self.pop_waiting() {
            self.finish(place, Outcome::Failed(kind), 0, 0);
        }
    }

    fn answered(&mut self, id: FlightId, answer: &Answer) -> Result<(), String> {
        let Some((place, slot)) = self.carried.land(id, self.turn.now)? else { return Ok(()) };
        self.carried.note_answer(slot);
        let Some(place) = place else { return Ok(()) };
        self.tally.answered(self.entries[place].measured, answer);
        let outcome = match answer.failure {
            _ if self.is_late(place) => Outcome::TimedOut,
            Some(kind) => Outcome::Failed(kind),
            None => Outcome::Ok,
        };
        self.finish(place, outcome, answer.status, slot);
        Ok(())
    }

    fn closed(&mut self, id: ConnId, closing: &Closing) -> Result<(), String> {
        let Some(state) = self.carried.state_of(id) else { return Ok(()) };
        hold!(state == State::Open, "a reset on {id:?}: {state:?}");
        self.tally.connections().closed_by_target += 1;
        let remains = self.carried.end(id.slot);
        hold!(self.room != Room::SINGLE || remains.carried.len() == 1, "a reset on {id:?}, which rests");
        for place in remains.carried {
            let entry = &self.entries[place];
            let again = remains.has_answered && self.plan.spec().idempotent[entry.operation as usize];
            if self.is_late(place) {
                self.finish(place, Outcome::TimedOut, 0, id.slot);
            } else if again && !closing.answered && entry.sends == 1 {
                if let Some(sending) = self.sendings.remove(&place) {
                    self.in_flight.remove(&(entry.intended, sending, place));
                }
                self.second_sends.push_back(place);
            } else {
                self.finish(place, Outcome::Failed(closing.kind), 0, id.slot);
            }
        }
        Ok(())
    }

    fn expire_waiting(&mut self) {
        for _ in 0..EXPIRIES_PER_TURN {
            let second = self.second_sends.front().is_some_and(|&place| self.is_late(place));
            let first = self.waiting.front().is_some_and(|&place| self.is_late(place));
            let queue = match (second, first) {
                (true, _) => &mut self.second_sends,
                (_, true) => &mut self.waiting,
                _ => return,
            };
            let Some(place) = queue.pop_front() else { return };
            self.finish(place, Outcome::TimedOut, 0, 0);
        }
    }

    fn pop_waiting(&mut self) -> Option<usize> {
        self.second_sends.pop_front().or_else(|| self.waiting.pop_front())
    }

    fn is_late(&self, place: usize) -> bool {
        self.turn.now.since(self.entries[place].intended) > self.plan.spec().timeout
    }

    fn finish(&mut self, place: usize, outcome: Outcome, status: u16, slot: u32) {
        let entry = &mut self.entries[place];
        if let Some(sending) = self.sendings.remove(&place) {
            self.in_flight.remove(&(entry.intended, sending, place));
        }
        entry.end = Some(End { at: self.turn.now, outcome, status, slot });
        self.tally.ended(place, entry);
        self.arrivals.ended(entry.index, self.turn.now);
    }

    /// When the client last looked at the clock.
    pub(super) fn now(&self) -> Instant {
        self.turn.now
    }
}
