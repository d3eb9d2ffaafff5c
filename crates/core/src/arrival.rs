//! A request that is to start at a given time, and what it asks for.

use crate::time::Instant;
use std::num::{NonZeroU8, NonZeroU16};

/// Bits of an arrival's number in the run that say of which unit it is. Units are far below, and a journey has fewer than
/// 2¹⁶ requests, whose numbers stand above these bits.
pub const UNIT_BITS: u32 = 48;

/// Of which unit of the load an arrival is. All that is drawn for it is a function of the run's seed and this.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Key {
    /// The number of the load, from 0.
    pub load: u32,
    /// Which of its arrivals, by number, whether it stands alone or is a journey; of a closed population, which user.
    pub unit: u64,
    /// Which request of the unit, from 0.
    pub step: u32,
}

impl Key {
    /// A request that stands alone.
    pub fn single(unit: u64) -> Key {
        Key { load: 0, unit, step: 0 }
    }
}

/// A request that is to start at `intended`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// Its number in the run, over all workers: no two have the same. Not in order of time.
    pub index: u64,
    /// What decides what it asks for.
    pub key: Key,
    /// Which operation it asks for.
    pub operation: u32,
    /// When it should start.
    pub intended: Instant,
    /// The first of a user of a closed population.
    pub begins: bool,
    /// Of which journey it is a request, counted from 1.
    pub journey: Option<NonZeroU8>,
    /// Where a worker keeps what it knows of the journey, counted from 1. None before the journey has begun.
    pub slot: Option<NonZeroU16>,
}

impl Arrival {
    /// One that stands alone.
    pub fn single(index: u64, operation: u32, intended: Instant) -> Arrival {
        Arrival { index, key: Key::single(index), operation, intended, ..Arrival::default() }
    }

    /// The number of its journey, from 0.
    #[inline]
    pub fn journey(&self) -> Option<usize> {
        self.journey.map(|number| usize::from(number.get()) - 1)
    }

    /// A later request of the journey that begins with this one: `step` come before it. When it is intended depends on what
    /// these bring.
    #[inline]
    pub fn following(&self, step: u32, operation: u32, intended: Instant) -> Arrival {
        let index = self.index & ((1 << UNIT_BITS) - 1) | u64::from(step) << UNIT_BITS;
        Arrival { index, key: Key { step, ..self.key }, operation, intended, ..*self }
    }

    /// It is the first request of a journey.
    #[inline]
    pub fn starts_journey(&self) -> bool {
        self.journey.is_some() && self.key.step == 0
    }

    /// It follows another request of its journey, and so is not in the schedule.
    #[inline]
    pub fn follows(&self) -> bool {
        self.journey.is_some() && self.key.step > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is known of journeys takes no room in the arrivals of others.
    #[test]
    fn an_arrival_is_small() {
        assert_eq!(size_of::<Arrival>(), 40);
    }
}
