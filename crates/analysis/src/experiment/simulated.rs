//! Trials in virtual time, one after the other against one simulated server.

use super::TrialRunner;
use super::criterion::Criterion;
use super::gather::{Ended, Gather};
use super::trial::{Trial, TrialOutcome};
use crate::evidence;
use std::ops::ControlFlow;
use unblink_core::dispatch::{Pool, Retry};
use unblink_core::mix::{Mix, Order};
use unblink_core::origins::Origins;
use unblink_core::plan::{LoadSpec, Plan, PlanError, PlanSpec};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{LastingWorld, WorldSpec};
use unblink_core::time::Nanos;

/// What all trials have in common.
#[derive(Clone, PartialEq, Debug)]
pub struct SimulatedSetup {
    /// What is asked of a rate.
    pub criterion: Criterion,
    /// Poisson arrivals rather than even ones.
    pub is_poisson: bool,
    /// Of the arrivals; each trial draws its own from it.
    pub seed: u64,
    /// From the intended time.
    pub timeout: Nanos,
    /// Connections.
    pub pool: Pool,
    /// What is tried again; nothing without it.
    pub retry: Option<Retry>,
    /// For this long nothing is asked before a trial, once the server has ended its work.
    pub rest: Nanos,
    /// What is asked for; one kind of request by default. Its order and its journeys are drawn from each trial's seed.
    pub mix: Mix,
    /// For each operation of that, whether it may be sent twice.
    pub idempotent: Vec<bool>,
    /// Where they go: each origin has a server of its own.
    pub origins: Origins,
}

/// Runs trials on a simulated server that remembers the ones before.
#[derive(Clone, Debug)]
pub struct SimulatedRunner {
    world: LastingWorld,
    setup: SimulatedSetup,
}

impl SimulatedRunner {
    /// A world in which nothing has been asked yet.
    pub fn new(world: WorldSpec, setup: SimulatedSetup) -> SimulatedRunner {
        SimulatedRunner { world: LastingWorld::new(world), setup }
    }

    /// Refuses what no trial can ask for, at this rate and for these times.
    pub fn check(&self, rate: Rate, settle: Nanos, measure: Nanos) -> Result<(), PlanError> {
        self.plan(1, rate, settle, measure).map(drop)
    }

    fn plan(&self, trial: u32, rate: Rate, settle: Nanos, measure: Nanos) -> Result<Plan, PlanError> {
        // An odd constant keeps the seeds of two experiments with neighbouring seeds apart.
        let seed = self.setup.seed.wrapping_add(u64::from(trial).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let mut mix = self.setup.mix.clone();
        mix.journeys.seed = seed;
        if let Order::Shuffled { seed: drawn } | Order::Random { seed: drawn } = &mut mix.order {
            *drawn = seed;
        }
        let process = if self.setup.is_poisson { Process::Poisson { seed } } else { Process::Even };
        Plan::new(PlanSpec {
            load: LoadSpec::Open { phases: vec![Phase::hold(rate, measure)], process },
            warmup: settle,
            limit: None,
            timeout: self.setup.timeout,
            drain: None,
            pool: self.setup.pool,
            threads: 1,
            retry: self.setup.retry.clone(),
            idempotent: self.setup.idempotent.clone(),
            mix,
            origins: self.setup.origins.clone(),
            rate_cap: None,
        })
    }
}

impl TrialRunner for SimulatedRunner {
    type Trial = Trial;
    type Outcome = TrialOutcome;
    type Error = PlanError;

    fn run(&mut self, trial: &Trial) -> Result<Option<TrialOutcome>, PlanError> {
        self.world.rest(if trial.number > 1 { self.setup.rest } else { Nanos::ZERO });
        let plan = self.plan(trial.number, trial.rate, trial.settle, trial.measure_max)?;
        let pool = match self.setup.pool {
            Pool::Auto { max } => evidence::Pool::Auto { max: u64::from(max) },
            Pool::Fixed { n } => evidence::Pool::Fixed { n: u64::from(n) },
        };
        let mut gather = Gather::new(trial, self.setup.criterion, self.setup.timeout, pool);
        let to = self.world.run(&plan, |interval| {
            gather.add(interval);
            if gather.may_end() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let count = |end| plan.schedule().map_or(0, |schedule| schedule.count_before(end));
        let scheduled = count(to) - count(trial.settle);
        Ok(Some(gather.finish(&Ended { scheduled, measured: to - trial.settle, steal_share: None })))
    }
}
