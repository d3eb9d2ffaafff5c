//! Up to when inserts have ended, as the journeys of a worker know it.

use crate::inserted::Inserted;
use unblink_core::arrival::{Arrival, Key};
use unblink_core::time::Nanos;

/// A journey goes on with what it began with, or its requests would not agree on the newest key.
#[derive(Debug, Default)]
pub(crate) struct Frozen {
    /// By place of a journey under way: for which journey something was drawn there last, by load and unit, and up to when inserts
    /// had ended at its first draw.
    places: Box<[Option<(u32, u64, Nanos)>]>,
}

impl Frozen {
    /// For so many journeys under way.
    pub(crate) fn new(journeys: usize) -> Frozen {
        Frozen { places: vec![None; journeys].into() }
    }

    /// Up to when inserts have ended for `arrival`. Allocates nothing.
    #[inline]
    pub(crate) fn until(&mut self, inserted: &Inserted, arrival: &Arrival) -> Nanos {
        let place = arrival.slot.filter(|_| arrival.journey.is_some());
        let Some(place) = place.and_then(|slot| self.places.get_mut(usize::from(slot.get()) - 1)) else {
            return inserted.until();
        };
        let Key { load, unit, .. } = arrival.key;
        match *place {
            Some((of_load, of_unit, until)) if (of_load, of_unit) == (load, unit) => until,
            _ => {
                let until = inserted.until();
                *place = Some((load, unit, until));
                until
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::{NonZeroU8, NonZeroU16};
    use unblink_core::time::Instant;

    #[test]
    fn a_journey_goes_on_with_what_it_began_with() {
        let (inserted, mut frozen) = (Inserted::new(&[0], 1), Frozen::new(2));
        let of = |unit, slot| Arrival {
            journey: NonZeroU8::new(1),
            slot: NonZeroU16::new(slot),
            ..Arrival::single(unit, 1, Instant(0))
        };
        inserted.ended(0, Nanos(5));
        assert_eq!(frozen.until(&inserted, &of(7, 1)), Nanos(5));
        inserted.ended(0, Nanos(9));
        let later = of(7, 1).following(1, 2, Instant(3));
        assert_eq!(frozen.until(&inserted, &later), Nanos(5));
        assert_eq!(frozen.until(&inserted, &of(8, 2)), Nanos(9));
        // The place is another's now, and what is none of a journey follows the inserts.
        assert_eq!(frozen.until(&inserted, &of(9, 1)), Nanos(9));
        inserted.ended(0, Nanos(12));
        assert_eq!(frozen.until(&inserted, &Arrival::single(7, 0, Instant(0))), Nanos(12));
    }
}
