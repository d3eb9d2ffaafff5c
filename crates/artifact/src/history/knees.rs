//! The highest rate that meets an objective over searches, and where its level changed.

use super::levels;
use crate::compare::{KneesError, of_search, read_searches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use unblink_analysis::change_points::ALARM_LEVEL;

/// The version of [`KneeTrendDocument`] that this crate writes.
pub const TREND_KNEES_SCHEMA: &str = "unblink.trend-knees/1";

/// The answers of searches for one objective on one machine, in the order in which they began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneeTrendDocument {
    /// Always `unblink.trend-knees/1`.
    pub schema: String,
    /// The objective of every search.
    pub objective: String,
    /// How arrivals lay around the rate: `even` or `poisson`.
    pub process: String,
    /// What the newest of them searched.
    pub target: String,
    /// Nothing was sent: the targets are simulated.
    pub simulated: bool,
    /// The machine that offered the load.
    pub machine: String,
    /// How often a series without a change is said to have one.
    pub alarm_level: f64,
    /// Searches that count, oldest first.
    pub searches: Vec<TrendKnee>,
    /// Searches that do not, oldest first.
    pub left_out: Vec<LeftOutKnee>,
    /// Where the level changed, oldest first.
    pub changes: Vec<RateChange>,
}

/// A search in a trend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrendKnee {
    /// Where it is.
    pub folder: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// The highest rate.
    pub rate_per_s: f64,
    /// Shown to be good; `null` when none was.
    pub good_per_s: Option<f64>,
    /// Shown not to be.
    pub missed_from_per_s: Option<f64>,
}

/// A search that does not count.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LeftOutKnee {
    /// Where it is.
    pub folder: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// Why.
    pub why: String,
}

/// A change of the highest rate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RateChange {
    /// Place in `searches` of the first one at the new level, from 0.
    pub at: usize,
    /// Where it is.
    pub folder: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// Geometric mean of the rates from the change before to this one.
    pub before_per_s: f64,
    /// That from this one to the next change.
    pub after_per_s: f64,
    /// after / before − 1.
    pub change: f64,
    /// How often searches in random order show a change as clear as this.
    pub p_value: f64,
}

/// The trend of the searches in `folders`, in any order; `None` without any.
pub fn knee_trend(folders: &[PathBuf]) -> Result<Option<KneeTrendDocument>, KneesError> {
    let mut all = read_searches(folders.iter())?;
    all.sort_by(|(_, a), (_, b)| a.header.started_at.cmp(&b.header.started_at));
    let Some((_, newest)) = all.last() else { return Ok(None) };
    let question = newest.header.question.clone();
    let found: Vec<_> = all.iter().map(|(folder, document)| of_search(folder, document)).collect();
    let machine = found.last().map(|knee| knee.machine.clone()).unwrap_or_default();
    let (mut searches, mut left_out) = (Vec::new(), Vec::new());
    for knee in found {
        let why = match (&knee.left_out, knee.rate_per_s) {
            (Some(why), _) => why.clone(),
            (None, _) if knee.machine != machine => "made on another machine than the newest".into(),
            (None, None) => "it has a bracket and no rate".into(),
            (None, Some(rate_per_s)) => {
                searches.push(TrendKnee {
                    folder: knee.folder,
                    started_at: knee.started_at,
                    rate_per_s,
                    good_per_s: knee.good_per_s,
                    missed_from_per_s: knee.missed_from_per_s,
                });
                continue;
            }
        };
        left_out.push(LeftOutKnee { folder: knee.folder, started_at: knee.started_at, why });
    }
    Ok(Some(KneeTrendDocument {
        schema: TREND_KNEES_SCHEMA.into(),
        objective: question.objective,
        process: question.process,
        target: question.target,
        simulated: question.simulated,
        machine,
        alarm_level: ALARM_LEVEL,
        changes: changes(&searches),
        searches,
        left_out,
    }))
}

fn changes(searches: &[TrendKnee]) -> Vec<RateChange> {
    let found = levels::changes(searches.iter().map(|knee| knee.rate_per_s));
    found
        .into_iter()
        .map(|change| {
            let knee = &searches[change.at];
            RateChange {
                at: change.at,
                folder: knee.folder.clone(),
                started_at: knee.started_at.clone(),
                before_per_s: change.before,
                after_per_s: change.after,
                change: change.change,
                p_value: change.p_value,
            }
        })
        .collect()
}
