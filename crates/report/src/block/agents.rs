//! The machines that offered a load together.

use super::{Block, Paint, Room, Section, Span, Table, Tone, dim, left, plain, right};
use crate::format;
use unblink_artifact::document::{Agent, AgentPlan, AgentResult, RunDocument, RunStatus, ValidityStatus};

/// Each by its own record, if several were merged.
pub(crate) fn section(doc: &RunDocument, room: Room) -> Option<Section> {
    let results = || doc.agents.iter().filter_map(|agent| Some((agent, agent.result.as_ref()?)));
    let rows: Vec<Vec<Span>> =
        results().take(room.rows_max()).map(|(agent, result)| row(agent, result)).collect();
    if rows.is_empty() {
        return None;
    }
    let more = results().count() - rows.len();
    let columns =
        [left("share"), right("arrivals"), right("ok"), right("p99"), right("busy"), left("by itself")];
    let mut blocks = vec![Block::Table(Table::new(columns, rows))];
    if more > 0 {
        blocks.push(Block::Line(Paint::Dim, format!("and {} more", format::count(more as u64))));
    }
    let note = "each by its own record; all other figures are of all together".into();
    Some(Section { class: "counts", name: "Machines", note, blocks })
}

/// Which ones a machine has, as short as a column wants it: `2/4`, `3–4/8`.
pub(crate) fn shares(plan: &AgentPlan) -> String {
    match plan.first == plan.last {
        true => format!("{}/{}", plan.first, plan.of),
        false => format!("{}–{}/{}", plan.first, plan.last, plan.of),
    }
}

fn row(agent: &Agent, result: &AgentResult) -> Vec<Span> {
    let arrivals = &result.arrivals;
    let by_itself = match (result.status, result.validity.status) {
        // A closed load has no schedule.
        (RunStatus::Running, _) if agent.plan.due.is_none() => {
            (Paint::Failure, "lost with its users".to_string())
        }
        (RunStatus::Running, _) => {
            (Paint::Failure, format!("lost, and {} arrivals with it", format::count(arrivals.lost)))
        }
        (RunStatus::Interrupted, _) => (Paint::Finding, "stopped early".to_string()),
        (RunStatus::Aborted, _) => (Paint::Finding, "stopped early".to_string()),
        (RunStatus::Complete, status) => match status {
            ValidityStatus::Valid => plain("valid"),
            ValidityStatus::Degraded => (Tone::from(status).paint(), "degraded".to_string()),
            ValidityStatus::Invalid => (Tone::from(status).paint(), "invalid".to_string()),
        },
    };
    vec![
        plain(shares(&agent.plan)),
        plain(format::count(arrivals.scheduled)),
        plain(format::share(arrivals.ok, arrivals.scheduled)),
        result.p99_ns.map_or(dim("–"), |ns| plain(format::duration(ns))),
        plain(format::percent(result.generator.busy_share)),
        by_itself,
    ]
}
