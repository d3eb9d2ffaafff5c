//! What is known about a run when it starts.

use crate::document::{Environment, Load, MachineLimit, Objectives, Target, TargetsBeyond, Tool, WatchPlan};
use crate::simulated::SimulatedWorld;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unblink_core::dispatch::Pool;

/// Everything known at the start. Secrets are masked by whoever fills it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunHeader {
    /// Which tool measures.
    pub tool: Tool,
    /// When t = 0 is, RFC 3339 in UTC.
    pub started_at: String,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// The machine that offers the load.
    pub environment: Environment,
    /// What is offered.
    pub load: Load,
    /// What is requested, in turn.
    pub targets: Vec<Target>,
    /// Those of them that are not listed, where there are very many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets_beyond: Option<TargetsBeyond>,
    /// How many connections there may be.
    pub connections: ConnectionPlan,
    /// Names of the codec's violations by number, so that failures can be named again.
    pub protocol_failures: Vec<String>,
    /// Names of the operations whose response times are kept apart.
    pub operations: Vec<String>,
    /// What is asked of the run.
    #[serde(default, skip_serializing_if = "Objectives::is_empty")]
    pub objectives: Objectives,
    /// What a soak looks at beside the answers.
    #[serde(default, skip_serializing_if = "WatchPlan::is_empty")]
    pub watch: WatchPlan,
    /// Requests that a page needs, if the report is to say what such pages feel (`--fanout`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fanout: Option<u32>,
    /// What was simulated, if the run is not real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<SimulatedWorld>,
}

/// How many connections there may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionPlan {
    /// Who decides how many there are.
    pub mode: ConnectionMode,
    /// Limit (auto) or number (fixed), over all workers.
    pub limit: u64,
    /// What this machine lacks for a higher limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limited_by: Option<MachineLimit>,
    /// A connection is used for so long, if a time was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_ns: Option<u64>,
}

impl ConnectionPlan {
    /// As in the plan of the run.
    pub fn of(pool: Pool) -> ConnectionPlan {
        let (mode, limit) = match pool {
            Pool::Auto { max } => (ConnectionMode::Auto, max),
            Pool::Fixed { n } => (ConnectionMode::Fixed, n),
        };
        ConnectionPlan { mode, limit: u64::from(limit), limited_by: None, age_ns: None }
    }
}

/// Who decides how many connections there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConnectionMode {
    /// The load: one more whenever an arrival is due and none is usable, up to the limit.
    Auto,
    /// The user.
    Fixed,
}

impl ConnectionMode {
    /// As in `connections.mode`.
    pub fn name(self) -> &'static str {
        match self {
            ConnectionMode::Auto => "auto",
            ConnectionMode::Fixed => "fixed",
        }
    }
}

impl RunHeader {
    /// The stable name of the failure kind at `index`.
    pub fn failure_code(&self, index: usize) -> String {
        let names: Vec<&str> = self.protocol_failures.iter().map(String::as_str).collect();
        unblink_core::failure::FailureKind::code_at(index, &names)
    }

    /// The name of an operation by its number among those that are kept apart.
    pub fn operation_name(&self, index: usize) -> String {
        match self.operations.get(index).or_else(|| self.targets.get(index).map(|t| &t.name)) {
            Some(name) => name.clone(),
            None => format!("operation {index}"),
        }
    }

    /// The name of a target by its number, from 0 on; where it is not listed, that number as people count.
    pub fn target_name(&self, index: usize) -> String {
        match self.targets.get(index) {
            Some(target) => target.name.clone(),
            None if index < self.target_count() as usize => format!("target {}", index + 1),
            None => self.operation_name(index),
        }
    }

    /// How many targets there are, listed or not.
    pub fn target_count(&self) -> u64 {
        self.targets.len() as u64 + TargetsBeyond::count_of(self.targets_beyond.as_ref())
    }
}
