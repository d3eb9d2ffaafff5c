//! What the arrivals of a mix begin with.

use super::OwnJourneys;
use crate::arrival::Arrival;
use std::num::NonZeroU8;
use std::sync::Arc;

/// With which operation an entry of the mix begins, and as which journey.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Starts {
    plain: u32,
    firsts: Arc<[u32]>,
    own: Option<OwnJourneys>,
}

impl Default for Starts {
    /// Every entry is a request that stands alone.
    fn default() -> Starts {
        Starts { plain: u32::MAX, firsts: Arc::new([]), own: None }
    }
}

impl Starts {
    pub(super) fn new(plain: u32, firsts: Arc<[u32]>, own: Option<OwnJourneys>) -> Starts {
        Starts { plain, firsts, own }
    }

    #[inline]
    pub(crate) fn of(&self, entry: u32) -> (u32, Option<NonZeroU8>) {
        if entry < self.plain {
            return (entry, None);
        }
        let journey = entry - self.plain;
        (self.firsts[journey as usize], NonZeroU8::new(journey as u8 + 1))
    }

    /// Lines in which what starts waits, for each origin: requests that stand alone, journeys, and journeys with connections of
    /// their own.
    pub(crate) fn lines(&self) -> usize {
        match (self.firsts.is_empty(), self.own) {
            (true, _) => 1,
            (_, None) => 2,
            (_, Some(_)) => 3,
        }
    }

    /// In which of them an arrival waits.
    #[inline]
    pub(crate) fn line(&self, arrival: &Arrival) -> usize {
        match arrival.journey {
            None => 0,
            Some(_) if self.own.is_some_and(|own| own.has(arrival)) => 2,
            Some(_) => 1,
        }
    }
}
