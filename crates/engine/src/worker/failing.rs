//! Handing over the first arrivals that fail in each way.

use super::Worker;
use crate::failed::Failed;
use unblink_core::load::Load;
use unblink_core::time::Instant;
use unblink_wire::protocol::Protocol;

impl<L: Load, P: Protocol> Worker<L, P> {
    /// Before anything else is sent: the next request takes the place of what is known of the answer.
    #[cold]
    pub(super) fn hand_over_failed(&mut self) {
        let Some((_, failed_to)) = &self.channels.failed else { return };
        while let Some(mut arrival) = self.recorder.as_mut().and_then(|recorder| recorder.take_failed()) {
            let hearing = &self.common.hearing;
            arrival.arrival.intended = Instant(arrival.arrival.intended.since(self.start).0);
            let failed = Failed {
                arrival,
                at: arrival.at.since(self.start),
                answer: hearing.echo_of(&arrival).cloned(),
                taken: hearing.kept.all_of(&arrival.arrival),
            };
            // Nobody may want to know any more.
            let _ = failed_to.send(failed);
        }
    }
}
