//! One cell: a fresh server, one tool, and what both say afterwards.

mod served;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use unblink_artifact::lab::{CELL_SCHEMA, LabCell, LabLog, LabObserved, LabPercentile, LabReported, LabTool};

use crate::case::{Case, Truth};
use crate::process::{Processors, Side, run_to_end, wait};
use crate::read::{COMPARED, value_at};
use crate::tool::{Arrivals, Definition, Found, Values};
use crate::watched::{OpenTap, Seen, WatchError, observed};
use crate::{offered, read_truth};
use served::{Account, Server};

/// The file of a cell's result.
pub const CELL_FILE: &str = "cell.json";
/// The file of its server's log.
pub const TRUTH_FILE: &str = "truth.csv";
const STDOUT_FILE: &str = "stdout.txt";
const STDERR_FILE: &str = "stderr.txt";
/// For turning an output into a readable one.
const CONVERT_PATIENCE: Duration = Duration::from_secs(120);
/// Of what a failed tool said, in the problem.
const QUOTED_CHARACTERS: usize = 200;
/// A percentile within so much of the truth is right, relative.
const RIGHT: f64 = 0.05;
/// Or this close, in ns: a loopback and two processes take part of it. Of answers below a millisecond less is meant.
const CLOSE_NS: u64 = 1_000_000;
const CLOSE_TO_FAST_NS: u64 = 100_000;
/// Of a database, the truth ends where the answer's packet comes in, and the tool still has to be woken up and to read it.
const CLOSE_TO_A_PACKET_NS: u64 = 2_000_000;
/// A report that is too high by no more than so many times the server's own lateness at p99 is not judged.
const LATENESS_EXPLAINS: u64 = 3;

/// A cell that could not be run at all: the fault is not the tool's.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// A file of the cell can't be written or read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The server did not start or end as it should.
    #[error("the lab's server: {0}")]
    Server(String),
    /// A database can't be started or watched.
    #[error(transparent)]
    Watch(#[from] WatchError),
    /// Its log can't be read.
    #[error(transparent)]
    Truth(#[from] crate::LabError),
    /// A process can't be started.
    #[error("can't start {program}: {source}")]
    Start {
        /// Which.
        program: String,
        /// The system's answer.
        source: std::io::Error,
    },
    /// It was stopped before its end: server and tool are ended, and there is nothing to say.
    #[error("stopped")]
    Stopped,
}

/// What a cell is made of.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// Scenario and load.
    pub case: &'a Case,
    /// Exact, of `case`.
    pub truth: &'a Truth,
    /// The tool.
    pub definition: &'a Definition,
    /// Its program.
    pub found: &'a Found,
    /// This program, which serves.
    pub own: &'a Path,
    /// Who runs where.
    pub processors: &'a Processors,
    /// Where everything goes.
    pub folder: &'a Path,
    /// Watches the wire, where the server is a database.
    pub tap: OpenTap,
    /// Counted from 1.
    pub run: u32,
    /// Ends it before its time.
    pub stop: &'a AtomicBool,
}

impl Job<'_> {
    /// Runs it. Whatever the tool does wrong is a `problem` of the cell, not an error.
    pub fn run(&self, started_at: String) -> Result<LabCell, CellError> {
        let file_error = |path: &Path| {
            let path = path.to_owned();
            move |source| CellError::File { path, source }
        };
        std::fs::create_dir_all(self.folder).map_err(file_error(self.folder))?;
        let folder = self.folder.canonicalize().map_err(file_error(self.folder))?;
        let truth_path = folder.join(TRUTH_FILE);
        let server = Server::start(self, &truth_path)?;
        let address = server.address();
        let url = self.definition.url(&address);
        let values = Values::new(self.case, &url, &address, &folder, &self.found.program);
        for (name, text) in &self.definition.files {
            let path = folder.join(name);
            std::fs::write(&path, values.fill(text)).map_err(file_error(&path))?;
        }
        let said = self.load(&values, &folder)?;
        let Account { late_p99_ns, lost, seen } = server.stop()?;
        let rows = offered::of_the_run(read_truth(&truth_path)?);
        let log = offered::log(&rows, self.case, late_p99_ns, lost);
        let offered = offered::offered(&rows, self.case);
        let unseen = seen.as_ref().and_then(|seen| seen.problem(&self.case.scenario));
        let (reported, problem) = match (said, unseen) {
            (Err(problem), _) | (Ok(_), Some(problem)) => (None, Some(problem)),
            (Ok(_), None) if rows.is_empty() => (None, Some("it sent no request".to_owned())),
            (Ok(reported), None) => (Some(reported), None),
        };
        let of_wire = seen.map(|seen| {
            let (truth, from) = observed::truth(&rows, self.case, self.definition.claims_schedule());
            let Seen { server, packets, lost_packets, .. } = seen;
            (truth, LabObserved { server, packets, lost: lost_packets, truth_from: from })
        });
        let (of_wire, observed) = of_wire.unzip();
        let truth = of_wire.as_ref().unwrap_or(self.truth);
        Ok(LabCell {
            schema: CELL_SCHEMA.to_owned(),
            scenario: self.case.describe(),
            tool: self.tool(&values),
            run: self.run,
            started_at,
            processors: Some(self.processors.describe()),
            problem,
            percentiles: compare(self.case, truth, reported.as_ref(), &log),
            reported,
            truth: truth.describe(),
            observed,
            log,
            offered,
        })
    }

    /// What the cell's document says of the tool, known before it runs.
    pub fn planned_tool(&self) -> LabTool {
        self.tool(&Values::new(self.case, "", "", self.folder, &self.found.program))
    }

    fn tool(&self, values: &Values) -> LabTool {
        let shown = values.for_people();
        let words = self.definition.command.iter().map(|word| shown.fill(word));
        LabTool {
            name: self.definition.name.clone(),
            version: self.found.version.clone(),
            model: self.definition.model,
            protocol: self.definition.speaks(),
            events: self.definition.events,
            is_poisson: self.definition.arrivals == Arrivals::Poisson,
            leaves_out_s: self.definition.leaves_out_s,
            command: std::iter::once(self.definition.program.clone()).chain(words).collect(),
            definition: self.definition.fingerprint.clone(),
        }
    }

    /// Runs the tool. The inner error is what the tool did wrong, for people.
    fn load(&self, values: &Values, folder: &Path) -> Result<Result<LabReported, String>, CellError> {
        let mut command = Command::new(&self.found.program);
        command.args(self.definition.command.iter().map(|word| values.fill(word))).current_dir(folder);
        command.envs(&self.definition.environment);
        let stdout_path = folder.join(STDOUT_FILE);
        let stderr_path = folder.join(STDERR_FILE);
        let create = |path: &Path| {
            File::create(path).map_err(|source| CellError::File { path: path.to_owned(), source })
        };
        command.stdout(create(&stdout_path)?).stderr(create(&stderr_path)?);
        let start_error =
            |source| CellError::Start { program: self.found.program.display().to_string(), source };
        let mut child = self.processors.spawn(Side::Tool, command).map_err(start_error)?;
        let patience = self.definition.patience(self.case);
        let status = wait(&mut child, patience, self.stop).map_err(start_error)?;
        if self.stop.load(Ordering::Relaxed) {
            return Err(CellError::Stopped);
        }
        let Some(status) = status else {
            return Ok(Err(format!(
                "it had not ended {} s after it began (overtime_s of its definition gives it longer)",
                patience.as_secs()
            )));
        };
        let is_accepted = |code: i32| code == 0 || self.definition.exit_codes.contains(&code);
        if !status.code().is_some_and(is_accepted) {
            let said = [&stderr_path, &stdout_path].map(|path| last_words(path));
            let said = said.iter().find(|text| !text.is_empty()).cloned().unwrap_or_default();
            return Ok(Err(format!("it ended with {status}: {said:?}")));
        }
        if let Some(words) = &self.definition.convert {
            let mut command = Command::new(&self.found.program);
            command.args(words.iter().map(|word| values.fill(word))).current_dir(folder);
            let ended = run_to_end(&mut command, CONVERT_PATIENCE).map_err(start_error)?;
            if !ended.status.is_some_and(|status| status.success()) {
                let said = String::from_utf8_lossy(&ended.stderr).trim().to_owned();
                return Ok(Err(format!("its output can't be converted: {said:?}")));
            }
        }
        let name = self.definition.output.source().file().unwrap_or(STDOUT_FILE);
        Ok(match output(folder, name) {
            Ok(bytes) => {
                let text = String::from_utf8_lossy(&bytes);
                self.definition.output.read(&text).map_err(|error| error.to_string())
            }
            Err(error) => Err(format!("it left no {}: {error}", folder.join(name).display())),
        })
    }
}

/// A file, or with a star at the end of its name all that begin so, by name: some tools write one for each thread.
fn output(folder: &Path, name: &str) -> std::io::Result<Vec<u8>> {
    let Some(beginning) = name.strip_suffix('*') else { return std::fs::read(folder.join(name)) };
    let mut paths = Vec::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(beginning) {
            paths.push(entry.path());
        }
    }
    if paths.is_empty() {
        return Err(std::io::ErrorKind::NotFound.into());
    }
    paths.sort();
    let mut all = Vec::new();
    for path in paths {
        all.append(&mut std::fs::read(path)?);
    }
    Ok(all)
}

/// The end of what a program said, in a line.
fn last_words(path: &Path) -> String {
    let text = std::fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
    line.trim().chars().take(QUOTED_CHARACTERS).collect()
}

/// Truth, log and report side by side, at the percentiles that are compared.
pub fn compare(
    case: &Case,
    truth: &Truth,
    reported: Option<&LabReported>,
    log: &LabLog,
) -> Vec<LabPercentile> {
    let close_ns = match case.scenario.baseline_ns(0) {
        _ if case.scenario.database.is_some() => CLOSE_TO_A_PACKET_NS,
        ..CLOSE_NS => CLOSE_TO_FAST_NS,
        _ => CLOSE_NS,
    };
    let line = |q: f64| {
        let (low, high) = truth.at(q);
        let reported_ns = reported.and_then(|reported| value_at(&reported.points, q));
        let is_longer = reported.and_then(|reported| reported.longer_from).is_some_and(|from| q >= from);
        let (error, is_right) = match (reported_ns, low) {
            // Nobody knows more than that.
            (None, _) if is_longer && high.is_none() => (Some(0.0), Some(true)),
            (Some(ns), Some(low_ns)) => {
                let (error, off_ns) = outside(ns, low_ns, high);
                let is_right = error.abs() <= RIGHT || off_ns <= close_ns;
                // A server that was late itself made users wait, which is not the tool's doing. It never makes a report
                // too low.
                let is_explained = error > 0.0 && off_ns <= LATENESS_EXPLAINS * log.late_p99_ns;
                (Some(error), (is_right || !is_explained).then_some(is_right))
            }
            _ => (None, None),
        };
        LabPercentile {
            q,
            truth_low_ns: low,
            truth_high_ns: high,
            log_ns: value_at(&log.points, q),
            reported_ns,
            is_longer,
            error,
            is_right,
        }
    };
    COMPARED.map(line).into()
}

/// How far outside the truth, relative to its nearer end, and in ns.
fn outside(ns: u64, low_ns: u64, high_ns: Option<u64>) -> (f64, u64) {
    let off = |end_ns: u64| ((ns as f64 - end_ns as f64) / (end_ns.max(1) as f64), ns.abs_diff(end_ns));
    match high_ns {
        _ if ns < low_ns => off(low_ns),
        Some(high_ns) if ns > high_ns => off(high_ns),
        _ => (0.0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_artifact::lab::LabPoint;

    #[test]
    fn outside_is_measured_from_the_nearer_end() {
        assert_eq!(outside(50, 100, Some(200)), (-0.5, 50));
        assert_eq!(outside(150, 100, Some(200)), (0.0, 0));
        assert_eq!(outside(300, 100, Some(200)), (0.5, 100));
        assert_eq!(outside(300, 100, None), (0.0, 0));
    }

    #[test]
    fn what_a_late_server_explains_is_not_judged() {
        let case = Case::preset("healthy", Duration::from_secs(60)).expect("a preset");
        let judged = |ms: u64, late_ms: u64| {
            let point = LabPoint { q: 0.99, value_ns: ms * 1_000_000 };
            let reported = LabReported { points: vec![point], ..Default::default() };
            let log = LabLog { late_p99_ns: late_ms * 1_000_000, ..Default::default() };
            compare(&case, &case.truth(), Some(&reported), &log)[3].is_right
        };
        assert_eq!([judged(10, 5), judged(20, 5), judged(90, 5)], [Some(true), None, Some(false)]);
        assert_eq!([judged(20, 0), judged(5, 90)], [Some(false), Some(false)]);
    }

    #[test]
    fn a_report_is_right_within_five_percent_or_a_millisecond() {
        let case = Case::preset("stall", Duration::from_secs(60)).expect("a preset");
        let point = |q, ms: u64| LabPoint { q, value_ns: ms * 1_000_000 };
        let reported = LabReported {
            points: vec![point(0.5, 11), point(0.9, 12), point(0.99, 15)],
            ..Default::default()
        };
        let lines = compare(&case, &case.truth(), Some(&reported), &LabLog::default());
        let right: Vec<_> = lines.iter().map(|line| line.is_right).collect();
        assert_eq!(right, [Some(true), Some(false), None, Some(false), None, None]);
        assert!(lines[3].error.is_some_and(|error| error < -0.95));
    }
}
