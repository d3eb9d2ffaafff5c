//! A simulated run as it is recorded, and how it ended.

use super::Simulation;
use crate::observe::{End, Observed, Observer};
use crate::precision;
use crate::run::{self, abort};
use std::ops::ControlFlow;
use unblink_artifact::document::RunStatus;
use unblink_artifact::tally::{Ending, Tally};
use unblink_core::record::Interval;
use unblink_core::sim::{ClientSpec, Watch, simulate_client, simulate_until};
use unblink_core::time::Nanos;

impl Simulation {
    /// Everything that was recorded, before any of it is left out.
    pub(super) fn record(&self, watch: impl Watch, writer: &mut dyn Observer) -> (Tally, Ending) {
        let mut precision = precision::Watch::new(self.header.plan.precision.as_ref());
        let mut abort = abort::Watch::new(&self.header);
        let mut observed = Observed::new(self.header.clone(), vec![&mut abort, &mut precision, writer]);
        let (summary, offered) = match &self.client {
            None => simulate_until(&self.plan, &self.world, watch, |interval| {
                let mut flow = ControlFlow::Continue(());
                observed.take(interval, || {
                    flow = ControlFlow::Break(());
                    true
                });
                flow
            }),
            // Its load is not ended early.
            Some(client) => {
                let each = |interval: &Interval| observed.take(interval, || false);
                (simulate_client(&self.plan, &self.world, client, each), self.plan.load_length())
            }
        };
        let (tally, ended) = observed.finish();
        let due = tally.totals().counters.measured.due;
        let limited = self.plan.spec().limit.is_some_and(|limit| due >= limit);
        let by_count = matches!(&self.client, Some(ClientSpec::Tool(tool)) if tool.by_count);
        let ended_after = match self.plan.is_open() {
            true if !by_count => offered,
            false if !limited => offered,
            // When the last of a fixed number of requests is sent follows from the answers.
            _ => tally.end(),
        };
        // A client other than the dispatcher has its own account: what it sent, or knew that it did not.
        let warmup = self.plan.measured_from();
        let scheduled = self.plan.scheduled(warmup, offered).filter(|_| self.client.is_none());
        let apart =
            self.plan.scheduled_apart(warmup, offered).filter(|_| self.client.is_none()).unwrap_or_default();
        let (status, aborted, withheld) = match ended {
            Some(End::Aborted(aborted)) => {
                (RunStatus::Aborted, Some(aborted), run::withheld(&self.plan, ended_after))
            }
            _ => (RunStatus::Complete, None, 0),
        };
        let ending = Ending {
            status,
            scheduled: scheduled.map(|s| s.measured),
            scheduled_warmup: scheduled.filter(|_| warmup > Nanos::ZERO).map(|s| s.warmup),
            scheduled_by_operation: apart.by_operation,
            scheduled_by_load: match self.client {
                None => self.plan.scheduled_by_load(warmup, offered),
                Some(_) => Vec::new(),
            },
            scheduled_by_journey: self.plan.scheduled_by_journey(warmup, offered).unwrap_or_default(),
            scheduled_by_origin: apart.by_origin,
            ended_after,
            last_completion: summary.last_ok,
            steal_share: None,
            involuntary_switches: None,
            priority: None,
            kept_awake: None,
            origins: Vec::new(),
            values_sent: Vec::new(),
            setup: Vec::new(),
            cross_check: None,
            agents: Vec::new(),
            clock_last: None,
            bus_behind_ns: None,
            aborted,
            withheld,
        };
        let ending = ending.with_followed(tally.totals());
        (tally, ending)
    }
}
