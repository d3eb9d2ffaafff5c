//! A percentile over the runs of a series, and where its level changed.

use super::{IndexedRun, levels};
use crate::document::{Requested, RunStatus, TargetsBeyond, ValidityStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use unblink_analysis::change_points::ALARM_LEVEL;
use unblink_analysis::finding::FindingCode;

/// The version of [`TrendDocument`] that this crate writes.
pub const TREND_SCHEMA: &str = "unblink.trend/1";

/// A percentile of response time over the runs of one load on one target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendDocument {
    /// Always `unblink.trend/1`.
    pub schema: String,
    /// Where the index is, passwords masked.
    pub store: String,
    /// What its runs have in common, as in the history.
    pub series: String,
    /// Their load in one line.
    pub load: String,
    /// What they requested.
    pub targets: Vec<Requested>,
    /// Those of them that are not listed, where there were very many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub targets_beyond: Option<TargetsBeyond>,
    /// No request was sent.
    pub simulated: bool,
    /// The percentile, 0 to 1.
    pub quantile: f64,
    /// How often a series without a change is said to have one.
    pub alarm_level: f64,
    /// Runs that count, oldest first.
    pub runs: Vec<TrendRun>,
    /// Runs that do not, oldest first.
    pub left_out: Vec<LeftOutRun>,
    /// Where the level changed, oldest first.
    pub changes: Vec<LevelChange>,
    /// There are older runs; `--last` takes more in.
    pub more: bool,
}

/// A run in a trend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendRun {
    /// Its name in the history.
    pub id: String,
    /// When t = 0 was, RFC 3339 in UTC.
    pub started_at: String,
    /// The tag that it goes by, its commit unless told otherwise; `null` when it has none.
    pub label: Option<String>,
    /// The percentile; a lower bound when `censored`.
    pub value_ns: u64,
    /// It lies beyond what is known: read `> value`.
    pub censored: bool,
    /// Lower end of its 95 % interval, which holds for this run alone.
    pub low_ns: Option<u64>,
    /// Upper end.
    pub high_ns: Option<u64>,
}

/// A run that does not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutRun {
    /// Its name in the history.
    pub id: String,
    /// When t = 0 was, RFC 3339 in UTC.
    pub started_at: String,
    /// Why.
    pub why: String,
}

/// A change of the level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LevelChange {
    /// Place in `runs` of the first run at the new level, from 0.
    pub at: usize,
    /// Its name in the history.
    pub id: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// Its label.
    pub label: Option<String>,
    /// Geometric mean of the runs from the change before to this one.
    pub before_ns: f64,
    /// That from this one to the next change.
    pub after_ns: f64,
    /// after / before − 1.
    pub change: f64,
    /// How often runs in random order show a change as clear as this.
    pub p_value: f64,
}

/// What a trend is drawn of.
#[derive(Clone, Debug)]
pub struct TrendSpec {
    /// Where the index is, passwords masked.
    pub store: String,
    /// The percentile, 0 to 1.
    pub quantile: f64,
    /// Tags that a run may go by; the first that it has.
    pub labels: Vec<String>,
    /// There are older runs.
    pub more: bool,
}

/// The trend of `runs`, newest first and all of one series; `None` when there are none.
pub fn trend(runs: &[IndexedRun], spec: TrendSpec) -> Option<TrendDocument> {
    let first = runs.first()?;
    let (mut counting, mut left_out) = (Vec::new(), Vec::new());
    for run in runs.iter().rev() {
        match counted(run, &spec) {
            Ok(point) => counting.push(point),
            Err(why) => {
                let (id, started_at) = (run.id.clone(), run.started_at.clone());
                left_out.push(LeftOutRun { id, started_at, why: why.into() });
            }
        }
    }
    Some(TrendDocument {
        schema: TREND_SCHEMA.into(),
        store: spec.store,
        series: first.series.clone(),
        load: first.load.clone(),
        targets: first.targets.clone(),
        targets_beyond: first.targets_beyond.clone(),
        simulated: first.simulated,
        quantile: spec.quantile,
        alarm_level: ALARM_LEVEL,
        changes: changes(&counting),
        runs: counting,
        left_out,
        more: spec.more,
    })
}

fn counted(run: &IndexedRun, spec: &TrendSpec) -> Result<TrendRun, &'static str> {
    match (run.status, run.validity.status) {
        (RunStatus::Running, _) => return Err("it was killed, or still goes on"),
        (RunStatus::Interrupted, _) => return Err("it was interrupted"),
        (RunStatus::Aborted, _) => return Err("it was stopped early, by --abort-on or a guard"),
        (RunStatus::Complete, _) if run.validity.finding(FindingCode::OneShare).is_some() => {
            return Err("it is one machine's share of a load");
        }
        (RunStatus::Complete, ValidityStatus::Invalid) => return Err("it is invalid"),
        (RunStatus::Complete, _) if run.validity.finding(FindingCode::AgentsLost).is_some() => {
            return Err("machines of it were lost, or stopped early");
        }
        (RunStatus::Complete, _) => {}
    }
    let quantile = run.response_time.quantiles.iter().find(|quantile| quantile.q == spec.quantile);
    let quantile = quantile.ok_or("it has no such percentile")?;
    Ok(TrendRun {
        id: run.id.clone(),
        started_at: run.started_at.clone(),
        label: spec.labels.iter().find_map(|label| run.tags.get(label)).cloned(),
        value_ns: quantile.value,
        censored: quantile.censored,
        low_ns: quantile.low,
        high_ns: quantile.high,
    })
}

fn changes(runs: &[TrendRun]) -> Vec<LevelChange> {
    let found = levels::changes(runs.iter().map(|run| run.value_ns.max(1) as f64));
    found
        .into_iter()
        .map(|change| {
            let run = &runs[change.at];
            LevelChange {
                at: change.at,
                id: run.id.clone(),
                started_at: run.started_at.clone(),
                label: run.label.clone(),
                before_ns: change.before,
                after_ns: change.after,
                change: change.change,
                p_value: change.p_value,
            }
        })
        .collect()
}
