//! `unblink compare`: a baseline and a candidate, measured in turn or read from their folders.

mod begun;
mod knees;
mod led;
mod measure;
mod side;

use crate::args::Cli;
use crate::args::compare::CompareArgs;
use crate::args::history::StoreArgs;
use crate::args::load::LoadArgs;
use crate::args::target::TargetArgs;
use crate::errors::refuse;
use crate::folder::Folder;
use crate::journey::{self, Journey};
use crate::request::Request;
use crate::request::workload::WorkloadArgs;
use crate::unshown::Shown;
use crate::{agents, environment, exit, history, output, secrets};
use anyhow::{Context, Result, bail};
use begun::Begun;
use clap::parser::ValueSource;
use clap::{Args, CommandFactory};
pub(crate) use led::run_of;
use side::Source;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use unblink_artifact::compare::{self, CompareDocument, CompareSpec, ComparisonOutcome, NoVerdictReason};
use unblink_core::plan::Plan;

/// The page beside the runs.
const PAGE: &str = "compare.html";
/// The document beside the runs.
const DOCUMENT: &str = "compare.json";
/// Before the name of a baseline in the history.
const BASELINE: &str = "baseline:";

/// Compares and reports. Gives the exit code.
pub(crate) fn compare(args: &CompareArgs) -> Result<u8> {
    agents::check_many(&args.agents)?;
    match places(args)? {
        Places::Measured(sources) => measured(args, sources),
        Places::Saved(baseline, candidate) => saved(args, baseline, candidate),
        Places::Knees(baseline, candidate) => knees::saved(args, &baseline, &candidate),
    }
}

/// The plan of a run and its load in a line, without anything being sent; none of saved runs.
pub(crate) fn planned(args: &CompareArgs) -> Result<(Plan, String)> {
    let Places::Measured(sources) = places(args)? else {
        bail!("a plan is for runs that are to be measured")
    };
    let [(plan, load), _] = [sources[0].planned(args)?, sources[1].planned(args)?];
    let runs = args.runs;
    Ok((plan, format!("{runs} + {runs} runs in turn: {load}")))
}

/// Where the runs of both sides come from.
enum Places {
    Measured([Source; 2]),
    /// Folders of runs.
    Saved(Vec<PathBuf>, Vec<PathBuf>),
    /// Folders of searches.
    Knees(Vec<PathBuf>, Vec<PathBuf>),
}

fn places(args: &CompareArgs) -> Result<Places> {
    let world = &args.world;
    if world.server.is_some() || world.scenario.is_some() {
        return Source::worlds(args).map(Places::Measured);
    }
    if args.simulate {
        bail!("--simulate: there is nothing to simulate: give a plan with [world], or --server in words");
    }
    if args.candidate_server.is_some() {
        refuse!(
            ["candidate-server"],
            "--candidate-server is held against a simulated baseline: add --server in words, or give two URLs"
        );
    }
    args.services.refuse_without_server()?;
    if let Some([base, candidate]) = &args.planned {
        let candidate = if args.a_a { base } else { candidate };
        let addresses = |side: &[Request], journeys: &[Journey]| {
            side.iter()
                .chain(journey::requests(journeys))
                .map(|request| request.url.clone())
                .collect::<Vec<_>>()
        };
        let [here, there] = &args.journeys;
        let is_asked = !base.is_empty() || !here.is_empty();
        if !args.a_a && is_asked && addresses(base, here) == addresses(candidate, there) {
            refuse!(
                ["candidate", "target"],
                "target and candidate come to the same addresses: give another candidate, or --a-a"
            );
        }
        let is_candidate_asked = !candidate.is_empty() || !there.is_empty() || args.a_a;
        if !is_asked || !is_candidate_asked {
            bail!(
                "the plan has no {}: add it, or give both URLs after the plan",
                if !is_asked { "target" } else { "candidate, the URL that is held against target" }
            );
        }
        let there = usize::from(!args.a_a);
        let side = |requests: &Vec<Request>, place: usize| Source::Real {
            requests: requests.clone(),
            setup: args.setup[place].clone(),
            journeys: args.journeys[place].clone(),
        };
        return Ok(Places::Measured([side(base, 0), side(candidate, there)]));
    }
    let Some(base) = &args.baseline else {
        bail!(
            "compare what? Give two URLs, two folders of runs, or a plan (unblink compare --help shows each)"
        )
    };
    let store = &args.keep.store;
    let base = Place::of(base, store)?;
    let candidate = args.candidate.as_deref().map(|text| Place::of(text, store)).transpose()?;
    match (base, candidate) {
        (_, None) if !args.a_a => bail!("which candidate? Give a second URL or folder, or --a-a"),
        (Place::Url(base), None) => Ok(Places::Measured([Source::url(base)?, Source::url(base)?])),
        (Place::Url(base), Some(Place::Url(candidate))) => {
            Ok(Places::Measured([Source::url(base)?, Source::url(candidate)?]))
        }
        (Place::Runs(base), None) => {
            let (first, second) = measure::dealt_out(&base);
            Ok(Places::Saved(first, second))
        }
        (Place::Runs(base), Some(Place::Runs(candidate))) => Ok(Places::Saved(base, candidate)),
        (Place::Knees(base), Some(Place::Knees(candidate))) => Ok(Places::Knees(base, candidate)),
        (Place::Knees(_), None) => bail!("--a-a deals out runs; of searches give two folders"),
        (Place::Knees(_), Some(_)) | (_, Some(Place::Knees(_))) => {
            bail!("one side is a search of unblink knee, and the other is not: what is to be compared?")
        }
        _ => bail!(
            "one side is a URL, the other is recorded: runs that are not measured in turn can't tell a change of the \
             target from one of the machine; give two URLs, or record both sides and give two folders"
        ),
    }
}

/// What one side is.
enum Place<'a> {
    Url(&'a str),
    /// Folders of runs.
    Runs(Vec<PathBuf>),
    /// Folders of searches.
    Knees(Vec<PathBuf>),
}

impl Place<'_> {
    fn of<'a>(text: &'a str, store: &StoreArgs) -> Result<Place<'a>> {
        if text.contains("://") {
            return Ok(Place::Url(text));
        }
        if let Some(name) = text.strip_prefix(BASELINE) {
            return history::baseline_folders(name, store).map(Place::Runs);
        }
        let folder = history::record(Path::new(text), store)?;
        if !folder.is_dir() {
            // A folder's name holds no secret; a URL without its scheme may.
            let is_name = !text.contains(['@', '?', '#', '=']);
            let shown = if is_name { text.to_string() } else { secrets::mask_wrong_url(text) };
            bail!(
                "{shown:?} is neither a URL (such as http://127.0.0.1:8080/) nor a folder nor a run of the history nor \
                 {BASELINE}NAME"
            );
        }
        let knees = compare::knee_folders(&folder);
        if !knees.is_empty() {
            return Ok(Place::Knees(knees));
        }
        Ok(Place::Runs(compare::run_folders(&folder)?))
    }
}

/// Folders of the runs of both sides.
struct Measured {
    baseline: Vec<PathBuf>,
    candidate: Vec<PathBuf>,
    /// Not all of them.
    is_interrupted: bool,
}

/// Two targets, measured in turn.
fn measured(args: &CompareArgs, sources: [Source; 2]) -> Result<u8> {
    let root = match (&args.resume, &args.output) {
        (Some(folder), _) => Folder::named_or_new(Some(folder), ""),
        (None, output) => Folder::named_or_new(output.as_ref(), "unblink-compares"),
    }?;
    let first = [sources[0].ready(args, 0)?, sources[1].ready(args, 1)?];
    led::check(args, &first)?;
    let begun = Begun::of(args, &first);
    match args.resume {
        Some(_) => begun.check(&root)?,
        None => begun.keep(&root)?,
    }
    let measured = measure::measure(args, sources, &first, &root)?;
    let is_interrupted = measured.is_interrupted;
    // Before the first run of a side has begun, there is nothing to show.
    if is_interrupted && (measured.baseline.is_empty() || measured.candidate.is_empty()) {
        history::keep(&args.keep, &measure::recorded(&root));
        return Ok(exit::INTERRUPTED);
    }
    let document = compared(args, measured)?;
    let shown = Shown::of(present(args, &document, Some(&root)), &root, PAGE);
    history::keep(&args.keep, &measure::recorded(&root));
    Ok(shown.code(if is_interrupted { exit::INTERRUPTED } else { code(&document) }))
}

/// Runs that are there already.
fn saved(args: &CompareArgs, baseline: Vec<PathBuf>, candidate: Vec<PathBuf>) -> Result<u8> {
    let pointless = pointless_flags(std::env::args_os());
    if !pointless.is_empty() {
        bail!("these runs are recorded already, so nothing can obey {0}: leave it out", pointless.join(", "));
    }
    let document = compared(args, Measured { baseline, candidate, is_interrupted: false })?;
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder).with_context(|| format!("can't create the folder {folder:?}"))?;
    }
    present(args, &document, args.output.as_deref())?;
    Ok(code(&document))
}

/// The flags given that say how to measure.
fn pointless_flags(argv: impl IntoIterator<Item = OsString>) -> Vec<String> {
    let matches = Cli::command().ignore_errors(true).try_get_matches_from(argv);
    let Some((_, sub)) = matches.as_ref().ok().and_then(|matches| matches.subcommand()) else {
        return Vec::new();
    };
    let measuring = TargetArgs::augment_args(LoadArgs::augment_args(clap::Command::new("measuring")));
    let measuring = WorkloadArgs::augment_args(measuring);
    let names = measuring.get_arguments().map(|arg| (arg.get_id().as_str(), arg.get_long()));
    names
        .chain(
            ["runs", "resume", "quiet", "simulate", "network", "generator", "agents"]
                .map(|name| (name, Some(name))),
        )
        .filter(|(id, _)| sub.value_source(id) == Some(ValueSource::CommandLine))
        .map(|(id, long)| format!("--{}", long.unwrap_or(id)))
        .collect()
}

fn compared(args: &CompareArgs, measured: Measured) -> Result<CompareDocument> {
    let document = compare::compare(&CompareSpec {
        baseline: measured.baseline,
        candidate: measured.candidate,
        interrupted: measured.is_interrupted,
        quantile: args.percentile,
        request: args.request.clone(),
        effect_min: args.min_effect,
        a_a: args.a_a,
        tool: environment::tool(),
        command: secrets::mask_command(std::env::args()),
    })?;
    Ok(document)
}

fn present(args: &CompareArgs, document: &CompareDocument, folder: Option<&Path>) -> Result<()> {
    if let Some(folder) = folder {
        output::write_beside(&folder.join(DOCUMENT), &(output::to_json(document)? + "\n"));
        output::write_beside(&folder.join(PAGE), &unblink_report::compare::html(document));
    }
    match args.json {
        true => output::print_json(document)?,
        false => output::print_report(&unblink_report::compare::terminal(document, &output::style()))?,
    }
    if let Some(folder) = folder.filter(|folder| folder.join(PAGE).is_file()) {
        let text = format!("Page  {}", folder.join(PAGE).display());
        match args.json {
            true => output::note(format_args!("{text}")),
            false => output::print(&format!("\n{text}\n"))?,
        }
    }
    Ok(())
}

/// A noise floor that raises an alarm is one on which no verdict can stand.
fn code(document: &CompareDocument) -> u8 {
    match (document.outcome, document.reason) {
        (ComparisonOutcome::NoVerdict, Some(NoVerdictReason::WithinRunOnly)) => exit::OK,
        (ComparisonOutcome::NoVerdict, _) => exit::INVALID,
        (ComparisonOutcome::Regression | ComparisonOutcome::Improvement, _) if document.a_a => exit::INVALID,
        (ComparisonOutcome::Regression, _) => exit::FAILED,
        (ComparisonOutcome::Improvement | ComparisonOutcome::NoRegression, _) => exit::OK,
    }
}
