//! What only the end of a run knows.

use super::early::{early, last_stop, not_offered, stop_of, stopped_alone, tolerated};
use crate::document::RingSeen;
use crate::document::{
    Aborted, AddressArrivals, Agent, ClockReading, CrossCheck, FailedAttempts, Origin, RunDocument,
    RunStatus, SetupRequest, Spread, ValueSent, WorkerPriority, breaks_off,
};
use crate::header::RunHeader;
use std::collections::BTreeMap;
use unblink_core::record::{Bank, Counters, Operations};
use unblink_core::time::Nanos;

/// What only the end of a run knows; the intervals hold the rest.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// Did the run come to its end?
    pub status: RunStatus,
    /// Measured arrivals, counted from the schedule (those due before the interruption, if there was
    /// one); `None`: as many as fell due, for a closed load.
    pub scheduled: Option<u64>,
    /// The same for the warm-up.
    pub scheduled_warmup: Option<u64>,
    /// Measured arrivals of each operation that is recorded apart, counted from the schedule; empty where that is not
    /// known.
    pub scheduled_by_operation: Vec<u64>,
    /// Measured arrivals of each load, counted from its schedule; empty where that is not known, or there is one load only.
    pub scheduled_by_load: Vec<u64>,
    /// Measured journeys of each kind, counted from the schedule; empty where that is not known.
    pub scheduled_by_journey: Vec<u64>,
    /// Measured arrivals for each origin, counted from the schedule; empty where that is not known, or there is one origin
    /// only.
    pub scheduled_by_origin: Vec<u64>,
    /// When the load stopped being offered, after t = 0: warm-up plus duration, or the interruption.
    pub ended_after: Nanos,
    /// When the last measured `ok` answer was complete, after t = 0; `None` when not known: the end of
    /// its interval is taken.
    pub last_completion: Option<Nanos>,
    /// Share of processor time stolen by the hypervisor, 0 to 1, if known.
    pub steal_share: Option<f64>,
    /// Involuntary context switches of the process, if known.
    pub involuntary_switches: Option<u64>,
    /// At which priority the workers ran, where more than an ordinary one was asked for.
    pub priority: Option<WorkerPriority>,
    /// No processor was sent to sleep, where that was asked for.
    pub kept_awake: Option<bool>,
    /// By origin; those that are missing have nothing to say.
    pub origins: Vec<OriginEnding>,
    /// The rule or the guard that stopped it, if one did.
    pub aborted: Option<Aborted>,
    /// Measured arrivals that it kept from falling due, counted from the schedule.
    pub withheld: u64,
    /// What was drawn for the requests that were sent.
    pub values_sent: Vec<ValueSent>,
    /// What was asked beside the load, and how often.
    pub setup: Vec<SetupRequest>,
    /// What the service's own metrics say of the whole run, if they were asked.
    pub cross_check: Option<CrossCheck>,
    /// The machines whose records were merged, with what came of each.
    pub agents: Vec<Agent>,
    /// Of one machine's own record: the last comparison of its clock with the coordinator's while load went on.
    pub clock_last: Option<ClockReading>,
    /// The same: how late what it recorded was kept by the bus at the most.
    pub bus_behind_ns: Option<u64>,
}

/// What only the end of a run knows of one origin.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OriginEnding {
    /// Usable connections by address.
    pub by_address: BTreeMap<String, u64>,
    /// Failed attempts to connect, by address.
    pub failed_by_address: BTreeMap<String, FailedAttempts>,
    /// Measured arrivals by address.
    pub arrivals_by_address: BTreeMap<String, AddressArrivals>,
    /// How requests spread over connections.
    pub spread: Option<Spread>,
    /// So often its name could not be resolved again.
    pub resolving_failed: u64,
    /// Why the request before the run failed, if it did: then there was no run.
    pub preflight: Option<String>,
    /// The ring by which requests went to its nodes.
    pub ring: Option<RingSeen>,
}

impl Ending {
    /// Of a run that still goes on or was killed at `recorded_to`: what the plan and the record say.
    pub fn unknown(header: &RunHeader, recorded_to: Nanos) -> Ending {
        let planned = Nanos(header.plan.warmup_ns.saturating_add(header.plan.duration_ns));
        Ending {
            status: RunStatus::Running,
            scheduled: None,
            scheduled_warmup: None,
            scheduled_by_operation: Vec::new(),
            scheduled_by_load: Vec::new(),
            scheduled_by_journey: Vec::new(),
            scheduled_by_origin: Vec::new(),
            ended_after: planned.min(recorded_to),
            last_completion: None,
            steal_share: None,
            involuntary_switches: None,
            priority: None,
            kept_awake: None,
            origins: Vec::new(),
            aborted: None,
            withheld: 0,
            values_sent: Vec::new(),
            setup: Vec::new(),
            cross_check: None,
            agents: Vec::new(),
            clock_last: None,
            bus_behind_ns: None,
        }
    }

    /// What the final document of the whole run says about its end.
    pub fn of(document: &RunDocument) -> Ending {
        let left_out = document.transient.as_ref().and_then(|t| t.arrivals.as_ref());
        // Of a machine whose record breaks off the schedule of each part is not known.
        let is_by_schedule = left_out.is_none() && !breaks_off(&document.agents);
        Ending {
            status: document.status,
            scheduled: Some(document.arrivals.due() + left_out.map_or(0, |a| a.scheduled)),
            scheduled_warmup: document.warmup.as_ref().map(|w| w.scheduled),
            // Of a run whose begin was left out it counts what ended after that.
            scheduled_by_operation: match is_by_schedule && document.operations.len() > 1 {
                true => document.operations.iter().filter_map(|of| of.arrivals.scheduled).collect(),
                false => Vec::new(),
            },
            scheduled_by_load: match is_by_schedule && document.loads.len() > 1 {
                true => document.loads.iter().filter_map(|of| of.arrivals.scheduled).collect(),
                false => Vec::new(),
            },
            scheduled_by_journey: match is_by_schedule {
                true => document.journeys.iter().map(|of| of.account.scheduled).collect(),
                false => Vec::new(),
            },
            scheduled_by_origin: match is_by_schedule {
                true => document.origins.iter().filter_map(|of| of.arrivals.as_ref()?.scheduled).collect(),
                false => Vec::new(),
            },
            ended_after: Nanos(document.series.load_to_ns),
            last_completion: document.series.last_completion_ns.map(Nanos),
            steal_share: document.generator.steal_share,
            involuntary_switches: document.generator.involuntary_switches,
            priority: document.generator.priority,
            kept_awake: document.generator.kept_awake,
            origins: document.origins.iter().map(OriginEnding::of).collect(),
            aborted: document.aborted.clone(),
            withheld: document.arrivals.withheld.saturating_sub(stopped_alone(&document.agents)),
            values_sent: document.values_sent.clone(),
            setup: document.setup.clone(),
            cross_check: document.cross_check.clone(),
            agents: document.agents.iter().filter(|agent| agent.result.is_some()).cloned().collect(),
            clock_last: match &document.agents[..] {
                [Agent { clock_last, result: None, .. }] => *clock_last,
                _ => None,
            },
            bus_behind_ns: match &document.agents[..] {
                [Agent { bus_behind_ns, result: None, .. }] => *bus_behind_ns,
                _ => None,
            },
        }
        .untolerated()
    }
}

impl Ending {
    /// Adds the requests that no schedule knows, since they follow others: each that fell due counts as scheduled.
    /// `totals` are those of the whole run.
    #[must_use]
    pub fn with_followed(mut self, totals: &Bank<u64>) -> Ending {
        let Counters { measured, warmup, .. } = &totals.counters;
        self.scheduled = self.scheduled.map(|n| n + measured.followed);
        self.scheduled_warmup = self.scheduled_warmup.map(|n| n + warmup.followed);
        let add = |scheduled: &mut [u64], apart: &Operations<u64>| {
            scheduled.iter_mut().zip(apart.iter()).for_each(|(n, of)| *n += of.outcomes.followed);
        };
        add(&mut self.scheduled_by_operation, &totals.operations);
        add(&mut self.scheduled_by_load, &totals.loads);
        self
    }

    /// Why the request before the run failed, if one did.
    pub(crate) fn preflight(&self) -> Option<&str> {
        self.origins.iter().find_map(|origin| origin.preflight.as_deref())
    }
}

impl OriginEnding {
    fn of(origin: &Origin) -> OriginEnding {
        OriginEnding {
            by_address: origin.connections.by_address.clone(),
            failed_by_address: origin.connections.failed_by_address.clone(),
            arrivals_by_address: origin.connections.arrivals_by_address.clone(),
            spread: origin.connections.spread,
            resolving_failed: origin.connections.resolving_failed,
            preflight: origin.preflight.clone(),
            ring: origin.connections.ring.clone(),
        }
    }
}

impl Ending {
    /// Part of the load before `to` was offered by some machines alone, and nobody said that this may be.
    pub(super) fn is_partial_before(&self, to: Nanos) -> bool {
        early(&self.agents).any(|early| early.at < to) && tolerated(&self.agents).is_empty()
    }

    /// The end of the run as it is judged: one that would be worth something without the machines that were cut off was not stopped by
    /// what stopped these.
    pub(super) fn tolerating(&self) -> Ending {
        let mut ending = self.clone();
        let tolerated = tolerated(&self.agents);
        if !tolerated.is_empty() {
            (ending.status, ending.aborted) = (RunStatus::Complete, None);
            ending.withheld = ending.withheld.saturating_sub(not_offered(tolerated, RunStatus::Aborted));
        }
        ending
    }

    /// The inverse, of what a document says.
    pub(super) fn untolerated(mut self) -> Ending {
        let tolerated = tolerated(&self.agents);
        if self.status == RunStatus::Complete && !tolerated.is_empty() {
            self.withheld += not_offered(tolerated, RunStatus::Aborted);
            self.aborted = last_stop(self.agents.iter().filter_map(stop_of));
            self.status = match self.aborted {
                Some(_) => RunStatus::Aborted,
                None => RunStatus::Interrupted,
            };
        }
        self
    }
}
