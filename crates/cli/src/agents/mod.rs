//! A run that many machines offer together: the coordinator's side, and the agent's.

mod agent;
mod keys;
mod local;
mod offered;

use crate::args::agents::{Agents, BusArgs};
use crate::args::run::RunArgs;
use crate::clock::OwnTime;
use crate::errors::{refuse, refused};
use crate::folder::Folder;
use crate::run::Planned;
use crate::signals::Interruptions;
use crate::{exit, live, merge, output, run, signals};
pub(crate) use agent::agent;
use anyhow::{Context, Result, bail};
pub(crate) use keys::check_bus;
use local::Local;
pub(crate) use local::authorization;
pub(crate) use offered::files;
use std::collections::BTreeMap;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;
use unblink_artifact::folder::{FAILURES_FILE, HLOG_FILE, LINES_FILE, RUN_FILE, read_folder};
use unblink_cluster::bus::{Coordinating, CoordinatorBus, Told, coordinate};
use unblink_cluster::coordinator::{GATHER_FOR, NotBegun, Outcome, Part, Task};
use unblink_core::plan::SHARES_MAX;
use unblink_core::time::Nanos;
use unblink_report::format;

/// What a record consists of: the rest follows from it.
const RECORD: [&str; 4] = [RUN_FILE, LINES_FILE, HLOG_FILE, FAILURES_FILE];
/// What only the coordinator knows.
const CLUSTER_FILE: &str = "cluster.jsonl";
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// Refuses what only a run of agents has, in a run without.
pub(crate) fn check_alone(args: &RunArgs) -> Result<()> {
    let BusArgs { bus, nkey, bus_ca, fleet, bus_within } = &args.agents.bus;
    let given = [
        ("bus", bus.is_some()),
        ("nkey", nkey.is_some()),
        ("bus-ca", bus_ca.is_some()),
        ("fleet", fleet.is_some()),
        ("bus-within", bus_within.is_some()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        Some((flag, _)) => {
            Err(refused(&["agents"], format!("--{flag} is for a run of agents: say how many with --agents")))
        }
        None => Ok(()),
    }
}

/// A run that agents can offer.
pub(crate) struct Checked {
    pub planned: Planned,
    pub count: u32,
    pub is_local: bool,
    /// The words after `unblink run`.
    arguments: Vec<String>,
}

/// What `args` come to, unless agents can't do it.
pub(crate) fn checked(args: &RunArgs) -> Result<Checked> {
    let Some(agents) = args.agents.agents else { bail!("--agents is not given") };
    run::check_shared(args, "agents")?;
    let (count, is_local) = match agents {
        Agents::Local(count) => (count, true),
        Agents::Anywhere(count) => (count, false),
    };
    let arguments = offered::arguments(is_local)?;
    let planned = run::planned(args)?;
    run::check_shared_values("agents", planned.values.as_ref())?;
    if is_local && (args.agents.bus.bus.is_some() || args.agents.bus.nkey.is_some()) {
        refuse!(["agents", "bus"], "--agents local:N has a bus of its own: leave --bus and --nkey out");
    }
    if !is_local && args.agents.bus.nkey.is_none() {
        refuse!(
            ["nkey"],
            "--agents N needs the operator's private nkey, with which agents are told what to do: --nkey FILE"
        );
    }
    let tls = args.target.tls();
    if !is_local && (tls.cacert.is_some() || tls.cert.is_some() || tls.key.is_some()) {
        refuse!(
            ["cacert", "agents"],
            "--cacert, --cert and --key are files of this machine, and keys don't travel: let the agents' machines trust the certificate (SSL_CERT_FILE), or run there with --share"
        );
    }
    Ok(Checked { planned, count, is_local, arguments })
}

/// `unblink run --agents`. Gives the exit code.
pub(crate) fn run(args: &RunArgs) -> Result<u8> {
    let Checked { planned, count, is_local, arguments } = checked(args)?;
    output::check_exports(&args.exports)?;
    let (files, contents) = if is_local { Default::default() } else { offered::files()? };
    let folder = Folder::named_or_new(args.output.as_ref(), "unblink-runs")?;
    output::check_folder(&folder)?;
    let records = beside(&folder, "agents");
    for other in [&records, &beside(&folder, "local")] {
        if other.exists() {
            bail!("the folder {other:?} is in the way: take it away, or name another folder with -o");
        }
    }
    let interruptions = signals::listen()?;
    interruptions.defer("stopping");
    let name = keys::unique()?;
    let mut local = match is_local {
        true => {
            let dir = std::path::absolute(beside(&folder, "local")).context("there is no current folder")?;
            Some(Local::start(count, args.agents.nats_server.as_ref(), dir)?)
        }
        false => None,
    };
    let options = match &local {
        Some(local) => local.options.clone(),
        None => keys::options(&args.agents.bus)?,
    };
    let signer = keys::pair(options.seed.as_deref().unwrap_or_default())?;
    let task = Task {
        run: name.clone(),
        version: env!("UNBLINK_VERSION").into(),
        agents: count,
        gather_for: args.agents.agents_within.map_or(GATHER_FOR, |within| within.0),
        length: planned.plan.load_length().0 + planned.plan.drain().0,
        arguments,
        files,
        run_seed: u64::from_str_radix(&name[..16], 16).unwrap_or_default() | 1,
        shares_max: SHARES_MAX,
    };
    let coordinating =
        Coordinating { task, signer, files: contents, records: records.clone(), names: &RECORD };
    let time = OwnTime::start();
    let (tell, told) = channel();
    let bus =
        coordinate(options, coordinating, Arc::new(move || time.now()), move |what| drop(tell.send(what)))?;
    let load = planned.plan.load_length().0;
    let shown = Shown { time, load, count, quiet: args.quiet };
    let (outcome, mut from, log) = coordinated(&bus, &told, &interruptions, &mut local, &shown)?;
    bus.end();
    let was_interrupted = !interruptions.wait(Duration::ZERO);
    match outcome {
        Outcome::NotBegun(NotBegun { reasons, by_target }) => {
            for reason in &reasons {
                output::note(format_args!("error: {reason}"));
            }
            Ok(match (was_interrupted, by_target) {
                (true, _) => exit::INTERRUPTED,
                (_, true) => exit::FAILED,
                _ => exit::INVALID,
            })
        }
        Outcome::Run { parts, stopped } => {
            if let Some(local) = local.as_ref().filter(|_| parts.iter().any(|part| part.is_lost)) {
                from = with_own(from, local.records());
            }
            let code = merged(args, &folder, from)?;
            write_log(&folder, &name, &parts, stopped.as_deref(), &log);
            Ok(if was_interrupted { exit::INTERRUPTED } else { code })
        }
    }
}

/// `whole` to `whole.agents`.
fn beside(folder: &Path, what: &str) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{what}"));
    folder.with_file_name(name)
}

/// Of each share the record that its agent has itself, if it is there: it goes at least as far as what came over the bus.
fn with_own(gathered: Vec<PathBuf>, own: Vec<PathBuf>) -> Vec<PathBuf> {
    let mut by_share = BTreeMap::new();
    for dir in gathered.into_iter().chain(own) {
        let share = read_folder(&dir).ok().and_then(|run| run.header.agents.first().map(|agent| agent.first));
        if let Some(share) = share {
            by_share.insert(share, dir);
        }
    }
    by_share.into_values().collect()
}

/// One run folder from those of the agents, and what it comes to.
fn merged(args: &RunArgs, folder: &Folder, mut from: Vec<PathBuf>) -> Result<u8> {
    from.retain(|dir| dir.join(RUN_FILE).exists());
    if from.is_empty() {
        output::note(format_args!("error: no agent has sent a record: nothing is known of the run"));
        return Ok(exit::INVALID);
    }
    merge::present(&from, folder, &args.exports, &args.keep)
}

/// What is shown while it goes on.
struct Shown {
    time: OwnTime,
    load: u64,
    count: u32,
    quiet: bool,
}

/// Listens to the coordinator until all is over. Gives what came of it, the folders of the records, and what was noted.
fn coordinated(
    bus: &CoordinatorBus,
    told: &Receiver<Told>,
    interruptions: &Interruptions,
    local: &mut Option<Local>,
    shown: &Shown,
) -> Result<(Outcome, Vec<PathBuf>, Vec<String>)> {
    let (mut log, mut is_stopping) = (Vec::new(), false);
    loop {
        if !is_stopping && !interruptions.wait(Duration::ZERO) {
            is_stopping = true;
            bus.stop("interrupted".into());
        }
        match told.recv_timeout(LOOK_EVERY) {
            Ok(Told::Note(note)) => {
                if !shown.quiet {
                    output::clear_live();
                    output::note(format_args!("{note}"));
                }
                log.push(note);
            }
            Ok(Told::Progress { start_at, due, ok, heard }) => shown.progress(start_at, due, ok, heard),
            Ok(Told::Broken(what)) => {
                output::clear_live();
                output::note(format_args!("warning: {what}"));
                log.push(what);
            }
            Ok(Told::Done(outcome, folders)) => {
                output::clear_live();
                return Ok((outcome, folders, log));
            }
            Err(RecvTimeoutError::Timeout) => {
                if !is_stopping && local.as_mut().is_some_and(Local::all_gone) {
                    is_stopping = true;
                    bus.stop("the agents have ended".into());
                }
            }
            Err(RecvTimeoutError::Disconnected) => bail!("the bus has gone"),
        }
    }
}

impl Shown {
    fn progress(&self, start_at: Option<u64>, due: u64, ok: u64, heard: usize) {
        if self.quiet || !std::io::stderr().is_terminal() {
            return;
        }
        let now = self.time.now();
        let when = match start_at {
            None => return,
            Some(start_at) if now < start_at => format!("starting in {}", format::moment(start_at - now)),
            Some(start_at) if now - start_at < self.load => live::left(Nanos(self.load - (now - start_at))),
            Some(_) => "waiting for records".to_string(),
        };
        let line = format!(
            "{heard} of {} agents  due {}  ok {}  {when}",
            self.count,
            format::count(due),
            format::count(ok)
        );
        output::show_live(&format::plain(&line));
    }
}

/// Writes what only the coordinator knows. It is told, not judged: the figures do not rest on it.
fn write_log(folder: &Path, run: &str, parts: &[Part], stopped: Option<&str>, log: &[String]) {
    let write = || -> std::io::Result<()> {
        let mut file = std::fs::File::create(folder.join(CLUSTER_FILE))?;
        let head = serde_json::json!({"schema": "unblink.cluster/1", "run": run, "stopped": stopped});
        writeln!(file, "{head}")?;
        for part in parts {
            let line = serde_json::json!({
                "agent": part.agent, "host": part.host, "first": part.first, "last": part.last, "lost": part.is_lost,
                "code": part.ended.as_ref().map(|ended| ended.code),
                "error": part.ended.as_ref().and_then(|ended| ended.error.clone()),
            });
            writeln!(file, "{line}")?;
        }
        log.iter().try_for_each(|note| writeln!(file, "{}", serde_json::json!({ "note": note })))
    };
    if let Err(error) = write() {
        output::note(format_args!("warning: can't write {CLUSTER_FILE}: {error}"));
    }
}
