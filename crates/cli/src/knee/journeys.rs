//! What a search makes of the journeys of its plan. They outlast what is measured: a trial ends when all of them have.

use super::rest;
use crate::args::knee::KneeArgs;
use crate::errors::refuse;
use crate::sim::wanted::Wanted;
use anyhow::{Result, anyhow};
use unblink_artifact::header::PartNames;
use unblink_core::journey::Paths;
use unblink_core::plan::OPERATIONS_APART_MAX;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;
use unblink_report::format;

/// All that is asked for in the order of the operations, where there are journeys.
pub(super) fn wanted(args: &KneeArgs) -> Result<Wanted> {
    Wanted::of(&args.requests, &args.journeys, args.under_way.journeys_max)
}

/// The names that journeys, and steps that ask again and again, are judged by.
pub(super) fn names(args: &KneeArgs) -> Result<PartNames> {
    Ok(PartNames { journeys: wanted(args)?.described(), ..PartNames::default() })
}

/// The objective is about a journey, or about a step that asks again and again.
pub(super) fn are_judged(args: &KneeArgs) -> Result<bool> {
    let Some(name) = &args.slo.name else { return Ok(false) };
    Ok(names(args)?.called(name).is_some())
}

/// What is said of them before the search; nothing without journeys. Refuses a `--settle` in which they can't come to their
/// level.
pub(super) fn foreseen(args: &KneeArgs) -> Result<Option<String>> {
    let Some(paths) = paths(args)? else { return Ok(None) };
    let thinking_s = (0..paths.len()).map(|journey| paths.thinking_s(journey)).fold(0.0, f64::max);
    let thinking = Nanos((thinking_s * 1e9).ceil() as u64);
    let said = |ns: Nanos| format::plain(&format::moment(ns.0));
    if args.settle < thinking {
        refuse!(
            ["settle"],
            "--settle {}: a journey of this plan thinks for {} on average, so the load would not be at its level when \
             measuring begins: give at least --settle {}s",
            said(args.settle),
            said(thinking),
            thinking_s.ceil()
        );
    }
    Ok(Some(format!(
        "each rate is offered for {} and then measured; journeys under way are waited for, up to {}, before the next one \
         (and a rest of {})",
        said(args.settle),
        said(paths.drain(args.timeout).max(args.timeout)),
        said(rest(args))
    )))
}

/// The highest rate of arrivals under a cap on requests.
pub(super) fn highest(args: &KneeArgs, cap: Option<Rate>) -> Result<Option<Rate>> {
    let Some(paths) = paths(args)? else { return Ok(cap) };
    let each = paths.requests_per_arrival(wanted(args)?.mix(args.seed).weights.as_deref());
    let cap = [cap, args.max_requests].into_iter().flatten().min();
    Ok(cap.map(|cap| Rate::from_milli(((cap.as_per_s() / each * 1e3).floor() as u64).max(1))))
}

fn paths(args: &KneeArgs) -> Result<Option<Paths>> {
    let wanted = wanted(args)?;
    let mix = wanted.mix(args.seed);
    Paths::new(&mix.journeys, wanted.names.len(), OPERATIONS_APART_MAX).map_err(|error| anyhow!(error))
}
