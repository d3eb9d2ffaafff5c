//! What is compared: a real target, or a server in words.

use crate::args::compare::CompareArgs;
use crate::args::load::LoadArgs;
use crate::args::run::RunArgs;
use crate::args::sim::WorldArgs;
use crate::plan::requests::Planned;
use crate::run::{self, Prepared};
use crate::signals::Interruptions;
use crate::sim::{Described, Simulation};
use crate::{asked, output};
use anyhow::{Context, Result, anyhow, bail};
use std::path::Path;
use unblink_artifact::document::RunDocument;
use unblink_artifact::header::RunHeader;

/// Where the runs of one side come from.
pub(crate) enum Source {
    Url(String),
    /// What a plan requests.
    Requests(Vec<Planned>),
    /// In virtual time.
    World {
        world: Box<Described>,
        words: WorldArgs,
    },
}

impl Source {
    /// Both sides in virtual time.
    pub(super) fn worlds(args: &CompareArgs) -> Result<[Source; 2]> {
        if args.baseline.is_some() || args.planned.is_some() {
            bail!("a URL or a folder and --server or --scenario exclude each other: what is the baseline?");
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
        let world = |args: &WorldArgs| {
            Described::new(args).map(|world| Source::World { world: Box::new(world), words: args.clone() })
        };
        let of_candidate = |error: anyhow::Error| match args.candidate_server {
            Some(_) => anyhow!(crate::explain_error(&error).replace("--server", "--candidate-server")),
            None => error,
        };
        let base = world(&args.world)?;
        Ok([base, world(&candidate).map_err(of_candidate)?])
    }

    /// What is asked, and of whom.
    pub(super) fn asked(&self, args: &CompareArgs) -> Result<String> {
        let planned: &[Planned] = match self {
            Source::World { words, .. } => return Ok(asked::of_world(words, args.load.connections)),
            Source::Url(_) => &[],
            Source::Requests(planned) => planned,
        };
        let prepared = self.prepared(args, 0)?.context("a real target")?;
        Ok(asked::of_target(&prepared, &args.target, args.load.connections, planned))
    }

    /// What the run with this seed will be, for a real target.
    pub(super) fn prepared(&self, args: &CompareArgs, seed: u64) -> Result<Option<Prepared>> {
        self.run_args(args, seed).map(|args| run::prepare(&args)).transpose()
    }

    /// Runs, and leaves the record and the page in `folder`.
    pub(super) fn run(
        &self,
        args: &CompareArgs,
        seed: u64,
        folder: &Path,
        interruptions: &Interruptions,
    ) -> Result<RunDocument> {
        // The preflight of each side has been sent.
        let Some(prepared) = self.prepared(args, seed)? else {
            return Ok(self.simulation(args, seed)?.run_into(folder)?.0);
        };
        let (document, _) = run::execute(prepared, folder, true, args.quiet, interruptions)?;
        output::write_page(folder, &document);
        Ok(document)
    }

    /// What is written at the head of each run.
    pub(super) fn header(&self, args: &CompareArgs, seed: u64) -> Result<RunHeader> {
        match self.prepared(args, seed)? {
            Some(prepared) => Ok(prepared.header),
            None => Ok(self.simulation(args, seed)?.header),
        }
    }

    /// The plan of a run and its load in a line, without anything being sent.
    pub(super) fn planned(&self, args: &CompareArgs) -> Result<(unblink_core::plan::Plan, String)> {
        match self.run_args(args, 0) {
            Some(args) => run::planned(&args),
            None => self.simulation(args, 0).map(Simulation::planned),
        }
    }

    fn run_args(&self, args: &CompareArgs, seed: u64) -> Option<RunArgs> {
        let (urls, planned) = match self {
            Source::Url(url) => (vec![url.clone()], Vec::new()),
            Source::Requests(planned) => (Vec::new(), planned.clone()),
            Source::World { .. } => return None,
        };
        let run = RunArgs::of_experiment(urls, with_seed(&args.load, seed), args.target.clone(), args.quiet);
        Some(RunArgs { planned, ..run })
    }

    fn simulation(&self, args: &CompareArgs, seed: u64) -> Result<Simulation> {
        let Source::World { world, .. } = self else { bail!("a real target is not simulated") };
        world.simulation(&world.load(&with_seed(&args.load, seed)), "ideal")
    }
}

fn with_seed(load: &LoadArgs, number: u64) -> LoadArgs {
    LoadArgs { seed: load.seed.wrapping_add(number), ..load.clone() }
}
