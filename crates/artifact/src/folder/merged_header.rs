//! What the records of several machines must have in common to be one run.

use super::{FolderError, RecordedRun};
use crate::document::AgentPlan;
use crate::header::RunHeader;
use serde_json::Value;
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
        /// The field of the header.
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
        match (run.header.agents.len(), &run.final_document) {
            (0, _) => return Err(MergeError::NotAShare { path: path() }),
            (2.., None) => return Err(MergeError::HalfMerged { path: path() }),
            _ => {}
        }
        if let Some(what) = difference(&first.header, &run.header) {
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
        let mut all =
            runs.iter().filter_map(|run| run.header.origins.get(place)).map(|origin| &origin.connections);
        origin.connections.limit = all.clone().map(|connections| connections.limit).sum();
        origin.connections.limited_by = all.find_map(|connections| connections.limited_by);
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

/// The flags in which their command lines differ, in words, if there are any.
fn in_command_lines(one: &[AgentPlan], other: &[AgentPlan]) -> Option<String> {
    let [one, other] = [one, other].map(|agents| agents.first().map(|agent| said(&agent.command)));
    let (one, other) = (one?, other?);
    let of = |all: &[(String, String)], flag: &str| -> Vec<String> {
        all.iter().filter(|(name, _)| name == flag).map(|(_, value)| value.clone()).collect()
    };
    let mut differing: Vec<&str> = Vec::new();
    for (flag, _) in one.iter().chain(&other) {
        let name = if flag.is_empty() { "the words without a flag" } else { flag };
        if !differing.contains(&name) && of(&one, flag) != of(&other, flag) {
            differing.push(name);
        }
    }
    let (last, before) = differing.split_last()?;
    let all =
        if before.is_empty() { (*last).to_string() } else { format!("{} and {last}", before.join(", ")) };
    Some(format!(" (their command lines differ in {all})"))
}

/// The flags of a command line with their values, as far as that can be told without knowing them, but for those in which machines
/// may differ.
fn said(command: &[String]) -> Vec<(String, String)> {
    const OF_A_MACHINE: [&str; 5] = ["--share", "--start-at", "-o", "--output", "--json"];
    let mut words = command.iter().skip(1).peekable();
    let mut all = Vec::new();
    while let Some(word) = words.next() {
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (flag, value.to_string()),
            _ if word.starts_with('-') => {
                (word.as_str(), words.next_if(|next| !next.starts_with('-')).cloned().unwrap_or_default())
            }
            _ => ("", word.clone()),
        };
        if !OF_A_MACHINE.contains(&flag) {
            all.push((flag.to_string(), value));
        }
    }
    all
}

/// The first field in which two headers differ that must not.
fn difference(one: &RunHeader, other: &RunHeader) -> Option<String> {
    let [one, other] = [one, other].map(comparable);
    let Value::Object(fields) = &one else { return None };
    let names = fields.keys().chain(other.as_object().into_iter().flat_map(|fields| fields.keys()));
    let what = names.into_iter().find(|name| one.get(name) != other.get(name))?;
    let inner = |value: &Value| value.get(what).and_then(Value::as_object).cloned().unwrap_or_default();
    let (a, b) = (inner(&one), inner(&other));
    let part = a.keys().chain(b.keys()).find(|name| a.get(*name) != b.get(*name));
    Some(match part {
        Some(part) => format!("`{what}.{part}`"),
        None => format!("`{what}`"),
    })
}

/// A header without what each machine has for itself.
fn comparable(header: &RunHeader) -> Value {
    let mut header = header.clone();
    header.command.clear();
    header.environment = Default::default();
    header.plan.threads = 0;
    for origin in &mut header.origins {
        (origin.connections.limit, origin.connections.limited_by) = (0, None);
    }
    let of = header.agents.first().map(|agent| (agent.of, agent.start_at.clone(), agent.due_of_all));
    header.agents.clear();
    let mut value = serde_json::to_value(&header).unwrap_or_default();
    if let Some((of, start_at, due_of_all)) = of {
        value["agents"] = serde_json::json!({ "of": of, "start_at": start_at, "due_of_all": due_of_all });
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agents(line: &str) -> Vec<AgentPlan> {
        let command = line.split(' ').map(String::from).collect();
        let agent = serde_json::json!({
            "first": 1, "last": 1, "of": 2, "start_at": "2026-01-31T12:00:00Z", "due_of_all": 1,
            "command": [], "environment": crate::document::Environment::default(),
        });
        let agent: AgentPlan = serde_json::from_value(agent).expect("an agent");
        vec![AgentPlan { command, ..agent }]
    }

    #[test]
    fn all_flags_that_differ_are_named() {
        let differ = |one: &str, other: &str| in_command_lines(&agents(one), &agents(other));
        let named = |flags: &str| Some(format!(" (their command lines differ in {flags})"));
        let base = "unblink run plan.toml -R 5 -d 3s --seed 7 --share 1/2 -o one";
        assert_eq!(differ(base, "unblink run plan.toml -R 5 -d 3s --seed 7 --share 2/2 -o two"), None);
        assert_eq!(differ(base, "unblink run plan.toml -R 6 -d 3s --seed 7"), named("-R"));
        assert_eq!(differ(base, "unblink run plan.toml -R 6 -d 3s --seed 8"), named("-R and --seed"));
        let all = named("the words without a flag, -R, -d, --seed and --body");
        assert_eq!(differ(base, "unblink run other.toml -R 6 -d 4s --body x"), all);
    }
}
