//! The JSON Schemas of the documents, as committed in `schema/`.

use crate::compare::{CompareDocument, KneesDocument};
use crate::document::RunDocument;
use crate::folder::RunningDocument;
use crate::history::{HistoryDocument, KneeTrendDocument, TrendDocument};
use crate::knee::KneeDocument;
use crate::lab::{AuditDocument, LabCell, LabDocument};
use crate::mirror::MirrorDocument;
use crate::plan_check::PlanCheckDocument;
use crate::signoff::SignoffDocument;
use crate::size::{ConstantsDocument, SizeDocument};
use crate::trace::TraceSummary;
use crate::tried::{FailuresDocument, TryDocument};
use schemars::JsonSchema;

/// Name of the run document's schema.
pub const RUN_SCHEMA_FILE: &str = "unblink.run-2.schema.json";
/// Name of the comparison's schema.
pub const COMPARE_SCHEMA_FILE: &str = "unblink.compare-2.schema.json";
/// Name of the schema of a comparison of searches.
pub const COMPARE_KNEES_SCHEMA_FILE: &str = "unblink.compare-knees-1.schema.json";
/// Name of the search's schema.
pub const KNEE_SCHEMA_FILE: &str = "unblink.knee-1.schema.json";
/// Name of the sign-off's schema.
pub const SIGNOFF_SCHEMA_FILE: &str = "unblink.signoff-1.schema.json";
/// Name of the mirror's schema.
pub const MIRROR_SCHEMA_FILE: &str = "unblink.mirror-1.schema.json";
/// Name of the history's schema.
pub const HISTORY_SCHEMA_FILE: &str = "unblink.history-1.schema.json";

/// Name of the trend's schema.
pub const TREND_SCHEMA_FILE: &str = "unblink.trend-1.schema.json";
/// Name of the schema of a trend over searches.
pub const TREND_KNEES_SCHEMA_FILE: &str = "unblink.trend-knees-1.schema.json";

/// Name of the schema of what `plan check` finds.
pub const PLAN_CHECK_SCHEMA_FILE: &str = "unblink.plan-check-1.schema.json";
/// Name of the schema of what `try` finds.
pub const TRY_SCHEMA_FILE: &str = "unblink.try-1.schema.json";
/// Name of the schema of the failed requests that a run kept.
pub const FAILURES_SCHEMA_FILE: &str = "unblink.failures-1.schema.json";
/// Name of the planner's schema.
pub const SIZE_SCHEMA_FILE: &str = "unblink.size-1.schema.json";
/// Name of the schema of the planner's constants.
pub const SIZE_CONSTANTS_SCHEMA_FILE: &str = "unblink.size-constants-1.schema.json";
/// Name of the schema of what is in a trace.
pub const TRACE_SUMMARY_SCHEMA_FILE: &str = "unblink.trace-summary-1.schema.json";
/// Name of the schema of one run of one tool in the lab.
pub const LAB_CELL_SCHEMA_FILE: &str = "unblink.lab-cell-1.schema.json";
/// Name of the schema of all of them.
pub const LAB_SCHEMA_FILE: &str = "unblink.lab-1.schema.json";
/// Name of the audit's schema.
pub const AUDIT_SCHEMA_FILE: &str = "unblink.lab-audit-1.schema.json";

/// What `run.json` holds, and `--json` prints: the run document, or, as long as the run goes on and when it was killed,
/// what it is to do.
// Only the shape is asked for.
#[allow(dead_code)]
#[derive(JsonSchema)]
#[serde(untagged)]
enum RunFile {
    Ended(Box<RunDocument>),
    Running(Box<RunningDocument>),
}

/// The JSON Schema (draft 2020-12) of what `run.json` may hold, generated from its types.
pub fn json_schema() -> serde_json::Value {
    schema_of::<RunFile>(RUN_SCHEMA_FILE)
}

/// That of [`CompareDocument`].
pub fn compare_schema() -> serde_json::Value {
    schema_of::<CompareDocument>(COMPARE_SCHEMA_FILE)
}

/// That of [`KneesDocument`].
pub fn compare_knees_schema() -> serde_json::Value {
    schema_of::<KneesDocument>(COMPARE_KNEES_SCHEMA_FILE)
}

/// That of [`KneeDocument`].
pub fn knee_schema() -> serde_json::Value {
    schema_of::<KneeDocument>(KNEE_SCHEMA_FILE)
}

/// That of [`SignoffDocument`].
pub fn signoff_schema() -> serde_json::Value {
    schema_of::<SignoffDocument>(SIGNOFF_SCHEMA_FILE)
}

/// That of [`MirrorDocument`].
pub fn mirror_schema() -> serde_json::Value {
    schema_of::<MirrorDocument>(MIRROR_SCHEMA_FILE)
}

/// That of [`PlanCheckDocument`].
pub fn plan_check_schema() -> serde_json::Value {
    schema_of::<PlanCheckDocument>(PLAN_CHECK_SCHEMA_FILE)
}

/// That of [`TryDocument`].
pub fn try_schema() -> serde_json::Value {
    schema_of::<TryDocument>(TRY_SCHEMA_FILE)
}

/// That of [`FailuresDocument`].
pub fn failures_schema() -> serde_json::Value {
    schema_of::<FailuresDocument>(FAILURES_SCHEMA_FILE)
}

/// That of [`SizeDocument`].
pub fn size_schema() -> serde_json::Value {
    schema_of::<SizeDocument>(SIZE_SCHEMA_FILE)
}

/// That of [`ConstantsDocument`].
pub fn size_constants_schema() -> serde_json::Value {
    schema_of::<ConstantsDocument>(SIZE_CONSTANTS_SCHEMA_FILE)
}

/// That of [`TraceSummary`].
pub fn trace_summary_schema() -> serde_json::Value {
    schema_of::<TraceSummary>(TRACE_SUMMARY_SCHEMA_FILE)
}

/// That of [`LabCell`].
pub fn lab_cell_schema() -> serde_json::Value {
    schema_of::<LabCell>(LAB_CELL_SCHEMA_FILE)
}

/// That of [`LabDocument`].
pub fn lab_schema() -> serde_json::Value {
    schema_of::<LabDocument>(LAB_SCHEMA_FILE)
}

/// That of [`AuditDocument`].
pub fn audit_schema() -> serde_json::Value {
    schema_of::<AuditDocument>(AUDIT_SCHEMA_FILE)
}

/// That of [`HistoryDocument`].
pub fn history_schema() -> serde_json::Value {
    schema_of::<HistoryDocument>(HISTORY_SCHEMA_FILE)
}

/// That of [`TrendDocument`].
pub fn trend_schema() -> serde_json::Value {
    schema_of::<TrendDocument>(TREND_SCHEMA_FILE)
}

/// That of [`KneeTrendDocument`].
pub fn trend_knees_schema() -> serde_json::Value {
    schema_of::<KneeTrendDocument>(TREND_KNEES_SCHEMA_FILE)
}

/// Every committed schema: (file name, schema).
pub fn files() -> [(&'static str, serde_json::Value); 18] {
    [
        (RUN_SCHEMA_FILE, json_schema()),
        (COMPARE_SCHEMA_FILE, compare_schema()),
        (KNEE_SCHEMA_FILE, knee_schema()),
        (SIGNOFF_SCHEMA_FILE, signoff_schema()),
        (MIRROR_SCHEMA_FILE, mirror_schema()),
        (COMPARE_KNEES_SCHEMA_FILE, compare_knees_schema()),
        (PLAN_CHECK_SCHEMA_FILE, plan_check_schema()),
        (TRY_SCHEMA_FILE, try_schema()),
        (FAILURES_SCHEMA_FILE, failures_schema()),
        (SIZE_SCHEMA_FILE, size_schema()),
        (SIZE_CONSTANTS_SCHEMA_FILE, size_constants_schema()),
        (TRACE_SUMMARY_SCHEMA_FILE, trace_summary_schema()),
        (LAB_CELL_SCHEMA_FILE, lab_cell_schema()),
        (LAB_SCHEMA_FILE, lab_schema()),
        (AUDIT_SCHEMA_FILE, audit_schema()),
        (HISTORY_SCHEMA_FILE, history_schema()),
        (TREND_SCHEMA_FILE, trend_schema()),
        (TREND_KNEES_SCHEMA_FILE, trend_knees_schema()),
    ]
}

/// A schema as text, as it is committed.
pub fn schema_text(schema: &serde_json::Value) -> String {
    let mut text = serde_json::to_string_pretty(schema).expect("a JSON value has string keys");
    text.push('\n');
    text
}

/// The schema's own address is its name: nothing is fetched.
fn schema_of<T: JsonSchema>(name: &str) -> serde_json::Value {
    let mut schema = schemars::schema_for!(T).to_value();
    schema["$id"] = name.into();
    schema
}
