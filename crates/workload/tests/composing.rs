//! What arrivals write into their requests, over any number of workers.

use std::collections::{BTreeMap, HashSet};
use std::io::{self, Read};
use unblink_core::arrival::{Arrival, Key};
use unblink_core::dispatch::Pool;
use unblink_core::journey::{JourneySpec, Journeys, StepSpec, Think};
use unblink_core::load::Load;
use unblink_core::mix::{Mix, Order};
use unblink_core::outcome::Outcome;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::{Bank, Recorder};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{ServerSpec, Service, Sight, SimPart, Watch, WorldSpec, ZERO, simulate_part};
use unblink_core::time::{Instant, Nanos};
use unblink_workload::Context;
use unblink_workload::template::Holes;
use unblink_workload::{Composer, Composition, Drawing, Lets, Source, Values, ValuesError};

const START: Instant = Instant(5_000_000_000);

fn plan(process: Process, order: Order, threads: u32) -> Plan {
    let phases = vec![Phase::hold(Rate::per_second(5_000), Nanos::from_millis(500))];
    let weights = (order != Order::Turn).then(|| vec![80, 20]);
    Plan::new(PlanSpec {
        threads,
        idempotent: vec![true; 2],
        mix: Mix { weights, order, ..Mix::default() },
        ..PlanSpec::plain(LoadSpec::Open { phases, process }, Pool::Fixed { n: 16 }, Nanos::from_secs(1))
    })
    .unwrap()
}

fn lets(rows: u64, named: &[(&str, &str)]) -> Lets {
    let rows = "id,word\n".to_string() + &(0..rows).map(|n| format!("{n},w {n}\n")).collect::<String>();
    let mut open = |_: &str| -> io::Result<Box<dyn Read>> { Ok(Box::new(io::Cursor::new(rows.clone()))) };
    let mut table = Lets::default();
    for (name, text) in named {
        table.add(name, Source::parse(text, &mut open).unwrap()).unwrap();
    }
    table
}

fn composition(lets: &Lets, text: &str, context: Context) -> Option<Composition> {
    let mut holes = Holes::new(lets, 0);
    holes.read(text, context, |_| String::new()).unwrap();
    Some(Composition::new(holes.into_holes()))
}

/// What each place says, by the number of the arrival and its operation; `None` where rows have run out.
type Written = BTreeMap<u64, (u32, Option<Vec<String>>)>;

fn said(
    composer: &mut Composer,
    values: &Values,
    plan: &Plan,
    arrival: &Arrival,
    start: Instant,
) -> Option<Vec<String>> {
    said_begun(composer, values, plan, arrival, (start, arrival.intended))
}

fn said_begun(
    composer: &mut Composer,
    values: &Values,
    plan: &Plan,
    arrival: &Arrival,
    begun: (Instant, Instant),
) -> Option<Vec<String>> {
    composer.draw_begun(values, plan, arrival, begun).then(|| {
        let of_place = |place| {
            let mut out = Vec::new();
            composer.write(values, place, &mut out);
            String::from_utf8(out).unwrap()
        };
        (0..8).map(of_place).collect()
    })
}

fn written(plan: &Plan, values: &Values) -> Written {
    let mut all = BTreeMap::new();
    for shard in 0..plan.threads() {
        let mut load = plan.open_load(START, shard).unwrap();
        let mut arrivals: Vec<Arrival> = Vec::new();
        load.advance(START + plan.load_length(), |arrival| arrivals.push(arrival));
        let mut composer = Composer::new(values, plan);
        for arrival in arrivals {
            let said = said(&mut composer, values, plan, &arrival, START);
            assert!(all.insert(arrival.index, (arrival.operation, said)).is_none());
        }
    }
    all
}

const PLACES: [&str; 2] = [
    "{{item}} {{user.id}} {{user.word}} {{uuid}} {{int(-5,5)}} {{now}} {{bytes(size)}} {{index}}",
    "{{user.id}} {{now(ms)}}",
];

fn values(plan: &Plan, lets: Lets) -> Result<Values, ValuesError> {
    let compositions = PLACES.map(|text| composition(&lets, text, Context::Target)).to_vec();
    Values::new(lets, compositions, &[1], plan, 7)
}

fn shop() -> Lets {
    // Streams of Poisson arrivals take rows that lie far apart.
    lets(
        20_000,
        &[("item", "latest(1M)"), ("user", "csv(users.csv, once)"), ("size", "lognormal(30, 1, max=200)")],
    )
}

#[test]
fn any_number_of_workers_write_the_same() {
    let shuffled = Order::Shuffled { seed: 3 };
    for process in [Process::Even, Process::Poisson { seed: 3 }] {
        let of = |threads| {
            let plan = plan(process, shuffled, threads);
            written(&plan, &values(&plan, shop()).unwrap())
        };
        let one = of(1);
        assert!(one.len() > 2_000, "{}", one.len());
        for threads in [2, 3, 7] {
            assert!(of(threads) == one, "{process:?} over {threads}");
        }
        let uuids: HashSet<&String> = one
            .values()
            .filter(|(operation, _)| *operation == 0)
            .flat_map(|(_, said)| &said.as_ref().unwrap()[3..4])
            .collect();
        assert_eq!(uuids.len(), one.values().filter(|(operation, _)| *operation == 0).count());
        let places = one.values().find(|(operation, _)| *operation == 0).unwrap().1.as_ref().unwrap();
        assert!(places[2].starts_with("w%20"), "percent-encoded: {places:?}");
        assert!(places[5].starts_with("2026-01-01T00%3A00%3A00."), "{places:?}");
    }
}

/// Writes what leaves in a simulated world.
struct Sending<'a> {
    plan: &'a Plan,
    values: &'a Values,
    composer: Composer,
    written: &'a mut Written,
}

impl Watch for Sending<'_> {
    fn see(&mut self, _at: Instant, sight: Sight) {
        let Sight::Sent(arrival, began) = sight else { return };
        let said = said_begun(&mut self.composer, self.values, self.plan, &arrival, (ZERO, began));
        assert!(self.written.insert(arrival.index, (arrival.operation, said)).is_none());
    }
}

#[test]
fn a_simulated_world_is_sent_the_same() {
    for process in [Process::Even, Process::Poisson { seed: 3 }] {
        let plan = plan(process, Order::Shuffled { seed: 3 }, 1);
        let values = values(&plan, shop()).unwrap();
        let mut simulated = BTreeMap::new();
        let composer = Composer::new(&values, &plan);
        let sending = Sending { plan: &plan, values: &values, composer, written: &mut simulated };
        // Requests wait for each other, and leave late.
        let service = Service::Constant(Nanos::from_millis(2));
        let server = ServerSpec { slots: Some(8), ..ServerSpec::new(service) };
        simulate_part(&plan, &WorldSpec::new(server), SimPart::default(), sending, |_| {});
        assert!(simulated.len() > 2_000, "{}", simulated.len());
        assert!(simulated == written(&plan, &values), "{process:?}");
    }
}

#[test]
fn a_row_that_is_had_once_is_had_once() {
    for process in [Process::Even, Process::Poisson { seed: 9 }] {
        for order in [Order::Turn, Order::Shuffled { seed: 9 }] {
            let plan = plan(process, order, 3);
            let values = values(&plan, shop()).unwrap();
            let all = written(&plan, &values);
            let rows: Vec<&String> = all
                .values()
                .map(|(operation, said)| &said.as_ref().unwrap()[if *operation == 0 { 1 } else { 0 }])
                .collect();
            let different: HashSet<&&String> = rows.iter().collect();
            assert_eq!(different.len(), rows.len(), "{process:?} {order:?}");
            if process == Process::Even {
                // Without gaps, but for the block that the end cuts.
                let highest = rows.iter().map(|row| row.parse::<usize>().unwrap()).max().unwrap();
                assert!(highest < rows.len() + 5, "{highest} of {}", rows.len());
            }
        }
    }
}

#[test]
fn rows_run_out() {
    let plan = plan(Process::Even, Order::Turn, 2);
    let few =
        lets(4_000, &[("item", "uniform(9)"), ("user", "csv(users.csv, once)"), ("size", "constant(1)")]);
    let many = Plan::new(PlanSpec {
        load: LoadSpec::Open {
            phases: vec![Phase::hold(Rate::per_second(10_000), Nanos::from_millis(500))],
            process: Process::Even,
        },
        ..plan.spec().clone()
    })
    .unwrap();
    let all = written(&many, &values(&many, few).unwrap());
    assert_eq!((all.len(), all.values().filter(|(_, said)| said.is_none()).count()), (5_000, 1_000));
}

#[test]
fn rows_in_order_need_an_order() {
    let plan = plan(Process::Even, Order::Random { seed: 1 }, 2);
    let error = values(&plan, shop()).unwrap_err();
    assert!(error.to_string().contains("--order shuffled"), "{error}");
}

#[test]
fn the_newest_keys_follow_the_inserts() {
    let plan = plan(Process::Even, Order::Shuffled { seed: 1 }, 1);
    let values = values(&plan, shop()).unwrap();
    let all = written(&plan, &values);
    let keys: Vec<(u64, u64)> = all
        .iter()
        .filter(|(_, (operation, _))| *operation == 0)
        .map(|(index, (_, said))| (*index, said.as_ref().unwrap()[0].parse().unwrap()))
        .collect();
    // A fifth of the arrivals insert a key each; the newest one is known by the schedule.
    assert!(keys.iter().all(|(index, key)| *key < 1_000_000 + index / 5));
    assert!(keys.iter().filter(|(_, key)| *key >= 1_000_000).count() > 100, "new keys are drawn, too");
}

/// By the time at which an arrival is intended, to the unit: half of 80:20 is no whole number, and the rate rises meanwhile.
#[test]
fn the_newest_key_is_known_exactly_while_a_poisson_load_rises() {
    let (from, to, ms) = (1_000u64, 9_000u64, 400u64);
    let rising =
        Phase { from: Rate::per_second(from), to: Rate::per_second(to), duration: Nanos::from_millis(ms) };
    let hold = Phase::hold(Rate::per_second(to), Nanos::from_millis(100));
    let plan = plan(Process::Even, Order::Shuffled { seed: 1 }, 3);
    let load = LoadSpec::Open { phases: vec![rising, hold], process: Process::Poisson { seed: 5 } };
    let plan = Plan::new(PlanSpec { load, ..plan.spec().clone() }).unwrap();
    let values = values(&plan, shop()).unwrap();
    let item = values.lets().source(0);
    // Λ in a whole number of arrivals: r₀·t + (r₁ − r₀)·t²/2T, and r₁ behind the ramp.
    let expected = |at_ns: u128| {
        let (r0, r1, length_ns) = (u128::from(from), u128::from(to), u128::from(ms) * 1_000_000);
        let of_ramp = |t: u128| 2 * r0 * t * length_ns + (r1 - r0) * t * t;
        let behind = at_ns.saturating_sub(length_ns);
        let twice = of_ramp(at_ns.min(length_ns)) + 2 * length_ns * r1 * behind;
        (twice / (2 * length_ns * 1_000_000_000)) as u64
    };
    let (mut checked, mut composer, mut last) = (0, Composer::new(&values, &plan), 0);
    for shard in 0..plan.threads() {
        let mut arrivals: Vec<Arrival> = Vec::new();
        plan.open_load(START, shard).unwrap().advance(START + plan.load_length(), |one| arrivals.push(one));
        for arrival in arrivals.iter().filter(|arrival| arrival.operation == 0) {
            let inserted = expected(u128::from(arrival.intended.since(START).0)) / 5;
            let drawing = Drawing { key: Key { step: 0, ..arrival.key }, ordinal: u64::MAX, inserted };
            let key = item.draw(values.seed_of(0), &drawing).unwrap().to_string();
            let said = said(&mut composer, &values, &plan, arrival, START).unwrap();
            assert_eq!(said[0], key, "{arrival:?} after {inserted}");
            (checked, last) = (checked + 1, inserted.max(last));
        }
    }
    assert!(checked > 1_500 && last > 500, "{checked} {last}");
}

/// Two of five insert, and may be the last of their five.
#[test]
fn what_is_acknowledged_was_sent_whatever_the_order_in_a_block() {
    let order = Order::Shuffled { seed: 3 };
    let of_fifths = plan(Process::Even, order, 1);
    let mix = Mix { weights: Some(vec![3, 2]), order, ..Mix::default() };
    let plan = Plan::new(PlanSpec { mix, ..of_fifths.spec().clone() }).unwrap();
    let lets = lets(1, &[("key", "latest(1, s=10, inserts=acknowledged)")]);
    let all = ["{{key}}", "{{now}}"].map(|text| composition(&lets, text, Context::Target)).to_vec();
    let values = Values::new(lets, all, &[1], &plan, 7).unwrap();
    let mut arrivals: Vec<Arrival> = Vec::new();
    plan.open_load(START, 0).unwrap().advance(START + plan.load_length(), |one| arrivals.push(one));
    let (mut composer, mut inserted, mut newest) = (Composer::new(&values, &plan), 0, 0);
    for arrival in &arrivals {
        // All before it have ended.
        values.inserts_ended(0, arrival.intended.since(START));
        if arrival.operation == 1 {
            inserted += 1;
            continue;
        }
        let said = said(&mut composer, &values, &plan, arrival, START).unwrap();
        let key: u64 = said[0].parse().unwrap();
        assert!(key <= inserted, "{key} of {inserted}");
        newest += u64::from(key == inserted);
    }
    assert!(inserted == 1_000 && newest > 300, "{newest} of {inserted}");
}

/// One request of five inserts a key, two stand alone, and two are journeys of three requests.
fn journeys(process: Process, threads: u32) -> Plan {
    let step = |think_ms| StepSpec { think: Think::Constant(Nanos::from_millis(think_ms)), ..StepSpec::ONCE };
    let each = vec![JourneySpec { steps: vec![step(0), step(70), step(50)], ..JourneySpec::default() }];
    let of_two = plan(process, Order::Turn, threads);
    Plan::new(PlanSpec {
        mix: Mix {
            weights: Some(vec![2, 1, 2]),
            order: Order::Shuffled { seed: 4 },
            journeys: Journeys { each, seed: 9, under_way_max: 400, ..Journeys::default() },
        },
        idempotent: vec![true; 5],
        ..of_two.spec().clone()
    })
    .unwrap()
}

fn of_journeys(plan: &Plan) -> Values {
    let steps = ["{{item}} {{now}}", "{{item}} {{user.id}} {{int(1,9)}}", "{{user.id}} {{item}}"];
    let lets = shop();
    let all = PLACES.iter().chain(&steps).map(|text| composition(&lets, text, Context::Target)).collect();
    Values::new(lets, all, &[1], plan, 7).unwrap()
}

/// Each answer comes 3 ms after its request was to start, whichever worker sends it.
fn written_by_journeys(plan: &Plan, values: &Values) -> Written {
    let mut all = BTreeMap::new();
    for shard in 0..plan.threads() {
        let mut load = plan.journeys_load(START, shard).unwrap();
        load.stop(START + plan.load_length());
        let mut recorder = Recorder::new(Box::new(Bank::new(5)), Nanos::from_secs(1));
        let mut composer = Composer::new(values, plan);
        let mut under_way: std::collections::BTreeSet<(Instant, u64)> = Default::default();
        let (mut arrivals, mut now) = (BTreeMap::new(), START);
        while !load.is_exhausted(now) {
            let due = load.next_due();
            let answer = under_way.first().copied();
            now = match (due, answer) {
                (None, None) => break,
                (due, answer) => due.into_iter().chain(answer.map(|(at, _)| at)).min().unwrap(),
            };
            if let Some(answer) = answer.filter(|(at, _)| *at == now) {
                under_way.remove(&answer);
                let arrival: Arrival = arrivals.remove(&answer.1).unwrap();
                load.ended(&arrival, Outcome::Ok, now, &mut recorder);
                continue;
            }
            load.advance(now, |_| {});
            while let Some(arrival) = load.take(0) {
                let begun = (START, load.began(&arrival));
                let said = said_begun(&mut composer, values, plan, &arrival, begun);
                assert!(all.insert(arrival.index, (arrival.operation, said)).is_none());
                arrivals.insert(arrival.index, arrival);
                under_way.insert((arrival.intended + Nanos::from_millis(3), arrival.index));
            }
        }
    }
    all
}

#[test]
fn journeys_write_the_same_by_any_number_of_workers_and_ask_for_one_key() {
    for process in [Process::Even, Process::Poisson { seed: 3 }] {
        let of = |threads| {
            let plan = journeys(process, threads);
            written_by_journeys(&plan, &of_journeys(&plan))
        };
        let one = of(1);
        for threads in [2, 3, 7] {
            assert!(of(threads) == one, "{process:?} over {threads}");
        }
        let unit = |index: u64| index & ((1 << unblink_core::arrival::UNIT_BITS) - 1);
        let mut keys: BTreeMap<u64, HashSet<&String>> = BTreeMap::new();
        let (mut requests, mut newest) = (0, 0);
        for (index, (operation, said)) in one.iter().filter(|(_, (operation, _))| *operation > 1) {
            let key = &said.as_ref().unwrap()[if *operation == 4 { 1 } else { 0 }];
            keys.entry(unit(*index)).or_default().insert(key);
            requests += 1;
            newest = newest.max(key.parse::<u64>().unwrap());
        }
        assert!(keys.len() > 900 && requests == 3 * keys.len(), "{requests} of {}", keys.len());
        assert!(keys.values().all(|keys| keys.len() == 1), "{process:?}");
        assert!(newest > 1_000_100, "new keys are drawn, too: {newest}");
    }
}

#[test]
fn journeys_of_a_simulated_world_are_sent_the_same() {
    let plan = journeys(Process::Poisson { seed: 3 }, 1);
    let values = of_journeys(&plan);
    let mut simulated = BTreeMap::new();
    let sending = Sending {
        plan: &plan,
        values: &values,
        composer: Composer::new(&values, &plan),
        written: &mut simulated,
    };
    let server = ServerSpec::new(Service::Constant(Nanos::from_millis(3)));
    simulate_part(&plan, &WorldSpec::new(server), SimPart::default(), sending, |_| {});
    // Later steps start a moment later or sooner than by the other way, so the time alone differs.
    let timeless = |all: &Written| -> Vec<(u64, Option<Vec<String>>)> {
        let without = |(index, (operation, said)): (&u64, &(u32, Option<Vec<String>>))| {
            let said = said.clone().map(|mut said| {
                if *operation == 2 {
                    said.truncate(1);
                }
                said
            });
            (*index, said)
        };
        all.iter().map(without).collect()
    };
    assert!(timeless(&simulated) == timeless(&written_by_journeys(&plan, &values)));
}

/// Of five arrivals two are journeys, each with two inserts in its second step: known by the schedule, when the journeys start.
#[test]
fn the_inserts_of_journeys_are_expected_when_they_start() {
    let of_one = journeys(Process::Even, 1);
    let mut spec = of_one.spec().clone();
    spec.mix.journeys.each[0].steps[1].repeat = (2, 2);
    let plan = Plan::new(spec).unwrap();
    let of = |lets: &Lets, third: &str, inserts: &[u32]| {
        let texts = ["{{item}}", "{{item}}", "{{item}}", third, "{{item}}"];
        let all = texts.map(|text| composition(lets, text, Context::Target)).to_vec();
        Values::new(lets.clone(), all, inserts, &plan, 7)
    };
    let lets = lets(1, &[("item", "latest(10, s=5)"), ("new", "ycsb_inserted(10)")]);
    let values = of(&lets, "{{item}}", &[3]).unwrap();
    let (all, item) = (written_by_journeys(&plan, &values), values.lets().source(0));
    let mut newest = 0;
    for (&index, (_, said)) in all.iter().filter(|(_, (operation, _))| *operation == 0) {
        // Arrival k of even ones is intended at k ÷ 5,000 s.
        let drawing = Drawing { key: Key::single(index), ordinal: u64::MAX, inserted: index * 4 / 5 };
        let key = item.draw(values.seed_of(0), &drawing).unwrap();
        assert_eq!(said.as_ref().unwrap()[0], key.to_string(), "arrival {index}");
        newest = newest.max(key);
    }
    assert!(newest > 1_900, "{newest}");
    // All of a journey's requests would insert one key.
    let error = of(&lets, "{{new}}", &[3]).unwrap_err();
    assert_eq!(error, ValuesError::OneKeyForMany { name: "new".into() });
    assert!(of(&lets, "{{new}}", &[1, 2]).is_ok() && of(&lets, "{{new}}", &[]).is_ok());
}
