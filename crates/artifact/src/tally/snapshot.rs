//! What can be told while the run goes on, once a second: no figure is resampled and no document built.

use super::Tally;
use unblink_analysis::waiting::{SoFar, quantiles};
use unblink_core::record::{Bank, Gauges, Interval, Outcomes, Series};
use unblink_core::time::Nanos;

/// A run at the end of an interval.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// When that was, after t = 0.
    pub at: Nanos,
    /// In the interval only warm-up fell due.
    pub is_warmup: bool,
    /// The interval, warm-up included.
    pub last: Figures,
    /// The measured part so far.
    pub so_far: Figures,
    /// Levels at its end.
    pub gauges: Gauges,
}

/// What became of the arrivals of some time, and how long they took: those who ended in it, and those who wait at its end
/// at their age.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Figures {
    /// Fell due.
    pub due: u64,
    /// Ended as `ok`.
    pub ok: u64,
    /// Those per second.
    pub ok_per_s: f64,
    /// Failed or timed out.
    pub errors: u64,
    /// Median response time.
    pub p50: Option<SoFar>,
    /// 99th percentile of response time.
    pub p99: Option<SoFar>,
}

impl Tally {
    /// The run at the end of `interval`, which has come in last.
    pub fn snapshot(&self, interval: &Interval) -> Snapshot {
        let (measured, warmup) = (&interval.bank.counters.measured, &interval.bank.counters.warmup);
        let mut both = *measured;
        both.add(warmup);
        let waiting = || interval.ages.bins().map(|(age, n)| (age.0, n));
        // Of answers during the warm-up no time is on record, only that there was one.
        let untimed = [(0, warmup.ok), (self.header.plan.timeout_ns, warmup.timed_out)];
        let measured_for = self.end - self.measured_from();
        Snapshot {
            at: self.end,
            is_warmup: measured.due == 0 && warmup.due > 0,
            last: figures(&interval.bank, &both, interval.length, waiting().chain(untimed)),
            so_far: figures(
                &self.totals,
                &self.totals.counters.measured,
                measured_for,
                // Whoever has waited for longer than that is warm-up.
                waiting().filter(|(age_ns, _)| *age_ns < measured_for.0),
            ),
            gauges: interval.gauges,
        }
    }
}

fn figures(
    bank: &Bank<u64>,
    outcomes: &Outcomes,
    length: Nanos,
    longer: impl Iterator<Item = (u64, u64)>,
) -> Figures {
    let longer = bank.track(Series::ResponseCensored).bins().chain(longer);
    let [p50, p99] = quantiles(bank.track(Series::Response), longer, [0.5, 0.99]);
    Figures {
        due: outcomes.due,
        ok: outcomes.ok,
        ok_per_s: super::per_second(outcomes.ok, length),
        errors: outcomes.failed_total() + outcomes.timed_out,
        p50,
        p99,
    }
}
