//! Recognises a head that has been read before.
//!
//! A server under load sends nearly the same head thousands of times a second: it changes with `Date`, once
//! a second. What a head means depends on its bytes alone, so that equal bytes need no second reading. A head
//! with anything in it that differs from one answer to the next is simply read each time.

use crate::head::Head;

/// Longer heads are read anew each time.
const BYTES_MAX: usize = 2048;

/// The last head that was read. Share one among the connections whose answers are alike: the answers to one
/// request, say. It never allocates after it has been made.
#[derive(Clone, Debug)]
pub struct LastHead {
    bytes: Vec<u8>,
    /// The limit under which it was read.
    headers_max: usize,
    head: Option<Head>,
}

impl LastHead {
    /// Nothing yet, with room for a head.
    pub fn new() -> LastHead {
        LastHead { bytes: Vec::with_capacity(BYTES_MAX), headers_max: 0, head: None }
    }

    /// Remembers nothing, ever, and takes no memory.
    pub(crate) const fn none() -> LastHead {
        LastHead { bytes: Vec::new(), headers_max: 0, head: None }
    }

    /// What the head at the beginning of `window` says, if it is the last one again.
    #[inline]
    pub(crate) fn recall(&self, window: &[u8], headers_max: usize) -> Option<Head> {
        let head = self.head?;
        (self.headers_max == headers_max && window.starts_with(&self.bytes)).then_some(head)
    }

    /// `bytes`, all of a head, read as `head`.
    pub(crate) fn learn(&mut self, bytes: &[u8], head: Head, headers_max: usize) {
        if bytes.len() <= self.bytes.capacity() {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            (self.headers_max, self.head) = (headers_max, Some(head));
        }
    }
}

impl Default for LastHead {
    fn default() -> LastHead {
        LastHead::new()
    }
}
