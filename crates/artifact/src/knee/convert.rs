//! From the search's state to the document, and from a line of the journal back to a step.

use super::{
    ExactRate, KneeAnswer, KneeAtLeast, KneeBracket, KneeDocument, KneeHeader, KneeRefusal, KneeStatus,
    KneeTrial, Knees, Purpose, RefusalCode, SCHEMA, TrialVerdict, Usl,
};
use unblink_analysis::experiment::knee::{self, Bracket, Doom, Knee, Reaches};
use unblink_analysis::experiment::{Experiment, Miss, Percentile, RateVerdict, Step, Trial, TrialOutcome};
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

/// The document of a search. `stopped`: it ended before its end, for a reason or because the user wanted it to.
pub fn document(header: KneeHeader, search: &Knee, stopped: Option<Option<KneeRefusal>>) -> KneeDocument {
    let curve = search.curve();
    let found = search.found();
    let refused = stopped.clone().flatten().or_else(|| search.doomed().map(refusal));
    let latency = search.steps().iter().find(|step| step.trial.purpose == Purpose::Latency);
    let status = match (&refused, stopped, found) {
        (Some(_), ..) => KneeStatus::Refused,
        (None, None, None) if search.is_bracketed() => KneeStatus::Bracketed,
        (None, Some(_), _) | (None, None, None) => KneeStatus::Interrupted,
        (None, None, Some(found)) if found.has_border() => KneeStatus::Found,
        (None, None, Some(_)) => KneeStatus::AtLeast,
    };
    let bracket = believed(search.bracket(), refused.as_ref());
    let has_border = refused.is_none() && found.is_some_and(|found| found.has_border());
    let mut trials: Vec<KneeTrial> = search.steps().iter().map(KneeTrial::from).collect();
    for trial in &mut trials {
        trial.theory_mean_ns = curve.theory_ns(trial.offered_per_s);
    }
    KneeDocument {
        schema: SCHEMA.to_string(),
        status,
        header,
        answer: found.filter(|_| refused.is_none()).map(|found| KneeAnswer {
            rate_per_s: found.rate.as_per_s(),
            interpolated: found.is_interpolated,
            good_per_s: found.good.as_per_s(),
            missed_from_per_s: found.missed_from.map(Rate::as_per_s),
            trial: found.trial,
        }),
        bracket: bracket.map(|bracket| KneeBracket {
            good_per_s: bracket.good.map(Rate::as_per_s),
            missed_from_per_s: bracket.missed_from.map(Rate::as_per_s),
        }),
        at_least: search.settings().at_least.map(|rate| KneeAtLeast {
            rate_per_s: rate.as_per_s(),
            is_reached: match bracket.map(|_| search.reaches(rate)) {
                Some(Reaches::Yes) => Some(true),
                Some(Reaches::No) => Some(false),
                Some(Reaches::Undecided) | None => None,
            },
        }),
        refused,
        knees: Knees {
            kneedle_per_s: curve.knees.kneedle_per_s,
            last_stationary_per_s: curve.knees.last_stationary.map(Rate::as_per_s),
        },
        // Without a border nobody knows where it is safe.
        safe_band_per_s: curve.safe_band().filter(|_| has_border),
        capacity_per_s: curve.capacity_per_s,
        collapse: curve.collapse,
        usl: curve.usl.filter(knee::Usl::fits).map(usl),
        usl_misfit: curve.usl.filter(|usl| !usl.fits()).map(|usl| usl.residual),
        latency_trial: latency.map(|step| step.trial.number),
        trials,
    }
}

/// Of a target that has no one capacity, or of a generator that was the limit, no trial says where the border is; but where
/// no rate was good, it is below all.
fn believed(bracket: Bracket, refused: Option<&KneeRefusal>) -> Option<Bracket> {
    let is_believed = refused.is_none_or(|refusal| refusal.code == RefusalCode::NothingMet);
    (is_believed && bracket != Bracket::default()).then_some(bracket)
}

fn usl(usl: knee::Usl) -> Usl {
    Usl {
        gamma_per_s: usl.gamma_per_s,
        sigma: usl.sigma,
        kappa: usl.kappa,
        points: usl.points as u32,
        residual: usl.residual,
        peak_in_flight: usl.peak_in_flight(),
    }
}

fn refusal(doom: Doom) -> KneeRefusal {
    let (code, rate, why) = match doom {
        Doom::NothingMet { lowest, .. } => (RefusalCode::NothingMet, lowest, None),
        Doom::AnyRate { rate, above_share } => {
            let why = format!("{:.2}\u{a0}% of the response times are above the limit.", 100.0 * above_share);
            (RefusalCode::AnyRate, rate, Some(why))
        }
        Doom::Generator { rate, why } => (RefusalCode::Generator, rate, Some(why)),
        Doom::Hysteresis { rate, was_good: true } => (RefusalCode::Hysteresis, rate, None),
        Doom::Hysteresis { rate, was_good: false } => (RefusalCode::WarmedUp, rate, None),
        Doom::NotConfirmed { rate } => (RefusalCode::NotConfirmed, rate, None),
    };
    KneeRefusal { code, rate_per_s: rate.as_per_s(), why }
}

impl From<Rate> for ExactRate {
    fn from(rate: Rate) -> ExactRate {
        let seconds = rate.seconds();
        // In its own seconds a rate has its own requests.
        ExactRate { requests: rate.in_seconds(seconds).unwrap_or_default(), seconds }
    }
}

impl From<ExactRate> for Rate {
    fn from(rate: ExactRate) -> Rate {
        Rate::new(rate.requests, rate.seconds).unwrap_or_default()
    }
}

impl From<&Step> for KneeTrial {
    fn from(step: &Step) -> KneeTrial {
        let (trial, outcome) = (&step.trial, &step.outcome);
        let percentile = outcome.percentile;
        KneeTrial {
            number: trial.number,
            purpose: trial.purpose,
            rate: trial.rate.into(),
            settle_ns: trial.settle.0,
            measure_ns: trial.measure.0,
            measure_max_ns: trial.measure_max.0,
            measured_ns: outcome.measured.0,
            scheduled: outcome.scheduled,
            ok: outcome.ok,
            failed: outcome.failed,
            timed_out: outcome.timed_out,
            unanswered: outcome.unanswered,
            offered_per_s: outcome.offered_per_s,
            delivered_per_s: outcome.delivered_per_s,
            percentile_ns: percentile.map(|p| p.value_ns),
            percentile_censored: percentile.is_some_and(|p| p.censored),
            percentile_low_ns: percentile.and_then(|p| p.low_ns),
            percentile_high_ns: percentile.and_then(|p| p.high_ns),
            above_share: outcome.above_share,
            above_error: outcome.above_error,
            p50_ns: outcome.p50_ns,
            mean_ns: outcome.mean_ns,
            in_flight_mean: outcome.in_flight_mean,
            in_flight_end: outcome.in_flight_end,
            is_growing: outcome.is_growing,
            generator: outcome.generator.clone(),
            verdict: match outcome.verdict {
                RateVerdict::Met => TrialVerdict::Met,
                RateVerdict::Missed(Miss::NoAnswers) => TrialVerdict::NoAnswers,
                RateVerdict::Missed(Miss::Growing) => TrialVerdict::Growing,
                RateVerdict::Missed(Miss::Delivered) => TrialVerdict::Delivered,
                RateVerdict::Missed(Miss::Percentile) => TrialVerdict::Percentile,
                RateVerdict::Undecided => TrialVerdict::Undecided,
                RateVerdict::Generator => TrialVerdict::Generator,
            },
            theory_mean_ns: None,
        }
    }
}

impl From<&KneeTrial> for Step {
    fn from(line: &KneeTrial) -> Step {
        let trial = Trial {
            number: line.number,
            purpose: line.purpose,
            rate: line.rate.into(),
            settle: Nanos(line.settle_ns),
            measure: Nanos(line.measure_ns),
            measure_max: Nanos(line.measure_max_ns),
        };
        let percentile = line.percentile_ns.map(|value_ns| Percentile {
            value_ns,
            censored: line.percentile_censored,
            low_ns: line.percentile_low_ns,
            high_ns: line.percentile_high_ns,
        });
        let outcome = TrialOutcome {
            measured: Nanos(line.measured_ns),
            scheduled: line.scheduled,
            ok: line.ok,
            failed: line.failed,
            timed_out: line.timed_out,
            unanswered: line.unanswered,
            offered_per_s: line.offered_per_s,
            delivered_per_s: line.delivered_per_s,
            percentile,
            above_share: line.above_share,
            above_error: line.above_error,
            p50_ns: line.p50_ns,
            mean_ns: line.mean_ns,
            in_flight_mean: line.in_flight_mean,
            in_flight_end: line.in_flight_end,
            is_growing: line.is_growing,
            generator: line.generator.clone(),
            verdict: match line.verdict {
                TrialVerdict::Met => RateVerdict::Met,
                TrialVerdict::NoAnswers => RateVerdict::Missed(Miss::NoAnswers),
                TrialVerdict::Growing => RateVerdict::Missed(Miss::Growing),
                TrialVerdict::Delivered => RateVerdict::Missed(Miss::Delivered),
                TrialVerdict::Percentile => RateVerdict::Missed(Miss::Percentile),
                TrialVerdict::Undecided => RateVerdict::Undecided,
                TrialVerdict::Generator => RateVerdict::Generator,
            },
        };
        Step { trial, outcome }
    }
}
