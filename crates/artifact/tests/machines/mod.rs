//! Machines that each record a share of one run.

#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use crate::support::{RATE, header};
use std::path::{Path, PathBuf};
use unblink_artifact::document::{self, AgentPlan, LoadKind, RunDocument, RunStatus};
use unblink_artifact::folder::{FolderWriter, HLOG_FILE, LINES_FILE, RUN_FILE};
use unblink_artifact::header::RunHeader;
use unblink_artifact::tally::{Ending, Tally};
use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec, WorkerShares};
use unblink_core::record::Interval;
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{ServerSpec, Service, WorldSpec, simulate};
use unblink_core::time::{MILLISECOND_NS, Nanos};

pub(crate) const SECONDS: u64 = 12;

pub(crate) fn plan() -> Plan {
    plan_for(SECONDS)
}

/// The same load for so many seconds after its warm-up.
pub(crate) fn plan_for(seconds: u64) -> Plan {
    let phases = vec![Phase::hold(Rate::per_second(RATE), Nanos::from_secs(seconds))];
    Plan::new(PlanSpec {
        warmup: Nanos::from_secs(1),
        idempotent: vec![true, true],
        ..PlanSpec::plain(
            LoadSpec::Open { phases, process: Process::Poisson { seed: 3 } },
            Pool::Auto { max: 20_000 },
            Nanos::from_secs(5),
        )
    })
    .expect("a valid plan")
}

pub(crate) fn share(first: u32, of: u32) -> Plan {
    plan().with_shares(WorkerShares { first, of }).expect("there is such a share")
}

pub(crate) fn simulated(plan: &Plan) -> Vec<Interval> {
    let server = ServerSpec::new(Service::Constant(Nanos(10 * MILLISECOND_NS)));
    let mut intervals = Vec::new();
    simulate(plan, &WorldSpec::new(server), |interval| intervals.push(interval.clone()));
    intervals
}

pub(crate) fn header_of(plan: &Plan) -> RunHeader {
    let mut header = header(SECONDS, 1);
    if let LoadKind::Open { process, .. } = &mut header.loads[0].kind {
        *process = document::Process::Poisson { seed: 3 };
    }
    let WorkerShares { first, of } = plan.shares();
    if !plan.is_whole() {
        header.command.push(format!("--share {}/{of}", first + 1));
        header.agents = vec![agent_of(plan, &header)];
    }
    header
}

/// The machine that has the shares of `plan`.
pub(crate) fn agent_of(plan: &Plan, header: &RunHeader) -> AgentPlan {
    let (from, to) = (plan.measured_from(), plan.load_length());
    let WorkerShares { first, of } = plan.shares();
    AgentPlan {
        first: first + 1,
        last: first + 1,
        of,
        start_at: header.started_at.clone(),
        clock_offset_ns: None,
        clock_error_ns: None,
        due: plan.scheduled(from, to).map(|n| n.measured),
        due_of_all: plan.scheduled_of_all(from, to).map(|n| n.measured),
        tolerate_lost: None,
        asked_sha256: Some("0a".repeat(32)),
        command: header.command.clone(),
        environment: header.environment.clone(),
    }
}

pub(crate) fn ending_of(plan: &Plan, header: &RunHeader) -> Ending {
    let (from, to) = (plan.measured_from(), plan.load_length());
    let scheduled = plan.scheduled(from, to).expect("open");
    Ending {
        status: RunStatus::Complete,
        scheduled: Some(scheduled.measured),
        scheduled_warmup: Some(scheduled.warmup),
        scheduled_by_operation: plan
            .scheduled_apart(from, to)
            .map(|apart| apart.by_operation)
            .unwrap_or_default(),
        steal_share: Some(0.0),
        ..Ending::unknown(header, to)
    }
}

/// The record of a machine, whose run was killed before `until` if that is given.
pub(crate) fn record(dir: &Path, plan: &Plan, intervals: &[Interval], until: Option<usize>) -> PathBuf {
    let header = header_of(plan);
    let ending = until.is_none().then(|| ending_of(plan, &header));
    record_as(dir, &header, intervals, ending.as_ref(), until)
}

pub(crate) fn record_as(
    dir: &Path,
    header: &RunHeader,
    intervals: &[Interval],
    ending: Option<&Ending>,
    until: Option<usize>,
) -> PathBuf {
    let mut writer = FolderWriter::create(dir, header).expect("a new folder");
    let mut tally = Tally::new(header.clone());
    for interval in intervals.iter().take(until.unwrap_or(usize::MAX)) {
        tally.add(interval);
        writer.interval(interval).expect("written");
    }
    if let Some(ending) = ending {
        writer.finish(&tally.document(ending)).expect("written");
    }
    dir.to_path_buf()
}

pub(crate) fn shares(dir: &Path, of: u32) -> Vec<PathBuf> {
    let one = |first| {
        let plan = share(first, of);
        record(&dir.join(format!("share-{first}")), &plan, &simulated(&plan), None)
    };
    (0..of).map(one).collect()
}

pub(crate) fn bytes(dir: &Path) -> [Vec<u8>; 3] {
    [RUN_FILE, HLOG_FILE, LINES_FILE].map(|name| std::fs::read(dir.join(name)).expect("it is there"))
}

pub(crate) fn codes(document: &RunDocument) -> Vec<&str> {
    document.validity.findings.iter().map(|finding| finding.code.as_str()).collect()
}
