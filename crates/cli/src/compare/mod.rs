//! `unblink compare`: a baseline and a candidate, measured in turn or read from their folders.

mod live;

use crate::args::compare::CompareArgs;
use crate::args::history::StoreArgs;
use crate::folder::Folder;
use crate::{environment, exit, history, output, secrets};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};
use unblink_artifact::compare::{self, CompareDocument, CompareSpec, NoVerdictReason, Outcome};

/// The page beside the runs.
const PAGE: &str = "compare.html";
/// The document beside the runs.
const DOCUMENT: &str = "compare.json";
/// Before the name of a baseline in the history.
const BASELINE: &str = "baseline:";

/// Compares and reports. Gives the exit code.
pub(crate) fn compare(args: &CompareArgs) -> Result<u8> {
    let store = &args.keep.store;
    let base = Place::of(&args.baseline, store)?;
    let candidate = args.candidate.as_deref().map(|text| Place::of(text, store)).transpose()?;
    match (base, candidate) {
        (Place::Url(base), None) => measured(args, base, base),
        (Place::Url(base), Some(Place::Url(candidate))) => measured(args, base, candidate),
        (Place::Runs(base), None) => {
            let (first, second) = live::dealt_out(&base);
            saved(args, first, second)
        }
        (Place::Runs(base), Some(Place::Runs(candidate))) => saved(args, base, candidate),
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
}

impl Place<'_> {
    fn of<'a>(text: &'a str, store: &StoreArgs) -> Result<Place<'a>> {
        if text.contains("://") {
            return Ok(Place::Url(text));
        }
        if let Some(name) = text.strip_prefix(BASELINE) {
            return history::baseline_folders(name, store).map(Place::Runs);
        }
        if !Path::new(text).is_dir() {
            bail!(
                "{text:?} is neither a URL (such as http://127.0.0.1:8080/) nor a folder nor {BASELINE}NAME"
            );
        }
        Ok(Place::Runs(compare::run_folders(Path::new(text))?))
    }
}

/// Two targets, measured in turn.
fn measured(args: &CompareArgs, base: &str, candidate: &str) -> Result<u8> {
    let root = match (&args.resume, &args.output) {
        (Some(folder), _) => Folder::named_or_new(Some(folder), ""),
        (None, output) => Folder::named_or_new(output.as_ref(), "unblink-compares"),
    }?;
    let measured = live::measure(args, [base, candidate], &root)?;
    let Some((baseline, candidate)) = measured else {
        history::keep(&args.keep, &live::recorded(&root));
        return Ok(exit::INTERRUPTED);
    };
    let document = compared(args, baseline, candidate)?;
    let code = present(args, &document, Some(&root))?;
    history::keep(&args.keep, &live::recorded(&root));
    Ok(code)
}

/// Runs that are there already.
fn saved(args: &CompareArgs, baseline: Vec<PathBuf>, candidate: Vec<PathBuf>) -> Result<u8> {
    let load = &args.load;
    let is_loaded =
        load.rate.is_some() || load.closed.is_some() || load.duration.is_some() || load.requests.is_some();
    if is_loaded || args.resume.is_some() {
        bail!("these runs are recorded already: leave out -R, --closed, -d, -n and --resume");
    }
    let document = compared(args, baseline, candidate)?;
    if let Some(folder) = &args.output {
        std::fs::create_dir_all(folder).with_context(|| format!("can't create the folder {folder:?}"))?;
    }
    present(args, &document, args.output.as_deref())
}

fn compared(args: &CompareArgs, baseline: Vec<PathBuf>, candidate: Vec<PathBuf>) -> Result<CompareDocument> {
    let document = compare::compare(&CompareSpec {
        baseline,
        candidate,
        quantile: args.percentile,
        effect_min: args.min_effect,
        a_a: args.a_a,
        tool: environment::tool(),
        command: secrets::mask_command(std::env::args()),
    })?;
    Ok(document)
}

fn present(args: &CompareArgs, document: &CompareDocument, folder: Option<&Path>) -> Result<u8> {
    let json = output::to_json(document)? + "\n";
    if let Some(folder) = folder {
        output::write_beside(&folder.join(DOCUMENT), &json);
        output::write_beside(&folder.join(PAGE), &unblink_report::compare::html(document));
    }
    match args.json {
        true => output::print(&json)?,
        false => output::print(&unblink_report::compare::terminal(document, &output::style()))?,
    }
    if let Some(folder) = folder {
        let text = format!("Page  {}", folder.join(PAGE).display());
        match args.json {
            true => output::note(format_args!("{text}")),
            false => output::print(&format!("\n{text}\n"))?,
        }
    }
    Ok(code(document))
}

/// A noise floor that raises an alarm is one on which no verdict can stand.
fn code(document: &CompareDocument) -> u8 {
    match (document.outcome, document.reason) {
        (Outcome::NoVerdict, Some(NoVerdictReason::WithinRunOnly)) => exit::OK,
        (Outcome::NoVerdict, _) => exit::INVALID,
        (Outcome::Regression | Outcome::Improvement, _) if document.a_a => exit::INVALID,
        (Outcome::Regression, _) => exit::FAILED,
        (Outcome::Improvement | Outcome::NoRegression, _) => exit::OK,
    }
}
