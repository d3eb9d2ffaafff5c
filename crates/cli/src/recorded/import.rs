//! `unblink import`: logs become a trace.

use super::{create, warn};
use crate::args::recorded::{ImportArgs, LogArgs, LogFormat};
use crate::errors::refuse;
use crate::{exit, output, signals};
use anyhow::{Context, Error, Result, anyhow, bail};
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::Path;
use std::sync::atomic::Ordering;
use unblink_report::format;
use unblink_trace::anonymous::{Anonymous, Keep, Key, SECRET_MIN};
use unblink_trace::format::unpacked;
use unblink_trace::import::{Import, ImportError, Imported, Input};
use unblink_trace::source::{self, JsonLines, Map, Source};
use unblink_trace::{AnswerIs, Finding, Lacking, Unreadable};

/// Stands for standard input.
pub(super) const STDIN: &str = "-";

/// `unblink import`.
pub(crate) fn import(args: &ImportArgs) -> Result<u8> {
    let anonymous = Anonymous::new(key(args.key_file.as_deref())?, keep(&args.keep)?);
    let source = source(args.format, &args.log, &anonymous.keep().headers)?;
    let inputs = args.files.iter().map(|file| input(file)).collect::<Result<Vec<_>>>()?;
    let files = args.files.iter().filter(|file| file.as_path() != Path::new(STDIN));
    let writer = create(&args.output, files.map(AsRef::as_ref))?;
    let stop = signals::flag()?;
    let is_watched = std::io::stderr().is_terminal();
    let mut go_on = |lines: u64| {
        if is_watched {
            output::show_live(&format::plain(&format!("{} lines", format::count(lines))));
        }
        !stop.load(Ordering::Relaxed)
    };
    let import = Import::new(source, args.format.name(), anonymous, args.log.window as usize);
    let result = import.run(inputs, writer, &mut go_on);
    output::clear_live();
    match result {
        Ok(imported) => {
            output::print(&told(args, &imported))?;
            unreadable(&imported);
            warn(&imported.counts);
            Ok(exit::OK)
        }
        Err(ImportError::Interrupted) => {
            output::note(format_args!("interrupted; nothing was written"));
            Ok(exit::INTERRUPTED)
        }
        Err(ImportError::Nothing(imported)) => {
            unreadable(&imported);
            Err(nothing(args.format, &imported))
        }
        Err(error) => Err(error.into()),
    }
}

impl LogFormat {
    pub(super) fn name(self) -> &'static str {
        match self {
            LogFormat::Nginx => "nginx",
            LogFormat::Apache => "apache",
            LogFormat::Combined => "combined",
            LogFormat::Common => "common",
            LogFormat::Json => "json",
            LogFormat::Envoy => "envoy",
            LogFormat::Alb => "alb",
            LogFormat::Har => "har",
            LogFormat::Gor => "gor",
        }
    }
}

pub(super) fn source(format: LogFormat, args: &LogArgs, keep: &[String]) -> Result<Source> {
    let text = args.log_format.as_deref();
    if text.is_some() && !matches!(format, LogFormat::Nginx | LogFormat::Apache) {
        refuse!(
            ["log-format"],
            "--log-format is for --format nginx and --format apache; {} is always the same",
            format.name()
        );
    }
    let mut map = Map::default();
    for part in &args.map {
        map.add(part).map_err(|why| anyhow!("--map: {why}"))?;
    }
    let is_fixed = matches!(format, LogFormat::Combined | LogFormat::Common);
    if is_fixed && !(args.map.is_empty() && keep.is_empty()) {
        refuse!(
            ["map", "keep"],
            "--map and --keep header.NAME need to know what wrote the log: say --format nginx or --format apache"
        );
    }
    let lines = |pattern| Source::Lines(pattern);
    let read = match format {
        LogFormat::Nginx => source::nginx(text, &map, keep).map(lines),
        LogFormat::Apache => source::apache(text, &map, keep).map(lines),
        LogFormat::Combined => Ok(lines(source::combined_or_common(true))),
        LogFormat::Common => Ok(lines(source::combined_or_common(false))),
        LogFormat::Envoy => source::envoy(&map, keep).map(lines),
        LogFormat::Alb => source::alb(&map, keep).map(lines),
        LogFormat::Json => JsonLines::new(&map, keep).map(Source::Json),
        LogFormat::Har => Source::har(&map),
        LogFormat::Gor => Source::gor(&map),
    };
    read.map_err(Error::from)
}

fn keep(names: &[String]) -> Result<Keep> {
    let mut keep = Keep::default();
    for name in names {
        keep.add(name).map_err(|why| anyhow!("--keep: {why}"))?;
    }
    Ok(keep)
}

fn key(file: Option<&Path>) -> Result<Key> {
    let Some(file) = file else { return Key::random().context("the system has no random bytes") };
    let secret = std::fs::read(file).with_context(|| format!("can't read the key in {file:?}"))?;
    if secret.len() < SECRET_MIN {
        bail!(
            "--key-file {}: it has {}, and a secret needs {SECRET_MIN} or more: head -c 32 /dev/urandom makes one",
            file.display(),
            format::plural(secret.len() as u64, "byte", "bytes")
        );
    }
    Ok(Key::from_secret(&secret))
}

pub(super) fn input(file: &Path) -> Result<Input<'static>> {
    let bytes = match file == Path::new(STDIN) {
        true => Box::new(std::io::stdin().lock()),
        false => unpacked(file).with_context(|| format!("can't read the log {file:?}"))?,
    };
    Ok(Input { name: file.display().to_string(), bytes })
}

/// What became of the lines.
fn told(args: &ImportArgs, imported: &Imported) -> String {
    let counts = &imported.counts;
    let mut rows = vec![
        (counts.requests, "requests".to_string()),
        (counts.no_request, "without a request".into()),
        (counts.blank, "empty, or a comment".into()),
        (counts.out_of_window, "too far out of order".into()),
    ];
    rows.extend(counts.answers.iter().map(|(is, n)| (*n, answer_words(*is).into())));
    rows.extend(counts.unreadable.iter().map(|(why, n)| (*n, why_words(*why).into())));
    let lacking = counts.lacking.iter().map(|(what, n)| (*n, lacking_words(*what).to_string()));
    let table = |rows: Vec<(u64, String)>| -> String {
        let rows: Vec<_> =
            rows.into_iter().filter(|(n, _)| *n > 0).map(|(n, words)| (format::count(n), words)).collect();
        let width = rows.iter().map(|(n, _)| n.chars().count()).max().unwrap_or_default();
        rows.into_iter().map(|(n, words)| format!("  {n:>width$}  {words}\n")).collect()
    };
    let mut out = format!("{} from {}\n", format::plural(counts.lines, "line", "lines"), args.format.name());
    out += &table(rows);
    if counts.unanswered > 0 {
        let unanswered = format::plural(counts.unanswered, "request has", "requests have");
        let _ = writeln!(out, "{unanswered} no answer in it");
    }
    let lacking = table(lacking.collect());
    if !lacking.is_empty() {
        out += "The trace does not have all of them as they were\n";
        out += &lacking;
    }
    out += &format!("Trace  {}\n", args.output.display());
    format::plain(&out)
}

fn answer_words(is: AnswerIs) -> &'static str {
    match is {
        AnswerIs::Joined => "answers: their requests have status, size and duration",
        AnswerIs::Stray => "answers without their request",
        AnswerIs::Again => "answers to requests that have one",
        AnswerIs::Interim => "answers that another one follows (1xx)",
        AnswerIs::OfReplay => "answers to replayed requests",
    }
}

fn why_words(why: Unreadable) -> &'static str {
    match why {
        Unreadable::Format => "unreadable: not of this format",
        Unreadable::Time => "unreadable: the time",
        Unreadable::Value => "unreadable: another figure, or a duration without its unit",
        Unreadable::TooLong => "unreadable: longer than 1 MiB",
        Unreadable::Cut => "unreadable: the log ends in it",
    }
}

fn lacking_words(what: Lacking) -> &'static str {
    match what {
        Lacking::Body => "had a body, which logs don't have",
        Lacking::Credentials => "had credentials",
        Lacking::QueryValues => "had query values, which were left out (--keep query)",
        Lacking::PathIds => "had ids in the path, which are numbers now (--keep path)",
        Lacking::Path => "asked for no path of this server",
    }
}

/// Shows the first line that could not be read, without its words.
pub(super) fn unreadable(imported: &Imported) {
    let Some(first) = &imported.first_unreadable else { return };
    output::note(format_args!(
        "{}:{}: {} (letters are shown as x, digits as 0)\n  | {}",
        first.input,
        first.line,
        why_words(first.why),
        first.form
    ));
}

pub(super) fn nothing(format: LogFormat, imported: &Imported) -> Error {
    let counts = &imported.counts;
    if counts.lines == 0 {
        return match counts.findings.contains(&Finding::InputCut) {
            true => anyhow!(
                "no request could be read: the packed log ends before its first line; it was cut, so fetch it again"
            ),
            false => anyhow!("no request could be read: the log is empty"),
        };
    }
    let lines = format::plain(&format::plural(counts.lines, "line", "lines"));
    if counts.unreadable() == 0 {
        return anyhow!("no request could be read in {lines}: {}", without_request(imported));
    }
    let hint = match format {
        LogFormat::Nginx => "--log-format must be the log_format of the server's configuration",
        LogFormat::Apache => "--log-format must be the LogFormat of the server's configuration",
        LogFormat::Json => "--map must name fields of its objects, and duration its unit (duration=FIELD:ms)",
        _ => "is this its --format?",
    };
    anyhow!("no request could be read in {lines}: {hint}")
}

/// Why lines that could all be read are no requests.
fn without_request(imported: &Imported) -> &'static str {
    match imported.counts.blank == imported.counts.lines {
        true => "all of them are empty, or comments",
        false => "they are of connections that sent none",
    }
}
