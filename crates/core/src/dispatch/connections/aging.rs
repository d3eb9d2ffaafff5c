//! Connections that are used for a limited time.

use super::Connections;
use crate::dispatch::arena::NONE;
use crate::time::{Instant, Nanos};

impl Connections {
    pub(in crate::dispatch) fn grows_old(&mut self, slot: u32, at: Instant) {
        self.conns[slot].aged_from = at;
        self.conns.push_back(&mut self.by_age, slot);
    }

    /// Connections grow old from the first look at the clock after the start. Of those open at that moment, the first
    /// ends after a small share of the age and the last after all of it. Otherwise connections that were opened
    /// together would be reopened together for ever.
    pub(in crate::dispatch) fn begin_aging(&mut self, now: Instant) {
        let Some(age) = self.age_max.filter(|_| self.has_started && !self.are_aging) else { return };
        self.are_aging = true;
        let all = u128::from(self.open) * u128::from(self.share.of);
        let mut before = 0;
        for slot in 0..self.conns.len() {
            if !self.conns.is_taken(slot) || !self.conns[slot].is_open {
                continue;
            }
            let place = before * u128::from(self.share.of) + u128::from(self.share.first) + 1;
            before += 1;
            self.grows_old(slot, now + Nanos((u128::from(age.0) * place / all) as u64));
        }
    }

    /// The connection that grows too old next, and when.
    pub(in crate::dispatch) fn first_to_age(&self) -> Option<(u32, Instant)> {
        let slot = self.by_age.head;
        (slot != NONE).then(|| (slot, self.conns[slot].aged_from))
    }

    /// The connection has grown too old. One that a journey holds is used on until that ends.
    pub(in crate::dispatch) fn age(&mut self, slot: u32, now: Instant) {
        self.conns.unlink(&mut self.by_age, slot);
        self.conns[slot].aged_from = Instant(u64::MAX);
        self.conns[slot].is_aged = !self.conns[slot].is_retired;
        if !self.is_held(slot) {
            self.retire(slot, now);
        }
    }
}
