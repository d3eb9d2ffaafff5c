//! The live line on stderr: what the last second was like.

use crate::charset;
use std::io::{IsTerminal, Write};
use unblink_core::record::{Interval, Series};
use unblink_core::time::{MILLISECOND_NS, Nanos, SECOND_NS};
use unblink_report::format;

/// A shorter interval is not shown.
const SHORTEST: Nanos = Nanos(500 * MILLISECOND_NS);

/// Rewrites one line of the terminal; silent when stderr is not one.
pub(crate) struct LiveLine {
    shown: bool,
    on: bool,
    until: Option<Nanos>,
}

impl LiveLine {
    /// `until` is when the load ends, after the start, if that is known.
    pub(crate) fn new(quiet: bool, until: Option<Nanos>) -> LiveLine {
        LiveLine { shown: false, on: !quiet && std::io::stderr().is_terminal(), until }
    }

    /// Shows an interval.
    pub(crate) fn show(&mut self, interval: &Interval) {
        // The last bit of a second says nothing about a rate.
        if !self.on || interval.length < SHORTEST {
            return;
        }
        let width = terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(w, _)| usize::from(w.0));
        let line = describe(interval, self.until, width);
        let mut err = std::io::stderr().lock();
        // A terminal that is gone must not end the run.
        let _ = write!(err, "\r\x1b[2K{}", charset::printable(&line)).and_then(|()| err.flush());
        self.shown = true;
    }

    /// Takes the line away.
    pub(crate) fn clear(&mut self) {
        if std::mem::take(&mut self.shown) {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

fn describe(interval: &Interval, until: Option<Nanos>, width: usize) -> String {
    let counters = &interval.bank.counters;
    let (measured, warmup) = (&counters.measured, &counters.warmup);
    let ok = (measured.ok + warmup.ok) as f64 / interval.length.as_secs_f64();
    let errors = measured.failed_total() + warmup.failed_total() + measured.timed_out + warmup.timed_out;
    let response = &interval.bank.track(Series::Response);
    let at = |q: f64| match response.count() {
        0 => "–".to_string(),
        _ => format::duration(response.histogram.value_at_quantile(q).min(response.max_ns)),
    };
    let now = interval.start + interval.length;
    let left = match until {
        Some(until) if now < until => {
            let whole_seconds = (until - now).0 / SECOND_NS * SECOND_NS;
            format!("{} left", format::moment(whole_seconds))
        }
        Some(_) => "draining".to_string(),
        None => format!("{} gone", format::moment(now.0 / SECOND_NS * SECOND_NS)),
    };
    let rate = if measured.due == 0 && warmup.due > 0 { "warm-up " } else { "" };
    // What matters most comes first, in case the line does not fit.
    let parts = [
        format!("{rate}{}", format::rate(ok)),
        format!("errors {}", format::count(errors)),
        format!("p50 {}", at(0.5)),
        format!("p99 {}", at(0.99)),
        left,
        format!("in flight {}", format::count(interval.gauges.in_flight)),
        format!("backlog {}", format::count(interval.gauges.backlog)),
    ];
    let mut line = String::new();
    for part in parts {
        let part = format::plain(&part);
        if line.chars().count() + part.chars().count() + 2 < width {
            line.push_str(if line.is_empty() { "" } else { "  " });
            line.push_str(&part);
        }
    }
    line
}
