//! What is said of a sign-off.

use crate::block::{Block, Paint, Room, Section, Table, Tone, dim, left, plain};
use crate::{facts, format};
use unblink_artifact::document::{ValidityStatus, VerdictStatus};
use unblink_artifact::knee::KneeStatus;
use unblink_artifact::signoff::{
    SignoffDocument, SignoffStage, SignoffStatus, StageKnee, StageRun, StageStatus,
};

/// A word, and the sentence that says why.
pub(super) fn answer(doc: &SignoffDocument) -> (Tone, &'static str, String) {
    let all = doc.stages.len();
    let with = |wanted: VerdictStatus| {
        let numbers = doc.stages.iter().filter(|stage| stage.verdict == Some(wanted));
        numbers.map(|stage| format!("{} ({})", stage.number, stage.name)).collect::<Vec<_>>()
    };
    let over = doc.stages.iter().filter(|stage| stage.is_over()).count();
    if doc.status == SignoffStatus::Interrupted {
        let goes_on = "The same command with --resume and this folder goes on.";
        return (Tone::Doubt, "INTERRUPTED", format!("{over} of {all} stages have ended. {goes_on}"));
    }
    let (missed, open) = (with(VerdictStatus::Fail), with(VerdictStatus::Inconclusive));
    match doc.verdict {
        None => (Tone::Doubt, "NOT FINISHED", format!("{over} of {all} stages have ended.")),
        Some(VerdictStatus::Pass) if all == 1 => (Tone::Good, "PASS", "The only stage passed.".into()),
        Some(VerdictStatus::Pass) => (Tone::Good, "PASS", format!("All {all} stages passed.")),
        Some(VerdictStatus::Fail) => {
            let others = match open.len() {
                0 => String::new(),
                _ => format!(" {} without a verdict: {}.", of(open.len()), open.join(", ")),
            };
            let said = format!("{} missed an objective: {}.{others}", of(missed.len()), missed.join(", "));
            (Tone::Bad, "FAIL", said)
        }
        Some(VerdictStatus::Inconclusive) => {
            let said = format!("{} without a verdict: {}.", of(open.len()), open.join(", "));
            (Tone::Doubt, "NO VERDICT", said)
        }
    }
}

fn of(stages: usize) -> String {
    format::plural(stages as u64, "stage", "stages")
}

/// Whom it is about.
pub(super) fn about(doc: &SignoffDocument) -> String {
    let target = doc.target.as_deref().unwrap_or("the target was not asked");
    format!("{target} · sign-off by {}", doc.plan)
}

pub(super) fn heading(stage: &SignoffStage) -> String {
    let kind = if stage.name == stage.kind { String::new() } else { format!(", {}", stage.kind) };
    format!("{}. {}{kind}", stage.number, stage.name)
}

/// A mark's tone and a word: never colour alone.
pub(super) fn outcome(stage: &SignoffStage) -> (Tone, &'static str) {
    match (stage.status, stage.verdict) {
        (StageStatus::NotRun, _) => (Tone::Doubt, "not run"),
        (StageStatus::Planned, _) => (Tone::Doubt, "not yet run"),
        (StageStatus::Running, _) => (Tone::Doubt, "not finished"),
        (StageStatus::Interrupted, _) => (Tone::Doubt, "interrupted"),
        (StageStatus::Ended, Some(VerdictStatus::Pass)) => (Tone::Good, "passed"),
        (StageStatus::Ended, Some(VerdictStatus::Fail)) => (Tone::Bad, "missed"),
        (StageStatus::Ended, _) => (Tone::Doubt, "no verdict"),
    }
}

/// The rate as it was, or as it was to be.
pub(super) fn rate(stage: &SignoffStage) -> Option<String> {
    match (&stage.rate, &stage.rate_asked) {
        (Some(rate), Some(asked)) if rate != asked => Some(format!("{} ({asked})", format::spaced(rate))),
        (Some(rate), _) => Some(format::spaced(rate)),
        (None, asked) => asked.clone(),
    }
}

/// What matters most, in a few figures.
pub(super) fn key_figures(stage: &SignoffStage) -> String {
    match (&stage.run, &stage.knee) {
        (Some(run), _) => of_run(run),
        (_, Some(search)) => of_search(search),
        _ => String::new(),
    }
}

fn of_run(run: &StageRun) -> String {
    let quantile = |q: f64| run.response_time.iter().find(|quantile| quantile.q == q);
    let p99 = quantile(0.99).map(|quantile| format!("p99 {}", facts::value(quantile)));
    let errors = run.error_share.map(|share| format!("{} not ok", format::percent(share)));
    let validity = match run.validity {
        ValidityStatus::Valid => None,
        ValidityStatus::Degraded => Some("degraded".to_string()),
        ValidityStatus::Invalid => Some("invalid".to_string()),
    };
    [p99, errors, validity].into_iter().flatten().collect::<Vec<_>>().join(", ")
}

fn of_search(search: &StageKnee) -> String {
    match (search.knee_per_s, search.status) {
        (Some(knee), _) if search.is_lower_bound => format!("knee at {} or above", format::rate_asked(knee)),
        (Some(knee), _) => format!("knee at {}", format::rate_asked(knee)),
        (None, KneeStatus::Interrupted) => "no knee yet".into(),
        (None, _) => "no knee found".into(),
    }
}

/// Every stage in a row.
pub(super) fn stages(doc: &SignoffDocument, room: Room) -> Section {
    let row = |stage: &SignoffStage| {
        let (tone, word) = outcome(stage);
        let mark = match tone {
            Tone::Good => '✓',
            Tone::Doubt => '?',
            Tone::Bad => '✗',
        };
        vec![
            plain(format!("{}. {}", stage.number, stage.name)),
            (tone.paint(), format!("{mark}\u{a0}{}", word.replace(' ', "\u{a0}"))),
            plain(rate(stage).unwrap_or("–".into())),
            plain(key_figures(stage)),
            dim(stage.folder.clone().unwrap_or("–".into())),
        ]
    };
    let columns = [left("stage"), left("is"), left("rate"), left("figures"), left("folder")];
    let table = Table::new(columns, doc.stages.iter().map(row).collect());
    let table = if room == Room::Page { table } else { table.without("folder") };
    Section { class: "wide-block", name: "Stages", note: String::new(), blocks: vec![Block::Table(table)] }
}

/// What else there is to say of one: its objectives, what stopped it, why it was not run.
pub(super) fn of_stage(stage: &SignoffStage) -> Vec<(Paint, String)> {
    let mut lines = Vec::new();
    if let Some(why) = &stage.why {
        lines.push((Paint::Finding, format!("Not run: {why}.")));
    }
    if let Some(run) = &stage.run {
        let slos = run.slos.iter().map(|slo| {
            let tone = Tone::from(slo.status).paint();
            (tone, format!("{} {}", facts::slo_mark(slo).0, facts::slo_line(slo)))
        });
        lines.extend(slos);
        if run.slos.is_empty() {
            lines.push((Paint::Dim, "No objective was asked of this stage.".into()));
        }
        if let Some(rule) = &run.aborted {
            let by = if run.stopped_by_guard { "by a guard" } else { "because it hurt" };
            lines.push((Paint::Bad, format!("Stopped {by}: {rule}.")));
        }
        if !run.findings.is_empty() && run.validity != ValidityStatus::Valid {
            lines.push((Paint::Finding, format!("Findings: {}.", run.findings.join(", "))));
        }
    }
    if let Some(search) = &stage.knee {
        lines.push((Paint::Plain, search_sentence(search)));
    }
    lines
}

fn search_sentence(search: &StageKnee) -> String {
    let objective = &search.objective;
    let trials = format::plural(u64::from(search.trials), "trial", "trials");
    match search.knee_per_s {
        Some(knee) if search.is_lower_bound => format!(
            "{objective} is met at {}, the highest rate that was shown to meet it; the border may lie above. Later \
             stages go by this rate. {trials}.",
            format::rate_asked(knee)
        ),
        Some(knee) => format!("{objective} is met up to {}. {trials}.", format::rate_asked(knee)),
        None => format!("No rate can be named up to which {objective} is met. {trials}."),
    }
}
