//! What a run was to do, and each of its loads.

use super::{
    ArrivalProcess, Arrivals, Distribution, LoadShape, OperationArrivals, PrecisionGoal, ReplayPlan,
    RetryPlan, TracePlan,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use unblink_core::schedule::{self, Bursts};
use unblink_core::time::Nanos;

/// What a run was to do, all its loads together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunPlan {
    /// One plain line, such as `open, 1,000/s, even arrivals, for 60 s`.
    pub summary: String,
    /// Which request came when; absent where they came in turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub order: Option<Order>,
    /// What is drawn for each request, by name; empty where every request of a kind is the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<ValuePlan>,
    /// What follows from answers, and so is another in each run of the same seed; empty where the seed decides all that is sent, and
    /// when, and of a simulated run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_answers: Vec<ByAnswers>,
    /// How requests name their traces, if they do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traces: Option<TracePlan>,
    /// What was recorded, where the load is a replay of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayPlan>,
    /// The name of the load's shape, if it was given one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<LoadShape>,
    /// Arrivals per second that all open loads ask for together, warm-up left out; empty for closed users.
    pub phases: Vec<LoadPhase>,
    /// What lies before the measured part: warm-up, and the ramp-up of a closed load.
    pub warmup_ns: u64,
    /// The transient was to be found and left out (`--warmup auto`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub warmup_auto: bool,
    /// The load ends when a percentile is known well enough (`--precision`); `duration_ns` is then the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<PrecisionGoal>,
    /// Length of the measured part as planned.
    pub duration_ns: u64,
    /// From the intended time.
    pub timeout_ns: u64,
    /// When a request is tried again; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<RetryPlan>,
    /// How long the run goes on after the last arrival due.
    pub drain_ns: u64,
    /// Worker threads.
    pub threads: u32,
    /// What punctuality may cost. Absent for a simulated load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// Measured arrivals at most (`-n`).
    pub requests_max: Option<u64>,
}

/// What of a run follows from answers. The same seed does not bring it again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ByAnswers {
    /// When each user of a closed load asks next, and how far it comes.
    ClosedLoad,
    /// What is tried again, and when.
    Retries,
    /// What `[[setup]]` takes from its answers.
    Setup,
    /// What later steps of journeys take from the answers to earlier ones, cookies among it.
    Captures,
    /// How often steps ask until they have the answer that they wait for.
    Until,
    /// Where redirects lead.
    Redirects,
    /// Keys that follow the inserts that have ended.
    AcknowledgedInserts,
    /// What a script makes of the answers that it is told of.
    Script,
}

/// A value that requests are filled in with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ValuePlan {
    /// How templates call it.
    pub name: String,
    /// What it is drawn from, in words, such as `zipf over 1,000,000 keys, exponent 0.99`.
    pub law: String,
}

/// A value as it was drawn for the requests that were sent, beside its law. A request counts each time it is sent: in the warm-up,
/// and again with each further attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValueSent {
    /// How templates call it.
    pub name: String,
    /// For so many requests.
    pub draws: u64,
    /// Of keys, some of which are more popular than others: what the most popular ones got.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub popularity: Vec<PopularitySent>,
    /// Of sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<SizeSent>,
}

/// What the most popular keys got.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PopularitySent {
    /// So many of them.
    pub keys: u64,
    /// Their share of the draws by the law, 0 to 1; where inserts move the law, as it is at the start.
    pub by_law: f64,
    /// Their share of what was sent, 0 to 1.
    pub sent: f64,
}

/// How sizes lay.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSent {
    /// Of 100,000 draws from the law.
    pub by_law: SizeFigures,
    /// Of those that were sent.
    pub sent: SizeFigures,
}

/// Of some sizes. A quantile is the lower end of a bin that is at most 1/64 of it wide.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeFigures {
    /// The mean.
    pub mean: f64,
    /// The median.
    pub p50: u64,
    /// The 99th percentile.
    pub p99: u64,
}

/// A request beside the load: asked before it, and again while it went on if that was asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SetupRequest {
    /// How the plan calls it, or method and path.
    pub name: String,
    /// How often, the time before the load included.
    pub asked: u64,
    /// How often it brought nothing while the load went on, so that what it had brought before was used on.
    pub failed: u64,
}

/// One load as it was planned.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPlan {
    /// How the plan calls it, one of its `[[loads]]`; absent of a load that has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Who decides when a request starts, and how.
    #[serde(flatten)]
    pub kind: LoadKind,
}

/// One load and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// As it was planned.
    #[serde(flatten)]
    pub plan: LoadPlan,
    /// Where every arrival of its measured part ended.
    pub arrivals: OperationArrivals,
    /// The same for its warm-up, which enters no other figure. Absent where the run has several loads: `warmup` of the
    /// document is of all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warmup: Option<Arrivals>,
    /// Do its arrivals lie as they should? Absent for a closed load, and when too few were sampled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrival_process: Option<ArrivalProcess>,
    /// Intended start to last byte. Absent where it is that of the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_time: Option<Distribution>,
    /// Send to last byte. Absent where it is that of the whole run, or is not known of a single load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_time: Option<Distribution>,
}

/// Who decides when a request starts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum LoadKind {
    /// A schedule that the target can't move.
    Open {
        /// How arrivals lie around the shape.
        process: Process,
        /// Its shape, warm-up left out.
        phases: Vec<LoadPhase>,
        /// When it begins, after the start of the measured part.
        #[serde(default, skip_serializing_if = "is_zero")]
        start_ns: u64,
        /// Names of the requests that it asks for; absent if it asks for all.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        only: Vec<String>,
    },
    /// Users who each wait for their answer.
    Closed {
        /// How many; `null` where a simulated tool has as many as it needs.
        users: Option<u32>,
        /// From an answer to the next request; 0 where the pauses of each user are those that were recorded.
        think_ns: u64,
        /// Over how long they began; a part of the run's `warmup_ns`. Absent where a simulated tool had users of its own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ramp_up_ns: Option<u64>,
        /// Each user has the requests and the pauses of a recorded one.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        is_recorded: bool,
    },
}

/// How arrivals lie around a shape.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Process {
    /// Evenly spaced.
    Even,
    /// When they were recorded.
    Recorded,
    /// Independent of each other.
    Poisson {
        /// The same seed gives the same arrivals.
        seed: u64,
    },
    /// Independent of each other while their rate goes up and down by chance.
    Bursty {
        /// The same seed gives the same bursts and arrivals.
        seed: u64,
        /// The rate of a burst, in multiples of the shape's, which stays the mean.
        peak: f64,
        /// Mean length of a burst.
        on_ns: u64,
        /// Mean time from the end of a burst to the next one.
        off_ns: u64,
    },
}

impl Process {
    /// As in the document.
    pub fn name(self) -> &'static str {
        match self {
            Process::Even => "even",
            Process::Recorded => "recorded",
            Process::Poisson { .. } => "poisson",
            Process::Bursty { .. } => "bursty",
        }
    }

    /// With all that tells it from others but its seed, as `--arrivals` takes it: `bursty(peak=5x,on=0.2s,off=1s)`.
    pub fn exact(self) -> Cow<'static, str> {
        match self {
            Process::Bursty { peak, on_ns, off_ns, .. } => {
                let [on_s, off_s] = [on_ns, off_ns].map(|ns| ns as f64 / 1e9);
                format!("bursty(peak={peak}x,on={on_s}s,off={off_s}s)").into()
            }
            plain => plain.name().into(),
        }
    }

    /// The process that arrivals were drawn from.
    pub fn of(process: schedule::Process) -> Process {
        match process {
            schedule::Process::Even => Process::Even,
            schedule::Process::Recorded => Process::Recorded,
            schedule::Process::Poisson { seed } => Process::Poisson { seed },
            schedule::Process::Bursty { seed, bursts } => {
                Process::Bursty { seed, peak: bursts.peak(), on_ns: bursts.on.0, off_ns: bursts.off.0 }
            }
        }
    }

    /// Its bursts, and the seed that they are drawn from.
    pub fn bursts(self) -> Option<(u64, Bursts)> {
        let Process::Bursty { seed, peak, on_ns, off_ns } = self else { return None };
        let peak_milli = (peak * 1e3).round() as u64;
        Some((seed, Bursts { peak_milli, on: Nanos(on_ns), off: Nanos(off_ns) }))
    }
}

/// Which request comes when.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "name", rename_all = "snake_case")]
pub enum Order {
    /// In blocks with the exact shares, each in a random order of its own.
    Shuffled {
        /// The same seed gives the same requests.
        seed: u64,
    },
    /// Each by itself.
    Random {
        /// The same seed gives the same requests.
        seed: u64,
    },
}

impl Order {
    /// As in the document.
    pub fn name(self) -> &'static str {
        match self {
            Order::Shuffled { .. } => "shuffled",
            Order::Random { .. } => "random",
        }
    }
}

/// What punctuality may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// A processor for each worker.
    Precise,
    /// As much as punctuality needs.
    Balanced,
    /// As little as possible.
    Frugal,
}

impl Pacing {
    /// As in the document.
    pub fn name(self) -> &'static str {
        match self {
            Pacing::Precise => "precise",
            Pacing::Balanced => "balanced",
            Pacing::Frugal => "frugal",
        }
    }
}

/// Who decides when a request starts, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadModel {
    /// A schedule that the target can't move.
    Open,
    /// Users who each wait for their answer.
    Closed,
}

/// A stretch of the shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LoadPhase {
    /// Rate at its start.
    pub from_per_s: f64,
    /// Rate at its end.
    pub to_per_s: f64,
    /// Its length.
    pub duration_ns: u64,
}

impl LoadPlan {
    /// In a word.
    pub fn model(&self) -> LoadModel {
        match self.kind {
            LoadKind::Open { .. } => LoadModel::Open,
            LoadKind::Closed { .. } => LoadModel::Closed,
        }
    }

    /// How arrivals of an open load lie.
    pub fn process(&self) -> Option<Process> {
        match self.kind {
            LoadKind::Open { process, .. } => Some(process),
            LoadKind::Closed { .. } => None,
        }
    }

    /// Users of a closed load.
    pub fn users(&self) -> Option<u32> {
        match self.kind {
            LoadKind::Open { .. } => None,
            LoadKind::Closed { users, .. } => users,
        }
    }

    /// Over how long the users of a closed load began.
    pub fn ramp_up_ns(&self) -> Option<u64> {
        match self.kind {
            LoadKind::Open { .. } => None,
            LoadKind::Closed { ramp_up_ns, .. } => ramp_up_ns,
        }
    }
}

/// What begins with the run is not said to begin then.
fn is_zero(n: &u64) -> bool {
    *n == 0
}
