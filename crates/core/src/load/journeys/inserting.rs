//! Journeys under way that are yet to insert a key, in the order in which they were to start.

use crate::time::Instant;
use std::num::NonZeroU16;

/// A list of places of journeys, which is written into an array: nothing is allocated while a load goes on.
#[derive(Clone, Debug)]
pub(super) struct Inserting {
    /// By place; the first one is the list's own, in front of its head and behind its tail.
    links: Box<[Link]>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Link {
    intended: Instant,
    before: u16,
    behind: u16,
    is_in: bool,
}

impl Inserting {
    /// For so many journeys under way.
    pub(super) fn new(max: usize) -> Inserting {
        Inserting { links: vec![Link::default(); max + 1].into() }
    }

    /// The journey at this place, which is not in the list, was to start at `intended`. Journeys start nearly in the order in
    /// which they were to, so the place is near the tail.
    pub(super) fn add(&mut self, place: NonZeroU16, intended: Instant) {
        let mut before = self.links[0].before;
        while before != 0 && self.links[usize::from(before)].intended > intended {
            before = self.links[usize::from(before)].before;
        }
        let behind = std::mem::replace(&mut self.links[usize::from(before)].behind, place.get());
        self.links[usize::from(behind)].before = place.get();
        self.links[usize::from(place.get())] = Link { intended, before, behind, is_in: true };
    }

    /// That one has inserted, or never will. Nothing happens if it is not in the list.
    #[inline]
    pub(super) fn remove(&mut self, place: NonZeroU16) {
        let Some(link) = self.links.get_mut(usize::from(place.get())).filter(|link| link.is_in) else {
            return;
        };
        let Link { before, behind, .. } = std::mem::take(link);
        self.links[usize::from(before)].behind = behind;
        self.links[usize::from(behind)].before = before;
    }

    /// When the first of them was to start.
    pub(super) fn first(&self) -> Option<Instant> {
        let first = self.links[0].behind;
        (first != 0).then(|| self.links[usize::from(first)].intended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_is_the_one_that_was_to_start_first() {
        let mut list = Inserting::new(4);
        let place = |n| NonZeroU16::new(n).unwrap();
        let mut known: Vec<(u16, u64)> = Vec::new();
        let mut seed = 7;
        for _ in 0..10_000 {
            seed = crate::random::mixed(seed);
            let (number, at) = ((seed % 4) as u16 + 1, seed >> 60);
            match known.iter().position(|(known, _)| *known == number) {
                Some(at) => {
                    known.remove(at);
                    list.remove(place(number));
                }
                None => {
                    known.push((number, at));
                    list.add(place(number), Instant(at));
                }
            }
            assert_eq!(list.first(), known.iter().map(|(_, at)| Instant(*at)).min());
        }
        list.remove(place(1));
        list.remove(place(1));
    }
}
