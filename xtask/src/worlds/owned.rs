//! Journeys with connections of their own, or with WebSockets, from the log alone: nobody else's request goes over one, a journey
//! has one to an origin at a time, it is closed when the journey ends, and what is counted of them is so. A step over a WebSocket
//! goes over the latest that its journey has opened, and a step that opens one over a new one.

use super::hold;
use std::collections::{HashMap, HashSet};
use unblink_core::dispatch::{Action, ConnId, Event, Pool};
use unblink_core::journey::Paths;
use unblink_core::origins::{Origins, SocketUse};
use unblink_core::plan::Plan;
use unblink_core::record::ConnectionCounts;
use unblink_core::sim::Sight;

/// Whose a connection has turned out to be by what was sent over it.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Whose {
    Nobody,
    Everybody,
    /// The journey that began with this arrival.
    Journey(u64),
}

/// All connections of a worker.
pub(super) struct Owned {
    /// By operation: it is of a journey with connections of its own.
    is_own: Vec<bool>,
    /// By operation: it is of a journey that holds a connection of all.
    is_held: Vec<bool>,
    /// By connection: the start of what was sent on it last.
    last: HashMap<ConnId, u64>,
    /// By start of a journey that holds one: its connection.
    holds: HashMap<u64, ConnId>,
    held: u64,
    origins: Origins,
    /// Connections to each origin at the most.
    max: usize,
    opening: HashSet<ConnId>,
    open: HashMap<ConnId, Whose>,
    /// Open ones and those that are being opened, by origin.
    total: HashMap<u8, usize>,
    /// The latest of a journey to an origin.
    latest: HashMap<(u64, u8), ConnId>,
    taken: u64,
    again: u64,
}

impl Owned {
    pub(super) fn new(plan: &Plan, paths: &Paths, worker: u32) -> Owned {
        let (Pool::Auto { max } | Pool::Fixed { n: max }) = plan.pool_of(worker);
        let of_journey = |operation: usize, is_so: fn(&Paths, usize) -> bool| {
            let journey = (paths.entry_of(operation as u32) as usize).checked_sub(paths.plain());
            journey.is_some_and(|journey| is_so(paths, journey))
        };
        let operations = 0..plan.spec().idempotent.len();
        let is_own = operations.clone().map(|one| of_journey(one, Paths::has_own_connection));
        let is_held = operations.map(|one| of_journey(one, Paths::holds_connection));
        Owned {
            is_own: is_own.collect(),
            is_held: is_held.collect(),
            last: HashMap::new(),
            holds: HashMap::new(),
            held: 0,
            origins: plan.spec().origins.clone(),
            max: max as usize,
            opening: HashSet::new(),
            open: HashMap::new(),
            total: HashMap::new(),
            latest: HashMap::new(),
            taken: 0,
            again: 0,
        }
    }

    /// `unit` says of which start an arrival is.
    pub(super) fn see(&mut self, sight: &Sight, unit: impl Fn(u64) -> u64) -> Result<(), String> {
        match *sight {
            Sight::Action(Action::Open(conn)) => {
                self.opening.insert(conn);
                let total = self.total.entry(conn.origin).or_default();
                *total += 1;
                hold!(*total <= self.max, "{total} connections in a pool of {}", self.max);
            }
            Sight::Turn(Event::Connected(conn, _)) => {
                let is_new = self.opening.remove(&conn);
                self.open.extend(is_new.then_some((conn, Whose::Nobody)));
            }
            Sight::Turn(Event::ConnectFailed(conn, _) | Event::Closed(conn, _))
            | Sight::Action(Action::Close(conn, _)) => {
                let was_there = self.opening.remove(&conn) || self.open.remove(&conn).is_some();
                *self.total.entry(conn.origin).or_default() -= usize::from(was_there);
            }
            Sight::Action(Action::Send { conn, operation, arrival, .. }) => {
                let start = unit(arrival);
                self.hold_on(conn, operation, (start, start != arrival))?;
                self.sent(conn, operation, start)?;
            }
            _ => {}
        }
        Ok(())
    }

    /// From the first request to the last, a journey that holds its connection sends on that alone, and nobody else does.
    fn hold_on(&mut self, conn: ConnId, operation: u32, (unit, follows): (u64, bool)) -> Result<(), String> {
        let last = self.last.insert(conn, unit);
        if !self.is_held.get(operation as usize).is_some_and(|held| *held) {
            return Ok(());
        }
        let before = self.holds.insert(unit, conn);
        self.held += u64::from(!follows);
        hold!(!follows || before == Some(conn), "{unit} goes on at {conn:?}, and holds {before:?}");
        hold!(!follows || last == Some(unit), "{unit} holds {conn:?}, and {last:?} was sent on it");
        Ok(())
    }

    fn sent(&mut self, conn: ConnId, operation: u32, unit: u64) -> Result<(), String> {
        let Some(was) = self.open.get_mut(&conn) else { return Err(format!("{conn:?} is not open")) };
        let socket = self.origins.socket_use(operation);
        let is_counted = self.is_own.get(operation as usize).is_some_and(|own| *own);
        let is_own = is_counted || socket != SocketUse::None;
        let whose = if is_own { Whose::Journey(unit) } else { Whose::Everybody };
        let before = std::mem::replace(was, whose);
        hold!(
            before == whose || before == Whose::Nobody,
            "{conn:?} is {before:?}, and {whose:?} is sent on it"
        );
        let (opens, uses) = (socket == SocketUse::Opens, socket == SocketUse::Uses);
        hold!(!opens || before == Whose::Nobody, "{unit} opens {conn:?}, which is {before:?}");
        hold!(!uses || before == whose, "{unit} uses {conn:?}, which is {before:?}");
        if before == Whose::Nobody && is_own {
            let before = self.latest.insert((unit, conn.origin), conn);
            let is_there = before.is_some_and(|before| self.open.contains_key(&before));
            hold!(!is_there, "{unit} takes {conn:?}, and has {before:?}");
            self.taken += u64::from(is_counted);
            self.again += u64::from(is_counted && before.is_some());
        }
        Ok(())
    }

    /// The run is over: all journeys have ended.
    pub(super) fn end(&self, counted: &ConnectionCounts) -> Result<(), String> {
        let left = self.open.iter().find(|(_, whose)| matches!(whose, Whose::Journey(_)));
        hold!(left.is_none(), "a journey has ended, and its connection has not: {left:?}");
        let (own, again) = (counted.own, counted.own_again);
        hold!(own == self.taken, "{own} were taken for journeys, it was {}", self.taken);
        hold!(again == self.again, "{again} in place of another, it was {}", self.again);
        let held = counted.held;
        hold!(held == self.held, "{held} were held, it was {}", self.held);
        let closed = counted.closed_with_journey;
        hold!(closed <= own, "{closed} were closed with their journey, and {own} taken");
        Ok(())
    }
}
