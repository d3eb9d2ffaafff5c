//! A sign-off as JUnit XML: a suite for each stage.

use super::{StageDocument, words};
use crate::junit::{CaseOutcome, Suite, Test, suite, suites};
use unblink_artifact::document::VerdictStatus;
use unblink_artifact::signoff::{SignoffDocument, SignoffStage, StageStatus};

pub(super) fn render(doc: &SignoffDocument, parts: &[Option<StageDocument>]) -> String {
    let of = |(place, stage): (usize, &SignoffStage)| {
        let name = words::heading(stage);
        match parts.get(place).and_then(Option::as_ref) {
            Some(StageDocument::Run(run)) if stage.status == StageStatus::Ended => suite(run, name),
            part => {
                let started_at = match part {
                    Some(StageDocument::Knee(search)) => search.header.started_at.clone(),
                    _ => doc.started_at.clone(),
                };
                let measured = match part {
                    Some(StageDocument::Knee(search)) => {
                        search.trials.iter().map(|of| of.settle_ns + of.measured_ns).sum()
                    }
                    _ => 0,
                };
                let class = doc.target.clone().unwrap_or_default();
                Suite { name, class, started_at, seconds: measured as f64 / 1e9, tests: vec![whole(stage)] }
            }
        }
    };
    suites(&doc.stages.iter().enumerate().map(of).collect::<Vec<_>>())
}

/// A stage as one test.
fn whole(stage: &SignoffStage) -> Test {
    let outcome = match (stage.status, stage.verdict) {
        (StageStatus::NotRun, _) => CaseOutcome::Error,
        (StageStatus::Ended, Some(VerdictStatus::Pass)) => CaseOutcome::Passed,
        (StageStatus::Ended, Some(VerdictStatus::Fail)) => CaseOutcome::Failure,
        (StageStatus::Ended, _) => CaseOutcome::Error,
        (StageStatus::Planned | StageStatus::Running | StageStatus::Interrupted, _) => CaseOutcome::Skipped,
    };
    let lines: Vec<String> = words::of_stage(stage).into_iter().map(|(_, line)| line).collect();
    let (_, word) = words::outcome(stage);
    let message = if lines.is_empty() { word.to_string() } else { lines.join(" ") };
    let name = if stage.kind == "knee" { "the knee is found" } else { "the stage is run" };
    Test { name: name.into(), outcome, message, details: String::new() }
}
