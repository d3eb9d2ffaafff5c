//! Machines whose load was stopped while that of others went on.

mod machines;
mod support;

use machines::*;
use std::path::{Path, PathBuf};
use unblink_artifact::document::{Aborted, GuardKind, RunDocument, RunStatus, ValidityStatus, VerdictStatus};
use unblink_artifact::folder::{merge, read_folder, replay, report_part};
use unblink_artifact::tally::Ending;
use unblink_core::plan::Plan;
use unblink_core::time::Nanos;

/// What the share sends until it is stopped after so many seconds.
fn until(share: &Plan, stop_s: u64) -> Plan {
    // The warm-up is a second of it.
    plan_for(stop_s - 1).with_shares(share.shares()).expect("a plan")
}

/// A share that a guard stopped.
fn stopped(dir: &Path, share: &Plan, stop_s: u64, guard: GuardKind, tolerate: Option<u32>) -> PathBuf {
    stopped_by(dir, share, stop_s, Some(guard), tolerate)
}

/// The same, or one that its user stopped: then its account ends there.
fn stopped_by(
    dir: &Path,
    share: &Plan,
    stop_s: u64,
    guard: Option<GuardKind>,
    tolerate: Option<u32>,
) -> PathBuf {
    let mut header = header_of(share);
    header.agents[0].tolerate_lost = tolerate;
    header.objectives.slos = vec!["p50 < 1s".into()];
    let (from, stop) = (share.measured_from(), Nanos::from_secs(stop_s));
    let scheduled = |from, to| share.scheduled(from, to).expect("open").measured;
    let ending = Ending {
        status: if guard.is_some() { RunStatus::Aborted } else { RunStatus::Interrupted },
        scheduled: Some(scheduled(from, stop)),
        scheduled_by_operation: share.scheduled_apart(from, stop).expect("two operations").by_operation,
        ended_after: stop,
        withheld: guard.map_or(0, |_| scheduled(stop, share.load_length())),
        aborted: guard.map(|guard| Aborted { rule: "why".into(), at_ns: stop.0, guard: Some(guard) }),
        ..ending_of(share, &header)
    };
    record_as(dir, &header, &simulated(&until(share, stop_s)), Some(&ending), None)
}

fn whole(dir: &Path, share: &Plan, tolerate: Option<u32>) -> PathBuf {
    let mut header = header_of(share);
    header.agents[0].tolerate_lost = tolerate;
    header.objectives.slos = vec!["p50 < 1s".into()];
    let ending = ending_of(share, &header);
    record_as(dir, &header, &simulated(share), Some(&ending), None)
}

/// Two shares of two, of which the second was stopped, or both.
fn merged(place: &Path, stops: [Option<u64>; 2], guard: GuardKind, tolerate: Option<u32>) -> RunDocument {
    let one = |number: u32| {
        let (share, dir) = (share(number, 2), place.join(format!("share-{number}")));
        match stops[number as usize] {
            Some(stop_s) => stopped(&dir, &share, stop_s, guard, tolerate),
            None => whole(&dir, &share, tolerate),
        }
    };
    merge(&[one(0), one(1)], &place.join("merged")).expect("mergeable")
}

fn status_with(document: &RunDocument) -> (RunStatus, ValidityStatus, bool) {
    (document.status, document.validity.status, codes(document).contains(&"agents_lost"))
}

/// Whatever stopped it: from then on half of the load met the target, and no figure of the whole run is that of the whole load.
#[test]
fn a_load_that_was_offered_by_some_alone_is_not_valid() {
    let place = tempfile::tempdir().expect("a folder");
    for guard in [GuardKind::Lease, GuardKind::Coordinator, GuardKind::BudgetErrors] {
        let document = merged(&place.path().join(format!("{guard:?}")), [None, Some(5)], guard, None);
        assert_eq!(status_with(&document), (RunStatus::Aborted, ValidityStatus::Degraded, true), "{guard:?}");
        let message =
            &document.validity.findings.iter().find(|of| of.code == "agents_lost").expect("it").message;
        let withheld = document.arrivals.withheld;
        assert!(withheld > 0 && document.arrivals.lost == 0, "{:?}", document.arrivals);
        assert!(message.contains("ended 8\u{a0}s before"), "{message}");
        assert_eq!(document.arrivals.scheduled, document.agents[0].plan.due_of_all.expect("open"));
    }
    // Of which nothing is wrong before that.
    let part = replay(&place.path().join("Lease/merged"), None, Some(Nanos::from_secs(4))).expect("readable");
    assert!(!codes(&part.0.document(&part.1)).contains(&"agents_lost"));
}

/// A stop at one instant, and leases that end within a moment of each other.
#[test]
fn all_stopped_together_are_no_loss() {
    let place = tempfile::tempdir().expect("a folder");
    let document = merged(place.path(), [Some(5), Some(5)], GuardKind::Coordinator, None);
    assert_eq!(status_with(&document), (RunStatus::Aborted, ValidityStatus::Valid, false));
}

/// More is known of a machine that was cut off for a while than of one that is lost, and so it spoils no more.
#[test]
fn one_that_was_cut_off_may_be_tolerated() {
    let place = tempfile::tempdir().expect("a folder");
    let document = merged(&place.path().join("one"), [None, Some(5)], GuardKind::Lease, Some(1));
    assert_eq!(status_with(&document), (RunStatus::Complete, ValidityStatus::Degraded, true));
    assert!(document.aborted.is_none());
    let arrivals = &document.arrivals;
    assert!(arrivals.lost > 0 && arrivals.withheld == 0, "{arrivals:?}");
    assert_eq!(arrivals.scheduled, document.agents[0].plan.due_of_all.expect("open"));
    let median = document.response_time.quantiles.iter().find(|of| of.q == 0.5).expect("a median");
    assert!(median.if_lost_at_once.is_some() && median.if_lost_never.is_some(), "{median:?}");
    // The folder says the same again, and once more when it is merged.
    let dir = place.path().join("one/merged");
    let run = read_folder(&dir).expect("readable");
    let (tally, ending) = replay(&dir, None, None).expect("readable");
    assert_eq!(tally.document(&ending), document);
    assert_eq!(run.final_document.as_ref(), Some(&document));
    let again = merge(std::slice::from_ref(&dir), &place.path().join("again")).expect("mergeable");
    assert_eq!(again, document);
    assert_eq!(bytes(&dir), bytes(&place.path().join("again")));
    // Two are one more than may be, and what stopped it was not only that it was cut off.
    let both = merged(&place.path().join("both"), [Some(5), Some(8)], GuardKind::Lease, Some(1));
    assert_eq!(both.status, RunStatus::Aborted);
    let stopped = merged(&place.path().join("stopped"), [None, Some(5)], GuardKind::KillFile, Some(1));
    assert_eq!(stopped.status, RunStatus::Aborted);
}

/// A machine whose user ended it is not what the whole load would have shown, whatever the others measured.
#[test]
fn no_objective_is_met_by_a_part_of_the_load() {
    let place = tempfile::tempdir().expect("a folder");
    for (tolerate, status) in [(None, RunStatus::Interrupted), (Some(1), RunStatus::Complete)] {
        let to = |name: &str| place.path().join(format!("{name}-{tolerate:?}"));
        let all = whole(&to("0"), &share(0, 2), tolerate);
        let ended = stopped_by(&to("1"), &share(1, 2), 5, None, tolerate);
        let document = merge(&[all, ended], &to("merged")).expect("mergeable");
        assert_eq!(status_with(&document), (status, ValidityStatus::Degraded, true));
        let arrivals = &document.arrivals;
        assert_eq!(arrivals.scheduled, document.agents[0].plan.due_of_all.expect("open"));
        assert_eq!((arrivals.withheld > 0, arrivals.lost > 0), (tolerate.is_none(), tolerate.is_some()));
        let verdict = document.verdict.as_ref().expect("a verdict");
        // A third of the arrivals may have been anything, and the median is known all the same.
        let expected = if tolerate.is_some() { VerdictStatus::Pass } else { VerdictStatus::Inconclusive };
        assert_eq!(verdict.status, expected, "{verdict:?}");
        let said = &verdict.slos[0].message;
        assert_eq!(said.contains("stopped before"), tolerate.is_none(), "{said}");
        let (tally, ending) = replay(&to("merged"), None, None).expect("readable");
        assert_eq!(tally.document(&ending), document);
        for (from, until) in [(Some(5), None), (Some(1), None), (None, Some(13))] {
            let part = report_part(&to("merged"), from.map(Nanos::from_secs), until.map(Nanos::from_secs));
            let verdict = part.expect("readable").verdict.expect("a verdict");
            assert_eq!(verdict.status, VerdictStatus::Inconclusive, "{from:?} {until:?} {verdict:?}");
        }
        let before = report_part(&to("merged"), None, Some(Nanos::from_secs(4))).expect("readable");
        assert_eq!(before.verdict.expect("a verdict").status, VerdictStatus::Pass);
        merge(&[to("merged")], &to("again")).expect("mergeable");
        assert!(bytes(&to("merged")) == bytes(&to("again")), "{tolerate:?}");
    }
}

/// Whichever of them were merged before, tolerated there or not.
#[test]
fn two_levels_say_the_same_of_it() {
    for tolerate in [None, Some(1), Some(2)] {
        let place = tempfile::tempdir().expect("a folder");
        let to = |name: &str| place.path().join(name);
        let [first, last] =
            [0, 2].map(|number| whole(&to(&format!("{number}")), &share(number, 3), tolerate));
        let cut_off = stopped(&to("1"), &share(1, 3), 5, GuardKind::Lease, tolerate);
        let all = merge(&[first.clone(), cut_off.clone(), last.clone()], &to("all")).expect("mergeable");
        let status = if tolerate.is_some() { RunStatus::Complete } else { RunStatus::Aborted };
        assert_eq!(status_with(&all), (status, ValidityStatus::Degraded, true), "{tolerate:?}");
        merge(&[cut_off, last], &to("some")).expect("mergeable");
        merge(&[to("some"), first], &to("in two levels")).expect("mergeable");
        assert!(bytes(&to("in two levels")) == bytes(&to("all")), "{tolerate:?}");
    }
}
