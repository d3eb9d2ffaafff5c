//! Users who all ask at once, of a dispatcher that is told of everything by hand.

use unblink_core::dispatch::{Policy, Pool, Room};
use unblink_core::load::{Closed, ClosedShare, LoadNumber, Population};
use unblink_core::mix::Asked;
use unblink_core::share::Share;
use unblink_core::time::{Instant, Nanos};

pub(crate) const TIMEOUT: Nanos = Nanos::from_secs(10);
pub(crate) const START: Instant = Instant(1_000_000_000);

/// Nothing is tried again, and no connection grows old.
pub(crate) fn policy(pool: Pool, room: Room) -> Policy {
    Policy {
        pool,
        own: None,
        held: None,
        timeout: TIMEOUT,
        drain: TIMEOUT,
        room,
        connection_age: None,
        share: Share::WHOLE,
        retry: None,
        idempotent: vec![true],
        origins: Default::default(),
        grain: None,
    }
}

/// They ask again as soon as they know what has become of it, for a minute.
pub(crate) fn users(users: u32) -> Closed {
    Closed::new(share_of(users))
}

pub(crate) fn share_of(users: u32) -> ClosedShare {
    ClosedShare {
        population: Population::Alike { users, think: Nanos::ZERO, ramp_up: Nanos::ZERO },
        start: START,
        end: START + Nanos::from_secs(60),
        measured_from: START,
        limit: u64::MAX,
        share: Share::WHOLE,
        number: LoadNumber::ONLY,
        asked: Asked::all(1),
        origins: Default::default(),
    }
}
