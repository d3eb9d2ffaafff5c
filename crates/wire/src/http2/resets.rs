//! How often requests are given up on a connection, and which ones were.

use std::collections::VecDeque;

/// Requests given up in any second. Servers take many of them for an attack (CVE-2023-44487) and close the connection.
pub(super) const PER_SECOND: usize = 10;
const SECOND_NS: u64 = 1_000_000_000;
/// As many may be under way to a client that has given up; of those before, nothing more is expected.
const REMEMBERED: usize = 256;

/// What was given up.
#[derive(Debug)]
pub(super) struct Resets {
    /// When the latest ones were, in turn.
    at_ns: [Option<u64>; PER_SECOND],
    next: usize,
    /// Streams that were reset from this side, the latest last.
    streams: VecDeque<u32>,
}

impl Resets {
    pub(super) fn new() -> Resets {
        Resets { at_ns: [None; PER_SECOND], next: 0, streams: VecDeque::with_capacity(REMEMBERED) }
    }

    /// May one be given up at `now_ns`? It counts if so.
    pub(super) fn allow(&mut self, now_ns: u64) -> bool {
        let oldest = &mut self.at_ns[self.next];
        let is_allowed = oldest.is_none_or(|at| now_ns.saturating_sub(at) >= SECOND_NS);
        if is_allowed {
            *oldest = Some(now_ns);
            self.next = (self.next + 1) % PER_SECOND;
        }
        is_allowed
    }

    /// What the server sends for this stream is not wanted, and not wrong.
    pub(super) fn remember(&mut self, stream: u32) {
        if self.streams.len() == REMEMBERED {
            self.streams.pop_front();
        }
        self.streams.push_back(stream);
    }

    pub(super) fn was_reset(&self, stream: u32) -> bool {
        self.streams.contains(&stream)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_than_so_many_in_any_second() {
        let mut resets = Resets::new();
        let allowed = |resets: &mut Resets, at: u64| (0..20).filter(|_| resets.allow(at)).count();
        assert_eq!(allowed(&mut resets, 900_000_000), PER_SECOND);
        assert_eq!(allowed(&mut resets, 1_100_000_000), 0);
        assert_eq!(allowed(&mut resets, 1_900_000_000), PER_SECOND);
        let mut spread = Resets::new();
        let given_up: Vec<u64> = (0..100).map(|i| i * 50_000_000).filter(|&at| spread.allow(at)).collect();
        for window in given_up.windows(PER_SECOND + 1) {
            assert!(window[PER_SECOND] - window[0] >= SECOND_NS, "{window:?}");
        }
    }

    #[test]
    fn memory_is_bounded() {
        let mut resets = Resets::new();
        (0..1000).for_each(|stream| resets.remember(stream));
        assert!(resets.was_reset(999) && !resets.was_reset(0));
        assert_eq!(resets.streams.len(), REMEMBERED);
    }
}
