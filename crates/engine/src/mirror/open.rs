//! Pairs under way: what each still waits for, and until when.

use super::place::Place;
use super::queue::Outgoing;
use super::{Pair, Side, TARGETS_MAX};
use std::collections::VecDeque;
use unblink_core::time::Instant;

/// Names a pair under way. A name is never used again.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PairId(u64);

/// Pairs in the order in which they began. One that has ended keeps its place until those before it have ended, too: a
/// pointer's, so that one pair which takes long makes no others heavy.
pub(super) struct Open {
    pairs: VecDeque<Option<Box<Begun>>>,
    /// The name of the first place.
    first: u64,
    targets: usize,
    /// Places that are not empty.
    count: usize,
}

/// A pair under way.
pub(super) struct Begun {
    pub(super) request: Outgoing,
    /// The clock of every side starts here.
    pub(super) began: Instant,
    /// The connection that each side was last asked on.
    pub(super) asked_on: [Option<Place>; TARGETS_MAX],
    pair: Pair,
    /// Sides of which nothing is known yet.
    left: usize,
}

impl Open {
    pub(super) fn new(targets: usize) -> Open {
        Open { pairs: VecDeque::new(), first: 0, targets, count: 0 }
    }

    /// Begins a pair, not before those that began before.
    pub(super) fn begin(&mut self, request: Outgoing, began: Instant) -> PairId {
        let pair = Pair { operation: request.operation, sides: Default::default() };
        let begun = Begun { request, began, asked_on: Default::default(), pair, left: self.targets };
        self.pairs.push_back(Some(Box::new(begun)));
        self.count += 1;
        PairId(self.first + self.pairs.len() as u64 - 1)
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    fn place(&mut self, id: PairId) -> Option<&mut Option<Box<Begun>>> {
        self.pairs.get_mut(usize::try_from(id.0.checked_sub(self.first)?).ok()?)
    }

    /// The pair, while this side of it has no end.
    pub(super) fn awaited(&mut self, id: PairId, target: usize) -> Option<&Begun> {
        self.awaited_mut(id, target).map(|begun| &*begun)
    }

    /// The same, to note something of it.
    pub(super) fn awaited_mut(&mut self, id: PairId, target: usize) -> Option<&mut Begun> {
        let begun = self.place(id)?.as_mut()?;
        (begun.pair.sides[target] == Side::Nothing).then_some(begun)
    }

    /// Notes how a side ended, once. Gives the pair and its request when all sides have.
    pub(super) fn end(&mut self, id: PairId, target: usize, side: Side) -> Option<(Pair, Outgoing)> {
        let place = self.place(id)?;
        let begun = place.as_mut()?;
        if begun.pair.sides[target] != Side::Nothing {
            return None;
        }
        begun.pair.sides[target] = side;
        begun.left -= 1;
        if begun.left > 0 {
            return None;
        }
        let Begun { pair, request, .. } = *place.take()?;
        self.count -= 1;
        while let Some(None) = self.pairs.front() {
            self.pairs.pop_front();
            self.first += 1;
        }
        Some((pair, request))
    }

    /// The oldest pair.
    pub(super) fn oldest(&self) -> Option<(PairId, &Begun)> {
        // Empty places at the front are gone.
        self.pairs.front().and_then(Option::as_deref).map(|begun| (PairId(self.first), begun))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::time::Nanos;
    use unblink_wire::{RequestKind, Whole};

    fn request(operation: u32) -> Outgoing {
        let whole = Whole { kind: RequestKind::Normal, closes: false };
        Outgoing { bytes: Box::default(), whole, is_safe: true, operation, at: Instant(0) }
    }

    #[test]
    fn a_pair_ends_once_when_all_of_its_sides_have() {
        let mut open = Open::new(2);
        let answered = Side::Answered { status: 200, took: Nanos(7), digest: None };
        let (first, second) = (open.begin(request(1), Instant(10)), open.begin(request(2), Instant(20)));
        assert!(open.end(second, 0, answered).is_none() && open.end(second, 0, Side::TimedOut).is_none());
        assert!(open.awaited(second, 0).is_none() && open.awaited(second, 1).is_some());
        let (pair, _) = open.end(second, 1, Side::TimedOut).expect("both sides");
        assert_eq!((pair.operation, pair.sides[0], pair.sides[1]), (2, answered, Side::TimedOut));
        // Behind one that goes on its place stays, and nothing comes of it any more.
        assert!(open.end(second, 1, answered).is_none() && open.awaited(second, 1).is_none());
        assert_eq!(
            (open.count(), open.oldest().map(|(id, begun)| (id, begun.began))),
            (1, Some((first, Instant(10))))
        );
        open.end(first, 1, answered);
        assert!(open.end(first, 0, answered).is_some());
        assert!(open.oldest().is_none() && open.count() == 0);
        let third = open.begin(request(3), Instant(30));
        assert!(third != first && third != second && open.awaited(first, 0).is_none());
    }
}
