//! Entries with generations, and doubly linked lists through them. Nothing is allocated while there are no more entries
//! than there have been before.

use std::ops::{Index, IndexMut};

/// No entry.
pub(super) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Links {
    prev: u32,
    next: u32,
}

#[derive(Debug)]
struct Entry<T, const LISTS: usize> {
    /// How many tenants this place had before.
    generation: u32,
    is_taken: bool,
    links: [Links; LISTS],
    value: T,
}

/// Places for values. Each may be on `LISTS` lists at once, one for each of its pairs of links.
#[derive(Debug)]
pub(super) struct Arena<T, const LISTS: usize> {
    entries: Vec<Entry<T, LISTS>>,
    /// The place that became free last. Each free place leads, by its first links, to the one that became free before
    /// it.
    free: u32,
}

/// A list through the entries of an arena, by one of their pairs of links. An entry can be on only one of the lists
/// that use the same pair.
#[derive(Clone, Copy, Debug)]
pub(super) struct List<const LINKS: usize> {
    pub(super) head: u32,
    pub(super) tail: u32,
    pub(super) len: u32,
}

impl<const LINKS: usize> List<LINKS> {
    pub(super) const EMPTY: List<LINKS> = List { head: NONE, tail: NONE, len: 0 };

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl<T, const LISTS: usize> Arena<T, LISTS> {
    /// Room for `max` entries. The memory is reserved at once, and is touched only as entries are made.
    pub(super) fn new(max: usize) -> Arena<T, LISTS> {
        Arena { entries: Vec::with_capacity(max), free: NONE }
    }

    /// The place of a new entry: the one that became free last, or else the lowest that was never taken.
    #[inline]
    pub(super) fn take(&mut self, value: T) -> u32 {
        self.take_by(|| value).0
    }

    /// The same of a value that is made where it will lie. Its generation, too.
    #[inline(always)]
    pub(super) fn take_by(&mut self, value: impl FnOnce() -> T) -> (u32, u32) {
        let Some(entry) = self.entries.get_mut(self.free as usize) else {
            let links = [Links { prev: NONE, next: NONE }; LISTS];
            self.entries.push(Entry { generation: 0, is_taken: true, links, value: value() });
            return (self.entries.len() as u32 - 1, 0);
        };
        entry.is_taken = true;
        entry.value = value();
        (std::mem::replace(&mut self.free, entry.links[0].next), entry.generation)
    }

    /// The entry must be on no list.
    #[inline]
    pub(super) fn release(&mut self, slot: u32) {
        let entry = &mut self.entries[slot as usize];
        entry.generation = entry.generation.wrapping_add(1);
        entry.is_taken = false;
        entry.links[0].next = self.free;
        self.free = slot;
    }

    /// The number of places that were ever taken.
    pub(super) fn len(&self) -> u32 {
        self.entries.len() as u32
    }

    pub(super) fn is_taken(&self, slot: u32) -> bool {
        self.entries[slot as usize].is_taken
    }

    #[inline]
    pub(super) fn generation(&self, slot: u32) -> u32 {
        self.entries[slot as usize].generation
    }

    /// Whether this tenant is still there.
    #[inline]
    pub(super) fn holds(&self, slot: u32, generation: u32) -> bool {
        self.entries.get(slot as usize).is_some_and(|entry| entry.is_taken && entry.generation == generation)
    }

    /// The value of this tenant, if it is still there.
    #[inline]
    pub(super) fn tenant_mut(&mut self, slot: u32, generation: u32) -> Option<&mut T> {
        let entry = self.entries.get_mut(slot as usize)?;
        (entry.is_taken && entry.generation == generation).then_some(&mut entry.value)
    }

    #[inline]
    pub(super) fn prev<const L: usize>(&self, _: &List<L>, slot: u32) -> u32 {
        self.entries[slot as usize].links[L].prev
    }

    pub(super) fn next<const L: usize>(&self, _: &List<L>, slot: u32) -> u32 {
        self.entries[slot as usize].links[L].next
    }

    /// The contents of up to `n` places, spread evenly over all of them.
    pub(super) fn spread(&self, n: usize) -> impl Iterator<Item = &T> {
        let (all, n) = (self.entries.len(), n.min(self.entries.len()));
        let places = (0..n).map(move |i| &self.entries[i * all / n]);
        places.filter(|entry| entry.is_taken).map(|entry| &entry.value)
    }

    #[inline]
    pub(super) fn push_front<const L: usize>(&mut self, list: &mut List<L>, slot: u32) {
        // Where the entries lie is looked up once: the compiler can't tell that nothing that is written here says it.
        let entries = self.entries.as_mut_slice();
        let next = list.head;
        entries[slot as usize].links[L] = Links { prev: NONE, next };
        match next {
            NONE => list.tail = slot,
            _ => entries[next as usize].links[L].prev = slot,
        }
        list.head = slot;
        list.len += 1;
    }

    #[inline]
    pub(super) fn push_back<const L: usize>(&mut self, list: &mut List<L>, slot: u32) {
        let entries = self.entries.as_mut_slice();
        let prev = list.tail;
        entries[slot as usize].links[L] = Links { prev, next: NONE };
        match prev {
            NONE => list.head = slot,
            _ => entries[prev as usize].links[L].next = slot,
        }
        list.tail = slot;
        list.len += 1;
    }

    /// Puts `slot` behind `prev`, or at the front if `prev` is [`NONE`].
    #[inline]
    pub(super) fn insert_after<const L: usize>(&mut self, list: &mut List<L>, prev: u32, slot: u32) {
        if prev == list.tail {
            return self.push_back(list, slot);
        }
        if prev == NONE {
            return self.push_front(list, slot);
        }
        let next = self.entries[prev as usize].links[L].next;
        self.entries[slot as usize].links[L] = Links { prev, next };
        self.entries[prev as usize].links[L].next = slot;
        self.entries[next as usize].links[L].prev = slot;
        list.len += 1;
    }

    #[inline]
    pub(super) fn unlink<const L: usize>(&mut self, list: &mut List<L>, slot: u32) {
        // The flights of a connection that takes one at a time.
        if list.len == 1 {
            debug_assert!(list.head == slot);
            *list = List::EMPTY;
            return;
        }
        let entries = self.entries.as_mut_slice();
        let Links { prev, next } = entries[slot as usize].links[L];
        match prev {
            NONE => list.head = next,
            _ => entries[prev as usize].links[L].next = next,
        }
        match next {
            NONE => list.tail = prev,
            _ => entries[next as usize].links[L].prev = prev,
        }
        list.len -= 1;
    }
}

impl<T, const LISTS: usize> Index<u32> for Arena<T, LISTS> {
    type Output = T;

    #[inline]
    fn index(&self, slot: u32) -> &T {
        &self.entries[slot as usize].value
    }
}

impl<T, const LISTS: usize> IndexMut<u32> for Arena<T, LISTS> {
    #[inline]
    fn index_mut(&mut self, slot: u32) -> &mut T {
        &mut self.entries[slot as usize].value
    }
}
