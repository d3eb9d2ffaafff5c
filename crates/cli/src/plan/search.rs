//! What a search makes of a plan that is also a run's: of its objectives the one that a rate can be searched for, and its
//! cap on the rate.

use super::file::{PlanFile, Text};
use crate::value;
use anyhow::{Result, anyhow, bail};
use unblink_analysis::slo::{Figure, Measure, Slo};
use unblink_core::schedule::Rate;

/// The one percentile that the plan sets a limit to: of all requests, or else of one request or journey by its name.
pub(super) fn objective(plan: &PlanFile) -> Result<&Text> {
    let all = plan.values("slo");
    let is_one = |text: &Text, is_named: bool| {
        Slo::parse(&text.raw).is_ok_and(|slo| {
            let is_percentile = matches!(slo.objective.figure, Figure::Quantile(_));
            let is_whole = slo.windows.is_none() && slo.measure == Measure::Response;
            is_percentile && slo.name.is_some() == is_named && is_whole
        })
    };
    let is_any = all.iter().any(|text| is_one(text, false));
    let mut found = all.iter().filter(|text| is_one(text, !is_any));
    match (found.next(), found.next()) {
        (Some(one), None) => {
            for other in all.iter().filter(|other| other.at != one.at) {
                let raw = &other.raw;
                plan.say(format_args!("a search asks for one percentile, so {raw:?} is left out"));
            }
            Ok(one)
        }
        (Some(_), Some(second)) => {
            let message = "a search asks for one percentile, and this is a second one: say which by --slo";
            Err(plan.error(second, message))
        }
        (None, _) => {
            let message = "a search needs a percentile of response time, such as \"p99 < 200ms\"";
            Err(match all.first() {
                Some(first) => plan.error(first, message),
                None => plan.error_of_all(message),
            })
        }
    }
}

/// The plan's `max-rate` holds for a search, too; `max` is the user's flag.
pub(super) fn cap(plan: &PlanFile, max: Option<String>) -> Result<Option<&Text>> {
    let Some(cap) = plan.value("max-rate") else { return Ok(None) };
    let rate = |text: &Text| value::rate(&text.raw).map_err(|error| anyhow!(error));
    if let Some(max) = max {
        return match value::rate(&max) {
            Ok(asked) if asked > rate(cap)? => {
                bail!("--max {max} is above the plan's max-rate, {}", cap.raw)
            }
            // What can't be read is refused where flags are read.
            _ => Ok(None),
        };
    }
    match plan.value("max") {
        None => Ok(Some(cap)),
        Some(max) if rate(max)? <= rate(cap)? => Ok(None),
        Some(max) => Err(plan.error(max, format!("max is above max-rate, {}", cap.raw))),
    }
}

/// What a plan with journeys may send. That the text is a rate is known from the field.
pub(super) fn max_requests(plan: &PlanFile) -> Option<Rate> {
    let cap = plan.value("max-rate").filter(|_| !plan.journeys.is_empty());
    cap.and_then(|cap| value::rate(&cap.raw).ok())
}
