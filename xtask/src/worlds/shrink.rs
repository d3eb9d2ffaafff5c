//! Makes a failing world smaller: shorter, slower, with one feature after the other left out, for as long as
//! it still fails.

use super::generate::Case;
use super::{ENDLESS, NO_PLAN, Sum};
use unblink_core::dispatch::{Jitter, Pool, Retry, RetryOn, Room};
use unblink_core::plan::{LoadSpec, OpenPart};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{GeneratorSpec, NetworkSpec, ServerSpec, Service};
use unblink_core::time::Nanos;

/// Worlds that are tried at the most.
const TRIES_MAX: usize = 2_000;

/// The smallest failing world on the way down from `case`, and what is wrong in it.
pub(super) fn shrink(
    case: Case,
    violation: String,
    fails: impl Fn(&Case) -> Result<Sum, String>,
) -> (Case, String) {
    let (mut case, mut violation, mut tries) = (case, violation, 0);
    loop {
        let smaller = simpler(&case).into_iter().filter(|next| *next != case).find_map(|next| {
            tries += 1;
            let error = (tries <= TRIES_MAX).then(|| fails(&next).err())??;
            // That a plan can't be is another matter, and so is a world in which time stands still.
            let goes_on = |error: &str| error.starts_with(ENDLESS);
            let other = error.starts_with(NO_PLAN) || goes_on(&error) != goes_on(&violation);
            (!other).then_some((next, error))
        });
        match smaller {
            Some(found) => (case, violation) = found,
            None => return (case, violation),
        }
    }
}

/// Worlds that are a step simpler, the widest steps first.
fn simpler(case: &Case) -> Vec<Case> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Case)| {
        let mut next = case.clone();
        change(&mut next);
        all.push(next);
    };
    with(&|c| c.world.server = ServerSpec::new(c.world.server.service.clone()));
    with(&|c| c.world.generator = GeneratorSpec::default());
    with(&|c| c.world.network = NetworkSpec::default());
    with(&|c| c.world.room = Room::SINGLE);
    with(&|c| (c.plan.origins, c.world.others) = Default::default());
    with(&|c| {
        if let LoadSpec::Several(parts) = &c.plan.load
            && let [only] = &parts[..]
        {
            c.plan.load = LoadSpec::Open { phases: only.phases.clone(), process: only.process };
        }
    });
    for place in 0..case.world.others.len() {
        with(&|c| c.world.others[place] = ServerSpec::new(c.world.others[place].service.clone()));
        with(&|c| c.world.others[place] = c.world.server.clone());
    }
    with(&|c| c.plan.retry = None);
    with(&|c| {
        let steps: usize = c.plan.mix.journeys.each.iter().map(|journey| journey.steps.len()).sum();
        c.plan.idempotent.truncate(c.plan.idempotent.len() - steps);
        c.plan.mix = Default::default();
    });
    with(&|c| c.plan.mix.journeys.each.iter_mut().for_each(|journey| journey.own_connection = false));
    with(&|c| c.plan.mix.journeys.each.iter_mut().for_each(|journey| journey.hold_connection = false));
    with(&|c| c.plan.origins = c.plan.origins.clone().with_sockets(&[]));
    simpler_retries(&mut with);
    with(&|c| c.stop = None);
    with(&|c| c.plan.warmup = Nanos::ZERO);
    with(&|c| c.plan.limit = None);
    with(&|c| c.plan.drain = None);
    with(&|c| c.plan.threads = 1);
    with(&|c| c.plan.idempotent.truncate(1));
    // Neither is simpler than the other.
    if !matches!(case.world.server.service, Service::Constant(_)) {
        with(&|c| c.world.server.service = Service::Constant(Nanos::ZERO));
        with(&|c| c.world.server.service = Service::Constant(Nanos::from_millis(10)));
    }
    with(&|c| c.world.server.slots = None);
    with(&|c| c.world.server.queue_max = None);
    with(&|c| c.world.server.every_nth = None);
    with(&|c| c.world.server.slow_one_in = None);
    with(&|c| c.world.server.shut.truncate(1));
    with(&|c| c.world.server.shut.clear());
    with(&|c| c.world.server.shut_at_random = None);
    with(&|c| c.world.server.accept_stalled.clear());
    with(&|c| c.world.server.down.clear());
    with(&|c| c.world.server.refuse_one_in = 0);
    with(&|c| c.world.server.reset_one_in = 0);
    with(&|c| c.world.server.error_one_in = 0);
    with(&|c| c.world.network.jitter = Nanos::ZERO);
    with(&|c| c.world.network.latency = Nanos::ZERO);
    with(&|c| c.world.generator.pauses = None);
    with(&|c| c.world.generator.cpu_per_event = Nanos::ZERO);
    with(&|c| {
        let (Pool::Auto { max: n } | Pool::Fixed { n }) = &mut c.plan.pool;
        *n = (*n / 2).max(1);
    });
    smaller_loads(case, &mut with);
    with(&|c| c.plan.limit = c.plan.limit.map(|limit| (limit / 2).max(1)));
    with(&|c| c.plan.timeout.0 = (c.plan.timeout.0 / 2).max(1));
    all
}

fn simpler_retries(with: &mut impl FnMut(&dyn Fn(&mut Case))) {
    let mut with = |change: &dyn Fn(&mut Retry)| with(&|c| c.plan.retry.iter_mut().for_each(change));
    with(&|retry| retry.try_timeout = None);
    with(&|retry| retry.on = RetryOn::default());
    with(&|retry| retry.budget_percent = None);
    with(&|retry| retry.wait = Nanos::ZERO);
    with(&|retry| retry.jitter = Jitter::None);
    with(&|retry| retry.attempts = 2);
}

fn smaller_loads(case: &Case, with: &mut impl FnMut(&dyn Fn(&mut Case))) {
    match &case.plan.load {
        LoadSpec::Closed { .. } => smaller_population(with),
        LoadSpec::Open { .. } => {
            smaller_load(with, |load| match load {
                LoadSpec::Open { phases, process } => Some((phases, process)),
                _ => None,
            });
        }
        // No world replays anything.
        LoadSpec::Recorded(_) | LoadSpec::RecordedUsers(_) => {}
        LoadSpec::Several(parts) => {
            for place in 0..parts.len() {
                smaller_part(with, place);
                smaller_load(with, move |load| match load {
                    LoadSpec::Several(parts) => parts.get_mut(place).map(|p| (&mut p.phases, &mut p.process)),
                    _ => None,
                });
            }
        }
    }
}

fn smaller_population(with: &mut impl FnMut(&dyn Fn(&mut Case))) {
    let mut with = |change: &dyn Fn(&mut u32, &mut Nanos, &mut Nanos)| {
        with(&|c| {
            if let LoadSpec::Closed { users, ramp_up, duration, .. } = &mut c.plan.load {
                change(users, ramp_up, duration);
            }
        });
    };
    with(&|users, _, _| *users = (*users / 2).max(1));
    with(&|_, _, duration| duration.0 /= 2);
    with(&|_, ramp_up, _| ramp_up.0 /= 2);
}

/// One of several loads.
fn smaller_part(with: &mut impl FnMut(&dyn Fn(&mut Case)), place: usize) {
    let mut with = |change: &dyn Fn(&mut Vec<OpenPart>)| {
        with(&|c| {
            if let LoadSpec::Several(parts) = &mut c.plan.load {
                change(parts);
            }
        });
    };
    with(&|parts| {
        if parts.len() > 1 {
            parts.remove(place);
        }
    });
    with(&|parts| parts[place].only = None);
    with(&|parts| parts[place].start.0 /= 2);
}

/// An open load, which `of` finds.
fn smaller_load(
    with: &mut impl FnMut(&dyn Fn(&mut Case)),
    of: impl Fn(&mut LoadSpec) -> Option<(&mut Vec<Phase>, &mut Process)>,
) {
    let mut with = |change: &dyn Fn(&mut Vec<Phase>, &mut Process)| {
        with(&|c| {
            if let Some((phases, process)) = of(&mut c.plan.load) {
                change(phases, process);
            }
        });
    };
    with(&|phases, _| phases.truncate(1));
    with(&|phases, _| phases.iter_mut().for_each(|phase| phase.duration.0 /= 2));
    with(&|phases, process| {
        *process = Process::Even;
        phases.iter_mut().for_each(|phase| phase.to = phase.from);
    });
    with(&|phases, _| {
        for rate in phases.iter_mut().flat_map(|phase| [&mut phase.from, &mut phase.to]) {
            *rate = Rate::from_milli(rate.milli_per_s() / 2);
        }
    });
}
