//! A share of a run that several machines offer together.

use super::lead::Begun;
use crate::args::run::{RunArgs, Said};
use crate::args::share::ShareOf;
use crate::errors::{refuse, refused};
use crate::request::postgres;
use crate::signals::Interruptions;
use crate::{clock, inputs, output};
use anyhow::{Context, Result};
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::time::Duration;
use unblink_artifact::document::AgentPlan;
use unblink_artifact::header::RunHeader;
use unblink_cluster::record;
use unblink_core::dispatch::Pool;
use unblink_core::plan::{Plan, WorkerShares};
use unblink_engine::clock::WallTime;
use unblink_report::format;
use unblink_workload::Values;
use unblink_workload::script::{Script, Stops};

/// Before the start there must be time to ask the target once and to open connections.
const READY_BEFORE: Duration = Duration::from_secs(2);

/// The plan with the shares that were asked for, or as it is.
pub(super) fn of_plan(args: &RunArgs, plan: Plan) -> Result<Plan> {
    let Some(ShareOf { first, of, .. }) = args.share.share else { return Ok(plan) };
    check(args, "share")?;
    let plan = plan.with_shares(WorkerShares { first: first - 1, of });
    plan.map_err(|error| refused(&["share", "connections"], error.to_string()))
}

/// Refuses a load of which not every share has a connection and a user.
pub(super) fn check_dealt(args: &RunArgs, pool: Pool, users: Option<u32>) -> Result<()> {
    let Some(ShareOf { of, .. }) = args.share.share else { return Ok(()) };
    match lacking(of, pool, users) {
        Some(Lacking { flag, words, remedy, .. }) => refuse!(
            ["share", flag],
            "{words} can't be dealt to {of} shares: each needs one ({remedy}make fewer shares)"
        ),
        None => Ok(()),
    }
}

/// What there is less of than parts of a load, each of which needs one.
pub(crate) struct Lacking {
    pub flag: &'static str,
    pub count: u32,
    pub words: String,
    /// What helps beside fewer parts.
    pub remedy: &'static str,
}

/// What is too little for so many `parts`.
pub(crate) fn lacking(parts: u32, pool: Pool, users: Option<u32>) -> Option<Lacking> {
    let (Pool::Auto { max: connections } | Pool::Fixed { n: connections }) = pool;
    let lacking = |flag, count: u32, one, many, remedy| {
        let words = format::plain(&format::plural(count.into(), one, many));
        (count < parts).then_some(Lacking { flag, count, words, remedy })
    };
    users
        .and_then(|users| lacking("closed", users, "user", "users", ""))
        .or_else(|| lacking("connections", connections, "connection", "connections", "raise -c, or "))
}

/// Refuses beside `flag` what one machine of several can't do.
pub(crate) fn check(args: &RunArgs, flag: &'static str) -> Result<()> {
    // A coordinator knows.
    if args.precision.precision.is_some() && args.share.start_at.is_some() {
        refuse!(
            ["precision", flag],
            "--precision and --{flag} exclude each other: one machine does not know what all of them have measured"
        );
    }
    if args.cross_check.is_asked() {
        refuse!(
            [flag],
            "--cross-check-… and --{flag} exclude each other: the service counts the requests of all machines"
        );
    }
    Ok(())
}

/// What follows from answers is known to the machine alone that had them.
pub(super) fn check_values(args: &RunArgs, values: Option<&Values>) -> Result<()> {
    args.share.share.map_or(Ok(()), |_| check_shared_values("share", values))
}

/// The same where several machines are to have shares.
pub(crate) fn check_shared_values(flag: &'static str, values: Option<&Values>) -> Result<()> {
    if values.is_some_and(Values::follows_inserts) {
        refuse!(
            [flag],
            "--{flag}: keys that follow what was inserted (latest) need all answers, and a machine has only those of its own share"
        );
    }
    Ok(())
}

/// What comes of a script that ends the load.
pub(super) fn stops(args: &RunArgs) -> Stops {
    match (args.share.share, args.share.start_at) {
        (None, _) => Stops::Load,
        (Some(_), Some(_)) => Stops::Refused,
        // A coordinator hears of it.
        (Some(_), None) => Stops::Asks,
    }
}

/// Refuses a script that wants to know more than one machine does.
pub(super) fn check_script(args: &RunArgs, script: Option<&Script>) -> Result<()> {
    if !script.is_some_and(Script::wants_figures) {
        return Ok(());
    }
    if args.share.start_at.is_some() && args.share.share.is_some() {
        refuse!(
            ["script", "share"],
            "--share and the function done() of a script exclude each other: this machine has only the figures of its own share: take it out (unblink merge reports those of all), or let agents offer the load (--agents), whose coordinator calls it"
        );
    }
    // Where a coordinator leads one run, it does not come here.
    if args.agents.agents.is_some() {
        refuse!(
            ["script", "agents"],
            "--agents and the function done() of a script exclude each other where a command makes several runs: take it out, or use unblink run"
        );
    }
    Ok(())
}

/// What is unique to a run, and the same on all its machines.
pub(super) fn run_seed(args: &RunArgs) -> Option<u64> {
    args.share.share?;
    if args.share.run_seed.is_some() {
        return args.share.run_seed;
    }
    let start_at = args.share.start_at?.as_nanosecond() as u64;
    Some(unblink_core::random::mixed(unblink_core::random::mixed(args.load.seed) ^ start_at) | 1)
}

/// For the header: this machine, if it has not all of the load. All that the run reads has been read.
pub(super) fn agent(args: &RunArgs, plan: &Plan, header: &RunHeader) -> Result<Vec<AgentPlan>> {
    let Some(ShareOf { first, last, of }) = args.share.share else { return Ok(Vec::new()) };
    // Where a coordinator settles it, it is not known yet.
    let start_at = args.share.start_at.unwrap_or(Timestamp::UNIX_EPOCH);
    let (from, to) = (plan.measured_from(), plan.load_length());
    Ok(vec![AgentPlan {
        first,
        last,
        of,
        start_at: clock::rfc3339(start_at.into()),
        clock_offset_ns: None,
        clock_error_ns: None,
        due: plan.scheduled(from, to).map(|scheduled| scheduled.measured),
        due_of_all: plan.scheduled_of_all(from, to).map(|scheduled| scheduled.measured),
        tolerate_lost: args.agents.tolerate_lost,
        asked_sha256: asked_sha256(args)?,
        command: header.command.clone(),
        environment: header.environment.clone(),
    }])
}

/// Of what command line and plan say, and of what stands in the files that they name.
fn asked_sha256(args: &RunArgs) -> Result<Option<String>> {
    let Some(Said { words, plan }) = &args.said else { return Ok(None) };
    let mut files = BTreeSet::new();
    for path in BTreeSet::from_iter(inputs::all()) {
        // A pipe is read once, and has a name of its own on each machine.
        if plan.as_ref() == Some(&path) || !path.is_file() {
            continue;
        }
        let sha256 = inputs::sha256(&path).with_context(|| format!("can't read {path:?} again"))?;
        files.insert((path.file_name().map(|name| name.to_string_lossy().into_owned()), sha256));
    }
    let elsewhere = of_environment(args)?;
    let all = match elsewhere.is_empty() {
        true => serde_json::json!([words, files]),
        false => serde_json::json!([words, files, elsewhere]),
    };
    Ok(Some(record::sha256(all.to_string().as_bytes())))
}

/// What URLs of PostgreSQL leave to the environment: it decides where the load goes, and no word of the command line says it.
fn of_environment(args: &RunArgs) -> Result<BTreeSet<[Option<String>; 2]>> {
    let requests = args.requests.iter().chain(args.beside());
    let left = requests
        .filter(|request| request.url.origin.is_postgres())
        .map(|request| postgres::left_out(&request.url));
    left.filter(|left| !matches!(left, Ok([None, None]))).collect()
}

/// For the header: when all begin, as who settled it told, and how its clock compares with this machine's.
pub(super) fn begun(header: &mut RunHeader, begun: Option<Begun>) {
    if let Some(Begun { told, offset_ns, error_ns, .. }) = begun {
        for agent in &mut header.agents {
            agent.start_at = clock::rfc3339(told);
            (agent.clock_offset_ns, agent.clock_error_ns) = (Some(offset_ns), Some(error_ns));
        }
    }
}

/// Is there time enough until the start?
pub(super) fn check_start(args: &RunArgs) -> Result<()> {
    let Some(start_at) = args.share.start_at else { return Ok(()) };
    let ahead = start_at.duration_since(clock::timestamp());
    if ahead < READY_BEFORE.try_into().unwrap_or_default() {
        refuse!(
            ["start-at"],
            "--start-at {} {}: give a time at least {} s ahead",
            clock::rfc3339(start_at.into()),
            match ahead.is_negative() {
                true => "has passed",
                false => "is too soon",
            },
            READY_BEFORE.as_secs()
        );
    }
    Ok(())
}

/// Waits until it is time to make ready, or an interruption ends the process.
pub(super) fn wait(
    start_at: Option<Timestamp>,
    quiet: bool,
    interruptions: &Interruptions,
) -> Option<WallTime> {
    let start_at = start_at?;
    let ahead = Duration::try_from(start_at.duration_since(clock::timestamp())).unwrap_or_default();
    let at = WallTime::from(start_at);
    if let Some(time) = ahead.checked_sub(READY_BEFORE / 2) {
        if !quiet {
            let said = format::plain(&format::moment(ahead.as_nanos() as u64));
            output::note(format_args!("starting at {}, in {said}", clock::rfc3339(at)));
        }
        interruptions.wait(time);
    }
    Some(at)
}
