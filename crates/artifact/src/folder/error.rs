//! What can go wrong with a run folder.

use std::io;
use std::path::PathBuf;

/// What went wrong with a run folder, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// The folder holds something already.
    #[error("{path} is not empty: a run is never written over another one; name a folder that does not exist yet", path = path.display())]
    NotEmpty {
        /// The folder.
        path: PathBuf,
    },
    /// The folder can't be made.
    #[error("can't create the folder {path}: {source}; name a place that you may write to", path = path.display())]
    Create {
        /// The folder.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file can't be written.
    #[error("can't write {path}: {source}; the run goes on without its folder, the result is not lost, but what is recorded from here on can't be replayed", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file can't be read.
    #[error("can't read {path}: {source}; a run folder holds run.json, intervals.hlog and intervals.jsonl", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line can't be understood.
    #[error("{path}, line {line}: {what}; the file was changed or damaged after it was written", path = path.display())]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: u64,
        /// What is wrong with it.
        what: String,
    },
    /// Of the record of a run that ended, not even the first line is whole.
    #[error("{path} breaks off in its first line, so nothing that the run recorded can be read; copy it again from where it was written", path = path.display())]
    NoHeader {
        /// The file.
        path: PathBuf,
    },
    /// The folder comes from another version.
    #[error("{path} holds {found:?}, this version of unblink reads {expected:?}; use the version that wrote it", path = path.display())]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// What it says.
        found: String,
        /// What is read here.
        expected: &'static str,
    },
    /// The start time can't be understood.
    #[error("the start time {found:?} is not a time as in RFC 3339: {why}")]
    StartedAt {
        /// What was given.
        found: String,
        /// Why not.
        why: String,
    },
    /// Nothing lies in the part that was asked for.
    #[error(
        "nothing was recorded between {from_s} s and {to_s} s: the run was recorded from {first_s} s to {last_s} s"
    )]
    EmptyPart {
        /// Asked for, in seconds after t = 0.
        from_s: f64,
        /// Asked for, in seconds after t = 0.
        to_s: f64,
        /// Recorded from.
        first_s: f64,
        /// Recorded to.
        last_s: f64,
    },
}
