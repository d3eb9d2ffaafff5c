//! The document of a sign-off: the stages of a plan, each with what came of it.

use crate::document::{Environment, Quantile, RunDocument, SloResult, Tool, ValidityStatus, VerdictStatus};
use crate::knee::{KneeAtLeast, KneeBracket, KneeDocument, KneeRefusal, KneeStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Name and version of the document.
pub const SCHEMA: &str = "unblink.signoff/1";
/// Its file in the folder of a sign-off.
pub const FILE: &str = "signoff.json";
/// The percentiles that it has of a stage; all stand in the stage's own document.
const QUANTILES: [f64; 4] = [0.5, 0.95, 0.99, 0.999];

/// The stages of a plan, and one answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SignoffDocument {
    /// `unblink.signoff/1`.
    pub schema: String,
    /// How far it came.
    pub status: SignoffStatus,
    /// Which tool measured.
    pub tool: Tool,
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// The command line, secrets masked.
    pub command: Vec<String>,
    /// The machine that offered the load.
    pub environment: Environment,
    /// The file of the plan.
    pub plan: String,
    /// Fingerprint of the plan, without what is secret in it: whoever resumes must have the same.
    pub asked: String,
    /// No request was sent: the target is simulated.
    pub simulated: bool,
    /// The stages behind the first one that does not pass are left out (`--fail-fast`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fail_fast: bool,
    /// The worst of the stages; `null` until all have ended.
    pub verdict: Option<VerdictStatus>,
    /// What was asked for, as the stages' documents name it; `null` before the first one has ended.
    pub target: Option<String>,
    /// Each stage, in order.
    pub stages: Vec<SignoffStage>,
}

/// How far a sign-off came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SignoffStatus {
    /// Still going, or killed.
    Running,
    /// Every stage was run, or there is a reason why not.
    Complete,
    /// The user ended it; it can be resumed.
    Interrupted,
}

/// One stage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SignoffStage {
    /// From 1.
    pub number: u32,
    /// Its name in the plan, or its kind.
    pub name: String,
    /// `knee`, `hold`, `soak`, `spike` or `stress`.
    pub kind: String,
    /// How far it came.
    pub status: StageStatus,
    /// Why it was not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The rate in the plan's words; `null` of a search, and where the plan's `[load]` has it.
    pub rate_asked: Option<String>,
    /// The same, with the knee filled in; `null` as long as that is not known.
    pub rate: Option<String>,
    /// Its own folder, below that of the sign-off; `null` before it began.
    pub folder: Option<String>,
    /// The command that does this stage alone, secrets masked.
    pub command: Vec<String>,
    /// Did it meet what was asked of it? `null` as long as it has not ended.
    pub verdict: Option<VerdictStatus>,
    /// What `unblink run` or `unblink knee` would have exited with.
    pub exit_code: Option<u8>,
    /// The key figures of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<StageRun>,
    /// The key figures of a search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub knee: Option<StageKnee>,
}

/// How far a stage came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StageStatus {
    /// Its turn has not come.
    Planned,
    /// Under way, or killed.
    Running,
    /// It has a document of its own.
    Ended,
    /// The user ended it; it is to be run again.
    Interrupted,
    /// It could not be run, or was to be left out.
    NotRun,
}

/// The key figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageRun {
    /// When t = 0 was, RFC 3339 in UTC.
    pub started_at: String,
    /// Can it be believed?
    pub validity: ValidityStatus,
    /// Codes of what was found about it.
    pub findings: Vec<String>,
    /// Measured arrivals by the schedule.
    pub scheduled: u64,
    /// Whole answers, as expected.
    pub ok: u64,
    /// The share that did not end `ok`; `null` where none fell due.
    pub error_share: Option<f64>,
    /// Requests that were to start, per second; `null` when the load is closed.
    pub offered_per_s: Option<f64>,
    /// `ok` per second.
    pub achieved_per_s: f64,
    /// Some percentiles of response time, in nanoseconds.
    pub response_time: Vec<Quantile>,
    /// Each objective.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub slos: Vec<SloResult>,
    /// Why a rule or a guard stopped it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aborted: Option<String>,
    /// It was a guard: then no stage behind it is run.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopped_by_guard: bool,
}

/// The key figures of a search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StageKnee {
    /// When it began, RFC 3339 in UTC.
    pub started_at: String,
    /// How it ended.
    pub status: KneeStatus,
    /// The objective in words.
    pub objective: String,
    /// The rate that later stages take for the knee; `null` where none was found.
    pub knee_per_s: Option<f64>,
    /// The knee is only the highest rate that was shown to be good: where the border is was not looked for.
    pub is_lower_bound: bool,
    /// What lies surely on either side of the border.
    pub bracket: Option<KneeBracket>,
    /// Whether the border reaches the rate that was asked for.
    pub at_least: Option<KneeAtLeast>,
    /// Why there is no answer.
    pub refused: Option<KneeRefusal>,
    /// Finished trials.
    pub trials: u32,
}

impl StageRun {
    /// Of the run's document.
    pub fn of(run: &RunDocument) -> StageRun {
        let quantiles = run.response_time.quantiles.iter().filter(|of| QUANTILES.contains(&of.q));
        StageRun {
            started_at: run.started_at.clone(),
            validity: run.validity.status,
            findings: run.validity.findings.iter().map(|finding| finding.code.to_string()).collect(),
            scheduled: run.arrivals.scheduled,
            ok: run.arrivals.ok,
            error_share: run.arrivals.error_share(),
            offered_per_s: run.rate.offered,
            achieved_per_s: run.rate.achieved,
            response_time: quantiles.cloned().collect(),
            slos: run.verdict.iter().flat_map(|verdict| verdict.slos.clone()).collect(),
            aborted: run.aborted.as_ref().map(|aborted| aborted.rule.clone()),
            stopped_by_guard: run.aborted.as_ref().is_some_and(|aborted| aborted.guard.is_some()),
        }
    }
}

impl StageKnee {
    /// Of the search's document.
    pub fn of(search: &KneeDocument) -> StageKnee {
        let answer = search.answer.map(|answer| answer.rate_per_s);
        let is_told = !matches!(search.status, KneeStatus::Refused | KneeStatus::Interrupted);
        let good = search.bracket.filter(|_| is_told).and_then(|bracket| bracket.good_per_s);
        let answer = answer.filter(|_| is_told);
        StageKnee {
            started_at: search.header.started_at.clone(),
            status: search.status,
            objective: search.header.question.objective.clone(),
            knee_per_s: answer.or(good),
            is_lower_bound: search.status == KneeStatus::AtLeast || (answer.is_none() && good.is_some()),
            bracket: search.bracket,
            at_least: search.at_least,
            refused: search.refused.clone(),
            trials: search.trials.len() as u32,
        }
    }
}

/// What an exit code of `unblink run` or `unblink knee` says about the objectives.
pub fn verdict_of_code(code: u8) -> VerdictStatus {
    match code {
        0 => VerdictStatus::Pass,
        1 => VerdictStatus::Fail,
        _ => VerdictStatus::Inconclusive,
    }
}

impl SignoffStage {
    /// Its run came to its end, or nobody waits for it any more.
    pub fn is_over(&self) -> bool {
        matches!(self.status, StageStatus::Ended | StageStatus::NotRun)
    }

    /// Takes over what came of a run, which was cut off where the sign-off itself `is_interrupted`.
    pub fn take_run(&mut self, run: &RunDocument, is_interrupted: bool, exit_code: u8) {
        self.run = Some(StageRun::of(run));
        self.end(is_interrupted, exit_code);
        // By its objectives alone a run may pass whose figures are not to be trusted: nothing is signed off by it.
        if run.validity.status == ValidityStatus::Invalid && self.verdict == Some(VerdictStatus::Pass) {
            self.verdict = Some(VerdictStatus::Inconclusive);
        }
    }

    /// Takes over what came of a search.
    pub fn take_knee(&mut self, search: &KneeDocument, exit_code: u8) {
        self.knee = Some(StageKnee::of(search));
        self.end(search.status == KneeStatus::Interrupted, exit_code);
    }

    /// It was interrupted before anything came of it.
    pub fn interrupt(&mut self) {
        self.status = StageStatus::Interrupted;
    }

    /// It is left out, for this reason.
    pub fn leave_out(&mut self, why: String) {
        (self.status, self.why) = (StageStatus::NotRun, Some(why));
        self.verdict = Some(VerdictStatus::Inconclusive);
    }

    fn end(&mut self, is_interrupted: bool, exit_code: u8) {
        if is_interrupted {
            self.status = StageStatus::Interrupted;
            return;
        }
        self.status = StageStatus::Ended;
        (self.exit_code, self.verdict) = (Some(exit_code), Some(verdict_of_code(exit_code)));
    }
}

impl SignoffDocument {
    /// The knee that stage `number` goes by, and the stage that found it: of the last search before it.
    pub fn knee_before(&self, number: u32) -> Option<(f64, &SignoffStage)> {
        let mut before = self.stages.iter().rev().filter(|stage| stage.number < number);
        let search = before.find(|stage| stage.kind == "knee")?;
        Some((search.knee.as_ref().filter(|_| search.status == StageStatus::Ended)?.knee_per_s?, search))
    }

    /// The worst of the stages, once all are over.
    pub fn judge(&mut self) {
        let is_over = self.stages.iter().all(SignoffStage::is_over);
        let with = |status| self.stages.iter().any(|stage| stage.verdict == Some(status));
        self.verdict =
            is_over.then(|| match (with(VerdictStatus::Fail), with(VerdictStatus::Inconclusive)) {
                (true, _) => VerdictStatus::Fail,
                (false, true) => VerdictStatus::Inconclusive,
                (false, false) => VerdictStatus::Pass,
            });
    }
}
