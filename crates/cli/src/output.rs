//! Results: on stdout for people or as JSON, and into files.

mod room;

pub(crate) use crate::args::Exports;
use crate::{charset, errors};
use anyhow::{Context, Result, bail};
pub(crate) use room::check_folder;
use std::fmt;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use unblink_artifact::document::RunDocument;
use unblink_artifact::folder::RUN_FILE;
use unblink_artifact::harmless;
use unblink_artifact::hgrm::{distribution_of, percentile_distribution};
use unblink_artifact::tally::Tally;
use unblink_artifact::ycsb;
use unblink_core::record::Series;
use unblink_report::terminal::Style;

/// How text is drawn on stdout.
pub(crate) fn style() -> Style {
    let terminal = std::io::stdout().is_terminal();
    let known = terminal_size::terminal_size().filter(|_| terminal).map(|(width, _)| width.0);
    // Whoever pipes the text may say how wide it is to be.
    let asked = || std::env::var("COLUMNS").ok()?.parse().ok();
    let width = known.or_else(asked).filter(|&width| width > 0).unwrap_or(80);
    // https://no-color.org: any non-empty value.
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|v| v == "dumb");
    let width = if charset::is_ascii_only() { width.saturating_sub(charset::SLACK) } else { width };
    Style { width, color: terminal && !no_color && !dumb }
}

/// Prints a result, with where it is if it has a new folder, and writes what was asked for beside it; `tally` is what
/// the document was made of. What can't be written keeps nothing else from being written.
pub(crate) fn present(
    document: &RunDocument,
    tally: &Tally,
    exports: &Exports,
    folder: Option<&Path>,
) -> Result<()> {
    let mut written = Vec::new();
    if exports.json {
        written.push(print_json(document));
    } else if !exports.uses_stdout() {
        let places = folder.map(places).unwrap_or_default();
        written.push(print_report(&unblink_report::terminal::render_with(document, &style(), &places)));
    }
    if let Some(path) = &exports.csv {
        written.push(write(path, &unblink_report::csv::series(document)));
    }
    if let Some(path) = &exports.csv_percentiles {
        written.push(write(path, &unblink_report::csv::percentiles(document)));
    }
    if let Some(path) = &exports.hgrm {
        let totals = tally.totals();
        let (known, longer) = (totals.track(Series::Response), totals.track(Series::ResponseCensored));
        // Of a run that was killed some have no age on record.
        let open = document.response_time.censored.saturating_sub(longer.count());
        written.push(write(path, &percentile_distribution(known, longer, open)));
    }
    if let Some(folder) = &exports.hgrm_by_request {
        let files = by_request(document, tally).into_iter();
        written.extend(files.map(|(name, text)| write(&folder.join(name), &text)));
    }
    if let Some(path) = &exports.ycsb_output {
        written.push(write(path, &ycsb::text(document, tally)));
    }
    if let Some(path) = &exports.junit {
        written.push(write(path, &unblink_report::junit::render(document)));
    }
    match exports.summary.as_deref() {
        Some(name) if name == Path::new(GITHUB) => {
            let summary = unblink_report::github::summary(document);
            written.push(github_summary().and_then(|path| append(&path, &summary)));
            for line in unblink_report::github::annotations(document).lines() {
                note(format_args!("{line}"));
            }
        }
        Some(path) => written.push(write(path, &unblink_report::github::summary(document))),
        None => {}
    }
    if exports.uses_stdout()
        && let Some(folder) = folder
    {
        written.push(say_where(folder, true));
    }
    if let Some(folder) = &exports.svg {
        let pictures = unblink_report::svg::all(document).into_iter();
        written.extend(pictures.map(|(name, picture)| write(&folder.join(format!("{name}.svg")), &picture)));
    }
    errors::all(written).map(drop)
}

/// Percentile distributions of response and service time, with the names of their files.
fn by_request(document: &RunDocument, tally: &Tally) -> Vec<(String, String)> {
    let clocks = [
        ("response", "Response time from the intended start", [Series::Response, Series::ResponseCensored]),
        ("service", "Service time from the send", [Series::Service, Series::ServiceCensored]),
    ];
    let mut all: Vec<(String, String)> = Vec::new();
    for (place, operation) in document.operations.iter().enumerate() {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let name: String = operation.plan.name.chars().map(plain).take(FILE_NAME_MAX).collect();
        for (clock, what, series) in clocks {
            let [known, longer] = series.map(|series| ycsb::completed(tally, place, series));
            // Of a run that was killed some have no age on record.
            let open = match clock {
                "response" => operation.response_time.censored.saturating_sub(longer.count()),
                _ => 0,
            };
            let file = format!("{name}.{clock}.hgrm");
            let is_taken = all.iter().any(|(other, _)| *other == file);
            let file = if is_taken { format!("{name}-{}.{clock}.hgrm", place + 1) } else { file };
            all.push((file, distribution_of(what, (&known, &longer), open)));
        }
    }
    all
}

/// Can every file that was asked for be written? Known before anything is sent.
pub(crate) fn check_exports(exports: &Exports) -> Result<()> {
    if usize::from(exports.json) + exports.files().filter(|(_, path)| is_stdout(path)).count() > 1 {
        bail!(
            "only one of --json, --csv -, --csv-percentiles -, --hgrm -, --ycsb-output -, --junit - and --summary - can go to \
             standard output"
        );
    }
    let summary = exports.is_for_github().then(github_summary).transpose()?;
    let files = exports.files().map(|(_, path)| path).filter(|path| !is_stdout(path));
    for path in files.chain(summary.as_deref()) {
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(path);
        opened.with_context(|| format!("can't write {path:?}"))?;
    }
    for (flag, folder) in exports.folders() {
        if is_stdout(folder) {
            bail!("{flag} writes several files and needs a folder, not standard output");
        }
        std::fs::create_dir_all(folder).with_context(|| format!("can't create the folder {folder:?}"))?;
    }
    Ok(())
}

/// Characters of a request's name in the name of a file.
const FILE_NAME_MAX: usize = 60;

/// The name that stands for standard output.
const STDOUT: &str = "-";
/// The name that stands for the summary of a GitHub job.
const GITHUB: &str = "github";

/// Where GitHub Actions takes the summary of a job from.
fn github_summary() -> Result<PathBuf> {
    let path = std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty());
    path.map(PathBuf::from).context(
        "--summary github: GITHUB_STEP_SUMMARY is not set, so this is not a step of a GitHub job; name a file \
         instead",
    )
}

/// A step may have written to it already.
fn append(path: &Path, text: &str) -> Result<()> {
    let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
    file.and_then(|mut file| file.write_all(text.as_bytes())).with_context(|| format!("can't write {path:?}"))
}

pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new(STDOUT)
}

impl Exports {
    /// Something other than the text goes to standard output.
    pub(crate) fn uses_stdout(&self) -> bool {
        self.json || self.files().any(|(_, path)| is_stdout(path))
    }

    /// Texts that were asked for, each of which may go to standard output instead of into a file.
    fn files(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        let summary = self.summary.as_ref().filter(|_| !self.is_for_github());
        given([
            ("--csv", self.csv.as_ref()),
            ("--csv-percentiles", self.csv_percentiles.as_ref()),
            ("--hgrm", self.hgrm.as_ref()),
            ("--ycsb-output", self.ycsb_output.as_ref()),
            ("--junit", self.junit.as_ref()),
            ("--summary", summary),
        ])
    }

    /// Folders that were asked for, each for several files.
    fn folders(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        given([("--svg", self.svg.as_ref()), ("--hgrm-by-request", self.hgrm_by_request.as_ref())])
    }

    /// Files and folders that are written beside the run's own folder, with the flags that ask for them.
    pub(crate) fn places(&self) -> impl Iterator<Item = (&'static str, &Path)> {
        self.files().chain(self.folders()).filter(|(_, path)| !is_stdout(path))
    }

    /// The summary is that of a GitHub job.
    fn is_for_github(&self) -> bool {
        self.summary.as_deref() == Some(Path::new(GITHUB))
    }
}

/// Flags that were given, with what they name.
fn given<'a, const N: usize>(
    flags: [(&'static str, Option<&'a PathBuf>); N],
) -> impl Iterator<Item = (&'static str, &'a Path)> {
    flags.into_iter().filter_map(|(flag, path)| Some((flag, path?.as_path())))
}

/// The page of a run that has ended, in its folder.
pub(crate) const PAGE: &str = "report.html";
/// That of a run that goes on, or was killed.
pub(crate) const PAGE_SO_FAR: &str = "report-so-far.html";

/// Writes the page of a run that has ended; that of what there was before is then nothing any more.
pub(crate) fn write_page(folder: &Path, document: &RunDocument) {
    write_beside(&folder.join(PAGE), &unblink_report::html::render(document));
    let _ = std::fs::remove_file(folder.join(PAGE_SO_FAR));
}

/// The document, indented.
pub(crate) fn to_json<T: serde::Serialize>(value: &T) -> Result<String> {
    harmless::json_pretty(value).context("can't write the document as JSON")
}

/// Writes a report to stdout, in characters that can be shown there: what stands in it by others is harmless already, and
/// its colours are its own.
pub(crate) fn print_report(text: &str) -> Result<()> {
    print_document(&charset::printable(&harmless::escaped_but_colours(text)))
}

/// Writes any other text for people to stdout, with whatever could act on a terminal escaped.
pub(crate) fn print(text: &str) -> Result<()> {
    print_document(&charset::printable(&harmless::escaped(text)))
}

/// Writes a document as JSON to stdout.
pub(crate) fn print_json<T: serde::Serialize>(value: &T) -> Result<()> {
    print_document(&charset::printable_json(&(to_json(value)? + "\n")))
}

/// Writes a document to stdout, which has an encoding of its own; a reader that has gone away is no error.
pub(crate) fn print_document(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.context("can't write to standard output"),
    }
}

/// Writes a file that was asked for; `-` is standard output.
pub(crate) fn write(path: &Path, text: &str) -> Result<()> {
    if is_stdout(path) {
        return print_document(text);
    }
    std::fs::write(path, text).with_context(|| format!("can't write {path:?}"))
}

/// Writes a page or a picture; without it the run is still whole. Nothing is left of one that finds no room.
pub(crate) fn write_beside(path: &Path, page: &str) {
    if let Err(error) = std::fs::write(path, page) {
        let _ = std::fs::remove_file(path);
        note(format_args!("warning: can't write {path:?}: {error}"));
    }
}

/// Where the record of a run is, and its page; nothing of a folder that is gone.
fn places(folder: &Path) -> Vec<(&'static str, String)> {
    if ![RUN_FILE, "knee.json", unblink_artifact::signoff::FILE, unblink_artifact::mirror::FILE]
        .iter()
        .any(|name| folder.join(name).is_file())
    {
        note(format_args!("warning: nothing is recorded: the folder {folder:?} is not there any more"));
        return Vec::new();
    }
    let page = folder.join(PAGE);
    let report = page.exists().then(|| ("Report", page.display().to_string()));
    [("Record", folder.display().to_string())].into_iter().chain(report).collect()
}

/// Says where the record is, behind a result that does not.
pub(crate) fn say_where(folder: &Path, quietly: bool) -> Result<()> {
    let lines: Vec<String> = places(folder).iter().map(|(name, place)| format!("{name}  {place}")).collect();
    if lines.is_empty() {
        return Ok(());
    }
    let text = lines.join("\n");
    if quietly {
        note(format_args!("{text}"));
        return Ok(());
    }
    print(&format!("\n{text}\n"))
}

/// Writes a line to stderr, in the place of the live line if there is one; harmless as what is printed. Where that fails
/// there is nobody to tell, and it must not end a run.
pub(crate) fn note(line: fmt::Arguments<'_>) {
    let mut text = line.to_string();
    if clear_live() {
        // What begins a new line elsewhere has this one to itself.
        text = text.trim_start_matches('\n').to_string();
    }
    let _ = writeln!(std::io::stderr().lock(), "{}", charset::printable(&harmless::escaped(&text)));
}

/// The last line of the terminal is one that is rewritten.
static IS_LIVE: AtomicBool = AtomicBool::new(false);
/// Back to the begin of the line, and all of it away.
const REWRITE: &str = "\r\x1b[2K";

/// Rewrites the last line of the terminal that is stderr.
pub(crate) fn show_live(line: &str) {
    let mut err = std::io::stderr().lock();
    // A terminal that is gone must not end the run.
    let _ = write!(err, "{REWRITE}{}", charset::printable(line)).and_then(|()| err.flush());
    IS_LIVE.store(true, Ordering::Relaxed);
}

/// Takes that line away. True if there was one.
pub(crate) fn clear_live() -> bool {
    let was_live = IS_LIVE.swap(false, Ordering::Relaxed);
    if was_live {
        let _ = write!(std::io::stderr(), "{REWRITE}");
    }
    was_live
}
