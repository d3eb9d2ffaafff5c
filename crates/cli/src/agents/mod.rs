//! A run that many machines offer together: the coordinator's side, and the agent's.

mod agent;
mod causes;
mod ceiling;
mod fleet;
mod gathered;
mod kept;
mod keys;
mod leaving;
mod led;
mod local;
mod offered;
mod refused;
mod taking;
mod together;
mod told;
mod unchanged;
mod unseen;
mod watched;
mod words;

use crate::args::agents::{Agents, AgentsArgs};
use crate::args::run::RunArgs;
use crate::args::target::TargetArgs;
use crate::errors::refuse;
use crate::folder::Folder;
use crate::run::{Lacking, Planned};
use crate::script::{self, Source};
use crate::signals::Interruptions;
use crate::{config, exit, history, merge, output, run, signals};
pub(crate) use agent::agent;
use anyhow::{Context, Result};
pub(crate) use ceiling::Ceilings;
pub(crate) use fleet::{Fleet, Leading, Led, let_go};
pub(crate) use keys::{check_bus, check_ca, unique};
pub(crate) use local::authorization;
pub(crate) use offered::files;
use refused::check;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use unblink_artifact::document::{RunDocument, RunStatus};
use unblink_artifact::folder::{FAILURES_FILE, HLOG_FILE, LINES_FILE, RUN_FILE, replay};
use unblink_cluster::coordinator::NotBegun;
use unblink_core::plan::Plan;

/// What a record consists of: the rest follows from it.
const RECORD: [&str; 4] = [RUN_FILE, LINES_FILE, HLOG_FILE, FAILURES_FILE];
/// What only the coordinator knows.
const CLUSTER_FILE: &str = "cluster.jsonl";
const NOTHING_KNOWN: &str = "no agent has sent a record: nothing is known of the run";

/// Refuses what belongs to one run of several machines, in a command that judges many runs together.
pub(crate) fn check_many(args: &AgentsArgs) -> Result<()> {
    if args.tolerate_lost.is_some() {
        refuse!(
            ["tolerate-lost"],
            "--tolerate-lost is for unblink run and unblink signoff: a run of this command that has lost a machine is not like the others"
        );
    }
    check_anew(args)?;
    check_alone(args, None)
}

/// Refuses to go on with one run, in a command that makes several.
pub(crate) fn check_anew(args: &AgentsArgs) -> Result<()> {
    if args.agents_resume {
        refuse!(
            ["agents-resume"],
            "--agents-resume is for unblink run: a search or a sign-off goes on with --resume, and begins anew the run in which it was"
        );
    }
    Ok(())
}

/// Refuses what only a run of agents has, in a run without. One share by itself is merged with others later (`is_share`, which is
/// none in a command that has no shares).
pub(crate) fn check_alone(args: &AgentsArgs, is_share: Option<bool>) -> Result<()> {
    if args.agents.is_some() {
        return Ok(());
    }
    // clap forgets what a flag requires where it may not be given, as --agents beside --share.
    let of_agents = [
        ("agents-within", args.agents_within.is_some()),
        ("agents-stay", args.agents_stay),
        ("agents-resume", args.agents_resume),
        ("nats-server", args.nats_server.is_some()),
    ];
    let of_agents = of_agents.into_iter().filter(|(_, is_given)| *is_given).map(|(flag, _)| flag);
    if let Some(flag) = keys::given(&args.bus).chain(of_agents).next() {
        refuse!(["agents"], "--{flag} is for a run of agents: say how many with --agents");
    }
    let or_share = match is_share {
        Some(true) => return Ok(()),
        Some(false) => ", or which share this one has with --share",
        None => "",
    };
    if args.tolerate_lost.is_some() {
        refuse!(
            ["agents"],
            "--tolerate-lost is for a run of several machines: say how many agents with --agents{or_share}"
        );
    }
    Ok(())
}

/// What of a target is for this machine alone.
fn check_target(args: &AgentsArgs, target: &TargetArgs) -> Result<()> {
    if target.threads.is_some() {
        refuse!(
            ["threads", "agents"],
            "--threads and --agents exclude each other: each share has a thread (unblink agent --shares)"
        );
    }
    let tls = target.tls();
    if !args.is_local() && (tls.cacert.is_some() || tls.cert.is_some() || tls.key.is_some()) {
        refuse!(
            ["cacert", "agents"],
            "--cacert, --cert and --key are files of this machine, and keys don't travel: let the agents' machines trust the certificate (SSL_CERT_FILE), or run there with --share"
        );
    }
    Ok(())
}

/// `unblink run --agents`. Gives the exit code.
pub(crate) fn run(args: &RunArgs) -> Result<u8> {
    output::check_exports(&args.exports)?;
    if args.agents.agents_resume && args.output.is_none() {
        refuse!(
            ["agents-resume"],
            "--agents-resume needs the folder of the run that it is to go on with: -o DIR"
        );
    }
    let folder = Folder::named_or_new(args.output.as_ref(), "unblink-runs")?;
    let interruptions = signals::listen()?;
    let source = script::read(args)?;
    // Agents that are local keep their own records for as long as the fleet is there.
    let (led, _fleet) = led(args, &folder, &interruptions)?;
    let was_interrupted = !interruptions.wait(Duration::ZERO);
    let code = match led {
        Led::NotBegun(NotBegun { reasons, by_target, .. }) => {
            reasons.iter().for_each(|reason| output::note(format_args!("error: {reason}")));
            if by_target { exit::FAILED } else { exit::INVALID }
        }
        Led::Run { from, told } => {
            let code = match from.is_empty() {
                true => {
                    output::note(format_args!("error: {NOTHING_KNOWN}"));
                    exit::INVALID
                }
                false => {
                    let held = told.rule.as_deref().filter(|_| !was_interrupted);
                    let presented = merge::present(&from, &folder, held, &args.exports, &args.keep);
                    let (document, shown) = or_records(presented, &folder)?;
                    tell_script(source.as_ref(), args, &folder, &document, told.shares());
                    let ended = document.aborted.as_ref().map(|by| by.rule.as_str());
                    if document.status == RunStatus::Complete && held.is_some() && ended == held {
                        output::note(format_args!(
                            "error: {:?} has held, and there was no load left to stop",
                            held.unwrap_or_default()
                        ));
                    }
                    let code = exit::of_report(&document);
                    shown.code(code)
                }
            };
            told.write(&folder);
            code
        }
    };
    Ok(if was_interrupted { exit::INTERRUPTED } else { code })
}

/// The same as a stage of a sign-off, without a word on standard output.
pub(crate) fn stage(args: &RunArgs, folder: &Path, interruptions: &Interruptions) -> Result<RunDocument> {
    let source = script::read(args)?;
    let (led, _fleet) = led(args, folder, interruptions)?;
    let (mut document, told) = led.merged(folder)?;
    tell_script(source.as_ref(), args, folder, &document, told.shares());
    if !interruptions.wait(Duration::ZERO) {
        // By the coordinator's user, and no guard of the run.
        (document.status, document.aborted) = (RunStatus::Interrupted, None);
    } else if let Some(rule) = told.rule.filter(|_| document.aborted.is_none()) {
        document.aborted = Some(merge::held_at_the_end(rule, &document));
    }
    history::keep(&args.keep, &[folder.to_path_buf()]);
    Ok(document)
}

/// Calls the function `done` of a script, if it has one, with the figures of all agents. What is wrong with that changes no result.
fn tell_script(
    source: Option<&Source<'_>>,
    args: &RunArgs,
    folder: &Path,
    document: &RunDocument,
    shares: u32,
) {
    let Some(source) = source.filter(|source| source.may_want_figures()) else { return };
    let tell = || -> Result<()> {
        let script = source.of_others(shares, &args.load)?;
        if script.wants_figures() {
            let (tally, _) = replay(folder, None, None)?;
            script::end(&script, document, &tally);
        }
        Ok(())
    };
    if let Err(error) = tell() {
        output::note(format_args!("warning: the script's done() was not called: {error:#}"));
    }
}

/// What `args` come to, unless agents can't do it.
pub(crate) fn checked(args: &RunArgs) -> Result<Planned> {
    check(&args.agents)?;
    run::check_shared(args, "agents")?;
    check_target(&args.agents, &args.target)?;
    let planned = run::planned(args)?;
    run::check_shared_values("agents", planned.values.as_ref())?;
    check_dealt(&args.agents, &planned.plan)?;
    Ok(planned)
}

/// Refuses a load of which not every agent gets a connection and a user.
fn check_dealt(args: &AgentsArgs, plan: &Plan) -> Result<()> {
    let (count, fewer) = match args.agents {
        Some(Agents::Local(count)) => (count, "--agents local:"),
        Some(Agents::Anywhere(count)) => (count, "--agents "),
        None => return Ok(()),
    };
    let users = plan.users().map(|users| u32::try_from(users).unwrap_or(u32::MAX));
    match run::lacking(count, plan.spec().pool, users) {
        Some(Lacking { flag, count: few, words, remedy }) => refuse!(
            ["agents", flag],
            "{words} can't be dealt to {count} agents: each needs one ({remedy}let fewer agents take part: {fewer}{few})"
        ),
        None => Ok(()),
    }
}

/// Leads the run that `args` ask for.
fn led(args: &RunArgs, folder: &Path, interruptions: &Interruptions) -> Result<(Led, Fleet)> {
    let planned = checked(args)?;
    let limits = unblink_engine::limits::raise();
    // Held against the figures of all agents, here.
    let guards = run::guards::prepare(args, &planned.plan, config::max_rate()?, Default::default(), &limits)?;
    guards.check()?;
    output::check_folder(folder)?;
    // From here on there is something to take away again.
    interruptions.defer("stopping");
    let mut fleet = Fleet::of(&args.agents, args.quiet, folder, false)?;
    let (plan, to_one_address) = (&planned.plan, to_one_address(args, &planned));
    let leading = Leading { plan, part: None, to_one_address, guards, folder, experiment: None };
    let led = fleet.lead(leading, false, interruptions)?;
    Ok((led, fleet))
}

/// Each origin is an address of another machine, as far as that can be told without a resolver.
fn to_one_address(args: &RunArgs, planned: &Planned) -> bool {
    let is_one = |host: Option<String>| {
        host.and_then(|host| host.parse::<IpAddr>().ok()).is_some_and(|address| !address.is_loopback())
    };
    let is_elsewhere = args.target.unix_socket.is_some() || !args.target.connect_to.is_empty();
    !is_elsewhere && planned.requests.origin_names().all(|origin| is_one(origin.host))
}

/// Why a run has ended early that nobody here has interrupted, as far as its document tells.
pub(crate) fn stopped(document: &RunDocument) -> String {
    match document.agents.iter().find(|agent| agent.is(RunStatus::Interrupted)) {
        Some(agent) => format!("an agent was stopped ({})", agent.plan.name()),
        None => "what an agent has recorded breaks off".into(),
    }
}

/// Neither a run nor its agents have left anything there.
pub(crate) fn is_free(folder: &Path) -> bool {
    !folder.exists() && ["agents", "local"].iter().all(|what| !beside(folder, what).exists())
}

/// Whatever kept the run of all from being made, such as a disk that is full: what agents have recorded is there.
pub(crate) fn or_records<T>(made: Result<T>, folder: &Path) -> Result<T> {
    made.with_context(|| {
        let records = beside(folder, "agents").display().to_string();
        format!(
            "the agents' records are in {records}, and `unblink merge {records}/* -o DIR` makes the run of them elsewhere, which failed \
             here"
        )
    })
}

/// `whole` to `whole.agents`.
pub(crate) fn beside(folder: &Path, what: &str) -> PathBuf {
    let mut name = folder.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{what}"));
    folder.with_file_name(name)
}
