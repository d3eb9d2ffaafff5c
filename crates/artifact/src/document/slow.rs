//! The slowest arrivals, and their traces at the target.

use super::{Agent, AgentPlan};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How requests name their traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TracePlan {
    /// What tells the traces of this run from those of others, 16 hexadecimal digits.
    pub seed: String,
    /// Where a trace is looked at, with `{trace_id}` in the place of its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
}

impl TracePlan {
    /// Of a run whose traces are told from those of others by `seed`.
    pub fn new(seed: u64, link: Option<String>) -> TracePlan {
        TracePlan { seed: format!("{seed:016x}"), link }
    }

    /// The trace of the arrival with this number; `None` where the seed was changed by hand.
    pub(crate) fn trace_id(&self, index: u64) -> Option<String> {
        let seed = u64::from_str_radix(&self.seed, 16).ok()?;
        Some(format!("{:032x}", unblink_core::trace_context::trace_id(seed, index)))
    }

    /// Where that trace is looked at.
    pub(crate) fn link_to(&self, trace_id: &str) -> Option<String> {
        Some(self.link.as_ref()?.replace("{trace_id}", trace_id))
    }
}

/// One slow arrival.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowArrival {
    /// Its number in the run.
    pub index: u64,
    /// When it should have started, after t = 0.
    pub intended_ns: u64,
    /// When it was sent, after t = 0; `null` when it never was.
    pub sent_ns: Option<u64>,
    /// From the intended start to the end.
    pub response_ns: u64,
    /// As in `targets`, or the number of one that is not listed.
    pub operation: String,
    /// Its place in `origins`. Absent where the run has one origin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<u8>,
    /// The first share of the machine that offered it, as `first` in `agents`. Absent in a run of one machine, and where earlier
    /// versions merged several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<u32>,
    /// Number of the connection's slot; `null` when it was never sent.
    pub connection: Option<u32>,
    /// Status of the answer; `null` without one.
    pub status: Option<u16>,
    /// What the answer says of itself in a protocol without statuses: `UNAVAILABLE`. Absent without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// `ok`, `timed_out` or a kind of failure.
    pub outcome: String,
    /// Its trace at the target, 32 hexadecimal digits, if its request named one (`--traceparent`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// Where that trace is looked at, if the run was told (`--trace-link`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_link: Option<String>,
}

impl SlowArrival {
    /// Who of several machines offered it.
    pub fn machine<'a>(&self, agents: &'a [Agent]) -> Option<&'a AgentPlan> {
        let share = self.share?;
        agents.iter().map(|agent| &agent.plan).find(|plan| plan.first == share)
    }

    /// It may have taken longer than was waited for.
    pub fn is_censored(&self) -> bool {
        ["timed_out", "unfinished", "unsent"].contains(&self.outcome.as_str())
    }
}
