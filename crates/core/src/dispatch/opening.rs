//! Connections: when one more is opened, and what comes of it.

use super::{Action, Actions, ConnId, ConnectTimes, Dispatch, OPENS_PER_TICK_MAX};
use crate::failure::FailureKind;
use crate::load::Load;
use crate::record::{Flight, Recorder};
use crate::time::{Instant, Nanos};

/// After a connection that this machine had no port or descriptor for.
const LOCAL_LIMIT_PAUSE: Nanos = Nanos::from_millis(100);

impl<L: Load> Dispatch<L> {
    pub(super) fn connected(&mut self, id: ConnId, times: ConnectTimes, now: Instant, rec: &mut Recorder) {
        let Some(slot) = self.connections.resolve(id) else { return };
        self.connections.opened(slot, now);
        rec.connected(times.connect, times.tls);
    }

    pub(super) fn connect_failed(&mut self, id: ConnId, kind: FailureKind, now: Instant, rec: &mut Recorder) {
        let Some(slot) = self.connections.resolve(id) else { return };
        let was_owed = self.connections.at(slot).is_owed;
        self.connections.give_up_opening(slot, now);
        let local = kind.is_local();
        let counts = &mut rec.counters().connections;
        counts.failed += 1;
        counts.refused += u64::from(kind == FailureKind::CONNECT_REFUSED);
        counts.local_limit += u64::from(local);
        if kind == FailureKind::CONNECT_TIMEOUT {
            self.connections.slow_down_opening();
        }
        if local && self.connections.total() > 0 {
            // This machine's limit is not the target's fault: the arrival waits, as at the pool's limit,
            // and another attempt is made a little later.
            self.connections.blocked_until = Some(now + LOCAL_LIMIT_PAUSE);
            return;
        }
        if was_owed && self.connections.total() > 0 {
            // No arrival has asked for it.
            return;
        }
        // The attempt costs an arrival that still had time.
        self.expire_waiting(now, rec);
        if let Some(flight) = self.take_waiting() {
            let flight = Flight { unaccepted: !local, ..flight };
            self.end_unanswered(&flight, 0, Some(kind), now, rec);
        }
    }

    /// Opens connections for what waits, a few per tick and so per turn of the loop: answers that are there
    /// already free connections for less, and a connection costs the generator as much as several requests.
    /// Without this bound a burst makes a busy generator open ever more of them instead of catching up.
    ///
    /// The more answers a turn brought, the fewer it opens, but one at the least. Only an overloaded loop has many
    /// answers in a turn: there the pool grows by one a turn while connections come free, and at full speed when they
    /// don't, as in a stall. A loop with time to spare takes another turn at once, and nobody waits for it.
    pub(super) fn open_connections(&mut self, now: Instant, out: &mut Actions, rec: &mut Recorder) {
        let answers = std::mem::take(&mut self.answers);
        for _ in 0..OPENS_PER_TICK_MAX.saturating_sub(answers).max(1) {
            if self.finished || !self.connections.want_more(self.waiting(), now) {
                return;
            }
            rec.counters().connections.attempted += 1;
            out.push(Action::Open(self.connections.begin_opening(now)));
        }
    }
}
