//! The sentences around a search's figures.

use super::{interval, rate, value, value_and_interval};
use crate::format;
use unblink_artifact::knee::{
    KneeDocument, KneeRefusal, KneeStatus, KneeTrial, Purpose, RefusalCode, TrialVerdict,
};

/// A word or two, and the sentence that answers the question.
pub(super) fn answer(doc: &KneeDocument) -> (String, String) {
    match (doc.status, &doc.answer, &doc.refused) {
        (KneeStatus::Refused, _, Some(refusal)) => ("NO ANSWER".into(), refused(doc, refusal)),
        (_, Some(answer), _) => {
            let good = format::rate(answer.rate_per_s);
            let met = format!("Up to {good} the objective is met: {}.", doc.header.question.objective);
            let beyond = match answer.missed_from_per_s {
                Some(missed) => beyond(doc, missed),
                None => "No higher rate was to be tried, so the border lies above it (--max).".into(),
            };
            let word = if answer.missed_from_per_s.is_some() { good } else { format!("AT LEAST {good}") };
            (word, format!("{met} {beyond}"))
        }
        _ => (
            "INTERRUPTED".into(),
            format!(
                "{} finished, no answer yet. The same command with --resume and this folder goes on.",
                format::plural(doc.trials.len() as u64, "trial", "trials")
            ),
        ),
    }
}

fn beyond(doc: &KneeDocument, missed_per_s: f64) -> String {
    let at = format::rate(missed_per_s);
    let is_search = |t: &&KneeTrial| matches!(t.purpose, Purpose::Bracket | Purpose::Bisect);
    let mut first = doc.trials.iter().rev().filter(is_search);
    let trial = first.find(|t| (rate(t) - missed_per_s).abs() < 1e-6);
    match trial.map(|trial| (trial.verdict, trial)) {
        Some((TrialVerdict::Growing, _)) => format!("At {at} the target falls behind."),
        Some((TrialVerdict::Delivered, _)) => format!("At {at} less than 99\u{a0}% is answered as expected."),
        Some((TrialVerdict::Percentile, trial)) => format!("At {at} it is {}.", value_and_interval(trial)),
        Some((TrialVerdict::Undecided, trial)) => format!(
            "At {at} that could not be shown within {} ({}), which counts as not met.",
            format::moment(trial.measured_ns),
            value_and_interval(trial)
        ),
        Some((TrialVerdict::Met, _)) => format!("{at} was good at first, and did not hold for longer."),
        _ => format!("At {at} it is not."),
    }
}

fn refused(doc: &KneeDocument, refusal: &KneeRefusal) -> String {
    let at = format::rate(refusal.rate_per_s);
    let why = refusal.why.as_deref().map(|why| format!(" {why}")).unwrap_or_default();
    match refusal.code {
        RefusalCode::NothingMet => format!(
            "Not even {at} meets the objective ({}). Begin lower (--start), or ask for less.",
            doc.header.question.objective
        ),
        RefusalCode::Generator => format!(
            "At {at} the generator was the limit, not the target, so this is no knee of the target.{why} Give the \
             generator more processors or a machine of its own, or stop below it (--max)."
        ),
        RefusalCode::Hysteresis => format!(
            "{at} was good at first and not when it was tried again after higher rates: the target does not recover \
             from overload between two rates, so it has no one capacity. Give it more rest (--rest), or find out \
             what stays behind."
        ),
        RefusalCode::WarmedUp => format!(
            "{at} was not good at first and good when it was tried again: the target has changed meanwhile, so the \
             answer would be too low. Warm it up for longer (--settle), and search again."
        ),
        RefusalCode::NotConfirmed => format!(
            "{at} was good once, but neither it nor the rates just below held for longer. Measure for longer \
             (--measure, --measure-max), or settle for less."
        ),
        RefusalCode::NotAtRest => format!(
            "The target did not come to rest before {at} was to be tried: it went on without an answer to a single \
             request."
        ),
    }
}

/// What the answer rests on.
pub(super) fn evidence(doc: &KneeDocument) -> Option<String> {
    let answer = doc.answer?;
    let held = doc.trials.iter().find(|trial| trial.number == answer.trial)?;
    let percentile = format::quantile_label(doc.header.question.quantile);
    Some(format!(
        "Held for {} at {}: {percentile} {}, {} of what was offered delivered.",
        format::moment(held.measured_ns),
        format::rate(rate(held)),
        value_and_interval(held),
        format::percent((held.delivered_per_s / held.offered_per_s.max(1e-9)).min(1.0)),
    ))
}

/// The target and the load, in a line.
pub(super) fn about(doc: &KneeDocument) -> String {
    let question = &doc.header.question;
    let load_ns: u64 = doc.trials.iter().map(|trial| trial.settle_ns + trial.measured_ns).sum();
    format!(
        "{} · {} · {} arrivals · {} with {} of load",
        question.target,
        question.objective,
        question.process,
        format::plural(doc.trials.len() as u64, "trial", "trials"),
        format::moment(load_ns / 1_000_000_000 * 1_000_000_000),
    )
}

/// (what, its figure, what it means), for what was found.
pub(super) fn findings(doc: &KneeDocument) -> Vec<(&'static str, String, String)> {
    let mut all = Vec::new();
    if let Some(last) = doc.knees.last_stationary_per_s {
        let means = match behind(doc).map(rate).reduce(f64::min) {
            Some(next) => {
                format!("the target kept up with it, however slowly; not with {}", format::rate(next))
            }
            None => "the highest rate that was tried: the target kept up with all".into(),
        };
        all.push(("Last stationary", format::rate(last), means));
    }
    if let Some(kneedle) = doc.knees.kneedle_per_s {
        all.push(("Kneedle", format::rate(kneedle), "where delivered over offered bends".into()));
    }
    if let Some((low, high)) = doc.safe_band_per_s {
        let mut means = "70–80\u{a0}% of the last stationary rate: where to run it".to_string();
        if doc.answer.is_some_and(|answer| answer.rate_per_s < low) {
            means += "; the objective asks for less than that";
        }
        all.push(("Safe band", format!("{}–{}", whole(low), format::rate(high)), means));
    }
    if let Some(capacity) = doc.capacity_per_s {
        all.push(("Most delivered", format::rate(capacity), "µ in 1/(µ − λ)".into()));
    }
    match doc.collapse {
        Some(c) => all.push((
            "Collapse",
            format!("−{}", format::percent(1.0 - c.least_per_s / c.best_per_s)),
            format!(
                "at {} offered only {} was delivered: overload costs work; shed load before it",
                format::rate(c.least_offered_per_s),
                format::rate(c.least_per_s)
            ),
        )),
        None if behind(doc).next().is_some() => {
            all.push(("Collapse", "none".into(), "beyond the knee delivered work does not fall".into()));
        }
        None => {}
    }
    if let Some(usl) = &doc.usl {
        let band = |i: unblink_artifact::knee::Interval95| {
            format!("{} ({}–{})", small(i.value), small(i.low), small(i.high))
        };
        let peak = match usl.peak_in_flight {
            Some(n) => format!("; most work with {} in flight", format::number(n)),
            None => String::new(),
        };
        all.push((
            "USL",
            format!("γ {}/s", format::number(usl.gamma_per_s.value)),
            format!(
                "{}–{}/s, contention σ {}, coherency κ {}, from {} stationary trials{peak}",
                format::number(usl.gamma_per_s.low),
                format::number(usl.gamma_per_s.high),
                band(usl.sigma),
                band(usl.kappa),
                usl.points
            ),
        ));
    }
    if let Some(quoted) = doc.trials.iter().find(|trial| Some(trial.number) == doc.latency_trial) {
        all.push(("Latency to quote", latency(quoted, doc), format!("at {}", format::rate(rate(quoted)))));
    }
    all
}

fn latency(trial: &KneeTrial, doc: &KneeDocument) -> String {
    let label = format::quantile_label(doc.header.question.quantile);
    let p50 = trial.p50_ns.map_or("–".into(), format::duration);
    let interval = interval(trial).map(|interval| format!(" ({interval})")).unwrap_or_default();
    format!("p50 {p50}, {label} {}{interval}", value(trial))
}

/// Trials that the target did not keep up with.
fn behind(doc: &KneeDocument) -> impl Iterator<Item = &KneeTrial> {
    let is_behind = |verdict| {
        matches!(verdict, TrialVerdict::Growing | TrialVerdict::Delivered | TrialVerdict::NoAnswers)
    };
    doc.trials.iter().filter(move |trial| is_behind(trial.verdict))
}

/// Of two rates with one unit the first goes without.
fn whole(per_s: f64) -> String {
    let text = format::rate(per_s);
    text.strip_suffix("/s").map(str::to_string).unwrap_or(text)
}

/// Parameters of the law may be far below 0.01.
fn small(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 { format!("{value:.1e}") } else { format::number(value) }
}
