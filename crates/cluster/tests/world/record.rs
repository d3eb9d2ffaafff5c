//! What an agent records, in a folder as the program writes it, and how it says that its run has ended.

use super::lease::Lease;
use super::{INTERRUPTED, SECOND};
use std::path::{Path, PathBuf};
use unblink_artifact::document::{Aborted, ClockReading, GuardKind, RunStatus};
use unblink_artifact::folder::{FolderWriter, HLOG_FILE, LINES_FILE, RUN_FILE};
use unblink_artifact::header::RunHeader;
use unblink_artifact::tally::{Ending, Tally};
use unblink_cluster::message::{Ended, Offer, Reading, Time};
use unblink_cluster::record::{Outbox, Place, ends};
use unblink_core::plan::{LoadSpec, Plan};
use unblink_core::record::Interval;
use unblink_core::schedule::Process;
use unblink_core::time::Nanos;

/// What a record consists of.
pub(super) const NAMES: [&str; 3] = [RUN_FILE, LINES_FILE, HLOG_FILE];

/// The record of one agent.
pub(super) struct Record {
    pub(super) dir: PathBuf,
    /// While the run goes on.
    writing: Option<(FolderWriter, Tally)>,
    pub(super) outbox: Outbox,
    /// What is under way to the bus, and when it is said again.
    pub(super) under_way: Option<(Place, u64)>,
}

impl Record {
    pub(super) fn begin(dir: PathBuf, header: RunHeader) -> Record {
        let writer = FolderWriter::create(&dir, &header).expect("a new folder");
        let outbox = Outbox::new(dir.clone(), &NAMES);
        Record { dir, writing: Some((writer, Tally::new(header))), outbox, under_way: None }
    }

    pub(super) fn take(&mut self, interval: &Interval) {
        let (writer, tally) = self.writing.as_mut().expect("the run goes on");
        tally.add(interval);
        writer.interval(interval).expect("written");
    }

    /// The run is over.
    pub(super) fn finish(
        &mut self,
        plan: &Plan,
        zero: Time,
        lease: &Lease,
        clock: Option<ClockReading>,
    ) -> Ended {
        let (writer, tally) = self.writing.take().expect("it ends once");
        let ending = Ending { clock_last: clock, ..ending(plan, &tally, zero, lease) };
        writer.finish(&tally.document(&ending)).expect("written");
        let files = ends(&self.dir, &NAMES).expect("readable");
        Ended { code: 0, stopped_by: None, error: None, notes: Vec::new(), files }
    }
}

/// As the program tells of it.
fn ending(plan: &Plan, tally: &Tally, zero: Time, lease: &Lease) -> Ending {
    let length = plan.load_length();
    let stopped_at = lease.stop.map(|stop| Nanos(stop.saturating_sub(zero))).filter(|at| *at < length);
    let ended_after = stopped_at.unwrap_or(length);
    let scheduled = |from, to| plan.scheduled(from, to).map(|scheduled| scheduled.measured);
    let by_lease = lease.ended.is_some() && lease.ended == lease.stop;
    let aborted = stopped_at.map(|at| Aborted {
        rule: if by_lease { unblink_cluster::agent::SILENT } else { INTERRUPTED }.into(),
        at_ns: at.0,
        guard: Some(if by_lease { GuardKind::Lease } else { GuardKind::Coordinator }),
    });
    Ending {
        status: if aborted.is_some() { RunStatus::Aborted } else { RunStatus::Complete },
        scheduled: scheduled(Nanos::ZERO, ended_after),
        ended_after,
        withheld: scheduled(ended_after, length).unwrap_or(0),
        aborted,
        ..Ending::unknown(tally.header(), tally.end())
    }
}

/// What all parts have in common, and this one's own.
pub(super) fn header(plan: &Plan, offer: &Offer, reading: Reading, tolerates: bool) -> RunHeader {
    let LoadSpec::Open { phases, process } = &plan.spec().load else { panic!("an open load") };
    let per_s = phases.iter().map(|phase| phase.from.milli_per_s() as f64 / 1_000.0).sum::<f64>();
    let process = match process {
        Process::Poisson { seed } => serde_json::json!({"name": "poisson", "seed": seed}),
        _ => serde_json::json!({"name": "even"}),
    };
    let length = plan.load_length();
    let phases = serde_json::json!([{"from_per_s": per_s, "to_per_s": per_s, "duration_ns": length.0}]);
    let machine = serde_json::json!({
        "kernel": "", "cpu": "", "cores": 1, "file_descriptors_max": 1, "local_ports": 1
    });
    let due =
        |scheduled: Option<unblink_core::plan::Scheduled>| scheduled.map(|scheduled| scheduled.measured);
    let start_at = "2026-11-20T09:15:00Z";
    let header = serde_json::json!({
        "tool": {"name": "unblink", "version": "1"}, "started_at": start_at, "command": [], "environment": machine,
        "agents": [{
            "first": offer.first, "last": offer.last, "of": offer.of, "start_at": start_at,
            "clock_offset_ns": reading.offset_ns, "clock_error_ns": reading.error_ns,
            "due": due(plan.scheduled(Nanos::ZERO, length)), "due_of_all": due(plan.scheduled_of_all(Nanos::ZERO, length)),
            "tolerate_lost": tolerates.then_some(1), "command": [], "environment": machine,
        }],
        "plan": {
            "summary": "", "phases": phases, "warmup_ns": 0, "duration_ns": length.0, "timeout_ns": plan.spec().timeout.0,
            "drain_ns": plan.drain().0, "threads": plan.threads(), "requests_max": null,
        },
        "loads": [{"model": "open", "process": process, "phases": phases}],
        "origins": [{"connections": {"mode": "auto", "limit": 1}}],
        "targets": [], "protocol_failures": [], "operations": [{"name": "GET /", "protocol": "http/1.1"}],
    });
    serde_json::from_value(header).expect("a header")
}

/// Folders in memory, where there are such: thousands of worlds write some each.
pub(super) fn place() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let made = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    made.expect("a folder")
}

/// From one look at what is new of a record to the next, in true time.
pub(super) const LOOK_EVERY: u64 = SECOND;
/// What was not kept by the bus within this is said again.
pub(super) const KEPT_WITHIN: u64 = 2 * SECOND;
