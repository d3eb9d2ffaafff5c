//! One of several machines that offer a load together.

use super::{Aborted, Arrivals, Environment, Generator, RunStatus, Validity};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one machine was to do: its shares of the load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentPlan {
    /// Its first share, from 1. Each of its threads has one.
    pub first: u32,
    /// Its last share.
    pub last: u32,
    /// Shares of all machines together.
    pub of: u32,
    /// When t = 0 was to be, RFC 3339 in UTC: the same for all of them.
    pub start_at: String,
    /// The coordinator's clock less this machine's, before the start; absent where nobody compared them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_offset_ns: Option<i64>,
    /// The difference is wrong by at most this, and so is the machine's start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_error_ns: Option<u64>,
    /// Measured arrivals of its shares until the planned end, counted from the schedule; absent of a closed load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due: Option<u64>,
    /// The same of all shares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub due_of_all: Option<u64>,
    /// So many machines may be lost before the run is worth nothing; absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tolerate_lost: Option<u32>,
    /// SHA-256 of what decides what is sent and how it is judged: the same for all parts of one run. Variables of the environment are in
    /// it by their names, and of an experiment, which of its runs this is. Absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_sha256: Option<String>,
    /// The command line there, secrets masked.
    pub command: Vec<String>,
    /// The machine.
    pub environment: Environment,
}

/// How people call some shares of a load: `share 2 of 4`, `shares 3–4 of 8`.
pub fn named_shares(first: u32, last: u32, of: u32) -> String {
    match first == last {
        true => format!("share {first} of {of}"),
        false => format!("shares {first}–{last} of {of}"),
    }
}

impl AgentPlan {
    /// How people call it: `share 2 of 4`, `shares 3–4 of 8`.
    pub fn name(&self) -> String {
        named_shares(self.first, self.last, self.of)
    }

    /// How many shares it has.
    pub fn shares(&self) -> u32 {
        (self.last + 1).saturating_sub(self.first)
    }

    /// A header that anybody may have written says something possible.
    pub(crate) fn is_possible(&self) -> bool {
        1 <= self.first && self.first <= self.last && self.last <= self.of
    }
}

/// One machine, and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Agent {
    /// What it was to do.
    #[serde(flatten)]
    pub plan: AgentPlan,
    /// The last comparison of its clock with the coordinator's while load went on; absent where there was none after the start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock_last: Option<ClockReading>,
    /// How late what it recorded was kept by the bus at the most while its run went on, from when it was written; absent where no bus
    /// took it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_behind_ns: Option<u64>,
    /// What its own record says, in a document that several were merged to; absent in its own document, which says all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<AgentResult>,
}

/// How the coordinator's clock compared with a machine's at some moment of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ClockReading {
    /// When, after t = 0.
    pub at_ns: u64,
    /// The coordinator's clock less the machine's.
    pub offset_ns: i64,
    /// The difference is wrong by at most this.
    pub error_ns: u64,
}

impl Agent {
    /// Its own record says that it ended so. False where that was not merged.
    pub fn is(&self, status: RunStatus) -> bool {
        self.result.as_ref().is_some_and(|result| result.status == status)
    }

    /// By how much its arrivals may have been moved against the coordinator's clock: by the error of the first comparison, or later by
    /// what its clock has drifted since, which is known with the error of the last one. `None` where nobody compared them.
    pub(crate) fn clock_error_ns(&self) -> Option<u64> {
        let AgentPlan { clock_offset_ns: offset, clock_error_ns: error, .. } = &self.plan;
        let drifted = |last: ClockReading| {
            last.offset_ns.abs_diff(offset.unwrap_or(last.offset_ns)).saturating_add(last.error_ns)
        };
        (*error).max(error.and(self.clock_last).map(drifted))
    }
}

/// What the record of one machine says by itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentResult {
    /// Did it come to its end? `running`: its record breaks off, so it was lost.
    pub status: RunStatus,
    /// Where its measured arrivals ended.
    pub arrivals: Arrivals,
    /// Measured arrivals of its schedule that fell due, of `due` in all: without requests that follow others, and with those of a
    /// transient that was left out. Absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun: Option<u64>,
    /// Measured journeys that had begun and of which no end is known, where its record breaks off: nobody knows which requests would have
    /// followed. Absent where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub journeys_under_way: u64,
    /// Where its load ended, after t = 0; absent in records of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_to_ns: Option<u64>,
    /// What stopped it; absent where nothing did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<Aborted>,
    /// 99th percentile of its response times; absent where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99_ns: Option<u64>,
    /// Can it be believed?
    pub validity: Validity,
    /// How its load generator behaved.
    pub generator: Generator,
}

impl AgentResult {
    /// How many of its schedule's arrivals fell due.
    pub(crate) fn begun(&self) -> u64 {
        self.begun.unwrap_or_else(|| self.arrivals.due())
    }
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// How many of the shares of a load are none of these machines'. 0 without any.
pub fn shares_missing<'a>(agents: impl IntoIterator<Item = &'a AgentPlan>) -> u32 {
    let mut agents = agents.into_iter().peekable();
    let of = agents.peek().map_or(0, |agent| agent.of);
    of.saturating_sub(agents.map(AgentPlan::shares).fold(0, u32::saturating_add))
}

/// The record of some machine breaks off.
pub(crate) fn breaks_off(agents: &[Agent]) -> bool {
    agents.iter().any(|agent| agent.is(RunStatus::Running))
}

/// Measured arrivals of which nothing was heard: those of machines whose record is not here, and what is missing of records
/// that break off. `None` where that can't be counted: a closed load has no schedule.
pub(crate) fn lost(agents: &[Agent]) -> Option<u64> {
    // Whatever is known to have been under way is a handful of what its users would have asked for.
    if agents.iter().any(|agent| agent.is(RunStatus::Running) && agent.plan.due.is_none()) {
        return None;
    }
    let plans = || agents.iter().map(|agent| &agent.plan);
    let missing = match shares_missing(plans()) {
        0 => 0,
        _ => {
            let here: Option<u64> = plans().map(|plan| plan.due).sum();
            plans().find_map(|plan| plan.due_of_all)?.saturating_sub(here?)
        }
    };
    let results = agents.iter().filter_map(|agent| agent.result.as_ref());
    Some(results.fold(missing, |sum, result| sum + result.arrivals.lost))
}

/// Measured arrivals that machines did not offer which their users stopped while others went on to the planned end.
pub(crate) fn stopped(agents: &[Agent]) -> u64 {
    if !agents.iter().any(|agent| agent.is(RunStatus::Complete)) {
        return 0;
    }
    let missing = agents
        .iter()
        .filter(|agent| agent.is(RunStatus::Interrupted))
        .filter_map(|agent| Some(agent.plan.due?.saturating_sub(agent.result.as_ref()?.begun())));
    missing.sum()
}
