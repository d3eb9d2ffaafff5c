//! A value of an answer, gathered from its pieces.

use crate::protocol::VALUE_BYTES_MAX;

/// The value that is coming, as far as anybody may look at it. Its memory is used again.
#[derive(Debug, Default)]
pub(crate) struct Gathered(Vec<u8>);

impl Gathered {
    /// Forgets it.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }

    /// Adds a piece. One byte more than is allowed says that it is too long.
    pub(crate) fn add(&mut self, piece: &[u8]) {
        let room = VALUE_BYTES_MAX + 1 - self.0.len();
        self.0.extend_from_slice(&piece[..piece.len().min(room)]);
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_value_is_cut_behind_its_limit() {
        let mut value = Gathered::default();
        value.add(b"abc");
        assert_eq!(value.text(), b"abc");
        (0..3).for_each(|_| value.add(&[b'x'; VALUE_BYTES_MAX]));
        assert_eq!(value.text().len(), VALUE_BYTES_MAX + 1);
        value.clear();
        assert_eq!(value.text(), b"");
    }
}
