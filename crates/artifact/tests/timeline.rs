//! What happened within a second: failures that come and go, a stall between two looks at the levels.

mod support;

use support::{RATE, ending, header, intervals, tally};
use unblink_artifact::document::{RunDocument, Timeline};
use unblink_artifact::folder::{FolderWriter, report_part};
use unblink_core::sim::{ServerSpec, Windows};
use unblink_core::time::{MILLISECOND_NS, Nanos, SECOND_NS};

const MS: u64 = MILLISECOND_NS;

fn document(seconds: u64, change: impl FnOnce(&mut ServerSpec)) -> RunDocument {
    let intervals = intervals(seconds, Nanos::from_secs(30), change);
    tally(&header(seconds, 0), &intervals).document(&ending(seconds, 0))
}

fn timeline(document: &RunDocument) -> &Timeline {
    document.series.timeline.as_ref().expect("a timeline")
}

#[test]
fn a_stall_between_two_looks_shows_its_height() {
    // From 30.3 s to 30.7 s nothing is answered: at the end of second 30 all is over.
    let document = document(60, |server| {
        server.shut = vec![Windows::once(Nanos(30_300 * MS), Nanos(400 * MS))];
    });
    let rows = &document.series.rows;
    assert!(rows.iter().all(|row| row.in_flight <= 2), "what a row's end knows");
    let timeline = timeline(&document);
    assert_eq!((timeline.start_ns, timeline.cell_ns), (0, 100 * MS));
    // What is sent from 30.3 s on is answered at 30.71 s at the earliest.
    let highest = timeline.in_flight_max.iter().max().expect("cells");
    let expected = RATE * 410 / 1_000;
    assert!(highest.abs_diff(expected) <= 2, "{highest}, not {expected}");
    let place = timeline.in_flight_max.iter().position(|level| level == highest);
    // The first of those whose highest it is.
    assert!(matches!(place, Some(306 | 307)), "{place:?}");
}

#[test]
fn failures_every_1250_ms_come_every_1250_ms() {
    // Down for 50 ms: by the second, it would look like a cycle of 5 s.
    let period = Nanos(1_250 * MS);
    let document = document(20, |server| {
        server.down =
            vec![Windows { first: period, length: Nanos(50 * MS), every: Some(period), count: None }];
    });
    let timeline = timeline(&document);
    let failing: Vec<u64> =
        (0..).zip(&timeline.failed).filter(|(_, failed)| **failed > 0).map(|(i, _)| i * 100).collect();
    let expected: Vec<u64> = (1..16).map(|i| i * 1_250 / 100 * 100).collect();
    assert_eq!(failing, expected, "cells of 100 ms");
}

#[test]
fn cells_add_up_to_their_rows_in_a_long_run_too() {
    for seconds in [20, 700] {
        let document = document(seconds, |_| {});
        let (timeline, rows) = (timeline(&document), &document.series.rows);
        let sum = |of: &[u64]| of.iter().sum::<u64>();
        assert_eq!(sum(&timeline.due), seconds * RATE);
        assert_eq!(sum(&timeline.due), rows.iter().map(|row| row.due).sum::<u64>());
        assert_eq!(sum(&timeline.sent), rows.iter().map(|row| row.sent).sum::<u64>());
        assert_eq!(sum(&timeline.ok), rows.iter().map(|row| row.ok).sum::<u64>());
        assert!(timeline.ok.len() <= 720);
        let last = rows.last().expect("a row");
        assert_eq!(timeline.end_ns, last.start_ns + last.length_ns);
        let cells = timeline.ok.len() as u64;
        // What ends exactly at the end stands in a cell of its own.
        assert!(
            (cells - 1) * timeline.cell_ns <= timeline.end_ns && timeline.end_ns <= cells * timeline.cell_ns
        );
        assert_eq!(timeline.cell_ns, if seconds == 20 { 100 * MS } else { 1_600 * MS });
    }
}

#[test]
fn percentiles_of_a_second_are_never_those_of_the_survivors() {
    // From second 10 to 15 nothing is answered; what hangs times out a second later.
    let seconds = 20;
    let hangs = |server: &mut ServerSpec| {
        server.shut = vec![Windows::once(Nanos::from_secs(10), Nanos::from_secs(5))];
    };
    let intervals = intervals(seconds, Nanos::from_secs(1), hangs);
    let document = tally(&header(seconds, 0), &intervals).document(&ending(seconds, 0));
    let rows = &document.series.rows;
    let healthy = rows[5].ended_p99.expect("answers");
    assert!(!healthy.censored && healthy.ns.abs_diff(10 * MS) < 20_000, "{healthy:?}");
    let stalled = rows[12].ended_p99.expect("timeouts");
    assert!(stalled.censored && stalled.ns.abs_diff(SECOND_NS) < 2 * MS, "{stalled:?}");
    assert_eq!(rows[12].response_p99_ns, None, "nothing was completed");
}

#[test]
fn a_folder_without_a_timeline_is_still_read() {
    let (header, seconds) = (header(20, 0), 20);
    let mut intervals = intervals(seconds, Nanos::from_secs(30), |_| {});
    for interval in &mut intervals {
        interval.bank.timeline.begin(Nanos::ZERO);
    }
    let document = tally(&header, &intervals).document(&ending(seconds, 0));
    assert_eq!(document.series.timeline, None);
    let dir = tempfile::tempdir().expect("a folder");
    let mut writer = FolderWriter::create(dir.path(), &header).expect("a new folder");
    intervals.iter().for_each(|interval| writer.interval(interval).expect("written"));
    writer.finish(&document).expect("finished");
    let lines = std::fs::read_to_string(dir.path().join("intervals.jsonl")).expect("lines");
    assert!(!lines.contains("timeline"));
    assert_eq!(report_part(dir.path(), None, None).expect("rebuilt"), document);
}
