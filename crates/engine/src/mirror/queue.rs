//! From the sink to the asker: copies, in bounds that hold until their pairs have ended.

use super::NotCopied;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
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
    requests_max: u64,
    pairs: AtomicUsize,
    bytes: AtomicUsize,
    /// Requests that are sent or will be, to all targets.
    requests: AtomicU64,
    copies: Mutex<VecDeque<Outgoing>>,
}

impl Queue {
    /// With room for so many pairs and bytes of them; no more requests than `requests_max` are ever sent.
    pub(super) fn new(pairs_max: usize, bytes_max: usize, requests_max: u64) -> Queue {
        let (pairs, bytes, requests) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicU64::new(0));
        Queue { pairs_max, bytes_max, requests_max, pairs, bytes, requests, copies: Mutex::default() }
    }

    /// Takes room for a pair of so many bytes and requests, while as many bytes are `held` of others that are not whole. Only
    /// the sink takes.
    pub(super) fn take_room(&self, bytes: usize, held: usize, requests: u64) -> Result<(), NotCopied> {
        if self.pairs.load(Ordering::Acquire) >= self.pairs_max {
            return Err(NotCopied::QueueFull);
        }
        if !self.has_room(bytes.saturating_add(held)) {
            return Err(NotCopied::BytesFull);
        }
        if !self.spend(requests) {
            return Err(NotCopied::OverBudget);
        }
        self.pairs.fetch_add(1, Ordering::AcqRel);
        self.bytes.fetch_add(bytes, Ordering::AcqRel);
        Ok(())
    }

    /// Is there room for so many bytes more?
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.bytes.load(Ordering::Acquire).saturating_add(bytes) <= self.bytes_max
    }

    /// Takes so many requests from the budget, if it has them.
    pub(super) fn spend(&self, requests: u64) -> bool {
        let left = |spent: u64| spent.checked_add(requests).filter(|&spent| spent <= self.requests_max);
        self.requests.fetch_update(Ordering::AcqRel, Ordering::Acquire, left).is_ok()
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
        let queue = Queue::new(2, 100, u64::MAX);
        assert_eq!(queue.take_room(101, 0, 2), Err(NotCopied::BytesFull));
        assert_eq!(queue.take_room(60, 0, 2), Ok(()));
        assert_eq!(queue.take_room(41, 0, 2), Err(NotCopied::BytesFull));
        assert_eq!(queue.take_room(40, 1, 2), Err(NotCopied::BytesFull));
        assert_eq!(queue.take_room(40, 0, 2), Ok(()));
        assert_eq!(queue.take_room(0, 0, 2), Err(NotCopied::QueueFull));
        queue.give_room(60);
        assert_eq!((queue.open(), queue.take_room(60, 0, 2)), (1, Ok(())));
    }

    #[test]
    fn a_budget_is_never_exceeded_and_never_comes_back() {
        let queue = Queue::new(10, 100, 5);
        assert_eq!((queue.take_room(1, 0, 2), queue.take_room(1, 0, 2)), (Ok(()), Ok(())));
        queue.give_room(1);
        assert_eq!((queue.take_room(1, 0, 2), queue.open()), (Err(NotCopied::OverBudget), 1));
        assert!(queue.spend(1) && !queue.spend(1));
    }
}
