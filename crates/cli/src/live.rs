//! The live line on stderr: what the last second was like.

use crate::observe::{End, Observer};
use crate::output;
use std::io::IsTerminal;
use unblink_analysis::waiting::SoFar;
use unblink_artifact::tally::{Snapshot, Tally};
use unblink_core::record::Interval;
use unblink_core::time::{MILLISECOND_NS, Nanos, SECOND_NS};
use unblink_report::format;

/// A shorter interval is not shown.
const SHORTEST: Nanos = Nanos(500 * MILLISECOND_NS);

/// Rewrites one line of the terminal; silent when stderr is not one.
pub(crate) struct LiveLine {
    on: bool,
    until: Option<Nanos>,
}

impl LiveLine {
    /// `until` is when the load ends, after the start, if that is known.
    pub(crate) fn new(quiet: bool, until: Option<Nanos>) -> LiveLine {
        LiveLine { on: !quiet && std::io::stderr().is_terminal(), until }
    }
}

impl Observer for LiveLine {
    fn look(&mut self, interval: &Interval, tally: &mut Tally) -> Option<End> {
        // The last bit of a second says nothing about a rate.
        if self.on && interval.length >= SHORTEST {
            let width =
                terminal_size::terminal_size_of(std::io::stderr()).map_or(80, |(w, _)| usize::from(w.0));
            output::show_live(&describe(&tally.snapshot(interval), self.until, width));
        }
        None
    }
}

/// How long something will go on, in whole seconds.
pub(crate) fn left(time: Nanos) -> String {
    format!("{} left", format::moment(time.0 / SECOND_NS * SECOND_NS))
}

fn describe(run: &Snapshot, until: Option<Nanos>, width: usize) -> String {
    let left = match until {
        Some(until) if run.at < until => left(until - run.at),
        Some(_) => "draining".to_string(),
        None => format!("{} gone", format::moment(run.at.0 / SECOND_NS * SECOND_NS)),
    };
    let rate = if run.is_warmup { "warm-up " } else { "" };
    let so_far = run.so_far.p99.map(|p99| {
        let errors = format::count(run.so_far.errors);
        format!("so far: p99 {}, errors {errors}", response_time(Some(p99)))
    });
    // What matters most comes first, in case the line does not fit.
    let parts = [
        format!("{rate}{}", format::rate(run.last.ok_per_s)),
        format!("errors {}", format::count(run.last.errors)),
        format!("p50 {}", response_time(run.last.p50)),
        format!("p99 {}", response_time(run.last.p99)),
        left,
        format!("in flight {}", format::count(run.gauges.in_flight)),
        format!("backlog {}", format::count(run.gauges.backlog)),
    ];
    let mut line = String::new();
    for part in parts.into_iter().chain(so_far) {
        let part = format::plain(&part);
        if line.chars().count() + part.chars().count() + 2 < width {
            line.push_str(if line.is_empty() { "" } else { "  " });
            line.push_str(&part);
        }
    }
    line
}

/// A bound has two digits and is rounded down: ages are known to a sixteenth.
fn response_time(figure: Option<SoFar>) -> String {
    match figure {
        None => "–".to_string(),
        Some(SoFar { value_ns, is_longer: false }) => format::duration(value_ns),
        Some(SoFar { value_ns, is_longer: true }) => {
            let unit = 10u64.pow(value_ns.max(10).ilog10() - 1);
            format::above(value_ns / unit * unit)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_artifact::tally::Figures;
    use unblink_core::record::Gauges;

    fn figures(p50: Option<SoFar>, p99: Option<SoFar>) -> Figures {
        Figures { due: 1_000, ok: 990, ok_per_s: 990.0, errors: 2, p50, p99 }
    }

    fn known(ms: u64) -> Option<SoFar> {
        Some(SoFar { value_ns: ms * MILLISECOND_NS, is_longer: false })
    }

    fn longer(ms: u64) -> Option<SoFar> {
        Some(SoFar { value_ns: ms * MILLISECOND_NS, is_longer: true })
    }

    fn snapshot(last: Figures, so_far: Figures) -> Snapshot {
        let gauges = Gauges { in_flight: 3_012, backlog: 40, ..Gauges::default() };
        Snapshot { at: Nanos::from_secs(33), is_warmup: false, last, so_far, gauges }
    }

    #[test]
    fn an_age_is_a_bound_of_two_digits_rounded_down() {
        let shown = |figure| format::plain(&response_time(figure));
        assert_eq!(shown(longer(2_957)), "> 2.9 s");
        assert_eq!(shown(longer(973)), "> 970 ms");
        assert_eq!(shown(longer(12_999)), "> 12 s");
        assert_eq!(shown(Some(SoFar { value_ns: 7, is_longer: true })), "> 7 ns");
        assert_eq!(shown(known(2_957)), "2.96 s");
        assert_eq!(shown(None), "–");
    }

    #[test]
    fn the_line_in_a_stall() {
        let run = snapshot(figures(longer(1_480), longer(2_957)), figures(known(10), longer(2_010)));
        let line = |width| describe(&run, Some(Nanos::from_secs(60)), width);
        assert_eq!(
            line(120),
            "990/s  errors 2  p50 > 1.4 s  p99 > 2.9 s  27 s left  in flight 3 012  backlog 40  so far: p99 > 2 s, errors 2"
        );
        assert_eq!(line(80), "990/s  errors 2  p50 > 1.4 s  p99 > 2.9 s  27 s left  in flight 3 012");
        assert_eq!(line(30), "990/s  errors 2  p50 > 1.4 s");
    }

    #[test]
    fn the_line_while_nothing_is_measured_and_at_the_end() {
        let nothing = figures(None, None);
        let run = Snapshot { is_warmup: true, ..snapshot(nothing, nothing) };
        assert_eq!(
            describe(&run, None, 120),
            "warm-up 990/s  errors 2  p50 –  p99 –  33 s gone  in flight 3 012  backlog 40"
        );
        assert!(describe(&run, Some(Nanos::from_secs(33)), 80).contains("draining"));
    }
}
