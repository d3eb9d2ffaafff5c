//! Runs that a cluster can't hold, and words that make no sense there.

use super::inside::{CALIBRATED_WITHIN, RUNS};
use super::object;
use crate::args::agents::Agents;
use crate::args::k8s::{ClusterArgs, RenderArgs};
use crate::args::run::RunArgs;
use crate::errors::{refuse, refused};
use crate::guard;
use anyhow::{Result, bail};
use unblink_core::plan::SHARES_MAX;
use unblink_store::Location;

/// What can be refused before the plan is read. Gives the number of agents.
pub(super) fn check(args: &RenderArgs) -> Result<u32> {
    let of_bus = &args.run.agents.bus;
    let count = match args.run.agents.agents {
        Some(Agents::Anywhere(count)) => count,
        Some(Agents::Local(_)) => {
            refuse!(
                ["agents"],
                "--agents local:N are processes of one machine: say how many pods, such as --agents 20"
            )
        }
        None => bail!("--agents is not given"),
    };
    if of_bus.nkey.is_some() || args.run.agents.nats_server.is_some() {
        refuse!(
            ["nkey"],
            "--nkey and --nats-server are files of this machine: pods have their keys from Secrets (--secret NAME), and their bus from --nats-image"
        );
    }
    if args.run.agents.agents_resume {
        refuse!(
            ["agents-resume"],
            "--agents-resume needs the clock of the machine on which the coordinator has died, and a pod may come back on another one: leave it out"
        );
    }
    if args.run.agents.agents_stay {
        refuse!(
            ["agents-stay"],
            "--agents-stay would let pods of a Job wait for a run that never comes: leave it out, and give each run a Job"
        );
    }
    if of_bus.bus.is_some() && args.cluster.secret.is_none() {
        refuse!(
            ["bus", "secret"],
            "--bus names a bus that knows its users already: say with --secret NAME which Secrets have their keys (unblink k8s keys makes them)"
        );
    }
    if of_bus.bus_ca.is_some() && of_bus.bus.is_none() {
        refuse!(["bus-ca"], "--bus-ca is for a bus that is named with --bus: leave it out");
    }
    if args.cluster.bus_storage.is_some() && of_bus.bus.is_some() {
        refuse!(
            ["bus-storage"],
            "--bus-storage is for the run's own bus, and --bus names another one: leave it out"
        );
    }
    if let Some(within) = args.run.agents.agents_within
        && args.cluster.calibrate
        && within < CALIBRATED_WITHIN
    {
        refuse!(
            ["calibrate", "agents-within"],
            "--calibrate has each pod measure itself before it joins, which takes ten seconds and more on a busy machine: wait with --agents-within 60s or longer, or leave one of them out"
        );
    }
    let shares = count * args.cluster.cpu;
    if shares > SHARES_MAX {
        refuse!(
            ["agents", "cpu"],
            "--agents {count} with --cpu {} have {shares} shares together, and a load has at most {SHARES_MAX}: lower one of them",
            args.cluster.cpu
        );
    }
    guard::check_only(&args.cluster.allow_target)?;
    Ok(count)
}

/// The coordinator writes beneath one folder alone: all else of its container is read-only. It works there, unless it reads `files`.
pub(super) fn outputs(run: &RunArgs, reads_files: bool, cluster: &ClusterArgs) -> Result<()> {
    let store = match &run.keep.store.store {
        Some(Location::File(path)) => Some(("--store", path.as_path())),
        Some(Location::Server(_)) | None => None,
    };
    for (flag, path) in run.exports.places().chain(store) {
        if !path.starts_with(RUNS) && (path.is_absolute() || reads_files) {
            let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
            return Err(refused(
                &[flag.trim_start_matches('-')],
                format!("{flag} {path:?}: a pod writes beneath {RUNS} alone: write {flag} {RUNS}/{name}"),
            ));
        }
    }
    kill_file(run, reads_files, cluster)
}

/// A file that nobody can make where it is looked for stops no load. The image has no shell, and unblink writes files, too: whatever
/// stands in this one, that it is there counts.
fn kill_file(run: &RunArgs, reads_files: bool, cluster: &ClusterArgs) -> Result<()> {
    let Some(path) = &run.target.guards.kill_file else { return Ok(()) };
    if path.starts_with(RUNS) || (path.is_relative() && !reads_files) {
        return Ok(());
    }
    let namespace = cluster.namespace.as_ref().map_or(String::new(), |name| format!("-n {name} "));
    let job = object::run_name(&cluster.name);
    refuse!(
        ["kill-file"],
        "--kill-file {path:?}: a pod's files are read-only but beneath {RUNS}, so nobody could make it: write --kill-file {RUNS}/stop.toml, which kubectl {namespace}exec job/{job} -- unblink init {RUNS}/stop.toml makes (touch, in an image that has one), or use --kill-url"
    )
}
