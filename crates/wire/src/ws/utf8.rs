//! Text that comes in pieces: is it UTF-8?

/// What has been seen of a text so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Utf8 {
    /// The beginning of a character whose end is yet to come.
    kept: [u8; 4],
    length: u8,
}

impl Utf8 {
    /// Takes the next piece. False as soon as no further piece could make it UTF-8.
    #[inline]
    pub(super) fn take(&mut self, mut bytes: &[u8]) -> bool {
        while let (true, [byte, rest @ ..]) = (self.length > 0, bytes) {
            self.kept[usize::from(self.length)] = *byte;
            self.length += 1;
            bytes = rest;
            match std::str::from_utf8(&self.kept[..usize::from(self.length)]) {
                Ok(_) => self.length = 0,
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return false,
            }
        }
        match std::str::from_utf8(bytes) {
            Ok(_) => true,
            Err(error) if error.error_len().is_none() => {
                let begun = &bytes[error.valid_up_to()..];
                self.kept[..begun.len()].copy_from_slice(begun);
                self.length = begun.len() as u8;
                true
            }
            Err(_) => false,
        }
    }

    /// No character is left unfinished.
    pub(super) fn is_whole(self) -> bool {
        self.length == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_utf8<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> bool {
        let mut utf8 = Utf8::default();
        pieces.into_iter().all(|piece| utf8.take(piece)) && utf8.is_whole()
    }

    #[test]
    fn a_surrogate_is_refused_before_it_is_whole() {
        let mut utf8 = Utf8::default();
        assert!(utf8.take(b"\xed"));
        assert!(!utf8.take(b"\xa0"));
        assert!(!is_utf8([&b"\xe2\x82"[..]]));
    }

    proptest! {
        #[test]
        fn pieces_are_judged_as_the_whole(
            bytes in prop_oneof![
                proptest::collection::vec(any::<u8>(), 0..12),
                "\\PC{0,6}".prop_map(String::into_bytes),
                ("\\PC{0,4}", any::<u8>(), "\\PC{0,4}").prop_map(|(a, b, c)| [a.as_bytes(), &[b], c.as_bytes()].concat()),
            ],
            cuts in proptest::collection::vec(0..16usize, 0..4),
        ) {
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).collect();
            cuts.extend([0, bytes.len()]);
            cuts.sort_unstable();
            let pieces = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
            prop_assert_eq!(is_utf8(pieces), std::str::from_utf8(&bytes).is_ok());
        }
    }
}
