//! Whose turn it is among the lanes of a worker.

/// Which lane comes first in a turn, and how far this one has come.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Round {
    first: usize,
    /// Lanes that have sent what they could.
    passed: usize,
    /// Sends of the lane that comes after those.
    pub(super) sends: usize,
}

impl Round {
    /// A turn begins.
    pub(super) fn begin(&mut self) {
        (self.passed, self.sends) = (0, 0);
    }

    /// The lane that sends next.
    pub(super) fn lane(&self, lanes: usize) -> Option<usize> {
        (self.passed < lanes).then(|| (self.first + self.passed) % lanes)
    }

    /// That one has sent what it could.
    pub(super) fn pass(&mut self) {
        (self.passed, self.sends) = (self.passed + 1, 0);
    }

    /// The turn is over before `lane` has sent all that it could. If it has sent nothing it comes first now, or else the
    /// one after it.
    pub(super) fn cut(&mut self, lane: usize, lanes: usize) {
        self.first = (lane + usize::from(self.sends > 0)) % lanes;
    }
}
