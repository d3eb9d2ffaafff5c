//! Reads a run folder, also one whose run was killed at any moment.

use super::line::IntervalLine;
use super::version::{self, RunFile, Unread};
use super::{FolderError, HLOG_FILE, LINES_FILE, RUN_FILE, hlog, tracks};
use crate::bounded::{self, DOCUMENT_BYTES_MAX};
use crate::document::RunDocument;
use crate::header::RunHeader;
use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use unblink_core::record::Interval;

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
    match version::run(&text).map_err(|error| error.in_file(&path, 1))? {
        RunFile::Running(header) => {
            Ok(RecordedRun { header: *header, final_document: None, dir: dir.to_path_buf() })
        }
        RunFile::Ended(document) => {
            let mut lines = Lines::open(dir.join(LINES_FILE))?;
            let header = read_header(&mut lines)?;
            Ok(RecordedRun { header, final_document: Some(*document), dir: dir.to_path_buf() })
        }
    }
}

/// Reads what a [`merge`](super::merge) reads of a run folder, and keeps nothing of it.
///
/// # Errors
/// It is no run folder, or something else stands in it than intervals. One that breaks off is none.
pub fn check_folder(dir: &Path) -> Result<(), FolderError> {
    read_folder(dir)?.for_each_interval(|_| ()).map(drop)
}

impl RecordedRun {
    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Calls `each` with every whole interval in order. Memory does not grow with the run's length.
    pub fn for_each_interval(&self, mut each: impl FnMut(&Interval)) -> Result<IntervalsRead, FolderError> {
        let mut all = Intervals::open(self)?;
        let mut interval = Interval::empty(self.header.layout());
        while all.read_into(&mut interval)? {
            each(&interval);
        }
        Ok(all.read)
    }
}

/// The whole intervals of a folder, one by one.
pub(super) struct Intervals {
    header: RunHeader,
    /// The lines and the histograms; nothing where the run was killed before it wrote any.
    files: Option<(Lines, Lines)>,
    read: IntervalsRead,
}

impl Intervals {
    pub(super) fn open(run: &RecordedRun) -> Result<Intervals, FolderError> {
        let files = open_files(run)?;
        let read = IntervalsRead { torn: files.is_none(), ..IntervalsRead::default() };
        Ok(Intervals { header: run.header.clone(), files, read })
    }

    /// Reads the next one into `interval`, which has this run's layout; false behind the last. Of a folder that still grows
    /// the next one may come later: ask again.
    pub(super) fn read_into(&mut self, interval: &mut Interval) -> Result<bool, FolderError> {
        let before = self.files.as_ref().map(|(lines, hlog)| (lines.place(), hlog.place()));
        let read = self.read_next(interval);
        if let (false, Some((lines, hlog)), Some(before)) =
            (matches!(read, Ok(true)), &mut self.files, before)
        {
            lines.go_back(before.0)?;
            hlog.go_back(before.1)?;
        }
        read
    }

    /// Closes the files until the next one is read: of a thousand machines two each are more than many a process may have open.
    pub(super) fn rest(&mut self) {
        if let Some((lines, hlog)) = &mut self.files {
            lines.close();
            hlog.close();
        }
    }

    /// Are there files from which intervals can come?
    pub(super) fn is_begun(&self) -> bool {
        self.files.is_some()
    }

    fn read_next(&mut self, interval: &mut Interval) -> Result<bool, FolderError> {
        let Some((lines, hlog)) = &mut self.files else { return Ok(false) };
        if !lines.advance()? {
            self.read.torn |= lines.torn;
            return Ok(false);
        }
        let line: IntervalLine = serde_json::from_str(lines.text()?)
            .map_err(|error| Unread::from(error).in_file(&lines.path, lines.number))?;
        interval.bank.clear();
        line.fill(interval, &self.header).map_err(|what| lines.corrupt(what))?;
        while hlog.read_bytes < line.hlog_bytes {
            if !hlog.advance()? {
                self.read.torn = true;
                return Ok(false);
            }
            if let Some((tag, histogram)) = hlog::parse(hlog.text()?).map_err(|what| hlog.corrupt(what))? {
                tracks::take(tag, histogram, &line.tracks, &mut interval.bank)
                    .map_err(|what| hlog.corrupt(what))?;
            }
        }
        if hlog.read_bytes != line.hlog_bytes {
            let what = format!("intervals.hlog has no line that ends at byte {}", line.hlog_bytes);
            return Err(lines.corrupt(what));
        }
        tracks::complete(&line.tracks, &mut interval.bank).map_err(|what| lines.corrupt(what))?;
        line.fill_in(interval, &self.header);
        self.read.intervals += 1;
        Ok(true)
    }
}

/// Behind the header.
fn open_files(run: &RecordedRun) -> Result<Option<(Lines, Lines)>, FolderError> {
    let path = run.dir.join(LINES_FILE);
    if run.final_document.is_none() && !path.exists() {
        // Killed just after `run.json` was written.
        return Ok(None);
    }
    let mut lines = Lines::open(path)?;
    if !lines.advance()? {
        return Ok(None);
    }
    Ok(Some((lines, Lines::open(run.dir.join(HLOG_FILE))?)))
}

fn read_header(lines: &mut Lines) -> Result<RunHeader, FolderError> {
    if !lines.advance()? {
        return Err(FolderError::NoHeader { path: lines.path.clone() });
    }
    version::lines_header(lines.text()?).map_err(|error| error.in_file(&lines.path, 1))
}

/// Whole lines of a file. What follows the last newline was cut off and is left out.
struct Lines {
    path: PathBuf,
    /// Closed, it is opened again where it was left.
    file: Option<BufReader<File>>,
    bytes: Vec<u8>,
    number: u64,
    read_bytes: u64,
    torn: bool,
}

impl Lines {
    fn open(path: PathBuf) -> Result<Lines, FolderError> {
        let file = Some(open_at(&path, 0)?);
        Ok(Lines { path, file, bytes: Vec::new(), number: 0, read_bytes: 0, torn: false })
    }

    /// Keeps its place, and neither the file nor room for a line.
    fn close(&mut self) {
        (self.file, self.bytes) = (None, Vec::new());
    }

    /// Takes the next line; false at the end.
    fn advance(&mut self) -> Result<bool, FolderError> {
        self.bytes.clear();
        self.number += 1;
        let mut file = match self.file.take() {
            Some(file) => file,
            None => open_at(&self.path, self.read_bytes)?,
        };
        let read = bounded::read_line(&mut file, &mut self.bytes)
            .map_err(|source| FolderError::Read { path: self.path.clone(), source })?;
        self.file = Some(file);
        if self.bytes.last() != Some(&b'\n') {
            self.torn = read > 0;
            return Ok(false);
        }
        self.read_bytes += read as u64;
        self.bytes.pop();
        Ok(true)
    }

    /// Bytes and lines that were read.
    fn place(&self) -> (u64, u64) {
        (self.read_bytes, self.number)
    }

    fn go_back(&mut self, (bytes, number): (u64, u64)) -> Result<(), FolderError> {
        (self.read_bytes, self.number) = (bytes, number);
        let Some(file) = &mut self.file else { return Ok(()) };
        let found = file.seek(SeekFrom::Start(bytes));
        found.map(drop).map_err(|source| FolderError::Read { path: self.path.clone(), source })
    }

    fn text(&self) -> Result<&str, FolderError> {
        std::str::from_utf8(&self.bytes).map_err(|e| self.corrupt(e.to_string()))
    }

    fn corrupt(&self, what: String) -> FolderError {
        FolderError::Corrupt { path: self.path.clone(), line: self.number, what }
    }
}

fn open_at(path: &Path, place: u64) -> Result<BufReader<File>, FolderError> {
    let opened = File::open(path).and_then(|mut file| file.seek(SeekFrom::Start(place)).map(|_| file));
    opened.map(BufReader::new).map_err(|source| FolderError::Read { path: path.to_path_buf(), source })
}
