//! Memory that the connections of a thread use in turn.

use super::COLLECTED_MAX;
use super::fault::Fault;

/// A buffer that is kept for others has no more bytes than this: one long message would otherwise take its memory for the rest of
/// the run.
const SPARE_BYTES_MAX: usize = 64 << 10;

/// Adds a piece of a message that is looked at when it is whole.
#[inline]
pub(super) fn collect(message: &mut Vec<u8>, piece: &[u8]) -> Result<(), Fault> {
    if message.len() + piece.len() > COLLECTED_MAX {
        return Err(Fault::MessageUnchecked);
    }
    message.extend_from_slice(piece);
    Ok(())
}

/// What the connections of a thread share.
#[derive(Debug, Default)]
pub struct Shared {
    /// A message before its length is known, or the name of an answer.
    pub(super) payload: Vec<u8>,
    pub(super) spare: Vec<Vec<u8>>,
}

impl Shared {
    /// Gives memory to a buffer that has none.
    #[inline]
    pub(super) fn lend(&mut self, buffer: &mut Vec<u8>) {
        if buffer.capacity() == 0
            && let Some(spare) = self.spare.pop()
        {
            *buffer = spare;
        }
    }

    /// Takes it back, so that an idle connection holds none.
    #[inline]
    pub(super) fn take_back(&mut self, buffer: &mut Vec<u8>) {
        if buffer.capacity() > 0 {
            self.keep(std::mem::take(buffer));
        }
    }

    #[inline]
    pub(super) fn keep(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        buffer.shrink_to(SPARE_BYTES_MAX);
        self.spare.push(buffer);
    }
}
