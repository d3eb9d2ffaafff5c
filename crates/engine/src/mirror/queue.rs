//! From the sink to the asker: copies, in bounds that hold until their pairs have ended.

use super::NotCopied;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use unblink_core::time::Instant;
use unblink_wire::Whole;

/// A request to be sent to every target.
#[derive(Debug)]
pub(super) struct Outgoing {
    pub(super) bytes: Box<[u8]>,
    pub(super) whole: Whole,
    /// It may be sent a second time, for it changes nothing.
    pub(super) is_safe: bool,
    pub(super) operation: u32,
    /// When the sink had answered it.
    pub(super) at: Instant,
}

/// Room that a copy has until its pair has ended.
#[derive(Debug)]
pub(super) struct Queue {
    pairs_max: usize,
    bytes_max: usize,
    pairs: AtomicUsize,
    bytes: AtomicUsize,
    copies: Mutex<VecDeque<Outgoing>>,
}

impl Queue {
    pub(super) fn new(pairs_max: usize, bytes_max: usize) -> Queue {
        let (pairs, bytes) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Queue { pairs_max, bytes_max, pairs, bytes, copies: Mutex::default() }
    }

    /// Takes room for a pair of so many bytes. Only the sink takes.
    pub(super) fn take_room(&self, bytes: usize) -> Result<(), NotCopied> {
        if self.pairs.load(Ordering::Acquire) >= self.pairs_max {
            return Err(NotCopied::QueueFull);
        }
        if self.bytes.load(Ordering::Acquire) + bytes > self.bytes_max {
            return Err(NotCopied::BytesFull);
        }
        self.pairs.fetch_add(1, Ordering::AcqRel);
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        Ok(())
    }

    /// The pair has ended.
    pub(super) fn give_room(&self, bytes: usize) {
        self.pairs.fetch_sub(1, Ordering::AcqRel);
        self.bytes.fetch_sub(bytes, Ordering::AcqRel);
    }

    /// Pairs that have begun and not ended.
    pub(super) fn open(&self) -> usize {
        self.pairs.load(Ordering::Acquire)
    }

    /// Hands copies over. True if whoever takes them may be asleep.
    pub(super) fn push(&self, new: &mut Vec<Outgoing>) -> bool {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let was_empty = copies.is_empty();
        copies.extend(new.drain(..));
        was_empty && !copies.is_empty()
    }

    /// Takes all that there are.
    pub(super) fn drain(&self, into: &mut VecDeque<Outgoing>) {
        let mut copies = self.copies.lock().unwrap_or_else(PoisonError::into_inner);
        into.append(&mut copies);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_is_by_number_and_by_bytes_and_comes_back() {
        let queue = Queue::new(2, 100);
        assert_eq!(queue.take_room(101), Err(NotCopied::BytesFull));
        assert_eq!(queue.take_room(60), Ok(()));
        assert_eq!(queue.take_room(41), Err(NotCopied::BytesFull));
        assert_eq!(queue.take_room(40), Ok(()));
        assert_eq!(queue.take_room(0), Err(NotCopied::QueueFull));
        queue.give_room(60);
        assert_eq!((queue.open(), queue.take_room(60)), (1, Ok(())));
    }
}
