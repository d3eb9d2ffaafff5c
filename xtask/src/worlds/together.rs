//! What waits for an attempt to connect, where these come at a pace, ends with it while no connection is there.

use super::books::Books;
use super::ends::EXPIRIES_PER_TURN;
use unblink_core::failure::FailureKind;

impl Books<'_> {
    /// An attempt has failed. Where a connection is there or being opened, all wait for that.
    pub(super) fn fail_together(&mut self, origin: usize, kind: FailureKind) -> Result<(), String> {
        if self.lanes[origin].carried.total() > 0 {
            return Ok(());
        }
        self.expire_waiting(origin);
        self.lanes[origin].paced.failing = Some((kind, self.turn.now));
        self.fail_waiting(origin)
    }

    /// As many as one turn ends. Those that have begun to wait since then wait for another attempt.
    pub(super) fn fail_waiting(&mut self, origin: usize) -> Result<(), String> {
        let Some((kind, failed_at)) = self.lanes[origin].paced.failing else { return Ok(()) };
        for _ in 0..EXPIRIES_PER_TURN {
            let lane = &self.lanes[origin];
            let fronts = [lane.ready.front(), lane.waiting.front()].into_iter().flatten();
            let first = fronts.map(|(since, _)| *since).min();
            let is_later = self.turn.now > failed_at && first >= Some(failed_at);
            let Some(place) = (if is_later { None } else { self.take_waiting(origin) }) else {
                self.lanes[origin].paced.failing = None;
                return Ok(());
            };
            self.try_again_or_fail(place, kind, 0)?;
        }
        Ok(())
    }
}
