//! How far the answer to a request has come.

use super::collecting::Place;
use std::num::NonZeroU16;
use unblink_core::dispatch::FlightId;
use unblink_core::failure::FailureKind;
use unblink_core::time::Instant;
use unblink_wire::protocol::Tag;
use unblink_workload::Kept;
use unblink_workload::answer::{Coding, EventFormat, EventReader, Expect, Missed, Redirects};

/// How far the answer to a flight has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heard {
    pub(super) first_byte: Option<Instant>,
    pub(super) operation: u32,
    /// How far a search over the pieces of a plain body has come.
    pub(super) matched: usize,
    /// Its headers are as they must be.
    pub(super) head_is_right: bool,
    /// They are also what a step waits for that asks again and again.
    pub(super) head_is_awaited: bool,
    /// Where values that are taken from it go: to the journey there.
    pub(super) place: Option<NonZeroU16>,
    /// What it says of itself; 0 until that is known.
    pub(super) code: u16,
    /// Its events, if they count.
    pub(super) events: Option<EventsHeard>,
    /// It sends its journey on: what asks there, or why that can't be.
    pub(super) sent_on: Option<Result<u32, FailureKind>>,
    /// Why a value in its head, or one that it tells by itself, can't be taken.
    pub(super) missed: Option<Missed>,
    /// A bit for each of what is taken that it has told by itself.
    pub(super) told: u64,
    pub(super) coding: Coding,
    /// Of a body that is looked at as a whole.
    pub(super) body: Option<Place>,
    /// There is more of it than may be looked at.
    pub(super) is_too_large: bool,
}

/// The events of an answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventsHeard {
    pub(super) format: EventFormat,
    pub(super) reader: EventReader,
    /// One has come.
    pub(super) is_any: bool,
}

impl Heard {
    /// The body is looked at as a whole, and not piece by piece.
    pub(super) fn is_collected(&self, expect: &Expect) -> bool {
        expect.collects_body() || self.coding != Coding::Plain
    }

    /// Why a value that is not looked for in its body was not taken. All of it has come.
    pub(super) fn missed(&self, expect: &Expect) -> Option<Missed> {
        let lacks =
            (0..).zip(&expect.captures).any(|(at, one)| one.capture.is_told() && self.told & bit(at) == 0);
        self.missed.or(lacks.then_some(Missed::Absent))
    }

    /// Where it sends its journey on: the path and query are kept for the request that follows.
    pub(super) fn send_on(
        &self,
        redirects: &Redirects,
        tag: Tag,
        head: &[u8],
        (kept, scratch): (&mut Kept, &mut Vec<u8>),
    ) -> Result<u32, FailureKind> {
        let followed = kept.rewrite((self.place, tag.0), redirects.kept, |went| {
            let operation = redirects.follow(self.code, head, went, scratch)?;
            std::mem::swap(went, scratch);
            Ok(operation)
        });
        // Of no journey, or of one that has given the request up: it is told all the same.
        followed.unwrap_or_else(|| redirects.follow(self.code, head, &[], scratch))
    }
}

/// Of what is taken from an answer. There are no more than 64 names in a plan.
pub(super) fn bit(at: u32) -> u64 {
    1u64.checked_shl(at).unwrap_or_default()
}

/// The tag of a flight's request.
#[inline]
pub(super) fn tag_of(flight: FlightId) -> Tag {
    Tag(u64::from(flight.generation) << 32 | u64::from(flight.slot))
}

#[inline]
pub(super) fn flight_of(Tag(tag): Tag) -> FlightId {
    FlightId { slot: tag as u32, generation: (tag >> 32) as u32 }
}
