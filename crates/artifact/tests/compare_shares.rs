//! What only some of a load's machines have measured is not compared as if it were a run.

mod machines;
mod support;

use machines::*;
use std::path::{Path, PathBuf};
use unblink_artifact::compare::{
    CompareDocument, CompareSpec, ComparisonOutcome, compare, left_out, target_failed,
};
use unblink_artifact::document::Tool;
use unblink_artifact::folder::{HLOG_FILE, LINES_FILE, merge};
use unblink_core::record::Interval;
use unblink_core::sim::{ServerSpec, Service, WorldSpec, simulate};
use unblink_core::time::Nanos;

/// The shares of a run that began at this second, each of which may be lost.
fn parts(dir: &Path, second: u32) -> Vec<PathBuf> {
    let one = |number: u32| {
        let plan = share(number, 3);
        let mut header = header_of(&plan);
        header.started_at = format!("2026-11-20T09:15:{second:02}Z");
        header.agents[0].start_at.clone_from(&header.started_at);
        header.agents[0].tolerate_lost = Some(1);
        let to = dir.join(format!("{second} {number}"));
        record_as(&to, &header, &simulated(&plan), Some(&ending_of(&plan, &header)), None)
    };
    (0..3).map(one).collect()
}

fn compared(baseline: &Path, candidate: &Path) -> CompareDocument {
    let spec = CompareSpec {
        baseline: vec![baseline.to_path_buf()],
        candidate: vec![candidate.to_path_buf()],
        quantile: 0.99,
        request: None,
        effect_min: 0.05,
        a_a: false,
        interrupted: false,
        tool: Tool { name: "unblink".into(), version: "0.1.0".into(), commit: None },
        command: Vec::new(),
    };
    compare(&spec).expect("runs of one load")
}

#[test]
fn a_share_and_a_run_that_lacks_one_do_not_count() {
    let dir = tempfile::tempdir().expect("a folder");
    let (one, two) = (parts(dir.path(), 1), parts(dir.path(), 2));
    let to = |name: &str| dir.path().join(name);
    let (whole, again, lacking) = (to("whole"), to("again"), to("lacking"));
    merge(&one, &whole).expect("mergeable");
    merge(&two, &again).expect("mergeable");
    let lost = merge(&two[1..], &lacking).expect("mergeable").arrivals.lost;
    assert!(lost > 0);

    let of_wholes = compared(&whole, &again);
    assert_eq!(of_wholes.candidate.runs[0].left_out, None);
    assert!(!of_wholes.lines.is_empty());
    // Nobody knows whether the others were there, not even of the same share twice.
    for (baseline, candidate) in [(&one[0], &again), (&one[0], &two[0])] {
        let document = compared(baseline, candidate);
        let why = document.baseline.runs[0].left_out.clone().expect("it does not count");
        assert!(why.contains("share 1 of 3") && why.contains("unblink merge"), "{why}");
        assert_eq!((document.outcome, &document.lines[..]), (ComparisonOutcome::NoVerdict, &[][..]));
    }
    let document = compared(&whole, &lacking);
    let why = document.candidate.runs[0].left_out.clone().expect("it does not count");
    assert!(why.contains("not known") && !document.candidate.runs[0].folder.is_empty(), "{why}");
    assert_eq!((document.outcome, &document.lines[..]), (ComparisonOutcome::NoVerdict, &[][..]));
}

/// A machine that broke off leaves less than the whole, too, though what is missing may be lost.
#[test]
fn a_run_of_which_a_machine_broke_off_does_not_count() {
    let dir = tempfile::tempdir().expect("a folder");
    let whole = dir.path().join("whole");
    merge(&parts(dir.path(), 1), &whole).expect("mergeable");
    let parts = parts(dir.path(), 2);
    for name in [LINES_FILE, HLOG_FILE] {
        let file = parts[1].join(name);
        let text = std::fs::read_to_string(&file).expect("text");
        let lines: Vec<&str> = text.lines().collect();
        std::fs::write(&file, lines[..lines.len() / 2].join("\n") + "\n").expect("cut");
    }
    let broken = dir.path().join("with broken");
    let document = merge(&parts, &broken).expect("mergeable");
    assert!(document.arrivals.lost > 0 && document.arrivals.lost < document.arrivals.scheduled / 3);
    let document = compared(&whole, &broken);
    assert!(document.candidate.runs[0].left_out.is_some() && document.lines.is_empty(), "{document:?}");
}

/// A target that answers nothing to those that are left may have answered the others: it was a regression.
#[test]
fn a_target_that_fails_for_some_machines_has_not_failed() {
    let dir = tempfile::tempdir().expect("a folder");
    let part = |number: u32| {
        let plan = share(number, 3);
        let mut header = header_of(&plan);
        header.agents[0].tolerate_lost = Some(1);
        let server =
            ServerSpec { error_one_in: 1, ..ServerSpec::new(Service::Constant(Nanos::from_millis(10))) };
        let mut intervals: Vec<Interval> = Vec::new();
        simulate(&plan, &WorldSpec::new(server), |interval| intervals.push(interval.clone()));
        let ending = ending_of(&plan, &header);
        record_as(&dir.path().join(format!("{number}")), &header, &intervals, Some(&ending), None)
    };
    let parts: Vec<PathBuf> = (0..3).map(part).collect();
    let whole = merge(&parts, &dir.path().join("whole")).expect("mergeable");
    assert!(target_failed(&whole).is_some(), "{:?}", whole.validity.findings);
    let lacking = merge(&parts[1..], &dir.path().join("lacking")).expect("mergeable");
    assert!(lacking.arrivals.lost > 0 && codes(&lacking).contains(&"agents_lost"));
    assert_eq!(target_failed(&lacking), None, "{:?}", lacking.validity.findings);
    assert!(left_out(&lacking).is_some());
}
