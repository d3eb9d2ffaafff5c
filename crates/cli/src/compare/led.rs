//! Runs of a comparison that agents offer.

use super::side::Ready;
use super::{Places, places};
use crate::agents::{self, Fleet, Leading, Led};
use crate::args::compare::CompareArgs;
use crate::args::run::RunArgs;
use crate::signals::Interruptions;
use crate::{exit, output, run};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::path::Path;
use unblink_artifact::document::RunDocument;
use unblink_artifact::folder;
use unblink_cluster::coordinator::NotBegun;

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
    agents::check(&args.agents)?;
    agents::check_target(&args.agents, &args.target)?;
    if first.iter().any(Ready::is_simulated) {
        bail!("--agents is for targets, and simulated servers have none: leave it out");
    }
    for part in [0, 1].map(|side| Part { side, number: 0 }) {
        let one = asked(args, part)?;
        run::check_shared(&one, "agents")?;
        run::check_shared_values("agents", run::planned(&one)?.values.as_ref())?;
    }
    Ok(())
}

/// The run that an agent was offered.
pub(crate) fn run_of(args: &CompareArgs, part: &serde_json::Value) -> Result<RunArgs> {
    asked(args, serde_json::from_value(part.clone()).context("what is offered is no run of a comparison")?)
}

fn asked(args: &CompareArgs, part: Part) -> Result<RunArgs> {
    let Places::Measured(sources) = places(args)? else { bail!("these runs are recorded already") };
    let source = sources.get(part.side).context("a comparison has two sides")?;
    Ok(source.numbered(args, part.number))
}

/// Lets `fleet` do a run, and leaves the record of all and the page in `folder`.
pub(super) fn lead(
    fleet: &mut Fleet,
    ready: Ready,
    part: Part,
    folder: &Path,
    interruptions: &Interruptions,
) -> Result<RunDocument> {
    let prepared = ready.prepared().context("a simulated server has no agents")?;
    let run::Prepared { job, guards, .. } = prepared;
    let part = Some(serde_json::to_value(part)?);
    let leading = Leading { plan: job.plan(), part, guards, folder, experiment: None };
    match fleet.lead(leading, true, interruptions)? {
        Led::NotBegun(NotBegun { reasons, .. }) => Err(exit::NoVerdict(reasons.join("; ")).into()),
        Led::Run { from, .. } if from.is_empty() => Err(exit::NoVerdict(agents::NOTHING_KNOWN.into()).into()),
        Led::Run { from, told } => {
            let document = folder::merge(&from, folder)?;
            output::write_page(folder, &document);
            told.write(folder);
            Ok(document)
        }
    }
}
