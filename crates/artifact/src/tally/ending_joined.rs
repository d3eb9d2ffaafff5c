//! How the runs of several machines ended, as one.

use super::early::last_stop;
use super::{Ending, OriginEnding};
use crate::document::{RunStatus, SetupRequest, WorkerPriority};
use std::collections::BTreeMap;

impl Ending {
    /// Of all `parts`, each of which has its machines. What can't be added up exactly (response times by address, the medians
    /// of what was spread or drawn) is left out.
    pub(crate) fn join(parts: Vec<Ending>) -> Ending {
        // Of a target that answered nobody nothing is lost: there was no run. One that answered somebody was there.
        let is_unanswered = parts.iter().all(|part| part.preflight().is_some());
        let has = |status| match is_unanswered {
            true => status == RunStatus::Complete,
            false => parts.iter().any(|part| part.status == status),
        };
        let status =
            [RunStatus::Aborted, RunStatus::Interrupted, RunStatus::Complete].into_iter().find(|s| has(*s));
        // A machine whose record breaks off has no end. If all are so, the run was as good as stopped.
        let status = status.unwrap_or(RunStatus::Interrupted);
        let sum = |count: fn(&Ending) -> Option<u64>| parts.iter().map(count).sum::<Option<u64>>();
        let by = |counts: fn(&Ending) -> &Vec<u64>| sum_each(parts.iter().map(counts));
        let mut agents: Vec<_> = parts.iter().flat_map(|part| part.agents.iter().cloned()).collect();
        agents.sort_by_key(|agent| agent.plan.first);
        Ending {
            status,
            scheduled: sum(|part| part.scheduled),
            scheduled_warmup: sum(|part| part.scheduled_warmup),
            scheduled_by_operation: by(|part| &part.scheduled_by_operation),
            scheduled_by_load: by(|part| &part.scheduled_by_load),
            scheduled_by_journey: by(|part| &part.scheduled_by_journey),
            scheduled_by_origin: by(|part| &part.scheduled_by_origin),
            ended_after: parts.iter().map(|part| part.ended_after).max().unwrap_or_default(),
            last_completion: parts.iter().filter_map(|part| part.last_completion).max(),
            steal_share: parts.iter().filter_map(|part| part.steal_share).reduce(f64::max),
            involuntary_switches: sum(|part| part.involuntary_switches),
            priority: parts
                .iter()
                .filter_map(|part| part.priority)
                .max_by_key(|priority| shortfall(*priority)),
            kept_awake: parts.iter().filter_map(|part| part.kept_awake).reduce(|a, b| a && b),
            origins: origins(&parts, is_unanswered),
            aborted: last_stop(parts.iter().filter_map(|part| part.aborted.as_ref())),
            withheld: parts.iter().map(|part| part.withheld).sum(),
            values_sent: Vec::new(),
            setup: setup(&parts),
            cross_check: None,
            agents,
            clock_last: None,
            bus_behind_ns: None,
        }
    }
}

/// Place by place; nothing where one of them does not know it.
fn sum_each<'a>(counts: impl Iterator<Item = &'a Vec<u64>> + Clone) -> Vec<u64> {
    let places = counts.clone().map(Vec::len).min().unwrap_or(0);
    (0..places).map(|place| counts.clone().map(|counts| counts[place]).sum()).collect()
}

fn shortfall(priority: WorkerPriority) -> u8 {
    match priority {
        WorkerPriority::RealTime => 0,
        WorkerPriority::GivenUp => 1,
        WorkerPriority::Refused => 2,
    }
}

/// `is_unanswered`: why the request before the run failed is told. Of several reasons always the same one, whichever machines were merged
/// before.
fn origins(parts: &[Ending], is_unanswered: bool) -> Vec<OriginEnding> {
    let places = parts.iter().map(|part| part.origins.len()).max().unwrap_or(0);
    let mut all = vec![OriginEnding::default(); places];
    for (place, one) in parts.iter().flat_map(|part| part.origins.iter().enumerate()) {
        let joined = &mut all[place];
        for (address, &n) in &one.by_address {
            *joined.by_address.entry(address.clone()).or_default() += n;
        }
        for (address, failed) in &one.failed_by_address {
            let sum = joined.failed_by_address.entry(address.clone()).or_default();
            sum.refused += failed.refused;
            sum.unanswered += failed.unanswered;
            sum.unreachable += failed.unreachable;
        }
        joined.resolving_failed += one.resolving_failed;
        if is_unanswered {
            joined.preflight = joined.preflight.iter().chain(&one.preflight).min().cloned();
        }
    }
    all
}

/// By name.
fn setup(parts: &[Ending]) -> Vec<SetupRequest> {
    let mut by_name: BTreeMap<&str, SetupRequest> = BTreeMap::new();
    for one in parts.iter().flat_map(|part| &part.setup) {
        let new = || SetupRequest { name: one.name.clone(), asked: 0, failed: 0 };
        let sum = by_name.entry(&one.name).or_insert_with(new);
        sum.asked += one.asked;
        sum.failed += one.failed;
    }
    by_name.into_values().collect()
}
