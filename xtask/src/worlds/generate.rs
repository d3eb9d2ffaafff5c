//! Random worlds: a plan, a server, a network and a generator, all from one seed.

use super::entry::GIVEN_UP_MAX;
use unblink_core::code::Code;
use unblink_core::dispatch::{Jitter, Pool, Retry, RetryOn, Room};
use unblink_core::failure::FailureKind;
use unblink_core::journey::{CERTAIN, JourneySpec, Journeys, Redirects, StepSpec, Think, Until};
use unblink_core::mix::{Mix, Order};
use unblink_core::origins::{ORIGINS_MAX, Origins, SocketUse};
use unblink_core::plan::{LoadSpec, OpenPart, Plan, PlanError, PlanSpec};
use unblink_core::schedule::{Bursts, Phase, Process, Rate};
use unblink_core::sim::{
    GeneratorSpec, NetworkSpec, Random, RandomWindows, ServerSpec, Service, Windows, WorldSpec,
};
use unblink_core::time::{MICROSECOND_NS, MILLISECOND_NS, Nanos, SECOND_NS};

/// The stream of a seed that draws the world; the world's own parts draw from lower ones.
const STREAM: u64 = 100;
/// Arrivals of an open plan at the most, about.
const ARRIVALS_MAX: u64 = 4_000;

/// Longest warm-up.
const WARMUP_MAX: Nanos = Nanos::from_millis(300);
/// Longest time over which closed users begin.
const RAMP_UP_MAX: Nanos = Nanos::from_millis(500);

/// One world.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Case {
    pub(super) plan: PlanSpec,
    pub(super) world: WorldSpec,
    /// The user ends the run then.
    pub(super) stop: Option<Nanos>,
}

/// The world of `seed`. Most parts are left out of most worlds, so that each is met alone as well.
pub(super) fn case(seed: u64) -> Case {
    let mut dice = Dice(Random::new(seed, STREAM));
    let network = network(&mut dice);
    let duration = dice.between(MILLISECOND_NS, 4 * SECOND_NS);
    let load = if dice.one_in(3) { closed(&mut dice, duration, network) } else { open(&mut dice, duration) };
    let starts_at_nothing =
        matches!(&load, LoadSpec::Open { phases, .. } if phases[0].from.milli_per_s() == 0);
    let pool = match dice.below(2) {
        0 => Pool::Fixed { n: dice.count(100) },
        _ => Pool::Auto { max: dice.count(5_000) },
    };
    let (Pool::Auto { max: connections } | Pool::Fixed { n: connections }) = pool;
    let users = if let LoadSpec::Closed { users, .. } = load { users } else { u32::MAX };
    let operations = if dice.one_in(100) { 300 } else { 1 + dice.below(3) };
    let mut plan = PlanSpec {
        load,
        warmup: Nanos(if dice.one_in(3) && !starts_at_nothing { dice.below(WARMUP_MAX.0) } else { 0 }),
        limit: dice.one_in(4).then(|| dice.between(1, 3_000)),
        timeout: Nanos(dice.between(MILLISECOND_NS, 30 * SECOND_NS)),
        drain: dice.one_in(2).then(|| Nanos(dice.below(2) * dice.between(MICROSECOND_NS, 3 * SECOND_NS))),
        pool,
        threads: if dice.one_in(4) { 1 + dice.below(3) as u32 } else { 1 }.min(connections).min(users),
        retry: None,
        idempotent: (0..operations).map(|_| !dice.one_in(3)).collect(),
        mix: Default::default(),
        origins: Default::default(),
        rate_cap: None,
    };
    let others = apart(seed, STREAM + 2, |dice| several_origins(dice, &mut plan)).unwrap_or_default();
    apart(seed, STREAM + 3, |dice| several_loads(dice, &mut plan, duration));
    plan.retry = apart(seed, STREAM + 4, |dice| retry(dice, plan.timeout));
    apart(seed, STREAM + 5, |dice| journeys(dice, &mut plan));
    own_connections(seed, &mut plan);
    held_connections(seed, &mut plan);
    sockets(seed, &mut plan);
    paced(seed, &mut plan);
    let stop = dice.one_in(6).then(|| Nanos(dice.between(1, 2 * duration)));
    let world = WorldSpec {
        server: server(&mut dice),
        others,
        content: Default::default(),
        network,
        generator: generator(&mut dice),
        room: room(seed),
        seed: dice.bits(),
    };
    Case { plan, world, stop }
}

/// A third of the worlds have connections that take several requests at once. Drawn apart, so that the rest of a world is
/// the same with it and without.
fn room(seed: u64) -> Room {
    let mut dice = Dice(Random::new(seed, STREAM + 1));
    match dice.one_in(3) {
        true => Room { places: 1 + dice.count(120), cancels: dice.one_in(2) },
        false => Room::SINGLE,
    }
}

/// What a quarter of the worlds have, by dice of its own: the rest of a world is the same with it and without.
fn apart<T>(seed: u64, stream: u64, draw: impl FnOnce(&mut Dice) -> T) -> Option<T> {
    let mut dice = Dice(Random::new(seed, stream));
    dice.one_in(4).then(|| draw(&mut dice))
}

/// Two to four origins, each operation at one of them. Gives the servers of all but the first: some answer nothing for
/// long, some are not there for long or for ever.
fn several_origins(dice: &mut Dice, plan: &mut PlanSpec) -> Vec<ServerSpec> {
    let origins = 2 + dice.below(3);
    while (plan.idempotent.len() as u64) < origins {
        plan.idempotent.push(!dice.one_in(3));
    }
    let of_operation: Vec<u8> = plan.idempotent.iter().map(|_| dice.below(origins) as u8).collect();
    plan.origins = Origins::new(&of_operation).unwrap_or_default();
    let mut other = || {
        let mut server = server(dice);
        let long =
            Windows::once(Nanos(dice.below(2 * SECOND_NS)), Nanos(dice.between(SECOND_NS, 100 * SECOND_NS)));
        match dice.below(4) {
            0 => server.shut.push(long),
            1 => server.down.push(long),
            2 => server.accept_stalled.push(long),
            _ => {}
        }
        server
    };
    (1..origins).map(|_| other()).collect()
}

/// An open load becomes the first of two or three, which ask for everything or for some.
fn several_loads(dice: &mut Dice, plan: &mut PlanSpec, duration: u64) {
    let LoadSpec::Open { phases, process } = &plan.load else { return };
    let mut parts = vec![OpenPart::whole(phases.clone(), *process)];
    for _ in 0..1 + dice.below(2) {
        let length = dice.between(MILLISECOND_NS, 2 * duration);
        let LoadSpec::Open { phases, process } = open(dice, length) else { return };
        let start = if dice.one_in(4) { 0 } else { dice.below(2 * duration) };
        parts.push(OpenPart { start: Nanos(start), ..OpenPart::whole(phases, process) });
    }
    let operations = plan.idempotent.len() as u64;
    for part in &mut parts {
        let some = |dice: &mut Dice| {
            (0..1 + dice.below(operations)).map(|_| dice.below(operations) as u32).collect()
        };
        part.only = dice.one_in(2).then(|| some(dice));
    }
    plan.load = LoadSpec::Several(parts);
    // It would have to say of which load.
    plan.limit = None;
}

/// Some arrivals of an open load begin journeys. Each request is sent once at the most, so that what came of it is known.
fn journeys(dice: &mut Dice, plan: &mut PlanSpec) {
    let plain = plan.idempotent.len();
    if !matches!(plan.load, LoadSpec::Open { .. }) || plain > 100 || plan.retry.is_some() {
        return;
    }
    let mut each = Vec::new();
    for _ in 0..1 + dice.below(3) {
        let steps = 1 + dice.below(4);
        let all = (0..steps).map(|place| step(dice, place == 0, place + 1 == steps));
        each.push(JourneySpec { steps: all.collect(), ..JourneySpec::default() });
    }
    let of_step = |step: &StepSpec| 1 + usize::from(step.redirects.operations);
    let steps: usize = each.iter().flat_map(|journey| &journey.steps).map(of_step).sum();
    let origins = plan.origins.count() as u64;
    let mut of_operation: Vec<u8> = (0..plain as u32).map(|plain| plan.origins.of(plain) as u8).collect();
    of_operation.extend((0..steps).map(|_| dice.below(origins) as u8));
    plan.origins = Origins::new(&of_operation).unwrap_or_default();
    plan.idempotent.extend((0..steps).map(|_| !dice.one_in(3)));
    let weights = (0..plain + each.len()).map(|_| 1 + dice.below(5) as u32);
    plan.mix = Mix {
        weights: Some(weights.collect()),
        order: Order::Shuffled { seed: dice.bits() },
        journeys: Journeys {
            each,
            seed: dice.bits(),
            under_way_max: [1, 5, 10_000][dice.below(3) as usize],
            ..Journeys::default()
        },
    };
}

/// Half of the worlds with journeys have some with connections of their own; often there are fewer than journeys want.
fn own_connections(seed: u64, plan: &mut PlanSpec) {
    let mut dice = Dice(Random::new(seed, STREAM + 6));
    let journeys = &mut plan.mix.journeys.each;
    if journeys.is_empty() || dice.one_in(2) {
        return;
    }
    let first = dice.below(journeys.len() as u64) as usize;
    for (place, journey) in journeys.iter_mut().enumerate() {
        journey.own_connection = place == first || dice.one_in(2);
    }
    if dice.one_in(2) {
        let n = plan.threads + dice.count(5) - 1;
        plan.pool = if dice.one_in(2) { Pool::Fixed { n } } else { Pool::Auto { max: n } };
    }
}

/// Half of those whose journeys have none of their own have some that hold a connection of all, at one origin. Connections that
/// take several requests are not held.
fn held_connections(seed: u64, plan: &mut PlanSpec) {
    let mut dice = Dice(Random::new(seed, STREAM + 8));
    let journeys = &mut plan.mix.journeys.each;
    let is_any_own = journeys.iter().any(|journey| journey.own_connection);
    if journeys.is_empty() || is_any_own || room(seed) != Room::SINGLE || dice.one_in(2) {
        return;
    }
    let mut of_operation: Vec<u8> =
        (0..plan.idempotent.len() as u32).map(|operation| plan.origins.of(operation) as u8).collect();
    let mut operation = plan.mix.weights.as_ref().map_or(0, |weights| weights.len() - journeys.len());
    let first = dice.below(journeys.len() as u64) as usize;
    for (place, journey) in journeys.iter_mut().enumerate() {
        journey.hold_connection = place == first || dice.one_in(2);
        let origin = of_operation[operation];
        for step in &mut journey.steps {
            if journey.hold_connection {
                of_operation[operation] = origin;
                step.redirects.max = 0;
            }
            operation += 1;
        }
    }
    plan.origins = Origins::new(&of_operation).unwrap_or_default();
    if dice.one_in(2) {
        let n = plan.threads + dice.count(5) - 1;
        plan.pool = if dice.one_in(2) { Pool::Fixed { n } } else { Pool::Auto { max: n } };
    }
}

/// A third of the worlds with journeys have some over WebSockets of their own, at an origin of their own. Connections that take
/// several requests are none of these.
fn sockets(seed: u64, plan: &mut PlanSpec) {
    let mut dice = Dice(Random::new(seed, STREAM + 7));
    let journeys = &mut plan.mix.journeys.each;
    let origin = plan.origins.count();
    if room(seed) != Room::SINGLE || origin == ORIGINS_MAX || dice.one_in(2) {
        return;
    }
    let mut of_operation: Vec<u8> =
        (0..plan.idempotent.len() as u32).map(|operation| plan.origins.of(operation) as u8).collect();
    let mut uses = vec![SocketUse::None; of_operation.len()];
    let mut operation = plan.mix.weights.as_ref().map_or(0, |weights| weights.len() - journeys.len());
    for journey in journeys {
        let is_over_one = !journey.own_connection && !journey.hold_connection && !dice.one_in(3);
        for (place, step) in journey.steps.iter_mut().enumerate() {
            if is_over_one {
                let opens = place == 0 || dice.one_in(5);
                if opens {
                    (step.repeat, step.chance, step.until) = ((1, 1), CERTAIN, None);
                }
                uses[operation] = if opens { SocketUse::Opens } else { SocketUse::Uses };
                of_operation[operation] = origin as u8;
                // A message is not sent twice.
                plan.idempotent[operation] = false;
            }
            operation += 1;
        }
    }
    plan.origins = Origins::new(&of_operation).unwrap_or_default().with_sockets(&uses);
}

/// A third of the worlds have origins to which attempts come at a pace.
fn paced(seed: u64, plan: &mut PlanSpec) {
    let mut dice = Dice(Random::new(seed, STREAM + 9));
    let first = dice.below(plan.origins.count() as u64) as usize;
    for origin in 0..if dice.one_in(3) { plan.origins.count() } else { 0 } {
        if origin == first || dice.one_in(2) {
            plan.origins = plan.origins.clone().with_pace(origin);
        }
    }
}

fn step(dice: &mut Dice, is_first: bool, is_last: bool) -> StepSpec {
    let until = dice.one_in(5).then(|| Until { every: Nanos::from_millis(10), within: Nanos::from_secs(1) });
    let least = 1 + dice.below(2) as u16;
    StepSpec {
        think: Think::Constant(Nanos(if dice.one_in(3) { 0 } else { dice.between(1, SECOND_NS / 2) })),
        repeat: if until.is_some() { (1, 1) } else { (least, least + dice.below(3) as u16) },
        chance: if is_first || dice.one_in(2) { CERTAIN } else { 1 + dice.below(9_999) as u16 },
        exit: if is_last || dice.one_in(2) { 0 } else { 1 + dice.below(5_000) as u16 },
        until,
        // The simulated server sends nobody on, but what could be asked for then is there.
        redirects: Redirects { max: u8::from(until.is_none()), operations: dice.below(3) as u16 },
        // No key is drawn, but who is yet to insert one is known.
        inserts: is_last,
    }
}

/// Up to five attempts, after some failures or when one takes too long.
fn retry(dice: &mut Dice, timeout: Nanos) -> Retry {
    let mut on = RetryOn::default();
    [429, 500, 503]
        .into_iter()
        .filter(|_| !dice.one_in(3))
        .filter_map(Code::of_status)
        .for_each(|code| on.add_code(code));
    let kinds = [FailureKind::RESET, FailureKind::CONNECT_REFUSED, FailureKind::SHED];
    kinds.into_iter().filter(|_| dice.one_in(2)).for_each(|kind| on.add_kind(kind));
    let may_give_up = timeout.0 > 1 && (dice.one_in(2) || on.is_empty());
    Retry {
        attempts: 2 + dice.below(GIVEN_UP_MAX as u64) as u32,
        on,
        try_timeout: may_give_up.then(|| Nanos(dice.between(1, timeout.0 - 1))),
        wait: Nanos(if dice.one_in(4) { 0 } else { dice.between(1, 300 * MILLISECOND_NS) }),
        jitter: [Jitter::None, Jitter::Equal, Jitter::Full][dice.below(3) as usize],
        budget_percent: dice.one_in(3).then(|| dice.below(60) as u32),
        is_unsafe: dice.one_in(4),
        seed: dice.bits(),
    }
}

/// A generator of choices.
struct Dice(Random);

impl Dice {
    fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.0.one_in(n)
    }

    /// Every order of magnitude from `low` to `high` alike.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        let ratio = high as f64 / low as f64;
        ((low as f64 * ratio.powf(self.0.uniform())) as u64).clamp(low, high)
    }

    fn count(&mut self, max: u64) -> u32 {
        self.between(1, max) as u32
    }

    /// Microseconds to seconds.
    fn time(&mut self) -> Nanos {
        Nanos(self.between(MICROSECOND_NS, 2 * SECOND_NS))
    }

    fn odds(&mut self, unlikely: u64) -> u64 {
        if self.one_in(unlikely) { self.between(1, 300) } else { 0 }
    }
}

fn open(dice: &mut Dice, duration: u64) -> LoadSpec {
    let most = (ARRIVALS_MAX * SECOND_NS / duration).clamp(1, 20_000) * 1000;
    let mut rate = || Rate::from_milli(dice.between(1 + most / 5_000, most));
    let (a, b, c) = (rate(), rate(), rate());
    let duration = Nanos(duration);
    let phases = match dice.below(5) {
        0 | 1 => vec![Phase::hold(a, duration)],
        2 => vec![Phase { from: a, to: b, duration }],
        3 => {
            vec![Phase { from: Rate::default(), to: b, duration }, Phase::hold(b, Nanos(1 + duration.0 / 3))]
        }
        _ => [a, Rate::default(), b, c].map(|r| Phase::hold(r, Nanos(1 + duration.0 / 4))).to_vec(),
    };
    let process = match dice.below(6) {
        0..=2 => Process::Even,
        3 | 4 => Process::Poisson { seed: dice.below(1 << 40) },
        _ => Process::Bursty { seed: dice.below(1 << 40), bursts: bursts(dice) },
    };
    LoadSpec::Open { phases, process }
}

/// Any that keep the mean, silent lulls among them.
fn bursts(dice: &mut Dice) -> Bursts {
    let mut length = || Nanos(dice.between(MILLISECOND_NS, 500 * MILLISECOND_NS));
    let (on, off) = (length(), length());
    let most = Bursts { peak_milli: 0, on, off }.peak_milli_max().min(20_000);
    let peak_milli = if dice.one_in(4) { most } else { dice.between(1_001, most) };
    Bursts { peak_milli, on, off }
}

/// Users that may be answered at once think for as long as it takes to keep the world small.
fn closed(dice: &mut Dice, duration: u64, network: NetworkSpec) -> LoadSpec {
    let users = dice.count(200);
    let ramp_up = if dice.one_in(4) { 0 } else { dice.between(MICROSECOND_NS, RAMP_UP_MAX.0) };
    let length = ramp_up + WARMUP_MAX.0 + duration;
    let cycle_min = u64::from(users) * length / ARRIVALS_MAX + MICROSECOND_NS;
    let think = if dice.one_in(2) { dice.time().0 } else { 0 };
    let think = think.max(cycle_min.saturating_sub(2 * network.latency.0));
    LoadSpec::Closed { users, think: Nanos(think), ramp_up: Nanos(ramp_up), duration: Nanos(duration) }
}

fn network(dice: &mut Dice) -> NetworkSpec {
    let mut way = |unlikely| if dice.one_in(unlikely) { dice.between(100, 100 * MILLISECOND_NS) } else { 0 };
    NetworkSpec { latency: Nanos(way(2)), jitter: Nanos(way(4)) }
}

fn generator(dice: &mut Dice) -> GeneratorSpec {
    let cpu = if dice.one_in(4) { dice.between(10, 100 * MICROSECOND_NS) } else { 0 };
    GeneratorSpec { pauses: dice.one_in(4).then(|| windows(dice, true)), cpu_per_event: Nanos(cpu) }
}

fn server(dice: &mut Dice) -> ServerSpec {
    ServerSpec {
        slots: dice.one_in(2).then(|| dice.count(50)),
        queue_max: dice.one_in(4).then(|| dice.between(1, 30) - 1),
        every_nth: dice.one_in(6).then(|| (dice.time(), dice.between(1, 500))),
        slow_one_in: dice.one_in(6).then(|| (dice.time(), dice.between(1, 500))),
        // Of stretches that come again and again there is one kind at the most, or nothing might ever open.
        shut: if dice.one_in(3) { vec![windows(dice, true), windows(dice, false)] } else { vec![] },
        shut_at_random: dice.one_in(8).then(|| RandomWindows {
            length: Nanos(dice.between(MILLISECOND_NS, 300 * MILLISECOND_NS)),
            gap_min: Nanos(dice.between(MILLISECOND_NS, 300 * MILLISECOND_NS)),
            gap_mean: Nanos(dice.between(MILLISECOND_NS, 300 * MILLISECOND_NS)),
        }),
        accept_stalled: if dice.one_in(8) { vec![windows(dice, true)] } else { vec![] },
        down: if dice.one_in(8) { vec![windows(dice, true)] } else { vec![] },
        refuse_one_in: dice.odds(6),
        reset_one_in: dice.odds(4),
        error_one_in: dice.odds(6),
        ..ServerSpec::new(service(dice))
    }
}

fn service(dice: &mut Dice) -> Service {
    let time = dice.time();
    match dice.below(8) {
        0 => Service::Constant(Nanos::ZERO),
        1 | 2 => Service::Constant(time),
        3 => Service::Exponential { mean: time },
        4 => Service::LogNormal { median: time, sigma: 3.0 * dice.0.uniform() },
        // Below 1 not even the mean is finite.
        5 => Service::Pareto { min: time, alpha: 0.4 + 2.0 * dice.0.uniform() },
        6 => Service::Empirical((0..3).map(|_| (dice.time(), dice.below(20))).chain([(time, 1)]).collect()),
        _ => Service::Ramp {
            from: time,
            to: dice.time(),
            start: Nanos(dice.below(SECOND_NS)),
            end: Nanos(SECOND_NS + dice.below(SECOND_NS)),
        },
    }
}

fn windows(dice: &mut Dice, again: bool) -> Windows {
    let length = Nanos(dice.between(MICROSECOND_NS, SECOND_NS));
    let every = (again && dice.one_in(2)).then(|| length + Nanos(dice.between(MILLISECOND_NS, SECOND_NS)));
    let count = every.and_then(|_| dice.one_in(2).then(|| dice.between(1, 10)));
    Windows { first: Nanos(dice.below(2 * SECOND_NS)), length, every, count }
}

/// The plan of a world, and how many workers carry it out.
pub(super) fn plan(case: &Case) -> Result<Plan, PlanError> {
    Plan::new(case.plan.clone())
}
