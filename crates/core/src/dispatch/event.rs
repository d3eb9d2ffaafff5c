//! What the dispatcher is told, what it asks for, and what it must know of the plan.

use super::Retry;
use crate::failure::FailureKind;
use crate::journey::OwnJourneys;
use crate::origins::{ORIGINS_MAX, Origins};
use crate::record::{Answer, Events};
use crate::share::Share;
use crate::time::{Instant, Nanos};

/// Names a connection. A slot is used again; the generation tells the old tenant's events from the new
/// one's.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
pub struct ConnId {
    /// The number of its origin.
    pub origin: u8,
    /// Its place among the connections to this origin.
    pub slot: u32,
    /// How many tenants the place had before.
    pub generation: u32,
}

/// Names a flight: an arrival that is under way on a connection. What is said of one that has ended is ignored.
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
    /// A connection is usable; how long its parts took.
    Connected(ConnId, ConnectTimes),
    /// An attempt to open a connection failed.
    ConnectFailed(ConnId, FailureKind),
    /// `now` is the moment just before the first byte of the request is written.
    Sent(FlightId),
    /// `now` is the moment just after the last byte of the answer was read. Of a flight that was given up it says
    /// that its place is free again.
    Answered(FlightId, Answer),
    /// `now` is the moment just after a read that brought events of the answer, which goes on or ends after this.
    Heard(FlightId, Events),
    /// A flight has ended without a whole answer, and its connection goes on. Said of one that was given up, too.
    Lost(FlightId, Loss),
    /// A flight that was given up can't be cancelled: its place is taken until its answer has come.
    Kept(FlightId),
    /// The connection takes so many requests at once from now on, or once it is open, at the most as many as [`Policy::room`] says.
    Room(ConnId, u32),
    /// The connection takes no more requests. It is to be closed when the last one has ended.
    Retired(ConnId),
    /// A usable connection has ended. So have its flights.
    Closed(ConnId, Closing),
}

/// How a flight ended whose connection goes on.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// What it failed of.
    pub kind: FailureKind,
    /// The target says that it has not looked at the request, which may therefore be sent again, whatever it asks.
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
    /// What its requests, if it carried any, failed of.
    pub kind: FailureKind,
    /// A byte of an answer to them had been read, so that they must not be sent again.
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
        /// Which is called this from now on.
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
    /// Close; no event follows, for its flights neither.
    Close(ConnId, CloseKind),
}

/// How to close.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CloseKind {
    /// Nothing is under way.
    Graceful,
    /// A request is under way: reset, or its port stays taken.
    Abort,
}

/// Actions of one call, in a buffer that is used again.
pub type Actions = Vec<Action>;

/// The size of an [`Actions`] buffer that never has to grow.
pub const ACTIONS_MAX: usize = super::SENDS_PER_CALL_MAX
    + super::OPENS_PER_TICK_MAX
    + super::OPENS_PER_TICK_MAX
    + 2 * super::TIMEOUTS_PER_CALL_MAX
    + super::LEFT_PER_CALL_MAX * ORIGINS_MAX
    + ORIGINS_MAX * (2 * super::IDLE_CLOSED_PER_TICK_MAX + super::TIMEOUTS_PER_CALL_MAX)
    + 4;

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

/// What one connection takes at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Room {
    /// Requests, at the most; not zero.
    pub places: u32,
    /// A request can be cancelled without closing its connection. Where it can't, one that was given up keeps its place
    /// until its answer has come.
    pub cancels: bool,
}

impl Room {
    /// One request at a time, as HTTP/1.1 has it.
    pub const SINGLE: Room = Room { places: 1, cancels: false };
}

/// What the dispatcher must know of the plan.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Connections to each origin.
    pub pool: Pool,
    /// The journeys that have connections of their own, if there are any. A fixed pool is then opened as it is needed.
    pub own: Option<OwnJourneys>,
    /// Where each operation goes.
    pub origins: Origins,
    /// What one connection takes at once.
    pub room: Room,
    /// A connection takes no more requests once it has been open for so long; a fixed pool opens another in its place. Those
    /// that are opened before the start go one after the other over this time, not all at once.
    pub connection_age: Option<Nanos>,
    /// Which worker of how many this is: their connections grow old in turn.
    pub share: Share,
    /// From the intended time.
    pub timeout: Nanos,
    /// How long dispatch goes on after the last arrival due.
    pub drain: Nanos,
    /// For each operation: may it be sent twice (RFC 9110 §9.2.2)?
    pub idempotent: Vec<bool>,
    /// What is tried again; nothing without it.
    pub retry: Option<Retry>,
    /// Arrivals are taken note of together; `None`: each when it falls due. The difference is the generator's own
    /// lateness.
    pub grain: Option<Grain>,
}

/// Flights for which memory is reserved at the most, should connections have many places.
const FLIGHTS_RESERVED_MAX: usize = 1 << 18;

impl Policy {
    /// So many flights memory is reserved for, here and by whoever drives the dispatcher: as many as there may be at once,
    /// within reason.
    pub fn flights_reserved(&self) -> usize {
        let (Pool::Auto { max } | Pool::Fixed { n: max }) = self.pool;
        let per_origin = (max as usize).saturating_mul(self.room.places as usize);
        per_origin.saturating_mul(self.origins.count()).min(FLIGHTS_RESERVED_MAX)
    }
}

/// The moments at which arrivals are taken note of: `phase` on the clock, and every `length` from there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Grain {
    /// From one to the next; not zero.
    pub length: Nanos,
    /// When the first is; less than `length`. Workers on the same grid would all want a processor at once.
    pub phase: Nanos,
}

impl Grain {
    /// The latest of the moments until `now`; the clock's zero when there is none.
    pub(super) fn last(self, now: Instant) -> Instant {
        let Grain { length, phase } = self;
        Instant(now.0.checked_sub(phase.0).map_or(0, |since| since / length.0 * length.0 + phase.0))
    }

    /// The first of the moments from `due` on.
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
