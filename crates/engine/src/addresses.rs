//! Which address of the target the next connection goes to.

use unblink_core::failure::FailureKind;
use unblink_core::time::{Instant, Nanos};

/// An address that has just refused is passed over for so long, if there is another.
const AVOIDED_FOR: Nanos = Nanos::from_secs(1);

/// What came of the attempts to connect to one address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AddressCounts {
    /// Connections that became usable.
    pub usable: u64,
    /// Attempts that the address refused.
    pub refused: u64,
    /// Attempts that it left without an answer.
    pub unanswered: u64,
    /// Attempts that failed otherwise: no route to it, say.
    pub unreachable: u64,
}

impl AddressCounts {
    /// Adds another worker's.
    pub fn add(&mut self, o: &AddressCounts) {
        self.usable += o.usable;
        self.refused += o.refused;
        self.unanswered += o.unanswered;
        self.unreachable += o.unreachable;
    }
}

/// The addresses of one target, taken in turn by one worker.
pub(crate) struct Addresses {
    next: u32,
    avoided_until: Vec<Instant>,
    counts: Vec<AddressCounts>,
}

impl Addresses {
    /// `n` addresses; workers begin at different ones.
    pub(crate) fn new(n: usize, worker: usize) -> Addresses {
        Addresses {
            next: (worker % n) as u32,
            avoided_until: vec![Instant(0); n],
            counts: vec![AddressCounts::default(); n],
        }
    }

    pub(crate) fn len(&self) -> u32 {
        self.counts.len() as u32
    }

    /// The next in turn that has not just refused; the next in turn when all have.
    pub(crate) fn next(&mut self, now: Instant) -> u32 {
        let mut chosen = self.next;
        for _ in 0..self.len() {
            if self.avoided_until[chosen as usize] <= now {
                break;
            }
            chosen = self.after(chosen);
        }
        self.next = self.after(chosen);
        chosen
    }

    /// The one after `address`.
    pub(crate) fn after(&self, address: u32) -> u32 {
        (address + 1) % self.len()
    }

    /// `address` has refused.
    pub(crate) fn avoid(&mut self, address: u32, now: Instant) {
        self.avoided_until[address as usize] = now + AVOIDED_FOR;
    }

    /// A connection to `address` became usable.
    pub(crate) fn count(&mut self, address: u32) {
        self.counts[address as usize].usable += 1;
    }

    /// An attempt to connect to `address` failed. What this machine lacks is not the address's doing.
    pub(crate) fn count_failed(&mut self, address: u32, kind: FailureKind) {
        let counts = &mut self.counts[address as usize];
        match kind {
            kind if kind.is_local() => {}
            FailureKind::CONNECT_REFUSED => counts.refused += 1,
            FailureKind::CONNECT_TIMEOUT => counts.unanswered += 1,
            _ => counts.unreachable += 1,
        }
    }

    /// By address.
    pub(crate) fn into_counts(self) -> Vec<AddressCounts> {
        self.counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_turn_but_for_those_that_refused() {
        let mut addresses = Addresses::new(3, 1);
        let take =
            |addresses: &mut Addresses, at| (0..4).map(|_| addresses.next(Instant(at))).collect::<Vec<_>>();
        assert_eq!(take(&mut addresses, 0), [1, 2, 0, 1]);
        addresses.avoid(0, Instant(0));
        assert_eq!(take(&mut addresses, 1), [2, 1, 2, 1]);
        assert_eq!(take(&mut addresses, AVOIDED_FOR.0), [2, 0, 1, 2]);
        (0..3).for_each(|a| addresses.avoid(a, Instant(AVOIDED_FOR.0)));
        assert_eq!(take(&mut addresses, AVOIDED_FOR.0 + 1), [0, 1, 2, 0]);
    }
}
