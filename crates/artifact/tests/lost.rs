//! What is lost with a machine, and what figures can rest on then.

mod machines;
mod support;

use machines::*;
use std::path::{Path, PathBuf};
use support::RATE;
use unblink_artifact::document::{
    JourneyPlan, LoadPhase, LoadShape, OperationPlan, Quantile, RunDocument, RunStatus, StepPlan,
    ValidityStatus, Verdict, VerdictStatus,
};
use unblink_artifact::folder::{merge, read_folder, report_part};
use unblink_artifact::header::RunHeader;
use unblink_artifact::tally::Ending;
use unblink_core::dispatch::Pool;
use unblink_core::journey::{JourneySpec, Journeys, StepSpec, Think};
use unblink_core::mix::Mix;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec, WorkerShares};
use unblink_core::record::Interval;
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{EventSpec, ServerSpec, Service, WorldSpec, simulate};
use unblink_core::time::Nanos;

const STEPS: [&str; 3] = ["buy: a", "buy: b", "buy: c"];

/// Two of three requests follow another one. Between two of them somebody thinks, so that journeys are under way at any time.
fn with_journeys(seconds: u64, shares: WorkerShares) -> Plan {
    thinking(seconds, Nanos::from_millis(400), shares)
}

fn thinking(seconds: u64, think: Nanos, shares: WorkerShares) -> Plan {
    let think = Think::Constant(think);
    let steps = vec![StepSpec::ONCE, StepSpec { think, ..StepSpec::ONCE }, StepSpec::ONCE];
    let phases = vec![Phase::hold(Rate::per_second(RATE), Nanos::from_secs(seconds))];
    let each = vec![JourneySpec { steps, ..JourneySpec::default() }];
    Plan::new(PlanSpec {
        warmup: Nanos::from_secs(1),
        idempotent: vec![true; 3],
        mix: Mix { journeys: Journeys { each, ..Journeys::default() }, ..Mix::default() },
        ..PlanSpec::plain(
            LoadSpec::Open { phases, process: Process::Poisson { seed: 3 } },
            Pool::Auto { max: 20_000 },
            Nanos::from_secs(5),
        )
    })
    .expect("a valid plan")
    .with_shares(shares)
    .expect("there is such a share")
}

/// Answers take so long that some are under way wherever a record breaks off.
fn answered(plan: &Plan, events: Option<EventSpec>) -> Vec<Interval> {
    answered_by(ServerSpec { events, ..ServerSpec::new(Service::Constant(Nanos::from_millis(300))) }, plan)
}

fn answered_by(server: ServerSpec, plan: &Plan) -> Vec<Interval> {
    let mut intervals = Vec::new();
    simulate(plan, &WorldSpec::new(server), |interval| intervals.push(interval.clone()));
    intervals
}

fn asked(plan: &Plan, slos: &[&str]) -> RunHeader {
    let mut header = header_of(plan);
    header.agents[0].tolerate_lost = Some(1);
    header.objectives.slos = slos.iter().map(|slo| slo.to_string()).collect();
    if plan.journeys().is_some() {
        let operation = |name: &str| OperationPlan { name: name.into(), ..header.operations[0].clone() };
        header.operations = STEPS.map(operation).to_vec();
        let step = |name: &str| StepPlan {
            operation: name.into(),
            think: None,
            repeat_min: 1,
            repeat_max: 1,
            chance: None,
            exit: None,
            until: None,
            redirects: None,
            captures: Vec::new(),
        };
        header.journeys = vec![JourneyPlan {
            name: "buy".into(),
            share: None,
            under_way_max: 10_000,
            cookies: false,
            own_connection: false,
            hold_connection: false,
            steps: STEPS.map(step).to_vec(),
        }];
    }
    header
}

/// All of the share's load, ended as planned.
fn whole(dir: &Path, plan: &Plan, header: &RunHeader, intervals: &[Interval]) -> PathBuf {
    let totals = support::tally(header, intervals);
    let ending = ending_of(plan, header).with_followed(totals.totals());
    record_as(dir, header, intervals, Some(&ending), None)
}

/// Share 1 of `of`, counted from 0, and the others.
struct Shares {
    plans: Vec<Plan>,
    whole: Vec<PathBuf>,
    header: RunHeader,
    intervals: Vec<Interval>,
}

impl Shares {
    fn record(
        dir: &Path,
        of: u32,
        slos: &[&str],
        plan: impl Fn(WorkerShares) -> Plan,
        change: impl Fn(&mut RunHeader),
    ) -> Shares {
        let plans: Vec<Plan> = (0..of).map(|first| plan(WorkerShares { first, of })).collect();
        let header = |plan: &Plan| {
            let mut header = asked(plan, slos);
            change(&mut header);
            header
        };
        let one = |(number, plan): (usize, &Plan)| {
            whole(&dir.join(format!("share-{number}")), plan, &header(plan), &answered(plan, EVENTS))
        };
        Shares {
            whole: plans.iter().enumerate().map(one).collect(),
            header: header(&plans[1]),
            intervals: answered(&plans[1], EVENTS),
            plans,
        }
    }

    /// Its record breaks off after so many seconds.
    fn broken(&self, dir: &Path, seconds: usize) -> PathBuf {
        record_as(dir, &self.header, &self.intervals, None, Some(seconds))
    }

    fn due(&self) -> u64 {
        self.header.agents[0].due.expect("an open load")
    }
}

/// Those of three events, where a test asks for them.
const EVENTS: Option<EventSpec> =
    Some(EventSpec { count: 3, gap: Service::Constant(Nanos::from_millis(20)) });

fn verdict(document: &RunDocument) -> &Verdict {
    document.verdict.as_ref().expect("a verdict")
}

/// Nothing is decided, since nobody knows what was lost.
fn assert_undecided(document: &RunDocument) {
    for slo in &verdict(document).slos {
        assert_eq!(slo.status, VerdictStatus::Inconclusive, "{slo:?}");
        let is_said = slo.message.contains("of the lost arrivals");
        // What makes a run invalid may have moved a figure, too.
        let is_valid = document.validity.status != ValidityStatus::Invalid;
        assert!(is_said || !is_valid, "{slo:?}");
    }
    let times = [Some(&document.response_time), Some(&document.service_time)];
    let of_journeys = document.journeys.iter().map(|journey| Some(&journey.time));
    for times in times.into_iter().chain(of_journeys).flatten() {
        assert!(times.quantiles.iter().all(|quantile| !has_range(quantile)), "{:?}", times.quantiles);
    }
}

fn has_range(quantile: &Quantile) -> bool {
    quantile.if_lost_at_once.is_some() || quantile.if_lost_never.is_some()
}

fn message(document: &RunDocument) -> &str {
    let mut findings = document.validity.findings.iter();
    findings.find(|finding| finding.code == "agents_lost").map_or("", |finding| finding.message.as_str())
}

fn assert_reads_again(dir: &Path, document: &RunDocument) {
    let read = read_folder(dir).expect("readable");
    assert_eq!(read.final_document.as_ref(), Some(document));
    assert_eq!(&report_part(dir, None, None).expect("readable"), document);
}

/// Journeys that were under way when a machine died have begun, are at a step, and have no end.
#[test]
fn journeys_of_a_machine_that_died_add_up() {
    let dir = tempfile::tempdir().expect("a folder");
    let to = |name: &str| dir.path().join(name);
    let shares = Shares::record(dir.path(), 3, &["p50 < 2s"], |of| with_journeys(12, of), |_| ());
    let broken = shares.broken(&to("broken"), 5);
    let [first, last] = [0, 2].map(|number| shares.whole[number].clone());
    let document = merge(&[first.clone(), broken.clone(), last.clone()], &to("all")).expect("mergeable");
    assert!(!codes(&document).contains(&"accounting"), "{:?}", document.validity.findings);
    assert_eq!(document.validity.status, ValidityStatus::Degraded, "{:?}", document.validity.findings);
    assert_reads_again(&to("all"), &document);
    let account = document.journeys[0].account;
    let of_others = shares.plans.iter().step_by(2).map(|plan| ending_of(plan, &shares.header).scheduled);
    let of_others: u64 = of_others.map(|scheduled| scheduled.expect("an open load")).sum();
    assert!(account.unfinished > 0 && account.scheduled > of_others, "{account:?}");
    let steps = &document.journeys[0].steps;
    assert_eq!(steps[0].entered, account.scheduled);
    assert!(steps[0].unfinished > 0, "without an answer yet: {steps:?}");
    assert!(steps[0].passed > steps[1].passed && steps[1].passed >= steps[2].passed, "{steps:?}");
    // Whichever of them were merged before.
    let whole = merge(&shares.whole, &to("whole")).expect("mergeable");
    assert_eq!(whole.journeys[0].account.unfinished, 0);
    merge(&[broken, last], &to("node")).expect("mergeable");
    merge(&[to("node"), first], &to("two levels")).expect("mergeable");
    assert!(bytes(&to("two levels")) == bytes(&to("all")));
}

/// More requests than are missing had followed those that began, so that a difference of both was nothing.
#[test]
fn what_would_have_followed_is_not_known() {
    let dir = tempfile::tempdir().expect("a folder");
    let to = |name: &str| dir.path().join(name);
    let shares =
        Shares::record(dir.path(), 2, &["p50 < 2s", "errors < 50%"], |of| with_journeys(12, of), |_| ());
    let first = shares.whole[0].clone();
    let all = merge(&shares.whole, &to("all")).expect("mergeable");
    assert_eq!((verdict(&all).status, all.arrivals.lost), (VerdictStatus::Pass, 0), "{:?}", verdict(&all));

    let missing = merge(std::slice::from_ref(&first), &to("missing")).expect("mergeable");
    assert_eq!((missing.arrivals.lost, missing.status), (shares.due(), RunStatus::Complete));
    assert_undecided(&missing);

    let broken = shares.broken(&to("broken"), 11);
    let broken = merge(&[first.clone(), broken], &to("with broken")).expect("mergeable");
    let result = broken.agents[1].result.as_ref().expect("it was merged");
    // Two of thirteen seconds, and what was under way.
    let not_begun = shares.due() - result.begun.expect("counted");
    assert!(not_begun > RATE / 2 && not_begun < shares.due() / 3, "{not_begun}");
    assert!(broken.arrivals.lost > not_begun && broken.arrivals.lost < not_begun + RATE, "{result:?}");
    assert_undecided(&broken);
    assert!(
        message(&broken).contains("nor of the requests that would have followed"),
        "{}",
        message(&broken)
    );

    // Its user ended it.
    let (plan, stop) = (&shares.plans[1], Nanos::from_secs(9));
    let intervals = answered(&with_journeys(8, plan.shares()), EVENTS);
    let begun = plan.scheduled(plan.measured_from(), stop).expect("open").measured;
    let ending = Ending {
        status: RunStatus::Interrupted,
        scheduled: Some(begun),
        scheduled_by_operation: Vec::new(),
        ended_after: stop,
        ..ending_of(plan, &shares.header)
    };
    let totals = support::tally(&shares.header, &intervals);
    let ending = ending.with_followed(totals.totals());
    assert!(ending.scheduled > Some(shares.due()), "more requests than journeys were to begin");
    let stopped = record_as(&to("stopped"), &shares.header, &intervals, Some(&ending), None);
    let document = merge(&[first.clone(), stopped.clone()], &to("with stopped")).expect("mergeable");
    assert_eq!(document.arrivals.lost, shares.due() - begun);
    assert_undecided(&document);
    assert_reads_again(&to("with stopped"), &document);
    merge(&[stopped], &to("node")).expect("mergeable");
    merge(&[to("node"), first], &to("two levels")).expect("mergeable");
    assert!(bytes(&to("two levels")) == bytes(&to("with stopped")));
}

/// Between two steps nothing is due, and nothing is under way.
#[test]
fn journeys_that_think_when_their_machine_dies_are_lost() {
    let dir = tempfile::tempdir().expect("a folder");
    let to = |name: &str| dir.path().join(name);
    let share = |first| thinking(12, Nanos::from_millis(2_500), WorkerShares { first, of: 2 });
    let record = |name: &str, plan: Plan, until: Option<usize>| {
        let header = asked(&plan, &["p50 < 2s", "errors < 50%"]);
        let intervals = answered_by(ServerSpec::new(Service::Constant(Nanos(1))), &plan);
        match until {
            Some(_) => record_as(&to(name), &header, &intervals, None, until),
            None => whole(&to(name), &plan, &header, &intervals),
        }
    };
    // A second into the drain all have begun.
    let both = [record("0", share(0), None), record("1", share(1), Some(14))];
    let document = merge(&both, &to("merged")).expect("mergeable");
    assert_eq!(document.arrivals.lost, 0, "nothing was under way: {:?}", document.arrivals);
    assert!(document.agents[1].result.as_ref().is_some_and(|result| result.journeys_under_way > 0));
    assert_undecided(&document);
    assert!(message(&document).contains("what would have followed"), "{}", message(&document));
    for (from, until) in [(Some(1), None), (None, Some(15))] {
        let at = |seconds: Option<u64>| seconds.map(Nanos::from_secs);
        let part = report_part(&to("merged"), at(from), at(until)).expect("readable");
        assert_undecided(&part);
        assert!(message(&part).contains("of this part"), "{}", message(&part));
    }
    assert_reads_again(&to("merged"), &document);
}

/// Nobody knows what the users of a machine would have asked for, had it lived.
#[test]
fn what_closed_users_would_have_asked_is_not_counted() {
    let dir = tempfile::tempdir().expect("a folder");
    let to = |name: &str| dir.path().join(name);
    let no_schedule = |header: &mut RunHeader| {
        (header.agents[0].due, header.agents[0].due_of_all) = (None, None);
    };
    let slos = ["p50 < 2s", "errors < 50%"];
    let shares =
        Shares::record(dir.path(), 2, &slos, |WorkerShares { first, of }| share(first, of), no_schedule);
    let whole = merge(&shares.whole, &to("whole")).expect("mergeable");
    assert_eq!((whole.arrivals.lost, verdict(&whole).status), (0, VerdictStatus::Pass));
    let broken = shares.broken(&to("broken"), 5);
    let document = merge(&[shares.whole[0].clone(), broken], &to("merged")).expect("mergeable");
    assert_eq!(document.validity.status, ValidityStatus::Invalid, "{:?}", document.validity.findings);
    assert!(message(&document).contains("what came of their users' requests"), "{}", message(&document));
    assert!(!codes(&document).contains(&"accounting"));
    assert_undecided(&document);
    assert_reads_again(&to("merged"), &document);
}

/// An answer has many gaps, and one first event.
#[test]
fn lost_arrivals_are_no_count_of_gaps() {
    let dir = tempfile::tempdir().expect("a folder");
    let to = |name: &str| dir.path().join(name);
    let slos = ["gap p50 < 1s", "first p50 < 1s", "p50 < 2s"];
    let shares = Shares::record(dir.path(), 2, &slos, |WorkerShares { first, of }| share(first, of), |_| ());
    let broken = shares.broken(&to("broken"), 9);
    let document = merge(&[shares.whole[0].clone(), broken], &to("merged")).expect("mergeable");
    assert!(document.arrivals.lost > 0);
    let events = document.events.as_ref().expect("answers come event by event");
    let any = |times: &unblink_artifact::document::Distribution| times.quantiles.iter().any(has_range);
    assert!(!any(&events.gap), "{:?}", events.gap.quantiles);
    assert!(any(&events.first) && any(&document.response_time));
    let status: Vec<VerdictStatus> = verdict(&document).slos.iter().map(|slo| slo.status).collect();
    assert_eq!(status, [VerdictStatus::Inconclusive, VerdictStatus::Pass, VerdictStatus::Pass]);
    let whole = merge(&shares.whole, &to("whole")).expect("mergeable");
    assert_eq!(verdict(&whole).status, VerdictStatus::Pass, "{:?}", verdict(&whole));
}

/// While all machines were heard nothing is lost; of what came later nobody knows how much is.
#[test]
fn a_part_before_the_loss_is_whole() {
    let dir = tempfile::tempdir().expect("a folder");
    let to = |name: &str| dir.path().join(name);
    let slos = ["p50 < 2s"];
    let shares = Shares::record(dir.path(), 2, &slos, |WorkerShares { first, of }| share(first, of), |_| ());
    let broken = shares.broken(&to("broken"), 9);
    merge(&[shares.whole[0].clone(), broken], &to("merged")).expect("mergeable");
    merge(&shares.whole, &to("whole")).expect("mergeable");
    let part = |name: &str, from: Option<u64>, until: Option<u64>| {
        report_part(&to(name), from.map(Nanos::from_secs), until.map(Nanos::from_secs)).expect("readable")
    };
    let before = part("merged", Some(1), Some(9));
    assert_eq!((message(&before), verdict(&before).status), ("", VerdictStatus::Pass));
    assert_eq!(before.response_time, part("whole", Some(1), Some(9)).response_time);
    for (from, until) in [(Some(1), Some(10)), (Some(9), None), (None, Some(13))] {
        let after = part("merged", from, until);
        assert_undecided(&after);
        assert!(message(&after).contains("of this part"), "{}", message(&after));
    }
}

/// The level falls when a machine dies, since nobody tells of what it had under way: that is no target that catches up.
#[test]
fn a_target_that_falls_behind_is_found_though_a_machine_died() {
    let dir = tempfile::tempdir().expect("a folder");
    let to = |name: &str| dir.path().join(name);
    let record = |first: u32, until: Option<usize>| {
        let (plan, name) = (share(first, 2), format!("{first}-{until:?}"));
        let header = asked(&plan, &[]);
        // Of each machine's 50/s it answers 35/s.
        let one = ServerSpec::new(Service::Constant(Nanos::from_millis(1_000 / 35)));
        let intervals = answered_by(ServerSpec { slots: Some(1), ..one }, &plan);
        match until {
            Some(_) => record_as(&to(&name), &header, &intervals, None, until),
            None => whole(&to(&name), &plan, &header, &intervals),
        }
    };
    let (first, second) = (record(0, None), record(1, None));
    let all = merge(&[first.clone(), second], &to("all")).expect("mergeable");
    assert!(codes(&all).contains(&"saturated"), "{:?}", codes(&all));
    for died_s in [9, 11, 12] {
        let name = format!("died after {died_s}");
        let document = merge(&[first.clone(), record(1, Some(died_s))], &to(&name)).expect("mergeable");
        assert!(codes(&document).contains(&"saturated"), "{died_s}: {:?}", codes(&document));
        assert_reads_again(&to(&name), &document);
    }
}

/// "Recovered" when a machine died, with what it had under way.
#[test]
fn no_spike_recovers_because_a_machine_died() {
    let dir = tempfile::tempdir().expect("a folder");
    let to = |name: &str| dir.path().join(name);
    let spike = |header: &mut RunHeader| {
        let phase = LoadPhase { duration_ns: Nanos::from_secs(4).0, ..header.plan.phases[0].clone() };
        (header.plan.shape, header.plan.phases) = (Some(LoadShape::Spike), vec![phase; 3]);
    };
    let shares = Shares::record(dir.path(), 2, &[], |WorkerShares { first, of }| share(first, of), spike);
    assert!(merge(&shares.whole, &to("all")).expect("mergeable").shape.is_some());
    let both = [shares.whole[0].clone(), shares.broken(&to("broken"), 9)];
    assert_eq!(merge(&both, &to("with broken")).expect("mergeable").shape, None);
}

/// The rows of operations add up to the account of all, whose machine's record breaks off while answers are under way.
#[test]
fn operations_add_up_to_the_account() {
    let dir = tempfile::tempdir().expect("a folder");
    let to = |name: &str| dir.path().join(name);
    let shares = Shares::record(dir.path(), 3, &[], |WorkerShares { first, of }| share(first, of), |_| ());
    let broken = shares.broken(&to("broken"), 9);
    let [first, last] = [0, 2].map(|number| shares.whole[number].clone());
    let document = merge(&[first.clone(), broken.clone(), last.clone()], &to("all")).expect("mergeable");
    assert_eq!(document.operations.len(), 2);
    let rows = document.operations.iter().map(|operation| operation.arrivals.scheduled.expect("counted"));
    assert_eq!(rows.sum::<u64>(), document.arrivals.scheduled - document.arrivals.lost);
    assert!(!codes(&document).contains(&"accounting"));
    assert_reads_again(&to("all"), &document);
    merge(&[broken, last], &to("node")).expect("mergeable");
    merge(&[to("node"), first], &to("two levels")).expect("mergeable");
    assert!(bytes(&to("two levels")) == bytes(&to("all")));
}
