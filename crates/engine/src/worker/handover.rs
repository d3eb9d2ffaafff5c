//! Handing what was recorded over to the control thread.

use super::{INTERVAL, Worker};
use unblink_core::load::Load;
use unblink_core::record::{Ages, Bank, Handed};
use unblink_core::time::{Instant, Nanos};
use unblink_wire::protocol::Protocol;

impl<L: Load, P: Protocol> Worker<L, P> {
    /// Gives the filled bank to the control thread at an interval's end. Never waits: without an empty
    /// bank the interval goes on and says that it is double.
    pub(super) fn hand_over(&mut self, now: Instant) {
        let Ok(empty) = self.channels.empty.try_recv() else {
            self.double = true;
            self.handed_until = self.handed_until + INTERVAL;
            return;
        };
        let began = self.pacer.watch().clock().now();
        let passed = now.since(self.handed_until).0 / INTERVAL.0;
        let until = self.handed_until + Nanos(passed * INTERVAL.0);
        self.heed_stop(now);
        self.with_recorder(|dispatch, _, recorder| dispatch.count_due_before(until, now, recorder));
        let full = self.prepare(now, until, empty, false);
        if let Some(composer) = &self.composer {
            self.channels.sent.note(self.number, composer.sent());
        }
        let _ = self.channels.full.try_send(full);
        let took = self.pacer.watch().clock().now().since(began);
        if let Some(recorder) = &mut self.recorder {
            recorder.counters().own.handover_max = took;
        }
    }

    pub(super) fn prepare(
        &mut self,
        now: Instant,
        until: Instant,
        empty: Box<Bank<u32>>,
        last: bool,
    ) -> Handed {
        let (pauses, waited) = self.pacer.take_figures();
        let total = now.since(self.handed_at);
        let from = self.bank_from.since(self.start);
        let mut bank = empty;
        if let Some(recorder) = &mut self.recorder {
            let own = &mut recorder.counters().own;
            own.busy = total - waited;
            own.total = total;
            own.pause_max = pauses.longest;
            own.paused = pauses.sum;
            (own.run_delay, own.run_slices) = self.starvation.take();
            bank = recorder.swap(bank, until);
        }
        self.handed_at = now;
        self.handed_until = until;
        self.bank_from = until;
        let gauges = self.dispatch.gauges();
        let mut ages = Ages::default();
        self.dispatch.add_ages(until, &mut ages);
        let double = std::mem::take(&mut self.double) || until.since(self.start) > from + INTERVAL;
        Handed { worker: self.number, to: until.since(self.start), bank, gauges, ages, double, last }
    }
}
