//! Trials that agents offer.

use super::trial::{run_args, with_seed};
use crate::agents::{self, Fleet, Leading, Led};
use crate::args::knee::KneeArgs;
use crate::args::run::RunArgs;
use crate::errors::refuse;
use crate::merge;
use crate::observe::Observer;
use crate::run::Prepared;
use crate::signals::Interruptions;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use std::path::Path;
use unblink_analysis::experiment::Trial;
use unblink_analysis::finding::FindingCode;
use unblink_artifact::document::{RunDocument, RunStatus};
use unblink_artifact::knee::RefusalCode;
use unblink_cluster::coordinator::NotBegun;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

const LOST: &str = "an agent was lost in the trial";

/// Which trial of a search an agent is offered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Part {
    number: u32,
    rate_milli: u64,
    settle_ns: u64,
    measure_max_ns: u64,
    no_preflight: bool,
}

impl Part {
    pub(super) fn of(trial: &Trial, no_preflight: bool) -> Part {
        Part {
            number: trial.number,
            rate_milli: trial.rate.milli_per_s(),
            settle_ns: trial.settle.0,
            measure_max_ns: trial.measure_max.0,
            no_preflight,
        }
    }
}

/// What agents can't do of a search.
pub(super) fn check(args: &KneeArgs) -> Result<()> {
    agents::check_many(&args.agents)?;
    if args.agents.agents.is_none() {
        return Ok(());
    }
    agents::checked(&run_args(args, super::start(args)?, args.settle, args.measure)?).map(drop)
}

/// Nobody offers a load in virtual time.
pub(super) fn check_simulated(args: &KneeArgs) -> Result<()> {
    if args.agents.agents.is_some() {
        refuse!(["agents"], "--agents is for a target, and a simulated server has none: leave it out");
    }
    agents::check_many(&args.agents)
}

/// The trial that an agent was offered.
pub(crate) fn trial_of(args: &KneeArgs, offered: &serde_json::Value) -> Result<RunArgs> {
    let part: Part =
        serde_json::from_value(offered.clone()).context("the coordinator's offer is not a trial")?;
    let rate = Rate::from_milli(part.rate_milli);
    let mut run = run_args(args, rate, Nanos(part.settle_ns), Nanos(part.measure_max_ns))?;
    run.target.no_preflight = part.no_preflight;
    run.said = args.said.as_ref().map(|said| said.of_part("knee", offered));
    Ok(with_seed(run, part.number))
}

/// Lets `fleet` run a trial. Gives its document, or why there is none.
pub(super) fn lead(
    fleet: &mut Fleet,
    prepared: Prepared,
    part: &Part,
    folder: &Path,
    gather: &mut dyn Observer,
    interruptions: &Interruptions,
) -> Result<Result<RunDocument, (RefusalCode, String)>> {
    let Prepared { job, guards, .. } = prepared;
    guards.check()?;
    let leading = Leading {
        plan: job.plan(),
        part: Some(serde_json::to_value(part)?),
        to_one_address: false,
        guards,
        folder,
        experiment: Some(gather),
    };
    Ok(match fleet.lead(leading, true, interruptions)? {
        Led::NotBegun(NotBegun { reasons, by_target, guard }) => {
            let code = match (by_target, guard) {
                (true, _) => RefusalCode::Preflight,
                (false, Some(_)) => RefusalCode::Guard,
                (false, None) => RefusalCode::Agents,
            };
            Err((code, reasons.join("; ")))
        }
        Led::Run { from, .. } if from.is_empty() => Err((RefusalCode::Agents, LOST.into())),
        Led::Run { from, told } => {
            let document = agents::or_records(merge::merged(&from, folder), folder)?;
            told.write(folder);
            let lacks = told.has_lost() || lacks_something(&document);
            if lacks { Err((RefusalCode::Agents, LOST.into())) } else { Ok(document) }
        }
    })
}

/// The load came to its end, and something of a record did not: an agent that could not go on has sent what there was. A load that was
/// stopped says itself by what.
fn lacks_something(document: &RunDocument) -> bool {
    document.status == RunStatus::Complete && document.validity.finding(FindingCode::AgentsLost).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_artifact::document::{Finding, Severity};
    use unblink_report::fixture;

    /// An agent whose disk was full sent its record to where it broke off: nothing was fetched in vain, and something is missing.
    #[test]
    fn a_trial_whose_merged_record_lacks_something_is_none() {
        let mut document = fixture::stall();
        assert!(!lacks_something(&document));
        document.validity.findings.push(Finding {
            code: FindingCode::AgentsLost.code().into(),
            severity: Severity::Invalidates,
            message: String::new(),
            remedy: String::new(),
            evidence: Default::default(),
            may_have_moved: None,
        });
        assert!(lacks_something(&document));
        document.status = RunStatus::Aborted;
        assert!(!lacks_something(&document), "what stopped it is the reason");
    }
}
