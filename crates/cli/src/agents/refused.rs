//! What can't be asked of agents.

use super::{keys, offered};
use crate::args::agents::{Agents, AgentsArgs};
use crate::errors::refuse;
use anyhow::{Result, bail};
use std::path::Path;

/// Refuses what can't be asked of agents, as far as the flags tell: before anything is read.
pub(super) fn check(args: &AgentsArgs) -> Result<()> {
    // Before it is looked at for secrets, which two URLs in one look like.
    if let (Some(Agents::Anywhere(_)), Some(url)) = (&args.agents, &args.bus.bus) {
        keys::check_bus(url, &args.bus.fleet())?;
    }
    offered::arguments(args.is_local())?;
    match args.agents {
        Some(Agents::Local(_)) if keys::given(&args.bus).next().is_some() => refuse!(
            ["agents", "bus"],
            "--agents local:N has a bus of its own: leave --bus, --nkey, --bus-ca, --fleet and --bus-within out"
        ),
        Some(Agents::Anywhere(_)) if args.nats_server.is_some() => refuse!(
            ["agents", "nats-server"],
            "--nats-server is the bus that --agents local:N starts; that of agents elsewhere is there already: --bus"
        ),
        Some(Agents::Anywhere(_)) if args.bus.nkey.is_none() => refuse!(
            ["nkey"],
            "--agents N needs the operator's private nkey, with which agents are told what to do: --nkey FILE"
        ),
        Some(Agents::Local(_)) if args.agents_resume => refuse!(
            ["agents", "agents-resume"],
            "--agents-resume is for agents elsewhere: those of local:N end with the process that started them"
        ),
        Some(Agents::Local(_)) if args.agents_stay => refuse!(
            ["agents", "agents-stay"],
            "--agents-stay is for agents elsewhere: those of local:N end with the command"
        ),
        _ if args.agents_within.is_some_and(|within| within.0 == 0) => refuse!(
            ["agents-within"],
            "--agents-within 0 waits for no agent, and none can have come by then: give them some time, such as 60s"
        ),
        _ => keys::check_ca(&args.bus).map(drop),
    }
}

/// Somebody's folder is nobody else's: it may hold the only records of a run whose coordinator was killed.
pub(super) fn check_free(dir: &Path, is_local: bool) -> Result<()> {
    if dir.exists() {
        let goes_on = match is_local {
            true => "",
            false => {
                " If that run goes on without its coordinator, the same command with --agents-resume takes it up."
            }
        };
        bail!(
            "the folder {dir:?} is in the way: it may hold what agents recorded in another run, of which `unblink merge {}/*` makes one.{goes_on} \
             Name another folder with -o",
            dir.display()
        );
    }
    Ok(())
}
