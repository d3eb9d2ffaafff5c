//! Recorded arrivals: `unblink import` and `unblink trace`.

mod edit;
mod from;
mod import;
mod show;

pub(crate) use from::fitted;
pub(crate) use import::import;

use crate::args::recorded::TraceCommand;
use crate::output;
use anyhow::{Error, Result, anyhow, bail};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use unblink_trace::format::{Reader, TraceError, Writer};
use unblink_trace::{Counts, Finding};

/// `unblink trace`.
pub(crate) fn trace(command: &TraceCommand) -> Result<u8> {
    match command {
        TraceCommand::Show(args) => show::show(args),
        TraceCommand::Cut(args) => edit::cut(args),
        TraceCommand::Sample(args) => edit::sample(args),
        TraceCommand::Merge(args) => edit::merge(args),
    }
}

fn open(path: &Path) -> Result<Reader<File>> {
    Reader::open(path).map_err(|error| of_trace(path, &error))
}

fn of_trace(path: &Path, error: &TraceError) -> Error {
    anyhow!("{}: {error}", path.display())
}

/// A trace to be written; `sources` are read at the same time.
fn create<'a>(path: &Path, sources: impl IntoIterator<Item = &'a Path>) -> Result<Writer<BufWriter<File>>> {
    if path == Path::new("-") {
        bail!("-o - is not a file: a trace is written to a file, which is complete once it has its name");
    }
    if path.is_dir() {
        bail!("-o {} is a directory: name a file in it", path.display());
    }
    let own = path.canonicalize().ok();
    if own.is_some() && sources.into_iter().any(|source| source.canonicalize().ok() == own) {
        bail!("-o {} is a file that is read: name another one", path.display());
    }
    Writer::create(path).map_err(|error| anyhow!("can't write {path:?}: {error}"))
}

/// A finding and, where it counts something, how often.
fn words(finding: Finding, counts: &Counts) -> String {
    let number = match finding {
        Finding::UnreadableLines => counts.unreadable(),
        Finding::OutOfWindow => counts.out_of_window,
        _ => 0,
    };
    let sentence = finding.sentence();
    match number {
        0 => sentence.into(),
        n => format!(
            "{} {sentence}",
            unblink_report::format::plain(&format!("{}:", unblink_report::format::count(n)))
        ),
    }
}

/// Says on standard error what must be known of a trace that was written.
fn warn(counts: &Counts) {
    for finding in &counts.findings {
        output::note(format_args!("note: {}", words(*finding, counts)));
    }
}
