//! What the records of several machines must have in common to be one run.

use super::differing::{differing, in_command_lines};
use super::{FolderError, RecordedRun};
use crate::document::AgentPlan;
use crate::header::RunHeader;
use std::path::{Path, PathBuf};

/// Why records are not those of one run.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// A folder can't be read or written.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// Nothing to merge.
    #[error("there is nothing to merge: name the run folders of the machines")]
    Nothing,
    /// The run of one machine that had all of the load.
    #[error(
        "{path} is a run of its own, not a share of one: only runs that were started with --share can be merged",
        path = path.display()
    )]
    NotAShare {
        /// The folder.
        path: PathBuf,
    },
    /// A merge that was stopped before its end.
    #[error(
        "{path} was to be merged from several folders, and the merge did not come to its end: merge those again instead",
        path = path.display()
    )]
    HalfMerged {
        /// The folder.
        path: PathBuf,
    },
    /// What was merged of several machines has lost its end.
    #[error(
        "{path} was merged from several folders and breaks off after {after_s:.3} s, so that nobody knows what is missing of whom: \
         copy it again from where it was merged, or merge those folders again instead",
        path = path.display()
    )]
    MergedIsCut {
        /// The folder.
        path: PathBuf,
        /// Where its last whole interval ends, in seconds after t = 0.
        after_s: f64,
    },
    /// They were not started with the same plan, at the same time, by the same version.
    #[error(
        "{one} and {other} are not parts of one run: they differ in {what}; merge those that were started with the \
         same plan, the same seed, the same --start-at and the same version of unblink",
        one = one.display(),
        other = other.display()
    )]
    Differ {
        /// The first folder.
        one: PathBuf,
        /// The folder that is not like it.
        other: PathBuf,
        /// The fields of the header, with both values, in words.
        what: String,
    },
    /// They ask for something else, or judge it otherwise, in a way of which a header tells nothing.
    #[error(
        "{one} and {other} are not parts of one run: they do not ask for the same, or judge it otherwise{what}; \
         merge those that were started with the same plan, the same files and the same flags",
        one = one.display(),
        other = other.display()
    )]
    AskOther {
        /// The first folder.
        one: PathBuf,
        /// The folder that is not like it.
        other: PathBuf,
        /// What of it the command lines show, in words.
        what: String,
    },
    /// A share is there twice.
    #[error(
        "share {share} of {of} is both in {one} and in {other}: leave one of them out",
        one = one.display(),
        other = other.display()
    )]
    Twice {
        /// Which one, from 1.
        share: u32,
        /// Of so many.
        of: u32,
        /// A folder that has it.
        one: PathBuf,
        /// Another one.
        other: PathBuf,
    },
}

/// The header of all `runs` together, which are in the order of their shares.
pub(super) fn merged_header(runs: &[RecordedRun]) -> Result<RunHeader, MergeError> {
    let first = runs.first().ok_or(MergeError::Nothing)?;
    for run in runs {
        let path = || run.dir().to_path_buf();
        if run.header.agents.is_empty() {
            return Err(MergeError::NotAShare { path: path() });
        }
        if let Some(what) = differing(&first.header, &run.header) {
            let what = what + &in_command_lines(&first.header.agents, &run.header.agents).unwrap_or_default();
            return Err(MergeError::Differ { one: first.dir().to_path_buf(), other: path(), what });
        }
    }
    check_asked(runs)?;
    let mut agents: Vec<(&AgentPlan, &Path)> =
        runs.iter().flat_map(|run| run.header.agents.iter().map(|agent| (agent, run.dir()))).collect();
    agents.sort_by_key(|(agent, _)| agent.first);
    for pair in agents.windows(2) {
        let [(before, one), (agent, other)] = [pair[0], pair[1]];
        if agent.first <= before.last {
            let (one, other) = (one.to_path_buf(), other.to_path_buf());
            return Err(MergeError::Twice { share: agent.first, of: agent.of, one, other });
        }
    }
    let mut header = first.header.clone();
    header.agents = agents.into_iter().map(|(agent, _)| agent.clone()).collect();
    // The machine with the first share stands for all.
    if let Some(agent) = header.agents.first() {
        (header.command, header.environment) = (agent.command.clone(), agent.environment.clone());
    }
    header.plan.threads = runs.iter().map(|run| run.header.plan.threads).sum();
    for (place, origin) in header.origins.iter_mut().enumerate() {
        let all =
            runs.iter().filter_map(|run| run.header.origins.get(place)).map(|origin| &origin.connections);
        origin.connections.limit = all.clone().map(|connections| connections.limit).sum();
        // Of several the same one, whichever machines were merged before.
        origin.connections.limited_by = all.filter_map(|connections| connections.limited_by).min();
    }
    Ok(header)
}

/// All parts of which it is known ask for the same.
fn check_asked(runs: &[RecordedRun]) -> Result<(), MergeError> {
    let asked = |run: &RecordedRun| run.header.agents.iter().find_map(|agent| agent.asked_sha256.clone());
    let mut known = runs.iter().filter_map(|run| Some((run, asked(run)?)));
    let Some((first, of_first)) = known.next() else { return Ok(()) };
    let Some((other, _)) = known.find(|(_, asked)| *asked != of_first) else { return Ok(()) };
    let what = in_command_lines(&first.header.agents, &other.header.agents).unwrap_or_else(|| {
        " (their command lines show no difference: it is in the plan, in a file, or in a value that is not shown)"
            .into()
    });
    Err(MergeError::AskOther { one: first.dir().to_path_buf(), other: other.dir().to_path_buf(), what })
}
