//! One direction of a connection, put together from its segments: each byte once and in order.

use std::collections::BTreeMap;

/// Bytes that may wait for those before them. On a loopback, segments change places rarely if ever.
const HELD_BYTES_MAX: usize = 1 << 20;

/// Where a direction stands.
#[derive(Debug)]
pub(super) struct Stream {
    /// The sequence number of the byte that comes next.
    next: u32,
    /// How many bytes have come, as the place of `next`.
    passed: u64,
    /// Segments ahead of it, by the place of their first byte.
    held: BTreeMap<u64, Vec<u8>>,
    held_bytes: usize,
}

/// More came ahead of a missing byte than is kept: it was never seen.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Missing;

impl Stream {
    /// After a SYN with this number.
    pub(super) fn after_syn(sequence: u32) -> Stream {
        Stream { next: sequence.wrapping_add(1), passed: 0, held: BTreeMap::new(), held_bytes: 0 }
    }

    /// Hands on what is new and in order, in one piece or several.
    pub(super) fn take(
        &mut self,
        sequence: u32,
        payload: &[u8],
        mut each: impl FnMut(&[u8]),
    ) -> Result<(), Missing> {
        // Half of the numbers lie behind, half ahead.
        let ahead = sequence.wrapping_sub(self.next).cast_signed();
        if ahead > 0 {
            return self.hold(self.passed + u64::from(ahead.unsigned_abs()), payload);
        }
        let seen = ahead.unsigned_abs() as usize;
        if let Some(fresh) = payload.get(seen..).filter(|fresh| !fresh.is_empty()) {
            self.pass(fresh, &mut each);
        }
        while let Some(first) = self.held.first_entry().filter(|first| *first.key() <= self.passed) {
            let (at, bytes) = first.remove_entry();
            self.held_bytes -= bytes.len();
            let seen = (self.passed - at) as usize;
            if let Some(fresh) = bytes.get(seen..).filter(|fresh| !fresh.is_empty()) {
                self.pass(fresh, &mut each);
            }
        }
        Ok(())
    }

    fn pass(&mut self, fresh: &[u8], each: &mut impl FnMut(&[u8])) {
        // No packet is longer than 64 KiB.
        self.next = self.next.wrapping_add(fresh.len() as u32);
        self.passed += fresh.len() as u64;
        each(fresh);
    }

    fn hold(&mut self, at: u64, payload: &[u8]) -> Result<(), Missing> {
        if payload.is_empty() {
            return Ok(());
        }
        let known = self.held.get(&at).map_or(0, Vec::len);
        if known >= payload.len() {
            return Ok(());
        }
        self.held_bytes += payload.len() - known;
        if self.held_bytes > HELD_BYTES_MAX {
            return Err(Missing);
        }
        self.held.insert(at, payload.to_vec());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever is cut, sent again, overlapping or out of order: all bytes come once and in order.
        #[test]
        fn all_bytes_come_once_and_in_order(
            length in 1_usize..400,
            syn in any::<u32>(),
            segments in prop::collection::vec((0_usize..400, 1_usize..60), 0..60),
            seed in any::<prop::sample::Index>(),
        ) {
            let bytes: Vec<u8> = (0..length).map(|i| (i * 7 % 251) as u8).collect();
            let mut sent: Vec<(usize, usize)> =
                segments.into_iter().map(|(at, n)| (at % length, (at % length + n).min(length))).collect();
            // And, somewhere among them, each byte for certain.
            let whole = (0..length).step_by(13).map(|at| (at, (at + 13).min(length)));
            let place = seed.index(sent.len() + 1);
            sent.splice(place..place, whole);
            let mut stream = Stream::after_syn(syn);
            let mut got = Vec::new();
            for (from, to) in sent {
                let sequence = syn.wrapping_add(1).wrapping_add(from as u32);
                stream.take(sequence, &bytes[from..to], |fresh| got.extend_from_slice(fresh)).expect("room");
                prop_assert!(bytes.starts_with(&got));
            }
            prop_assert_eq!(got, bytes);
            prop_assert_eq!(stream.held_bytes, 0);
        }
    }

    #[test]
    fn what_never_comes_is_not_waited_for_without_bound() {
        let mut stream = Stream::after_syn(0);
        let chunk = vec![0; 60_000];
        let outcome: Vec<_> = (0..20_u32)
            .map(|i| stream.take(2 + i * 60_000, &chunk, |_| panic!("nothing is in order")))
            .collect();
        assert_eq!((&outcome[0], outcome.last()), (&Ok(()), Some(&Err(Missing))));
    }
}
