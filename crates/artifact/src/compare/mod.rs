//! From run folders to one document that compares them.

mod document;
mod knees;
mod load;

pub use document::{
    BandPoint, COMPARE_SCHEMA, CompareDocument, ComparedJourney, ComparedRun, ComparisonOutcome, Line,
    NoVerdictReason, Quantity, Rule, Side,
};
pub use knees::{COMPARE_KNEES_SCHEMA, ComparedKnee, KneesDocument, KneesError, compare_knees, knee_folders};
pub(crate) use knees::{of_search, read_searches};
pub use load::{Offered, load_difference};

use self::load::difference;
use crate::document::{Finding, RunDocument, RunStatus, Severity, Tool, ValidityStatus};
use crate::folder::{FolderError, RUN_FILE, replay};
use crate::header::RunHeader;
use crate::names::few;
use std::path::{Path, PathBuf};
use unblink_analysis::compare::{self as analysis, ComparisonVerdict, NoVerdict};
use unblink_analysis::finding::FindingCode;
use unblink_analysis::quantile::nearest_rank;
use unblink_analysis::validity::{GENERATOR_IS_NARROWEST, is_targets_doing};
use unblink_core::record::Apart;

/// Why runs can't be compared.
#[derive(Debug, thiserror::Error)]
pub enum CompareError {
    /// A run folder can't be read.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A folder holds no run.
    #[error("{path} holds no run: name the folder of a run (with {RUN_FILE} in it), or one that holds such folders", path = path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// The load is not the same.
    #[error(
        "{first} and {other} can't be compared: {what}; measure both sides with the same load",
        first = first.display(), other = other.display()
    )]
    DifferentLoad {
        /// A run.
        first: PathBuf,
        /// The run that differs from it.
        other: PathBuf,
        /// What differs.
        what: String,
    },
    /// A run has no such request or journey.
    #[error("{folder} has no request or journey called {name:?}, or keeps its times with others; it has {}", few(names), folder = folder.display())]
    NoRequest {
        /// The run.
        folder: PathBuf,
        /// What was asked for.
        name: String,
        /// What there is.
        names: Vec<String>,
    },
    /// Several requests or journeys of a run have the name.
    #[error("{folder} has {number} requests or journeys called {name:?}: give them names of their own, in a plan", folder = folder.display())]
    SeveralRequests {
        /// The run.
        folder: PathBuf,
        /// What was asked for.
        name: String,
        /// How many there are.
        number: usize,
    },
    /// Some of a request's times are not known.
    #[error("{folder} had no room for all times of the request {name:?}: compare all requests, or send fewer different ones", folder = folder.display())]
    Spilled {
        /// The run.
        folder: PathBuf,
        /// What was asked for.
        name: String,
    },
    /// One run counts twice.
    #[error(
        "{first} and {other} are the same run, which {twice}: a run is always like itself; leave one of them out, and to \
         measure the noise, repeat the run",
        first = first.display(), other = other.display(),
        twice = if *is_on_both_sides { "stands on both sides" } else { "stands twice on one side" }
    )]
    SameRun {
        /// A folder.
        first: PathBuf,
        /// The same, or a copy of it.
        other: PathBuf,
        /// One of them is a baseline, the other a candidate.
        is_on_both_sides: bool,
    },
}

/// What to compare, and by which rule.
#[derive(Clone, Debug)]
pub struct CompareSpec {
    /// Run folders.
    pub baseline: Vec<PathBuf>,
    /// Run folders.
    pub candidate: Vec<PathBuf>,
    /// The percentile that decides.
    pub quantile: f64,
    /// The request or journey that is compared alone.
    pub request: Option<String>,
    /// A smaller relative difference is not a regression.
    pub effect_min: f64,
    /// Both sides are the same target.
    pub a_a: bool,
    /// Not every run was measured: there is no verdict.
    pub interrupted: bool,
    /// Which tool compares.
    pub tool: Tool,
    /// The command line, secrets masked.
    pub command: Vec<String>,
}

/// The run folders that `path` stands for: itself, or those in it, by the number in their names.
pub fn run_folders(path: &Path) -> Result<Vec<PathBuf>, CompareError> {
    let is_run = |folder: &Path| folder.join(RUN_FILE).is_file();
    if is_run(path) {
        return Ok(vec![path.to_path_buf()]);
    }
    let read = |source| FolderError::Read { path: path.to_path_buf(), source };
    let entries = std::fs::read_dir(path).map_err(read)?;
    let mut folders: Vec<PathBuf> =
        entries.filter_map(|entry| Some(entry.ok()?.path())).filter(|folder| is_run(folder)).collect();
    if folders.is_empty() {
        return Err(CompareError::NoRun { path: path.to_path_buf() });
    }
    let number = |folder: &PathBuf| folder.file_name()?.to_str()?.parse::<u64>().ok();
    folders.sort_by(|a, b| number(a).cmp(&number(b)).then_with(|| a.cmp(b)));
    Ok(folders)
}

/// Does this run count? If not, why not.
pub fn left_out(document: &RunDocument) -> Option<String> {
    let worst = document.validity.findings.first();
    let share = share(document);
    match (document.status, document.validity.status) {
        (RunStatus::Running, _) => Some("it still goes on, or was killed".into()),
        (RunStatus::Interrupted, _) => Some("it was interrupted".into()),
        (RunStatus::Aborted, _) => Some("it was stopped early, by --abort-on or a guard".into()),
        (RunStatus::Complete, _) if share.is_some() => share.map(|name| {
            format!(
                "it is {name} of a load, and no run: merge the folders of all its machines (unblink merge)"
            )
        }),
        (RunStatus::Complete, ValidityStatus::Invalid) => {
            Some(worst.map_or("it is invalid".into(), |finding| format!("invalid: {}", finding.message)))
        }
        (RunStatus::Complete, _) => {
            let lacks = document.validity.finding(FindingCode::AgentsLost);
            lacks.map(|finding| format!("the load was not that of all its machines: {}", finding.message))
        }
    }
}

/// What only some of a load's machines have measured is no run: the target met the others, too, or should have.
fn share(document: &RunDocument) -> Option<String> {
    document.validity.finding(FindingCode::OneShare)?;
    document.agents.first().map(|agent| agent.plan.name())
}

/// Did the target fail under this load, with a generator that did its part? A complete run is then invalid by the
/// target's doing alone; says how it failed. Without some of its machines it met another load.
pub fn target_failed(document: &RunDocument) -> Option<String> {
    let mut invalidating =
        document.validity.findings.iter().filter(|f| f.severity == Severity::Invalidates).peekable();
    let is_targets_doing = |finding: &Finding| {
        let narrowest = finding.evidence.get(GENERATOR_IS_NARROWEST).copied();
        is_targets_doing(&finding.code, narrowest.unwrap_or(0.0) > 0.0)
    };
    let is_complete = document.status == RunStatus::Complete;
    let first = *invalidating.peek()?;
    let is_whole = share(document).is_none() && document.validity.finding(FindingCode::AgentsLost).is_none();
    (is_complete && is_whole && invalidating.all(is_targets_doing)).then(|| first.message.clone())
}

/// Reads every run and compares.
pub fn compare(spec: &CompareSpec) -> Result<CompareDocument, CompareError> {
    let place = analysis::quantities().position(|q| q == analysis::Quantity::Percentile(spec.quantile));
    let read = |folders: &[PathBuf], first: usize| {
        folders
            .iter()
            .zip(first..)
            .map(|(folder, number)| read(folder, number as u64, spec.request.as_deref()))
            .collect::<Result<Vec<_>, _>>()
    };
    let (baseline, candidate) = (read(&spec.baseline, 0)?, read(&spec.candidate, spec.baseline.len())?);
    let all: Vec<&ReadRun> = baseline.iter().chain(&candidate).collect();
    if let Some((first, other)) = same(&all) {
        let is_on_both_sides = first < baseline.len() && other >= baseline.len();
        let folder = |i: usize| all[i].folder.clone();
        return Err(CompareError::SameRun { first: folder(first), other: folder(other), is_on_both_sides });
    }
    for other in &all[1..] {
        if let Some(what) = difference(&all[0].document, &other.document) {
            let (first, other) = (all[0].folder.clone(), other.folder.clone());
            return Err(CompareError::DifferentLoad { first, other, what });
        }
    }
    let counting =
        |side: &[ReadRun]| -> Vec<analysis::Run> { side.iter().filter_map(|r| r.run.clone()).collect() };
    let (base, cand) = (counting(&baseline), counting(&candidate));
    let rule = analysis::Rule { quantile: spec.quantile, effect_min: spec.effect_min };
    // What the baseline fails in, too, the candidate is not to blame for.
    let is_baseline_sound = !spec.a_a && !baseline.iter().any(|run| target_failed(&run.document).is_some());
    let fails = |run: &&ReadRun| is_baseline_sound && target_failed(&run.document).is_some();
    let failed = candidate.iter().filter(fails).count();
    let found = (!base.is_empty() && cand.len() + failed > 0)
        .then(|| analysis::compare_with_failed(&base, &cand, failed, &rule));
    let (outcome, mut reason) = match found.as_ref().map(|found| found.verdict) {
        _ if spec.interrupted => (ComparisonOutcome::NoVerdict, Some(NoVerdictReason::Interrupted)),
        Some(verdict) => said(verdict),
        None => (ComparisonOutcome::NoVerdict, Some(NoVerdictReason::TooFewRuns)),
    };
    // One each that are left of several are not what was asked for.
    let complete = all.iter().filter(|run| run.document.status == RunStatus::Complete).count();
    if reason == Some(NoVerdictReason::WithinRunOnly) && complete > 2 {
        reason = Some(NoVerdictReason::TooFewRuns);
    }
    let lines = found.iter().flat_map(|found| found.lines.iter().zip(0..));
    let (lines, unsupported): (Vec<_>, Vec<_>) =
        lines.partition(|(line, i)| Some(*i) == place || !line.few_samples);
    Ok(CompareDocument {
        schema: COMPARE_SCHEMA.to_string(),
        tool: spec.tool.clone(),
        command: spec.command.clone(),
        plan: all[0].document.plan.clone(),
        loads: all[0].document.load_plans(),
        a_a: spec.a_a,
        simulated: all[0].document.simulated.is_some(),
        outcome,
        reason,
        rule: Rule {
            quantile: spec.quantile,
            request: spec.request.clone(),
            effect_min: spec.effect_min,
            alarm_level: analysis::ALARM_LEVEL,
            runs_min: analysis::RUNS_MIN as u32,
            power: analysis::POWER,
        },
        p_value: found.as_ref().and_then(|found| found.p_value),
        splits: found
            .as_ref()
            .and_then(|f| f.p_value)
            .map(|_| analysis::permutation::splits(base.len(), cand.len() + failed)),
        noise_sd: found.as_ref().and_then(|found| found.noise_sd),
        smallest_findable: found.as_ref().and_then(|found| found.smallest_findable),
        one_after_the_other: one_after_the_other(&baseline, &candidate),
        lines: lines.into_iter().map(|(found, i)| line(found, Some(i) == place)).collect(),
        journeys: journeys(&baseline, &candidate),
        unsupported: unsupported
            .iter()
            .filter_map(|(line, _)| match line.quantity {
                analysis::Quantity::Percentile(q) => Some(q),
                _ => None,
            })
            .collect(),
        baseline: side(baseline, &base, spec, false),
        candidate: side(candidate, &cand, spec, is_baseline_sound),
    })
}

struct ReadRun {
    folder: PathBuf,
    document: RunDocument,
    /// Set when it counts.
    run: Option<analysis::Run>,
    /// The same of each journey, where journeys are shown beside the rest.
    journeys: Vec<Option<analysis::Run>>,
}

fn read(folder: &Path, number: u64, request: Option<&str>) -> Result<ReadRun, CompareError> {
    let (tally, ending) = replay(folder, None, None)?;
    let document = tally.document(&ending);
    let of = match request {
        Some(name) => place_of(folder, tally.header(), name)?,
        None => None,
    };
    if let Some(name) = request.filter(|_| of.is_some_and(|of| tally.has_spilled(of))) {
        let (folder, name) = (folder.to_path_buf(), name.to_string());
        return Err(CompareError::Spilled { folder, name });
    }
    let counts = left_out(&document).is_none();
    let journeys = (0..document.journeys.len()).map(|place| (Apart::Journey, place));
    // One that is compared alone has the lines to itself, and of one whose times are not all known nothing is said.
    let is_shown = |of: &(Apart, usize)| counts && request.is_none() && !tally.has_spilled(*of);
    let journeys = journeys.map(|of| is_shown(&of).then(|| tally.compared(&document, number, Some(of))));
    let journeys = journeys.collect();
    let run = counts.then(|| tally.compared(&document, number, of));
    Ok(ReadRun { folder: folder.to_path_buf(), document, run, journeys })
}

/// The place of the request or journey called `name` among those recorded apart; `None`: it is the only request.
fn place_of(folder: &Path, header: &RunHeader, name: &str) -> Result<Option<(Apart, usize)>, CompareError> {
    let operations = header.operations.iter().filter(|operation| operation.name == name).count();
    let journeys = header.journeys.iter().filter(|journey| journey.name == name).count();
    if operations + journeys > 1 {
        let (folder, name, number) = (folder.to_path_buf(), name.to_string(), operations + journeys);
        return Err(CompareError::SeveralRequests { folder, name, number });
    }
    let names = || header.operations.iter().map(|operation| &operation.name);
    let is_one = |of: &Option<(Apart, usize)>| {
        of.is_none_or(|(by, _)| matches!(by, Apart::Operation | Apart::Journey))
    };
    let found = header.part_called(name).filter(is_one).filter(|_| operations + journeys > 0);
    found.ok_or_else(|| {
        let names = names().chain(header.journeys.iter().map(|journey| &journey.name)).cloned().collect();
        CompareError::NoRequest { folder: folder.to_path_buf(), name: name.into(), names }
    })
}

/// Every journey that both sides have, with its lines. Of several runs that count, each must know it.
fn journeys(baseline: &[ReadRun], candidate: &[ReadRun]) -> Vec<ComparedJourney> {
    let all = baseline.first().map(|run| run.document.journeys.iter()).into_iter().flatten().enumerate();
    all.filter_map(|(place, journey)| {
        let of = |side: &[ReadRun]| -> Option<Vec<analysis::Run>> {
            let counting = side.iter().filter(|run| run.run.is_some());
            let runs: Option<Vec<_>> =
                counting.map(|run| run.journeys.get(place).cloned().flatten()).collect();
            runs.filter(|runs| !runs.is_empty())
        };
        let lines = analysis::lines(&of(baseline)?, &of(candidate)?);
        let lines = lines.iter().filter(|found| !found.few_samples).map(|found| line(found, false)).collect();
        Some(ComparedJourney { name: journey.name.clone(), lines })
    })
    .collect()
}

/// The first two places that hold one run, by what was recorded: a copy is the same run wherever it lies.
fn same(runs: &[&ReadRun]) -> Option<(usize, usize)> {
    let ids: Vec<String> = runs.iter().map(|run| run.document.id()).collect();
    let earlier = |other: usize| Some((ids[..other].iter().position(|id| *id == ids[other])?, other));
    (0..ids.len()).find_map(earlier)
}

fn said(verdict: ComparisonVerdict) -> (ComparisonOutcome, Option<NoVerdictReason>) {
    let why = match verdict {
        ComparisonVerdict::Regression => return (ComparisonOutcome::Regression, None),
        ComparisonVerdict::Improvement => return (ComparisonOutcome::Improvement, None),
        ComparisonVerdict::NoRegression => return (ComparisonOutcome::NoRegression, None),
        ComparisonVerdict::None(why) => why,
    };
    let reason = match why {
        NoVerdict::WithinRunOnly => NoVerdictReason::WithinRunOnly,
        NoVerdict::TooFewRuns => NoVerdictReason::TooFewRuns,
        NoVerdict::TooManyRuns => NoVerdictReason::TooManyRuns,
        NoVerdict::BaselineUnknown => NoVerdictReason::BaselineUnknown,
        NoVerdict::CandidateUnknown => NoVerdictReason::CandidateUnknown,
        NoVerdict::FailuresDiffer => NoVerdictReason::FailuresDiffer,
        NoVerdict::CandidateFails => NoVerdictReason::CandidateFails,
    };
    (ComparisonOutcome::NoVerdict, Some(reason))
}

/// Simulated runs don't care when they were simulated.
fn one_after_the_other(baseline: &[ReadRun], candidate: &[ReadRun]) -> bool {
    let began = |side: &[ReadRun]| -> Vec<String> {
        side.iter().filter(|r| r.run.is_some()).map(|r| r.document.started_at.clone()).collect()
    };
    let is_real = baseline.iter().chain(candidate).all(|r| r.document.simulated.is_none());
    let (base, cand) = (began(baseline), began(candidate));
    let before = |a: &[String], b: &[String]| a.iter().max() < b.iter().min();
    is_real && base.len().min(cand.len()) > 1 && (before(&base, &cand) || before(&cand, &base))
}

/// `may_fail`: runs in which the target failed count.
fn side(runs: Vec<ReadRun>, counting: &[analysis::Run], spec: &CompareSpec, may_fail: bool) -> Side {
    let spectrum = analysis::band(counting);
    let first = runs.first().map(|run| &run.document);
    let targets = first.map(|document| document.targets.clone()).unwrap_or_default();
    let targets_beyond = first.and_then(|document| document.targets_beyond.clone());
    let mut runs: Vec<ComparedRun> = runs.iter().map(|run| compared_run(run, spec, may_fail)).collect();
    runs.sort_by(|a, b| a.started_at.cmp(&b.started_at));
    Side { targets, targets_beyond, runs, spectrum }
}

fn compared_run(run: &ReadRun, spec: &CompareSpec, may_fail: bool) -> ComparedRun {
    let (document, quantile) = (&run.document, spec.quantile);
    let response = document.time_of(spec.request.as_deref());
    let target_failed = target_failed(document).filter(|_| may_fail);
    let value = response.quantiles.iter().find(|q| q.q == quantile);
    ComparedRun {
        folder: run.folder.display().to_string(),
        started_at: document.started_at.clone(),
        status: document.status,
        validity: document.validity.status,
        left_out: left_out(document).filter(|_| target_failed.is_none()),
        target_failed,
        degraded_by: document
            .validity
            .findings
            .iter()
            .find(|finding| {
                document.validity.status == ValidityStatus::Degraded && finding.severity == Severity::Degrades
            })
            .map(|finding| finding.message.clone()),
        samples_above: value.map(|_| samples_above(response.count, quantile)),
        value_ns: value.map(|value| value.value),
        censored: value.is_some_and(|value| value.censored),
        achieved_per_s: document.rate.achieved,
        error_share: document.arrivals.error_share().unwrap_or(0.0),
    }
}

/// Above the nearest rank.
fn samples_above(count: u64, quantile: f64) -> u64 {
    count.saturating_sub(nearest_rank(quantile, count))
}

fn line(line: &analysis::Line, decides: bool) -> Line {
    let (quantity, quantile) = match line.quantity {
        analysis::Quantity::Percentile(q) => (Quantity::Percentile, Some(q)),
        analysis::Quantity::Throughput => (Quantity::Throughput, None),
        analysis::Quantity::Errors => (Quantity::Errors, None),
    };
    Line {
        quantity,
        quantile,
        decides,
        few_samples: line.few_samples,
        baseline: line.baseline,
        candidate: line.candidate,
        baseline_censored: line.baseline_censored,
        candidate_censored: line.candidate_censored,
        change: line.change,
        low: line.interval.map(|(low, _)| low),
        high: line.interval.map(|(_, high)| high),
    }
}
