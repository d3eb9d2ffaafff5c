//! What one agent carries, by each of its limits.

use super::constants::{Constants, Name};
use super::dealt::Dealing;
use super::{Agent, CLOSE, Fleet, Load, Machine, Total, whole_up};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unblink_core::dispatch::{AUTO_CONNECTIONS_MAX, ports_found_quickly};

/// Descriptors of an agent besides its connections: its record, its timers and its log, for each worker.
const OTHER_FILES: f64 = 64.0;

/// What a machine has only so much of.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "SizeLimit")]
pub enum Limit {
    /// A worker's processor.
    Processor,
    /// The same while each arrival of a stall opens a connection.
    Opening,
    /// The busier direction of the network.
    Network,
    /// Local ports, for connections to each address of the target.
    Ports,
    /// Open files.
    Descriptors,
    /// What the bus takes in from all agents together.
    Bus,
    /// The processor of the coordinator, which merges what all agents report.
    Merge,
}

/// What a limit allows a fleet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SizeBound")]
pub struct Bound {
    /// Which.
    pub limit: Limit,
    /// Agents that it alone demands, if their shares are equal.
    pub agents_if_equal: u64,
    /// Agents that it allows, each with as much to do as the largest has; absent where more of them do no harm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agents_max: Option<u64>,
    /// The rate at which the agent with the largest share reaches it. Where it allows so many agents only: the rate of so many, each
    /// with its part of what was asked for, or what this fleet carries, if that is more.
    pub per_s_max: f64,
    /// The stall at which it does so at the rate that was asked for, in s; absent where stalls don't matter to it. Where connections
    /// can't be opened as fast as arrivals come, it is the latency: a longer stall opens some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stall_s_max: Option<f64>,
}

/// The limits of one agent, and of one worker.
pub(super) struct Bounds<'a> {
    load: &'a Load,
    machine: &'a Machine,
    constants: &'a Constants,
    /// Requests per second of a worker, and of one that opens a connection for each.
    worker_per_s: f64,
    opening_per_s: f64,
    /// Of an agent, by its network.
    network_per_s: f64,
    /// Connections of an agent, by its ports and by its descriptors.
    ports: f64,
    descriptors: f64,
}

impl<'a> Bounds<'a> {
    pub(super) fn of(load: &'a Load, machine: &'a Machine, constants: &'a Constants) -> Bounds<'a> {
        let cpu_us = load.requests.cpu_us(constants);
        let [sent, received] = load.requests.wire_bytes(constants);
        let network = machine.nic_bits_per_s * constants.get(Name::NetworkShare);
        Bounds {
            load,
            machine,
            constants,
            worker_per_s: constants.processor_per_s(cpu_us),
            // All of its processor: it is for as long as the stall.
            opening_per_s: 1e6 / load.requests.cpu_us_opening(constants),
            network_per_s: network / (8.0 * sent.max(received)),
            ports: constants.get(Name::Ports).floor() * f64::from(load.addresses),
            descriptors: (constants.get(Name::Descriptors) - OTHER_FILES).max(1.0),
        }
    }

    /// How long a connection is taken at the longest.
    fn held_s(&self) -> f64 {
        self.load.stall_s.max(self.load.latency_s)
    }

    /// Without a stall, or with a shorter one than answers take, there are as many connections as ever.
    pub(super) fn stall_opens(&self) -> bool {
        !self.load.open_before && self.load.stall_s > self.load.latency_s
    }

    /// Each limit, with the rate at which one agent and its workers reach it, and its connections if they are what is limited.
    fn each(&self, dealing: Dealing) -> impl Iterator<Item = (Limit, f64, Option<f64>)> {
        let workers = f64::from(dealing.workers);
        let connections = |limit: Limit, most: f64| {
            let most = if self.load.open_before { (most / workers).floor() * workers } else { most };
            (limit, most / self.held_s(), Some(most))
        };
        let always = [
            (Limit::Processor, self.worker_per_s, None),
            (Limit::Network, self.network_per_s, None),
            connections(Limit::Ports, self.ports),
            connections(Limit::Descriptors, self.descriptors),
        ];
        always.into_iter().chain(self.stall_opens().then_some((Limit::Opening, self.opening_per_s, None)))
    }

    /// How much of the load meets a limit.
    fn share(&self, limit: Limit, dealing: Dealing) -> f64 {
        match limit {
            Limit::Processor | Limit::Opening => dealing.worker(),
            // Each share has as many connections of a fixed pool, whatever its streams are: enough for the one that has most.
            Limit::Ports | Limit::Descriptors if self.load.open_before => {
                f64::from(dealing.workers) * dealing.worker()
            }
            _ => dealing.agent(),
        }
    }

    /// Connections of a fixed pool for this fleet (`run -c`): each share has as many as the largest needs.
    pub(super) fn pool(&self, dealing: Dealing) -> u64 {
        dealing.shares() * self.pool_of_worker(dealing)
    }

    fn pool_of_worker(&self, dealing: Dealing) -> u64 {
        whole_up(self.load.per_s * dealing.worker() * self.held_s())
    }

    /// The highest rate that this fleet carries; 0 where it is too large to be merged.
    pub(super) fn per_s_max(&self, dealing: Dealing) -> f64 {
        let each = self.each(dealing).map(|(limit, per_s, _)| per_s / self.share(limit, dealing));
        let agents = f64::from(dealing.agents);
        if agents * (1.0 - CLOSE) > self.merged_agents() {
            return 0.0;
        }
        let reported = self.constants.get(Name::BusTakes) / agents;
        let bus = self.load.requests.bus_per_s(reported, self.constants) / dealing.agent();
        each.fold(bus, f64::min)
    }

    /// Agents whose reports one processor merges, as far as that may be busy: figures of all are late otherwise, and so is what
    /// ends a load by them.
    fn merged_agents(&self) -> f64 {
        1e3 * self.constants.get(Name::ProcessorShare) / self.load.requests.merge_ms(self.constants)
    }

    /// What all agents together meet: the limit, and how many of these agents it allows.
    fn together(&self, dealing: Dealing) -> [(Limit, f64); 2] {
        let reported = self.load.requests.bus_bytes(self.load.per_s * dealing.agent(), self.constants);
        [(Limit::Bus, self.constants.get(Name::BusTakes) / reported), (Limit::Merge, self.merged_agents())]
    }

    fn agents_by(&self, limit: Limit, per_s: f64) -> u64 {
        let is_of_worker = matches!(limit, Limit::Processor | Limit::Opening);
        let workers = if is_of_worker { f64::from(self.machine.cores) } else { 1.0 };
        whole_up(self.load.per_s / (per_s * workers)).max(1)
    }

    fn bounds(&self, dealing: Dealing) -> Vec<Bound> {
        let load = self.load;
        let bound = |(limit, per_s, connections): (Limit, f64, Option<f64>)| {
            let share = self.share(limit, dealing);
            let is_too_slow = limit == Limit::Opening && self.opens_too_slowly(dealing);
            Bound {
                limit,
                agents_if_equal: self.agents_by(limit, per_s),
                agents_max: None,
                per_s_max: per_s / share,
                stall_s_max: connections
                    .map(|most| most / (load.per_s * share))
                    .or(is_too_slow.then_some(load.latency_s)),
            }
        };
        let carried = self.per_s_max(dealing);
        let together = |(limit, agents): (Limit, f64)| Bound {
            limit,
            agents_if_equal: 1,
            agents_max: Some((agents * (1.0 + CLOSE)) as u64),
            // Agents that have little to do take more before there are more of them.
            per_s_max: carried.max(load.per_s * agents / f64::from(dealing.agents)),
            stall_s_max: None,
        };
        let each = self.each(dealing).map(bound);
        let mut all: Vec<Bound> = each.chain(self.together(dealing).map(together)).collect();
        all.sort_by(|a, b| a.per_s_max.total_cmp(&b.per_s_max));
        all
    }

    /// What this fleet comes to, but for how many agents would do with equal shares.
    pub(super) fn fleet(&self, dealing: Dealing) -> Fleet {
        let (load, constants) = (self.load, self.constants);
        let bounds = self.bounds(dealing);
        let per_s_max = self.per_s_max(dealing);
        let stall_s_max = self.stall_s_max(&bounds, dealing);
        let per_s = load.per_s * dealing.agent();
        let cpu_us = load.requests.cpu_us(constants);
        let wire = load.requests.wire_bytes(constants).map(|bytes| 8.0 * bytes);
        let needed = |held_s: f64| whole_up(load.per_s * held_s);
        let (connections, all, at_rest) = match load.open_before {
            true => {
                let pool = self.pool(dealing);
                (u64::from(dealing.workers) * self.pool_of_worker(dealing), pool, pool)
            }
            false => (whole_up(per_s * self.held_s()), needed(self.held_s()), needed(load.latency_s)),
        };
        let auto = u64::from(AUTO_CONNECTIONS_MAX).min(ports_found_quickly(self.ports as u64));
        let bus = load.requests.bus_bytes(per_s, constants);
        let agents = f64::from(dealing.agents);
        let base = constants.get(Name::AgentBase);
        let cores_busy = agents * base + load.per_s * cpu_us / 1e6;
        Fleet {
            is_enough: per_s_max >= load.per_s * (1.0 - CLOSE),
            agents: dealing.agents,
            workers_per_agent: dealing.workers,
            agents_if_equal: None,
            if_open_before: None,
            auto_max: (!load.open_before && connections > auto).then(|| self.pool(dealing)),
            bounds,
            per_s_max,
            stall_s_max,
            largest: Agent {
                streams: dealing.streams_of_largest(),
                per_s,
                cores_busy: base + per_s * cpu_us / 1e6,
                worker_busy_in_stall: load.per_s * dealing.worker() / self.opening_per_s,
                connections,
                connections_max: self.ports as u64,
                descriptors: connections + OTHER_FILES as u64,
                network_bits_per_s: wire.map(|bits| bits * per_s),
                bus_bytes_per_s: bus,
            },
            total: Total {
                cores_busy,
                cores: cores_busy / constants.get(Name::ProcessorShare),
                connections: all,
                connections_at_rest: at_rest,
                network_bits_per_s: wire.map(|bits| bits * load.per_s),
                bus_bytes_per_s: bus * agents,
                merge_cores_busy: agents * load.requests.merge_ms(constants) / 1e3,
            },
        }
    }

    /// Arrivals of a stall would wait for connections, if each opened one.
    fn opens_too_slowly(&self, dealing: Dealing) -> bool {
        self.opening_per_s / dealing.worker() < self.load.per_s * (1.0 - CLOSE)
    }

    /// What connections there are last so long, if the rate is carried at all. A stall that opens none does no harm where opening
    /// them is too slow.
    fn stall_s_max(&self, bounds: &[Bound], dealing: Dealing) -> f64 {
        let carries = |bound: &Bound| match bound.stall_s_max {
            Some(stall_s) => stall_s >= self.load.latency_s * (1.0 - CLOSE),
            None => bound.per_s_max >= self.load.per_s * (1.0 - CLOSE),
        };
        if !bounds.iter().all(carries) {
            return 0.0;
        }
        let opens = !self.load.open_before && self.opens_too_slowly(dealing);
        let longest = if opens { self.load.latency_s } else { f64::INFINITY };
        bounds.iter().filter_map(|bound| bound.stall_s_max).fold(longest, f64::min)
    }
}
