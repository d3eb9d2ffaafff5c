//! Trials in virtual time against a server in words.

use super::{criterion, journeys, rest};
use crate::args::arrivals::Arrivals;
use crate::args::knee::KneeArgs;
use crate::errors::{refuse, refused};
use crate::run::default_pool;
use crate::sim::Described;
use crate::sim::mix::{Asked, Listed};
use crate::value::Connections;
use crate::{retry, secrets};
use anyhow::{Result, bail};
use unblink_analysis::experiment::{
    Criterion, SimulatedRunner, SimulatedSetup, Step, Trial, TrialOutcome, TrialRunner,
};
use unblink_artifact::names::few;
use unblink_core::dispatch::Pool;
use unblink_core::plan::{OPERATIONS_APART_MAX, PlanError};
use unblink_core::record::Apart;
use unblink_core::sim::WorldSpec;

/// A simulated machine has no limit of ports or descriptors; this one keeps the memory bounded.
const CONNECTIONS_MAX: u32 = 1_000_000;

pub(super) struct Runner {
    inner: SimulatedRunner,
    /// In the words of `--server`.
    pub(super) target: String,
}

impl Runner {
    /// And what it asks for.
    pub(super) fn new(args: &KneeArgs) -> Result<(Runner, Asked)> {
        let asked = Asked::new(&Listed {
            requests: &args.requests,
            journeys: &args.journeys,
            under_way_max: args.under_way.journeys_max,
            order: args.target.order,
            services: &args.services,
        })?;
        let of = judged(args, &asked)?;
        let described = Described::new(&args.world)?;
        let first = args.requests.first().and_then(|request| default_pool(request.url.origin.speaks));
        let by_default = first.map_or(Connections::Auto(None), |(_, n)| Connections::Fixed(n));
        let pool = match args.connections.unwrap_or(by_default) {
            Connections::Auto(max) => Pool::Auto { max: max.unwrap_or(CONNECTIONS_MAX) },
            Connections::Fixed(n) => Pool::Fixed { n },
        };
        let setup = SimulatedSetup {
            criterion: Criterion { of, ..criterion(args) },
            is_poisson: args.arrivals == Arrivals::Poisson,
            seed: args.seed,
            timeout: args.timeout,
            pool,
            rest: rest(args),
            retry: retry::spec(&args.retry, args.seed)?,
            mix: asked.mix(args.seed),
            idempotent: asked.idempotent(),
            origins: asked.origins(),
        };
        let mut world = WorldSpec { seed: args.seed, ..described.world };
        world.server.service_of.clone_from(&asked.services);
        world.content.clone_from(&asked.content);
        let inner = SimulatedRunner::new(world, setup);
        // What can't be asked for is known before the first trial.
        inner.check(super::start(args)?, args.settle, args.measure).map_err(|error| match error {
            PlanError::Mix(error) => refused(&["order"], error.to_string()),
            other => other.into(),
        })?;
        Ok((Runner { inner, target: described.server }, asked))
    }
}

/// What the objective is about, by its name among those of the operations that are recorded apart, or of the journeys.
fn judged(args: &KneeArgs, asked: &Asked) -> Result<Option<(Apart, usize)>> {
    let Some(name) = &args.slo.name else { return Ok(None) };
    let names = journeys::names(args)?;
    let operations = asked.names();
    // The last of too many stands for all others.
    let apart =
        if operations.len() > OPERATIONS_APART_MAX { OPERATIONS_APART_MAX - 1 } else { operations.len() };
    let called = asked.called(name);
    let operation = || operations.iter().take(apart).position(|known| known.name == called);
    match names.called(name).or_else(|| Some((Apart::Operation, operation()?))) {
        Some(of) if of.0 == Apart::Operation && operations.len() == 1 => Ok(None),
        Some(of) => Ok(Some(of)),
        None if operations.is_empty() => refuse!(
            ["slo"],
            "--slo {:?}: a simulated server is asked for one thing only; leave the name out",
            secrets::mask_objective(&args.slo.text)
        ),
        None => {
            let operations = operations.iter().map(|known| known.name.clone());
            let known: Vec<String> = operations.chain(names.all()).collect();
            refuse!(
                ["slo"],
                "--slo {:?}: no request or journey is called {name:?}; there are {}",
                secrets::mask_objective(&args.slo.text),
                few(&known)
            )
        }
    }
}

impl super::Runner for Runner {
    /// What a trial does to the server, and what chance has given so far, the next ones meet: so it is simulated again.
    fn replay(&mut self, step: &Step) -> Result<()> {
        let again = self.inner.run(&step.trial)?;
        if again.as_ref() != Some(&step.outcome) {
            bail!(
                "trial {} comes out otherwise than in the folder of --resume: that search was not made by this version",
                step.trial.number
            );
        }
        Ok(())
    }
}

impl TrialRunner for Runner {
    type Trial = Trial;
    type Outcome = TrialOutcome;
    type Error = anyhow::Error;

    fn run(&mut self, trial: &Trial) -> Result<Option<TrialOutcome>> {
        Ok(self.inner.run(trial)?)
    }
}
