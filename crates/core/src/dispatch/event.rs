//! What the dispatcher is told, what it asks for, and what it must know about the plan.

use super::Retry;
use crate::failure::FailureKind;
use crate::journey::OwnJourneys;
use crate::origins::{ORIGINS_MAX, Origins};
use crate::record::{Answer, Breach, Events};
use crate::share::Share;
use crate::time::{Instant, Nanos};

/// Names a connection. Slots are reused; the generation tells the old tenant's events from the new one's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct ConnId {
    /// The number of its origin.
    pub origin: u8,
    /// Its place among the connections to this origin.
    pub slot: u32,
    /// How many tenants the place had before.
    pub generation: u32,
}

/// Names a flight: an arrival that is under way on a connection. Events for a flight that has ended are ignored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct FlightId {
    /// Its place among the flights.
    pub slot: u32,
    /// How many tenants the place had before.
    pub generation: u32,
}

/// What happened, as seen from outside.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// Time has passed.
    Tick,
    /// A connection is usable. The times say how long the parts of opening it took.
    Connected(ConnId, ConnectTimes),
    /// An attempt to open a connection failed.
    ConnectFailed(ConnId, FailureKind),
    /// `now` is the moment just before the first byte of the request is written.
    Sent(FlightId),
    /// `now` is the moment just after the last byte of the answer was read. For a flight that was given up, it says
    /// that the flight's place is free again.
    Answered(FlightId, Answer),
    /// `now` is the moment just after a read that brought events of the answer. The answer goes on, or its end is
    /// reported later.
    Heard(FlightId, Events),
    /// A flight has ended without a whole answer, and its connection goes on. This is also reported for a flight that
    /// was given up.
    Lost(FlightId, Loss),
    /// A flight has not been sent, and won't be: nothing may be sent any more.
    Unsent(FlightId),
    /// A flight that was given up can't be cancelled: its place is taken until its answer has come.
    Kept(FlightId),
    /// From now on, or once it is open, the connection takes this many requests at once, but no more than
    /// [`Policy::room`] says.
    Room(ConnId, u32),
    /// The connection takes no more requests. It is to be closed when the last one has ended.
    Retired(ConnId),
    /// What came last on a usable connection breaks the protocol: it takes no more requests. What came whole before that is
    /// told next, and then that it has ended.
    Broken(ConnId, Breach),
    /// A usable connection has ended. So have its flights.
    Closed(ConnId, Closing),
}

/// How a flight ended if its connection goes on.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Why it failed.
    pub kind: FailureKind,
    /// The target says that it has not looked at the request. The request may therefore be sent again, whatever it
    /// asks.
    pub unprocessed: bool,
}

/// How long the parts of opening a connection took.
#[derive(Clone, Copy, Debug, Default)]
pub struct ConnectTimes {
    /// TCP.
    pub connect: Nanos,
    /// TLS, if there was any.
    pub tls: Option<Nanos>,
}

/// How a usable connection ended.
#[derive(Clone, Copy, Debug)]
pub struct Closing {
    /// Why its requests failed, if it carried any.
    pub kind: FailureKind,
    /// A byte of an answer to them had been read, so they must not be sent again.
    pub answered: bool,
}

/// What is to be done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Open a connection; answer with `Connected` or `ConnectFailed`.
    Open(ConnId),
    /// Send the operation; answer with `Sent` at once, then `Answered`, `Lost` or `Closed`.
    Send {
        /// On this connection.
        conn: ConnId,
        /// The name of the flight from now on.
        flight: FlightId,
        /// Number of the operation.
        operation: u32,
        /// Number of the arrival.
        arrival: u64,
    },
    /// The flight has been given up; answer with `Lost` once its place is free.
    Cancel {
        /// On this connection.
        conn: ConnId,
        /// That flight.
        flight: FlightId,
    },
    /// Close the connection. No event follows, not even for its flights.
    Close(ConnId, CloseKind),
}

/// How to close.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloseKind {
    /// Nothing is under way.
    Graceful,
    /// A request is under way. The connection is reset, because otherwise its port stays taken.
    Abort,
}

/// The actions of one call, in a buffer that is reused.
pub type Actions = Vec<Action>;

/// The size of an [`Actions`] buffer that never has to grow.
pub const ACTIONS_MAX: usize = super::SENDS_PER_CALL_MAX
    + super::OPENS_PER_TICK_MAX
    + super::OPENS_PER_TICK_MAX
    + 2 * super::TIMEOUTS_PER_CALL_MAX
    + super::LEFT_PER_CALL_MAX * ORIGINS_MAX
    + ORIGINS_MAX * (2 * super::IDLE_CLOSED_PER_TICK_MAX + super::TIMEOUTS_PER_CALL_MAX)
    + 4;

/// So many connections a machine opens at the most where nobody has said how many: more would take every local port there is.
pub const AUTO_CONNECTIONS_MAX: u32 = 20_000;

/// Linux gives out local ports of one parity first. When nearly half of all are taken, each connect searches the rest of them one by
/// one, which takes more than a millisecond of the generator's time.
const PORTS_FOUND_QUICKLY_PERCENT: u64 = 45;

/// Of so many local ports, those that are found quickly.
pub const fn ports_found_quickly(ports: u64) -> u64 {
    ports / 100 * PORTS_FOUND_QUICKLY_PERCENT
}

/// How many connections there may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pool {
    /// One more whenever an arrival is due and none is usable, up to `max`.
    Auto {
        /// Limit of this worker.
        max: u32,
    },
    /// `n` connections, opened before the start.
    Fixed {
        /// Number for this worker.
        n: u32,
    },
}

/// How much one connection takes at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// The most requests at once; not zero.
    pub places: u32,
    /// Whether a request can be cancelled without closing its connection. If not, a request that was given up keeps its
    /// place until its answer has come.
    pub cancels: bool,
}

impl Room {
    /// One request at a time, as HTTP/1.1 has it.
    pub const SINGLE: Room = Room { places: 1, cancels: false };
}

/// What the dispatcher must know about the plan.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Connections to each origin.
    pub pool: Pool,
    /// The journeys that have connections of their own, if there are any. A fixed pool is then opened as needed.
    pub own: Option<OwnJourneys>,
    /// The journeys that hold a connection of all, if there are any. They are not there beside those of `own`, a connection
    /// takes one request at a time, and none of their requests is tried again.
    pub held: Option<OwnJourneys>,
    /// Where each operation goes.
    pub origins: Origins,
    /// How much one connection takes at once.
    pub room: Room,
    /// How long a connection may be open before it takes no more requests. A fixed pool opens another in its place.
    /// Connections that are opened before the start end one after another over this time, not all at once.
    pub connection_age: Option<Nanos>,
    /// Which worker this is, and of how many. Their connections grow old in turn.
    pub share: Share,
    /// The timeout of an arrival, counted from its intended time.
    pub timeout: Nanos,
    /// How long dispatch goes on after the last arrival due.
    pub drain: Nanos,
    /// Whether each operation may be sent twice (RFC 9110 §9.2.2).
    pub idempotent: Vec<bool>,
    /// What is tried again. `None`: nothing is.
    pub retry: Option<Retry>,
    /// The grid of moments at which arrivals are noticed together. `None`: each is noticed when it falls due. The
    /// difference is the generator's own lateness.
    pub grain: Option<Grain>,
}

/// The most flights for which memory is reserved, in case connections have many places.
const FLIGHTS_RESERVED_MAX: usize = 1 << 18;

impl Policy {
    /// The number of flights for which memory is reserved, here and by whoever drives the dispatcher: as many as there
    /// may be at once, within reason.
    pub fn flights_reserved(&self) -> usize {
        let (Pool::Auto { max } | Pool::Fixed { n: max }) = self.pool;
        let per_origin = (max as usize).saturating_mul(self.room.places as usize);
        per_origin.saturating_mul(self.origins.count()).min(FLIGHTS_RESERVED_MAX)
    }
}

/// The moments at which arrivals are noticed: `phase` on the clock, and every `length` from there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grain {
    /// The time from one moment to the next; not zero.
    pub length: Nanos,
    /// The first moment; less than `length`. Workers on the same grid would all want a processor at once.
    pub phase: Nanos,
}

impl Grain {
    /// The latest of the moments up to `now`, or the clock's zero if there is none.
    pub(super) fn last(self, now: Instant) -> Instant {
        let Grain { length, phase } = self;
        Instant(now.0.checked_sub(phase.0).map_or(0, |since| since / length.0 * length.0 + phase.0))
    }

    /// The first of the moments at or after `due`.
    pub(super) fn next(self, due: Instant) -> Instant {
        let Grain { length, phase } = self;
        Instant(due.0.saturating_sub(phase.0).div_ceil(length.0) * length.0 + phase.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_grid_begins_at_its_phase() {
        let grain = Grain { length: Nanos(10), phase: Nanos(3) };
        let last = [0, 2, 3, 12, 13].map(|now| grain.last(Instant(now)).0);
        assert_eq!(last, [0, 0, 3, 3, 13]);
        let next = [0, 3, 4, 13, 14].map(|due| grain.next(Instant(due)).0);
        assert_eq!(next, [3, 3, 13, 13, 23]);
    }
}
