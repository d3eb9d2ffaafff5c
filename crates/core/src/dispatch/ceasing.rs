//! The end of all sending, while what was sent is still waited for.

use super::{Actions, Dispatch, FlightId};
use crate::load::Load;
use crate::record::Recorder;
use crate::time::Instant;

impl<L: Load> Dispatch<L> {
    /// Nothing is sent any more, whatever has fallen due: what waits ends unsent, and what is under way is waited for.
    pub fn cease(&mut self) {
        (self.has_ceased, self.more_to_do, self.quiet_until) = (true, true, Instant(0));
    }

    /// Of its request the connection has not seen anything.
    pub(super) fn unsent(&mut self, id: FlightId, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        let Some(slot) = self.resolve(id) else { return };
        let (origin, conn) = self.flights[slot].place();
        if let Some(flight) = self.land(slot, now) {
            self.end_unanswered(&flight, conn, None, now, rec);
        }
        self.close_if_over(origin, conn, now, out, rec);
    }

    /// Ends what waits to be sent, and what waits for its next attempt.
    #[cold]
    pub(super) fn end_waiting(&mut self, now: Instant, rec: &mut Recorder) {
        for origin in 0..self.lanes.len() {
            while let Some(flight) = self.take_socket(origin).or_else(|| self.take_waiting(origin)) {
                let flight = self.with_cause(&flight, now);
                self.end_unanswered(&flight, 0, None, now, rec);
            }
            while let Some(flight) = self.take_any_own(origin).or_else(|| self.take_held(origin)) {
                let flight = self.with_cause(&flight, now);
                self.end_unanswered(&flight, 0, None, now, rec);
            }
        }
        while let Some(flight) = self.retrying.as_mut().and_then(|retrying| retrying.pop_any()) {
            self.end_unanswered(&flight, 0, None, now, rec);
        }
    }
}
