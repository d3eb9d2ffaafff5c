//! Connections of which somebody knows that they lead to different places.

use super::Connections;
use crate::dispatch::arena::Arena;

impl Connections {
    /// From now on one is opened in the place of each that ends.
    pub(in crate::dispatch) fn keep_size(&mut self) {
        self.keeps_size = !self.grows;
    }

    /// Takes a flight off a connection that was bound to it a moment ago. Nothing was sent meanwhile, so that all is as it was before.
    /// The most that were under way at once are not: they may be a few too many.
    pub(in crate::dispatch) fn take_back<T>(&mut self, slot: u32, flights: &mut Arena<T, 3>, flight: u32) {
        let (since, rested_from) = (self.conns[slot].since, self.conns[slot].rested_from);
        let room_from = self.room_from;
        self.free_place(slot, flights, flight, since, |_| {});
        let conn = &mut self.conns[slot];
        (conn.since, conn.rested_from) = (since, rested_from);
        conn.carried.uncount();
        self.room_from = room_from;
    }
}
