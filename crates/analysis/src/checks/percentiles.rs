//! What do the printed percentiles rest on?

use super::{Case, exceeds_tail, found, severity, share};
use crate::evidence::{End, Model};
use crate::finding::{Finding, FindingCode, Severity};
use crate::quantile::QUANTILES;
use crate::text::{self, Round};
use crate::thresholds::{
    CENSORED_QUANTILE_DEGRADES, FAILED_SHARE_DEGRADES, FAILED_SHARE_INVALIDATES, SAMPLES_ABOVE_MIN,
};
use unblink_core::record::Series;
use unblink_core::schedule::HOLD_LENGTH_MAX;
use unblink_core::time::Nanos;

/// Failed arrivals are in no percentile; had they been slow, every percentile above their share would be
/// another.
pub(super) fn failures_shape(case: &Case<'_>) -> Option<Finding> {
    let measured = case.measured();
    let (failed, all) = (measured.failed_total(), measured.ended());
    let failed_share = share(failed, all);
    let q = QUANTILES.into_iter().find(|&q| exceeds_tail(failed_share, q))?;
    let supported = case.printed.iter().any(|(p, value)| *p == q && !value.few_samples);
    let is_much = supported || failed_share > FAILED_SHARE_DEGRADES;
    let is_most = failed_share > FAILED_SHARE_INVALIDATES;
    let otherwise = severity(is_much, Severity::Degrades, Severity::Note);
    found(
        FindingCode::FailuresShapePercentile,
        severity(is_most && !case.evidence.by_phase, Severity::Invalidates, otherwise),
        format!(
            "{} arrivals failed, {}; {} in no percentile, and from {} on the result depends on how one counts {}.",
            text::of(failed, all),
            text::percent(failed_share),
            if failed == 1 { "it is" } else { "they are" },
            text::percentile(q),
            if failed == 1 { "it" } else { "them" }
        ),
        "See the failures by kind. If they are the target's limit, lower the rate; if such answers are fine, \
         say so with --expect.",
        vec![("failed", failed as f64), ("share", failed_share), ("quantile", q)],
    )
}

pub(super) fn timeouts_shape(case: &Case<'_>) -> Option<Finding> {
    let (q, bound) = case.printed.iter().copied().find(|(_, value)| value.censored)?;
    let totals = case.evidence.totals;
    let censored = totals.track(Series::ResponseCensored).count() + case.evidence.without_ending;
    let all = censored + totals.track(Series::Response).count();
    found(
        FindingCode::TimeoutsShapePercentile,
        severity(q <= CENSORED_QUANTILE_DEGRADES, Severity::Degrades, Severity::Note),
        format!(
            "From {} on the response time is only known to be longer than {}: {} arrivals{} {}.",
            text::percentile(q),
            text::duration_to(Round::Down, Nanos(bound.value_ns)),
            text::of(censored, all),
            // Otherwise they are all that the account has.
            if all < case.evidence.scheduled { " that did not fail" } else { "" },
            ending(case)
        ),
        censored_remedy(case),
        vec![
            ("censored", censored as f64),
            ("share", share(censored, all)),
            ("quantile", q),
            ("bound_ns", bound.value_ns as f64),
        ],
    )
}

/// What would tell how long they take.
fn censored_remedy(case: &Case<'_>) -> &'static str {
    let measured = case.measured();
    let timed_out = measured.timed_out > 0;
    if measured.timed_out_never_sent_own * 2 > measured.timed_out {
        return "Most of them were never sent, which is the generator's doing and says nothing of the target: see that \
                finding first.";
    }
    match (timed_out, case.evidence.end) {
        (false, End::Interrupted | End::Aborted { .. }) => {
            "Let the run go to its end: what was under way when it was stopped has no answer on record."
        }
        (false, End::Open) => "Look again when the run has ended, or run it again if it was killed.",
        (true, End::Open) => "Raise --timeout, and let the run go to its end, to learn how long they take.",
        _ => {
            "Raise --timeout (and --drain) to learn how long they take, or lower the rate if the target can't keep up."
        }
    }
}

/// Why arrivals are censored.
fn ending(case: &Case<'_>) -> String {
    let measured = case.measured();
    let timed_out = format!("timed out after {}", text::duration(case.evidence.timeout));
    match (measured.timed_out, measured.unfinished + measured.unsent + case.evidence.without_ending) {
        (_, 0) => timed_out,
        (0, n) => format!("{} still open when the run ended", text::were(n)),
        _ => format!("{timed_out} or were still open when the run ended"),
    }
}

/// Arrivals offered per second.
fn offered_per_second(case: &Case<'_>) -> Option<f64> {
    let evidence = case.evidence;
    let arrivals = if evidence.is_part { case.measured().due } else { evidence.scheduled };
    let per_s = arrivals as f64 / evidence.load_length().as_secs_f64();
    (evidence.model == Model::Open && per_s.is_normal()).then_some(per_s)
}

pub(super) fn few_samples(case: &Case<'_>) -> Option<Finding> {
    // Where not one percentile is known, more of the same would not help.
    if case.printed.iter().all(|(_, value)| value.censored) {
        return None;
    }
    let few: Vec<f64> = case.printed.iter().filter(|(_, v)| v.few_samples).map(|(q, _)| *q).collect();
    let (&first, &last) = (few.first()?, few.last()?);
    let names: Vec<String> = few.iter().map(|&q| text::percentile(q)).collect();
    let names = match names.split_last() {
        Some((only, [])) => format!("{only} rests"),
        Some((last, others)) => format!("{} and {last} rest", others.join(", ")),
        None => return None,
    };
    let totals = case.evidence.totals;
    let count = totals.track(Series::Response).count() + totals.track(Series::ResponseCensored).count();
    let needed = (SAMPLES_ABOVE_MIN as f64 / (1.0 - last)).round() as u64;
    // Failed arrivals are no samples.
    let measured = case.measured();
    let failed = share(measured.failed_total(), measured.ended());
    let arrivals = if failed < 1.0 { needed as f64 / (1.0 - failed) } else { f64::INFINITY };
    let with_failures = if failed > 0.0 { " that do not fail" } else { "" };
    let at_this_rate = offered_per_second(case).map_or(String::new(), |per_s| {
        let time = Nanos((arrivals / per_s * 1e9) as u64);
        match time > HOLD_LENGTH_MAX {
            true => format!(
                ", more than a run can have at this rate (it lasts at most {}): raise the rate",
                text::duration(HOLD_LENGTH_MAX)
            ),
            false if failed > 0.0 => {
                format!(", about {} at this rate if as many go on to fail", text::duration(time))
            }
            false => format!(", about {} at this rate", text::duration(time)),
        }
    });
    found(
        FindingCode::FewSamples,
        Severity::Note,
        format!(
            "{names} on too little: of {} fewer than {SAMPLES_ABOVE_MIN} lie above.",
            text::plural(count, "sample", "samples")
        ),
        format!(
            "Measure longer: {} takes {}{with_failures}{at_this_rate}.",
            text::percentile(last),
            text::arrivals(needed)
        ),
        vec![("samples", count as f64), ("first_quantile", first), ("needed", needed as f64)],
    )
}
