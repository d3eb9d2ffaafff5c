//! One run folder from those of several machines that offered a load together.

use super::failures::read_failures;
use super::merged_header::{MergeError, merged_header};
use super::merging::Merging;
use super::{
    FailureWriter, FolderError, RecordedRun, ReservedFolder, leave_out_transient, read_folder, replay_as,
};
use crate::document::{Agent, AgentPlan, AgentResult, Arrivals, RunDocument, RunStatus};
use crate::fingerprint::fingerprint_of;
use crate::tally::{Ending, Tally};
use std::path::{Path, PathBuf};

/// Merges the run folders `from`, each of one share of a load or itself merged, to a new one at `to`. The same bytes come out
/// whatever their order, and whichever of them were merged before.
///
/// A machine whose record breaks off is merged as far as it goes; what is missing counts as lost.
pub fn merge(from: &[PathBuf], to: &Path) -> Result<RunDocument, MergeError> {
    let mut runs = from.iter().map(|dir| read_folder(dir)).collect::<Result<Vec<_>, FolderError>>()?;
    runs.sort_by_key(|run| run.header.agents.first().map(|agent| agent.first));
    let header = merged_header(&runs)?;
    let ending = Ending::join(runs.iter().map(ending).collect::<Result<_, FolderError>>()?);
    let mut folder = ReservedFolder::make(to)?.begin(&header)?;
    let mut tally = Tally::new(header.clone());
    let mut merging = Merging::open(&runs, header.layout())?;
    while let Some(interval) = merging.next()? {
        tally.add(interval);
        folder.interval(interval)?;
    }
    keep_failures(&runs, to, &mut tally)?;
    let tally = leave_out_transient(to, tally, &ending);
    let document = tally.document(&ending);
    folder.finish(&document)?;
    Ok(document)
}

/// How a run ended, with what came of its machines.
fn ending(run: &RecordedRun) -> Result<Ending, FolderError> {
    match (&run.final_document, &run.header.agents[..]) {
        // Nothing was measured: the machine may as well not have been there.
        (Some(document), [plan]) if document.preflight().is_some() => {
            Ok(lost(document, plan, &Arrivals::default(), 0))
        }
        (Some(document), [plan]) if document.agents.iter().all(|agent| agent.result.is_none()) => {
            let (result, ending) = (Some(AgentResult::of(document)), Ending::of(document));
            let Ending { clock_last, bus_behind_ns, .. } = ending;
            let agents = vec![Agent { plan: plan.clone(), clock_last, bus_behind_ns, result }];
            Ok(Ending { agents, clock_last: None, bus_behind_ns: None, ..ending })
        }
        (Some(document), _) => Ok(Ending::of(document)),
        (None, plans) => {
            let (tally, ending) = replay_as(run, None, None)?;
            let (document, counters) = (tally.document(&ending), &tally.totals().counters);
            let ended = crate::tally::arrivals(&counters.measured, counters.measured.ended());
            let warmup = counters.warmup.ended();
            let lost = lost(&document, &plans[0], &ended, counters.measured.due);
            let ended_after = ending.ended_after;
            Ok(Ending { scheduled_warmup: Some(warmup), ended_after, ..lost })
        }
    }
}

/// The end of a machine that told none, of whose arrivals `ended` are known.
fn lost(document: &RunDocument, plan: &AgentPlan, ended: &Arrivals, due: u64) -> Ending {
    let result = Some(AgentResult::lost(document, plan, ended.clone(), due));
    Ending {
        status: RunStatus::Running,
        scheduled: Some(ended.scheduled),
        scheduled_warmup: Some(0),
        // What of it belongs to which request is not known.
        scheduled_by_operation: Vec::new(),
        scheduled_by_load: Vec::new(),
        scheduled_by_journey: Vec::new(),
        scheduled_by_origin: Vec::new(),
        origins: Vec::new(),
        agents: vec![Agent { plan: plan.clone(), clock_last: None, bus_behind_ns: None, result }],
        ..Ending::of(document)
    }
}

/// The requests that failed first, of each machine.
fn keep_failures(runs: &[RecordedRun], to: &Path, tally: &mut Tally) -> Result<(), FolderError> {
    let mut kept: Vec<_> = runs.iter().flat_map(|run| read_failures(run.dir())).collect();
    if kept.is_empty() {
        return Ok(());
    }
    kept.sort_by_cached_key(|failure| (failure.at_ns, fingerprint_of(failure)));
    let mut file = FailureWriter::create(to)?;
    for failure in kept {
        file.write(&failure);
        tally.keep_failure(failure);
    }
    Ok(())
}
