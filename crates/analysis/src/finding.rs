//! What one run can find out about itself: a closed set, shared by terminal, JSON and web.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a finding does to the run's validity.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing; it explains.
    Note,
    /// The run is degraded.
    Degrades,
    /// The run is invalid.
    Invalidates,
}

macro_rules! codes {
    ($($(#[$doc:meta])* $variant:ident = $code:literal;)*) => {
        /// Every finding that one run can decide, in the order in which equals are told.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum FindingCode {
            $($(#[$doc])* $variant,)*
        }

        impl FindingCode {
            /// Every code.
            pub const ALL: &'static [FindingCode] = &[$(FindingCode::$variant,)*];

            /// The stable name.
            pub fn code(self) -> &'static str {
                match self {
                    $(FindingCode::$variant => $code,)*
                }
            }
        }
    };
}

codes! {
    /// Outcomes do not add up to what was scheduled.
    Accounting = "accounting";
    /// The request before the run failed: nothing was measured.
    PreflightFailed = "preflight_failed";
    /// Nothing was heard of a part of the load's machines.
    AgentsLost = "agents_lost";
    /// One of the machines had trouble of its own.
    AgentNotValid = "agent_not_valid";
    /// One of the machines saw other response times than the rest.
    AgentsDiffer = "agents_differ";
    /// These are the figures of some shares of a load only.
    OneShare = "one_share";
    /// The clocks of machines may differ by much.
    ClockUncertain = "clock_uncertain";
    /// What a machine recorded reached the bus late while load went on.
    BusBehind = "bus_behind";
    /// A request beside the load brought nothing: old values were used on.
    SetupFailed = "setup_failed";
    /// No arrival fell into the measured part.
    NothingMeasured = "nothing_measured";
    /// No connection was ever usable.
    NeverConnected = "never_connected";
    /// No arrival ended as `ok`.
    NoAnswers = "no_answers";
    /// The target falls behind: latency measures how long was waited.
    Saturated = "saturated";
    /// The transient was to be left out, and no steady state was found.
    NotSteady = "not_steady";
    /// Too short to tell whether the target keeps up, and it did not answer all.
    TooShort = "too_short";
    /// The generator sent less than it should have.
    SentBelowOffered = "sent_below_offered";
    /// The generator's own lateness is a large part of a printed percentile.
    GeneratorLate = "generator_late";
    /// The generator had little headroom.
    GeneratorBusy = "generator_busy";
    /// The generator was away for a while.
    GeneratorPaused = "generator_paused";
    /// The hypervisor took processor time.
    CpuSteal = "cpu_steal";
    /// Intended or sent arrivals are not those of the process that was asked for.
    ArrivalsNotAsClaimed = "arrivals_not_as_claimed";
    /// Arrivals timed out waiting for one of the client's own connections.
    ClientShedLoad = "client_shed_load";
    /// This machine ran out of ports or descriptors.
    LocalLimit = "local_limit";
    /// A file of the plan had no row left for arrivals.
    RowsRanOut = "rows_ran_out";
    /// The script threw errors, or gave what is no request.
    ScriptFailed = "script_failed";
    /// One address of several hardly took a connection.
    AddressDead = "address_dead";
    /// One address of several was asked far more or less often than the others.
    AddressesUneven = "addresses_uneven";
    /// Arrivals waited because the pool was full.
    PoolLimitReached = "pool_limit_reached";
    /// Messages came unasked where answers are told by their order.
    PushesAmongAnswers = "pushes_among_answers";
    /// What came on connections breaks the protocol.
    ProtocolBroken = "protocol_broken";
    /// Failures are many enough to shape a percentile.
    FailuresShapePercentile = "failures_shape_percentile";
    /// Journeys failed, timed out, or waited in vain for what a step asks for.
    JourneysFailed = "journeys_failed";
    /// One request of several fails far more often than the others.
    RequestsFailed = "requests_failed";
    /// Retries added much to the load, and arrivals failed all the same.
    RetriesAmplified = "retries_amplified";
    /// The service counted other numbers of our requests or errors than were counted here.
    CountsDisagree = "counts_disagree";
    /// The service counted more requests than are ours.
    ForeignTraffic = "foreign_traffic";
    /// The service's own metrics could not be held against ours, or not all of them.
    CrossCheckFailed = "cross_check_failed";
    /// The target asked to wait, and the schedule went on.
    AskedToWait = "asked_to_wait";
    /// The target refused connections because it takes no more.
    TargetFull = "target_full";
    /// A printed percentile is only a lower bound.
    TimeoutsShapePercentile = "timeouts_shape_percentile";
    /// Many arrivals of a part fell due or ended outside of it.
    PartBorders = "part_borders";
    /// Arrivals were under way when the run ended.
    CutOff = "cut_off";
    /// The run has no end: it still goes on or was killed.
    Killed = "killed";
    /// The user ended the run early.
    Interrupted = "interrupted";
    /// A rule stopped the run because it hurt.
    Aborted = "aborted";
    /// A guard ended the run early.
    Withheld = "withheld";
    /// Printed percentiles rest on few samples.
    FewSamples = "few_samples";
    /// Durations of some operations found no page: they have no percentiles.
    OperationsSpilled = "operations_spilled";
    /// Intervals were handed over late.
    DoubleIntervals = "double_intervals";
    /// The figures are those of a simulated client that gets them wrong.
    SimulatedClient = "simulated_client";
    /// The rate changed on purpose, so that the percentiles mix different loads.
    RateChanged = "rate_changed";
    /// Users of a closed population had not begun when measuring did.
    UsersNotBegun = "users_not_begun";
    /// A closed population has more users than connections.
    UsersOutnumberConnections = "users_outnumber_connections";
    /// Of recorded users, requests did not come due before the end.
    RecordedNotReached = "recorded_not_reached";
    /// Ids in replayed paths are numbers that an import made.
    RecordedIdsReplaced = "recorded_ids_replaced";
    /// The load was closed.
    ClosedLoop = "closed_loop";
}

/// Something that a reader must know before the figures.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Which.
    pub code: FindingCode,
    /// What it does to the run's validity.
    pub severity: Severity,
    /// What was found: one sentence with its numbers.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
    /// The numbers behind it, by name with unit.
    pub evidence: Vec<(&'static str, f64)>,
}

impl Finding {
    /// A number of the evidence.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.evidence.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }
}
