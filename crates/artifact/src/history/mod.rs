//! What the history keeps of each run: enough to find it, to judge it and to draw its series without its folder.

mod indexed;
mod knees;
mod labels;
mod levels;
mod series;
mod trend;

pub use indexed::{IndexError, IndexedRun, indexed};
pub use knees::{KneeTrendDocument, LeftOutKnee, RateChange, TREND_KNEES_SCHEMA, TrendKnee, knee_trend};
pub use labels::{LABELS_FILE, LabelError, RunLabels};
pub use trend::{LeftOutRun, LevelChange, TREND_SCHEMA, TrendDocument, TrendRun, TrendSpec, trend};

pub use unblink_analysis::change_points::RUNS_MIN;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The version of [`HistoryDocument`] that this crate writes.
pub const HISTORY_SCHEMA: &str = "unblink.history/1";

/// Indexed runs: what `history`, `show`, `tag`, `baseline` and `index` print with `--json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HistoryDocument {
    /// Always `unblink.history/1`.
    pub schema: String,
    /// Where the index is, passwords masked.
    pub store: String,
    /// Runs, newest first.
    pub runs: Vec<IndexedRun>,
    /// There are older runs that fit; `--limit` shows more.
    pub more: bool,
}

impl HistoryDocument {
    /// Of these runs.
    pub fn new(store: String, runs: Vec<IndexedRun>, more: bool) -> HistoryDocument {
        HistoryDocument { schema: HISTORY_SCHEMA.into(), store, runs, more }
    }
}
