//! Laws fitted to a log or a trace, for `unblink init --from`.

use super::import::{STDIN, input, nothing, source, unreadable};
use super::{of_trace, warn};
use crate::args::recorded::{LogArgs, LogFormat};
use crate::errors::refuse;
use crate::{output, signals};
use anyhow::{Context, Result, anyhow, bail};
use std::io::Read;
use std::path::Path;
use std::sync::atomic::Ordering;
use unblink_engine::spill::Spill;
use unblink_report::format;
use unblink_trace::anonymous::{Anonymous, Keep, Key};
use unblink_trace::fit::{Fit, fit};
use unblink_trace::format::{Reader, TraceError, Writer, unpacked};
use unblink_trace::import::{Import, ImportError, Input};

/// So much of a log is looked at to know its format.
const LOOKED_AT: u64 = 1 << 16;

/// What `from` comes to; none if the user stopped it.
pub(crate) fn fitted(from: &Path, format: Option<LogFormat>, args: &LogArgs) -> Result<Option<Fit>> {
    let is_empty = || anyhow!("{}: it has no request with a path", from.display());
    if from != Path::new(STDIN) {
        match Reader::open(from) {
            Ok(trace) => {
                if format.is_some() || args.are_given() {
                    refuse!(["format"], "{} is a trace: leave out how a log is read", from.display());
                }
                drop(trace);
                let fit = fit(|| Reader::open(from)).map_err(|error| of_trace(from, &error))?;
                let fit = fit.ok_or_else(is_empty)?;
                warn(&fit.counts);
                return Ok(Some(fit));
            }
            Err(error @ (TraceError::Version(_) | TraceError::Line { .. })) => {
                return Err(of_trace(from, &error));
            }
            // It may be a log.
            Err(TraceError::NotATrace | TraceError::Io(_)) => {}
        }
    }
    let format = format.map_or_else(|| format_of(from), Ok)?;
    // Ids and users only have to be told apart until the laws are known.
    let key = Key::random().context("the system has no random bytes")?;
    let anonymous = Anonymous::new(key, Keep::default());
    let import = Import::new(source(format, args, &[])?, format.name(), anonymous, args.window as usize);
    let stop = signals::flag()?;
    let mut spill = Spill::new().context("can't write a temporary file")?;
    let writer = Writer::to(&mut spill).context("can't write a temporary file")?;
    match import.run([input(from)?], writer, &mut |_| !stop.load(Ordering::Relaxed)) {
        Ok(imported) => {
            unreadable(&imported);
            warn(&imported.counts);
        }
        Err(ImportError::Interrupted) => return Ok(None),
        Err(ImportError::Nothing(imported)) => {
            unreadable(&imported);
            return Err(nothing(format, &imported));
        }
        Err(error) => return Err(error.into()),
    }
    let trace = spill.finish().context("can't write a temporary file")?;
    let fit = fit(|| Reader::new((*trace).as_ref())).map_err(|error| of_trace(from, &error))?;
    fit.ok_or_else(is_empty).map(Some)
}

/// The format that reads its first lines.
fn format_of(log: &Path) -> Result<LogFormat> {
    if log == Path::new(STDIN) {
        bail!("--from -: say what wrote the log, with --format");
    }
    let mut begin = Vec::new();
    let mut bytes = unpacked(log).with_context(|| format!("can't read the log {log:?}"))?;
    let read = bytes.by_ref().take(LOOKED_AT).read_to_end(&mut begin);
    if begin.is_empty() {
        // What was read of a packed file that was cut may be nothing.
        read.with_context(|| format!("can't read the log {log:?}"))?;
        bail!("{}: the log is empty", log.display());
    }
    if begin.trim_ascii_start().starts_with(b"{") {
        bail!("{}: say --format json, and with --map which field is what", log.display());
    }
    let reads = |format: &LogFormat| -> Result<bool> {
        let source = source(*format, &no_flags(), &[])?;
        let anonymous = Anonymous::new(Key::from_secret(&[0; 16]), Keep::default());
        let inputs = [Input { name: String::new(), bytes: Box::new(&begin[..]) }];
        let writer = Writer::to(std::io::sink())?;
        Ok(Import::new(source, format.name(), anonymous, 1).run(inputs, writer, &mut |_| true).is_ok())
    };
    for format in [LogFormat::Combined, LogFormat::Common] {
        if reads(&format)? {
            let name = format.name();
            output::note(format_args!(
                "{}",
                format::plain(&format!(
                    "note: read as --format {name}; nginx and apache know more about their times"
                ))
            ));
            return Ok(format);
        }
    }
    bail!(
        "{}: its first lines are of neither the combined nor the common format: say what wrote it with --format, and how \
         with --log-format",
        log.display()
    )
}

fn no_flags() -> LogArgs {
    LogArgs { log_format: None, map: Vec::new(), window: 1 }
}
