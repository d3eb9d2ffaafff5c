//! Merges of merges are the merge, whatever became of the machines.

mod machines;
mod support;

use machines::*;
use std::path::{Path, PathBuf};
use unblink_artifact::document::{Aborted, GuardKind, RunDocument, RunStatus, VerdictStatus};
use unblink_artifact::folder::{merge, read_folder, report_part};
use unblink_artifact::tally::{Ending, OriginEnding};
use unblink_core::record::ConnectionLevels;
use unblink_core::time::Nanos;

const SHARES: u32 = 4;

/// What became of a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// It went on to the planned end.
    Whole,
    /// Its record breaks off behind so many intervals.
    Cut(usize),
    /// Its lease ran out after so many seconds.
    Cutoff(u64),
    /// The target did not answer its request before the run.
    Unanswered,
    /// Its folder is not here.
    Missing,
}

use Fate::{Cut, Cutoff, Missing, Unanswered, Whole};

/// The folder of a share to which that happened; it is made once.
fn folder(dir: &Path, number: u32, fate: Fate) -> Option<PathBuf> {
    let (to, plan) = (dir.join(format!("{number} {fate:?}")), share(number, SHARES));
    if fate == Missing || to.exists() {
        return (fate != Missing).then_some(to);
    }
    let mut header = header_of(&plan);
    header.objectives.slos = vec!["p50 < 1s".into()];
    let whole = ending_of(&plan, &header);
    Some(match fate {
        Missing => unreachable!("it has no folder"),
        Whole => record_as(&to, &header, &simulated(&plan), Some(&whole), None),
        Cut(intervals) => record_as(&to, &header, &simulated(&plan), None, Some(intervals)),
        Cutoff(stop_s) => {
            let (from, stop) = (plan.measured_from(), Nanos::from_secs(stop_s));
            let scheduled = |from, to| plan.scheduled(from, to).expect("open").measured;
            let ending = Ending {
                status: RunStatus::Aborted,
                scheduled: Some(scheduled(from, stop)),
                scheduled_by_operation: plan.scheduled_apart(from, stop).expect("two").by_operation,
                ended_after: stop,
                withheld: scheduled(stop, plan.load_length()),
                aborted: Some(Aborted {
                    rule: format!("why {number}"),
                    at_ns: stop.0,
                    guard: Some(GuardKind::Lease),
                }),
                ..whole
            };
            let until = plan_for(stop_s - 1).with_shares(plan.shares()).expect("a plan");
            record_as(&to, &header, &simulated(&until), Some(&ending), None)
        }
        Unanswered => {
            let preflight = Some(format!("GET / was not answered ({number})"));
            let ending = Ending {
                status: RunStatus::Complete,
                scheduled: Some(0),
                origins: vec![OriginEnding { preflight, ..OriginEnding::default() }],
                ..Ending::unknown(&header, Nanos::ZERO)
            };
            record_as(&to, &header, &[], Some(&ending), None)
        }
    })
}

/// Every way to merge some of four before the rest: pairs, three, and one after the other; and each alone first.
const GROUPINGS: [&[&[u32]]; 6] = [
    &[&[0, 1], &[2, 3]],
    &[&[0, 2], &[1, 3]],
    &[&[0, 3], &[1, 2]],
    &[&[0], &[1, 2, 3]],
    &[&[2], &[0, 1, 3]],
    &[&[0], &[1], &[2], &[3]],
];

/// The merge of all that are here. However they are grouped, it is the same.
fn merged(dir: &Path, fates: [Fate; 4]) -> RunDocument {
    let part = |number: u32| folder(dir, number, fates[number as usize]);
    let to = |name: &str| dir.join(format!("{fates:?} {name}"));
    let all: Vec<PathBuf> = (0..SHARES).filter_map(part).collect();
    let direct = to("direct");
    let document = merge(&all, &direct).expect("parts of one run");
    for (number, grouping) in GROUPINGS.iter().enumerate() {
        let mut nodes = Vec::new();
        for (place, group) in grouping.iter().enumerate() {
            let parts: Vec<PathBuf> = group.iter().copied().filter_map(part).collect();
            if parts.is_empty() {
                continue;
            }
            let node = to(&format!("node {number}.{place}"));
            merge(&parts, &node).unwrap_or_else(|error| panic!("{fates:?} {group:?}: {error}"));
            nodes.push(node);
        }
        let via = to(&format!("via {number}"));
        let of_nodes = merge(&nodes, &via).expect("parts of one run");
        assert_eq!(of_nodes, document, "{fates:?} {grouping:?}");
        assert!(bytes(&via) == bytes(&direct), "{fates:?} {grouping:?}");
    }
    assert_eq!(report_part(&direct, None, None).expect("readable"), document, "{fates:?}");
    document
}

/// Two that broke off have no end, and what the others say of theirs is not overruled by that.
#[test]
fn a_merge_of_merges_is_the_merge_whatever_became_of_the_machines() {
    let dir = tempfile::tempdir().expect("a folder");
    let status = |fates: [Fate; 4]| merged(dir.path(), fates).status;
    assert_eq!(status([Whole, Cut(5), Cut(3), Whole]), RunStatus::Complete);
    assert_eq!(status([Whole, Whole, Cut(3), Cut(7)]), RunStatus::Complete);
    assert_eq!(status([Whole, Cut(5), Missing, Cut(0)]), RunStatus::Complete);
    assert_eq!(status([Cut(5), Cut(3), Cut(7), Cut(3)]), RunStatus::Interrupted);
    assert_eq!(status([Cut(5), Missing, Missing, Cut(3)]), RunStatus::Interrupted);
    assert_eq!(status([Cutoff(5), Cut(3), Cut(7), Missing]), RunStatus::Aborted);
    assert_eq!(status([Whole, Cutoff(5), Cut(3), Cutoff(6)]), RunStatus::Aborted);
    assert_eq!(status([Whole, Unanswered, Unanswered, Whole]), RunStatus::Complete);
    assert_eq!(status([Unanswered, Cut(3), Missing, Unanswered]), RunStatus::Interrupted);
    assert_eq!(status([Cut(3), Unanswered, Cutoff(5), Whole]), RunStatus::Aborted);
}

/// Of two stops at one instant that of the machine which came first in some node was told.
#[test]
fn of_stops_at_one_instant_always_the_same_is_told() {
    let dir = tempfile::tempdir().expect("a folder");
    let rule = |fates: [Fate; 4]| merged(dir.path(), fates).aborted.map(|aborted| aborted.rule);
    assert_eq!(rule([Whole, Cutoff(5), Cutoff(5), Whole]).as_deref(), Some("why 1"));
    assert_eq!(rule([Cutoff(4), Cutoff(6), Cutoff(5), Cutoff(6)]).as_deref(), Some("why 1"));
    assert_eq!(rule([Cutoff(5), Cutoff(4), Cutoff(6), Cutoff(6)]).as_deref(), Some("why 2"));
}

/// A target that answered no machine has failed as it fails for one; one that answered some of them was there, and the others are lost.
#[test]
fn a_target_that_answers_no_machine_has_failed() {
    let dir = tempfile::tempdir().expect("a folder");
    let alone = folder(dir.path(), 0, Unanswered).expect("a folder");
    let alone = report_part(&alone, None, None).expect("readable");
    for fates in [[Unanswered; 4], [Unanswered, Missing, Unanswered, Unanswered]] {
        let document = merged(dir.path(), fates);
        assert_eq!(document.status, RunStatus::Complete, "{fates:?}");
        assert_eq!(document.preflight(), alone.preflight(), "{fates:?}");
        assert_eq!(document.verdict.as_ref().map(|verdict| verdict.status), Some(VerdictStatus::Fail));
        assert_eq!((document.verdict, &document.arrivals), (alone.verdict.clone(), &alone.arrivals));
        assert_eq!(document.validity, alone.validity, "{fates:?}");
    }
    for fates in [[Unanswered, Whole, Unanswered, Unanswered], [Unanswered, Cut(3), Unanswered, Unanswered]] {
        let document = merged(dir.path(), fates);
        assert!(document.preflight().is_none() && document.arrivals.lost > 0, "{fates:?}");
        assert!(codes(&document).contains(&"agents_lost"), "{:?}", codes(&document));
        assert_ne!(document.verdict.map(|verdict| verdict.status), Some(VerdictStatus::Fail), "{fates:?}");
    }
}

/// Those that it had are no reconnects of another one that needs more later.
#[test]
fn a_machine_that_has_ended_did_have_its_connections() {
    let dir = tempfile::tempdir().expect("a folder");
    // How many a machine has in its first seconds, and later.
    let part = |number: u32, [early, late]: [u64; 2], until: Option<usize>| {
        let plan = share(number, 2);
        let mut intervals = simulated(&plan);
        let mut before = 0;
        for (interval, place) in intervals.iter_mut().zip(0..) {
            let connections = if place < 6 { early } else { late };
            interval.bank.counters.origins[0].opened = connections - before;
            interval.gauges.origins[0] = ConnectionLevels { connections, connections_peak: connections };
            before = connections;
        }
        record(&dir.path().join(format!("{number} {until:?}")), &plan, &intervals, until)
    };
    let first = part(0, [3, 7], None);
    for until in [None, Some(4), Some(1)] {
        let to = dir.path().join(format!("merged {until:?}"));
        let second = part(1, [4, 4], until);
        let document = merge(&[first.clone(), second], &to).expect("parts of one run");
        let connections = &document.origin().connections;
        assert_eq!((connections.opened, connections.peak, connections.reconnects), (11, 11, 0), "{until:?}");
        // What it had when it broke off, it has no more.
        let mut last = 0;
        let read = read_folder(&to).expect("readable").for_each_interval(|interval| {
            last = interval.gauges.connections();
        });
        read.expect("whole");
        assert!(until.is_none() || last == 7, "{until:?} {last}");
    }
}
