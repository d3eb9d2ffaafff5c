//! Several open loads are the schedules of each, in one order; and what waits, however much, is what fell due.

use std::collections::{BTreeSet, VecDeque};
use unblink_core::arrival::Arrival;
use unblink_core::dispatch::Pool;
use unblink_core::load::{Load, Open};
use unblink_core::origins::Origins;
use unblink_core::plan::{LoadSpec, OpenPart, Plan, PlanSpec};
use unblink_core::record::Ages;
use unblink_core::schedule::{Cursor, Phase, Process, Rate};
use unblink_core::time::{Instant, Nanos};

const START: Instant = Instant(7_000_000_000);

fn hold(per_s: u64, seconds: u64) -> Vec<Phase> {
    vec![Phase::hold(Rate::per_second(per_s), Nanos::from_secs(seconds))]
}

fn plan(loads: Vec<OpenPart>, threads: u32, of_operation: &[u8]) -> Plan {
    Plan::new(PlanSpec {
        warmup: Nanos::from_millis(500),
        threads,
        idempotent: vec![true; of_operation.len()],
        origins: Origins::new(of_operation).unwrap(),
        ..PlanSpec::plain(LoadSpec::Several(loads), Pool::Auto { max: 64 }, Nanos::from_secs(3600))
    })
    .unwrap()
}

/// A base of 200/s for 6 s, and a spike of 3,000/s for 1 s, 2 s after measuring began.
fn base_and_spike(process: Process) -> Vec<OpenPart> {
    let spike = OpenPart {
        start: Nanos::from_secs(2),
        only: Some(vec![2, 0]),
        ..OpenPart::whole(hold(3_000, 1), process)
    };
    vec![OpenPart::whole(hold(200, 6), process), spike]
}

/// Everything that falls due, in the order in which the load says so.
fn all(load: &mut Open) -> Vec<Arrival> {
    let mut all = Vec::new();
    load.advance(Instant(u64::MAX), |arrival| all.push(arrival));
    all
}

/// (load, number in it, when), from the schedules alone.
fn scheduled(plan: &Plan) -> Vec<(u32, u64, Instant)> {
    let mut all = Vec::new();
    for (load, schedule) in (0..).zip(plan.schedules()) {
        let mut cursor = Cursor::new(schedule, 0, 1);
        let arrivals = std::iter::from_fn(|| cursor.next(schedule));
        all.extend(arrivals.map(|(number, offset)| (load, number, START + offset)));
    }
    all
}

#[test]
fn loads_are_merged_as_they_are_scheduled() {
    for process in [Process::Even, Process::Poisson { seed: 11 }] {
        let mut expected = scheduled(&plan(base_and_spike(process), 1, &[0; 3]));
        expected.sort_unstable();
        for threads in [1, 2, 3, 7] {
            let plan = plan(base_and_spike(process), threads, &[0; 3]);
            let mut together = Vec::new();
            for worker in 0..threads {
                let share = all(&mut plan.open_load(START, worker).unwrap());
                let order = |arrival: &Arrival| (arrival.intended, arrival.key.load);
                assert!(share.is_sorted_by_key(order), "{process:?}, worker {worker} of {threads}");
                together.extend(share);
            }
            let numbers: BTreeSet<u64> = together.iter().map(|arrival| arrival.index).collect();
            assert_eq!(numbers.len(), together.len(), "a number stands for one arrival");
            for (load, schedule) in (0..).zip(plan.schedules()) {
                let count = together.iter().filter(|arrival| arrival.key.load == load).count() as u64;
                assert_eq!(count, schedule.count_before(schedule.end()), "{process:?}, load {load}");
                let told = plan.scheduled_of(load as usize, Nanos::ZERO, plan.load_length()).unwrap();
                assert_eq!(count, told.warmup + told.measured);
            }
            let mut known: Vec<_> = together.iter().map(|a| (a.key.load, a.key.unit, a.intended)).collect();
            known.sort_unstable();
            assert!(known == expected, "{process:?}, {threads} workers");
        }
    }
}

/// The even ones by hand: 100 of the warm-up and 1,200 of the base each 5 ms, 3,000 of the spike each third of a ms.
#[test]
fn even_loads_are_multiplication_tables() {
    let plan = plan(base_and_spike(Process::Even), 1, &[0; 3]);
    let arrivals = all(&mut plan.open_load(START, 0).unwrap());
    let times = |load| -> Vec<u64> {
        let of = arrivals.iter().filter(|arrival| arrival.key.load == load);
        of.map(|arrival| arrival.intended.since(START).0).collect()
    };
    assert_eq!(times(0), (0..1_300).map(|k| k * 5_000_000).collect::<Vec<_>>());
    assert_eq!(times(1), (0..3_000).map(|k| 2_500_000_000 + k * 1_000_000 / 3).collect::<Vec<_>>());
    let operations = |load| arrivals.iter().filter(move |a| a.key.load == load).map(|a| a.operation);
    assert!(operations(0).eq((0..1_300).map(|k| k % 3)));
    assert!(operations(1).eq((0..3_000).map(|k| if k % 2 == 0 { 2 } else { 0 })));
    let scheduled = plan.scheduled_apart(Nanos::ZERO, plan.load_length()).expect("a schedule");
    assert_eq!((scheduled.by_operation, scheduled.by_origin), (vec![1_934, 433, 1_933], vec![]));
}

/// Loads of one shape and one seed are strangers: together they have a half more spread than if they were the same.
#[test]
fn poisson_loads_of_one_seed_know_nothing_of_each_other() {
    const SECONDS: u64 = 400;
    let load = || OpenPart::whole(hold(100, SECONDS), Process::Poisson { seed: 5 });
    let plan = plan(vec![load(), load()], 1, &[0]);
    let mut counts = vec![[0.0f64; 2]; SECONDS as usize];
    for arrival in all(&mut plan.open_load(START, 0).unwrap()) {
        let second = (arrival.intended.since(START).0 / 1_000_000_000) as usize;
        if let Some(count) = counts.get_mut(second) {
            count[arrival.key.load as usize] += 1.0;
        }
    }
    // Of n pairs that know nothing of each other the correlation has a standard deviation of 1/√n.
    let product: f64 = counts.iter().map(|[a, b]| (a - 100.0) * (b - 100.0)).sum();
    let squares = |i: usize| counts.iter().map(|count| (count[i] - 100.0).powi(2)).sum::<f64>();
    let correlation = product / (squares(0) * squares(1)).sqrt();
    assert!(correlation.abs() < 4.0 / (SECONDS as f64).sqrt(), "{correlation}");
}

/// Draws for the tests themselves.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Lines as they should be: each arrival that has fallen due and was not taken.
struct Lines {
    load: Open,
    lines: Vec<VecDeque<Arrival>>,
    origins: Origins,
}

impl Lines {
    fn new(plan: &Plan, worker: u32) -> Lines {
        let origins = plan.spec().origins.clone();
        let lines = (0..origins.count()).map(|_| VecDeque::new()).collect();
        Lines { load: plan.open_load(START, worker).unwrap(), lines, origins }
    }

    fn advance(&mut self, now: Instant) {
        let Lines { load, lines, origins } = self;
        load.advance(now, |arrival| lines[origins.of(arrival.operation)].push_back(arrival));
    }

    /// Takes so many, and says which of them were wrong.
    fn take(&mut self, origin: usize, n: u64) {
        for _ in 0..n {
            let expected = self.lines[origin].pop_front();
            assert_eq!(self.load.head(origin), expected, "origin {origin}");
            if expected.is_none() {
                return;
            }
            self.load.pop(origin);
            assert_eq!(self.load.waiting(origin), self.lines[origin].len() as u64);
        }
    }

    /// The ages that are told and the true ones.
    fn ages(&self, now: Instant) -> (Ages, Ages) {
        let (mut told, mut truth) = (Ages::default(), Ages::default());
        self.load.add_ages(now, &mut told);
        self.lines.iter().flatten().for_each(|arrival| truth.add(now.since(arrival.intended), 1));
        (told, truth)
    }
}

/// By how many arrivals what is told to be older than anything is off at the most.
fn off(told: &Ages, truth: &Ages) -> u64 {
    let edges = truth.bins().chain(told.bins()).map(|(age, _)| Nanos(age.0.saturating_sub(1)));
    edges.map(|age| told.longer_than(age).abs_diff(truth.longer_than(age))).max().unwrap_or(0)
}

/// Lines that grow far beyond what is held of them, shrink, and grow again, are what fell due, in order.
#[test]
fn a_backlog_of_any_length_is_what_fell_due() {
    for process in [Process::Even, Process::Poisson { seed: 3 }] {
        for (of_operation, threads) in [(&[0][..], 1), (&[0, 1], 2), (&[0, 0, 0, 0, 2, 1], 1), (&[1; 4], 3)] {
            let mut loads = base_and_spike(process);
            loads[1].only = None;
            loads.push(OpenPart { start: Nanos::from_secs(1), ..OpenPart::whole(hold(6_000, 5), process) });
            let plan = plan(loads, threads, of_operation);
            for worker in 0..threads {
                let (mut lines, mut dice) = (Lines::new(&plan, worker), Dice(u64::from(worker)));
                let mut longest = 0;
                let mut now = START;
                while !lines.load.is_exhausted(now) {
                    now = now + Nanos(dice.below(200_000_000));
                    lines.advance(now);
                    longest = lines.lines.iter().map(VecDeque::len).fold(longest, usize::max);
                    for origin in 0..lines.lines.len() {
                        // Mostly too few; now and then all, and more than there are.
                        let all = lines.lines[origin].len() as u64 + 1;
                        let n = if dice.below(24) == 0 { all } else { dice.below(all.min(150)) };
                        lines.take(origin, n);
                    }
                }
                // An early end takes nothing from what waits.
                lines.load.stop(Instant(0));
                (0..lines.lines.len()).for_each(|origin| lines.take(origin, u64::MAX));
                assert!(longest > 1_000, "{longest} of {of_operation:?} in {threads}");
            }
        }
    }
}

/// The held part is known one by one, and nobody is lost. Of the rest each line is told where it is expected: by
/// Kolmogorov and Smirnov n Poisson ranks are off by 1.95 √n once in a thousand times, and one in 256 is looked at.
#[test]
fn ages_of_several_lines_are_about_right() {
    for process in [Process::Even, Process::Poisson { seed: 9 }] {
        let plan = plan(base_and_spike(process), 1, &[0, 1, 1]);
        let (mut lines, mut now) = (Lines::new(&plan, 0), START);
        let mut longest = 0;
        while !lines.load.is_exhausted(now) {
            now = now + Nanos(100_000_000);
            lines.advance(now);
            let (told, truth) = lines.ages(now);
            assert_eq!(told.count(), truth.count());
            // Of each load at each origin.
            let count = truth.count() as f64;
            let by_chance = if process == Process::Even { 4.0 } else { 4.0 * 1.95 * (count / 4.0).sqrt() };
            let bound = by_chance + count / 256.0 + 4.0;
            if truth.count() <= 256 {
                assert_eq!(told, truth);
            }
            assert!(off(&told, &truth) as f64 <= bound, "{process:?}: {} of {count}", off(&told, &truth));
            longest = longest.max(truth.count());
            lines.take(0, 20);
            lines.take(1, 40);
        }
        assert!(longest > 2_000, "{longest}");
    }
}
