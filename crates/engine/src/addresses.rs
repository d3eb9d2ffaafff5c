//! Chooses the target's address for the next connection and counts what happened at each address.

use crate::target::Address;
use unblink_core::failure::FailureKind;
use unblink_core::record::AddressRecord;
use unblink_core::time::{Instant, Nanos};

/// How long an address that has just refused is passed over, if there is another one.
const AVOIDED_FOR: Nanos = Nanos::from_secs(1);
/// An address that does not answer is passed over for the same time at first. The time then doubles at most this
/// often.
const DOUBLINGS_MAX: u32 = 6;

/// The results of the attempts to connect to one address, and of the requests to it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct AddressCounts {
    /// Connections that became usable.
    pub usable: u64,
    /// Attempts that the address refused.
    pub refused: u64,
    /// Attempts that it left without an answer.
    pub unanswered: u64,
    /// Attempts that failed in another way, for example because there is no route.
    pub unreachable: u64,
    /// The arrivals whose last attempt went to this address. Set only if the target may have several addresses.
    pub arrivals: Option<AddressRecord>,
}

impl AddressCounts {
    /// Adds another worker's counts.
    pub fn add(&mut self, o: &AddressCounts) {
        self.usable += o.usable;
        self.refused += o.refused;
        self.unanswered += o.unanswered;
        self.unreachable += o.unreachable;
        if let Some(arrivals) = &o.arrivals {
            self.arrivals.get_or_insert_default().add(arrivals);
        }
    }
}

/// The addresses of one target, taken in turn by one worker.
pub(crate) struct Addresses {
    /// All addresses that have been used. An address keeps its number.
    known: Vec<Known>,
    /// The numbers of the addresses that connections may go to now.
    current: Vec<u32>,
    /// The index in `current` of the next address.
    turn: usize,
}

struct Known {
    address: Address,
    avoided_until: Instant,
    /// Attempts without an answer since the address last took a connection.
    silent: u32,
    counts: AddressCounts,
}

impl Addresses {
    /// Takes at least one address; others may be added later. Workers begin at different addresses.
    pub(crate) fn new(addresses: &[Address], worker: usize) -> Addresses {
        let mut all = Addresses { known: Vec::new(), current: Vec::new(), turn: 0 };
        all.replace(addresses);
        all.turn = worker % all.current.len();
        all
    }

    /// From now on, connections go to these addresses. Open connections stay. The order stays too, because a resolver
    /// may rotate its answers.
    pub(crate) fn replace(&mut self, addresses: &[Address]) {
        let new: Vec<u32> = addresses.iter().map(|address| self.number(address)).collect();
        let next = self.current.get(self.turn).copied();
        self.current.retain(|number| new.contains(number));
        for number in new {
            if !self.current.contains(&number) {
                self.current.push(number);
            }
        }
        let place = self.current.iter().position(|number| Some(*number) == next);
        self.turn = place.unwrap_or(self.turn % self.current.len().max(1));
    }

    pub(crate) fn number(&mut self, address: &Address) -> u32 {
        let place = self.known.iter().position(|known| known.address == *address).unwrap_or_else(|| {
            let counts = AddressCounts::default();
            self.known.push(Known { address: address.clone(), avoided_until: Instant(0), silent: 0, counts });
            self.known.len() - 1
        });
        place as u32
    }

    pub(crate) fn at(&self, number: u32) -> &Address {
        &self.known[number as usize].address
    }

    /// The number of addresses that connections may go to.
    pub(crate) fn len(&self) -> u32 {
        self.current.len() as u32
    }

    /// The next address in turn that has not just refused, or simply the next one if all have.
    pub(crate) fn next(&mut self, now: Instant) -> u32 {
        let mut turn = self.turn;
        for _ in 0..self.current.len() {
            if self.known[self.current[turn] as usize].avoided_until <= now {
                break;
            }
            turn = (turn + 1) % self.current.len();
        }
        self.turn = (turn + 1) % self.current.len();
        self.current[turn]
    }

    /// The address after `address`.
    pub(crate) fn after(&self, address: u32) -> u32 {
        let place = self.current.iter().position(|&number| number == address);
        self.current[place.map_or(0, |place| (place + 1) % self.current.len())]
    }

    /// Notes that `address` has refused.
    pub(crate) fn avoid(&mut self, address: u32, now: Instant) {
        self.known[address as usize].avoided_until = now + AVOIDED_FOR;
    }

    /// Notes that `address` has not answered. Another attempt occupies a place in the pool for as long as it may
    /// take.
    pub(crate) fn avoid_silent(&mut self, address: u32, now: Instant) {
        let known = &mut self.known[address as usize];
        known.avoided_until = now + Nanos(AVOIDED_FOR.0 << known.silent.min(DOUBLINGS_MAX));
        known.silent += 1;
    }

    /// Notes that a connection to `address` became usable.
    pub(crate) fn count(&mut self, address: u32) {
        self.known[address as usize].silent = 0;
        self.known[address as usize].counts.usable += 1;
    }

    /// Notes that an attempt to connect to `address` failed. A lack on this machine is not counted against the
    /// address.
    pub(crate) fn count_failed(&mut self, address: u32, kind: FailureKind) {
        let counts = &mut self.known[address as usize].counts;
        match kind {
            kind if kind.is_local() => {}
            FailureKind::CONNECT_REFUSED => counts.refused += 1,
            FailureKind::CONNECT_TIMEOUT => counts.unanswered += 1,
            _ => counts.unreachable += 1,
        }
    }

    /// The counts by address. `arrivals` is indexed by address number, and empty if arrivals were not recorded.
    pub(crate) fn into_counts(self, arrivals: Vec<AddressRecord>) -> Vec<(Address, AddressCounts)> {
        // The last addresses may never have taken a connection.
        let none = (!arrivals.is_empty()).then(AddressRecord::default);
        let each = self.known.into_iter().zip(arrivals.into_iter().map(Some).chain(std::iter::repeat(none)));
        each.map(|(known, arrivals)| (known.address, AddressCounts { arrivals, ..known.counts })).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(ports: &[u16]) -> Vec<Address> {
        ports.iter().map(|&port| Address::Tcp(([127, 0, 0, 1], port).into())).collect()
    }

    fn take(addresses: &mut Addresses, at: u64) -> [u32; 4] {
        [(); 4].map(|()| addresses.next(Instant(at)))
    }

    #[test]
    fn in_turn_but_for_those_that_refused() {
        let mut addresses = Addresses::new(&addresses(&[1, 2, 3]), 1);
        assert_eq!(take(&mut addresses, 0), [1, 2, 0, 1]);
        addresses.avoid(0, Instant(0));
        assert_eq!(take(&mut addresses, 1), [2, 1, 2, 1]);
        assert_eq!(take(&mut addresses, AVOIDED_FOR.0), [2, 0, 1, 2]);
        (0..3).for_each(|a| addresses.avoid(a, Instant(AVOIDED_FOR.0)));
        assert_eq!(take(&mut addresses, AVOIDED_FOR.0 + 1), [0, 1, 2, 0]);
    }

    #[test]
    fn one_that_does_not_answer_is_tried_ever_less_often() {
        let mut addresses = Addresses::new(&addresses(&[1, 2]), 0);
        for (times, seconds) in [(1, 1), (1, 2), (1, 4), (10, 64)] {
            (0..times).for_each(|_| addresses.avoid_silent(0, Instant(0)));
            let until = seconds * AVOIDED_FOR.0;
            assert_eq!(take(&mut addresses, until - 1), [1; 4]);
            assert!(take(&mut addresses, until).contains(&0));
        }
        addresses.count(0);
        addresses.avoid_silent(0, Instant(0));
        assert!(take(&mut addresses, AVOIDED_FOR.0).contains(&0));
    }

    #[test]
    fn others_may_take_their_place() {
        let mut all = Addresses::new(&addresses(&[1, 2, 3]), 0);
        assert_eq!(take(&mut all, 0), [0, 1, 2, 0]);
        all.count(1);
        // The second stays, under the number that it had and in its place; two are new.
        all.replace(&addresses(&[5, 2, 4]));
        assert_eq!(take(&mut all, 0), [1, 3, 4, 1]);
        assert_eq!((all.after(4), all.after(0)), (1, 1));
        // An answer that is turned round changes nothing.
        for turned in [&[2, 4, 5], &[4, 5, 2], &[5, 2, 4]] {
            all.replace(&addresses(turned));
            all.next(Instant(0));
        }
        assert_eq!(take(&mut all, 0), [3, 4, 1, 3]);
        all.replace(&addresses(&[1]));
        assert_eq!(take(&mut all, 0), [0; 4]);
        let usable: Vec<u64> = all.into_counts(Vec::new()).iter().map(|(_, counts)| counts.usable).collect();
        assert_eq!(usable, [0, 1, 0, 0, 0]);
    }
}
