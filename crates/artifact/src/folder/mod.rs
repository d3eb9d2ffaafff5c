//! The run folder: what a run leaves on disk, and how it is read again.
//!
//! | file | holds |
//! |---|---|
//! | `run.json` | while the run goes on: schema, `status: "running"`, header; at the end the run document |
//! | `intervals.hlog` | histograms of each interval, as an HdrHistogram log |
//! | `watch.jsonl` | what a soak saw beside the load (`--watch-pid`, `--watch-path`) |
//! | `values.json` | while the run goes on: what was drawn for the requests that were sent so far |
//! | `failures.jsonl` | the first requests to fail in each way (`--keep-failures`) |
//! | `intervals.jsonl` | the header, then one line for each interval: every count, exact sums and maxima |
//!
//! An interval is committed by its line in `intervals.jsonl`, which names the length of the
//! `intervals.hlog` that belongs to it. Each is one write, the log first, so that a process that is
//! killed loses the interval under way and nothing else.

mod by_name;
mod differing;
mod error;
mod failures;
mod following;
mod heat;
mod hlog;
mod kinds;
mod line;
mod merge;
mod merged_header;
mod merging;
mod moments;
mod operation_line;
mod origin_line;
mod outcomes;
mod reader;
mod replay;
mod sample_line;
mod tracks;
mod v1;
mod values;
mod version;
mod watch;
mod writer;

pub use error::FolderError;
pub use failures::{FAILURES_FILE, FailureWriter};
pub use following::{Followed, Following};
pub use merge::{Broken, merge, merge_telling};
pub use merged_header::MergeError;
pub use reader::{IntervalsRead, RecordedRun, check_folder, read_folder};
pub use replay::{leave_out_transient, replay, replay_as, report_part};
pub use values::{VALUES_FILE, ValuesWriter};
pub use watch::{WATCH_FILE, WatchWriter};
pub use writer::{FolderWriter, ReservedFolder, WriterState};

use crate::document::RunStatus;
use crate::header::RunHeader;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The run document, or [`RunningDocument`] before there is one.
pub const RUN_FILE: &str = "run.json";
/// Histograms by interval.
pub const HLOG_FILE: &str = "intervals.hlog";
/// Counts by interval.
pub const LINES_FILE: &str = "intervals.jsonl";

/// The version of `intervals.jsonl` that this crate writes.
pub const LINES_SCHEMA: &str = "unblink.intervals/2";

/// `run.json` while the run goes on, and for good when it was killed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunningDocument {
    /// As in the run document.
    pub schema: String,
    /// Always `running`.
    pub status: RunStatus,
    /// What the run is to do.
    pub header: RunHeader,
}
