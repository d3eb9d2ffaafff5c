//! What an answer must be like to count as `ok`, beyond its status.

use std::ops::RangeInclusive;

/// Conditions on an answer; all must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expect {
    /// Allowed statuses. Empty: 200–399.
    pub statuses: Vec<RangeInclusive<u16>>,
    /// Allowed sizes of the body in bytes.
    pub size: Option<RangeInclusive<u64>>,
    /// Bytes that the body must contain.
    pub contains: Option<Needle>,
}

impl Expect {
    /// True when `status` is one of those asked for; `None` when nothing was asked.
    pub fn allows_status(&self, status: u16) -> Option<bool> {
        (!self.statuses.is_empty()).then(|| self.statuses.iter().any(|r| r.contains(&status)))
    }

    /// True when `bytes` of body are as asked for.
    pub fn allows_size(&self, bytes: u64) -> bool {
        self.size.as_ref().is_none_or(|r| r.contains(&bytes))
    }
}

/// A search over a body that arrives in pieces (Knuth, Morris, Pratt 1977): nothing is kept of it.
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
            for split in 0..=body.len() {
                let matched = search.advance(search.advance(0, &body[..split]), &body[split..]);
                assert_eq!(matched == search.len(), expected, "{needle:?} split at {split}");
            }
        }
    }

    #[test]
    fn statuses_and_sizes() {
        let none = Expect::default();
        assert_eq!(none.allows_status(500), None);
        let expect = Expect { statuses: vec![200..=200, 400..=499], size: Some(3..=5), contains: None };
        assert_eq!(expect.allows_status(404), Some(true));
        assert_eq!(expect.allows_status(201), Some(false));
        assert!(expect.allows_size(3) && !expect.allows_size(6));
    }
}
