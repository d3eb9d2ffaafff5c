//! The load of a fleet: from flags, or from a plan and flags.

use crate::args::size::SizeArgs;
use crate::errors::refuse;
use crate::value::Shape;
use crate::{plan, run};
use anyhow::{Result, bail};
use std::path::Path;
use unblink_analysis::fleet::{Dealt, Load, Requests};
use unblink_artifact::document::Scheme;
use unblink_core::plan::highest_together;
use unblink_core::schedule::{Process, RATE_MAX_PER_S};
use unblink_core::time::Nanos;

/// What a plan says.
struct OfPlan {
    per_s: f64,
    dealt: Dealt,
    /// How much more than their mean rate bursts ask for.
    peak: f64,
    /// Requests of an arrival: a journey is several.
    each: f64,
    tls: bool,
    operations: u32,
}

/// What is to be offered.
pub(super) fn asked(args: &SizeArgs) -> Result<Load> {
    let process = args.arrivals.map(|arrivals| arrivals.process(1));
    let planned = args.plan.as_deref().map(|path| of_plan(path, process, args.rate.as_ref())).transpose()?;
    let dealt = match (process, &planned) {
        (Some(process), _) => dealt(process),
        (None, Some(planned)) => planned.dealt,
        (None, None) => Dealt::Streams,
    };
    let peak = process.map_or_else(|| planned.as_ref().map_or(1.0, |planned| planned.peak), Process::peak);
    let per_s = match (&args.rate, &planned) {
        (Some(shape), _) => {
            let highest = shape.over(Nanos::from_secs(1)).iter().map(|phase| phase.from.max(phase.to)).max();
            let each = planned.as_ref().map_or(1.0, |planned| planned.each);
            highest.map_or(0.0, |rate| rate.as_per_s()) * peak * each
        }
        (None, Some(planned)) => planned.per_s,
        (None, None) => refuse!(
            ["rate"],
            "what load? Give its requests per second (-R 10M) or a plan, or measure this machine (--calibrate)"
        ),
    };
    if per_s <= 0.0 {
        refuse!(["rate"], "the rate is 0 throughout: no machine is needed");
    }
    if per_s > RATE_MAX_PER_S as f64 {
        refuse!(["rate"], "bursts of {per_s:.0}/s are above the highest possible rate, {RATE_MAX_PER_S}/s");
    }
    if args.latency == Nanos::ZERO {
        refuse!(
            ["latency"],
            "--latency 0: no answer takes no time (give one above 0, such as --latency 20ms)"
        );
    }
    Ok(Load {
        per_s,
        latency_s: args.latency.as_secs_f64(),
        stall_s: args.stall.as_secs_f64(),
        dealt,
        requests: Requests {
            tls: args.tls || planned.as_ref().is_some_and(|planned| planned.tls),
            sent_bytes: args.request_body,
            answer_bytes: args.body,
            per_connection: args.requests_per_connection,
            operations: args.operations.or(planned.map(|planned| planned.operations)).unwrap_or(1),
        },
        addresses: args.addresses,
        open_before: args.open_before,
    })
}

/// What is drawn is drawn in streams.
fn dealt(process: Process) -> Dealt {
    if process.seed().is_some() { Dealt::Streams } else { Dealt::Equally }
}

/// `process` takes the place of the plan's own, and `rate` that of one that it lacks.
fn of_plan(path: &Path, process: Option<Process>, rate: Option<&Shape>) -> Result<OfPlan> {
    let (mut asked, says_load) = plan::of_run(path)?;
    if !says_load {
        // What a run advises here, a closed load or a recorded one, can't be sized.
        if rate.is_none() {
            bail!(
                "{path:?} has no load: give it a rate ([load] rate = 10000), or say the rate with -R, such as -R 10k"
            );
        }
        asked.load.rate = rate.cloned();
    }
    let planned = run::planned(&asked)?;
    let mut parts = planned.plan.spec().load.open_parts();
    if let Some(process) = process {
        parts.iter_mut().for_each(|part| part.process = process);
    }
    if parts.is_empty() {
        bail!(
            "{path:?} has a closed load, whose rate its target decides: say with -R what it may come to, and leave the plan out"
        );
    }
    let each = planned.plan.requests_per_arrival();
    let is_tls = |scheme| {
        matches!(scheme, Scheme::Https | Scheme::Wss | Scheme::Grpcs | Scheme::Rediss | Scheme::Cqls)
    };
    let mut origins = planned.requests.origin_names();
    Ok(OfPlan {
        per_s: highest_together(&parts) * each,
        each,
        dealt: if parts.iter().all(|part| dealt(part.process) == Dealt::Equally) {
            Dealt::Equally
        } else {
            Dealt::Streams
        },
        peak: parts.iter().map(|part| part.process.peak()).fold(1.0, f64::max),
        tls: origins.any(|origin| origin.scheme.is_some_and(is_tls)),
        operations: planned.plan.operations_apart() as u32,
    })
}
