//! How many machines a load takes, and what breaks first: arithmetic, without a clock or a machine.
//!
//! A machine that offers shares of a load is an agent; each share has a worker. An agent must carry its share with the
//! processors, the network, the local ports and the descriptors that it has. The largest share decides, since Poisson arrivals are
//! streams that are dealt whole. What a load needs most is rarely the rate: while the target stalls, every arrival needs a
//! connection, which a worker must open in time, and connections to one address are limited by local ports. docs/sizing.md has the
//! formulas.

pub mod constants;
pub mod cost;
pub mod dealt;
mod limits;

pub use constants::{Constant, Constants, Name, Refusal};
pub use cost::Requests;
pub use dealt::{Dealing, Dealt};
pub use limits::{Bound, Limit};

use limits::Bounds;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unblink_core::schedule::STREAMS;

/// The load that is to be offered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Load {
    /// At its highest, in requests per second; above 0.
    pub per_s: f64,
    /// How long a request takes while all is well, in s.
    pub latency_s: f64,
    /// How long the slowest request takes in the worst stall that is to be carried, in s.
    pub stall_s: f64,
    /// How arrivals are dealt.
    pub dealt: Dealt,
    /// What they ask.
    pub requests: Requests,
    /// Addresses and ports of the target that connections are spread over.
    pub addresses: u32,
    /// All connections that a stall takes are opened before the load (`run -c`). Otherwise each arrival of a stall opens one.
    pub open_before: bool,
}

/// A machine to offer it from.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Machine {
    /// Its processors; above 0.
    pub cores: u32,
    /// The speed of its network in each direction, in bits per second.
    pub nic_bits_per_s: f64,
}

/// What the agent with the largest share does.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SizeAgent")]
pub struct Agent {
    /// Of Poisson's 1,024 streams; absent where shares are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u64>,
    /// Requests per second.
    pub per_s: f64,
    /// Processors that are busy while all is well.
    pub cores_busy: f64,
    /// How much of its processor the busiest worker needs if each arrival of a stall opens a connection. Above 1 it can't, which matters
    /// unless they are opened before the load.
    pub worker_busy_in_stall: f64,
    /// Connections in the stall, or those that are opened before the load.
    pub connections: u64,
    /// Those it may have to all addresses of the target.
    pub connections_max: u64,
    /// Files that it opens.
    pub descriptors: u64,
    /// Sent and received, in bits per second.
    pub network_bits_per_s: [f64; 2],
    /// What it reports, in bytes per second.
    pub bus_bytes_per_s: f64,
}

/// What all agents together come to.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SizeTotal")]
pub struct Total {
    /// Processors that are busy while all is well.
    pub cores_busy: f64,
    /// Processors that this takes, with what must be left free of each.
    pub cores: f64,
    /// Connections in the stall, or those that are opened before the load.
    pub connections: u64,
    /// Connections while all is well: as many, if they are opened before the load.
    pub connections_at_rest: u64,
    /// Sent and received, in bits per second.
    pub network_bits_per_s: [f64; 2],
    /// What all of them report, in bytes per second, at the most.
    pub bus_bytes_per_s: f64,
    /// Processors that merging their reports keeps busy.
    pub merge_cores_busy: f64,
}

/// A fleet for which connections are opened before the load.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SizeOpenBefore")]
pub struct OpenBefore {
    /// Machines.
    pub agents: u32,
    /// Connections of all of them (`run -c`).
    pub connections: u64,
}

/// A fleet, and whether it carries the load.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SizeFleet")]
pub struct Fleet {
    /// It offers the rate and goes through the stall. If not, and no number of agents was asked for, it is the fleet that carries
    /// the highest rate.
    pub is_enough: bool,
    /// Machines.
    pub agents: u32,
    /// Shares, and threads, of each.
    pub workers_per_agent: u32,
    /// How many would be enough if shares were equal, as those of even arrivals are; absent where none are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_if_equal: Option<u32>,
    /// What would be enough if connections were opened before the load; absent unless it is less, or this fleet is not enough.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_open_before: Option<OpenBefore>,
    /// What `run -c auto:N` must say for the connections of the stall; absent where `auto` by itself opens as many, and where they are
    /// opened before the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_max: Option<u64>,
    /// What each limit allows, the one that breaks first in front.
    pub bounds: Vec<Bound>,
    /// The highest rate that it carries through the stall.
    pub per_s_max: f64,
    /// The longest stall that it carries at the rate, in s; 0 where it does not carry the rate itself.
    pub stall_s_max: f64,
    /// The one with the largest share.
    pub largest: Agent,
    /// All together.
    pub total: Total,
}

/// The smallest fleet that is enough; `agents` of them if that is given. Where none is enough, the one that carries most. Each agent
/// has a worker for each of its cores, as an agent has by itself, unless there are more than streams, or fewer are dealt better.
pub fn size(load: &Load, machine: &Machine, constants: &Constants, agents: Option<u32>) -> Fleet {
    let bounds = Bounds::of(load, machine, constants);
    // The first of those that carry as much.
    let most = |best: Option<Dealing>, next: Dealing| match best {
        Some(best) if bounds.per_s_max(best) >= bounds.per_s_max(next) * (1.0 - CLOSE) => Some(best),
        _ => Some(next),
    };
    let enough = smallest(&bounds, load, machine, agents);
    let chosen = enough.or_else(|| candidates(load, machine, agents).fold(None, most));
    let mut fleet = bounds.fleet(chosen.expect("agents are 1 to 1,024, and one has a worker"));
    let other = |load: Load, agents| {
        let bounds = Bounds::of(&load, machine, constants);
        smallest(&bounds, &load, machine, agents).map(|dealing| (dealing.agents, bounds.pool(dealing)))
    };
    fleet.agents_if_equal = other(Load { dealt: Dealt::Equally, ..*load }, None).map(|(agents, _)| agents);
    if bounds.stall_opens() {
        let open_before = other(Load { open_before: true, ..*load }, agents);
        fleet.if_open_before = open_before
            .filter(|(agents, _)| !fleet.is_enough || *agents < fleet.agents)
            .map(|(agents, connections)| OpenBefore { agents, connections });
    }
    fleet
}

/// How a load may be dealt, the fewest agents and of these the most workers first.
fn candidates(load: &Load, machine: &Machine, agents: Option<u32>) -> impl Iterator<Item = Dealing> {
    let (dealt, cores) = (load.dealt, machine.cores);
    let agents = agents.map_or(1..=STREAMS as u32, |agents| agents..=agents);
    agents.flat_map(move |agents| {
        let workers = (1..=cores.min(STREAMS as u32 / agents)).rev();
        workers.map(move |workers| Dealing { dealt, agents, workers })
    })
}

/// The first that is enough.
fn smallest(bounds: &Bounds<'_>, load: &Load, machine: &Machine, agents: Option<u32>) -> Option<Dealing> {
    candidates(load, machine, agents).find(|dealing| bounds.per_s_max(*dealing) >= load.per_s * (1.0 - CLOSE))
}

/// Quotients of floating-point numbers are this exact.
const CLOSE: f64 = 1e-9;

/// The least whole number that is not below, but for rounding.
fn whole_up(value: f64) -> u64 {
    (value * (1.0 - CLOSE)).ceil() as u64
}

#[cfg(test)]
mod tests;
