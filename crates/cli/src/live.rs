//! The live line on stderr: what the last second was like.

use std::io::{IsTerminal, Write};
use unblink_core::record::{Interval, Series};
use unblink_core::time::Nanos;
use unblink_report::format;

/// Rewrites one line of the terminal; silent when stderr is not one.
pub(crate) struct LiveLine {
    shown: bool,
    on: bool,
    until: Nanos,
}

impl LiveLine {
    /// `until` is when the load ends, after the start.
    pub(crate) fn new(quiet: bool, until: Nanos) -> LiveLine {
        LiveLine { shown: false, on: !quiet && std::io::stderr().is_terminal(), until }
    }

    /// Shows an interval.
    pub(crate) fn show(&mut self, interval: &Interval) {
        if !self.on {
            return;
        }
        let line = describe(interval, self.until);
        let width = terminal_size::terminal_size().map_or(80, |(w, _)| usize::from(w.0));
        let line: String = line.chars().take(width.saturating_sub(1)).collect();
        let mut err = std::io::stderr().lock();
        // A terminal that is gone must not end the run.
        let _ = write!(err, "\r\x1b[2K{line}").and_then(|()| err.flush());
        self.shown = true;
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

fn describe(interval: &Interval, until: Nanos) -> String {
    let counters = &interval.bank.counters;
    let (measured, warmup) = (&counters.measured, &counters.warmup);
    let seconds = interval.length.as_secs_f64().max(1e-3);
    let ok = (measured.ok + warmup.ok) as f64 / seconds;
    let errors = measured.failed_total() + warmup.failed_total() + measured.timed_out + warmup.timed_out;
    let response = &interval.bank.track(Series::Response);
    let at = |q: f64| match response.count() {
        0 => "–".to_string(),
        _ => format::duration(response.histogram.value_at_quantile(q).min(response.max_ns)),
    };
    let now = interval.start + interval.length;
    let left = if now < until {
        format!("{} left", format::moment(((until - now).0 / 1_000_000_000) * 1_000_000_000))
    } else {
        "draining".to_string()
    };
    let mut line = format!(
        "{}  in flight {}  backlog {}  p50 {}  p99 {}  errors {errors}  {left}",
        format::rate(ok),
        format::count(interval.gauges.in_flight),
        format::count(interval.gauges.backlog),
        at(0.5),
        at(0.99),
    );
    if measured.due == 0 && warmup.due > 0 {
        line.push_str("  (warm-up)");
    }
    line
}
