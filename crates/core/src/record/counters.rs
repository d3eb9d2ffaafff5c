//! Plain counts: outcomes, causes, connections, the generator's own behaviour.

use super::{Flight, RetryCauses, RetryCounts};
use crate::failure::FailureKind;
use crate::origins::ORIGINS_MAX;
use crate::time::Nanos;

/// Where arrivals ended. Each that fell due ends in exactly one of `ok`, `failed`, `timed_out`,
/// `unfinished`, `unsent`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Outcomes {
    /// Fell due.
    pub due: u64,
    /// Those of `due` that no schedule knows: requests of journeys, but for the first of each.
    pub followed: u64,
    /// Those of `due` that were to start after the load had ended: requests of journeys that were still under way.
    pub after_load: u64,
    /// Their first byte went to the kernel.
    pub sent: u64,
    /// Those of `sent` that went before the load ended.
    pub sent_in_load: u64,
    /// Whole answers that are as expected.
    pub ok: u64,
    /// Those of `ok` that were to start after the load had ended.
    pub ok_after_load: u64,
    /// By [`FailureKind::index`].
    pub failed: [u64; FailureKind::COUNT],
    /// Longer than the timeout, sent or not.
    pub timed_out: u64,
    /// Those of `timed_out` that were never sent.
    pub timed_out_never_sent: u64,
    /// Those of `timed_out` that waited for more than half of their time because every connection was in use.
    pub timed_out_pool_full: u64,
    /// Those of `timed_out_never_sent` that nothing but the generator kept from being sent.
    pub timed_out_never_sent_own: u64,
    /// Those of `timed_out` that may be the generator's own: its lateness and absence took a good part of their time.
    pub timed_out_hindered: u64,
    /// Those of `failed` that may be the generator's own: it was away meanwhile, so that the target met a burst that nobody
    /// planned, or its machine lacked a port or a descriptor.
    pub failed_hindered: u64,
    /// In flight when the run ended.
    pub unfinished: u64,
    /// Still waiting when the run ended.
    pub unsent: u64,
    /// Those of `unsent` that nothing but the generator kept from being sent.
    pub unsent_own: u64,
    /// Attempts after the first.
    pub retries: RetryCounts,
}

impl Default for Outcomes {
    fn default() -> Self {
        Outcomes {
            due: 0,
            followed: 0,
            after_load: 0,
            sent: 0,
            sent_in_load: 0,
            ok: 0,
            ok_after_load: 0,
            failed: [0; FailureKind::COUNT],
            timed_out: 0,
            timed_out_never_sent: 0,
            timed_out_pool_full: 0,
            timed_out_never_sent_own: 0,
            timed_out_hindered: 0,
            failed_hindered: 0,
            unfinished: 0,
            unsent: 0,
            unsent_own: 0,
            retries: RetryCounts::default(),
        }
    }
}

impl Outcomes {
    /// Failures of every kind.
    pub fn failed_total(&self) -> u64 {
        self.failed.iter().sum()
    }

    /// Errors that may be the generator's own.
    pub fn errors_hindered(&self) -> u64 {
        self.timed_out_hindered + self.failed_hindered
    }

    /// Arrivals that have ended, in any way.
    pub fn ended(&self) -> u64 {
        self.ok + self.failed_total() + self.timed_out + self.unfinished + self.unsent
    }

    /// Adds another count of the same run.
    pub fn add(&mut self, o: &Outcomes) {
        self.due += o.due;
        self.followed += o.followed;
        self.after_load += o.after_load;
        self.ok_after_load += o.ok_after_load;
        self.sent += o.sent;
        self.sent_in_load += o.sent_in_load;
        self.ok += o.ok;
        self.failed.iter_mut().zip(o.failed).for_each(|(a, b)| *a += b);
        self.timed_out += o.timed_out;
        self.timed_out_never_sent += o.timed_out_never_sent;
        self.timed_out_pool_full += o.timed_out_pool_full;
        self.timed_out_never_sent_own += o.timed_out_never_sent_own;
        self.timed_out_hindered += o.timed_out_hindered;
        self.failed_hindered += o.failed_hindered;
        self.unfinished += o.unfinished;
        self.unsent += o.unsent;
        self.unsent_own += o.unsent_own;
        self.retries.add(&o.retries);
    }
}

/// Statuses 100 to 599, each counted alone.
pub const STATUS_FIRST: usize = 100;
/// How many statuses are counted alone.
pub const STATUS_COUNT: usize = 500;

/// What happened to connections.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ConnectionCounts {
    /// Attempts to open one.
    pub attempted: u64,
    /// Attempts that led to a usable connection.
    pub opened: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Attempts refused by the target.
    pub refused: u64,
    /// Attempts that this machine could not make: no descriptor, no port.
    pub local_limit: u64,
    /// Usable connections that the target closed or broke.
    pub closed_by_target: u64,
    /// Connections that were closed because their request timed out.
    pub closed_on_timeout: u64,
    /// Connections that were closed because none of them was needed for long.
    pub closed_unneeded: u64,
    /// Open connections that were closed because they had been open for as long as they should be.
    pub closed_by_age: u64,
    /// Requests sent a second time because a reused connection had died; no attempt of its own.
    pub resent: u64,
}

impl ConnectionCounts {
    fn add(&mut self, o: &ConnectionCounts) {
        self.attempted += o.attempted;
        self.opened += o.opened;
        self.failed += o.failed;
        self.refused += o.refused;
        self.local_limit += o.local_limit;
        self.closed_by_target += o.closed_by_target;
        self.closed_on_timeout += o.closed_on_timeout;
        self.closed_unneeded += o.closed_unneeded;
        self.closed_by_age += o.closed_by_age;
        self.resent += o.resent;
    }
}

/// Where send lag came from, as exact sums over the sent arrivals.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LagCauses {
    /// Waited for a connection because the pool was at its limit.
    pub no_connection: u64,
    /// Time of those.
    pub no_connection_ns: u64,
    /// Waited while a connection was being opened.
    pub connecting: u64,
    /// Time of those.
    pub connecting_ns: u64,
    /// Time from "could be sent" to "was sent": the generator's own lateness.
    pub generator_ns: u64,
    /// Journeys that waited for their start because as many were under way as may be.
    pub held: u64,
    /// Time of those, until they were sent.
    pub held_ns: u64,
}

impl LagCauses {
    /// An arrival was sent that waited for so long, and not because of the generator.
    pub(super) fn waited(&mut self, flight: &Flight, wait: Nanos) {
        let (count, time_ns) = match (flight.held_until, flight.pool_full) {
            (Some(_), _) => (&mut self.held, &mut self.held_ns),
            (None, true) => (&mut self.no_connection, &mut self.no_connection_ns),
            (None, false) => (&mut self.connecting, &mut self.connecting_ns),
        };
        *count += 1;
        *time_ns += wait.0;
    }

    fn add(&mut self, o: &LagCauses) {
        self.no_connection += o.no_connection;
        self.no_connection_ns += o.no_connection_ns;
        self.connecting += o.connecting;
        self.connecting_ns += o.connecting_ns;
        self.generator_ns += o.generator_ns;
        self.held += o.held;
        self.held_ns += o.held_ns;
    }
}

/// From this length on a stretch between two looks at the clock counts as a pause of the generator's own. Reading one
/// socket or sending one request takes far less.
pub const PAUSE_FROM: Nanos = Nanos::from_millis(1);

/// How the load generator itself behaved.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LoopCounts {
    /// Time spent working, not waiting, summed over workers.
    pub busy: Nanos,
    /// Time covered, summed over workers.
    pub total: Nanos,
    /// Longest stretch in which a worker did not look at the clock though it was not asked to wait.
    pub pause_max: Nanos,
    /// All such stretches of [`PAUSE_FROM`] or more, summed over workers.
    pub paused: Nanos,
    /// Time in which the workers were ready to run and had no processor, summed over workers.
    pub run_delay: Nanos,
    /// How often they were given a processor.
    pub run_slices: u64,
    /// Longest time that a worker took to give an interval's record away; it does nothing else meanwhile.
    pub handover_max: Nanos,
}

impl LoopCounts {
    /// A worker did not look at the clock for this long, though it was not asked to wait.
    pub fn note_away(&mut self, away: Nanos) {
        if away >= PAUSE_FROM {
            self.paused += away;
        }
        self.pause_max = self.pause_max.max(away);
    }

    fn add(&mut self, o: &LoopCounts) {
        self.busy += o.busy;
        self.total += o.total;
        self.pause_max = self.pause_max.max(o.pause_max);
        self.paused += o.paused;
        self.run_delay += o.run_delay;
        self.run_slices += o.run_slices;
        self.handover_max = self.handover_max.max(o.handover_max);
    }
}

/// Connections to one origin at the end of an interval, summed over workers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct ConnectionLevels {
    /// Usable ones.
    pub connections: u64,
    /// Most that were usable at once since the run began.
    pub connections_peak: u64,
}

/// Arrivals for one origin that have no end yet, at the end of an interval, summed over workers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LaneLevels {
    /// Sent and not yet ended.
    pub in_flight: u64,
    /// Due and not yet sent.
    pub backlog: u64,
}

/// Levels at the end of an interval, summed over workers.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Gauges {
    /// Sent and not yet ended.
    pub in_flight: u64,
    /// Due and not yet sent.
    pub backlog: u64,
    /// Connections by origin.
    pub origins: [ConnectionLevels; ORIGINS_MAX],
    /// The first two by origin.
    pub lanes: [LaneLevels; ORIGINS_MAX],
}

impl Gauges {
    /// Levels of a run with one origin.
    pub fn of_one_origin(in_flight: u64, backlog: u64, levels: ConnectionLevels) -> Gauges {
        let mut gauges = Gauges { in_flight, backlog, ..Gauges::default() };
        gauges.origins[0] = levels;
        gauges.lanes[0] = LaneLevels { in_flight, backlog };
        gauges
    }

    /// Usable connections to all origins.
    pub fn connections(&self) -> u64 {
        self.origins.iter().map(|levels| levels.connections).sum()
    }

    /// Adds another worker's level at the same moment.
    pub fn add(&mut self, o: &Gauges) {
        self.in_flight += o.in_flight;
        self.backlog += o.backlog;
        for (levels, other) in self.origins.iter_mut().zip(&o.origins) {
            levels.connections += other.connections;
            levels.connections_peak += other.connections_peak;
        }
        for (lane, other) in self.lanes.iter_mut().zip(&o.lanes) {
            lane.in_flight += other.in_flight;
            lane.backlog += other.backlog;
        }
    }
}

/// Every count of an interval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Arrivals of the measured part.
    pub measured: Outcomes,
    /// Arrivals of the warm-up; they enter no distribution.
    pub warmup: Outcomes,
    /// Answers by status, from [`STATUS_FIRST`]; measured part only.
    pub statuses: [u64; STATUS_COUNT],
    /// Connections by origin, over the whole run, warm-up included.
    pub origins: [ConnectionCounts; ORIGINS_MAX],
    /// Causes of send lag; measured part only.
    pub lag: LagCauses,
    /// Bytes of answers' heads and bodies.
    pub bytes_received: u64,
    /// Users of a closed population who had begun when measuring did.
    pub users_begun: u64,
    /// Why arrivals were tried again; measured part only.
    pub retry_causes: RetryCauses,
    /// The loop's own behaviour.
    pub own: LoopCounts,
}

impl Default for Counters {
    fn default() -> Self {
        Counters {
            measured: Outcomes::default(),
            warmup: Outcomes::default(),
            statuses: [0; STATUS_COUNT],
            origins: [ConnectionCounts::default(); ORIGINS_MAX],
            lag: LagCauses::default(),
            bytes_received: 0,
            users_begun: 0,
            retry_causes: RetryCauses::default(),
            own: LoopCounts::default(),
        }
    }
}

impl Counters {
    /// Connections to all origins.
    pub fn connections(&self) -> ConnectionCounts {
        let mut all = ConnectionCounts::default();
        self.origins.iter().for_each(|origin| all.add(origin));
        all
    }

    /// Adds another worker's or another interval's counts.
    pub fn add(&mut self, o: &Counters) {
        self.measured.add(&o.measured);
        self.warmup.add(&o.warmup);
        self.statuses.iter_mut().zip(o.statuses).for_each(|(a, b)| *a += b);
        self.origins.iter_mut().zip(&o.origins).for_each(|(a, b)| a.add(b));
        self.lag.add(&o.lag);
        self.bytes_received += o.bytes_received;
        self.users_begun += o.users_begun;
        self.retry_causes.add(&o.retry_causes);
        self.own.add(&o.own);
    }
}
