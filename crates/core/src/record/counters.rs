//! Plain counts: outcomes, causes, connections, the generator's own behaviour.

use super::allowed::Allowed;
use super::breach::{Breach, Breaches};
use super::counted::{Summed, counted};
use super::progress::EventCounts;
use super::{Flight, RetryCauses, RetryCounts};
use crate::code::Code;
use crate::failure::FailureKind;
use crate::origins::ORIGINS_MAX;
use crate::time::Nanos;

counted! {
    /// Where arrivals ended. Each that fell due ends in exactly one of `ok`, `failed`, `timed_out`,
    /// `unfinished`, `unsent`.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Outcomes {
        /// Fell due.
        due,
        /// Their first byte went to the kernel.
        sent,
        /// Those of `sent` that went before the load ended.
        sent_in_load,
        /// Whole answers that are as expected.
        ok,
        /// Longer than the timeout, sent or not.
        timed_out,
        /// Those of `timed_out` that were never sent.
        timed_out_never_sent,
        /// Those of `timed_out` that waited for more than half of their time because every connection was in use.
        timed_out_pool_full,
        /// In flight when the run ended.
        unfinished,
        /// Still waiting when the run ended.
        unsent,
    }
    rarely {
        /// Those of `due` that no schedule knows: requests of journeys, but for the first of each.
        followed,
        /// Those of `due` that were to start after the load had ended: requests of journeys that were still under way.
        after_load,
        /// Those of `ok` that were to start after the load had ended.
        ok_after_load,
        /// Those of `timed_out_never_sent` that the generator kept from being sent for most of their time.
        timed_out_never_sent_own,
        /// Those of `timed_out` that may be the generator's own: its lateness and absence took a good part of their time.
        timed_out_hindered,
        /// Those of `failed` that may be the generator's own: it was away meanwhile, so that the target met a burst that
        /// nobody planned, or its machine lacked a port or a descriptor.
        failed_hindered,
        /// Those of `unsent` that nothing but the generator kept from being sent.
        unsent_own,
    }
    besides {
        /// By [`FailureKind::index`].
        failed: [u64; FailureKind::COUNT],
        /// Attempts after the first.
        retries: RetryCounts,
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
}

counted! {
    /// What happened to connections.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct ConnectionCounts {
        /// Attempts to open one.
        attempted,
        /// Attempts that led to a usable connection.
        opened,
        /// Attempts that failed.
        failed,
        /// Attempts refused by the target.
        refused,
        /// Attempts that this machine could not make: no descriptor, no port.
        local_limit,
        /// Usable connections that the target closed or broke.
        closed_by_target,
        /// Connections that were closed because their request timed out.
        closed_on_timeout,
        /// Connections that were closed because none of them was needed for long.
        closed_unneeded,
        /// Open connections that were closed because they had been open for as long as they should be.
        closed_by_age,
        /// Connections that a journey took for itself.
        own,
        /// Of these, those in place of one that the journey had lost.
        own_again,
        /// Connections of journeys' own that were closed because their journey had ended.
        closed_with_journey,
        /// Requests sent a second time because a reused connection had died; no attempt of its own.
        resent,
    }
    rarely {
        /// What came whole and answers nothing.
        unsolicited,
        /// Those of `unsolicited` that came where answers are told by their order alone.
        unsolicited_in_order,
        /// The target asked whether a connection lives, and was told.
        pinged,
        /// Answers 429 or 503 that asked to wait before asking again (`Retry-After`).
        asked_to_wait,
        /// Requests that followed another one of the same arrival, once that was answered.
        followed,
        /// Requests of which the target did not know a statement, which was prepared again and sent again. No attempt of its own.
        prepared_again,
        /// Attempts that failed because the target takes no more connections, as it said.
        full,
        /// How often the target said that a connection takes no requests at once.
        allowed_none,
        /// Connections that a journey took from all and held.
        held,
        /// Connections that were closed because something was left open on them, such as a transaction: by a journey that held
        /// one and ended, or by the answer to a request that stands alone.
        closed_open,
        /// Usable connections that were closed because of what came on them: it can't be read, is too large, or answers nothing.
        closed_broken,
        /// Those of `closed_broken` on which something came that no request had asked for, and that might have been taken for the
        /// answer to another.
        closed_unasked,
        /// Requests that went to a node that has what they ask for.
        routed,
        /// Requests that went to another, because no such node had a connection with room.
        missed,
        /// Requests of which nobody can tell which nodes have what they ask for.
        without_key,
        /// Connections that were closed so that others could be opened to nodes that had fewer.
        closed_to_spread,
    }
    besides {
        /// How many requests at once the target allows a connection, where one may carry several.
        allowed: Allowed,
    }
}

counted! {
    /// Where send lag came from, as exact sums over the sent arrivals.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct LagCauses {
        /// Waited for a connection because the pool was at its limit.
        no_connection,
        /// Time of those.
        no_connection_ns,
        /// Waited while a connection was being opened.
        connecting,
        /// Time of those.
        connecting_ns,
        /// Time from "could be sent" to "was sent": the generator's own lateness.
        generator_ns,
    }
    rarely {
        /// Journeys that waited for their start because as many were under way as may be.
        held,
        /// Time of those, until they were sent.
        held_ns,
        /// The same as `no_connection` where connections take several requests at once: waited because each was full.
        no_room,
        /// Time of those.
        no_room_ns,
    }
}

impl LagCauses {
    /// Arrivals that waited because the pool was at its limit, whatever a connection takes.
    pub fn pool(&self) -> u64 {
        self.no_connection + self.no_room
    }

    /// Time of those, in ns.
    pub fn pool_ns(&self) -> u64 {
        self.no_connection_ns + self.no_room_ns
    }

    /// An arrival was sent that waited for so long, and not because of the generator. `shared`: connections take several
    /// requests at once.
    pub(super) fn waited(&mut self, flight: &Flight, wait: Nanos, shared: bool) {
        let (count, time_ns) = match (flight.held_until, flight.pool_full) {
            (Some(_), _) => (&mut self.held, &mut self.held_ns),
            (None, true) if shared && !flight.is_alone => (&mut self.no_room, &mut self.no_room_ns),
            (None, true) => (&mut self.no_connection, &mut self.no_connection_ns),
            (None, false) => (&mut self.connecting, &mut self.connecting_ns),
        };
        *count += 1;
        *time_ns += wait.0;
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

counted! {
    /// Connections to one origin at the end of an interval, summed over workers.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct ConnectionLevels {
        /// Usable ones.
        connections,
        /// Most that were usable at once since the run began.
        connections_peak,
    }
}

counted! {
    /// Arrivals for one origin that have no end yet, at the end of an interval, summed over workers.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct LaneLevels {
        /// Sent and not yet ended.
        in_flight,
        /// Due and not yet sent.
        backlog,
    }
}

counted! {
    /// Levels at the end of an interval, summed over workers.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    pub struct Gauges {
        /// Sent and not yet ended.
        in_flight,
        /// Due and not yet sent.
        backlog,
    }
    besides {
        /// Connections by origin.
        origins: [ConnectionLevels; ORIGINS_MAX],
        /// The first two by origin.
        lanes: [LaneLevels; ORIGINS_MAX],
    }
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
}

/// Every count of an interval.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Counters {
    /// Arrivals of the measured part.
    pub measured: Outcomes,
    /// Arrivals of the warm-up; they enter no distribution.
    pub warmup: Outcomes,
    /// Answers by [`Code::index`]; measured part only.
    pub codes: [u64; Code::COUNT],
    /// Of the bodies of these answers.
    pub body_bytes: u64,
    /// Connections by origin, over the whole run, warm-up included.
    pub origins: [ConnectionCounts; ORIGINS_MAX],
    /// What was wrong with what came on connections that were closed for it, by origin: those of `closed_broken`, by kind.
    pub breaches: [Breaches; ORIGINS_MAX],
    /// Causes of send lag; measured part only.
    pub lag: LagCauses,
    /// Bytes of answers' heads and bodies.
    pub bytes_received: u64,
    /// Users of a closed population who had begun when measuring did.
    pub users_begun: u64,
    /// Answers that come event by event, to arrivals of the measured part.
    pub events: EventCounts,
    /// The same, to arrivals of the warm-up; they enter no figure.
    pub warmup_events: EventCounts,
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
            codes: Summed::ZERO,
            body_bytes: 0,
            origins: Summed::ZERO,
            breaches: Summed::ZERO,
            lag: LagCauses::default(),
            bytes_received: 0,
            users_begun: 0,
            events: EventCounts::default(),
            warmup_events: EventCounts::default(),
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

    /// An open connection to `origin` ends because of this.
    #[cold]
    pub fn closed_broken(&mut self, origin: usize, breach: Breach) {
        let counts = &mut self.origins[origin];
        counts.closed_broken += 1;
        counts.closed_unasked += u64::from(breach.is_unasked);
        self.breaches[origin].0[breach.kind.index()] += 1;
    }

    /// Adds another worker's or another interval's counts.
    pub fn add(&mut self, o: &Counters) {
        self.measured.add(&o.measured);
        self.warmup.add(&o.warmup);
        self.codes.sum(&o.codes);
        self.body_bytes += o.body_bytes;
        self.origins.sum(&o.origins);
        self.breaches.sum(&o.breaches);
        self.lag.add(&o.lag);
        self.bytes_received += o.bytes_received;
        self.users_begun += o.users_begun;
        self.events.add(&o.events);
        self.warmup_events.add(&o.warmup_events);
        self.retry_causes.add(&o.retry_causes);
        self.own.add(&o.own);
    }
}
