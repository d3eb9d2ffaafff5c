//! The sentences around a search's figures.

use super::{interval, rate, value, value_and_interval};
use crate::format;
use unblink_artifact::knee::{
    KneeAnswer, KneeDocument, KneeRefusal, KneeStatus, KneeTrial, Purpose, RefusalCode, ReplayBy,
    TrialVerdict,
};

/// A word or two, and the sentence that answers the question.
pub(crate) fn answer(doc: &KneeDocument) -> (String, String) {
    match (doc.status, &doc.answer, &doc.refused) {
        (KneeStatus::Refused, _, Some(refusal)) => ("NO ANSWER".into(), refused(doc, refusal)),
        (KneeStatus::Bracketed, ..) => bracketed(doc),
        (_, Some(answer), _) => {
            let good = told(doc, answer.rate_per_s);
            let met = format!("Up to {good} the objective is met: {}.", doc.header.question.objective);
            let word = short(doc, answer.rate_per_s);
            let word = if doc.status == KneeStatus::Found { word } else { format!("AT LEAST {word}") };
            (word, format!("{met} {}{}", border(doc, answer), beyond(doc, answer)))
        }
        _ => (
            "INTERRUPTED".into(),
            format!(
                "{} finished, no answer yet.{} The same command with --resume and this folder goes on.",
                format::plural(doc.trials.len() as u64, "trial", "trials"),
                so_far(doc)
            ),
        ),
    }
}

/// A rate as it was tried, with its four digits: three would name one that was not. Of recorded traffic also how many times that is.
fn told(doc: &KneeDocument, per_s: f64) -> String {
    match times(doc, per_s) {
        Some(times) => format!("{times} what was recorded ({} on average)", format::rate_asked(per_s)),
        None => format::rate_asked(per_s),
    }
}

/// The same in a word.
fn short(doc: &KneeDocument, per_s: f64) -> String {
    times(doc, per_s).unwrap_or_else(|| format::rate_asked(per_s))
}

/// How many times what was recorded a rate is.
pub(super) fn times(doc: &KneeDocument, per_s: f64) -> Option<String> {
    let mean = doc.header.question.replay?.mean_per_s;
    Some(format!("{}\u{a0}×", format::number(per_s / mean)))
}

/// Both sides of the border, as far as they are known.
fn bracketed(doc: &KneeDocument) -> (String, String) {
    let question = &doc.header.question;
    let bracket = doc.bracket.unwrap_or_default();
    let met = |good| format!("Up to {} the objective is met: {}.", told(doc, good), question.objective);
    let why = match (doc.at_least.is_some_and(|asked| asked.is_reached.is_some()), question.within_ns) {
        (true, _) => "No more was asked (--at-least).".into(),
        (false, Some(within)) => {
            format!(
                "The load was to last {} at most (--within); a search with more time says where between the two \
                 the border is.",
                format::moment(within)
            )
        }
        (false, None) => String::new(),
    };
    match (bracket.good_per_s, bracket.missed_from_per_s) {
        (Some(good), Some(missed)) => (
            match times(doc, good) {
                Some(times) => format!("{}–{}", times.trim_end_matches("\u{a0}×"), short(doc, missed)),
                None => format!("{}–{}", whole(good), format::rate_asked(missed)),
            },
            format!("{} {} {why}", met(good), missed_at(doc, missed)),
        ),
        (Some(good), None) => (
            format!("AT LEAST {}", short(doc, good)),
            format!("{} No rate above it was shown to miss it. {}", met(good), only(&why)),
        ),
        (None, Some(missed)) => (
            format!("BELOW {}", short(doc, missed)),
            format!(
                "No rate was shown to meet the objective ({}). {} {}",
                question.objective,
                missed_at(doc, missed),
                only(&why)
            ),
        ),
        (None, None) => (
            "NO ANSWER".into(),
            format!("No rate was shown to meet the objective, and none to miss it. {}", only(&why)),
        ),
    }
}

/// Of a bracket without one of its ends.
fn only(why: &str) -> String {
    why.replace(" where between the two the border is", " where the border is")
}

/// What an interrupted search knows.
fn so_far(doc: &KneeDocument) -> String {
    let bracket = doc.bracket.unwrap_or_default();
    match (bracket.good_per_s, bracket.missed_from_per_s) {
        (Some(good), Some(missed)) => {
            format!(" So far: met at {}, not at {}.", told(doc, good), told(doc, missed))
        }
        (Some(good), None) => format!(" So far: met at {}.", told(doc, good)),
        (None, Some(missed)) => format!(" So far: not met at {}.", told(doc, missed)),
        (None, None) => String::new(),
    }
}

/// Whether the rate that was asked for is reached: yes, no, or not told; and a sentence.
pub(crate) fn at_least(doc: &KneeDocument) -> Option<(Option<bool>, &'static str, String)> {
    let asked = doc.at_least?;
    let at = told(doc, asked.rate_per_s);
    Some(match asked.is_reached {
        Some(true) => (Some(true), "REACHED", format!("The objective is met at {at} (--at-least).")),
        Some(false) => {
            (Some(false), "NOT REACHED", format!("The objective is not met at {at} (--at-least)."))
        }
        None => (
            None,
            "NOT TOLD",
            format!("{at} (--at-least) lies too near to the border, or no trial can be believed."),
        ),
    })
}

/// What the answer's number is, when no trial itself has shown it.
fn border(doc: &KneeDocument, answer: &KneeAnswer) -> String {
    let label = format::quantile_label(doc.header.question.quantile);
    match answer.interpolated {
        true => format!(
            "There {label} reaches its limit, by a line through the trials near it; it was shown to be met up to {}. ",
            told(doc, answer.good_per_s)
        ),
        false => String::new(),
    }
}

fn beyond(doc: &KneeDocument, answer: &KneeAnswer) -> String {
    let Some(missed_per_s) = answer.missed_from_per_s else {
        let above = |trial: &&KneeTrial| rate(trial) > answer.rate_per_s && trial.purpose != Purpose::Latency;
        let tried = doc.trials.iter().filter(above).map(rate).reduce(f64::max);
        return match tried {
            Some(tried) => {
                format!("Whether {} meets it, too, was not decided.", told(doc, tried))
            }
            None => "No higher rate was to be tried, so the border lies above it (--max).".into(),
        };
    };
    missed_at(doc, missed_per_s)
}

fn missed_at(doc: &KneeDocument, missed_per_s: f64) -> String {
    let at = told(doc, missed_per_s);
    let is_miss =
        |verdict| !matches!(verdict, TrialVerdict::Met | TrialVerdict::Undecided | TrialVerdict::Generator);
    let is_there = |t: &&KneeTrial| (rate(t) - missed_per_s).abs() < 1e-6 * missed_per_s;
    let there = || doc.trials.iter().filter(is_there);
    let repeated = there().find(|t| matches!(t.verdict, TrialVerdict::Met | TrialVerdict::Undecided));
    match there().find(|t| is_miss(t.verdict)).map(|trial| (trial.verdict, trial)) {
        Some((TrialVerdict::Percentile, trial))
            if repeated.is_some_and(|other| other.percentile_ns.is_some()) =>
        {
            let other = repeated.map(value_and_interval).unwrap_or_default();
            format!("At {at} it was {} in one trial and {other} in another.", value_and_interval(trial))
        }
        Some((TrialVerdict::Growing, _)) => format!("At {at} the target falls behind."),
        Some((TrialVerdict::Delivered, _)) => {
            format!("At {at} less than 99\u{a0}% is answered as expected within the same window.")
        }
        Some((TrialVerdict::Percentile, trial)) => format!("At {at} it is {}.", value_and_interval(trial)),
        _ => format!("At {at} it is not."),
    }
}

fn refused(doc: &KneeDocument, refusal: &KneeRefusal) -> String {
    let at = told(doc, refusal.rate_per_s);
    let why = refusal.why.as_deref().map(|why| format!(" {why}")).unwrap_or_default();
    match refusal.code {
        RefusalCode::NothingMet if doc.trials.iter().all(|t| t.verdict == TrialVerdict::NoAnswers) => {
            format!(
                "The target answered nothing as expected, not even at {at}. What it does instead is in the report of each \
             trial, or in that of unblink run."
            )
        }
        RefusalCode::NothingMet => format!(
            "Not even {at} meets the objective ({}). {}",
            doc.header.question.objective,
            match is_flat(doc, refusal.rate_per_s) {
                true => {
                    "The target keeps up with more and is not faster at lower rates, so it is not the rate: ask for less, \
                     or find out what takes so long (unblink run)."
                }
                false => "Begin lower (--start), or ask for less.",
            }
        ),
        RefusalCode::AnyRate => format!(
            "The target misses the objective now and then at any rate: up to {at}, where it is not short of capacity,{} It \
             must be something that comes and goes whatever the rate is, such as pauses or periodic work. Find it in a long \
             run (unblink run), or ask for a percentile that allows for it.",
            why.to_lowercase()
        ),
        RefusalCode::Generator => format!(
            "At {at} the generator was the limit, not the target, so this is not a knee of the target.{why} Give the \
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
            "{at} was {}, but neither it nor the rates just below held for longer. Measure for longer \
             (--measure, --measure-max), or settle for less.",
            match was_met(doc, refusal.rate_per_s) {
                true => "good once",
                false => "taken for good by its estimate",
            }
        ),
        RefusalCode::NotAtRest => format!(
            "The target did not come to rest before {at} was to be tried: it went on without an answer to a single \
             request."
        ),
        RefusalCode::Guard => {
            format!(
                "A guard stopped the trial at {at}, and no trial followed:{why}. What was measured before it stands."
            )
        }
        RefusalCode::Agents => format!(
            "The agents could not be led through the trial at {at}, and no trial followed:{why}. What was measured before \
             it stands; start agents again, and go on with --resume."
        ),
        RefusalCode::Preflight => format!(
            "The target did not answer the request before the first trial as expected, so nothing was \
             measured:{why}. Fix that, or start anyway (--no-preflight)."
        ),
    }
}

/// A trial at this rate was good.
fn was_met(doc: &KneeDocument, rate_per_s: f64) -> bool {
    let is_good = |t: &KneeTrial| t.verdict == TrialVerdict::Met && (rate(t) / rate_per_s - 1.0).abs() < 1e-6;
    doc.trials.iter().any(is_good)
}

/// It kept up with four times this rate and was no faster at it.
fn is_flat(doc: &KneeDocument, rate_per_s: f64) -> bool {
    let behind: Vec<u32> = behind(doc).map(|trial| trial.number).collect();
    let value = |per_s: f64| {
        let at = |t: &&KneeTrial| (rate(t) / per_s - 1.0).abs() < 1e-6 && !behind.contains(&t.number);
        doc.trials.iter().find(at).and_then(|t| t.percentile_ns)
    };
    let both = value(4.0 * rate_per_s).zip(value(rate_per_s));
    both.is_some_and(|(above, here)| here as f64 > 0.9 * above as f64)
}

/// What the answer rests on.
pub(super) fn evidence(doc: &KneeDocument) -> Option<String> {
    let answer = doc.answer?;
    let held = doc.trials.iter().find(|trial| trial.number == answer.trial)?;
    let percentile = format::quantile_label(doc.header.question.quantile);
    let is_above = held.percentile_ns.is_some_and(|ns| ns > doc.header.question.limit_ns);
    let border = if is_above { " At the border it lies above the limit half of the time." } else { "" };
    let what = if doc.header.question.has_journeys { "the requests" } else { "what was" };
    Some(format!(
        "Held for {} at {}: {percentile} {}, {} of {what} offered delivered.{border}",
        format::moment(held.measured_ns),
        told(doc, rate(held)),
        value_and_interval(held),
        format::percent((held.delivered_per_s / held.offered_per_s.max(1e-9)).min(1.0)),
    ))
}

/// The target and the load, in a line.
pub(super) fn about(doc: &KneeDocument) -> String {
    let question = &doc.header.question;
    let load_ns: u64 = doc.trials.iter().map(|trial| trial.settle_ns + trial.measured_ns).sum();
    let arrivals = match &question.replay {
        None => format!("{} arrivals", question.process),
        Some(replay) => format!(
            "{} recorded in {} ({} on average), {}",
            format::plural(replay.requests, "request", "requests"),
            format::moment(replay.length_ns),
            format::rate(replay.mean_per_s),
            match replay.by {
                ReplayBy::Scale => "in copies",
                ReplayBy::Speed => "faster",
            }
        ),
    };
    format!(
        "{} · {} · {arrivals} · {} with {} of load",
        question.target,
        question.objective,
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
                format!("the target kept up with it, however slowly; not with {}", format::rate_asked(next))
            }
            None => "the highest rate that was tried: the target kept up with all".into(),
        };
        all.push(("Last stationary", format::rate_asked(last), means));
    }
    if let Some(kneedle) = doc.knees.kneedle_per_s {
        all.push(("Kneedle", format::rate(kneedle), "where delivered over offered bends".into()));
    }
    if let Some((low, high)) = doc.safe_band_per_s {
        let share = "70–80\u{a0}% of the last stationary rate";
        let means = match doc.answer {
            Some(answer) if answer.rate_per_s < low => {
                format!("{share}; the objective asks for less than that")
            }
            Some(answer) if answer.good_per_s < high => {
                format!(
                    "{share}; the objective was shown to be met up to {}",
                    format::rate_asked(answer.good_per_s)
                )
            }
            _ => format!("{share}: where to run it"),
        };
        let band = format!("{}–{}", without_unit(format::rate(low)), format::rate(high));
        all.push(("Safe band", band, means));
    }
    if let Some(capacity) = doc.capacity_per_s {
        let what = if doc.header.question.has_journeys { "requests; " } else { "" };
        all.push((
            "Most delivered",
            format::rate(capacity),
            format!("{what}by a rate, the mean of its trials: µ in 1/(µ − λ)"),
        ));
    }
    match doc.collapse {
        Some(c) => all.push((
            "Collapse",
            format!("−{}", format::percent(1.0 - c.least_per_s / c.best_per_s)),
            format!(
                "at {} offered only {}{} was delivered: overload costs work; shed load before it",
                format::rate(c.least_offered_per_s),
                format::rate(c.least_per_s),
                if doc.header.question.has_journeys { " of requests" } else { "" }
            ),
        )),
        None if behind(doc).next().is_some() => {
            all.push(("Collapse", "none".into(), "beyond the knee delivered work does not fall".into()));
        }
        None => {}
    }
    if let Some(usl) = &doc.usl {
        let band = |i: unblink_artifact::knee::Interval95| match i.low > 0.0 {
            true => format!("{} ({}–{})", small(i.value), small(i.low), small(i.high)),
            false => format!("not distinguishable from 0 (up to {})", small(i.high)),
        };
        let peak = match usl.peak_in_flight {
            Some(n) => format!("; most work with {} in flight", format::number(n)),
            None => String::new(),
        };
        all.push((
            "USL",
            format!("γ {}/s", format::number(usl.gamma_per_s.value)),
            format!(
                "{}–{}/s; contention σ {}; coherency κ {}; {} off the curve in {} stationary trials{peak}",
                format::number(usl.gamma_per_s.low),
                format::number(usl.gamma_per_s.high),
                band(usl.sigma),
                band(usl.kappa),
                format::percent(usl.residual),
                usl.points
            ),
        ));
    }
    if let Some(misfit) = doc.usl_misfit {
        let means = format!(
            "the response times of the stationary trials are {} off its best curve",
            format::percent(misfit)
        );
        all.push(("USL", "does not fit".into(), means));
    }
    if let Some(quoted) = doc.trials.iter().find(|trial| Some(trial.number) == doc.latency_trial) {
        all.push((
            "Latency to quote",
            latency(quoted, doc),
            format!("at {}", format::rate_asked(rate(quoted))),
        ));
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

/// A rate that was tried, without its unit.
pub(super) fn whole(per_s: f64) -> String {
    without_unit(format::rate_asked(per_s))
}

fn without_unit(text: String) -> String {
    text.strip_suffix("/s").map(str::to_string).unwrap_or(text)
}

/// Parameters of the law may be far below 0.01.
fn small(value: f64) -> String {
    if value != 0.0 && value.abs() < 0.01 { format!("{value:.1e}") } else { format::number(value) }
}
