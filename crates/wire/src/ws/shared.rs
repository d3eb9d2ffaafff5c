//! Memory that the connections of a thread use in turn.

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
        self.spare.push(buffer);
    }
}
