//! A search over a body that arrives in pieces: nothing is kept of it.

/// A search (Knuth, Morris, Pratt 1977).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needle {
    bytes: Vec<u8>,
    /// For each prefix, its longest proper border.
    border: Vec<usize>,
}

impl Needle {
    /// A search for `bytes`; at least one.
    pub fn new(bytes: &[u8]) -> Option<Needle> {
        if bytes.is_empty() {
            return None;
        }
        let mut border = vec![0; bytes.len()];
        let mut matched = 0;
        for i in 1..bytes.len() {
            while matched > 0 && bytes[i] != bytes[matched] {
                matched = border[matched - 1];
            }
            matched += usize::from(bytes[i] == bytes[matched]);
            border[i] = matched;
        }
        Some(Needle { bytes: bytes.to_vec(), border })
    }

    /// Carries a search with `matched` bytes so far over the next piece. The search has succeeded once
    /// the result equals [`Needle::len`], and stays so.
    pub fn advance(&self, mut matched: usize, piece: &[u8]) -> usize {
        for &byte in piece {
            if matched == self.bytes.len() {
                return matched;
            }
            while matched > 0 && byte != self.bytes[matched] {
                matched = self.border[matched - 1];
            }
            matched += usize::from(byte == self.bytes[matched]);
        }
        matched
    }

    /// All of `body` is there, and what is searched for is in it.
    pub fn is_in(&self, body: &[u8]) -> bool {
        self.advance(0, body) == self.len()
    }

    /// Bytes to find.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Never: there is always at least one byte.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_across_every_split() {
        let body = b"aabaabaaabaabaabb";
        for needle in [&b"aabaabb"[..], b"a", b"baaab", b"abaabaabb", b"xyz", b"aabaabaaabaabaabb"] {
            let search = Needle::new(needle).unwrap();
            let expected = body.windows(needle.len()).any(|w| w == needle);
            assert_eq!(search.is_in(body), expected);
            for split in 0..=body.len() {
                let matched = search.advance(search.advance(0, &body[..split]), &body[split..]);
                assert_eq!(matched == search.len(), expected, "{needle:?} split at {split}");
            }
        }
    }
}
