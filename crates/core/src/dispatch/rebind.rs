//! Another connection for a flight that was bound and is not sent yet, for whoever knows where its arrival is served best.
//!
//! Binding stays as it is: a flight has a connection with room before anybody asks for a better one, so nothing waits for one.

use super::{Actions, ConnId, Dispatch, FlightId};
use crate::load::Load;
use crate::record::Recorder;
use crate::time::Instant;

impl<L: Load> Dispatch<L> {
    /// From now on a fixed pool opens a connection in the place of each that ends, whether anything waits or not.
    pub fn keep_size(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.connections.keep_size());
    }

    /// How many requests a connection carries; `None` if it takes no more.
    #[inline]
    pub fn load_of(&self, id: ConnId) -> Option<u32> {
        let connections = &self.lanes[usize::from(id.origin)].connections;
        let conn = connections.at(connections.resolve(id)?);
        conn.has_room().then_some(conn.flights.len)
    }

    /// Binds a flight that is not sent yet to another connection of its lane, which has room.
    pub fn rebind(&mut self, flight: FlightId, to: ConnId) {
        let Some(slot) = self.resolve(flight) else { return };
        let Some(to) = self.lane(to).connections.resolve(to) else { return };
        self.lift(slot);
        self.place(slot, to);
    }

    /// The same of two flights, each of which takes the place of the other.
    pub fn exchange(&mut self, one: FlightId, other: FlightId) {
        let (Some(one), Some(other)) = (self.resolve(one), self.resolve(other)) else { return };
        let (to_other, to_one) = (self.lift(one), self.lift(other));
        self.place(one, to_one);
        self.place(other, to_other);
    }

    /// A connection is to end when what is under way on it has ended, so that another can be opened elsewhere.
    pub fn give_way(&mut self, id: ConnId, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        let connections = &mut self.lane(id).connections;
        let Some(slot) = connections.resolve(id) else { return };
        let conn = connections.at(slot);
        if !conn.is_open || conn.is_retired {
            return;
        }
        connections.retire(slot, now);
        connections.at_mut(slot).gives_way = true;
        self.close_if_over(usize::from(id.origin), slot, now, out, rec);
        self.quiet_until = Instant(0);
        self.look_around(now, rec);
    }

    /// Takes a flight off its connection as if it had never been there. Gives that connection.
    fn lift(&mut self, flight: u32) -> u32 {
        let Dispatch { lanes, flights, .. } = self;
        let (origin, conn) = flights[flight].place();
        lanes[origin].connections.take_back(conn, flights, flight);
        conn
    }

    fn place(&mut self, flight: u32, conn: u32) {
        let Dispatch { lanes, flights, .. } = self;
        let (origin, _) = flights[flight].place();
        flights[flight].conn = conn;
        lanes[origin].connections.take_place(conn, flights, flight);
    }
}
