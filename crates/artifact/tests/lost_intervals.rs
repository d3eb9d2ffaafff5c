//! What is not said of the figures of a run that has lost a machine.

mod machines;
mod support;

use machines::*;
use std::path::{Path, PathBuf};
use unblink_artifact::document::{
    Distribution, IntervalKind, PrecisionGoal, Quantile, RunDocument, ValidityStatus,
};
use unblink_artifact::folder::{merge, replay, report_part};
use unblink_artifact::tally::Ending;
use unblink_core::plan::{Plan, WorkerShares};
use unblink_core::record::Interval;
use unblink_core::sim::{EventSpec, ServerSpec, Service, WorldSpec, simulate};
use unblink_core::time::Nanos;

/// The load of each was ended by then, since enough was known.
const ENOUGH_S: u64 = 10;

/// One of five fails, and the others come event by event.
fn answered(plan: &Plan) -> Vec<Interval> {
    let events = EventSpec { count: 3, gap: Service::Constant(Nanos::from_millis(20)) };
    let server = ServerSpec {
        events: Some(events),
        error_one_in: 5,
        ..ServerSpec::new(Service::Constant(Nanos::from_millis(30)))
    };
    let mut intervals = Vec::new();
    simulate(plan, &WorldSpec::new(server), |interval| intervals.push(interval.clone()));
    intervals
}

/// A share of two, of which one may be lost; `until`: its record breaks off.
fn part(dir: &Path, first: u32, until: Option<usize>) -> PathBuf {
    let plan = share(first, 2);
    let mut header = header_of(&plan);
    header.agents[0].tolerate_lost = Some(1);
    header.plan.precision = Some(PrecisionGoal { quantile: 0.99, share: 0.05, minimum_ns: 1 });
    let (from, to) = (plan.measured_from(), Nanos::from_secs(ENOUGH_S));
    let ending = Ending {
        scheduled: plan.scheduled(from, to).map(|n| n.measured),
        scheduled_by_operation: plan.scheduled_apart(from, to).expect("two").by_operation,
        ended_after: to,
        ..ending_of(&plan, &header)
    };
    let stopped = plan_for(ENOUGH_S - 1).with_shares(WorkerShares { first, of: 2 }).expect("a plan");
    let ending = until.is_none().then_some(&ending);
    record_as(&dir.join(format!("{first} {until:?}")), &header, &answered(&stopped), ending, until)
}

/// Both, and the first beside what is left of the second.
fn whole_and_broken(dir: &Path) -> [RunDocument; 2] {
    let first = part(dir, 0, None);
    let merged = |name: &str, second| merge(&[first.clone(), second], &dir.join(name)).expect("mergeable");
    let both = [merged("whole", part(dir, 1, None)), merged("broken", part(dir, 1, Some(8)))];
    assert_eq!(both[0].arrivals.lost, 0);
    assert_ne!(both[0].validity.status, ValidityStatus::Invalid, "{:?}", both[0].validity.findings);
    assert!(both[1].arrivals.lost > 0);
    both
}

fn any(times: &Distribution, is: impl Fn(&Quantile) -> bool) -> bool {
    times.quantiles.iter().any(is)
}

fn all(times: &Distribution, is: impl Fn(&Quantile) -> bool) -> bool {
    !times.quantiles.is_empty() && times.quantiles.iter().all(is)
}

/// The interval spoke of the arrivals of the others as if they had been all.
#[test]
fn no_interval_is_told_where_machines_were_lost() {
    let dir = tempfile::tempdir().expect("a folder");
    let [whole, broken] = whole_and_broken(dir.path());
    let is_lost = |quantile: &Quantile| quantile.interval == Some(IntervalKind::Lost);
    let times = |document: &RunDocument| {
        let events = document.events.clone().expect("answers come event by event");
        let mut times = vec![document.response_time.clone(), document.service_time.clone()];
        times.extend([events.first, events.first_service, events.gap]);
        times.extend(document.operations.iter().map(|operation| operation.response_time.clone()));
        times
    };
    assert!(times(&whole).iter().all(|times| !any(times, is_lost)), "{:?}", whole.response_time);
    for times in times(&broken) {
        assert!(all(&times, is_lost), "{times:?}");
        assert!(!any(&times, |quantile| quantile.low.is_some() || quantile.high.is_some()), "{times:?}");
    }
    let broken = dir.path().join("broken");
    let part = |to| report_part(&broken, Some(Nanos::from_secs(1)), Some(Nanos::from_secs(to)));
    let before = part(7).expect("readable");
    assert!(!any(&before.response_time, is_lost), "nothing is lost yet: {:?}", before.response_time);
    let beyond = part(10).expect("readable");
    assert!(all(&beyond.response_time, is_lost), "{:?}", beyond.response_time);
}

/// A percentile that may be anything was "known within 5 %".
#[test]
fn a_goal_is_not_reached_by_some_of_the_machines() {
    let dir = tempfile::tempdir().expect("a folder");
    let [whole, broken] = whole_and_broken(dir.path()).map(|document| document.precision.expect("a goal"));
    assert!(whole.reached, "{whole:?}");
    assert!(!broken.reached && broken.share_found.is_none(), "{broken:?}");
    assert_eq!(whole.after_ns, broken.after_ns);
}

/// What is lost has its part in all arrivals, and in most pages.
#[test]
fn no_share_of_all_is_told_where_some_are_lost() {
    let dir = tempfile::tempdir().expect("a folder");
    let [whole, broken] = whole_and_broken(dir.path());
    let is_told = |quantile: &Quantile| quantile.answered_within.is_some();
    assert!(any(&whole.response_time, is_told), "{:?}", whole.response_time);
    assert!(!any(&broken.response_time, is_told), "{:?}", broken.response_time);
    let has_pages = |name: &str| {
        let (mut tally, ending) = replay(&dir.path().join(name), None, None).expect("readable");
        tally.set_fanout(10);
        tally.document(&ending).fanout.is_some()
    };
    assert_eq!([has_pages("whole"), has_pages("broken")], [true, false]);
}

/// Any of the lost arrivals may have been those of one request, as with its response times.
#[test]
fn first_events_of_one_request_have_a_range() {
    let dir = tempfile::tempdir().expect("a folder");
    let [whole, broken] = whole_and_broken(dir.path());
    let has_range = |quantile: &Quantile| quantile.if_lost_at_once.is_some();
    for (operation, of_whole) in broken.operations.iter().zip(&whole.operations) {
        let [events, events_of_whole] =
            [operation, of_whole].map(|operation| operation.events.as_ref().expect("they have events"));
        assert!(all(&operation.response_time, has_range), "{operation:?}");
        assert!(all(&events.first, has_range) && !any(&events.gap, has_range), "{events:?}");
        assert!(!any(&events_of_whole.first, has_range), "{events_of_whole:?}");
    }
    assert_eq!(broken.operations.len(), 2);
}
