//! What a comparison says, in sentences that terminal and page share.

use super::lines::value;
use crate::block::Tone;
use crate::facts::{self, Title};
use crate::format;
use unblink_artifact::compare::{
    CompareDocument, ComparedRun, ComparisonOutcome, Line, NoVerdictReason, Quantity, Side,
};
use unblink_artifact::document::ValidityStatus;

/// The answer in capitals.
pub(super) fn verdict(doc: &CompareDocument) -> &'static str {
    match (doc.outcome, doc.reason) {
        (ComparisonOutcome::NoVerdict, Some(NoVerdictReason::WithinRunOnly)) => "WITHIN-RUN EVIDENCE ONLY",
        (ComparisonOutcome::NoVerdict, Some(NoVerdictReason::Interrupted)) => "INTERRUPTED",
        (ComparisonOutcome::NoVerdict, _) => "NO VERDICT",
        _ if doc.a_a && is_alarm(doc) => "FALSE ALARM",
        _ if doc.a_a => "NOISE FLOOR",
        (ComparisonOutcome::Regression, _) => "REGRESSION",
        (ComparisonOutcome::Improvement, _) => "NO REGRESSION",
        (ComparisonOutcome::NoRegression, _) => "NO REGRESSION",
    }
}

/// How the answer is to be felt.
pub(super) fn tone(doc: &CompareDocument) -> Tone {
    match doc.outcome {
        ComparisonOutcome::NoVerdict => Tone::Doubt,
        _ if doc.a_a && is_alarm(doc) => Tone::Doubt,
        _ if doc.a_a => Tone::Good,
        ComparisonOutcome::Regression => Tone::Bad,
        ComparisonOutcome::Improvement | ComparisonOutcome::NoRegression => Tone::Good,
    }
}

fn is_alarm(doc: &CompareDocument) -> bool {
    matches!(doc.outcome, ComparisonOutcome::Regression | ComparisonOutcome::Improvement)
}

/// The answer in a sentence.
pub(super) fn sentence(doc: &CompareDocument) -> String {
    let p = label(doc);
    let line = doc.lines.iter().find(|line| line.decides);
    let change = line.and_then(|line| line.change);
    let moved = |change: f64| {
        let word = if change >= 0.0 { "slower" } else { "faster" };
        format!("{p} is {} {word}{}", format::percent(change.abs()), values(line))
    };
    let exceeds_level = doc.p_value.is_none_or(|p| p > doc.rule.alarm_level);
    match (doc.outcome, change) {
        (ComparisonOutcome::NoVerdict, _) => why(doc, &p),
        (_, Some(change)) if doc.a_a && is_alarm(doc) => format!(
            "Two halves of runs of the same target differ: {}. Runs here are not alike enough to compare; this happens \
             by chance in one of {}.",
            moved(change),
            format::count((1.0 / doc.rule.alarm_level).round() as u64)
        ),
        (_, Some(_)) if doc.a_a => match doc.smallest_findable {
            Some(smallest) => format!(
                "Comparisons like this one find a slow-down of {p} by {} in four of five cases; what is smaller {}.",
                slow_down(smallest),
                // A little more than the least effect is that effect, found four times of five.
                match smallest <= doc.rule.effect_min * 1.1 {
                    true => "does not count (--min-effect)",
                    false => "drowns in the noise",
                }
            ),
            None => "Runs of the same target do not differ more than by chance.".into(),
        },
        (ComparisonOutcome::Regression, _) if failed(&doc.candidate) > 0 => fails(doc),
        (ComparisonOutcome::Regression, None) => format!("{p} is slower{}.", values(line)),
        (ComparisonOutcome::Regression, Some(change)) => format!("{}.", moved(change)),
        (ComparisonOutcome::Improvement, Some(change)) => format!("{}.", moved(change)),
        (_, Some(change)) if exceeds_level => {
            format!("{}, which chance explains.", moved(change))
        }
        (_, Some(change)) => format!(
            "{}: more than chance, and less than the {} that count.",
            moved(change),
            format::percent(doc.rule.effect_min)
        ),
        (_, None) => format!("{p} is not slower."),
    }
}

/// How much slower: a percentage, or a factor where that is read more easily.
fn slow_down(share: f64) -> String {
    if share < 1.0 { format::percent(share) } else { format!("a factor of {}", format::number(1.0 + share)) }
}

fn values(line: Option<&Line>) -> String {
    let Some(line) = line else { return String::new() };
    let (baseline, candidate) = (value(line, false), value(line, true));
    format!(" ({baseline} before, {candidate} now)")
}

fn why(doc: &CompareDocument, p: &str) -> String {
    let least = doc.rule.runs_min;
    match doc.reason {
        Some(NoVerdictReason::WithinRunOnly) => format!(
            "One run each shows how much each varies within itself, and nothing of how much runs differ: no build \
             should fail on it. A verdict takes {least} runs of each."
        ),
        Some(NoVerdictReason::TooFewRuns) => {
            let (base, cand) = (counting(&doc.baseline), counting(&doc.candidate));
            format!(
                "{base} + {cand} runs that can be believed are too few: {least} + {least} are needed. Of 4 + 4, chance \
                 alone deals out the most extreme split in 2 of 70 cases, 2.9\u{a0}%, so that no data could reach \
                 {}.",
                format::percent(doc.rule.alarm_level)
            )
        }
        Some(NoVerdictReason::TooManyRuns) => {
            "There are more ways to deal out this many runs than can be checked: compare 10 + 10 at most."
                .into()
        }
        Some(NoVerdictReason::BaselineUnknown) => format!(
            "{p} of a baseline run is not known: too many of its arrivals have no answer. Take a lower percentile, or a \
             longer timeout."
        ),
        Some(NoVerdictReason::CandidateUnknown) => format!(
            "{p} of a candidate run lies beyond what is known, and what is known is not slower. Take a lower percentile, \
             or a longer timeout."
        ),
        Some(NoVerdictReason::FailuresDiffer) => format!(
            "One side fails more, and what failed enters no percentile: {p} speaks for other arrivals on each side. See \
             the errors first."
        ),
        Some(NoVerdictReason::CandidateFails) => format!(
            "{} But so few may fall to one side by chance, and its other runs are not slower. Repeat the runs.",
            fails(doc)
        ),
        Some(NoVerdictReason::Interrupted) => "Not every run was measured: there is no verdict.".into(),
        None => "Nothing can be said.".into(),
    }
}

/// Runs of a side in which its target failed where the other one did not.
fn failed(side: &Side) -> usize {
    side.runs.iter().filter(|run| run.target_failed.is_some()).count()
}

/// In how many runs, and how.
fn fails(doc: &CompareDocument) -> String {
    let how = doc.candidate.runs.iter().find_map(|run| run.target_failed.as_deref()).unwrap_or_default();
    format!(
        "The candidate fails in {} of {} under the load that every run of the baseline carried. {how}",
        failed(&doc.candidate),
        format::plural(counting(&doc.candidate) as u64, "run", "runs"),
    )
}

/// Runs of a side that count.
pub(super) fn counting(side: &Side) -> usize {
    side.runs.iter().filter(|run| run.left_out.is_none()).count()
}

/// What takes from the answer, a sentence each.
pub(super) fn doubts(doc: &CompareDocument) -> Vec<String> {
    let p = label(doc);
    let runs = || doc.baseline.runs.iter().chain(&doc.candidate.runs).filter(|run| run.left_out.is_none());
    let mut doubts = Vec::new();
    if doc.plan.phases.iter().any(|phase| (phase.from_per_s, phase.to_per_s) != first_rates(doc)) {
        doubts.push(format!(
            "The rate changes in each run ({}): {p} mixes all of its rates, and says neither which of them the target \
             carries nor how it recovers. Hold one rate, or read the reports of the runs.",
            format::plain(&doc.plan.summary)
        ));
    }
    let mut degraded = runs().filter(|run| run.validity == ValidityStatus::Degraded);
    if let Some(first) = degraded.next() {
        let others = degraded.count();
        let are = if others == 0 { "is" } else { "are" };
        let more = if others == 0 { "" } else { "; the others' reports say why" };
        let why = first.degraded_by.as_deref().unwrap_or("see its report").trim_end_matches('.');
        let all = format::plural(runs().count() as u64, "run", "runs");
        doubts.push(format!("{} of {all} {are} degraded: {why} ({}{more}).", others + 1, first.folder));
    }
    let is_few = doc.lines.iter().any(|line| line.decides && line.few_samples);
    if let Some(least) = runs().filter_map(|run| run.samples_above).min().filter(|_| is_few) {
        doubts.push(format!(
            "{p} rests on {} above it in a run: a few slow ones decide. Measure for longer, or take a lower percentile.",
            format::plural(least, "arrival", "arrivals")
        ));
    }
    doubts
}

/// Of a hold, the rate at both ends of every phase.
fn first_rates(doc: &CompareDocument) -> (f64, f64) {
    doc.plan.phases.first().map_or((0.0, 0.0), |first| (first.from_per_s, first.from_per_s))
}

/// What must be known beside the answer, a sentence each.
pub(super) fn notes(doc: &CompareDocument) -> Vec<String> {
    let p = label(doc);
    let mut notes = Vec::new();
    if let (Some(value), Some(splits)) = (doc.p_value, doc.splits) {
        notes.push(format!(
            "Dealt out by chance, the runs would differ this much in {} of cases (all {} ways were looked at); above {} \
             that is not a finding. Less than {} counts as none.",
            format::percent(value),
            format::count(splits),
            format::percent(doc.rule.alarm_level),
            format::percent(doc.rule.effect_min),
        ));
    }
    if let Some(sd) = doc.noise_sd {
        let mut note =
            format!("Runs of one side differ by {} in {p} (standard deviation)", slow_down(sd.exp_m1()));
        if let Some(smallest) = doc.smallest_findable.filter(|_| !doc.a_a || is_alarm(doc)) {
            note += &format!(
                ": this many runs with this much noise find a slow-down by {} in four of five cases",
                slow_down(smallest)
            );
        }
        notes.push(note + ".");
    }
    match (failed(&doc.candidate), doc.lines.is_empty()) {
        (0, _) => {}
        (_, true) => notes.push("A candidate that fails has no latency to show.".into()),
        (_, false) => notes.push("The table leaves out the runs in which the candidate failed.".into()),
    }
    if !doc.unsupported.is_empty() {
        let names: Vec<String> = doc.unsupported.iter().map(|&q| format::quantile_label(q)).collect();
        notes.push(format!(
            "Not in the table: {}; in some run fewer than 10 arrivals lie above.",
            names.join(", ")
        ));
    }
    if doc.one_after_the_other {
        notes.push(
            "One side was measured after the other: whatever changed on the machines in between looks like a change of \
             the target. Two URLs are measured in turn."
                .into(),
        );
    }
    notes
}

/// What the last columns hold.
pub(super) fn about_intervals(doc: &CompareDocument) -> String {
    match doc.reason {
        Some(NoVerdictReason::WithinRunOnly) => {
            "The intervals rest on the time within the two runs alone".into()
        }
        _ => {
            let failed = match failed(&doc.candidate) {
                0 => "",
                _ => ", and a run that failed counts as slower than any",
            };
            format!(
                "{} decides{failed}; the other lines are shown, with intervals from runs and the time within them",
                label(doc)
            )
        }
    }
}

/// What a side requested.
pub(super) fn target(side: &Side) -> String {
    facts::first_and_more(&side.targets, side.targets_beyond.as_ref())
}

/// What was measured, by name: both sides with how many of their runs count, and the load.
pub(super) fn asked(doc: &CompareDocument) -> Vec<(&'static str, String)> {
    let side = |side: &Side| {
        let (all, counting) = (side.runs.len(), counting(side));
        let runs = format::plural(all as u64, "run", "runs");
        let of = if all == counting { String::new() } else { format!("{counting} of ") };
        format!("{}, {of}{runs}", target(side))
    };
    let mut asked = vec![
        ("baseline", side(&doc.baseline)),
        ("candidate", side(&doc.candidate)),
        ("load", doc.plan.summary.clone()),
    ];
    asked.extend(doc.rule.request.as_ref().map(|name| ("of", format!("{name} alone"))));
    asked
}

/// Runs that don't count: (side, run, why).
pub(super) fn left_out(doc: &CompareDocument) -> Vec<(&'static str, &ComparedRun, &str)> {
    let of = |name, side: &'_ Side| -> Vec<(&'static str, usize)> {
        (0..side.runs.len()).map(|i| (name, i)).collect()
    };
    let sides = [("baseline", &doc.baseline), ("candidate", &doc.candidate)];
    sides
        .into_iter()
        .flat_map(|(name, side)| of(name, side).into_iter().map(move |(name, i)| (name, &side.runs[i])))
        .filter_map(|(name, run)| Some((name, run, run.left_out.as_deref()?)))
        .collect()
}

/// What decides: `p99`, or `p99 of GET /a`.
pub(crate) fn label(doc: &CompareDocument) -> String {
    let label = format::quantile_label(doc.rule.quantile);
    doc.rule.request.as_ref().map_or(label.clone(), |name| format!("{label} of {name}"))
}

/// The picture's words.
pub(super) fn title(doc: &CompareDocument) -> Title {
    let finding = failures(doc).unwrap_or_else(|| match (doc.outcome, doc.a_a) {
        (ComparisonOutcome::NoVerdict, _) | (_, true) => "Both sides, run by run".to_string(),
        _ => sentence(doc).trim_end_matches('.').to_string(),
    });
    let plotted = "Share of arrivals (the tail stretched) against the time they took. Lines: the mean of the runs. Bands: \
                   from the fastest to the slowest run.";
    Title { finding, plotted: plotted.into() }
}

/// One side failed so much more often that the picture of what was answered does not show it.
fn failures(doc: &CompareDocument) -> Option<String> {
    const SHARE_SEEN: f64 = 0.01;
    let line = doc.lines.iter().find(|line| line.quantity == Quantity::Errors)?;
    let (baseline, candidate) = (line.baseline?, line.candidate?);
    let of = |share: f64| if share > 0.0 { format::percent(share) } else { "none".into() };
    ((baseline - candidate).abs() >= SHARE_SEEN).then(|| {
        format!("{} of the candidate's arrivals failed, {} of the baseline's", of(candidate), of(baseline))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_doubles_is_a_factor() {
        assert_eq!(format::plain(&slow_down(0.068)), "6.8 %");
        assert_eq!(slow_down(145.75), "a factor of 147");
    }
}
