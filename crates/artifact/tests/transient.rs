//! A run that leaves out its transient, and the same document from its folder.

mod support;

use std::path::Path;
use support::{ending, header, tally};
use unblink_artifact::document::{AgentPlan, RunDocument, RunStatus, TransientStatus};
use unblink_artifact::folder::{FolderWriter, leave_out_transient, merge, report_part};
use unblink_artifact::header::RunHeader;
use unblink_artifact::tally::Ending;
use unblink_core::record::{Bank, ConnectionLevels, Gauges, Interval, Series};
use unblink_core::time::{Nanos, SECOND_NS};

const SECONDS: u64 = 60;
const RATE: u64 = support::RATE;

fn auto() -> RunHeader {
    let mut header = header(SECONDS, 0);
    header.plan.warmup_auto = true;
    header.operations.truncate(1);
    header
}

/// A minute at 100/s; each answer of second i takes `response_ms(i)` and a little, and ends in it.
fn run(response_ms: impl Fn(u64) -> u64) -> Vec<Interval> {
    let interval = |i: u64| {
        let mut bank = Bank::new(1);
        for k in 0..RATE {
            let response = Nanos(response_ms(i) * 1_000_000 + (i * 7919 + k * 104_729) % 400_000);
            bank.track_mut(Series::Response).record(response);
            bank.track_mut(Series::Service).record(response);
            let (row, at) = (bank.heat.bin_of(response), Nanos(i * SECOND_NS + k * SECOND_NS / RATE));
            bank.heat.record(at, row);
        }
        let measured = &mut bank.counters.measured;
        (measured.due, measured.sent, measured.sent_in_load, measured.ok) = (RATE, RATE, RATE, RATE);
        bank.counters.codes[100] += RATE;
        bank.counters.bytes_received = 10 * RATE;
        bank.counters.own.total = Nanos(SECOND_NS);
        if i == 0 {
            (bank.counters.origins[0].attempted, bank.counters.origins[0].opened) = (4, 4);
        }
        let gauges = Gauges::of_one_origin(0, 0, ConnectionLevels { connections: 4, connections_peak: 4 });
        let (start, length) = (Nanos(i * SECOND_NS), Nanos(SECOND_NS));
        Interval { start, length, double: false, bank, gauges, ages: Default::default() }
    };
    (0..SECONDS).map(interval).collect()
}

/// Records `intervals` into `dir` as a run with `--warmup auto` does; gives its document.
fn record(dir: &Path, intervals: &[Interval]) -> RunDocument {
    let header = auto();
    let mut writer = FolderWriter::create(dir, &header).expect("a new folder");
    intervals.iter().for_each(|interval| writer.interval(interval).expect("written"));
    let ending = ending(SECONDS, 0);
    let settled = leave_out_transient(dir, tally(&header, intervals), &ending);
    let document = settled.document(&ending);
    writer.finish(&document).expect("finished");
    document
}

fn codes(document: &RunDocument) -> Vec<&str> {
    document.validity.findings.iter().map(|f| f.code.as_str()).collect()
}

#[test]
fn a_cold_start_is_left_out_and_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let document = record(dir.path(), &run(|i| if i < 8 { 100 } else { 10 }));
    assert_eq!(report_part(dir.path(), None, None).expect("rebuilt"), document);

    let transient = document.transient.as_ref().expect("asked for");
    assert_eq!(transient.status, TransientStatus::LeftOut);
    // Batches of five seconds, and a quarter at most.
    assert!([10, 15].map(|s| s * SECOND_NS).contains(&transient.to_ns), "{}", transient.to_ns);
    let cut = transient.to_ns / SECOND_NS;
    let left_out = transient.arrivals.as_ref().expect("left out");
    assert_eq!((left_out.scheduled, left_out.ok), (cut * RATE, cut * RATE));
    let p50 = transient.response_time.as_ref().map(|d| d.quantiles[0].value);
    assert!(p50.is_some_and(|ns| ns > 100_000_000), "{p50:?}");

    assert_eq!(
        (document.arrivals.scheduled, document.arrivals.ok),
        ((SECONDS - cut) * RATE, (SECONDS - cut) * RATE)
    );
    assert_eq!(document.response_time.count, (SECONDS - cut) * RATE);
    assert!(document.response_time.max.is_some_and(|ns| ns < 11_000_000));
    assert_eq!((document.rate.offered, document.rate.sent), (Some(RATE as f64), RATE as f64));
    assert_eq!(document.codes["200"], (SECONDS - cut) * RATE);
    // What belongs to the whole run, and the pictures.
    assert_eq!((document.origin().connections.opened, document.bytes_received), (4, 10 * SECONDS * RATE));
    assert_eq!((document.series.rows.len(), document.series.load_from_ns), (60, cut * SECOND_NS));
    assert_eq!(document.series.rows.iter().filter(|row| row.warmup).count() as u64, cut);
    let drawn: u32 = document.heatmap.columns.iter().flat_map(|c| &c.cells).map(|cell| cell.1).sum();
    assert_eq!(u64::from(drawn), SECONDS * RATE);
    assert!(!codes(&document).contains(&"not_steady") && !codes(&document).contains(&"accounting"));

    // Whoever names a part gets that part.
    let begin = report_part(dir.path(), None, Some(Nanos(cut * SECOND_NS))).expect("rebuilt");
    assert_eq!((begin.response_time.count, begin.transient), (cut * RATE, None));
}

#[test]
fn a_stall_stays_in_the_figures() {
    let dir = tempfile::tempdir().expect("a folder");
    let document = record(dir.path(), &run(|i| if (2..5).contains(&i) { 900 } else { 10 }));
    assert_eq!(report_part(dir.path(), None, None).expect("rebuilt"), document);
    let transient = document.transient.as_ref().expect("asked for");
    assert_eq!((transient.status, transient.event_at_ns), (TransientStatus::None, Some(2 * SECOND_NS)));
    assert_eq!(document.response_time.count, SECONDS * RATE);
    assert!(document.response_time.max.is_some_and(|ns| ns > 900_000_000));
}

#[test]
fn without_a_steady_state_nothing_is_left_out() {
    let dir = tempfile::tempdir().expect("a folder");
    let document = record(dir.path(), &run(|i| 10 + 2 * i));
    assert_eq!(report_part(dir.path(), None, None).expect("rebuilt"), document);
    assert_eq!(document.transient.as_ref().map(|t| t.status), Some(TransientStatus::NotFound));
    assert_eq!(document.response_time.count, SECONDS * RATE);
    assert!(codes(&document).contains(&"not_steady"));

    // Killed: the folder has no end.
    let dir = tempfile::tempdir().expect("a folder");
    let mut writer = FolderWriter::create(dir.path(), &auto()).expect("a new folder");
    run(|_| 10).iter().take(40).for_each(|interval| writer.interval(interval).expect("written"));
    let killed = report_part(dir.path(), None, None).expect("rebuilt");
    assert!(codes(&killed).contains(&"not_steady"), "{:?}", codes(&killed));
}

/// A folder that lacks intervals can't be added up again.
#[test]
fn an_incomplete_record_is_not_cut() {
    let dir = tempfile::tempdir().expect("a folder");
    let (header, intervals) = (auto(), run(|i| if i < 8 { 100 } else { 10 }));
    let mut writer = FolderWriter::create(dir.path(), &header).expect("a new folder");
    intervals[..30].iter().for_each(|interval| writer.interval(interval).expect("written"));
    let ending = ending(SECONDS, 0);
    let document = leave_out_transient(dir.path(), tally(&header, &intervals), &ending).document(&ending);
    assert!(codes(&document).contains(&"not_steady"));
    assert_eq!(document.response_time.count, SECONDS * RATE);
}

/// A machine whose user ended it, and which found a transient in its own record.
#[test]
fn what_a_transient_left_out_was_offered() {
    let dir = tempfile::tempdir().expect("a folder");
    let all = run(|i| if i < 8 { 100 } else { 10 });
    let part = |first: u32, seconds: u64| {
        let mut header = auto();
        header.agents = vec![AgentPlan {
            first,
            last: first,
            of: 2,
            start_at: header.started_at.clone(),
            clock_offset_ns: None,
            clock_error_ns: None,
            due: Some(SECONDS * RATE),
            due_of_all: Some(2 * SECONDS * RATE),
            tolerate_lost: None,
            asked_sha256: None,
            command: header.command.clone(),
            environment: header.environment.clone(),
        }];
        let to = dir.path().join(format!("share-{first}"));
        let mut writer = FolderWriter::create(&to, &header).expect("a new folder");
        let intervals = &all[..seconds as usize];
        intervals.iter().for_each(|interval| writer.interval(interval).expect("written"));
        let status = if seconds < SECONDS { RunStatus::Interrupted } else { RunStatus::Complete };
        let ending = Ending { status, ..ending(seconds, 0) };
        let document = leave_out_transient(&to, tally(&header, intervals), &ending).document(&ending);
        assert!(document.transient.as_ref().is_some_and(|t| t.status == TransientStatus::LeftOut));
        writer.finish(&document).expect("finished");
        to
    };
    let parts = [part(1, SECONDS), part(2, SECONDS - 10)];
    let merged = merge(&parts, &dir.path().join("merged")).expect("mergeable");
    assert_eq!(merged.arrivals.withheld, 10 * RATE);
    let found = merged.validity.findings.iter().find(|finding| finding.code == "agents_lost").expect("it");
    assert_eq!(found.evidence["not_offered"], (10 * RATE) as f64, "{}", found.message);
}
