//! What is under way on a connection, by number. Memory grows only when more is under way than ever before: a place that was left
//! is as good as one that was never taken, which is not so in a table of the standard library.

/// Values by their keys.
#[derive(Debug)]
pub(crate) struct Keyed<T> {
    /// Where the entry of a key is: its place from 1 on, or 0. Searched from the key's own slot up to the first that is free. A power of
    /// two, and at least twice as many as there are entries.
    slots: Vec<u32>,
    entries: Vec<(u64, T)>,
}

impl<T> Keyed<T> {
    /// With room for so many.
    pub(crate) fn with_room(entries: usize) -> Keyed<T> {
        let slots = (2 * entries.max(4)).next_power_of_two();
        Keyed { slots: vec![0; slots], entries: Vec::with_capacity(entries) }
    }

    fn slot_of(&self, key: u64) -> usize {
        // Spread by 2^64 divided by the golden ratio (Knuth, The Art of Computer Programming, vol. 3, 6.4).
        (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & (self.slots.len() - 1)
    }

    fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.slots.len() - 1)
    }

    /// The slot and the place of a key.
    fn find(&self, key: u64) -> Option<(usize, usize)> {
        let mut slot = self.slot_of(key);
        while let Some(place) = (self.slots[slot] as usize).checked_sub(1) {
            if self.entries[place].0 == key {
                return Some((slot, place));
            }
            slot = self.after(slot);
        }
        None
    }

    pub(crate) fn get_mut(&mut self, key: impl Into<u64>) -> Option<&mut T> {
        let (_, place) = self.find(key.into())?;
        Some(&mut self.entries[place].1)
    }

    /// Adds a value, or puts it in the place of the key's last one.
    pub(crate) fn insert(&mut self, key: impl Into<u64>, value: T) {
        let key = key.into();
        if let Some((_, place)) = self.find(key) {
            self.entries[place].1 = value;
            return;
        }
        self.entries.push((key, value));
        if 2 * self.entries.len() > self.slots.len() {
            let more = 2 * self.slots.len();
            self.slots.clear();
            self.slots.resize(more, 0);
            (0..self.entries.len()).for_each(|place| self.take_slot(place));
        } else {
            self.take_slot(self.entries.len() - 1);
        }
    }

    fn take_slot(&mut self, place: usize) {
        let mut slot = self.slot_of(self.entries[place].0);
        while self.slots[slot] != 0 {
            slot = self.after(slot);
        }
        self.slots[slot] = place as u32 + 1;
    }

    pub(crate) fn remove(&mut self, key: impl Into<u64>) -> Option<T> {
        let (mut free, place) = self.find(key.into())?;
        // Those behind that would not be found across the free slot move up (Knuth, 6.4, algorithm R).
        let mut slot = self.after(free);
        while let Some(there) = (self.slots[slot] as usize).checked_sub(1) {
            let own = self.slot_of(self.entries[there].0);
            let distance = |from: usize| slot.wrapping_sub(from) & (self.slots.len() - 1);
            if distance(own) >= distance(free) {
                self.slots[free] = self.slots[slot];
                free = slot;
            }
            slot = self.after(slot);
        }
        self.slots[free] = 0;
        // The last entry takes the place.
        let last = self.entries.len() - 1;
        if let Some((slot, _)) = (place != last).then(|| self.find(self.entries[last].0)).flatten() {
            self.slots[slot] = place as u32 + 1;
        }
        Some(self.entries.swap_remove(place).1)
    }

    /// Removes what `is` is true of, and hands it to `take`.
    pub(crate) fn extract(&mut self, is: impl Fn(u64) -> bool, mut take: impl FnMut(u64, T)) {
        let mut place = 0;
        while let Some(&(key, _)) = self.entries.get(place) {
            match is(key).then(|| self.remove(key)).flatten() {
                Some(value) => take(key, value),
                None => place += 1,
            }
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.entries.iter().map(|(key, value)| (*key, value))
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut T)> {
        self.entries.iter_mut().map(|(key, value)| (*key, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #[test]
        fn it_is_a_map(steps in prop::collection::vec((0u8..4, 0u64..40), 0..400), stride in 1u64..1 << 40) {
            let (mut ours, mut map) = (Keyed::with_room(0), HashMap::new());
            for (i, (what, key)) in steps.into_iter().enumerate() {
                let key = key * stride;
                match what {
                    0 | 1 => {
                        ours.insert(key, i);
                        map.insert(key, i);
                    }
                    2 => prop_assert_eq!(ours.remove(key), map.remove(&key)),
                    _ => {
                        let mut taken = HashMap::new();
                        ours.extract(|k| k > key, |k, value| { taken.insert(k, value); });
                        let theirs: HashMap<u64, usize> = map.extract_if(|&k, _| k > key).collect();
                        prop_assert_eq!(taken, theirs);
                    }
                }
                prop_assert_eq!(ours.get_mut(key), map.get_mut(&key));
                let all: HashMap<u64, usize> = ours.iter().map(|(k, &value)| (k, value)).collect();
                prop_assert_eq!(&all, &map);
            }
        }
    }

    #[test]
    fn memory_does_not_grow_while_no_more_are_under_way() {
        for (room, under_way) in [(100, 100), (0, 20), (3, 7)] {
            let mut keyed = Keyed::with_room(room);
            (0..under_way).for_each(|key| keyed.insert(key, ()));
            let memory = |keyed: &Keyed<()>| (keyed.slots.capacity(), keyed.slots.len());
            let before = memory(&keyed);
            for key in under_way..100_000u64 {
                assert_eq!(keyed.remove(key - under_way), Some(()));
                keyed.insert(key, ());
            }
            assert_eq!(memory(&keyed), before);
        }
    }
}
