//! A line of bounded length, first in first out.

/// Holds no more than it was made for: whoever pushes must know that there is room. `VecDeque` could grow, so that the compiler
/// makes a call of each push.
#[derive(Clone, Debug)]
pub(super) struct Ring<T> {
    slots: Box<[T]>,
    head: usize,
    len: usize,
}

impl<T: Copy + Default> Ring<T> {
    pub(super) fn new(most: usize) -> Ring<T> {
        Ring { slots: vec![T::default(); most].into(), head: 0, len: 0 }
    }

    /// How many it has room for.
    pub(super) fn most(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(super) fn front(&self) -> Option<&T> {
        if self.len > 0 { self.slots.get(self.head) } else { None }
    }

    /// # Panics
    /// It is full.
    #[inline(always)]
    pub(super) fn push(&mut self, value: T) {
        assert!(self.len < self.slots.len(), "more than it was made for");
        let place = self.wrapped(self.head + self.len);
        self.slots[place] = value;
        self.len += 1;
    }

    #[inline(always)]
    pub(super) fn pop(&mut self) -> Option<T> {
        let value = *self.front()?;
        self.head = self.wrapped(self.head + 1);
        self.len -= 1;
        Some(value)
    }

    #[inline(always)]
    fn wrapped(&self, place: usize) -> usize {
        if place >= self.slots.len() { place - self.slots.len() } else { place }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::mixed;
    use std::collections::VecDeque;

    #[test]
    fn it_is_a_queue() {
        for most in 1..9 {
            let (mut ring, mut queue) = (Ring::new(most), VecDeque::new());
            for value in 0..1_000 {
                if queue.len() < most && mixed(value).is_multiple_of(2) {
                    ring.push(value);
                    queue.push_back(value);
                } else {
                    assert_eq!(ring.pop(), queue.pop_front());
                }
                assert_eq!((ring.front(), ring.most()), (queue.front(), most));
            }
        }
        assert_eq!(Ring::<u8>::new(0).pop(), None);
    }
}
