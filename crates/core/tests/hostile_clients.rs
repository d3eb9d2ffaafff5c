//! Seeded hostile worlds for the clients other than the dispatcher: every arrival ends once, none is sent before its
//! time or after its end, attempts stay within their limits, the seed decides all.

use std::cell::RefCell;
use std::collections::HashMap;
use unblink_core::dispatch::{Action, Pool};
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Bank, Series};
use unblink_core::schedule::{Cursor, Phase, Process, Rate};
use unblink_core::sim::{
    ClientSpec, ClockFrom, Correct, Late, Pacing, Return, ServerSpec, Service, Sight, ToolSpec, UsersSpec,
    Watch, Windows, WorldSpec, ZERO, simulate_client_watched,
};
use unblink_core::time::{Instant, Nanos};

const WORLDS: u64 = 400;

/// A small generator for the worlds, independent of the product's (Steele, Lea, Flood 2014).
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % sides
    }

    fn one_in(&mut self, sides: u64) -> bool {
        self.roll(sides) == 0
    }

    /// Below `most` ms, in µs.
    fn time(&mut self, most_ms: u64) -> Nanos {
        Nanos::from_micros(self.roll(most_ms * 1000))
    }
}

#[derive(Debug)]
struct Hostile {
    plan: Plan,
    world: WorldSpec,
    client: ClientSpec,
}

fn hostile(seed: u64) -> Hostile {
    let mut dice = Dice(seed);
    let duration = Nanos::from_millis(300 + dice.roll(2500));
    let rate = Rate::from_milli(1000 + dice.roll(800_000));
    let phases = match dice.roll(3) {
        0 => vec![Phase { from: Rate::per_second(1), to: rate, duration }],
        _ => vec![Phase::hold(rate, duration)],
    };
    let process = if dice.one_in(2) { Process::Even } else { Process::Poisson { seed: dice.roll(1 << 30) } };
    let plan = Plan::new(PlanSpec {
        load: LoadSpec::Open { phases, process },
        warmup: if dice.one_in(3) { Nanos::from_millis(100) } else { Nanos::ZERO },
        limit: dice.one_in(5).then(|| 1 + dice.roll(500)),
        timeout: Nanos(1) + dice.time(1500),
        drain: dice.one_in(2).then(|| dice.time(1200)),
        pool: Pool::Auto { max: 100_000 },
        threads: 1,
        retry: None,
        idempotent: vec![true],
        mix: Default::default(),
        origins: Default::default(),
        rate_cap: None,
    })
    .expect("a valid plan");
    let mut world = WorldSpec::new(server(&mut dice));
    world.seed = dice.roll(1 << 40);
    world.network.latency = if dice.one_in(2) { dice.time(5) } else { Nanos::ZERO };
    world.network.jitter = if dice.one_in(3) { dice.time(5) } else { Nanos::ZERO };
    if dice.one_in(3) {
        let (first, length) = (dice.time(1000), dice.time(300));
        let every = Some(length + Nanos::from_millis(1) + dice.time(500));
        world.generator.pauses = Some(Windows { first, length, every, count: None });
    }
    if dice.one_in(4) {
        world.generator.cpu_per_event = Nanos::from_micros(dice.roll(400));
    }
    let client = if dice.one_in(2) { users(&mut dice) } else { tool(&mut dice) };
    if matches!(client, ClientSpec::Tool(ToolSpec { pacing: Pacing::Closed, .. })) {
        // Users who are refused in no time would ask without end in one moment.
        world.network.latency += Nanos::from_millis(2);
    }
    Hostile { plan, world, client }
}

fn server(dice: &mut Dice) -> ServerSpec {
    let mean = Nanos(1) + dice.time(30);
    let service = match dice.roll(3) {
        0 => Service::Constant(mean),
        1 => Service::Exponential { mean },
        _ => Service::LogNormal { median: mean, sigma: 1.0 },
    };
    let slots = (!dice.one_in(3)).then(|| 1 + dice.roll(20) as u32);
    let window = |dice: &mut Dice| match dice.roll(2) {
        0 => Vec::new(),
        _ => vec![Windows::once(dice.time(1500), dice.time(1500))],
    };
    ServerSpec {
        slots,
        queue_max: dice.one_in(4).then(|| dice.roll(20)),
        shut: window(dice),
        down: window(dice),
        reset_one_in: [0, 0, 3, 50][dice.roll(4) as usize],
        error_one_in: [0, 0, 2, 50][dice.roll(4) as usize],
        ..ServerSpec::new(service)
    }
}

fn users(dice: &mut Dice) -> ClientSpec {
    let comes_back = match dice.roll(2) {
        0 => Return::After(if dice.one_in(3) { Nanos::ZERO } else { dice.time(800) }),
        _ => Return::Together(Nanos(1) + dice.time(400)),
    };
    ClientSpec::Users(UsersSpec {
        patience: (!dice.one_in(3)).then(|| Nanos(1) + dice.time(300)),
        attempts_max: 1 + dice.roll(8) as u32,
        comes_back,
        budget_percent: dice.one_in(2).then(|| dice.roll(150) as u32),
    })
}

fn tool(dice: &mut Dice) -> ClientSpec {
    let workers = Some(1 + dice.roll(60) as u32);
    let with = ToolSpec { workers, ..ToolSpec::right() };
    let local = ToolSpec { pacing: Pacing::StaticLocal, ..with };
    let sent = ClockFrom::Sent;
    let correct = match dice.roll(3) {
        0 => Correct::ExpectedInterval(Nanos::from_millis(1 + dice.roll(50))),
        1 => Correct::Backfill,
        _ => Correct::Nothing,
    };
    ClientSpec::Tool(match dice.roll(9) {
        // wrk, wrk2, k6, YCSB with one clock and with the intended one.
        0 => ToolSpec { pacing: Pacing::Closed, clock: sent, correct: Correct::Backfill, ..with },
        1 => ToolSpec { catch_up: Some(2), discard: dice.time(200), ..local },
        2 => ToolSpec { late: Late::Drop, clock: sent, correct, ..with },
        3 => ToolSpec { clock: sent, ..local },
        4 => local,
        // A pool that keeps its schedule, one that moves it, limiters like those of vegeta.
        5 => with,
        6 => ToolSpec { late: Late::Shift, ..with },
        7 => ToolSpec { pacing: Pacing::Dynamic, clock: sent, ..with },
        _ => ToolSpec { pacing: Pacing::DynamicLocal, correct, ..with },
    })
}

/// (when, which arrival), and when the client's turn began.
type Sends = Vec<(Instant, u64, Instant)>;

struct Eye<'a> {
    sends: &'a RefCell<Sends>,
    turn: Instant,
}

impl Watch for Eye<'_> {
    fn see(&mut self, at: Instant, sight: Sight) {
        match sight {
            Sight::Turn(_) => self.turn = at,
            Sight::Action(Action::Send { arrival, .. }) => {
                self.sends.borrow_mut().push((at, arrival, self.turn));
            }
            _ => {}
        }
    }
}

fn play(hostile: &Hostile) -> (Bank<u64>, Sends) {
    let (mut totals, sends) = (Bank::new(1), RefCell::default());
    let eye = Eye { sends: &sends, turn: ZERO };
    simulate_client_watched(&hostile.plan, &hostile.world, &hostile.client, eye, |interval| {
        totals.add(&interval.bank);
    });
    (totals, sends.into_inner())
}

/// By number, from the schedule alone.
fn intended(plan: &Plan) -> HashMap<u64, Instant> {
    let schedule = plan.schedule().expect("an open plan");
    let mut cursor = Cursor::new(schedule, 0, 1);
    std::iter::from_fn(|| cursor.next(schedule)).map(|(index, offset)| (index, ZERO + offset)).collect()
}

#[test]
fn every_arrival_ends_once() {
    for seed in 0..WORLDS {
        let hostile = hostile(seed);
        let (bank, sends) = play(&hostile);
        let counters = &bank.counters;
        let mut all = counters.measured;
        all.add(&counters.warmup);
        let why = || format!("seed {seed}: {all:?}\n{hostile:?}");
        assert_eq!(counters.measured.ended(), counters.measured.due, "{}", why());
        assert_eq!(counters.warmup.ended(), counters.warmup.due, "{}", why());
        let outcomes = &counters.measured;
        let count = |series: Series| bank.track(series).count();
        let censored = outcomes.timed_out + outcomes.unfinished + outcomes.unsent;
        assert_eq!(count(Series::ResponseCensored), censored, "{}", why());
        assert_eq!(count(Series::Failed), outcomes.failed_total(), "{}", why());
        assert_eq!(count(Series::Service), outcomes.ok, "{}", why());
        assert!(bank.track(Series::Response).max_ns <= hostile.plan.spec().timeout.0, "{}", why());
        let first_sends = all.sent + all.retries.sent_again;
        assert_eq!(first_sends, sends.len() as u64, "{}", why());
        let planned = intended(&hostile.plan).len() as u64;
        match hostile.client {
            ClientSpec::Users(_) => assert_eq!(all.due, planned, "{}", why()),
            ClientSpec::Tool(tool) => {
                let keeps = matches!(tool.pacing, Pacing::Static | Pacing::StaticLocal);
                if keeps && tool.late == Late::Queue && tool.clock == ClockFrom::Intended {
                    assert_eq!(all.due, planned, "{}", why());
                } else if tool.pacing != Pacing::Closed {
                    assert!(all.due <= planned, "{}", why());
                }
                let invents = tool.correct != Correct::Nothing;
                assert!(count(Series::Response) >= outcomes.ok, "{}", why());
                assert!(invents || count(Series::Response) == outcomes.ok, "{}", why());
            }
        }
        check_own_time(&bank, &hostile, seed);
    }
}

fn check_own_time(bank: &Bank<u64>, hostile: &Hostile, seed: u64) {
    let own = bank.counters.own;
    assert!(own.busy <= own.total, "seed {seed}: {own:?}");
    let generator = hostile.world.generator;
    if generator.cpu_per_event == Nanos::ZERO {
        let most = generator.pauses.map_or(Nanos::ZERO, |pauses| pauses.length);
        assert!(own.pause_max <= most, "seed {seed}: {own:?}");
        if most == Nanos::ZERO {
            assert_eq!(own.busy, Nanos::ZERO, "seed {seed}: {own:?}");
        }
    }
}

#[test]
fn nothing_is_sent_before_its_time_or_after_its_end() {
    let mut repeated_worlds = 0;
    for seed in 0..WORLDS {
        let hostile = hostile(seed);
        let (_, sends) = play(&hostile);
        let intended = intended(&hostile.plan);
        let mut due: Vec<Instant> = intended.values().copied().collect();
        due.sort_unstable();
        let is_closed = matches!(hostile.client, ClientSpec::Tool(ToolSpec { pacing: Pacing::Closed, .. }));
        let mut attempts: HashMap<u64, u32> = HashMap::new();
        let mut repeated = 0u64;
        for &(at, arrival, turn) in &sends {
            let why = || format!("seed {seed}: {arrival} at {at:?}\n{hostile:?}");
            *attempts.entry(arrival).or_default() += 1;
            let attempt = attempts[&arrival];
            if !is_closed {
                assert!(at >= intended[&arrival], "{}", why());
            }
            let ClientSpec::Users(users) = hostile.client else {
                assert_eq!(attempt, 1, "{}", why());
                continue;
            };
            assert!(attempt <= users.attempts_max, "{}", why());
            assert!(turn < intended[&arrival] + hostile.plan.spec().timeout, "{}", why());
            if attempt > 1 {
                repeated += 1;
                let arrived = due.partition_point(|&due| due <= at) as u64;
                let allowed =
                    users.budget_percent.map_or(u64::MAX, |percent| arrived * u64::from(percent) / 100);
                assert!(repeated <= allowed, "{repeated} of {allowed}, {}", why());
            }
        }
        repeated_worlds += u64::from(repeated > 0);
    }
    // The worlds are hostile enough for the limits to bite.
    assert!(repeated_worlds > WORLDS / 8, "{repeated_worlds}");
}

#[test]
fn the_seed_decides_everything() {
    for seed in 0..60 {
        let hostile = hostile(seed);
        let ((first, sends), (second, again)) = (play(&hostile), play(&hostile));
        assert_eq!(first.counters, second.counters, "seed {seed}");
        assert_eq!(sends, again, "seed {seed}");
        assert_eq!(
            first.track(Series::Response).sum_ns,
            second.track(Series::Response).sum_ns,
            "seed {seed}"
        );
    }
}
