//! One run folder from those of several machines that offered a load together.

use super::failures::read_failures;
use super::merged_header::{MergeError, merged_header};
use super::merging::Merging;
use super::{
    FailureWriter, FolderError, FolderWriter, RecordedRun, ReservedFolder, leave_out_transient, read_folder,
    replay_as,
};
use crate::document::{Agent, AgentPlan, AgentResult, Arrivals, RunDocument, RunStatus};
use crate::fingerprint::fingerprint_of;
use crate::tally::{Ending, Tally};
use std::fmt;
use std::path::{Path, PathBuf};
use unblink_core::time::Nanos;

/// Merges the run folders `from`, each of one share of a load or itself merged, to a new one at `to`. The same bytes come out
/// whatever their order, and whichever of them were merged before.
///
/// A machine whose record breaks off is merged as far as it goes; what is missing counts as lost.
pub fn merge(from: &[PathBuf], to: &Path) -> Result<RunDocument, MergeError> {
    merge_telling(from, to, |_| ())
}

/// The same, and each record that breaks off is told to `broken`.
///
/// # Errors
/// The folders are not those of one run, or can't be read or written.
pub fn merge_telling(
    from: &[PathBuf],
    to: &Path,
    mut broken: impl FnMut(Broken),
) -> Result<RunDocument, MergeError> {
    let mut parts = opened(from, &mut broken)?;
    parts.sort_by_key(|(run, _)| run.header.agents.first().map(|agent| agent.first));
    let (runs, mut told): (Vec<_>, Vec<_>) = parts.into_iter().unzip();
    let header = merged_header(&runs)?;
    let mut folder = ReservedFolder::make(to)?.begin(&header)?;
    let mut tally = Tally::new(header.clone());
    if let Err(error) = added_up(&runs, &mut told, &mut tally, &mut folder, &mut broken) {
        // Whoever finds it would take it for a run that was killed.
        folder.take_back();
        return Err(error);
    }
    let endings = runs.iter().zip(told).map(|(run, told)| match told {
        Some(told) => Ok(told.ending),
        None => broken_off(run),
    });
    let ending = Ending::join(endings.collect::<Result<_, FolderError>>()?);
    keep_failures(&runs, to, &mut tally)?;
    let tally = leave_out_transient(to, tally, &ending);
    let document = tally.document(&ending);
    folder.finish(&document)?;
    Ok(document)
}

/// What the document of a run says of its end. The document itself is not kept: those of a thousand machines would fill the memory.
struct Told {
    /// How far the record goes that it was made of.
    recorded_to: Nanos,
    /// How the run ended, with what came of its machines.
    ending: Ending,
    /// It is of one machine, which has not been merged before.
    is_own: bool,
}

impl Told {
    /// So many of its requests followed others, and are none of its schedule.
    fn leave_out_followed(&mut self, followed: u64) {
        let results = self.ending.agents.iter_mut().filter_map(|agent| agent.result.as_mut());
        let begun = results.filter_map(|result| result.begun.as_mut());
        begun.for_each(|begun| *begun = begun.saturating_sub(followed));
    }
}

/// Adds all intervals up. Of a record that breaks off before its document says so, nothing is `told` any more.
fn added_up(
    runs: &[RecordedRun],
    told: &mut [Option<Told>],
    tally: &mut Tally,
    folder: &mut FolderWriter,
    broken: &mut impl FnMut(Broken),
) -> Result<(), MergeError> {
    let mut merging = Merging::open(runs, tally.header().layout())?;
    while let Some(interval) = merging.next()? {
        tally.add(interval);
        folder.interval(interval)?;
    }
    // Only who has read all of a record knows whether it goes as far as its document says.
    for (((run, told), end), followed) in runs.iter().zip(told).zip(merging.ends()).zip(merging.followed()) {
        let name = run.header.agents.first().map(AgentPlan::name);
        match told {
            Some(told) if end >= told.recorded_to => {
                if told.is_own {
                    told.leave_out_followed(followed);
                }
                continue;
            }
            Some(_) if run.header.agents.len() > 1 => {
                return Err(MergeError::MergedIsCut {
                    path: run.dir().to_path_buf(),
                    after_s: end.as_secs_f64(),
                });
            }
            // What it says of the end is not what is here.
            _ => *told = None,
        }
        broken(Broken { dir: run.dir().to_path_buf(), name, after: (end > Nanos::ZERO).then_some(end) });
    }
    Ok(())
}

/// A record that is not whole: its machine died, or the folder was cut when it was copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The folder.
    pub dir: PathBuf,
    /// Whose it is, as people call it; `None` where not even that can be read.
    pub name: Option<String>,
    /// Where its last whole interval ends, after t = 0; `None` without any.
    pub after: Option<Nanos>,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.as_ref().map_or(String::new(), |name| format!(" ({name})"));
        write!(f, "the record in {}{name} breaks off ", self.dir.display())?;
        match self.after {
            Some(after) => write!(f, "after {:.3} s: what came of its later arrivals", after.as_secs_f64())?,
            None => f.write_str("before its first interval: what came of its arrivals")?,
        }
        f.write_str(" is lost here; if the machine has all of it, copy the folder again, and merge anew")
    }
}

/// The runs in `from`, with what their documents say. One of which nothing can be read counts as lost, like a folder that is not there.
fn opened(
    from: &[PathBuf],
    broken: &mut impl FnMut(Broken),
) -> Result<Vec<(RecordedRun, Option<Told>)>, MergeError> {
    let mut parts = Vec::new();
    let mut unread = Vec::new();
    for dir in from {
        match read_folder(dir) {
            Ok(mut run) => {
                let told = run.final_document.take().map(|document| told(&document, &run.header.agents));
                if told.is_none() && run.header.agents.len() > 1 {
                    return Err(MergeError::HalfMerged { path: dir.clone() });
                }
                parts.push((run, told));
            }
            Err(error @ FolderError::NoHeader { .. }) => unread.push((dir, error)),
            Err(error) => return Err(error.into()),
        }
    }
    for (dir, error) in unread {
        if parts.is_empty() {
            return Err(error.into());
        }
        broken(Broken { dir: dir.clone(), name: None, after: None });
    }
    Ok(parts)
}

/// What a document says of the end of a run of these machines.
fn told(document: &RunDocument, agents: &[AgentPlan]) -> Told {
    let recorded_to = document.series.rows.last().map_or(0, |row| row.start_ns + row.length_ns);
    let is_own = agents.len() == 1 && document.agents.iter().all(|agent| agent.result.is_none());
    let ending = match agents {
        // Nothing was measured: the machine may as well not have been there, unless no other one was answered either.
        [plan] if is_own && document.preflight().is_some() => {
            let preflight = Ending::of(document).origins;
            Ending { origins: preflight, ..lost(document, plan, &Arrivals::default(), (0, 0), 0) }
        }
        [plan] if is_own => {
            let (result, ending) = (Some(AgentResult::of(document)), Ending::of(document));
            let Ending { clock_last, bus_behind_ns, .. } = ending;
            let agents = vec![Agent { plan: plan.clone(), clock_last, bus_behind_ns, result }];
            Ending { agents, clock_last: None, bus_behind_ns: None, ..ending }
        }
        // A machine whose record breaks off has no end, and neither have several: what others say is not to be overruled by that.
        _ if document.agents.iter().all(|agent| agent.is(RunStatus::Running)) => {
            Ending { status: RunStatus::Running, ..Ending::of(document) }
        }
        _ => Ending::of(document),
    };
    Told { recorded_to: Nanos(recorded_to), ending, is_own }
}

/// How a run ended of which nothing tells that.
fn broken_off(run: &RecordedRun) -> Result<Ending, FolderError> {
    let (tally, ending) = replay_as(run, None, None)?;
    let (document, counters) = (tally.document(&ending), &tally.totals().counters);
    let ended = crate::tally::arrivals(&counters.measured, counters.measured.ended());
    let warmup = counters.warmup.ended();
    let due = (counters.measured.due, counters.measured.followed);
    let under_way = journeys_under_way(&tally);
    let lost = lost(&document, &run.header.agents[0], &ended, due, under_way);
    Ok(Ending { scheduled_warmup: Some(warmup), ended_after: ending.ended_after, ..lost })
}

/// Between two requests nothing of a journey is due.
fn journeys_under_way(tally: &Tally) -> u64 {
    let kinds = tally.totals().journeys.iter().take(tally.header().journeys.len());
    kinds.map(|kind| kind.outcomes.due.saturating_sub(kind.outcomes.ended())).sum()
}

/// The end of a machine that told none, of whose arrivals `ended` are known. Of those that fell due, some followed others.
fn lost(
    document: &RunDocument,
    plan: &AgentPlan,
    ended: &Arrivals,
    due: (u64, u64),
    journeys_under_way: u64,
) -> Ending {
    let result = Some(AgentResult::lost(document, plan, ended.clone(), due, journeys_under_way));
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
