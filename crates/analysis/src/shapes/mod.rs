//! What a load of a named shape is run for: how a target takes a spike, how it fails and recovers under stress, whether
//! it drifts in a soak.
//!
//! Such a run grows on purpose, so that it is judged phase by phase, each against the level before. Two views of it are
//! used: response times by the moment when arrivals were *due* ([`steps`]), in which a change shows at the moment when
//! users begin to feel it, and what had no answer at the end of each recorded row.

mod level;
pub mod soak;
pub mod spike;
pub mod steps;
pub mod stress;
pub mod trend;

pub use level::{Before, Recovery};

use crate::quantile::Survival;
use steps::{Step, steps};
use unblink_core::failure::FailureKind;
use unblink_core::heat::HeatGrid;
use unblink_core::record::Interval;
use unblink_core::time::Nanos;

/// A stretch of the offered shape, after t = 0: the rate goes linearly from one end to the other.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Stretch {
    /// Its begin.
    pub from: Nanos,
    /// Its end.
    pub to: Nanos,
    /// Rate at its start.
    pub from_per_s: f64,
    /// Rate at its end.
    pub to_per_s: f64,
}

impl Stretch {
    /// Its length.
    pub fn length(&self) -> Nanos {
        self.to - self.from
    }

    /// Its last three quarters: connections are opened in the first.
    pub fn settled(&self) -> (Nanos, Nanos) {
        (self.from + Nanos(self.length().0 / 4), self.to)
    }
}

/// What was recorded in a stretch of time.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Row {
    /// Begin, after t = 0.
    pub start: Nanos,
    /// Length.
    pub length: Nanos,
    /// Fell due.
    pub due: u64,
    /// Ended as `ok`.
    pub ok: u64,
    /// Failed, in any way.
    pub failed: u64,
    /// Those of `failed` that the target turned away on purpose (429, 503).
    pub shed: u64,
    /// Timed out.
    pub timed_out: u64,
    /// Due and without an answer, at its end.
    pub level: u64,
}

impl Row {
    /// Of a recorded interval, warm-up included.
    pub fn of(interval: &Interval) -> Row {
        let (measured, warm) = (&interval.bank.counters.measured, &interval.bank.counters.warmup);
        let shed = FailureKind::SHED.index();
        Row {
            start: interval.start,
            length: interval.length,
            due: measured.due + warm.due,
            ok: measured.ok + warm.ok,
            failed: measured.failed_total() + warm.failed_total(),
            shed: measured.failed[shed] + warm.failed[shed],
            timed_out: measured.timed_out + warm.timed_out,
            level: interval.gauges.in_flight + interval.gauges.backlog,
        }
    }

    /// Adds the row that follows. Counts add up, the level is that at the end.
    pub fn join(&mut self, next: &Row) {
        self.length = next.end() - self.start;
        self.due += next.due;
        self.ok += next.ok;
        self.failed += next.failed;
        self.shed += next.shed;
        self.timed_out += next.timed_out;
        self.level = next.level;
    }

    /// Its end, after t = 0.
    pub fn end(&self) -> Nanos {
        self.start + self.length
    }
}

/// A response time that is too long.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Limit {
    /// Nanoseconds.
    pub ns: u64,
    /// It is exceeded when more than one minus this share of the arrivals take longer, 0 to 1.
    pub quantile: f64,
}

/// A run as far as it is recorded.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// Response times by intended time.
    pub heat: &'a HeatGrid,
    /// In order.
    pub rows: &'a [Row],
    /// Response times of what was recorded in the last three quarters of the stretch before anything grows, see
    /// [`Stretch::settled`].
    pub before: &'a Survival,
    /// End of the load, after t = 0.
    pub load_to: Nanos,
}

impl Seen<'_> {
    /// The level in `base`, the stretch before anything grows. `None` when nothing was answered there.
    fn before(&self, base: &Stretch) -> Option<Before> {
        let (from, to) = base.settled();
        let rows = self.rows.iter().filter(|row| row.start >= from && row.end() <= to);
        let levels = rows.map(|row| row.level).collect();
        Before::of(self.before, &self.steps(from, to, base.to_per_s), levels)
    }

    /// Steps between two moments, wide enough for what is due at `per_s`.
    fn steps(&self, from: Nanos, to: Nanos, per_s: f64) -> Vec<Step> {
        steps(self.heat, from, to.min(self.load_to), per_s)
    }
}

/// Twice the time that 99 of 100 took before, for the median: what is too long where nobody has said so. A median is
/// not moved by the few that are slow at any load.
fn limit_of(asked: Option<Limit>, before: &Before) -> Limit {
    asked.unwrap_or(Limit { ns: before.p99_ns.saturating_mul(2), quantile: 0.5 })
}
