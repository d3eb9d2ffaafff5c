//! Saved searches of `unblink knee`, side by side.

use super::pointless_flags;
use crate::args::compare::CompareArgs;
use crate::{environment, exit, output, secrets};
use anyhow::{Result, bail};
use std::path::PathBuf;
use unblink_artifact::compare::{ComparisonOutcome, KneesDocument, compare_knees};

/// Compares and reports. Gives the exit code.
pub(super) fn saved(args: &CompareArgs, baseline: &[PathBuf], candidate: &[PathBuf]) -> Result<u8> {
    let pointless = pointless_flags(std::env::args_os());
    if !pointless.is_empty() {
        bail!(
            "these searches are recorded already, so nothing can obey {0}: leave it out",
            pointless.join(", ")
        );
    }
    if args.request.is_some() {
        bail!(
            "--request: a search is for one objective already, which may name its request (knee --slo 'NAME: p99 < 50ms')"
        );
    }
    if args.output.is_some() {
        bail!("--output: searches that are compared have no page; --json prints the document");
    }
    let command = secrets::mask_command(std::env::args());
    let document = compare_knees([baseline, candidate], args.min_effect, environment::tool(), command)?;
    match args.json {
        true => output::print_json(&document)?,
        false => output::print_report(&unblink_report::compare::knees(&document, &output::style()))?,
    }
    Ok(code(&document))
}

/// Of different machines only the ratio was asked.
fn code(document: &KneesDocument) -> u8 {
    match document.outcome {
        ComparisonOutcome::Regression => exit::FAILED,
        ComparisonOutcome::Improvement | ComparisonOutcome::NoRegression => exit::OK,
        ComparisonOutcome::NoVerdict if !document.same_environment => exit::OK,
        ComparisonOutcome::NoVerdict => exit::INVALID,
    }
}
