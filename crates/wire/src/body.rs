//! Follows a body to its end in any framing; its bytes are handed on in slices and never kept.

use crate::chunked::Chunked;
use crate::head::Framing;
use crate::{Limits, ProtocolError};

/// A body that is being received.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// Bytes still to come, at least 1.
    Length(u64),
    Chunked(Chunked),
    UntilClose,
}

impl Body {
    /// The reader for a framing, or `None` if there is nothing to read.
    pub(crate) fn new(framing: Framing, limits: &Limits) -> Result<Option<Body>, ProtocolError> {
        match framing {
            Framing::Length(length) if length > limits.body_bytes_max => Err(ProtocolError::BodyTooLarge),
            Framing::Empty | Framing::Length(0) => Ok(None),
            Framing::Length(length) => Ok(Some(Body::Length(length))),
            Framing::Chunked => Ok(Some(Body::Chunked(Chunked::new()))),
            Framing::UntilClose => Ok(Some(Body::UntilClose)),
        }
    }

    /// Takes a piece. Returns the offset just after the body's end, or `None` if more must come.
    #[inline]
    pub(crate) fn feed(
        &mut self,
        piece: &[u8],
        limits: &Limits,
        body_bytes: &mut u64,
        body: &mut impl FnMut(&[u8]),
    ) -> Result<Option<usize>, ProtocolError> {
        match self {
            Body::Length(remaining) => {
                let take = usize::try_from(*remaining).map_or(piece.len(), |left| left.min(piece.len()));
                deliver(&piece[..take], body_bytes, body);
                *remaining -= take as u64;
                Ok((*remaining == 0).then_some(take))
            }
            Body::Chunked(chunked) => chunked.feed(piece, limits, body_bytes, body),
            Body::UntilClose => {
                let room = limits.body_bytes_max - *body_bytes;
                let take = usize::try_from(room).map_or(piece.len(), |room| room.min(piece.len()));
                deliver(&piece[..take], body_bytes, body);
                if take < piece.len() { Err(ProtocolError::BodyTooLarge) } else { Ok(None) }
            }
        }
    }
}

/// Hands a slice on, unless it is empty: a callback is called for bytes, not for reads.
#[inline]
fn deliver(slice: &[u8], body_bytes: &mut u64, body: &mut impl FnMut(&[u8])) {
    if !slice.is_empty() {
        *body_bytes += slice.len() as u64;
        body(slice);
    }
}
