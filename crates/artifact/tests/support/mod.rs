//! Runs that never happened: intervals from a seed.
#![allow(dead_code, unreachable_pub, reason = "each test uses a part of it")]

use std::sync::Arc;
use unblink_artifact::document::{
    self, AddressArrivals, Environment, FailedAttempts, LoadKind, LoadPhase, LoadPlan, OperationPlan,
    OriginName, Pacing, Protocol, Requested, RunPlan, RunStatus, Scheme, Spread, Tool, WorkerPriority,
};
use unblink_artifact::header::{ConnectionPlan, OriginPlan, RunHeader};
use unblink_artifact::tally::{Ending, OriginEnding, Tally};
use unblink_core::code::Code;
use unblink_core::dispatch::Pool;
use unblink_core::failure::FailureKind;
use unblink_core::heat::{CENSORED_ROW, FAILED_ROW, ROWS};
use unblink_core::outcome::Outcome;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{
    AddressRecord, Allowed, Bank, Breach, CELL_WIDTH, Cell, ConnectionLevels, Gauges, Interval, Operations,
    Outcomes, SampleBlocks, SampledArrival, Series, SlowArrival,
};
use unblink_core::schedule::{Phase, Process, Rate, Schedule};
use unblink_core::sim::{ServerSpec, Service, WorldSpec, simulate};
use unblink_core::time::{Instant, MILLISECOND_NS, Nanos, SECOND_NS};

pub const RATE: u64 = 100;
pub const TIMEOUT: Nanos = Nanos::from_secs(5);

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

pub fn header(seconds: u64, warmup_s: u64) -> RunHeader {
    let phases =
        vec![LoadPhase { from_per_s: RATE as f64, to_per_s: RATE as f64, duration_ns: seconds * SECOND_NS }];
    RunHeader {
        tool: Tool { name: "unblink".into(), version: "0.1.0".into(), commit: None },
        started_at: "2026-11-20T09:15:00.250Z".into(),
        command: ["unblink", "run", "http://example.net/"].map(String::from).to_vec(),
        environment: Environment { kernel: "Linux 6.1".into(), cores: 8, ..Environment::default() },
        agents: Vec::new(),
        plan: RunPlan {
            summary: format!("open, {RATE}/s, even, for {seconds} s"),
            order: None,
            replay: None,
            values: Vec::new(),
            by_answers: Vec::new(),
            traces: None,
            shape: None,
            phases: phases.clone(),
            warmup_ns: warmup_s * SECOND_NS,
            warmup_auto: false,
            precision: None,
            duration_ns: seconds * SECOND_NS,
            timeout_ns: TIMEOUT.0,
            drain_ns: TIMEOUT.0,
            threads: 1,
            pacing: Some(Pacing::Precise),
            requests_max: None,
            retry: None,
        },
        loads: vec![LoadPlan {
            name: None,
            kind: LoadKind::Open { process: document::Process::Even, phases, start_ns: 0, only: Vec::new() },
        }],
        origins: vec![OriginPlan {
            name: OriginName { scheme: Some(Scheme::Http), host: Some("example.net".into()), port: Some(80) },
            connections: ConnectionPlan::of(Pool::Auto { max: 1_000 }),
        }],
        targets_beyond: None,
        targets: ["GET /", "GET /two"]
            .map(|name| (name.into(), "GET".into(), "http://example.net/".into()))
            .map(|(name, method, url)| Requested { name, method, url })
            .to_vec(),
        protocol_failures: ["bad_chunk", "bad_head"].map(String::from).to_vec(),
        codes: None,
        operations: ["GET /", "GET /two"]
            .map(|name| OperationPlan {
                name: name.into(),
                protocol: Protocol::Http11,
                origin: None,
                share: None,
            })
            .to_vec(),
        journeys: Vec::new(),
        operations_are_whole: true,
        has_sizes: true,
        objectives: Default::default(),
        watch: Default::default(),
        fanout: None,
        simulated: None,
    }
}

/// An interval with anything in it, whether or not it could happen.
pub fn any_interval(random: &mut Random, start: Nanos) -> Interval {
    let mut bank = Bank::<u64>::new(2);
    for series in Series::ALL {
        for _ in 0..random.below(4) * random.below(20) {
            let exponent = random.below(42) as u32;
            let value = random.below(1 << exponent);
            bank.track_mut(series).record(Nanos(value));
        }
    }
    let any_outcomes = |random: &mut Random| {
        let mut outcomes = Outcomes {
            due: random.next() >> 12,
            sent: 3,
            sent_in_load: 3,
            ok: random.below(1 << 50),
            ..Outcomes::default()
        };
        // Two violations have names; the last place is for those that have none.
        let named = FailureKind::protocol(1).index() as u64 + 1;
        for _ in 0..random.below(4) {
            outcomes.failed[random.below(named) as usize] += 1 + random.below(9);
            outcomes.failed[FailureKind::COUNT - 1] += 1;
        }
        outcomes.timed_out = random.below(99);
        outcomes.timed_out_never_sent = random.below(99);
        outcomes.timed_out_pool_full = random.below(99);
        outcomes.timed_out_never_sent_own = random.below(99);
        outcomes.unsent_own = random.below(99);
        outcomes.timed_out_hindered = random.below(99);
        outcomes.failed_hindered = random.below(99);
        (outcomes.unfinished, outcomes.unsent) = (random.below(99), random.below(99));
        outcomes
    };
    // One bank in four has so few pages that they run out.
    if random.below(4) == 0 {
        bank.operations = Operations::short_of_pages(2, 3);
    }
    for place in 0..2 {
        for series in Series::BY_OPERATION {
            for _ in 0..random.below(3) * random.below(9) {
                bank.operations.record(place, series, Nanos(random.below(1 << 30)));
            }
        }
        let operation = bank.operations.get_mut(place).expect("there are two");
        operation.outcomes = any_outcomes(random);
        (0..random.below(5))
            .for_each(|_| operation.codes[random.below(Code::COUNT as u64) as usize] += random.below(99));
        operation.body_bytes = random.below(1 << 50);
    }
    let counters = &mut bank.counters;
    counters.measured = any_outcomes(random);
    if random.below(2) == 0 {
        counters.warmup = any_outcomes(random);
    }
    for _ in 0..random.below(5) {
        counters.codes[random.below(Code::COUNT as u64) as usize] += random.below(99);
    }
    counters.body_bytes = random.below(1 << 50);
    counters.origins[0].allowed = Allowed::between(random.below(99) as u32, 99);
    counters.origins[0].attempted = random.below(99);
    counters.origins[0].opened = random.below(99);
    counters.origins[0].failed = random.below(99);
    counters.origins[0].refused = random.below(99);
    counters.origins[0].local_limit = random.below(99);
    counters.origins[0].closed_by_target = random.below(99);
    counters.origins[0].closed_on_timeout = random.below(99);
    counters.origins[0].closed_unneeded = random.below(99);
    counters.origins[0].closed_by_age = random.below(99);
    counters.origins[0].resent = random.below(99);
    let kind = FailureKind::protocol(random.below(2) as usize);
    counters.closed_broken(0, Breach { kind, is_unasked: random.below(2) == 0 });
    (counters.lag.no_connection, counters.lag.no_connection_ns) = (random.below(99), random.next() >> 12);
    (counters.lag.no_room, counters.lag.no_room_ns) = (random.below(99), random.next() >> 12);
    counters.lag.connecting = random.below(99);
    counters.lag.connecting_ns = random.next() >> 12;
    counters.lag.generator_ns = random.next() >> 12;
    counters.bytes_received = random.next();
    counters.own.busy = Nanos(random.below(SECOND_NS));
    counters.own.total = Nanos(SECOND_NS);
    counters.own.pause_max = Nanos(random.below(SECOND_NS));
    counters.own.handover_max = Nanos(random.below(SECOND_NS));
    counters.own.paused = Nanos(random.below(SECOND_NS));
    counters.own.run_delay = Nanos(random.below(SECOND_NS));
    counters.own.run_slices = random.below(99);
    for _ in 0..random.below(20) {
        let intended = start.0.saturating_sub(random.below(TIMEOUT.0));
        bank.heat.add(intended, random.below(ROWS as u64) as usize, 1 + random.below(9) as u32);
    }
    bank.timeline.begin(start);
    for i in 0..random.below(20) {
        let mut any = || random.below(1 << 40);
        let cell = Cell {
            due: any(),
            sent: any(),
            ok: any(),
            failed: any(),
            timed_out: any(),
            in_flight_max: any(),
            backlog_max: any(),
            ended_sent: any(),
            ended_unsent: any(),
        };
        bank.timeline.put(start + Nanos(i * CELL_WIDTH.0), &cell);
    }
    for _ in 0..random.below(9) {
        let intended = Instant(random.next() >> 12);
        bank.slowest.offer(SlowArrival {
            index: random.next(),
            operation: random.below(2) as u32,
            origin: 0,
            share: None,
            intended,
            sent: (random.below(2) == 0).then_some(intended + Nanos(3)),
            ended: intended + Nanos(random.below(1 << 40)),
            connection: random.below(9) as u32,
            code: Code::of_status(random.below(600) as u16),
            outcome: [Outcome::Ok, Outcome::TimedOut, Outcome::Failed(FailureKind::protocol(1))]
                [random.below(3) as usize],
        });
    }
    Interval {
        start,
        length: Nanos(SECOND_NS - random.below(1_000)),
        double: random.below(9) == 0,
        bank,
        gauges: Gauges::of_one_origin(
            random.below(99),
            random.below(99),
            ConnectionLevels { connections: random.below(99), connections_peak: random.below(999) },
        ),
        ages: Default::default(),
    }
}

/// A run that could happen: `warmup_s + seconds` of load and one second more. Of each second's arrivals
/// the last two are still in flight at its end. Some fail; those of one second time out later.
pub fn run(seed: u64, seconds: u64, warmup_s: u64) -> Vec<Interval> {
    let mut random = Random(seed);
    let all = seconds + warmup_s;
    let stalled = warmup_s + seconds / 2;
    let mut intervals: Vec<Interval> = (0..=all + 5)
        .map(|i| Interval {
            start: Nanos::from_secs(i),
            length: Nanos::from_secs(1),
            double: false,
            bank: Bank::new(2),
            gauges: Gauges::of_one_origin(
                0,
                0,
                ConnectionLevels { connections: 4, connections_peak: 4 + i.min(3) },
            ),
            ages: Default::default(),
        })
        .collect();
    let hold = [Phase::hold(Rate::per_second(RATE), Nanos::from_secs(all))];
    let schedule = Arc::new(Schedule::new(&hold, Process::Even, u64::MAX));
    let mut blocks = SampleBlocks::new(schedule, Nanos::from_secs(warmup_s), Nanos::from_secs(all));
    for k in 0..all * RATE {
        let second = k / RATE;
        let intended = Nanos(k * SECOND_NS / RATE);
        let is_measured = second >= warmup_s;
        let lag = random.below(200_000);
        let response = Nanos(10 * MILLISECOND_NS + random.below(3 * MILLISECOND_NS) + lag);
        let times_out = second == stalled && k % 7 == 0;
        let ended = if times_out { intended + TIMEOUT } else { intended + response };
        let last = (ended.0 / SECOND_NS) as usize;
        for interval in &mut intervals[second as usize..last] {
            interval.gauges.in_flight += 1;
        }

        let operation = (k % 2) as usize;
        let bank = &mut intervals[second as usize].bank;
        if is_measured {
            bank.counters.measured.due += 1;
            bank.counters.measured.sent += 1;
            bank.counters.measured.sent_in_load += 1;
            let apart = &mut bank.operations.get_mut(operation).expect("there are two").outcomes;
            (apart.due, apart.sent, apart.sent_in_load) =
                (apart.due + 1, apart.sent + 1, apart.sent_in_load + 1);
            bank.track_mut(Series::SendLag).record(Nanos(lag));
            bank.track_mut(Series::GeneratorLate).record(Nanos(lag));
            bank.counters.lag.generator_ns += lag;
            if let Some(block) = blocks.block_of(intended) {
                let intended = Instant(intended.0);
                bank.samples[0].push(SampledArrival {
                    block,
                    index: k,
                    intended,
                    sent: Some(intended + Nanos(lag)),
                });
            }
        } else {
            bank.counters.warmup.due += 1;
            bank.counters.warmup.sent += 1;
        }
        bank.counters.own.busy += Nanos(50_000);

        let bank = &mut intervals[last].bank;
        bank.counters.bytes_received += 100;
        let outcomes = if is_measured { &mut bank.counters.measured } else { &mut bank.counters.warmup };
        let fails = k % 500 == 3;
        let count = |outcomes: &mut Outcomes| match (times_out, fails) {
            (true, _) => outcomes.timed_out += 1,
            (_, true) => outcomes.failed[FailureKind::STATUS_5XX.index()] += 1,
            _ => outcomes.ok += 1,
        };
        count(outcomes);
        if !is_measured {
            continue;
        }
        let apart = bank.operations.get_mut(operation).expect("there are two");
        count(&mut apart.outcomes);
        if !times_out {
            apart.codes[if fails { 400 } else { 100 }] += 1;
            apart.body_bytes += if fails { 20 } else { 300 };
        }
        let (row, outcome) = if times_out {
            bank.track_mut(Series::ResponseCensored).record(TIMEOUT);
            bank.track_mut(Series::ServiceCensored).record(Nanos(TIMEOUT.0 - lag));
            bank.operations.record(operation, Series::ResponseCensored, TIMEOUT);
            bank.operations.record(operation, Series::ServiceCensored, Nanos(TIMEOUT.0 - lag));
            (CENSORED_ROW, Outcome::TimedOut)
        } else if fails {
            bank.track_mut(Series::Failed).record(response);
            bank.counters.codes[400] += 1;
            (FAILED_ROW, Outcome::Failed(FailureKind::STATUS_5XX))
        } else {
            let service = Nanos(response.0 - lag);
            bank.track_mut(Series::Response).record(response);
            bank.track_mut(Series::Service).record(service);
            bank.track_mut(Series::FirstByte).record(Nanos(service.0 - 20_000));
            bank.track_mut(Series::Transfer).record(Nanos(20_000));
            bank.operations.record(operation, Series::Response, response);
            bank.operations.record(operation, Series::Service, service);
            bank.counters.codes[100] += 1;
            (bank.heat.bin_of(response), Outcome::Ok)
        };
        bank.heat.record(intended, row);
        bank.slowest.offer(SlowArrival {
            index: k,
            operation: operation as u32,
            origin: 0,
            share: None,
            intended: Instant(intended.0),
            sent: Some(Instant(intended.0 + lag)),
            ended: Instant(ended.0),
            connection: 1,
            code: Code::of_status(if times_out { 0 } else { 200 }),
            outcome,
        });
    }
    for interval in &mut intervals {
        interval.bank.counters.own.total = Nanos(SECOND_NS);
    }
    let first = &mut intervals[0].bank;
    (first.counters.origins[0].attempted, first.counters.origins[0].opened) = (7, 7);
    (0..7).for_each(|_| first.track_mut(Series::Connect).record(Nanos::from_micros(90)));
    intervals
}

pub fn ending(seconds: u64, warmup_s: u64) -> Ending {
    let address = || "192.0.2.1:80".to_string();
    Ending {
        status: RunStatus::Complete,
        scheduled: Some(seconds * RATE),
        scheduled_warmup: (warmup_s > 0).then_some(warmup_s * RATE),
        scheduled_by_operation: vec![seconds * RATE / 2; 2],
        scheduled_by_load: Vec::new(),
        scheduled_by_journey: Vec::new(),
        scheduled_by_origin: Vec::new(),
        ended_after: Nanos::from_secs(warmup_s + seconds),
        last_completion: Some(Nanos((warmup_s + seconds) * SECOND_NS + 3 * MILLISECOND_NS)),
        steal_share: Some(0.001_234_567_890_123),
        involuntary_switches: Some(7),
        priority: Some(WorkerPriority::GivenUp),
        kept_awake: Some(true),
        origins: vec![OriginEnding {
            by_address: [(address(), 7)].into(),
            failed_by_address: [(address(), FailedAttempts { refused: 3, unanswered: 2, unreachable: 1 })]
                .into(),
            arrivals_by_address: [(
                address(),
                AddressArrivals::from(&AddressRecord { ok: 9, failed: 4, ..Default::default() }),
            )]
            .into(),
            spread: Some(Spread { requests_min: 1, requests_median: 2, requests_max: 3, at_once_max: 1 }),
            ..OriginEnding::default()
        }],
        values_sent: Vec::new(),
        setup: Vec::new(),
        cross_check: None,
        agents: Vec::new(),
        clock_last: None,
        bus_behind_ns: None,
        aborted: None,
        withheld: 0,
    }
}

pub fn tally(header: &RunHeader, intervals: &[Interval]) -> Tally {
    let mut tally = Tally::new(header.clone());
    intervals.iter().for_each(|interval| tally.add(interval));
    tally
}

pub fn assert_same(a: &Interval, b: &Interval) {
    assert_eq!((a.start, a.length, a.double, a.gauges), (b.start, b.length, b.double, b.gauges));
    assert_eq!(a.bank.counters, b.bank.counters);
    assert_eq!((&a.bank.slowest, &a.bank.samples), (&b.bank.slowest, &b.bank.samples));
    assert_eq!(a.bank.heat.column_width(), b.bank.heat.column_width());
    assert!(a.bank.heat.nonzero().eq(b.bank.heat.nonzero()));
    assert_eq!(a.bank.timeline.cells(), b.bank.timeline.cells());
    let tracks = |interval: &Interval| {
        let of = |t: &unblink_core::record::Track<u64>| (t.bins().collect::<Vec<_>>(), t.sum_ns, t.max_ns);
        Series::ALL.iter().map(|s| of(interval.bank.track(*s))).collect::<Vec<_>>()
    };
    assert_eq!(tracks(a), tracks(b));
    assert!(a.bank.operations == b.bank.operations);
}

/// Even arrivals at a server that answers after 10 ms, and is changed.
pub fn intervals(seconds: u64, timeout: Nanos, change: impl FnOnce(&mut ServerSpec)) -> Vec<Interval> {
    let plan = Plan::new(PlanSpec::plain(
        LoadSpec::Open {
            phases: vec![Phase::hold(Rate::per_second(RATE), Nanos::from_secs(seconds))],
            process: Process::Even,
        },
        Pool::Auto { max: 20_000 },
        timeout,
    ))
    .expect("a valid plan");
    let mut server = ServerSpec::new(Service::Constant(Nanos(10 * MILLISECOND_NS)));
    change(&mut server);
    let mut intervals = Vec::new();
    simulate(&plan, &WorldSpec::new(server), |interval| intervals.push(interval.clone()));
    intervals
}
