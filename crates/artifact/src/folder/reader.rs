//! Reads a run folder, also one whose run was killed at any moment.

use super::line::{HeaderLine, IntervalLine, track_mut, tracks};
use super::{FolderError, HLOG_FILE, LINES_FILE, LINES_SCHEMA, RUN_FILE, RunningDocument, hlog};
use crate::bounded::{self, DOCUMENT_BYTES_MAX};
use crate::document::{RunDocument, RunStatus, SCHEMA};
use crate::header::RunHeader;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use unblink_core::record::{Bank, Gauges, Interval};
use unblink_core::time::Nanos;

/// A run folder that has been opened.
#[derive(Clone, Debug)]
pub struct RecordedRun {
    /// What the run was to do.
    pub header: RunHeader,
    /// The run document, once the run has ended.
    pub final_document: Option<RunDocument>,
    dir: PathBuf,
}

/// What [`RecordedRun::for_each_interval`] came across.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct IntervalsRead {
    /// Whole intervals.
    pub intervals: u64,
    /// The files end in the middle of an interval, which is left out: the run was killed while it was
    /// written, or still goes on.
    pub torn: bool,
}

/// Opens a run folder. The intervals are read one by one by [`RecordedRun::for_each_interval`].
pub fn read_folder(dir: &Path) -> Result<RecordedRun, FolderError> {
    let path = dir.join(RUN_FILE);
    let text = bounded::read_text(&path, DOCUMENT_BYTES_MAX)
        .map_err(|source| FolderError::Read { path: path.clone(), source })?;
    #[derive(Deserialize)]
    struct Begin {
        schema: String,
        status: RunStatus,
    }
    let begin: Begin = parse_json(&path, 1, &text)?;
    if begin.schema != SCHEMA {
        return Err(FolderError::OtherVersion { path, found: begin.schema, expected: SCHEMA });
    }
    if begin.status == RunStatus::Running {
        let running: RunningDocument = parse_json(&path, 1, &text)?;
        return Ok(RecordedRun { header: running.header, final_document: None, dir: dir.to_path_buf() });
    }
    let document: RunDocument = parse_json(&path, 1, &text)?;
    let mut lines = Lines::open(dir.join(LINES_FILE))?;
    let header = read_header(&mut lines)?;
    Ok(RecordedRun { header, final_document: Some(document), dir: dir.to_path_buf() })
}

impl RecordedRun {
    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Calls `each` with every whole interval in order. Memory does not grow with the run's length.
    pub fn for_each_interval(&self, mut each: impl FnMut(&Interval)) -> Result<IntervalsRead, FolderError> {
        let mut read = IntervalsRead::default();
        let path = self.dir.join(LINES_FILE);
        if self.final_document.is_none() && !path.exists() {
            // Killed just after `run.json` was written.
            return Ok(IntervalsRead { torn: true, ..read });
        }
        let mut lines = Lines::open(path)?;
        if !lines.advance()? {
            return Ok(IntervalsRead { torn: true, ..read });
        }
        let mut hlog = Lines::open(self.dir.join(HLOG_FILE))?;
        let mut interval = Interval {
            start: Nanos::ZERO,
            length: Nanos::ZERO,
            double: false,
            bank: Bank::new(self.header.operations.len()),
            gauges: Gauges::default(),
            ages: Default::default(),
        };
        while lines.advance()? {
            let line: IntervalLine = parse_json(&lines.path, lines.number, lines.text()?)?;
            interval.bank.clear();
            line.fill(&mut interval, &self.header).map_err(|what| lines.corrupt(what))?;
            while hlog.read_bytes < line.hlog_bytes {
                if !hlog.advance()? {
                    return Ok(IntervalsRead { torn: true, ..read });
                }
                take_histogram(hlog.text()?, &line, &mut interval.bank).map_err(|what| hlog.corrupt(what))?;
            }
            if hlog.read_bytes != line.hlog_bytes {
                let what = format!("intervals.hlog has no line that ends at byte {}", line.hlog_bytes);
                return Err(lines.corrupt(what));
            }
            check_complete(&line, &interval.bank).map_err(|what| lines.corrupt(what))?;
            each(&interval);
            read.intervals += 1;
        }
        read.torn = lines.torn;
        Ok(read)
    }
}

fn read_header(lines: &mut Lines) -> Result<RunHeader, FolderError> {
    if !lines.advance()? {
        return Err(lines.corrupt("there is no header".to_string()));
    }
    let first: HeaderLine = parse_json(&lines.path, 1, lines.text()?)?;
    if first.schema != LINES_SCHEMA {
        let path = lines.path.clone();
        return Err(FolderError::OtherVersion { path, found: first.schema, expected: LINES_SCHEMA });
    }
    Ok(first.header)
}

/// Puts the histogram of one log line into its track. Tags of later versions are passed over.
fn take_histogram(text: &str, line: &IntervalLine, bank: &mut Bank<u64>) -> Result<(), String> {
    let Some((tag, histogram)) = hlog::parse(text)? else { return Ok(()) };
    let Some(track) = track_mut(bank, tag) else { return Ok(()) };
    let Some(exact) = line.tracks.get(tag) else {
        return if histogram.is_empty() { Ok(()) } else { Err(format!("{tag} is not announced")) };
    };
    if histogram.len() != exact.count {
        return Err(format!("{tag} holds {} values where {} are announced", histogram.len(), exact.count));
    }
    track.histogram = histogram;
    track.sum_ns = exact.sum_ns;
    track.max_ns = exact.max_ns;
    Ok(())
}

fn check_complete(line: &IntervalLine, bank: &Bank<u64>) -> Result<(), String> {
    for (tag, track) in tracks(bank) {
        let announced = line.tracks.get(&tag).map_or(0, |t| t.count);
        if track.count() != announced {
            return Err(format!("{announced} values of {tag} are announced, {} are there", track.count()));
        }
    }
    Ok(())
}

fn parse_json<T: DeserializeOwned>(path: &Path, line: u64, text: &str) -> Result<T, FolderError> {
    serde_json::from_str(text).map_err(|e| FolderError::Corrupt {
        path: path.to_path_buf(),
        line: line + (e.line() as u64).saturating_sub(1),
        what: e.to_string(),
    })
}

/// Whole lines of a file. What follows the last newline was cut off and is left out.
struct Lines {
    path: PathBuf,
    file: BufReader<File>,
    bytes: Vec<u8>,
    number: u64,
    read_bytes: u64,
    torn: bool,
}

impl Lines {
    fn open(path: PathBuf) -> Result<Lines, FolderError> {
        match File::open(&path) {
            Ok(file) => Ok(Lines {
                path,
                file: BufReader::new(file),
                bytes: Vec::new(),
                number: 0,
                read_bytes: 0,
                torn: false,
            }),
            Err(source) => Err(FolderError::Read { path, source }),
        }
    }

    /// Takes the next line; false at the end.
    fn advance(&mut self) -> Result<bool, FolderError> {
        self.bytes.clear();
        self.number += 1;
        let read = bounded::read_line(&mut self.file, &mut self.bytes)
            .map_err(|source| FolderError::Read { path: self.path.clone(), source })?;
        if self.bytes.last() != Some(&b'\n') {
            self.torn = read > 0;
            return Ok(false);
        }
        self.read_bytes += read as u64;
        self.bytes.pop();
        Ok(true)
    }

    fn text(&self) -> Result<&str, FolderError> {
        std::str::from_utf8(&self.bytes).map_err(|e| self.corrupt(e.to_string()))
    }

    fn corrupt(&self, what: String) -> FolderError {
        FolderError::Corrupt { path: self.path.clone(), line: self.number, what }
    }
}
