//! What makes runs one series: what is compared by `compare` must be the same in them, and the target, too.

use crate::document::{
    Journey, LoadKind, LoadModel, LoadPhase, LoadPlan, LoadShape, Pacing, PrecisionGoal, Process,
    RunDocument, RunPlan, ValuePlan,
};
use crate::fingerprint::fingerprint_of;
use crate::simulated::SimulatedWorld;
use serde::Serialize;
use std::borrow::Cow;

/// The name of a run's series.
pub(super) fn name(document: &RunDocument) -> String {
    let loads = document.load_plans();
    let load = Hashed::of(&document.plan, loads.first());
    let world = document.simulated.as_ref().map(|simulated| {
        let SimulatedWorld { server, network, generator, client, .. } = &simulated.world;
        (server, network, generator, client)
    });
    let (targets, beyond) = (&document.targets, &document.targets_beyond);
    let name = match (beyond, &loads[..]) {
        (None, [] | [_]) if !loads.iter().any(is_placed) => fingerprint_of(&(load, targets, world)),
        (Some(beyond), [] | [_]) if !loads.iter().any(is_placed) => {
            fingerprint_of(&(load, targets, world, beyond))
        }
        (beyond, loads) => {
            let each: Vec<_> = loads.iter().map(|load| told(load, &document.plan)).collect();
            fingerprint_of(&(load, targets, world, beyond, each))
        }
    };
    let name = match &document.journeys[..] {
        [] => name,
        journeys => fingerprint_of(&(name, journeys.iter().map(Journey::plan).collect::<Vec<_>>())),
    };
    // Of requests in turn, each sent once, the name is that of the first documents.
    let name = match document.plan.order {
        None => name,
        Some(order) => {
            let shares: Vec<Option<f64>> = document.operations.iter().map(|of| of.plan.share).collect();
            fingerprint_of(&(name, order.name(), shares))
        }
    };
    let name = match &document.plan.retry {
        None => name,
        Some(retry) => fingerprint_of(&(name, retry)),
    };
    let name = match &document.origin().connections.web_socket {
        None => name,
        Some(plan) => fingerprint_of(&(name, "websocket", plan)),
    };
    let name = match &document.origin().connections.redis {
        None => name,
        Some(plan) => fingerprint_of(&(name, "redis", plan)),
    };
    let name = match &document.origin().connections.postgres {
        None => name,
        Some(plan) => fingerprint_of(&(name, "postgres", plan)),
    };
    let name = match &document.origin().connections.cql {
        None => name,
        Some(plan) => fingerprint_of(&(name, "cql", plan)),
    };
    match document.origin().connections.streams {
        None => name,
        Some(streams) => fingerprint_of(&(name, "http/2", streams)),
    }
}

/// It is offered in a part of the run, or asks for some requests only. The first documents knew no such load.
fn is_placed(load: &LoadPlan) -> bool {
    matches!(&load.kind, LoadKind::Open { start_ns, only, .. } if *start_ns > 0 || !only.is_empty())
}

/// One of several loads with everything that tells it from others.
fn told<'a>(load: &'a LoadPlan, plan: &'a RunPlan) -> impl Serialize + use<'a> {
    let (start_ns, only) = match &load.kind {
        LoadKind::Open { start_ns, only, .. } => (*start_ns, &only[..]),
        LoadKind::Closed { .. } => (0, &[][..]),
    };
    (&load.name, Hashed::of(plan, Some(load)), start_ns, only)
}

/// The form in which a load is hashed, which is that of the first documents: with another one, every series would break
/// off where its runs were recorded by a later build.
#[derive(Serialize)]
struct Hashed<'a> {
    model: LoadModel,
    summary: &'a str,
    process: Option<Cow<'static, str>>,
    seed: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shape: Option<LoadShape>,
    phases: &'a [LoadPhase],
    users: Option<u32>,
    think_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ramp_up_ns: Option<u64>,
    warmup_ns: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    warmup_auto: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    precision: Option<&'a PrecisionGoal>,
    duration_ns: u64,
    timeout_ns: u64,
    drain_ns: u64,
    threads: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    pacing: Option<Pacing>,
    requests_max: Option<u64>,
    #[serde(skip_serializing_if = "<[ValuePlan]>::is_empty")]
    values: &'a [ValuePlan],
}

impl<'a> Hashed<'a> {
    /// Without what does not keep series apart: words, seeds, threads, and how long answers are waited for.
    fn of(plan: &'a RunPlan, load: Option<&'a LoadPlan>) -> Hashed<'a> {
        let closed = |think_ns, process| (LoadModel::Closed, process, &plan.phases, Some(think_ns));
        let (model, process, phases, think_ns) = match load.map(|load| &load.kind) {
            Some(LoadKind::Open { process, phases, .. }) => (LoadModel::Open, Some(*process), phases, None),
            Some(LoadKind::Closed { think_ns, is_recorded, .. }) => {
                closed(*think_ns, is_recorded.then_some(Process::Recorded))
            }
            None => closed(0, None),
        };
        Hashed {
            model,
            summary: "",
            process: process.map(Process::exact),
            seed: None,
            shape: plan.shape,
            phases,
            users: load.and_then(LoadPlan::users),
            think_ns,
            ramp_up_ns: load.and_then(LoadPlan::ramp_up_ns),
            warmup_ns: plan.warmup_ns,
            warmup_auto: plan.warmup_auto,
            precision: plan.precision.as_ref(),
            duration_ns: plan.duration_ns,
            timeout_ns: plan.timeout_ns,
            drain_ns: 0,
            threads: 0,
            pacing: plan.pacing,
            requests_max: plan.requests_max,
            values: &plan.values,
        }
    }
}
