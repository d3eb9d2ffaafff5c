//! A request that is to start at a given time, and what it asks for.

use crate::time::Instant;

/// Of which unit of the load an arrival is. All that is drawn for it is a function of the run's seed and this.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Key {
    /// The number of the load, from 0.
    pub load: u32,
    /// Which of its requests that stand alone, by number; of a closed population, which user.
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
}

impl Arrival {
    /// One that stands alone.
    pub fn single(index: u64, operation: u32, intended: Instant) -> Arrival {
        Arrival { index, key: Key::single(index), operation, intended, begins: false }
    }
}
