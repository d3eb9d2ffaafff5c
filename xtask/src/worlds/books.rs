//! What became of each arrival, from the log alone and by the plainest rules; and, on the way, what a
//! dispatcher must never do: more requests on a connection than it takes, more connections to an origin than the pool has,
//! a request before its time or out of turn, one left waiting beside a connection to its origin with room.

use super::arrivals::{Arrivals, Due};
use super::attempts::Tries;
use super::carried::{Carried, State};
use super::entry::Entry;
use super::hold;
use super::lane::Lane;
use super::round::Round;
use super::tally::Tally;
use super::timeline::Moments;
use super::under_way::UnderWay;
use std::collections::{HashMap, VecDeque};
use unblink_core::dispatch::{ACTIONS_MAX, Action, ConnId, Event, FlightId, OPENS_PER_TICK_MAX, Pool, Room};
use unblink_core::outcome::Outcome;
use unblink_core::plan::Plan;
use unblink_core::record::{Allowed, ConnectionLevels, Gauges, LaneLevels, RetryCounts};
use unblink_core::sim::{Sight, SimPart, ZERO};
use unblink_core::time::{Instant, Nanos};

/// Requests under way that one turn gives up.
pub(super) const TIMEOUTS_PER_TURN: usize = 64;
/// Connects to an origin in progress to begin with; each that succeeds allows one more.
const OPENING_MIN: u64 = 128;

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Turn {
    pub(super) now: Instant,
    /// Of the latest action.
    at: Instant,
    pub(super) sends: usize,
    /// Those of arrivals that had not been sent before.
    pub(super) first_sends: usize,
    opens: usize,
    actions: usize,
    looked: bool,
    /// Waiting arrivals expire in this turn, after the flights, of which the client speaks first.
    expires: bool,
    over: bool,
    /// A request was given up before its timeout, as it may be in the last turn alone.
    pub(super) gave_up: bool,
}

/// One worker's books.
pub(super) struct Books<'a> {
    pub(super) plan: &'a Plan,
    /// Connections to each origin at the most.
    max: usize,
    pub(super) arrivals: Arrivals,
    pub(super) entries: Vec<Entry>,
    pub(super) room: Room,
    /// By origin.
    pub(super) lanes: Vec<Lane>,
    /// Whose turn it is among them.
    pub(super) round: Round,
    /// Where each flight went that there ever was.
    pub(super) origin_of: HashMap<FlightId, usize>,
    pub(super) under_way: UnderWay,
    pub(super) tries: Tries,
    /// What the client has to do next, since requests have been given up.
    pub(super) owed: VecDeque<Action>,
    pub(super) turn: Turn,
    /// When the client looked at the clock.
    pub(super) turns: Vec<Instant>,
    pub(super) connects: Vec<Nanos>,
    /// Of the interval.
    pub(super) tally: Tally,
}

impl<'a> Books<'a> {
    pub(super) fn new(plan: &'a Plan, part: SimPart, room: Room) -> Result<Books<'a>, String> {
        let (Pool::Auto { max } | Pool::Fixed { n: max }) = plan.pool_of(part.worker);
        let load_end = ZERO + plan.load_length();
        let load_end = part.stop.map_or(load_end, |stop| load_end.min(ZERO + stop));
        let (arrivals, origins) = (Arrivals::new(plan, part)?, &plan.spec().origins);
        Ok(Books {
            plan,
            max: max as usize,
            tally: Tally::new(load_end, arrivals.measured_from, Moments::default()),
            arrivals,
            entries: Vec::new(),
            room,
            lanes: (0..origins.count()).map(|origin| Lane::new(room, origins.is_paced(origin))).collect(),
            round: Round::default(),
            origin_of: HashMap::new(),
            under_way: UnderWay::default(),
            tries: Tries::default(),
            owed: VecDeque::new(),
            turn: Turn::default(),
            turns: Vec::new(),
            connects: Vec::new(),
        })
    }

    /// Levels right now.
    pub(super) fn gauges(&self) -> Gauges {
        // Who waits before another attempt was sent, and nothing of the client's keeps it.
        let mut gauges = Gauges { in_flight: self.tries.ahead().len() as u64, ..Gauges::default() };
        for (origin, lane) in self.lanes.iter().enumerate() {
            let (in_flight, backlog) = (lane.carried.in_flight as u64, lane.backlog() as u64);
            gauges.in_flight += in_flight;
            gauges.backlog += backlog;
            gauges.lanes[origin] = LaneLevels { in_flight, backlog };
            let (connections, connections_peak) = (lane.carried.open as u64, lane.peak as u64);
            gauges.origins[origin] = ConnectionLevels { connections, connections_peak };
        }
        gauges
    }

    /// The places in `entries` of those who have not ended: in flight, to be sent again, waiting to be sent at all.
    pub(super) fn without_end(&self) -> [Vec<usize>; 3] {
        let second_sends = self.lanes.iter().flat_map(|lane| &lane.second_sends).copied();
        let place = |(_, place): &(Instant, usize)| *place;
        let ready = self.lanes.iter().flat_map(|lane| lane.ready.iter().map(place));
        let waiting = self.lanes.iter().flat_map(|lane| lane.waiting.iter().map(place));
        let again = second_sends.chain(ready).chain(self.tries.ahead());
        [self.under_way.in_order().collect(), again.collect(), waiting.collect()]
    }

    /// Where the entry's operation goes.
    pub(super) fn origin(&self, place: usize) -> usize {
        self.plan.spec().origins.of(self.entries[place].operation)
    }

    /// What is under way to the connection's origin.
    pub(super) fn carried(&mut self, id: ConnId) -> Result<&mut Carried, String> {
        let lane = self.lanes.get_mut(usize::from(id.origin));
        lane.map(|lane| &mut lane.carried).ok_or_else(|| format!("{id:?}: there is no such origin"))
    }

    /// Where the flight went.
    pub(super) fn carried_of(&self, id: FlightId) -> Result<usize, String> {
        self.origin_of.get(&id).copied().ok_or_else(|| format!("news of {id:?}, which never was under way"))
    }

    pub(super) fn see(&mut self, at: Instant, sight: &Sight) -> Result<(), String> {
        match sight {
            Sight::Turn(event) => {
                self.end_turn()?;
                self.begin_turn(at, event)
            }
            Sight::Action(action) => self.action(at, action),
            Sight::Request(_) | Sight::Sent(..) => Ok(()),
        }
    }

    fn begin_turn(&mut self, now: Instant, event: &Event) -> Result<(), String> {
        hold!(!self.turn.gave_up, "a request was given up before its timeout, and the run went on");
        hold!(now >= self.turn.at, "the clock goes back from {:?} to {now:?}", self.turn.at);
        self.turn = Turn { now, at: now, ..Turn::default() };
        self.round.begin();
        self.turns.push(now);
        match *event {
            Event::Tick => {
                self.turn.expires = true;
                self.expire_flights();
                self.give_up_attempts()?;
            }
            Event::Connected(id, times) => {
                if let Some(State::Opening(since)) = self.carried(id)?.state_of(id) {
                    hold!(times.connect <= now.since(since), "connected in {:?}, too soon", times.connect);
                    let lane = &mut self.lanes[usize::from(id.origin)];
                    lane.carried.opened(id.slot, now);
                    lane.opened += 1;
                    lane.paced.succeeds();
                    lane.peak = lane.peak.max(lane.carried.open);
                    self.connects.push(times.connect);
                    let counts = self.tally.connections(id.origin);
                    counts.opened += 1;
                    // The simulated server never allows another number.
                    if self.room.places > 1 {
                        counts.allowed = Allowed::between(self.room.places, self.room.places);
                    }
                }
            }
            Event::ConnectFailed(id, kind) => self.connect_failed(id, kind)?,
            Event::Answered(id, answer) => self.answered(id, &answer)?,
            Event::Lost(id, _) => self.lost(id)?,
            Event::Closed(id, closing) => self.closed(id, &closing)?,
            // The simulated server keeps to the protocol.
            Event::Broken(..)
            | Event::Sent(_)
            | Event::Heard(..)
            | Event::Kept(_)
            | Event::Room(..)
            | Event::Unsent(_)
            | Event::Retired(_) => {
                return Err(format!("a turn was spent on {event:?}"));
            }
        }
        Ok(())
    }

    /// Once in a turn, after the ends that come of the event itself, the client looks for what has fallen due.
    pub(super) fn look(&mut self) -> Result<(), String> {
        if !std::mem::replace(&mut self.turn.looked, true) {
            for origin in 0..if self.turn.expires { self.lanes.len() } else { 0 } {
                self.fail_waiting(origin)?;
                self.expire_waiting(origin);
            }
            self.take_note_of_due(self.turn.now);
            self.release();
        }
        Ok(())
    }

    /// Arrivals that fall due at `until` or before are waiting from now on.
    pub(super) fn take_note_of_due(&mut self, until: Instant) {
        while let Some(Due { key, index, operation, intended, begins }) = self.arrivals.next_due(until) {
            let measured = self.arrivals.is_measured(intended);
            let origin = self.plan.spec().origins.of(operation);
            self.lanes[origin].falls_due(intended, self.entries.len());
            let entry = Entry {
                key,
                index,
                intended,
                operation,
                measured,
                begins,
                sent: None,
                attempt: None,
                repeats: 0,
                resent: false,
                ready_at: Instant(0),
                given_up: Default::default(),
                tries: RetryCounts::default(),
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
        self.look()?;
        self.end_sends()?;
        hold!(self.owed.is_empty(), "{:?} was not done", self.owed.front());
        for lane in &mut self.lanes {
            let (total, opening) = (lane.carried.total(), lane.carried.opening);
            let opening_max = OPENING_MIN + lane.opened;
            hold!(opening as u64 <= opening_max, "{opening} connects to one origin in progress");
            lane.was_growing |= self.turn.now >= ZERO && (total < self.max || opening > 0);
        }
        hold!(self.turn.actions <= ACTIONS_MAX, "{} actions in a turn", self.turn.actions);
        Ok(())
    }

    /// The run is over: whatever is left was cut off in its last turn.
    pub(super) fn end_run(&mut self) -> Result<(), String> {
        self.look()?;
        while let Some(place) =
            self.lanes.iter_mut().find_map(Lane::pop_waiting).or_else(|| self.tries.pop_any())
        {
            let outcome = match (self.is_late(place), self.entries[place].sent) {
                (true, _) => Outcome::TimedOut,
                (false, Some(_)) => Outcome::Unfinished,
                (false, None) => Outcome::Unsent,
            };
            self.finish(place, outcome, None, 0);
        }
        Ok(())
    }

    fn action(&mut self, at: Instant, action: &Action) -> Result<(), String> {
        hold!(at >= self.turn.at, "an action at {at:?}, after one at {:?}", self.turn.at);
        self.turn.at = at;
        self.turn.actions += 1;
        if let Some(owed) = self.owed.pop_front() {
            hold!(owed == *action, "{action:?} instead of {owed:?}");
            if let Action::Close(id, _) = owed {
                self.tally.connections(id.origin).closed_on_timeout += 1;
                self.carried(id)?.end(id.slot);
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
        let now = self.turn.now;
        self.carried(id)?.begin_opening(id, now)?;
        self.lanes[usize::from(id.origin)].paced.begins(now)?;
        let total = self.carried(id)?.total();
        hold!(total <= self.max, "{total} connections in a pool of {}", self.max);
        self.lanes[usize::from(id.origin)].was_full |= total == self.max;
        self.tally.connections(id.origin).attempted += 1;
        Ok(())
    }

    pub(super) fn is_late(&self, place: usize) -> bool {
        self.turn.now.since(self.entries[place].intended) > self.plan.spec().timeout
    }

    /// When the client last looked at the clock.
    pub(super) fn now(&self) -> Instant {
        self.turn.now
    }
}
