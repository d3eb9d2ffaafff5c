//! Places for journeys under way.

use crate::arrival::Arrival;
use crate::time::Instant;
use std::num::NonZeroU16;

/// What is known of a journey under way.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    /// When the journey was to start.
    pub(super) intended: Instant,
    /// At which step it is, and how many of that step's requests are still to come.
    pub(super) step: u16,
    pub(super) left: u16,
    /// How often the answers to this one have sent it on.
    pub(super) redirects: u8,
    /// When the step's first request was to start.
    pub(super) since: Instant,
    /// None of the step's requests has ended.
    pub(super) is_fresh: bool,
    /// While it thinks: its next request.
    pub(super) next: Arrival,
}

/// Places for journeys, the first of which has the number 1.
#[derive(Clone, Debug)]
pub(super) struct Slots {
    each: Vec<Slot>,
    free: Vec<NonZeroU16>,
    /// Since when a place has been free.
    pub(super) free_since: Instant,
}

impl Slots {
    pub(super) fn new(max: usize) -> Slots {
        let free = (1..=max as u16).rev().filter_map(NonZeroU16::new).collect();
        Slots { each: vec![Slot::default(); max], free, free_since: Instant(0) }
    }

    pub(super) fn is_free(&self) -> bool {
        !self.free.is_empty()
    }

    pub(super) fn get(&self, number: NonZeroU16) -> &Slot {
        &self.each[usize::from(number.get()) - 1]
    }

    pub(super) fn get_mut(&mut self, number: NonZeroU16) -> &mut Slot {
        &mut self.each[usize::from(number.get()) - 1]
    }

    pub(super) fn release(&mut self, number: NonZeroU16, now: Instant) {
        if self.free.is_empty() {
            self.free_since = now;
        }
        self.free.push(number);
    }

    /// Takes a free place.
    pub(super) fn take(&mut self) -> Option<NonZeroU16> {
        self.free.pop()
    }

    /// The place that is taken next.
    pub(super) fn first_free(&self) -> Option<NonZeroU16> {
        self.free.last().copied()
    }

    /// Every place is free.
    pub(super) fn are_all_free(&self) -> bool {
        self.free.len() == self.each.len()
    }
}
