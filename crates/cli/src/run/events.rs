//! What goes with answers that come event by event, and what does not.

use crate::args::load::LoadArgs;
use crate::errors::{refuse, refused_value};
use anyhow::Result;
use unblink_analysis::slo::{Measure, Slo};

/// `how` says what makes answers come event by event.
pub(crate) fn check(load: &LoadArgs, slos: &[Slo], has_events: bool, how: &str) -> Result<()> {
    if has_events && load.retry.attempts > 1 {
        refuse!(
            ["attempts"],
            "--attempts and {how} exclude each other: events of an attempt that then fails have reached their user, and \
             another attempt would send them again"
        );
    }
    let of_events = slos.iter().position(|slo| slo.measure != Measure::Response);
    match of_events.filter(|_| !has_events) {
        Some(number) => {
            let (text, measure) = (slos[number].to_string(), slos[number].measure.to_string());
            let why = format!("{} is of answers that come event by event: add {how}", measure.trim());
            Err(refused_value("slo", number, format!("--slo {text:?}: {why}")))
        }
        None => Ok(()),
    }
}
