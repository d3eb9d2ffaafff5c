//! What a plan of machines reckons with: each constant with its unit and where it comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which constant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Name {
    /// Processor time of a request.
    CpuPerRequest,
    /// The same over TLS.
    CpuPerRequestTls,
    /// Processor time of the bytes of bodies, beside that of the request.
    CpuPerMb,
    /// Processor time of a connection that is opened.
    CpuPerConnection,
    /// The same with its handshake.
    CpuPerConnectionTls,
    /// What a worker sends at the most, closed, with a processor of its own.
    Ceiling,
    /// How much of a processor may be busy: what is left lets arrivals leave on time.
    ProcessorShare,
    /// How much of the network's speed may be used.
    NetworkShare,
    /// Connections that a machine may have to one address of the target.
    Ports,
    /// Files that a process may have open.
    Descriptors,
    /// A request without its body.
    RequestHead,
    /// An answer without its body.
    AnswerHead,
    /// What an agent reports in a second at 1,000 requests/s.
    BusAt1k,
    /// The same at 10,000/s.
    BusAt10k,
    /// The same at 40,000/s.
    BusAt40k,
    /// What it does not exceed: hardly a cell of its histograms is empty. Only above 2,000,000/s are they fuller.
    BusMost,
    /// What each operation after the first adds.
    BusPerOperation,
    /// What the bus takes in from all agents.
    BusTakes,
    /// Processor time to merge what an agent reports in a second.
    MergePerAgent,
    /// What each operation after the first adds to it.
    MergePerOperation,
    /// Processors that an agent's record and its bus keep busy, whatever its rate is.
    AgentBase,
}

/// A row of the table.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Entry {
    /// Which one.
    pub of: Name,
    /// How it is called, with its unit.
    pub name: &'static str,
    /// Unless another is given.
    pub value: f64,
    /// Where that comes from.
    pub source: &'static str,
    /// No value is above.
    pub max: f64,
}

const fn entry(of: Name, name: &'static str, value: f64, max: f64, source: &'static str) -> Entry {
    Entry { of, name, value, source, max }
}

/// Real answers differ more in time than those of the lab on a quiet machine, and fill more cells of a histogram.
const BYTES: &str = "measured: tools/measure-agents bytes, other work going on";

/// Most that a time in µs, or a number, may be.
const MUCH: f64 = 1e12;

/// All of them, in the order of [`Name`].
pub const TABLE: [Entry; 21] = [
    entry(
        Name::CpuPerRequest,
        "cpu_us_per_request",
        4.96,
        MUCH,
        "measured: docs/performance.md, closed loop",
    ),
    entry(Name::CpuPerRequestTls, "cpu_us_per_request_tls", 7.53, MUCH, "measured: docs/performance.md, TLS"),
    entry(Name::CpuPerMb, "cpu_us_per_mb", 74.6, MUCH, "measured: docs/performance.md, answers of 1 MB"),
    entry(
        Name::CpuPerConnection,
        "cpu_us_per_connection",
        43.0,
        MUCH,
        "measured: docs/performance.md, a connection for each request",
    ),
    entry(
        Name::CpuPerConnectionTls,
        "cpu_us_per_connection_tls",
        158.0,
        MUCH,
        "measured: docs/performance.md, a handshake for each request",
    ),
    entry(Name::Ceiling, "ceiling_per_s", 202_000.0, MUCH, "measured: docs/performance.md, closed loop"),
    entry(
        Name::ProcessorShare,
        "processor_share",
        0.5,
        1.0,
        "reasoned: what is left free lets arrivals leave on time",
    ),
    entry(Name::NetworkShare, "network_share", 0.7, 1.0, "reasoned: queues of a network grow long above it"),
    entry(Name::Ports, "ports", 28_232.0, 65_535.0, "read: Linux, ip_local_port_range 32768 to 60999"),
    entry(Name::Descriptors, "descriptors", 524_288.0, MUCH, "read: systemd, the hard limit of a service"),
    entry(Name::RequestHead, "request_head_bytes", 150.0, MUCH, "reasoned: a request line and five fields"),
    entry(Name::AnswerHead, "answer_head_bytes", 250.0, MUCH, "reasoned: a status line and eight fields"),
    entry(Name::BusAt1k, "bus_bytes_at_1k", 5_800.0, MUCH, BYTES),
    entry(Name::BusAt10k, "bus_bytes_at_10k", 10_800.0, MUCH, BYTES),
    entry(Name::BusAt40k, "bus_bytes_at_40k", 17_500.0, MUCH, BYTES),
    entry(
        Name::BusMost,
        "bus_bytes_most",
        67_500.0,
        MUCH,
        "measured: tools/measure-agents full, 67.5 kB at 2,000,000/s",
    ),
    entry(
        Name::BusPerOperation,
        "bus_bytes_per_operation",
        1_200.0,
        MUCH,
        "measured: tools/measure-agents bytes, 0.3 to 1.2 kB, the upper end",
    ),
    entry(
        Name::BusTakes,
        "bus_bytes_per_s",
        87.5e6,
        MUCH,
        "reasoned: 0.7 of a network of 1 Gbit/s; 30 MB/s took 24 % of a core (tools/measure-agents carries)",
    ),
    entry(
        Name::MergePerAgent,
        "merge_ms_per_agent_second",
        0.5,
        MUCH,
        "measured: tools/measure-agents merge, 0.38; fuller histograms take more",
    ),
    entry(
        Name::MergePerOperation,
        "merge_ms_per_operation",
        0.07,
        MUCH,
        "measured: tools/measure-agents merge, 0.048; fuller histograms take more",
    ),
    entry(Name::AgentBase, "agent_base_cores", 0.06, 1.0, "measured: tools/measure-agents size"),
];

/// A constant as it was reckoned with.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SizeConstant")]
pub struct Constant {
    /// With its unit.
    pub name: String,
    /// Above 0.
    pub value: f64,
    /// Where it comes from.
    pub source: String,
    /// It was given by whoever asks, in the place of the table's own.
    pub is_given: bool,
}

/// All constants.
#[derive(Clone, PartialEq, Debug)]
pub struct Constants {
    all: Vec<Constant>,
}

/// Why a constant can't be set.
#[derive(Clone, PartialEq, Debug)]
pub enum Refusal {
    /// There is no such constant.
    Unknown,
    /// It must be above 0 and not above this.
    Range(f64),
}

impl Default for Constants {
    fn default() -> Constants {
        let known = |entry: &Entry| Constant {
            name: entry.name.into(),
            value: entry.value,
            source: entry.source.into(),
            is_given: false,
        };
        Constants { all: TABLE.iter().map(known).collect() }
    }
}

impl Constants {
    /// Its value.
    pub fn get(&self, of: Name) -> f64 {
        self.all[of as usize].value
    }

    /// Requests per second of a worker that sends small requests: its ceiling, or what its processor has time for, as far as
    /// that may be busy.
    pub fn worker_per_s(&self) -> f64 {
        self.processor_per_s(self.get(Name::CpuPerRequest))
    }

    /// The same of requests that take so much processor time.
    pub(super) fn processor_per_s(&self, cpu_us: f64) -> f64 {
        self.get(Name::ProcessorShare) * (1e6 / cpu_us).min(self.get(Name::Ceiling))
    }

    /// In the order of the table.
    pub fn all(&self) -> &[Constant] {
        &self.all
    }

    /// Reckons with another value.
    ///
    /// # Errors
    /// [`Refusal`]
    pub fn set(&mut self, name: &str, value: f64, source: &str) -> Result<(), Refusal> {
        let place = TABLE.iter().position(|entry| entry.name == name).ok_or(Refusal::Unknown)?;
        let max = TABLE[place].max;
        if !(value > 0.0 && value <= max) {
            return Err(Refusal::Range(max));
        }
        let one = &mut self.all[place];
        (one.value, one.source, one.is_given) = (value, source.into(), true);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_its_names() {
        for (place, entry) in TABLE.iter().enumerate() {
            assert_eq!(entry.of as usize, place, "{}", entry.name);
            assert!(entry.value > 0.0 && entry.value <= entry.max, "{}", entry.name);
        }
    }

    #[test]
    fn a_constant_is_set_by_its_name() {
        let mut constants = Constants::default();
        assert_eq!(constants.set("ports", 60_000.0, "here"), Ok(()));
        assert_eq!((constants.get(Name::Ports), &*constants.all()[8].source), (60_000.0, "here"));
        assert_eq!(constants.set("port", 1.0, ""), Err(Refusal::Unknown));
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY, 65_536.0] {
            assert_eq!(constants.set("ports", wrong, ""), Err(Refusal::Range(65_535.0)), "{wrong}");
        }
        assert_eq!(constants.set("processor_share", 1.1, ""), Err(Refusal::Range(1.0)));
    }
}
