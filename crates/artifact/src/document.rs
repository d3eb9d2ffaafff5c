//! `unblink.run/2`: everything that a run has to say, as one JSON document.

mod agent;
mod arrivals;
mod check;
mod connections;
mod cross_check;
mod distribution;
mod events;
mod interval;
mod journey;
mod load;
mod operation;
mod origin;
mod replay;
mod retries;
mod ring;
mod series;
mod shape;
mod slow;
mod soak;
mod steady;
mod targets;
mod validity;
mod verdict;

pub use agent::{Agent, AgentPlan, AgentResult, ClockReading, named_shares, shares_missing};
pub(crate) use agent::{breaks_off, lost, stopped};
pub use arrivals::{ArrivalProcess, ArrivalTimes, ExponentialTest};
pub use connections::{
    AddressArrivals, AllowedAtOnce, ConnectionMode, Connections, CqlPlan, Database, FailedAttempts,
    MachineLimit, PostgresPlan, RedisPlan, Spread, WebSocketPlan,
};
pub use cross_check::*;
pub use distribution::{Distribution, Quantile};
pub use events::{Events, OperationEvents};
pub use interval::IntervalKind;
pub use journey::{Journey, JourneyAccount, JourneyPlan, JourneyStep, RedirectsPlan, StepPlan, UntilPlan};
pub use load::{
    ByAnswers, Load, LoadKind, LoadModel, LoadPhase, LoadPlan, Order, Pacing, PopularitySent, Process,
    RunPlan, SetupRequest, SizeFigures, SizeSent, ValuePlan, ValueSent,
};
pub use operation::{Operation, OperationArrivals, OperationPlan, Protocol, Spilled};
pub use origin::{Origin, OriginName, Scheme};
pub use replay::{RecordedAnswers, RecordedIds, RecordedTimes, ReplayByUser, ReplayPlan};
pub use retries::{Retries, RetryJitter, RetryPlan};
pub use ring::{RingChange, RingSeen, WhatChanged};
pub use series::{EndedQuantile, HeatColumn, Heatmap, Series, SeriesRow, Spectra, SpectrumPoint, Timeline};
pub use shape::*;
pub use slow::{SlowArrival, TracePlan};
pub use soak::*;
pub use steady::{Precision, PrecisionGoal, Transient, TransientStatus};
pub use targets::{Requested, SCRIPT, TargetsBeyond};
pub use validity::*;
pub use verdict::{
    Aborted, FigureUnit, GuardKind, Objectives, OnInconclusive, SloResult, Verdict, VerdictReason,
    VerdictStatus, WindowResult,
};

use crate::exchange::KeptFailure;
use crate::fingerprint::fingerprint_of;
use crate::simulated::{Fanout, Simulated};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of the document that this crate writes.
pub const SCHEMA: &str = "unblink.run/2";

/// One run, or a part of one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub struct RunDocument {
    /// Always `unblink.run/2`.
    pub schema: String,
    /// Did the run come to its end?
    pub status: RunStatus,
    /// Which tool measured.
    pub tool: Tool,
    /// When t = 0 was, RFC 3339 in UTC.
    pub started_at: String,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// The machine that offered the load; where several did, the one with the first share.
    pub environment: Environment,
    /// The machines, where this one had only a share of the load, or several were merged; in the order of their shares.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<Agent>,
    /// What it was to do.
    pub plan: RunPlan,
    /// What was offered, each load with what came of it.
    pub loads: Vec<Load>,
    /// Where requests went, and the connections to it.
    pub origins: Vec<Origin>,
    /// What was requested.
    pub targets: Vec<Requested>,
    /// Those of them that are not listed, where there were very many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets_beyond: Option<TargetsBeyond>,
    /// Set when the run is not real.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simulated: Option<Simulated>,
    /// Set when the document covers a part of the run only.
    pub part: Option<Part>,
    /// Can the run be believed?
    pub validity: Validity,
    /// Did it meet what was asked of it? Absent when nothing was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// Set when a rule or a guard stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<Aborted>,
    /// Where every arrival of the measured part ended.
    pub arrivals: Arrivals,
    /// The same for the warm-up, which enters no other figure.
    pub warmup: Option<Arrivals>,
    /// The transient at the beginning, when it was to be found and left out (`--warmup auto`). What is left
    /// out enters no other figure but the pictures and the counts of the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transient: Option<Transient>,
    /// Whether the percentile that the run was to go on for came to be known well enough (`--precision`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<Precision>,
    /// What came of a load of a named shape (`--shape`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<ShapeResult>,
    /// Offered, sent and achieved.
    pub rate: Rate,
    /// What came of retries; absent where none were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retries: Option<Retries>,
    /// Failed arrivals by kind.
    pub failures: BTreeMap<String, u64>,
    /// The first of each kind with their answers, if they were to be kept (`--keep-failures`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_failures: Vec<KeptFailure>,
    /// Answers by code: of HTTP the status. Those that came after the timeout count as well. An arrival with several attempts
    /// counts with the answer of its last one.
    pub codes: BTreeMap<String, u64>,
    /// Bytes that were read of answers' heads and bodies, those of answers that failed or came too late included;
    /// of TLS what it carried.
    pub bytes_received: u64,
    /// Intended start to last byte: what a user feels. `ok` arrivals, with the censored as lower bounds.
    pub response_time: Distribution,
    /// Pages of several requests, if they were asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fanout: Option<Fanout>,
    /// Send to last byte: what a closed-loop tool would have shown.
    pub service_time: Distribution,
    /// Intended start to send.
    pub send_lag: Distribution,
    /// The part of the send lag that the generator itself caused.
    pub generator_late: Distribution,
    /// Intended start to failure, of failed arrivals.
    pub failed_response_time: Distribution,
    /// Where send lag came from.
    pub lag_causes: LagCauses,
    /// Answers that come event by event; absent where none were asked for, or none had an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<Events>,
    /// Parts of a request's time.
    pub phases: Phases,
    /// The same by operation; one at least.
    pub operations: Vec<Operation>,
    /// Journeys: requests that follow each other. Their steps are operations, too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub journeys: Vec<Journey>,
    /// What was drawn for the requests that were sent, beside the laws; absent where nothing is drawn. Of a run without an
    /// end as far as it was known, up to a second or two before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values_sent: Vec<ValueSent>,
    /// Requests of `[[setup]]`, which enter no other figure; absent where there are none, and of a run without an end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub setup: Vec<SetupRequest>,
    /// What the service's own metrics say, if they were asked (`--cross-check-…`); of a whole run alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_check: Option<CrossCheck>,
    /// Metrics of the service, and figures of a process and of files on this machine, over time, if any were watched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub watched: Vec<WatchedSeries>,
    /// What no operation had room for, if there was such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spilled: Option<Spilled>,
    /// How the load generator behaved.
    pub generator: Generator,
    /// Percentile spectra, for drawing.
    pub spectrum: Spectra,
    /// Figures over time.
    pub series: Series,
    /// Response time by intended time.
    pub heatmap: Heatmap,
    /// The slowest arrivals of the run, slowest first.
    pub slowest: Vec<SlowArrival>,
}

impl RunDocument {
    /// Times of the journey, of the step that asks again and again, or of the request that is called so; response times of all
    /// arrivals where none is named, or it is kept apart no further.
    pub fn time_of(&self, name: Option<&str>) -> &Distribution {
        let journeys = self.journeys.iter().map(|journey| (&journey.name, &journey.time));
        let steps = self.journeys.iter().flat_map(|journey| &journey.steps);
        let waits = steps.filter_map(|step| Some((&step.plan.operation, step.time_to_done.as_ref()?)));
        let operations = self.operations.iter().map(|of| (&of.plan.name, &of.response_time));
        let mut all = journeys.chain(waits).chain(operations);
        let found = name.and_then(|name| all.find(|(known, _)| *known == name));
        found.map_or(&self.response_time, |(_, times)| times)
    }

    /// Who decides when a request starts: the same in all loads of a run.
    pub fn model(&self) -> LoadModel {
        self.loads.first().map_or(LoadModel::Open, |load| load.plan.model())
    }

    /// The loads as they were planned.
    pub fn load_plans(&self) -> Vec<LoadPlan> {
        self.loads.iter().map(|load| load.plan.clone()).collect()
    }

    /// Users of a closed load.
    pub fn users(&self) -> Option<u32> {
        self.loads.first().and_then(|load| load.plan.users())
    }

    /// Why the request before the run failed, if one did: then nothing was measured.
    pub fn preflight(&self) -> Option<&str> {
        self.origins.iter().find_map(|origin| origin.preflight.as_deref())
    }

    /// The first origin of a run, which has the same plan for connections as the others.
    pub fn origin(&self) -> &Origin {
        &self.origins[0]
    }

    /// Where the measured part begins, after t = 0.
    pub fn measured_from_ns(&self) -> u64 {
        let left_out = self.transient.as_ref().map_or(0, |transient| transient.to_ns);
        self.plan.warmup_ns.max(left_out)
    }

    /// The name of a run in the history: a hash of when it started, where and as what.
    pub fn id(&self) -> String {
        fingerprint_of(&(&self.started_at, &self.command, &self.environment, &self.targets))
    }
}

/// Did the run come to its end?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunStatus {
    /// Still going, or killed.
    Running,
    /// Ended as planned.
    Complete,
    /// Ended early by the user.
    Interrupted,
    /// Ended early by a rule of `--abort-on` or by a guard.
    Aborted,
}

/// Which tool measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// `unblink`.
    pub name: String,
    /// Semantic version.
    pub version: String,
    /// The commit that it was built from and its date, where that is known: `b05549d 2026-11-21`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
}

/// The machine that offered the load.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// Operating system and kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Processors usable by the tool.
    pub cores: u32,
    /// File descriptors that the process may have.
    pub file_descriptors_max: u64,
    /// Local ports for outgoing connections.
    pub local_ports: u32,
}

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Part {
    /// From this time after t = 0.
    pub from_ns: u64,
    /// To this time after t = 0.
    pub to_ns: u64,
}

/// Where arrivals ended. `ok + failed + timed_out + unfinished + unsent + withheld + lost = scheduled`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arrivals {
    /// Counted from the schedule; of requests that follow others in journeys, as many as fell due.
    pub scheduled: u64,
    /// Whole answers, as expected.
    pub ok: u64,
    /// See `failures`.
    pub failed: u64,
    /// Longer than the timeout.
    pub timed_out: u64,
    /// Those of `timed_out` that were never sent.
    pub timed_out_never_sent: u64,
    /// In flight when the run ended.
    pub unfinished: u64,
    /// Still waiting when the run ended.
    pub unsent: u64,
    /// Due after a rule or a guard had stopped the load, by its planned end: they never fell due, and enter no other figure.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub withheld: u64,
    /// Those of machines that were lost, or whose record is not here, as far as nothing was heard of them. Nobody knows what
    /// came of them, and they enter no other figure.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lost: u64,
}

impl Arrivals {
    /// Those that are known to have fallen due: what was withheld or lost is left out.
    pub fn due(&self) -> u64 {
        self.scheduled.saturating_sub(self.withheld).saturating_sub(self.lost)
    }

    /// The share that did not end `ok`; `None` where none fell due.
    pub fn error_share(&self) -> Option<f64> {
        let due = self.due();
        (due > 0).then(|| due.saturating_sub(self.ok) as f64 / due as f64)
    }
}

/// Rates per second over the measured part.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rate {
    /// Requests that were to start while the load lasted, per second; `null` when the load is closed.
    pub offered: Option<f64>,
    /// Sent per second.
    pub sent: f64,
    /// `ok` per second, from the measured start to the end of the load or the last completion, the later. Requests that
    /// were to start after the load, as those of journeys under way, are left out.
    pub achieved: f64,
}

/// Where send lag came from, over the sent arrivals.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LagCauses {
    /// Arrivals that waited because every connection was in use.
    pub no_connection: u64,
    /// Their waiting, summed.
    pub no_connection_ns: u64,
    /// Arrivals that waited for a connection to be opened.
    pub connecting: u64,
    /// Their waiting, summed.
    pub connecting_ns: u64,
    /// The generator's own lateness, summed over all sent arrivals.
    pub generator_ns: u64,
    /// Journeys that waited for their start because as many were under way as may be (`journeys-max`).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held: u64,
    /// Their waiting, summed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub held_ns: u64,
    /// Arrivals that waited because every connection had as many requests under way as it takes, where that is several
    /// (HTTP/2).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub no_room: u64,
    /// Their waiting, summed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub no_room_ns: u64,
}

/// Parts of a request's time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Phases {
    /// Opening a connection, TCP only; per connection.
    pub connect: Distribution,
    /// TLS handshake; per connection.
    pub tls: Distribution,
    /// Send to first byte.
    pub first_byte: Distribution,
    /// First to last byte.
    pub transfer: Distribution,
}

/// How the load generator behaved.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// Share of the time in which the workers' loops worked rather than waited, 0 to 1.
    pub busy_share: f64,
    /// The same for the busiest interval.
    pub busy_share_max: f64,
    /// Longest stretch in which a worker was away though it was not asked to wait.
    pub pause_max_ns: u64,
    /// All such stretches of a millisecond or more together, summed over the workers.
    pub paused_ns: u64,
    /// Longest time in which a worker did nothing but give away the record of an interval.
    #[serde(default)]
    pub handover_max_ns: u64,
    /// Time in which the workers were ready to run and had no processor, summed over the workers.
    pub run_delay_ns: u64,
    /// Share of processor time stolen by the hypervisor, 0 to 1; `null` when not known.
    pub steal_share: Option<f64>,
    /// Involuntary context switches of the process.
    pub involuntary_switches: Option<u64>,
    /// Intervals that were handed over late and hold more than one second.
    pub double_intervals: u64,
    /// At which priority the workers ran, where more than an ordinary one was asked for (`precise` pacing).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<WorkerPriority>,
    /// No processor was sent to sleep while the run went on (`precise` pacing; `false`: the system refused).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_awake: Option<bool>,
}

/// At which priority the workers ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkerPriority {
    /// A real-time priority throughout.
    RealTime,
    /// A real-time priority until there was too little time left to sleep, then an ordinary one.
    GivenUp,
    /// The system refused a real-time priority.
    Refused,
}

/// Most runs have none: what is not there is not written.
fn is_zero(n: &u64) -> bool {
    *n == 0
}
