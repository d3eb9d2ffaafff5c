//! Trials against a real target, each with a run folder of its own.

use super::led::{self, Part};
use super::trial::{run_args, with_seed};
use super::{criterion, journeys, rest};
use crate::agents::{self, Fleet};
use crate::args::knee::{KneeArgs, Objective};
use crate::journey;
use crate::observe::{End, Observer};
use crate::request::Request;
use crate::request::version::Version;
use crate::run::objectives::{self, Known};
use crate::run::{self, Prepared, Watched, execute_watched, prepare};
use crate::signals::Interruptions;
use crate::{asked, output};
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::time::Duration;
use unblink_analysis::evidence;
use unblink_analysis::experiment::{Criterion, Ended, Gather, Step, Trial, TrialOutcome, TrialRunner};
use unblink_analysis::slo::Slo;
use unblink_artifact::document::{GuardKind, RunStatus};
use unblink_artifact::folder::read_folder;
use unblink_artifact::header::PartNames;
use unblink_artifact::knee::{KneeRefusal, RefusalCode};
use unblink_artifact::tally::Tally;
use unblink_core::dispatch::Pool;
use unblink_core::record::Interval;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;
use unblink_report::format;

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
    /// Who offers the load, if that is not this process.
    fleet: Option<Fleet>,
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
    let of_trial = run_args(args, super::start(args)?, args.settle, args.measure)?;
    let prepared = prepare(&of_trial)?;
    let (header, slo) = (&prepared.header, Slo::parse(&args.slo.text)?);
    let (targets, operations, plan) =
        (&header.targets[..], &header.operations[..], Some(prepared.job.plan()));
    // Its loads come one after the other.
    let parts = PartNames { journeys: header.journeys.clone(), ..PartNames::default() };
    objectives::check(&[slo], &[], &Known { targets, operations, parts, plan })?;
    let steps = journey::requests(&args.journeys);
    let all: Vec<Request> = args.requests.iter().chain(steps).cloned().collect();
    let asked = asked::of_target(&prepared, &args.target, of_trial.connections(), &all);
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
        fleet: Option<Fleet>,
    ) -> Result<Runner> {
        let (args, folder) = (args.clone(), folder.to_path_buf());
        Ok(Runner { args, folder, first, interruptions, refused: None, is_littered: false, fleet })
    }

    fn refuse(&mut self, code: RefusalCode, trial: &Trial, why: Option<String>) {
        self.refused = Some(KneeRefusal { code, rate_per_s: trial.rate.as_per_s(), why });
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
        std::iter::once(first.clone()).chain(others).find(|folder| agents::is_free(folder)).unwrap_or(first)
    }

    /// It was interrupted, and says so: what came of the trial, if it had begun, is kept and does not count.
    fn cut_off(&self, trial: &Trial, folder: &Path) -> Option<TrialOutcome> {
        let called = format!("trial {} at {}", trial.number, format::rate_asked(trial.rate.as_per_s()));
        let said = match folder.exists() {
            true => format!(
                "interrupted in {called}: {} has what came of it, which does not count",
                folder.display()
            ),
            false => format!("interrupted before {called} began"),
        };
        output::note(format_args!("{}", format::plain(&said)));
        None
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
    type Outcome = TrialOutcome;
    type Error = anyhow::Error;

    fn run(&mut self, trial: &Trial) -> Result<Option<TrialOutcome>> {
        let args = run_args(&self.args, trial.rate, trial.settle, trial.measure_max)?;
        let prepared = prepare(&with_seed(args, trial.number))?;
        // Of a search that goes on, the trials before may have left something behind.
        let is_first = trial.number == self.first && !self.is_littered;
        if !is_first {
            match self.come_to_rest(&prepared) {
                Rest::Reached => {}
                Rest::None => {
                    self.refuse(RefusalCode::NotAtRest, trial, None);
                    return Ok(None);
                }
                Rest::Interrupted => return Ok(self.cut_off(trial, &self.folder_of(trial))),
            }
        }
        let pool = match prepared.job.plan().spec().pool {
            Pool::Auto { max } => evidence::Pool::Auto { max: u64::from(max) },
            Pool::Fixed { n } => match prepared.header.connections().by_default {
                Some(database) => evidence::Pool::Default { n: u64::from(n), of: database.name() },
                None => evidence::Pool::Fixed { n: u64::from(n) },
            },
        };
        let places = prepared.header.connections().places();
        let name = self.args.slo.name.as_deref();
        // Where there is only one, its requests are all.
        let of = name.and_then(|name| prepared.header.part_called(name)?);
        let criterion = Criterion { of, ..criterion(&self.args) };
        let fresh = || Gather::new(trial, criterion, self.args.timeout, pool).with_places(places);
        let mut gather = fresh();
        let folder = self.folder_of(trial);
        let no_preflight = !is_first || self.args.target.no_preflight;
        let ran = match &mut self.fleet {
            Some(fleet) => {
                let part = Part::of(trial, no_preflight);
                let led = led::lead(fleet, prepared, &part, &folder, &mut gather, &self.interruptions)?;
                if led.is_ok() {
                    // What counts is the record: what came late was not there while it was followed.
                    gather = fresh();
                    read_folder(&folder)?.for_each_interval(|interval| gather.add(interval))?;
                }
                led
            }
            None => {
                let watched = Watched {
                    no_preflight,
                    quiet: self.args.quiet,
                    experiment: Some(&mut gather),
                    lead: None,
                };
                match execute_watched(prepared, &folder, &self.interruptions, watched) {
                    Ok((document, _)) => Ok(document),
                    Err(error) => {
                        let failed = error.downcast::<crate::errors::PreflightFailed>()?;
                        output::note(format_args!("error: {failed}"));
                        Err((RefusalCode::Preflight, failed.what()))
                    }
                }
            }
        };
        let document = match ran {
            Ok(document) => document,
            Err(_) if !self.interruptions.wait(Duration::ZERO) => return Ok(self.cut_off(trial, &folder)),
            Err((code, why)) => {
                self.refuse(code, trial, Some(why));
                return Ok(None);
            }
        };
        // There is a trial to report now.
        self.interruptions.defer("stopping");
        output::write_beside(&folder.join("report.html"), &unblink_report::html::render(&document));
        if document.status != RunStatus::Complete {
            let is_own = !self.interruptions.wait(Duration::ZERO);
            let code = match document.aborted.as_ref().and_then(|aborted| aborted.guard) {
                // Its user did that, or that of one of its agents: none of these goes on.
                None | Some(GuardKind::Coordinator) if is_own => return Ok(self.cut_off(trial, &folder)),
                None
                | Some(
                    GuardKind::Coordinator | GuardKind::Lease | GuardKind::LateStart | GuardKind::Record,
                ) => RefusalCode::Agents,
                Some(_) => RefusalCode::Guard,
            };
            let why = match &document.aborted {
                Some(aborted) => aborted.rule.clone(),
                None => agents::stopped(&document),
            };
            self.refuse(code, trial, Some(why));
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
fn is_littered(outcome: &TrialOutcome) -> bool {
    outcome.unanswered + outcome.timed_out > 0
}
