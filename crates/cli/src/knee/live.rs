//! Trials against a real target, each with a run folder of its own.

use super::{criterion, journeys, recorded, rest};
use crate::args::arrivals::Arrivals;
use crate::args::knee::{KneeArgs, Level, Objective};
use crate::args::load::LoadArgs;
use crate::args::run::RunArgs;
use crate::args::steady::Warmup;
use crate::journey;
use crate::observe::{End, Observer};
use crate::request::Request;
use crate::request::version::Version;
use crate::run::objectives::{self, Known};
use crate::run::{self, Prepared, Watched, execute_watched, prepare};
use crate::signals::Interruptions;
use crate::value::Shape;
use crate::{asked, output};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::time::Duration;
use unblink_analysis::evidence;
use unblink_analysis::experiment::{Criterion, Ended, Gather, Outcome, Step, Trial, TrialRunner};
use unblink_analysis::slo::Slo;
use unblink_artifact::document::RunStatus;
use unblink_artifact::header::PartNames;
use unblink_artifact::knee::{KneeRefusal, RefusalCode};
use unblink_artifact::tally::Tally;
use unblink_core::dispatch::Pool;
use unblink_core::record::Interval;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

/// A target that answers none of so many requests, one after the other, does not come to rest.
const RESTING_TRIES: u32 = 12;
/// For one of them.
const RESTING_PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct Runner {
    args: KneeArgs,
    folder: PathBuf,
    /// Number of the first trial of this process: nothing has been sent before it.
    first: u32,
    interruptions: Interruptions,
    refused: Option<KneeRefusal>,
    /// The last trial left requests behind that were never answered.
    is_littered: bool,
}

/// Between two trials.
enum Rest {
    Reached,
    /// The target does not answer.
    None,
    Interrupted,
}

/// The target in words, once everything about it has been checked, what is asked of it, and the highest rate that it may
/// have.
pub(super) fn target(args: &KneeArgs) -> Result<((String, String), Option<Rate>)> {
    let prepared = prepare(&run_args(args, super::start(args)?, args.settle, args.measure)?)?;
    let (header, slo) = (&prepared.header, Slo::parse(&args.slo.text)?);
    let (targets, operations, plan) =
        (&header.targets[..], &header.operations[..], Some(prepared.job.plan()));
    // Its loads come one after the other.
    let parts = PartNames { journeys: header.journeys.clone(), ..PartNames::default() };
    objectives::check(&[slo], &[], &Known { targets, operations, parts, plan })?;
    let steps = journey::requests(&args.journeys);
    let all: Vec<Request> = args.requests.iter().chain(steps).cloned().collect();
    let asked = asked::of_target(&prepared, &args.target, args.connections, &all);
    Ok(((prepared.target_line, asked), prepared.rate_cap))
}

/// The same search, with the request that it is about called as the report calls it.
pub(super) fn named(args: &KneeArgs) -> Result<KneeArgs> {
    let Some(given) = &args.slo.name else { return Ok(args.clone()) };
    if journeys::are_judged(args)? {
        return Ok(args.clone());
    }
    let requests =
        run::requests(&run_args(args, super::start(args)?, args.settle, args.measure)?, Version::One)?;
    let slo = Slo { name: Some(requests.called(given)), ..Slo::parse(&args.slo.text)? };
    let objective = Objective { text: slo.to_string(), name: slo.name, ..args.slo.clone() };
    Ok(KneeArgs { slo: objective, ..args.clone() })
}

/// Checks what can be told without the network.
pub(super) fn planned(args: &KneeArgs) -> Result<()> {
    run::planned(&run_args(args, super::start(args)?, args.settle, args.measure)?).map(drop)
}

impl Runner {
    pub(super) fn new(
        args: &KneeArgs,
        folder: &Path,
        first: u32,
        interruptions: Interruptions,
    ) -> Result<Runner> {
        let (args, folder) = (args.clone(), folder.to_path_buf());
        Ok(Runner { args, folder, first, interruptions, refused: None, is_littered: false })
    }

    /// The backlog has been answered or given up. What was given up may still keep the target busy: an answer to a
    /// single request says that it is through with it, of several origins one to each. Then nothing is asked for a while.
    fn come_to_rest(&self, prepared: &Prepared) -> Rest {
        let job = &prepared.job;
        let each = job.plan().spec().origins.firsts(job.operations());
        let answers = || each.iter().all(|&first| job.preflight(first, RESTING_PATIENCE).is_ok());
        if self.is_littered {
            let mut tries = 1..RESTING_TRIES;
            while !answers() {
                if !self.interruptions.wait(Duration::ZERO) {
                    return Rest::Interrupted;
                }
                if tries.next().is_none() {
                    return Rest::None;
                }
            }
        }
        match self.interruptions.wait(Duration::from_nanos(rest(&self.args).0)) {
            true => Rest::Reached,
            false => Rest::Interrupted,
        }
    }

    /// One that does not exist yet: a trial that was interrupted leaves its own behind.
    fn folder_of(&self, trial: &Trial) -> PathBuf {
        let name = format!("trial-{:02}", trial.number);
        let others = (2..).map(|n| self.folder.join(format!("{name}-{n}")));
        let first = self.folder.join(&name);
        std::iter::once(first.clone()).chain(others).find(|folder| !folder.exists()).unwrap_or(first)
    }
}

impl super::Runner for Runner {
    fn replay(&mut self, step: &Step) -> Result<()> {
        self.is_littered = is_littered(&step.outcome);
        Ok(())
    }

    fn refusal(&self) -> Option<KneeRefusal> {
        self.refused.clone()
    }
}

impl TrialRunner for Runner {
    type Trial = Trial;
    type Outcome = Outcome;
    type Error = anyhow::Error;

    fn run(&mut self, trial: &Trial) -> Result<Option<Outcome>> {
        let args = run_args(&self.args, trial.rate, trial.settle, trial.measure_max)?;
        let prepared = prepare(&RunArgs { load: with_seed(args.load.clone(), trial), ..args })?;
        // Of a search that goes on, the trials before may have left something behind.
        let is_first = trial.number == self.first && !self.is_littered;
        if !is_first {
            match self.come_to_rest(&prepared) {
                Rest::Reached => {}
                Rest::None => {
                    let (code, rate_per_s) = (RefusalCode::NotAtRest, trial.rate.as_per_s());
                    self.refused = Some(KneeRefusal { code, rate_per_s, why: None });
                    return Ok(None);
                }
                Rest::Interrupted => return Ok(None),
            }
        }
        let pool = match prepared.job.plan().spec().pool {
            Pool::Auto { max } => evidence::Pool::Auto { max: u64::from(max) },
            Pool::Fixed { n } => evidence::Pool::Fixed { n: u64::from(n) },
        };
        let name = self.args.slo.name.as_deref();
        // Where there is only one, its requests are all.
        let of = name.and_then(|name| prepared.header.part_called(name)?);
        let criterion = Criterion { of, ..criterion(&self.args) };
        let mut gather = Gather::new(trial, criterion, self.args.timeout, pool);
        let folder = self.folder_of(trial);
        let no_preflight = !is_first || self.args.target.no_preflight;
        let watched =
            Watched { no_preflight, quiet: self.args.quiet, experiment: Some(&mut gather), lead: None };
        let (document, _) = match execute_watched(prepared, &folder, &self.interruptions, watched) {
            Ok(run) => run,
            Err(error) => {
                let failed = error.downcast::<crate::errors::PreflightFailed>()?;
                output::note(format_args!("error: {failed}"));
                let (code, why) = (RefusalCode::Preflight, Some(failed.what()));
                self.refused = Some(KneeRefusal { code, rate_per_s: trial.rate.as_per_s(), why });
                return Ok(None);
            }
        };
        // There is a trial to report now.
        self.interruptions.defer("stopping");
        output::write_beside(&folder.join("report.html"), &unblink_report::html::render(&document));
        if document.status != RunStatus::Complete {
            let why = document.aborted.as_ref().filter(|aborted| aborted.guard.is_some());
            self.refused = why.map(|aborted| KneeRefusal {
                code: RefusalCode::Guard,
                rate_per_s: trial.rate.as_per_s(),
                why: Some(aborted.rule.clone()),
            });
            return Ok(None);
        }
        let outcome = gather.finish(&Ended {
            scheduled: document.arrivals.scheduled,
            measured: Nanos(document.series.load_to_ns - document.series.load_from_ns),
            steal_share: document.generator.steal_share,
        });
        self.is_littered = is_littered(&outcome);
        Ok(Some(outcome))
    }
}

/// A trial ends when enough is known.
impl Observer for Gather {
    fn look(&mut self, interval: &Interval, _: &mut Tally) -> Option<End> {
        self.add(interval);
        self.may_end().then_some(End::Enough)
    }
}

/// It left requests behind that were never answered.
fn is_littered(outcome: &Outcome) -> bool {
    outcome.unanswered + outcome.timed_out > 0
}

/// Each trial has arrivals of its own.
fn with_seed(load: LoadArgs, trial: &Trial) -> LoadArgs {
    LoadArgs { seed: load.seed.wrapping_add(u64::from(trial.number)), ..load }
}

fn run_args(args: &KneeArgs, rate: Rate, settle: Nanos, measure: Nanos) -> Result<RunArgs> {
    let traffic = recorded::traffic(args)?;
    let replay = traffic.map(|traffic| recorded::replayed(args, &traffic, rate, settle, measure));
    let is_replay = replay.is_some();
    let load = LoadArgs {
        loads: Vec::new(),
        rate: (!is_replay).then_some(Shape::Hold(rate)),
        closed: None,
        think: None,
        ramp_up: None,
        shape: None,
        peak_for: None,
        period: None,
        trace: Default::default(),
        replay: replay.unwrap_or_default(),
        duration: (!is_replay).then_some(measure),
        requests: None,
        warmup: Warmup::Time(settle),
        // The trace has its own.
        arrivals: if is_replay { Arrivals::Even } else { args.arrivals },
        seed: args.seed,
        // What a replay may have in its busiest second is more than its mean.
        max_rate: match args.max {
            _ if !args.journeys.is_empty() => args.max_requests,
            Some(Level::Rate(max)) if !is_replay => Some(max),
            _ => None,
        },
        connections: args.connections,
        timeout: args.timeout,
        drain: None,
        retry: args.retry.clone(),
    };
    let run = RunArgs::of_experiment(args.requests.clone(), load, args.target.clone(), args.quiet);
    Ok(RunArgs {
        setup: args.setup.clone(),
        journeys: args.journeys.clone(),
        under_way: args.under_way.clone(),
        ..run
    })
}
