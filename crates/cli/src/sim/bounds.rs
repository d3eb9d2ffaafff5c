//! Simulations that would never end, or last longer than anybody waits.

use crate::errors::refuse;
use anyhow::{Result, bail};
use unblink_core::plan::{LoadSpec, Plan};
use unblink_core::schedule::STREAMS;
use unblink_core::sim::{ClientSpec, Content, Pacing, Return, ServerSpec, Service, UsersSpec, WorldSpec};
use unblink_core::time::Nanos;
use unblink_report::format;

/// Events at the most: about an hour of one processor.
const EVENTS_MAX: f64 = 1e10;
/// Workers that each have a Poisson schedule of their own: its 1,024 streams take a tenth of a megabyte.
const POISSON_LANES_MAX: u32 = 5_000;
/// A request is due, reaches the server, and is answered.
const EVENTS_PER_REQUEST: f64 = 3.0;

/// Refuses what would not end.
pub(super) fn check(plan: &Plan, world: &WorldSpec, client: Option<&ClientSpec>) -> Result<()> {
    let length = plan.load_length().as_secs_f64();
    let closed = match (&plan.spec().load, client) {
        (LoadSpec::Closed { users, think, .. }, _) => Some((*users, *think)),
        (_, Some(ClientSpec::Tool(tool))) if tool.pacing == Pacing::Closed => {
            Some((tool.workers.unwrap_or(1), Nanos::ZERO))
        }
        _ => None,
    };
    let most = plan.spec().limit.map_or(f64::MAX, |limit| limit as f64);
    let requests = match closed {
        Some((users, think)) => {
            let round = think.as_secs_f64() + shortest_s(world);
            if round <= 0.0 {
                refuse!(
                    ["closed", "network"],
                    "closed users on a server that may answer at once, over a network that takes no time, would ask \
                     without end in one moment: add --network latency=100us, or a service time"
                );
            }
            f64::from(users) / round * length
        }
        None if !plan.is_open() => plan.recorded().map_or(0.0, |recorded| recorded.count() as f64),
        None => plan.schedules().map(|schedule| schedule.expected_before(plan.load_length()) as f64).sum(),
    };
    let users = match (client, &plan.spec().retry) {
        (Some(ClientSpec::Users(users)), _) => Some(*users),
        (_, Some(retry)) => Some(UsersSpec {
            patience: retry.try_timeout,
            attempts_max: retry.attempts,
            comes_back: Return::After(retry.wait),
            budget_percent: retry.budget_percent,
        }),
        _ => None,
    };
    let attempts = users.map_or(1.0, |users| attempts(&users, world, plan.spec().timeout));
    if dealing(plan, client).is_some_and(|workers| workers > POISSON_LANES_MAX) {
        refuse!(
            ["client", "arrivals"],
            "random arrivals are dealt out to at most {POISSON_LANES_MAX} workers: give --client fewer connections, \
             or --arrivals even"
        );
    }
    let requests = requests.min(most) * per_arrival(plan, world);
    let per_request =
        EVENTS_PER_REQUEST + world.server.events.as_ref().map_or(0.0, |events| f64::from(events.count));
    let events = requests * attempts * per_request + draws(plan, client, requests) + windows(world, length);
    if events > EVENTS_MAX {
        let events = format::plain(&format::count(events.min(1e18) as u64));
        let fewer = match client {
            _ if attempts <= 1.0 => "",
            Some(_) => ", or attempts= or budget= in --client",
            None => ", --attempts or --retry-budget",
        };
        bail!(
            "this may take {events} events, more than the {EVENTS_MAX:.0e} that are simulated: lower the rate or the \
             duration{fewer}, or give -n"
        );
    }
    Ok(())
}

/// Requests of an arrival, as many as there may be where answers have a step ask again.
fn per_arrival(plan: &Plan, world: &WorldSpec) -> f64 {
    if world.content == Content::default() { 1.0 } else { plan.requests_per_arrival() }
}

/// Attempts of a user at the most.
fn attempts(users: &UsersSpec, world: &WorldSpec, timeout: Nanos) -> f64 {
    let server = &world.server;
    let fails = server.limit.is_some()
        || server.queue_max.is_some()
        || server.error_one_in > 0
        || server.reset_one_in > 0
        || !server.down.is_empty();
    let way_s = 2.0 * (world.network.latency.as_secs_f64() + world.generator.cpu_per_event.as_secs_f64());
    // An attempt without success takes as long as the user's patience, unless the server may fail it at once.
    let attempt_s = match users.patience {
        _ if fails => way_s,
        Some(patience) => patience.as_secs_f64(),
        None => return 1.0,
    };
    let mut pause_s = match users.comes_back {
        Return::After(time) => time.as_secs_f64(),
        Return::Together(_) => 0.0,
    };
    let limit = f64::from(users.attempts_max);
    let allowed = users.budget_percent.map_or(limit, |percent| 1.0 + f64::from(percent) / 100.0);
    // As many as fit into the timeout. A pause that doubles soon does not; without one there is nothing to add up.
    let timeout_s = timeout.as_secs_f64();
    if pause_s == 0.0 {
        return limit.min(allowed).min(1.0 + timeout_s / attempt_s);
    }
    let (mut begun, mut at_s) = (0.0, 0.0);
    while begun < limit && at_s < timeout_s {
        begun += 1.0;
        at_s += attempt_s + pause_s;
        pause_s *= 2.0;
    }
    begun.min(allowed)
}

/// About how long a request takes where it is answered fastest, in seconds.
fn shortest_s(world: &WorldSpec) -> f64 {
    let server = &world.server;
    let turned_away = server.limit.is_some()
        || server.queue_max.is_some()
        || server.error_one_in > 0
        || !server.down.is_empty();
    let service = if turned_away { 0.0 } else { typical(server).as_secs_f64() };
    let way = (world.network.latency + world.network.jitter).as_secs_f64();
    service + 2.0 * way + world.generator.cpu_per_event.as_secs_f64()
}

/// The mean of the shortest work, or less.
fn typical(server: &ServerSpec) -> Nanos {
    let all = server.service_of.values().chain([&server.service]);
    all.map(mean).min().unwrap_or_default()
}

fn mean(service: &Service) -> Nanos {
    match service {
        Service::Constant(time)
        | Service::Exponential { mean: time }
        | Service::LogNormal { median: time, .. } => *time,
        Service::Pareto { min, .. } => *min,
        Service::Empirical(values) => {
            let all: u64 = values.iter().map(|(_, weight)| weight).sum();
            let sum: u128 =
                values.iter().map(|&(time, weight)| u128::from(time.0) * u128::from(weight)).sum();
            Nanos((sum / u128::from(all.max(1))) as u64)
        }
        Service::Ramp { from, to, .. } => (*from).min(*to),
    }
}

/// The workers to whom a Poisson schedule is dealt out, one by one: each draws all of it.
fn dealing(plan: &Plan, client: Option<&ClientSpec>) -> Option<u32> {
    let LoadSpec::Open { process, .. } = &plan.spec().load else { return None };
    match client {
        Some(ClientSpec::Tool(tool)) if matches!(tool.pacing, Pacing::StaticLocal | Pacing::DynamicLocal) => {
            process.seed().map(|_| tool.workers.unwrap_or(1))
        }
        _ => None,
    }
}

/// Draws of all of them.
fn draws(plan: &Plan, client: Option<&ClientSpec>, requests: f64) -> f64 {
    let (Some(workers), Some(ClientSpec::Tool(tool))) = (dealing(plan, client), client) else { return 0.0 };
    let workers = f64::from(workers);
    workers * (requests + workers * (1.0 + f64::from(tool.burst)) + STREAMS as f64)
}

/// Pauses at random times that have to be drawn.
fn windows(world: &WorldSpec, length_s: f64) -> f64 {
    world.server.shut_at_random.map_or(0.0, |w| length_s / (w.length + w.gap_mean).as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attempts_are_those_that_may_happen() {
        let sound = ServerSpec::new(Service::Constant(Nanos::from_millis(1)));
        let failing = ServerSpec { error_one_in: 2, ..sound.clone() };
        let most = |server: &ServerSpec, users: UsersSpec| {
            attempts(&users, &WorldSpec::new(server.clone()), Nanos::from_secs(10))
        };
        let herd = UsersSpec {
            patience: None,
            attempts_max: 100,
            comes_back: Return::Together(Nanos::from_secs(1)),
            budget_percent: None,
        };
        assert_eq!(most(&failing, herd), 100.0, "whenever somebody is answered");
        assert_eq!(most(&sound, herd), 1.0, "nobody is ever turned away");
        let patience = Some(Nanos::from_secs(1));
        assert_eq!(most(&sound, UsersSpec { patience, ..herd }), 11.0, "one in each second, and the first");
        assert_eq!(most(&failing, UsersSpec { budget_percent: Some(50), ..herd }), 1.5);
        // At 0, 1, 3 and 7 s; the next one would be at 15 s.
        let comes_back = Return::After(Nanos::from_secs(1));
        assert_eq!(most(&failing, UsersSpec { comes_back, ..herd }), 4.0);
        assert_eq!(most(&failing, UsersSpec { comes_back, attempts_max: 3, ..herd }), 3.0);
        let at_once = Return::After(Nanos::ZERO);
        let most_users = UsersSpec { comes_back: at_once, attempts_max: 1_000_000, ..herd };
        assert_eq!(most(&failing, most_users), 1_000_000.0);
    }
}
