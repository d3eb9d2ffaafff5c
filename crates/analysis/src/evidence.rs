//! What is looked at to decide whether a run can be believed.

use crate::arrivals::ArrivalProcess;
use crate::cross_check::CrossChecked;
use crate::steady::NotSteady;
use crate::thresholds::{AGENT_ANSWERS_MIN, AGENT_P99_RATIO, AGENTS_COMPARED_MIN, LATE_FLOOR};
use unblink_core::record::Bank;
use unblink_core::time::Nanos;

/// What codecs call a target that has as many connections as it takes, among [`Evidence::protocol_failures`]: that of Redis, and
/// that of PostgreSQL. Codecs are not known here; whoever knows both tests that these are the same.
pub const FULL: [&str; 2] = ["max_clients", "too_many_connections"];

/// Who decides when a request starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Model {
    /// A schedule that the target can't move.
    Open,
    /// Users who each wait for their answer.
    Closed,
}

/// How the run ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum End<'a> {
    /// As planned.
    Complete,
    /// Early, by the user; what was under way was accounted for.
    Interrupted,
    /// Early, by a rule that says what hurts, or by a guard; what was under way was accounted for.
    Aborted {
        /// What made the guard stop it, if one did.
        guard: Option<&'a str>,
        /// Arrivals that would have been due until the planned end.
        withheld: u64,
    },
    /// Not at all: it still goes on or was killed, and what was under way has no ending.
    Open,
}

/// How many connections there may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pool {
    /// As many as are needed, up to `max`.
    Auto {
        /// Over all workers.
        max: u64,
    },
    /// Always `n`: queueing for one belongs to the result.
    Fixed {
        /// Over all workers.
        n: u64,
    },
    /// Always `n`, because nobody has said how many: queueing for one is of our making.
    Default {
        /// Over all workers.
        n: u64,
        /// The database whose default it is.
        of: &'static str,
    },
}

/// A closed population.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Users {
    /// Over all workers, who are there at once.
    pub all: u64,
    /// Those who had begun when measuring did; not known of a simulated tool, nor from before this was counted.
    pub begun: Option<u64>,
}

/// What is known of a replay before its run.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Replayed {
    /// Requests of users who wait for their answers, all together, up to the planned end.
    pub by_user: Option<u64>,
    /// Requests whose ids are numbers that an import made, and whether that is certain.
    pub made_up_ids: Option<(u64, bool)>,
    /// Requests in the part of the trace.
    pub recorded: u64,
}

/// One address of a target that has several, over the whole run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Address<'a> {
    /// Its name.
    pub name: &'a str,
    /// Of which origin it is.
    pub origin: usize,
    /// Connections to it that became usable.
    pub usable: u64,
    /// Attempts that it refused.
    pub refused: u64,
    /// Attempts that it left without an answer.
    pub unanswered: u64,
    /// Attempts that failed otherwise.
    pub unreachable: u64,
    /// Measured arrivals whose last attempt was sent to it; `None` where that was not recorded, or where its name came to other
    /// addresses during the run.
    pub arrivals: Option<u64>,
}

/// Connections to one origin that were closed because what came on them breaks the protocol in one way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BrokenConnections {
    /// Of which origin.
    pub origin: usize,
    /// In which way: the code of the failure.
    pub code: String,
    /// How many.
    pub connections: u64,
}

/// What happened in one stretch of time, warm-up included.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Row {
    /// Start, after t = 0.
    pub start: Nanos,
    /// Length.
    pub length: Nanos,
    /// Fell due.
    pub due: u64,
    /// Whole answers, `ok` or not, and other failures.
    pub answered: u64,
    /// Timed out.
    pub timed_out: u64,
    /// Sent and not yet ended, at the end.
    pub in_flight: u64,
    /// Due and not yet sent, at the end.
    pub backlog: u64,
}

impl Row {
    /// End, after t = 0.
    pub fn end(&self) -> Nanos {
        self.start + self.length
    }

    /// Arrivals without an answer at the end.
    pub fn level(&self) -> u64 {
        self.in_flight + self.backlog
    }
}

impl Evidence<'_> {
    /// How long the measured load was offered.
    pub fn load_length(&self) -> Nanos {
        self.load_to - self.load_from
    }
}

/// The sampled arrivals of one open load.
#[derive(Clone, Copy, Debug)]
pub struct LoadArrivals<'a> {
    /// How it is called; nothing where a run has one load only.
    pub load: Option<&'a str>,
    /// What they say about their process.
    pub process: ArrivalProcess,
}

/// Where the arrivals of one operation, or of one load, ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PartAccount<'a> {
    /// What they ask for.
    pub name: &'a str,
    /// Counted from the schedule.
    pub scheduled: u64,
    /// Fell due.
    pub due: u64,
    /// Ended, in any way.
    pub ended: u64,
}

/// Where the journeys of one kind ended, of those that did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JourneyEnds<'a> {
    /// How it is called.
    pub name: &'a str,
    /// Ended, in any way.
    pub ended: u64,
    /// Ended by a failed request.
    pub failed: u64,
    /// Ended by a request that took too long, or by a step that waited in vain.
    pub timed_out: u64,
    /// Still under way when the run ended, in a request or between two.
    pub cut_off: u64,
    /// The step at which most of those that did not come to their end failed or timed out, and how many did.
    pub worst_step: Option<(&'a str, u64)>,
}

/// A simulated client whose figures are not what users feel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WrongClient<'a> {
    /// In the words of its user.
    pub name: &'a str,
    /// Planned arrivals that it never sent.
    pub omitted: u64,
    /// Arrivals that would have come while its users waited for longer than usual.
    pub waiting_omitted: u64,
    /// Response times that it made up.
    pub invented: u64,
}

/// The machines that offered a load together, or one of them alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Agents {
    /// Their records were merged. Otherwise this is the record of one of them.
    pub is_merged: bool,
    /// What the first is called: `share 2 of 4`.
    pub name: String,
    /// Machines of which there is a record.
    pub heard: u64,
    /// Shares of which there is none.
    pub shares_missing: u32,
    /// All shares.
    pub shares: u32,
    /// Machines whose record breaks off, or that never began.
    pub killed: u64,
    /// So many machines may be lost before the run is worth nothing; one without a record is counted for each of its shares.
    pub tolerate_lost: u64,
    /// Measured arrivals of which nothing was heard; `None` where no schedule tells how many there were.
    pub lost: Option<u64>,
    /// More than these are lost: requests would have followed those.
    pub is_more_lost: bool,
    /// Those of them that are known to have fallen due.
    pub due_lost: u64,
    /// Measured arrivals that some did not offer because they were stopped while others went on.
    pub stopped: u64,
    /// Machines whose load ended well before that of the others.
    pub early: u64,
    /// By how much at the most.
    pub early_by: Nanos,
    /// The machine that fares worst by its own record, if one has trouble of its own.
    pub worst: Option<WorstAgent>,
    /// The machine whose p99 is most unlike that of the others, if it is.
    pub unlike: Option<UnlikeAgent>,
    /// By how much machines may have been apart at the most, at the start or later, as far as their clocks were compared.
    pub clock_error: Option<Nanos>,
    /// The machine whose record came onto the bus latest, as far as that is known.
    pub behind: Option<BehindAgent>,
}

/// How late what a machine recorded came onto the bus.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BehindAgent {
    /// What it is called.
    pub name: String,
    /// At the most, from when it was written.
    pub most: Nanos,
}

/// A machine that saw other response times than the rest.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnlikeAgent {
    /// What it is called.
    pub name: String,
    /// Its p99.
    pub p99: Nanos,
    /// The median of the p99 of all machines.
    pub median: Nanos,
}

impl UnlikeAgent {
    /// The one of `agents` (name, answers, p99) whose p99 is further from the median of all than machines that are alike are.
    pub fn among<'a>(agents: impl Iterator<Item = (&'a str, u64, Nanos)>) -> Option<UnlikeAgent> {
        // Ten answers and more lie above such a p99.
        let mut all: Vec<_> =
            agents.filter(|(_, ok, _)| *ok >= AGENT_ANSWERS_MIN).map(|(name, _, p99)| (p99, name)).collect();
        all.sort_unstable();
        if all.len() < AGENTS_COMPARED_MIN {
            return None;
        }
        let median = all[all.len() / 2].0;
        let ends = [all[0], all[all.len() - 1]];
        let ratio = |p99: Nanos| p99.max(median).0 as f64 / p99.min(median).0.max(1) as f64;
        let (p99, name) = ends.into_iter().max_by(|a, b| ratio(a.0).total_cmp(&ratio(b.0)))?;
        let is_unlike = ratio(p99) > AGENT_P99_RATIO && Nanos(p99.0.abs_diff(median.0)) > LATE_FLOOR;
        is_unlike.then(|| UnlikeAgent { name: name.to_string(), p99, median })
    }
}

/// A machine that has trouble of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WorstAgent {
    /// What it is called.
    pub name: String,
    /// What its record says, one sentence.
    pub message: String,
    /// Its own figures can't be believed.
    pub is_invalid: bool,
    /// So many machines have trouble of their own, this one included.
    pub of: u64,
}

/// Everything that one run, or a part of one, says about itself.
#[derive(Clone, Copy, Debug)]
pub struct Evidence<'a> {
    /// Who decided when a request starts.
    pub model: Model,
    /// Of a closed load.
    pub users: Option<Users>,
    /// Of a replay.
    pub replayed: Option<Replayed>,
    /// The measured shape is one constant rate.
    pub is_hold: bool,
    /// The load grows on purpose beyond what the target carries (a spike, stress): what the target then loses is what
    /// the run is for.
    pub by_phase: bool,
    /// It has objectives, which are met or missed.
    pub has_objectives: bool,
    /// How the run ended.
    pub end: End<'a>,
    /// The script that makes the requests, in words, if one does.
    pub script: Option<&'a str>,
    /// Why the request before the run failed; nothing was measured then.
    pub preflight: Option<&'a str>,
    /// The request beside the load that failed most often, if any did: its name, how often it failed, and how often it was
    /// asked.
    pub setup_failed: Option<(&'a str, u64, u64)>,
    /// What the service's own metrics say of the whole run, if they were asked.
    pub cross_check: Option<CrossChecked<'a>>,
    /// Only a part of the run is looked at: arrivals cross its borders.
    pub is_part: bool,
    /// The start of the run was left out as a transient: arrivals cross that border.
    pub transient_left_out: bool,
    /// Why no transient was left out, though that was asked for.
    pub not_steady: Option<NotSteady>,
    /// Measured arrivals, counted from the schedule.
    pub scheduled: u64,
    /// The same of each part of them that is counted by itself; those of which the schedule tells.
    pub accounts: &'a [PartAccount<'a>],
    /// The names of its requests.
    pub operations: &'a [&'a str],
    /// Its journeys.
    pub journeys: &'a [JourneyEnds<'a>],
    /// Measured arrivals that have no ending because the run has none.
    pub without_ending: u64,
    /// Measured arrivals that were sent before the load ended.
    pub sent_in_load: u64,
    /// Everything recorded.
    pub totals: &'a Bank<u64>,
    /// Stretches of time in order.
    pub rows: &'a [Row],
    /// The same of each of several origins, counted from the end of the warm-up; empty where that is not known.
    pub rows_by_origin: &'a [Vec<Row>],
    /// Begin of the measured load after t = 0.
    pub load_from: Nanos,
    /// End of the measured load after t = 0.
    pub load_to: Nanos,
    /// From the intended time.
    pub timeout: Nanos,
    /// Connections to each origin.
    pub pool: Pool,
    /// Requests that a connection carries at once, as asked for.
    pub places: u64,
    /// The names of the origins.
    pub origins: &'a [String],
    /// The addresses of the target, as far as they are known.
    pub addresses: &'a [Address<'a>],
    /// What the protocol calls its own failures, by their number ([`FailureKind::protocol`]).
    ///
    /// [`FailureKind::protocol`]: unblink_core::failure::FailureKind::protocol
    pub protocol_failures: &'a [String],
    /// The connections on which the protocol was broken, by origin.
    pub broken: &'a [BrokenConnections],
    /// Share of the time in which the workers' loops worked, 0 to 1; spinning is not work.
    pub busy_share: f64,
    /// The same for the busiest interval.
    pub busy_share_max: f64,
    /// Share of processor time stolen by the hypervisor, 0 to 1, if known.
    pub steal_share: Option<f64>,
    /// Intervals that were handed over late.
    pub double_intervals: u64,
    /// What the sampled arrivals of each open load say about their process.
    pub arrivals: &'a [LoadArrivals<'a>],
    /// The simulated client, if its figures are not what users feel.
    pub client: Option<WrongClient<'a>>,
    /// The machines, where one of them has not all of the load.
    pub agents: Option<&'a Agents>,
}
