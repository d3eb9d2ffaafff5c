//! Journeys with connections of their own, or that hold one of all.

use crate::arrival::Arrival;

/// Which journeys have connections of their own, or hold one of all.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OwnJourneys {
    /// A bit for each of them, by number.
    pub which: u64,
    /// Journeys under way in one worker at the most.
    pub under_way_max: u16,
}

impl OwnJourneys {
    /// The arrival is a request of such a journey.
    #[inline]
    pub fn has(&self, arrival: &Arrival) -> bool {
        arrival.journey().is_some_and(|journey| self.which >> journey & 1 == 1)
    }
}
