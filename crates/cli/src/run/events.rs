//! What goes with answers that come event by event, and what does not.

use crate::args::load::LoadArgs;
use crate::errors::{refuse, refused_value};
use anyhow::Result;
use unblink_analysis::slo::{AbortRule, Measure, Slo};

/// `how` says what makes answers come event by event.
pub(crate) fn check(
    load: &LoadArgs,
    (slos, rules): (&[Slo], &[AbortRule]),
    has_events: bool,
    how: &str,
) -> Result<()> {
    if has_events && load.retry.attempts > 1 {
        refuse!(
            ["attempts"],
            "--attempts and {how} exclude each other: events of an attempt that then fails have reached their user, and \
             another attempt would send them again"
        );
    }
    if has_events {
        return Ok(());
    }
    let slos = slos.iter().map(|slo| (slo.measure, "slo", slo.to_string())).enumerate();
    let rules = rules.iter().map(|rule| (rule.measure, "abort-on", rule.to_string())).enumerate();
    match slos.chain(rules).find(|(_, (measure, ..))| *measure != Measure::Response) {
        Some((number, (measure, field, text))) => {
            let measure = measure.to_string();
            let why = format!("{} is of answers that come event by event: add {how}", measure.trim());
            Err(refused_value(field, number, format!("--{field} {text:?}: {why}")))
        }
        None => Ok(()),
    }
}
