//! Connections: when one more is opened, and what comes of it.

use super::slab::State;
use super::{Action, Actions, ConnId, ConnectTimes, Dispatch, OPENS_PER_TICK_MAX};
use crate::failure::FailureKind;
use crate::load::Load;
use crate::record::{Flight, Recorder};
use crate::time::{Instant, Nanos};

/// Connects in progress at once, to begin with: a flood of them overflows the target's queue, and a dropped
/// SYN costs a second. Each success allows one more, so that a distant or slow target is no limit.
pub(super) const OPENING_MIN: u32 = 128;
/// After a connection that this machine had no port or descriptor for.
const LOCAL_LIMIT_PAUSE: Nanos = Nanos::from_millis(100);

impl<L: Load> Dispatch<L> {
    /// Whether arrivals wait for which a connection should be opened.
    pub(super) fn wants_to_open(&self) -> bool {
        let wanted = self.waiting().max(u64::from(self.prewarm_left + self.opening.len));
        u64::from(self.opening.len) < wanted && self.can_open()
    }

    pub(super) fn connected(&mut self, id: ConnId, times: ConnectTimes, now: Instant, rec: &mut Recorder) {
        let Some(slot) = self.slab.resolve(id) else { return };
        self.slab.unlink(&mut self.opening, slot);
        self.make_idle(slot, now);
        self.opening_max = self.opening_max.saturating_add(1);
        self.unaccepted_since = (self.opening.len > 0).then_some(now);
        self.open_peak = self.open_peak.max(self.idle.len + self.flights.len);
        rec.connected(times.connect, times.tls);
    }

    pub(super) fn connect_failed(&mut self, id: ConnId, kind: FailureKind, now: Instant, rec: &mut Recorder) {
        let Some(slot) = self.slab.resolve(id) else { return };
        self.slab.unlink(&mut self.opening, slot);
        self.slab.release(slot);
        let local = kind.is_local();
        let counts = &mut rec.counters().connections;
        counts.failed += 1;
        counts.refused += u64::from(kind == FailureKind::CONNECT_REFUSED);
        counts.local_limit += u64::from(local);
        if kind == FailureKind::CONNECT_TIMEOUT {
            self.slow_down_opening();
        }
        if local && self.total() > 0 {
            // This machine's limit is not the target's fault: the arrival waits, as at the pool's limit,
            // and another attempt is made a little later.
            self.blocked_until = Some(now + LOCAL_LIMIT_PAUSE);
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
            if self.finished || !self.wants_to_open() {
                return;
            }
            let slot = self.slab.take(now);
            self.slab.at_mut(slot).state = State::Opening;
            self.slab.push_back(&mut self.opening, slot);
            self.unaccepted_since.get_or_insert(now);
            self.prewarm_left = self.prewarm_left.saturating_sub(1);
            rec.counters().connections.attempted += 1;
            out.push(Action::Open(self.slab.id(slot)));
        }
    }

    pub(super) fn can_open(&self) -> bool {
        self.total() < self.max && self.opening.len < self.opening_max && self.blocked_until.is_none()
    }

    /// Attempts vanish: fewer at once.
    pub(super) fn slow_down_opening(&mut self) {
        self.opening_max = (self.opening_max / 2).max(OPENING_MIN);
    }
}
