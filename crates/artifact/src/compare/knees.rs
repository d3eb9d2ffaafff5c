//! From the documents of searches to one that says whether the highest rate has changed.

use super::ComparisonOutcome;
use crate::bounded::{self, SEARCH_BYTES_MAX};
use crate::document::Tool;
use crate::knee::{KneeDocument, KneeStatus, RefusalCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use unblink_analysis::compare::knees::{Moved, Searched, compare};

/// The version of [`KneesDocument`] that this crate writes.
pub const COMPARE_KNEES_SCHEMA: &str = "unblink.compare-knees/1";
/// The document of a search in its folder.
const KNEE_FILE: &str = "knee.json";

/// Has the highest rate that meets an objective changed?
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KneesDocument {
    /// Always `unblink.compare-knees/1`.
    pub schema: String,
    /// Which tool compared.
    pub tool: Tool,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// The objective of every search.
    pub objective: String,
    /// How arrivals lay around the rate: `even` or `poisson`.
    pub process: String,
    /// Nothing was sent: the targets are simulated.
    pub simulated: bool,
    /// The load came from one kind of machine; otherwise the ratio is given, without a verdict.
    pub same_environment: bool,
    /// The answer.
    pub outcome: ComparisonOutcome,
    /// A smaller change, as a share of the baseline, does not count.
    pub effect_min: f64,
    /// Candidate over baseline; `null` when a search has no answer, only a bracket.
    pub ratio: Option<f64>,
    /// Lower end of its interval; `null` when a bracket is open there.
    pub ratio_low: Option<f64>,
    /// Upper end of its interval.
    pub ratio_high: Option<f64>,
    /// Two-sided, of the exact permutation test over five searches of each side or more; `null` where brackets decide.
    pub p_value: Option<f64>,
    /// Searches of the baseline.
    pub baseline: Vec<ComparedKnee>,
    /// Searches of the candidate.
    pub candidate: Vec<ComparedKnee>,
}

/// A search in a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ComparedKnee {
    /// Where it is.
    pub folder: String,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// What was searched.
    pub target: String,
    /// The machine that offered the load.
    pub machine: String,
    /// The answer; `null` when there is only a bracket.
    pub rate_per_s: Option<f64>,
    /// Shown to be good.
    pub good_per_s: Option<f64>,
    /// Shown not to be.
    pub missed_from_per_s: Option<f64>,
    /// Why it does not count; `null`: it does.
    pub left_out: Option<String>,
}

/// Why searches can't be compared.
#[derive(Debug, thiserror::Error)]
pub enum KneesError {
    /// A document can't be read.
    #[error("can't read {path:?}: {source}")]
    Read {
        /// The document.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// It is not a document of a search.
    #[error("{path:?} is not a document of unblink knee: {source}")]
    Parse {
        /// The document.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// Something else was asked.
    #[error(
        "{first:?} and {other:?} can't be compared: {what}; search both sides with the same objective and arrivals"
    )]
    Different {
        /// A search.
        first: PathBuf,
        /// The one that differs from it.
        other: PathBuf,
        /// What differs.
        what: String,
    },
    /// One search counts twice.
    #[error(
        "{first:?} and {other:?} are the same search, which is always like itself: leave one of them out"
    )]
    Same {
        /// A folder.
        first: PathBuf,
        /// The same, or a copy of it.
        other: PathBuf,
    },
}

/// The folders of searches that `path` stands for: itself, or those in it; empty when it holds none.
pub fn knee_folders(path: &Path) -> Vec<PathBuf> {
    let is_knee = |folder: &Path| folder.join(KNEE_FILE).is_file();
    if is_knee(path) {
        return vec![path.to_path_buf()];
    }
    let entries = std::fs::read_dir(path).into_iter().flatten();
    let mut folders: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|folder| is_knee(folder)).collect();
    folders.sort();
    folders
}

/// Compares the searches in these folders.
pub fn compare_knees(
    [baseline, candidate]: [&[PathBuf]; 2],
    effect_min: f64,
    tool: Tool,
    command: Vec<String>,
) -> Result<KneesDocument, KneesError> {
    let all = read_searches(baseline.iter().chain(candidate))?;
    let compared: Vec<ComparedKnee> =
        all.iter().map(|(folder, document)| of_search(folder, document)).collect();
    let (before, after) = compared.split_at(baseline.len());
    let searched = |side: &[ComparedKnee]| -> Vec<Searched> {
        let counting = side.iter().filter(|knee| knee.left_out.is_none());
        counting
            .map(|knee| Searched {
                per_s: knee.rate_per_s,
                low_per_s: knee.good_per_s,
                high_per_s: knee.missed_from_per_s,
            })
            .collect()
    };
    let found = compare(&searched(before), &searched(after), effect_min);
    let same_environment = compared.windows(2).all(|pair| pair[0].machine == pair[1].machine);
    let question = all.first().map(|(_, document)| &document.header.question);
    Ok(KneesDocument {
        schema: COMPARE_KNEES_SCHEMA.into(),
        tool,
        command,
        objective: question.map(|q| q.objective.clone()).unwrap_or_default(),
        process: question.map(|q| q.process.clone()).unwrap_or_default(),
        simulated: question.is_some_and(|q| q.simulated),
        same_environment,
        outcome: match found.moved {
            _ if !same_environment => ComparisonOutcome::NoVerdict,
            Moved::Lower => ComparisonOutcome::Regression,
            Moved::Higher => ComparisonOutcome::Improvement,
            Moved::Not => ComparisonOutcome::NoRegression,
            Moved::Unknown => ComparisonOutcome::NoVerdict,
        },
        effect_min,
        ratio: found.ratio,
        ratio_low: found.low,
        ratio_high: found.high,
        p_value: found.p_value,
        baseline: before.to_vec(),
        candidate: after.to_vec(),
    })
}

/// Searches that ask the same, none of them twice.
pub(crate) fn read_searches<'a>(
    folders: impl Iterator<Item = &'a PathBuf>,
) -> Result<Vec<(PathBuf, KneeDocument)>, KneesError> {
    let mut all: Vec<(PathBuf, KneeDocument)> = Vec::new();
    for folder in folders {
        let document = read(folder)?;
        check(&all, folder, &document)?;
        all.push((folder.clone(), document));
    }
    Ok(all)
}

fn read(folder: &Path) -> Result<KneeDocument, KneesError> {
    let path = folder.join(KNEE_FILE);
    let text = bounded::read_text(&path, SEARCH_BYTES_MAX)
        .map_err(|source| KneesError::Read { path: path.clone(), source })?;
    serde_json::from_str(&text).map_err(|source| KneesError::Parse { path, source })
}

/// Both ask the same, and they are two.
fn check(all: &[(PathBuf, KneeDocument)], folder: &Path, document: &KneeDocument) -> Result<(), KneesError> {
    let same = all.iter().find(|(_, other)| {
        other.header.started_at == document.header.started_at
            && other.header.command == document.header.command
            && other.trials == document.trials
    });
    if let Some((first, _)) = same {
        return Err(KneesError::Same { first: first.clone(), other: folder.into() });
    }
    let Some((first, other)) = all.first() else { return Ok(()) };
    let (a, b) = (&other.header.question, &document.header.question);
    let what = match () {
        () if a.objective != b.objective => {
            format!("the objective is {} there and {} here", a.objective, b.objective)
        }
        () if a.process != b.process => format!("arrivals are {} there and {} here", a.process, b.process),
        () if a.simulated != b.simulated => "one target is simulated, the other is real".into(),
        () => return Ok(()),
    };
    Err(KneesError::Different { first: first.clone(), other: folder.into(), what })
}

/// What counts of a search.
pub(crate) fn of_search(folder: &Path, document: &KneeDocument) -> ComparedKnee {
    let environment = &document.header.environment;
    // Written before there were brackets, an answer has its own.
    let answer = document.answer;
    let good = document.bracket.and_then(|bracket| bracket.good_per_s).or(answer.map(|a| a.good_per_s));
    let missed = document.bracket.and_then(|bracket| bracket.missed_from_per_s);
    let missed = missed.or(answer.and_then(|a| a.missed_from_per_s));
    let is_nothing_met =
        document.refused.as_ref().is_some_and(|refusal| refusal.code == RefusalCode::NothingMet);
    let left_out = match document.status {
        KneeStatus::Refused if !is_nothing_met => Some("it gave no answer that can be trusted"),
        KneeStatus::Interrupted => Some("it was interrupted"),
        _ => None,
    };
    let is_border = document.status == KneeStatus::Found;
    ComparedKnee {
        folder: folder.display().to_string(),
        started_at: document.header.started_at.clone(),
        target: document.header.question.target.clone(),
        machine: format!("{}, {} cores", environment.cpu, environment.cores),
        rate_per_s: answer.filter(|_| is_border).map(|answer| answer.rate_per_s),
        good_per_s: good,
        missed_from_per_s: missed,
        left_out: left_out.map(String::from),
    }
}
