//! Recognises a head that has been read before.
//!
//! A server under load sends nearly the same head thousands of times a second: it changes with `Date`, once
//! a second. What a head means depends on its bytes, the kind of request and the limits alone, so that equal bytes need
//! no second reading. A head with anything in it that differs from one answer to the next is simply read each time.

use crate::Limits;
use crate::body::Body;
use crate::head::RequestKind;
use crate::response::Response;

/// Longer heads are read anew each time.
const BYTES_MAX: usize = 2048;

/// What the final head of an answer leads to.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known {
    /// The answer so far: with the bytes of this head, and none of the body.
    pub(crate) response: Response,
    /// The body that follows, if there is one.
    pub(crate) body: Option<Body>,
}

/// The last final head that was read. Share one among the connections whose answers are alike: the answers to one
/// request, say. It never allocates after it has been made.
#[derive(Clone, Debug)]
pub struct LastHead {
    bytes: Vec<u8>,
    /// To which kind of request it was the answer, and the limits under which it was read.
    read_as: (RequestKind, Limits),
    known: Option<Known>,
}

impl LastHead {
    /// Nothing yet, with room for a head.
    pub fn new() -> LastHead {
        LastHead { bytes: Vec::with_capacity(BYTES_MAX), ..LastHead::none() }
    }

    /// Remembers nothing, ever, and takes no memory.
    pub(crate) const fn none() -> LastHead {
        let limits = Limits { head_bytes_max: 0, headers_max: 0, body_bytes_max: 0 };
        LastHead { bytes: Vec::new(), read_as: (RequestKind::Normal, limits), known: None }
    }

    /// What the head at the beginning of `bytes` leads to, if it is the last one again.
    #[inline]
    pub(crate) fn recall(&self, bytes: &[u8], kind: RequestKind, limits: &Limits) -> Option<&Known> {
        let known = self.known.as_ref()?;
        let is_alike = self.read_as.0 == kind && self.read_as.1 == *limits;
        (is_alike && bytes.starts_with(&self.bytes)).then_some(known)
    }

    /// `bytes` are all of a head, and read as this. They begin with its status line.
    pub(crate) fn learn(&mut self, bytes: &[u8], kind: RequestKind, limits: &Limits, known: Known) {
        if bytes.len() <= self.bytes.capacity() {
            self.bytes.clear();
            self.bytes.extend_from_slice(bytes);
            (self.read_as, self.known) = ((kind, *limits), Some(known));
        }
    }
}

impl Default for LastHead {
    fn default() -> LastHead {
        LastHead::new()
    }
}
