//! What has come of a run of many machines.

use crate::message::{AgentId, Ended, Machine, Reading, Time};

/// What has come of it.
#[derive(Clone, Debug, PartialEq)]
pub enum FleetOutcome {
    /// No load was offered, or none that counts.
    NotBegun(NotBegun),
    /// It ran.
    Run {
        /// When the load began, by the coordinator's clock.
        start_at: Time,
        /// What each agent did, in the order of their shares.
        parts: Vec<AgentPart>,
        /// Why all were stopped before the planned end, if they were.
        stopped: Option<String>,
    },
}

impl FleetOutcome {
    /// Those whose records are here as a whole.
    pub fn fetched(&self) -> impl Iterator<Item = &AgentId> {
        let parts = match self {
            FleetOutcome::Run { parts, .. } => &parts[..],
            FleetOutcome::NotBegun(_) => &[],
        };
        parts.iter().filter(|part| !part.is_lost).map(|part| &part.agent)
    }
}

/// Why a run did not begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotBegun {
    /// For people, a sentence each.
    pub reasons: Vec<String>,
    /// The target did not answer as expected when it was asked once.
    pub by_target: bool,
    /// A guard kept it from beginning: its name in documents.
    pub guard: Option<String>,
}

/// A fleet of a thousand agents has a thousand reasons, and no message takes all of them.
const REASONS_MAX: usize = 4;

impl NotBegun {
    /// What agents are told of it.
    pub(super) fn in_short(&self) -> String {
        let more = match self.reasons.len().saturating_sub(REASONS_MAX) {
            0 => String::new(),
            more => format!("; and {more} reasons more, which the coordinator tells"),
        };
        self.reasons.iter().take(REASONS_MAX).map(String::as_str).collect::<Vec<_>>().join("; ") + &more
    }

    /// For this reason alone.
    pub(super) fn because(why: impl Into<String>) -> NotBegun {
        NotBegun { reasons: vec![why.into()], by_target: false, guard: None }
    }
}

/// What one agent did.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentPart {
    /// Which.
    pub agent: AgentId,
    /// What it has.
    pub machine: Machine,
    /// Its first share, from 1.
    pub first: u32,
    /// Its last share.
    pub last: u32,
    /// Nothing was heard of it at the end, or its record has not come as a whole.
    pub is_lost: bool,
    /// How its clock compared with the coordinator's after the start: when that was heard, by the coordinator's.
    pub clocks: Vec<(Time, Reading)>,
    /// How it ended, if it said so.
    pub ended: Option<Ended>,
}
