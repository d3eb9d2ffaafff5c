//! The folders in which agents' records have come together: which of them can be merged.

use crate::output;
use std::collections::BTreeMap;
use std::path::PathBuf;
use unblink_artifact::folder::{RUN_FILE, check_folder, read_folder};
use unblink_cluster::coordinator::AgentPart;
use unblink_cluster::message::AgentId;

/// Those of `folders` that are to be merged. Of an agent that is lost anything may be missing, the first line as well: what can't be
/// read is left out with a note, as if nothing had come, so that one agent does not take the record of all with it. Of any other
/// agent all is here to the last bit, and the merge says what is wrong with it.
pub(super) fn mergeable(
    folders: Vec<(AgentId, PathBuf)>,
    parts: &[AgentPart],
    notes: &mut Vec<String>,
) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for (agent, dir) in folders {
        if !dir.join(RUN_FILE).exists() {
            continue;
        }
        // Nobody else's is read for it: a long record is read for a while.
        let lost = parts.iter().find(|part| part.is_lost && part.agent == agent);
        match lost.map_or(Ok(()), |_| check_folder(&dir)) {
            Ok(()) => all.push(dir),
            Err(error) => {
                let host = lost.map_or("", |part| part.machine.host.as_str());
                let note = format!(
                    "what came of the record of the lost agent {agent} on {host} can't be read and is left out: {error}"
                );
                output::note(format_args!("warning: {note}"));
                notes.push(note);
            }
        }
    }
    all
}

/// Of each share the record that its agent has itself, if it is there: it goes at least as far as what came over the bus. What is
/// there and can't be read is left out with a note.
pub(super) fn with_own(gathered: Vec<PathBuf>, own: Vec<PathBuf>, notes: &mut Vec<String>) -> Vec<PathBuf> {
    let mut by_share = BTreeMap::new();
    // An agent that died before it wrote anything has no folder.
    for dir in gathered.into_iter().chain(own).filter(|dir| dir.join(RUN_FILE).exists()) {
        match read_folder(&dir).map(|run| run.header.agents.first().map(|agent| agent.first)) {
            Ok(Some(share)) => drop(by_share.insert(share, dir)),
            unread => {
                let why =
                    unread.err().map_or("it is the record of no share".into(), |error| error.to_string());
                let note = format!("the record in {} is left out: {why}", dir.display());
                output::note(format_args!("warning: {note}"));
                notes.push(note);
            }
        }
    }
    by_share.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use unblink_cluster::message::Machine;

    fn part(agent: &str, is_lost: bool) -> AgentPart {
        let machine = Machine::new("1", "h".into(), 1);
        let (agent, clocks, ended) = (agent.to_string(), Vec::new(), None);
        AgentPart { agent, machine, first: 1, last: 1, is_lost, clocks, ended }
    }

    fn folder(place: &Path, agent: &str, document: Option<&str>) -> (AgentId, PathBuf) {
        let dir = place.join(agent);
        std::fs::create_dir(&dir).expect("a folder");
        if let Some(document) = document {
            std::fs::write(dir.join(RUN_FILE), document).expect("written");
        }
        (agent.to_string(), dir)
    }

    #[test]
    fn of_a_lost_agent_what_can_not_be_read_is_left_out() {
        let place = tempfile::tempdir().expect("a folder");
        let folders = vec![
            folder(place.path(), "torn", Some("{")),
            folder(place.path(), "whole", Some("{")),
            folder(place.path(), "nothing", None),
        ];
        let parts = [part("torn", true), part("whole", false), part("nothing", true)];
        let mut notes = Vec::new();
        let from = mergeable(folders, &parts, &mut notes);
        assert_eq!(
            from,
            [place.path().join("whole")],
            "the merge says what is wrong with one that is not lost"
        );
        let [note] = &notes[..] else { panic!("{notes:?}") };
        assert!(note.contains("lost agent torn on h") && note.contains("run.json"), "{note}");
    }

    /// Whoever it belongs to, its arrivals would be missing without a word.
    #[test]
    fn what_can_not_be_read_is_told() {
        let place = tempfile::tempdir().expect("a folder");
        let dirs = [("gathered", Some("{")), ("own", Some("[]")), ("nothing", None)]
            .map(|(name, document)| folder(place.path(), name, document).1);
        let [gathered, own, nothing] = dirs;
        let mut notes = Vec::new();
        assert!(with_own(vec![gathered], vec![own, nothing], &mut notes).is_empty());
        let [first, second] = &notes[..] else { panic!("{notes:?}") };
        assert!(first.contains("gathered") && second.contains("own"), "{notes:?}");
    }
}
