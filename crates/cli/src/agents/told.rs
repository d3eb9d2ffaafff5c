//! What only the coordinator knows of a run, which is told and not judged.

use super::CLUSTER_FILE;
use crate::output;
use std::io::Write;
use std::path::Path;
use unblink_artifact::document::named_shares;
use unblink_cluster::coordinator::AgentPart;
use unblink_cluster::message::Time;

/// What only the coordinator knows of a run.
pub(crate) struct ToldOf {
    pub(super) run: String,
    pub(super) start_at: Time,
    pub(super) parts: Vec<AgentPart>,
    pub(super) stopped: Option<String>,
    pub(super) notes: Vec<String>,
    /// The rule of `--abort-on` that has held for the figures of all, perhaps when the load was over already.
    pub rule: Option<String>,
}

impl ToldOf {
    /// Shares of all agents together.
    pub(crate) fn shares(&self) -> u32 {
        self.parts.iter().map(|part| part.last).max().unwrap_or(0)
    }

    /// Something of the run is not known.
    pub(crate) fn has_lost(&self) -> bool {
        self.parts.iter().any(|part| part.is_lost)
    }

    /// Writes it into the folder of the run. It is told, not judged: the figures do not rest on it.
    pub(crate) fn write(&self, folder: &Path) {
        let write = || -> std::io::Result<()> {
            let mut file = std::fs::File::create(folder.join(CLUSTER_FILE))?;
            let head =
                serde_json::json!({"schema": "unblink.cluster/1", "run": self.run, "stopped": self.stopped});
            writeln!(file, "{head}")?;
            for part in &self.parts {
                let line = serde_json::json!({
                    "agent": part.agent, "host": part.machine.host, "first": part.first, "last": part.last, "lost": part.is_lost,
                    "code": part.ended.as_ref().map(|ended| ended.code),
                    "cores": part.machine.cores, "descriptors": part.machine.descriptors, "ports": part.machine.ports,
                    "error": part.ended.as_ref().and_then(|ended| ended.error.clone()),
                });
                writeln!(file, "{line}")?;
                for (at, reading) in &part.clocks {
                    let line = serde_json::json!({
                        "agent": part.agent, "at_ns": at.saturating_sub(self.start_at),
                        "clock_offset_ns": reading.offset_ns, "clock_error_ns": reading.error_ns,
                    });
                    writeln!(file, "{line}")?;
                }
            }
            self.notes.iter().try_for_each(|note| writeln!(file, "{}", serde_json::json!({ "note": note })))
        };
        if let Err(error) = write() {
            output::note(format_args!("warning: can't write {CLUSTER_FILE}: {error}"));
        }
    }
}

/// What agents have to say at their end. The first of it is shown: a thousand may say the same.
pub(super) fn told_by(parts: &[AgentPart]) -> Vec<String> {
    let each = parts.iter().flat_map(|part| {
        // What it could not do comes before what it notes.
        let own = part.ended.iter().flat_map(|ended| ended.error.iter().chain(&ended.notes));
        let shares = named_shares(part.first, part.last, parts.last().map_or(part.last, |last| last.last));
        own.map(move |note| format!("the agent on {} ({shares}): {note}", part.machine.host))
    });
    let all: Vec<String> = each.collect();
    if let Some(first) = all.first() {
        output::note(format_args!("warning: {first}"));
    }
    if all.len() > 1 {
        output::note(format_args!("warning: {} more such words are in {CLUSTER_FILE}", all.len() - 1));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_cluster::message::{Ended, Machine};

    #[test]
    fn what_an_agent_could_not_do_comes_before_what_it_notes() {
        let part = |first: u32, error: Option<&str>, notes: &[&str]| {
            let notes = notes.iter().map(ToString::to_string).collect();
            let ended = Ended {
                code: 3,
                stopped_by: None,
                error: error.map(str::to_string),
                notes,
                files: Vec::new(),
            };
            let machine = Machine::new("1", format!("host-{first}"), 2);
            let (agent, clocks) = (first.to_string(), Vec::new());
            AgentPart { agent, machine, first, last: first + 1, is_lost: false, clocks, ended: Some(ended) }
        };
        let quiet = AgentPart { ended: None, ..part(3, None, &[]) };
        let all = told_by(&[part(1, Some("no disk"), &["a note"]), quiet, part(5, None, &["another"])]);
        assert_eq!(
            all,
            [
                "the agent on host-1 (shares 1–2 of 6): no disk",
                "the agent on host-1 (shares 1–2 of 6): a note",
                "the agent on host-5 (shares 5–6 of 6): another",
            ]
        );
    }
}
