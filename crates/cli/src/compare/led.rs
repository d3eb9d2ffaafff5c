//! Runs of a comparison that agents offer.

use super::side::Ready;
use super::{Places, places};
use crate::agents::{self, Fleet, Leading};
use crate::args::compare::CompareArgs;
use crate::args::run::RunArgs;
use crate::signals::Interruptions;
use crate::{exit, run};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;
use unblink_artifact::document::{RunDocument, RunStatus};

/// Which run of a comparison an agent is offered.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    /// 0: the baseline.
    pub side: usize,
    /// Which picks its seed.
    pub number: u64,
}

/// What agents can't do of a comparison.
pub(super) fn check(args: &CompareArgs, first: &[Ready; 2]) -> Result<()> {
    if args.agents.agents.is_none() {
        return Ok(());
    }
    if first.iter().any(Ready::is_simulated) {
        bail!("--agents is for targets, and simulated servers have none: leave it out");
    }
    [0, 1].into_iter().try_for_each(|side| agents::checked(&asked(args, Part { side, number: 0 })?).map(drop))
}

/// The run that an agent was offered.
pub(crate) fn run_of(args: &CompareArgs, offered: &serde_json::Value) -> Result<RunArgs> {
    let part = serde_json::from_value(offered.clone())
        .context("the coordinator's offer is not a run of a comparison")?;
    let said = args.said.as_ref().map(|said| said.of_part("compare", offered));
    Ok(RunArgs { said, ..asked(args, part)? })
}

fn asked(args: &CompareArgs, part: Part) -> Result<RunArgs> {
    let Places::Measured(sources) = places(args)? else { bail!("these runs are recorded already") };
    let source = sources.get(part.side).context("a comparison has two sides")?;
    Ok(source.numbered(args, part.number))
}

/// Lets `fleet` do a run, and leaves the record of all and the page in `folder`. Nothing is to be said of one that was interrupted.
pub(super) fn lead(
    fleet: &mut Fleet,
    ready: Ready,
    part: Part,
    folder: &Path,
    interruptions: &Interruptions,
) -> Result<Option<RunDocument>> {
    let prepared = ready.prepared().context("a simulated server has no agents")?;
    let run::Prepared { job, guards, .. } = prepared;
    guards.check()?;
    let part = Some(serde_json::to_value(part)?);
    let (plan, to_one_address) = (job.plan(), false);
    let leading = Leading { plan, part, to_one_address, guards, folder, experiment: None };
    let merged = fleet.lead(leading, true, interruptions)?.merged(folder);
    let is_interrupted = !interruptions.wait(Duration::ZERO);
    match merged {
        // Agents were stopped by their coordinator, and that by its user.
        Ok((document, _)) if is_interrupted => {
            Ok((document.status == RunStatus::Complete).then_some(document))
        }
        // One by its own, and it does not come back for the next run.
        Ok((document, _)) if document.status == RunStatus::Interrupted => {
            let (why, folder) = (agents::stopped(&document), folder.display());
            Err(exit::NoVerdict(format!(
                "{why}: {folder} has what came of the run, which does not count; start agents again, and go on with --resume"
            ))
            .into())
        }
        Ok((document, _)) => Ok(Some(document)),
        // It had not begun.
        Err(_) if is_interrupted => Ok(None),
        Err(error) => Err(error),
    }
}
