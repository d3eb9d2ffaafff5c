//! Which connection is meant.

/// What a token of epoll holds of a connection's number.
const SLOT_BITS: u32 = 24;
const LANE_BITS: u32 = 4;

/// Names a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub(super) lane: usize,
    pub(super) slot: usize,
    pub(super) generation: u32,
}

impl Place {
    pub(super) fn token(self) -> u64 {
        let low = (self.lane as u64) << SLOT_BITS | self.slot as u64;
        u64::from(self.generation) << (SLOT_BITS + LANE_BITS) | low
    }

    pub(super) fn of_token(token: u64) -> Place {
        let part = |from: u32, bits: u32| token >> from & ((1 << bits) - 1);
        Place {
            lane: part(SLOT_BITS, LANE_BITS) as usize,
            slot: part(0, SLOT_BITS) as usize,
            generation: (token >> (SLOT_BITS + LANE_BITS)) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_names_its_connection() {
        for place in [
            Place { lane: 0, slot: 0, generation: 0 },
            Place { lane: 2, slot: 16_000_000, generation: 3 },
            Place { lane: 1, slot: 1, generation: u32::MAX },
        ] {
            assert_eq!(Place::of_token(place.token()), place);
            assert!(place.token() < crate::pace::CONTROL_TOKEN);
        }
    }
}
