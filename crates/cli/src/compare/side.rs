//! What is compared: a real target, or a server in words.

use crate::args::compare::CompareArgs;
use crate::args::load::LoadArgs;
use crate::args::run::RunArgs;
use crate::args::sim::WorldArgs;
use crate::errors::refuse;
use crate::journey::{self, Journey};
use crate::request::Request;
use crate::run::{self, Prepared};
use crate::setup::SetupRequest;
use crate::signals::Interruptions;
use crate::sim::mix::{Asked, Listed};
use crate::sim::{Described, Simulation};
use crate::value::Connections;
use crate::{asked, output};
use anyhow::{Result, bail};
use std::path::Path;
use unblink_artifact::document::RunDocument;
use unblink_artifact::header::RunHeader;
use unblink_core::plan::Plan;

/// Where the runs of one side come from.
pub(crate) enum Source {
    /// What a URL or a plan asks for, and what it asks beside the load.
    Real { requests: Vec<Request>, setup: Vec<SetupRequest>, journeys: Vec<Journey> },
    /// In virtual time.
    World { world: Box<Described>, words: WorldArgs },
}

/// A run of which everything is checked, and nothing sent.
pub(super) struct Ready {
    /// What is asked, and of whom.
    pub(super) asked: String,
    run: Run,
}

enum Run {
    Real(Box<Prepared>),
    Simulated(Box<Simulation>),
}

impl Source {
    pub(super) fn url(url: &str) -> Result<Source> {
        Ok(Source::Real { requests: vec![Request::new(None, url)?], setup: Vec::new(), journeys: Vec::new() })
    }

    /// Both sides in virtual time.
    pub(super) fn worlds(args: &CompareArgs) -> Result<[Source; 2]> {
        if args.baseline.is_some() || args.planned.is_some() {
            refuse!(
                ["server", "scenario"],
                "a URL or a folder and --server or --scenario exclude each other: what is the baseline?"
            );
        }
        let candidate = match (&args.candidate_server, args.a_a) {
            (_, true) => args.world.clone(),
            (Some(server), false) => {
                WorldArgs { server: Some(server.clone()), scenario: None, ..args.world.clone() }
            }
            (None, false) => bail!(
                "which candidate? Add --candidate-server 'service=12ms' in words (see unblink sim --help), or --a-a"
            ),
        };
        let world = |words: WorldArgs, flag| {
            let world = Box::new(Described::of(&words, flag)?);
            anyhow::Ok(Source::World { world, words })
        };
        Ok([world(args.world.clone(), "server")?, world(candidate, "candidate-server")?])
    }

    /// The run with this number, which also picks its seed: each has arrivals of its own, or no two Poisson runs would
    /// differ in them.
    pub(super) fn ready(&self, args: &CompareArgs, number: u64) -> Result<Ready> {
        match self {
            Source::Real { requests, setup, journeys } => {
                let run_args = self.numbered(args, number);
                let prepared = run::prepare(&run_args)?;
                let setup = setup.iter().map(|one| &one.request);
                let steps = journey::requests(journeys);
                let all: Vec<Request> = requests.iter().chain(setup).chain(steps).cloned().collect();
                let asked = asked::of_target(&prepared, &args.target, run_args.connections(), &all);
                Ok(Ready { asked, run: Run::Real(Box::new(prepared)) })
            }
            Source::World { world, words } => {
                let listed = listed(args)?;
                let simulation = world.simulation(&world.load(&seeded(args, number)), "ideal", &listed)?;
                let header = &simulation.header;
                let (retry, journeys) = (header.plan.retry.as_ref(), &header.journeys[..]);
                let connections = args.load.connections.unwrap_or(Connections::Auto(None));
                let asked = asked::of_world(words, connections, retry, journeys, listed.said());
                Ok(Ready { asked, run: Run::Simulated(Box::new(simulation)) })
            }
        }
    }

    /// The run with this number.
    pub(super) fn numbered(&self, args: &CompareArgs, number: u64) -> RunArgs {
        self.run_args(args, seeded(args, number))
    }

    /// The plan of a run and its load in a line, without the network.
    pub(super) fn planned(&self, args: &CompareArgs) -> Result<(Plan, String)> {
        match self {
            Source::Real { .. } => {
                let planned = run::planned(&self.run_args(args, args.load.clone()))?;
                Ok((planned.plan, planned.summary))
            }
            Source::World { world, .. } => {
                world.simulation(&world.load(&args.load), "ideal", &listed(args)?).map(Simulation::planned)
            }
        }
    }

    /// A run of it; nothing is asked of a server in words.
    fn run_args(&self, args: &CompareArgs, load: LoadArgs) -> RunArgs {
        let (requests, setup, journeys) = match self {
            Source::Real { requests, setup, journeys } => (requests.clone(), setup.clone(), journeys.clone()),
            Source::World { .. } => Default::default(),
        };
        let run = RunArgs::of_experiment(requests, load, args.target.clone(), args.quiet);
        RunArgs { agents: args.agents.clone(), setup, journeys, under_way: args.under_way.clone(), ..run }
    }
}

/// Each run has arrivals of its own.
fn seeded(args: &CompareArgs, number: u64) -> LoadArgs {
    LoadArgs { seed: args.load.seed.wrapping_add(number), ..args.load.clone() }
}

/// What simulated servers are asked for.
fn listed(args: &CompareArgs) -> Result<Asked> {
    Asked::new(&Listed {
        requests: &args.beside,
        journeys: &args.journeys[0],
        under_way_max: args.under_way.journeys_max,
        order: args.target.order,
        services: &args.services,
    })
}

impl Ready {
    /// What is written at the head of the run.
    pub(super) fn header(&self) -> &RunHeader {
        match &self.run {
            Run::Real(prepared) => &prepared.header,
            Run::Simulated(simulation) => &simulation.header,
        }
    }

    /// Of a real target.
    pub(super) fn prepared(self) -> Option<Prepared> {
        match self.run {
            Run::Real(prepared) => Some(*prepared),
            Run::Simulated(_) => None,
        }
    }

    pub(super) fn is_simulated(&self) -> bool {
        matches!(self.run, Run::Simulated(_))
    }

    /// Asks a real target once.
    pub(super) fn preflight(&self) -> Result<()> {
        match &self.run {
            Run::Real(prepared) => run::ask_once(prepared),
            Run::Simulated(_) => Ok(()),
        }
    }

    /// Runs, and leaves the record and the page in `folder`.
    pub(super) fn run(
        self,
        args: &CompareArgs,
        folder: &Path,
        interruptions: &Interruptions,
    ) -> Result<RunDocument> {
        match self.run {
            Run::Real(prepared) => {
                // The preflight of each side has been sent.
                let (document, _) = run::execute(*prepared, folder, true, args.quiet, interruptions)?;
                output::write_page(folder, &document);
                Ok(document)
            }
            Run::Simulated(simulation) => Ok(simulation.run_into(folder)?.0),
        }
    }
}
