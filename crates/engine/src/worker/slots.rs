//! The connections of a worker, by the names that its dispatcher has for them.

use unblink_core::dispatch::ConnId;

/// Bits of an event's token that say which origin it is of: there are eight at most.
const ORIGIN_BITS: u32 = 3;
/// Bits that say which slot.
const SLOT_BITS: u32 = 32 - ORIGIN_BITS;

/// The token by which the kernel reports events of a connection.
pub(super) fn token_of(id: ConnId) -> u64 {
    u64::from(id.generation) << 32 | u64::from(id.origin) << SLOT_BITS | u64::from(id.slot)
}

/// The connection that has this token.
#[inline]
pub(super) fn id_of(token: u64) -> ConnId {
    let low = token as u32;
    ConnId {
        origin: (low >> SLOT_BITS) as u8,
        slot: low & ((1 << SLOT_BITS) - 1),
        generation: (token >> 32) as u32,
    }
}

/// A place for each connection. Those of all origins lie side by side, the first of each, then the second, and so on.
pub(super) struct Slots<T> {
    places: Vec<Option<T>>,
    origins: usize,
}

impl<T> Slots<T> {
    /// Room for `max` connections to so many origins.
    pub(super) fn new(origins: usize, max: usize) -> Slots<T> {
        let mut places = Vec::new();
        places.reserve_exact(max);
        Slots { places, origins }
    }

    #[inline]
    fn place(&self, id: ConnId) -> usize {
        id.slot as usize * self.origins + usize::from(id.origin)
    }

    pub(super) fn put(&mut self, id: ConnId, value: T) {
        let place = self.place(id);
        if self.places.len() <= place {
            self.places.resize_with(place + 1, || None);
        }
        self.places[place] = Some(value);
    }

    #[inline]
    pub(super) fn get_mut(&mut self, id: ConnId) -> Option<&mut T> {
        let place = self.place(id);
        self.places.get_mut(place)?.as_mut()
    }

    /// Takes the connection away if it is the one that is meant.
    pub(super) fn take_if(&mut self, id: ConnId, is_meant: impl FnOnce(&T) -> bool) -> Option<T> {
        let place = self.place(id);
        self.places.get_mut(place)?.take_if(|value| is_meant(value))
    }

    /// Each with the number of its origin.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &T)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(place, value)| Some((place % self.origins, value.as_ref()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_lead_back_to_their_connections() {
        for (origin, slot, generation) in [(0, 0, 0), (7, (1 << SLOT_BITS) - 1, u32::MAX), (3, 12, 5)] {
            let id = ConnId { origin, slot, generation };
            assert_eq!(id_of(token_of(id)), id);
        }
    }

    #[test]
    fn connections_of_several_origins_keep_apart() {
        let mut slots = Slots::new(3, 6);
        let id = |origin, slot| ConnId { origin, slot, generation: 0 };
        for (origin, slot) in [(2, 1), (0, 0), (1, 1), (2, 0)] {
            slots.put(id(origin, slot), (origin, slot));
        }
        assert_eq!(slots.get_mut(id(2, 1)), Some(&mut (2, 1)));
        assert_eq!(slots.get_mut(id(0, 1)), None);
        assert_eq!(slots.take_if(id(1, 1), |_| false), None);
        assert_eq!(slots.take_if(id(1, 1), |_| true), Some((1, 1)));
        assert!(slots.iter().all(|(origin, value)| origin == usize::from(value.0)));
        assert_eq!(slots.iter().count(), 3);
    }
}
