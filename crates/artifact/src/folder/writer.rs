//! Writes a run folder while the run goes on.

use super::line::{HeaderLine, IntervalLine};
use super::values::remove_values;
use super::{FolderError, HLOG_FILE, LINES_FILE, RUN_FILE, RunningDocument, hlog};
use crate::document::{RunDocument, RunStatus, SCHEMA};
use crate::harmless;
use crate::header::RunHeader;
use serde::Serialize;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use unblink_core::record::Interval;

/// Room on the disk for the document and the page, given back when they are written: a disk that fills up
/// during the run leaves the result.
const RESERVE_FILE: &str = "room-for-the-document";
const RESERVE_BYTES: usize = 1 << 20;

/// Writes a run folder while the run goes on.
///
/// When a write fails (a full disk, say), [`FolderWriter::interval`] says so once and writes no interval
/// any more: what was written stays readable, and the run goes on without its folder. The caller's
/// [`Tally`](crate::tally::Tally) loses nothing; [`FolderWriter::finish`] still tries to leave the
/// document.
pub struct FolderWriter {
    dir: PathBuf,
    header: RunHeader,
    hlog: File,
    lines: File,
    hlog_bytes: u64,
    lines_bytes: u64,
    encoder: hlog::Encoder,
    text: String,
    state: WriterState,
}

/// A run's folder before the run: made, with room set aside for the document. A run that never starts leaves nothing.
#[derive(Debug)]
pub struct ReservedFolder {
    dir: PathBuf,
    has_begun: bool,
}

impl ReservedFolder {
    /// Makes `dir`; an empty folder will do as well.
    pub fn make(dir: &Path) -> Result<ReservedFolder, FolderError> {
        let cannot_create = |source| FolderError::Create { path: dir.to_path_buf(), source };
        fs::create_dir_all(dir).map_err(cannot_create)?;
        if fs::read_dir(dir).map_err(cannot_create)?.next().is_some() {
            return Err(FolderError::NotEmpty { path: dir.to_path_buf() });
        }
        // Where even this finds no room, the run's own writes will tell.
        let _ = fs::write(dir.join(RESERVE_FILE), vec![0; RESERVE_BYTES]);
        Ok(ReservedFolder { dir: dir.to_path_buf(), has_begun: false })
    }

    /// Begins the run's files.
    pub fn begin(mut self, header: &RunHeader) -> Result<FolderWriter, FolderError> {
        let writer = FolderWriter::begin(&self.dir, header)?;
        self.has_begun = true;
        Ok(writer)
    }
}

impl Drop for ReservedFolder {
    fn drop(&mut self) {
        if !self.has_begun {
            let _ = fs::remove_file(self.dir.join(RESERVE_FILE));
            // Only an empty one goes.
            let _ = fs::remove_dir(&self.dir);
        }
    }
}

/// Does the folder still keep up with the run?
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriterState {
    /// Every interval so far is on disk.
    Writing,
    /// A write failed, for this reason: intervals since then are in memory only.
    Stopped(String),
}

impl FolderWriter {
    /// Makes `dir` (an empty folder will do as well) and begins the run's files in it.
    pub fn create(dir: &Path, header: &RunHeader) -> Result<FolderWriter, FolderError> {
        ReservedFolder::make(dir)?.begin(header)
    }

    fn begin(dir: &Path, header: &RunHeader) -> Result<FolderWriter, FolderError> {
        let preamble = hlog::preamble(&header.started_at, &header.tool.version)?;
        let cannot_create = |source| FolderError::Create { path: dir.to_path_buf(), source };
        let running = RunningDocument {
            schema: SCHEMA.to_string(),
            status: RunStatus::Running,
            header: header.clone(),
        };
        write_whole(dir, RUN_FILE, &pretty(&running)).map_err(cannot_create)?;
        let mut first_line = json(&HeaderLine::new(header));
        first_line.push('\n');
        let begin = |name: &str, text: &str| -> io::Result<File> {
            let mut file = File::create_new(dir.join(name))?;
            file.write_all(text.as_bytes())?;
            Ok(file)
        };
        Ok(FolderWriter {
            dir: dir.to_path_buf(),
            header: header.clone(),
            hlog: begin(HLOG_FILE, &preamble).map_err(cannot_create)?,
            lines: begin(LINES_FILE, &first_line).map_err(cannot_create)?,
            hlog_bytes: preamble.len() as u64,
            lines_bytes: first_line.len() as u64,
            encoder: hlog::Encoder::new(),
            text: String::new(),
            state: WriterState::Writing,
        })
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Does the folder still keep up with the run?
    pub fn state(&self) -> &WriterState {
        &self.state
    }

    /// Leaves nothing of it, and no folder but one with files of others.
    pub(super) fn take_back(self) {
        for file in [RUN_FILE, HLOG_FILE, LINES_FILE, RESERVE_FILE] {
            let _ = fs::remove_file(self.dir.join(file));
        }
        let _ = fs::remove_dir(&self.dir);
    }

    /// Writes the next interval. The first failure is returned; after it nothing is written and nothing
    /// more is returned (see [`FolderWriter::state`]).
    pub fn interval(&mut self, interval: &Interval) -> Result<(), FolderError> {
        if self.state != WriterState::Writing {
            return Ok(());
        }
        let written = self.write_interval(interval);
        if let Err(error) = &written {
            self.state = WriterState::Stopped(error.to_string());
            // A torn interval would be passed over in any case; without it other tools read the files too.
            let _ = self.hlog.set_len(self.hlog_bytes);
            let _ = self.lines.set_len(self.lines_bytes);
        }
        written
    }

    /// Leaves the document as `run.json`, whole or not at all. It is tried even when the intervals could
    /// not be written; a failure that [`FolderWriter::interval`] has told is not told again.
    pub fn finish(self, document: &RunDocument) -> Result<(), FolderError> {
        let failed = |name: &str| {
            let path = self.dir.join(name);
            move |source| FolderError::Write { path, source }
        };
        // The intervals reach the disk before the document that says that the run is complete.
        let synced = match self.state {
            WriterState::Writing => self
                .hlog
                .sync_data()
                .map_err(failed(HLOG_FILE))
                .and_then(|()| self.lines.sync_data().map_err(failed(LINES_FILE))),
            WriterState::Stopped(_) => Ok(()),
        };
        let _ = fs::remove_file(self.dir.join(RESERVE_FILE));
        write_whole(&self.dir, RUN_FILE, &pretty(document)).map_err(failed(RUN_FILE))?;
        remove_values(&self.dir);
        synced
    }

    fn write_interval(&mut self, interval: &Interval) -> Result<(), FolderError> {
        let hlog_path = self.dir.join(HLOG_FILE);
        self.text.clear();
        self.encoder.append(interval, &mut self.text).map_err(|what| FolderError::Write {
            path: hlog_path.clone(),
            source: io::Error::new(io::ErrorKind::InvalidData, what),
        })?;
        self.hlog
            .write_all(self.text.as_bytes())
            .map_err(|source| FolderError::Write { path: hlog_path, source })?;
        let hlog_bytes = self.hlog_bytes + self.text.len() as u64;

        let mut line = json(&IntervalLine::of(interval, &self.header, hlog_bytes));
        line.push('\n');
        self.lines
            .write_all(line.as_bytes())
            .map_err(|source| FolderError::Write { path: self.dir.join(LINES_FILE), source })?;
        self.hlog_bytes = hlog_bytes;
        self.lines_bytes += line.len() as u64;
        Ok(())
    }
}

/// Writes beside `name`, then takes its place: a reader sees the old file or the new one.
fn write_whole(dir: &Path, name: &str, text: &str) -> io::Result<()> {
    let beside = dir.join(format!("{name}.tmp"));
    let written = (|| {
        let mut file = File::create(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, dir.join(name))?;
        File::open(dir)?.sync_all()
    })();
    if written.is_err() {
        let _ = fs::remove_file(&beside);
    }
    written
}

fn json(value: &impl Serialize) -> String {
    harmless::json(value).expect("string keys and finite numbers")
}

fn pretty(value: &impl Serialize) -> String {
    let mut text = harmless::json_pretty(value).expect("string keys and finite numbers");
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{read_folder, report_part};
    use crate::tally::{Ending, Tally};
    use unblink_core::record::{Bank, Gauges, Series};
    use unblink_core::time::Nanos;

    fn header() -> RunHeader {
        let json = r#"{
            "tool": {"name": "unblink", "version": "0.1.0"}, "started_at": "2026-11-20T09:15:00Z", "command": [],
            "environment": {"kernel": "", "cpu": "", "cores": 1, "file_descriptors_max": 1, "local_ports": 1},
            "plan": {"summary": "", "phases": [], "warmup_ns": 0, "duration_ns": 1000000000, "timeout_ns": 1,
                "drain_ns": 1, "threads": 1, "requests_max": null},
            "loads": [{"model": "closed", "users": 1, "think_ns": 0}],
            "origins": [{"connections": {"mode": "fixed", "limit": 1}}],
            "targets": [], "protocol_failures": [], "operations": [{"name": "GET /", "protocol": "http/1.1"}]
        }"#;
        serde_json::from_str(json).expect("a header")
    }

    fn interval(second: u64) -> Interval {
        let mut bank = Bank::new(1);
        bank.track_mut(Series::Response).record(Nanos(7));
        (bank.counters.measured.due, bank.counters.measured.ok) = (1, 1);
        let (start, length) = (Nanos::from_secs(second), Nanos::from_secs(1));
        Interval { start, length, double: false, bank, gauges: Gauges::default(), ages: Default::default() }
    }

    /// A disk that is full from the second interval on: the log first, then the lines.
    #[test]
    fn a_full_disk_is_told_once_and_costs_the_folder_only() {
        for lines_are_full in [false, true] {
            let dir = tempfile::tempdir().expect("a folder");
            let mut writer = FolderWriter::create(dir.path(), &header()).expect("a new folder");
            let mut tally = Tally::new(header());
            let mut take = |writer: &mut FolderWriter, second| {
                let interval = interval(second);
                tally.add(&interval);
                writer.interval(&interval)
            };
            take(&mut writer, 0).expect("written");
            let full = File::options().write(true).open("/dev/full").expect("Linux has it");
            match lines_are_full {
                true => drop(std::mem::replace(&mut writer.lines, full)),
                false => drop(std::mem::replace(&mut writer.hlog, full)),
            }
            let error = take(&mut writer, 1).expect_err("the disk is full").to_string();
            assert!(error.contains("No space left") && error.contains("the run goes on"), "{error}");
            assert_eq!(writer.state(), &WriterState::Stopped(error));
            take(&mut writer, 2).expect("told once");

            let read = read_folder(dir.path()).expect("readable").for_each_interval(|_| ());
            assert_eq!(read.expect("what was written").intervals, 1);
            let mut ending = Ending::unknown(&header(), Nanos::from_secs(3));
            ending.status = RunStatus::Complete;
            let document = tally.document(&ending);
            assert_eq!(document.arrivals.ok, 3, "nothing is lost in memory");
            assert_eq!(report_part(dir.path(), None, None).expect("rebuilt").arrivals.ok, 1);
            writer.finish(&document).expect("there is room for the document");
            let run = read_folder(dir.path()).expect("readable");
            assert_eq!(run.final_document.map(|d| d.arrivals.ok), Some(3));
        }
    }
}
