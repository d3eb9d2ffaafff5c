//! A run as YCSB prints one (its `TextMeasurementsExporter`), for whoever has parsers of that.
//!
//! Sections are `[READ]`, from the send on, and `[Intended-READ]`, from the intended start on, as `measurement.interval=both` has
//! them. Times are whole microseconds. They are those of the operations that came to a good end, as there; how many others there
//! were stands in the lines that begin with `Return=`, once for each operation. The times of those, which YCSB has in `[READ-FAILED]`,
//! are in no section. An operation is counted once: a read-modify-write is no `[READ]` and no `[UPDATE]` besides.

use crate::document::{Arrivals, RunDocument};
use crate::tally::Tally;
use std::fmt::Write;
use unblink_core::record::{Apart, Series, Track};

/// The clocks, and what YCSB puts before the name of an operation.
const CLOCKS: [(Series, &str); 2] = [(Series::Service, ""), (Series::Response, "Intended-")];

/// What was completed, in the order of the document's operations.
pub fn completed(tally: &Tally, place: usize, series: Series) -> Track<u64> {
    let totals = tally.totals();
    let apart = totals.apart(Apart::Operation);
    // Of a single operation nothing is kept apart: all is its.
    if apart.is_empty() { totals.track(series).clone() } else { apart.track(place, series) }
}

/// The run `document`, made of `tally`.
pub fn text(document: &RunDocument, tally: &Tally) -> String {
    let mut out = String::new();
    let load_ns = document.series.load_to_ns - document.series.load_from_ns;
    overall(&mut out, &document.arrivals, load_ns);
    for (place, operation) in document.operations.iter().enumerate() {
        let name = operation.plan.name.replace([',', '[', ']'], "_");
        for (series, before) in CLOCKS {
            section(&mut out, &format!("[{before}{name}]"), &completed(tally, place, series));
            if series != Series::Service {
                continue;
            }
            // Writing to a string can't fail.
            let _ = writeln!(out, "[{name}], Return=OK, {}", operation.arrivals.ok);
            let ends = operation.failures.iter().map(|(kind, n)| (returned(kind), *n));
            let timed_out = ("TIMED_OUT".to_string(), operation.arrivals.timed_out.unwrap_or(0));
            for (kind, n) in ends.chain([timed_out]).filter(|(_, n)| *n > 0) {
                let _ = writeln!(out, "[{name}], Return={kind}, {n}");
            }
        }
    }
    out
}

/// As there, throughput is of all operations that have ended, however they did, over the run's time.
fn overall(out: &mut String, arrivals: &Arrivals, load_ns: u64) {
    let ended = arrivals.ok + arrivals.failed + arrivals.timed_out;
    let per_s = if load_ns == 0 { 0.0 } else { ended as f64 * 1e9 / load_ns as f64 };
    let _ = writeln!(out, "[OVERALL], RunTime(ms), {}", load_ns / 1_000_000);
    let _ = writeln!(out, "[OVERALL], Throughput(ops/sec), {per_s:?}");
}

/// YCSB's word for what is not there has no protocol before it.
fn returned(kind: &str) -> String {
    if kind.ends_with("_not_found") { "NOT_FOUND".into() } else { kind.to_ascii_uppercase() }
}

fn section(out: &mut String, name: &str, track: &Track<u64>) {
    let _ = writeln!(out, "{name}, Operations, {}", track.count());
    let (Some(mean_ns), false) = (track.mean_ns(), track.count() == 0) else { return };
    let histogram = &track.histogram;
    let _ = writeln!(out, "{name}, AverageLatency(us), {:?}", mean_ns / 1e3);
    let _ = writeln!(out, "{name}, MinLatency(us), {}", histogram.min() / 1_000);
    let _ = writeln!(out, "{name}, MaxLatency(us), {}", track.max_ns / 1_000);
    for (quantile, words) in [(0.95, "95th"), (0.99, "99th")] {
        // No bin's end is above the largest value.
        let value_ns = histogram.value_at_quantile(quantile).min(track.max_ns);
        let _ = writeln!(out, "{name}, {words}PercentileLatency(us), {}", value_ns / 1_000);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::time::Nanos;

    #[test]
    fn throughput_is_of_all_operations_over_the_run_time() {
        let arrivals = Arrivals { ok: 900, failed: 80, timed_out: 20, unsent: 7, ..Arrivals::default() };
        let mut out = String::new();
        overall(&mut out, &arrivals, 2_000_000_000);
        assert_eq!(out, "[OVERALL], RunTime(ms), 2000\n[OVERALL], Throughput(ops/sec), 500.0\n");
    }

    #[test]
    fn a_section_has_the_lines_of_ycsb() {
        let mut track = Track::default();
        (1..=100).for_each(|ms| track.record(Nanos::from_millis(ms)));
        let mut out = String::new();
        section(&mut out, "[READ]", &track);
        let lines: Vec<&str> = out.lines().collect();
        assert_eq!(lines[..2], ["[READ], Operations, 100", "[READ], AverageLatency(us), 50500.0"]);
        let number = |line: &str, name: &str| -> u64 {
            line.strip_prefix(&format!("[READ], {name}(us), ")).expect(line).parse().expect("a number")
        };
        for (line, name, us) in [
            (2, "MinLatency", 1_000),
            (3, "MaxLatency", 100_000),
            (4, "95thPercentileLatency", 95_000),
            (5, "99thPercentileLatency", 99_000),
        ] {
            let found = number(lines[line], name);
            assert!(found.abs_diff(us) * 1_000 <= us, "{name}: {found}");
        }
        let mut nothing = String::new();
        section(&mut nothing, "[READ]", &Track::default());
        assert_eq!(nothing, "[READ], Operations, 0\n");
        assert_eq!((returned("redis_not_found"), returned("reset")), ("NOT_FOUND".into(), "RESET".into()));
    }
}
