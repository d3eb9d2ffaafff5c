//! `unblink trace cut`, `sample` and `merge`.

use super::{create, of_trace, open, warn};
use crate::args::recorded::{CutArgs, MergeArgs, SampleArgs, SampleBy};
use crate::errors::refuse;
use crate::{exit, output};
use anyhow::{Error, Result, anyhow};
use std::path::{Path, PathBuf};
use unblink_report::format;
use unblink_trace::Counts;
use unblink_trace::edit::{self, By, EditError};

pub(super) fn cut(args: &CutArgs) -> Result<u8> {
    if args.to.is_some_and(|to| to <= args.from) {
        refuse!(["to", "from"], "--to must be later than --from: both count from the start of the trace");
    }
    let (trace, out) = (open(&args.trace)?, create(&args.output, [args.trace.as_path()])?);
    let nothing = "no request started in this part: unblink trace show says how long the trace is";
    done(edit::cut(trace, args.from.0, args.to.map(|to| to.0), out), &[&args.trace], &args.output, nothing)
}

pub(super) fn sample(args: &SampleArgs) -> Result<u8> {
    let (trace, out) = (open(&args.trace)?, create(&args.output, [args.trace.as_path()])?);
    let by = match args.by {
        SampleBy::User => By::User,
        SampleBy::Request => By::Request,
    };
    let nothing = "no request would be left: take a larger share";
    done(edit::sample(trace, args.share, by, out), &[&args.trace], &args.output, nothing)
}

pub(super) fn merge(args: &MergeArgs) -> Result<u8> {
    let traces = args.traces.iter().map(|trace| open(trace)).collect::<Result<Vec<_>>>()?;
    let out = create(&args.output, args.traces.iter().map(PathBuf::as_path))?;
    let names: Vec<&PathBuf> = args.traces.iter().collect();
    done(edit::merge(traces, out), &names, &args.output, "none of the traces has a request")
}

/// `nothing` is said where nothing would be written.
fn done(result: Result<Counts, EditError>, traces: &[&PathBuf], to: &Path, nothing: &str) -> Result<u8> {
    let counts = result.map_err(|error| match error {
        EditError::Trace(place, error) => of_trace(traces[place], &error),
        EditError::Nothing => anyhow!("{}: {nothing}", traces[0].display()),
        other => Error::from(other),
    })?;
    let requests = format::plain(&format::plural(counts.requests, "request", "requests"));
    output::print(&format!("{requests}\nTrace  {}\n", to.display()))?;
    warn(&counts);
    Ok(exit::OK)
}
