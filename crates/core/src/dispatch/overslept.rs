//! Stretches in which nobody looked at the clock while arrivals fell due.

use crate::time::{Instant, Nanos};

/// Arrivals that are noticed later than this were overslept; what is less is the loop's ordinary turn.
pub(super) const OVERSLEPT_FROM: Nanos = Nanos::from_micros(50);
/// Overslept stretches with arrivals still waiting that are remembered.
pub(super) const OVERSLEPT_MAX: usize = 256;

/// Arrivals that were noticed late together: those intended from `first` to `last`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Overslept {
    pub(super) first: Instant,
    pub(super) last: Instant,
    pub(super) noticed: Instant,
}
