//! What is drawn for the requests of a simulation: the same as in a real run of the same seed.

use super::scripted::Scripted;
use unblink_core::arrival::Arrival;
use unblink_core::plan::Plan;
use unblink_core::sim::{Sight, Watch, ZERO};
use unblink_core::time::Instant;
use unblink_workload::{Composer, Sent, Values};

/// Draws for each request that leaves.
pub(super) struct Sending<'a> {
    plan: &'a Plan,
    values: &'a Values,
    composer: Composer,
}

impl<'a> Sending<'a> {
    pub(super) fn new(plan: &'a Plan, values: &'a Values) -> Sending<'a> {
        Sending { plan, values, composer: Composer::new(values, plan) }
    }

    /// By named value.
    pub(super) fn into_sent(self) -> Box<[Sent]> {
        self.composer.into_sent()
    }
}

/// Nothing is drawn where there is nothing to draw, and no script is asked where there is none.
pub(super) struct Watching<'a, 'b>(pub(super) Option<&'a mut Sending<'b>>, pub(super) Option<Scripted>);

impl Watch for Watching<'_, '_> {
    fn see(&mut self, _at: Instant, sight: Sight) {
        if let (Sight::Sent(arrival, began), Some(sending)) = (sight, &mut self.0) {
            sending.composer.draw_begun(sending.values, sending.plan, &arrival, (ZERO, began));
        }
    }

    fn makes(&mut self, _arrival: &Arrival) -> bool {
        self.1.as_mut().is_none_or(Scripted::makes)
    }

    fn hears(&mut self, status: u16) -> bool {
        self.1.as_mut().is_none_or(|script| script.hears(status))
    }

    fn ends_load(&self) -> bool {
        self.1.as_ref().is_some_and(Scripted::is_stopped)
    }
}
