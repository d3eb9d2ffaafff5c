//! What makes runs one series: what is compared by `compare` must be the same in them, and the target, too.

use crate::document::{
    LoadKind, LoadModel, LoadPhase, LoadPlan, LoadShape, Pacing, PrecisionGoal, Process, RunDocument, RunPlan,
};
use crate::fingerprint::fingerprint_of;
use crate::simulated::SimulatedWorld;
use serde::Serialize;

/// The name of a run's series.
pub(super) fn name(document: &RunDocument) -> String {
    let loads = document.load_plans();
    let (first, others) =
        loads.split_first().map_or((None, &[][..]), |(first, others)| (Some(first), others));
    let load = Hashed::of(&document.plan, first);
    let world = document.simulated.as_ref().map(|simulated| {
        let SimulatedWorld { server, network, generator, client, .. } = &simulated.world;
        (server, network, generator, client)
    });
    let (targets, beyond) = (&document.targets, &document.targets_beyond);
    let name = match (beyond, others) {
        (None, []) => fingerprint_of(&(load, targets, world)),
        (Some(beyond), []) => fingerprint_of(&(load, targets, world, beyond)),
        (beyond, others) => {
            let others: Vec<(&Option<String>, Hashed<'_>)> =
                others.iter().map(|load| (&load.name, Hashed::of(&document.plan, Some(load)))).collect();
            fingerprint_of(&(load, targets, world, beyond, others))
        }
    };
    // Of requests in turn, the name is that of the first documents.
    match document.plan.order {
        None => name,
        Some(order) => {
            let shares: Vec<Option<f64>> = document.operations.iter().map(|of| of.plan.share).collect();
            fingerprint_of(&(name, order.name(), shares))
        }
    }
}

/// The form in which a load is hashed, which is that of the first documents: with another one, every series would break
/// off where its runs were recorded by a later build.
#[derive(Serialize)]
struct Hashed<'a> {
    model: LoadModel,
    summary: &'a str,
    process: Option<&'a str>,
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
}

impl<'a> Hashed<'a> {
    /// Without what does not keep series apart: words, seeds, threads, and how long answers are waited for.
    fn of(plan: &'a RunPlan, load: Option<&'a LoadPlan>) -> Hashed<'a> {
        let closed = |think_ns| (LoadModel::Closed, None, &plan.phases, Some(think_ns));
        let (model, process, phases, think_ns) = match load.map(|load| &load.kind) {
            Some(LoadKind::Open { process, phases, .. }) => (LoadModel::Open, Some(*process), phases, None),
            Some(LoadKind::Closed { think_ns, .. }) => closed(*think_ns),
            None => closed(0),
        };
        Hashed {
            model,
            summary: "",
            process: process.map(Process::name),
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
        }
    }
}
