//! A simulated run as seen from outside of dispatcher and recorder: what a checker keeps its own books from.

use crate::arrival::Arrival;
use crate::dispatch::{Action, Event, FlightId};
use crate::time::{Instant, Nanos};

/// Something that can be seen.
#[derive(Clone, Copy, Debug)]
pub enum Sight {
    /// The client looks at the clock and is told this.
    Turn(Event),
    /// The client does this; a request is sent at this very moment.
    Action(Action),
    /// What the request asks for that is sent at this moment, and when its journey was to start, or it was itself; of a client that
    /// has arrivals.
    Sent(Arrival, Instant),
    /// A request reaches the server.
    Request(Taken),
}

/// What the server makes of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Taken {
    /// Which one.
    pub flight: FlightId,
    /// From when to when it holds a slot; none if it is turned away at once.
    pub work: Option<(Instant, Instant)>,
    /// When it is answered or reset.
    pub ends: Instant,
    /// Status of its answer; none if it is reset.
    pub status: Option<u16>,
}

/// Sees everything, in the order in which the world goes through it. What the client does within one turn may
/// lie ahead of what the server does next: the client's processor takes its time.
pub trait Watch {
    /// Called at `at` of the world's clock.
    fn see(&mut self, at: Instant, sight: Sight);

    /// Makes the request of an arrival that is to be sent. False where that has failed, so that nothing is sent.
    fn makes(&mut self, _arrival: &Arrival) -> bool {
        true
    }

    /// Hears of an answer that is waited for, by its status. False where it has failed of that.
    fn hears(&mut self, _status: u16) -> bool {
        true
    }

    /// Nothing more is to fall due.
    fn ends_load(&self) -> bool {
        false
    }
}

/// Nobody watches.
impl Watch for () {
    fn see(&mut self, _at: Instant, _sight: Sight) {}
}

/// Which part of a run is simulated.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct SimPart {
    /// Number of the worker.
    pub worker: u32,
    /// The user ends the run then, after the schedule's zero: nothing falls due any more.
    pub stop: Option<Nanos>,
}
