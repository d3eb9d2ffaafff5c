//! Runs of both sides in turn, each in a folder of its own.

use super::Measured;
use super::led::{self, Part};
use super::side::{Ready, Source};
use crate::agents::Fleet;
use crate::args::compare::CompareArgs;
use crate::errors::PreflightFailed;
use crate::{exit, output, signals};
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::time::Duration;
use unblink_analysis::experiment::interleaved::{Interleaved, SPARE_RUNS, Side, TooManyLost, Turn};
use unblink_analysis::experiment::{Experiment, TrialRunner, drive};
use unblink_artifact::compare::{Offered, left_out, load_difference, run_folders, target_failed};
use unblink_artifact::document::{RunDocument, RunStatus};
use unblink_artifact::folder::read_folder;
use unblink_artifact::header::RunHeader;
use unblink_report::format;

/// Measures what is missing below `root`, and gives the folders of both sides. `first` are runs that could be the first.
pub(super) fn measure(
    args: &CompareArgs,
    sources: [Source; 2],
    first: &[Ready; 2],
    root: &Path,
) -> Result<Measured> {
    let mut done = [0, 0];
    for side in Side::ALL {
        let (number, folder) = (side as usize, root.join(side.name()));
        if args.resume.is_some() {
            done[number] = finished(side, &folder, first[number].header())?;
        } else {
            output::check_folder(&folder)?;
        }
        // Both, before a minute is spent on one.
        if !args.target.no_preflight && done[number] < args.runs {
            first[number].preflight().map_err(|error| of_side(side, error))?;
        }
    }
    let interruptions = signals::listen()?;
    interruptions.defer("stopping");
    let mut experiment = Interleaved::new(args.runs, done);
    let fleet = args.agents.agents.map(|_| Fleet::of(&args.agents, args.quiet, root, args.resume.is_some()));
    let fleet = fleet.transpose()?;
    let mut runner = Runner { args, sources, root, interruptions, fleet };
    let is_finished = drive(&mut experiment, &mut runner, |_| Ok(()))?;
    drop(runner);
    if let Some(turn) = experiment.next_trial() {
        output::note(format_args!(
            "interrupted in run {} of {}; to go on, give the same command with --resume {}",
            turn.number,
            2 * args.runs,
            root.display()
        ));
    }
    if let Some(TooManyLost(side)) = experiment.doomed() {
        output::note(format_args!(
            "{} runs of the {} did not count, so no comparison can come of it",
            SPARE_RUNS + 1,
            side.name()
        ));
    }
    let [baseline, candidate] =
        Side::ALL.map(|side| run_folders(&root.join(side.name())).unwrap_or_default());
    Ok(Measured { baseline, candidate, is_interrupted: !is_finished })
}

/// Says which side did not answer the request before the runs. A candidate that does not is a regression; without a baseline
/// there is none.
fn of_side(side: Side, error: anyhow::Error) -> anyhow::Error {
    let said = format!("the {}: {}", side.name(), crate::explain_error(&error));
    match (side, error.is::<PreflightFailed>()) {
        (Side::Baseline, true) => exit::NoVerdict(said).into(),
        (Side::Candidate, true) => error.context(said),
        (_, false) => error.context(format!("the {}", side.name())),
    }
}

struct Runner<'a> {
    args: &'a CompareArgs,
    sources: [Source; 2],
    root: &'a Path,
    interruptions: signals::Interruptions,
    /// Who offers the load, if that is not this process.
    fleet: Option<Fleet>,
}

impl TrialRunner for Runner<'_> {
    type Trial = Turn;
    type Outcome = bool;
    type Error = anyhow::Error;

    fn run(&mut self, turn: &Turn) -> Result<Option<bool>> {
        if !self.interruptions.wait(Duration::ZERO) {
            return Ok(None);
        }
        let (args, side) = (self.args, turn.side);
        let sides = self.root.join(side.name());
        let place = next_number(&sides);
        let folder = sides.join(place.to_string());
        let number = place * 2 + side as u64;
        let ready = self.sources[side as usize].ready(args, number)?;
        let document = match &mut self.fleet {
            Some(fleet) => {
                let part = Part { side: side as usize, number };
                led::lead(fleet, ready, part, &folder, &self.interruptions)?
            }
            None => Some(ready.run(args, &folder, &self.interruptions)?),
        };
        let Some(document) = document.filter(|document| document.status != RunStatus::Interrupted) else {
            if folder.exists() {
                output::note(format_args!(
                    "{} has what came of the run that was cut off, which does not count",
                    folder.display()
                ));
            }
            return Ok(None);
        };
        let said = say(&document, args);
        let all = 2 * args.runs;
        if !args.quiet {
            output::note(format_args!("run {} of {all}, {:<9}  {said}", turn.number, side.name()));
        }
        Ok(Some(counts(side, &document)))
    }
}

/// Folders of all runs below `root`, those that do not count, too.
pub(super) fn recorded(root: &Path) -> Vec<PathBuf> {
    Side::ALL.iter().flat_map(|side| run_folders(&root.join(side.name())).unwrap_or_default()).collect()
}

/// Runs of one target as if they had been measured in turn.
pub(super) fn dealt_out(all: &[PathBuf]) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let of = |first: bool| {
        let is_first = |i: usize| matches!(i % 4, 0 | 3);
        all.iter().enumerate().filter(|(i, _)| is_first(*i) == first).map(|(_, f)| f.clone()).collect()
    };
    (of(true), of(false))
}

/// How many runs of a side are there that count. Those of another load or target are refused.
fn finished(side: Side, folder: &Path, header: &RunHeader) -> Result<u32> {
    if !folder.is_dir() {
        bail!(
            "{folder:?} is not the folder of a comparison: --resume needs the folder that the interrupted comparison \
             named"
        );
    }
    let mut count = 0;
    for folder in run_folders(folder).unwrap_or_default() {
        let recorded = read_folder(&folder)?;
        let targets = &recorded.header.targets;
        if let Some(what) = load_difference(Offered::of(&recorded.header), Offered::of(header)) {
            bail!("{folder:?} has another load: {what}; give the same flags as before");
        }
        if *targets != header.targets {
            bail!("{folder:?} has another target; give the same ones, in the same order, as before");
        }
        count += u32::from(recorded.final_document.is_some_and(|document| counts(side, &document)));
    }
    Ok(count)
}

/// What a candidate fails in counts, and a failing baseline is measured again.
fn counts(side: Side, document: &RunDocument) -> bool {
    left_out(document).is_none() || (side == Side::Candidate && target_failed(document).is_some())
}

/// The number after the last that is there.
fn next_number(side: &Path) -> u64 {
    let numbers = std::fs::read_dir(side).into_iter().flatten().filter_map(|entry| {
        // `3`, and `3.agents` beside it.
        let name = entry.ok()?.file_name();
        name.to_str()?.split('.').next()?.parse::<u64>().ok()
    });
    numbers.max().unwrap_or(0) + 1
}

fn say(document: &RunDocument, args: &CompareArgs) -> String {
    if let Some(why) = left_out(document) {
        return match target_failed(document) {
            Some(how) => format!("failed: {}", format::plain(&how)),
            None => format!("left out: {}", format::plain(&why)),
        };
    }
    let response = document.time_of(args.request.as_deref());
    let value = response.quantiles.iter().find(|q| q.q == args.percentile);
    let value = value.map_or("–".to_string(), |value| {
        if value.censored { format::above(value.value) } else { format::duration(value.value) }
    });
    format::plain(&format!("{} {value}", format::quantile_label(args.percentile)))
}
