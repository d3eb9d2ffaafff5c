//! Several origins: what one of them does is nothing to the others, and each has a server of its own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use unblink_core::dispatch::{Action, Pool};
use unblink_core::origins::Origins;
use unblink_core::plan::{LoadSpec, OpenPart, Plan, PlanSpec};
use unblink_core::record::{Bank, ConnectionLevels, OperationRecord, Outcomes, Series};
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::sim::{
    GeneratorSpec, ServerSpec, Service, Sight, SimPart, Watch, Windows, WorldSpec, simulate, simulate_part,
};
use unblink_core::time::{Instant, Nanos};

const LENGTH: Nanos = Nanos::from_secs(8);
const TIMEOUT: Nanos = Nanos::from_secs(3);

const fn ms(ms: u64) -> Nanos {
    Nanos::from_millis(ms)
}

fn hold(per_s: u64) -> Vec<Phase> {
    vec![Phase::hold(Rate::per_second(per_s), LENGTH)]
}

/// As many operations as origins, each at its own.
fn plan(load: LoadSpec, origins: u8, pool: Pool) -> Plan {
    let of_operation: Vec<u8> = (0..origins).collect();
    Plan::new(PlanSpec {
        idempotent: vec![true; of_operation.len()],
        origins: Origins::new(&of_operation).unwrap(),
        ..PlanSpec::plain(load, pool, TIMEOUT)
    })
    .unwrap()
}

/// Everything that is recorded, and the levels at the end.
fn run(plan: &Plan, world: &WorldSpec) -> (Bank<u64>, Vec<ConnectionLevels>) {
    let mut total = Bank::new(plan.layout());
    let mut levels = Vec::new();
    simulate(plan, world, |interval| {
        total.add(&interval.bank);
        levels = interval.gauges.origins.to_vec();
    });
    (total, levels)
}

fn random_server() -> ServerSpec {
    ServerSpec { slots: Some(3), ..ServerSpec::new(Service::Exponential { mean: ms(2) }) }
}

/// Outcomes, answers, and every bin of every distribution of one operation.
fn of_operation(bank: &Bank<u64>, operation: usize) -> String {
    let OperationRecord { outcomes, codes, .. } = bank.operations.get(operation).unwrap();
    let answers: Vec<_> = codes.iter().enumerate().filter(|(_, n)| **n > 0).collect();
    let of = |series| {
        let bins: Vec<_> = bank.operations.bins(operation, series).collect();
        (bank.operations.get(operation).unwrap().sums(series), bins)
    };
    format!("{outcomes:?} {answers:?} {:?}", Series::BY_OPERATION.map(of))
}

/// To the last bit, whatever befalls the first origin: it answers nothing, refuses everything, or accepts nobody, for
/// longer than a timeout.
#[test]
fn a_stalled_origin_holds_up_no_other() {
    let troubles: [fn(&mut ServerSpec); 3] = [
        |server| server.shut = vec![Windows::once(ms(1_500), ms(5_000))],
        |server| server.down = vec![Windows::once(ms(1_500), ms(5_000))],
        |server| server.accept_stalled = vec![Windows::once(ms(0), ms(5_000))],
    ];
    for process in [Process::Even, Process::Poisson { seed: 7 }] {
        for pool in [Pool::Fixed { n: 5 }, Pool::Auto { max: 200 }] {
            let plan = plan(LoadSpec::Open { phases: hold(1_500), process }, 3, pool);
            let world = |trouble: &dyn Fn(&mut ServerSpec)| {
                let mut server = random_server();
                trouble(&mut server);
                WorldSpec { others: vec![random_server(); 2], ..WorldSpec::new(server) }
            };
            let (calm, calm_levels) = run(&plan, &world(&|_| {}));
            assert!(calm.counters.measured.ok > 11_000, "{:?}", calm.counters.measured);
            for trouble in troubles {
                let (stalled, levels) = run(&plan, &world(&trouble));
                assert!(stalled.counters.measured.ok < 11_000, "{:?}", stalled.counters.measured);
                assert_ne!(of_operation(&stalled, 0), of_operation(&calm, 0));
                for other in [1, 2] {
                    assert_eq!(of_operation(&stalled, other), of_operation(&calm, other), "{pool:?}");
                    assert_eq!(stalled.counters.origins[other], calm.counters.origins[other]);
                    assert_eq!(levels[other], calm_levels[other]);
                }
            }
        }
    }
}

/// Two loads, each at an origin of its own, come to what the two come to in runs of their own; to the nanosecond, the
/// causes of waiting too, however often the generator is away.
#[test]
fn two_origins_are_two_runs() {
    let pauses = Windows { first: ms(700), length: ms(30), every: Some(ms(400)), count: None };
    let away = GeneratorSpec { pauses: Some(pauses), ..GeneratorSpec::default() };
    let shut = vec![Windows::once(ms(2_000), ms(1_000))];
    let first = ServerSpec { shut, ..ServerSpec::new(Service::Constant(ms(3))) };
    let second = ServerSpec::new(Service::Constant(Nanos::from_micros(700)));
    let load = |per_s, operation| OpenPart {
        only: Some(vec![operation]),
        ..OpenPart::whole(hold(per_s), Process::Even)
    };
    for generator in [GeneratorSpec::default(), away] {
        for pool in [Pool::Fixed { n: 4 }, Pool::Auto { max: 90 }] {
            let world = |server: &ServerSpec| WorldSpec {
                others: vec![second.clone()],
                generator,
                ..WorldSpec::new(server.clone())
            };
            let alone = [(&first, load(997, 0)), (&second, load(311, 1))].map(|(server, load)| {
                let spec = plan(LoadSpec::Several(vec![load]), 2, pool).spec().clone();
                run(&Plan::new(PlanSpec { origins: Origins::default(), ..spec }).unwrap(), &world(server)).0
            });
            let mut apart = Bank::new(2);
            alone.iter().for_each(|bank| apart.add(bank));
            let both = plan(LoadSpec::Several(vec![load(997, 0), load(311, 1)]), 2, pool);
            let both = run(&both, &world(&first)).0;
            // A generator that was away has caught up when it has with both.
            for series in Series::ALL {
                if matches!(series, Series::Hindered | Series::Unhindered) {
                    continue;
                }
                let list = |bank: &Bank<u64>| {
                    let track = bank.track(series);
                    (track.sum_ns, track.max_ns, track.bins().collect::<Vec<_>>())
                };
                assert_eq!(list(&both), list(&apart), "{} with {pool:?}, {generator:?}", series.name());
            }
            assert_eq!(both.counters.measured, apart.counters.measured);
            assert_eq!(both.counters.lag, apart.counters.lag, "{pool:?}, {generator:?}");
            for number in [0, 1] {
                assert_eq!(both.counters.origins[number], alone[number].counters.origins[0]);
                assert_eq!(of_operation(&both, number), of_operation(&apart, number));
                let outcomes = |place| both.loads.get(place).unwrap().outcomes;
                assert_eq!(outcomes(number), both.operations.get(number).unwrap().outcomes);
            }
        }
    }
}

/// The origins to which a turn sends, and how many requests.
type Turn = Vec<(u8, u64)>;

/// Sends by turn.
struct Sends<'a>(&'a RefCell<Vec<Turn>>);

impl Watch for Sends<'_> {
    fn see(&mut self, _at: Instant, sight: Sight) {
        let mut turns = self.0.borrow_mut();
        match (sight, turns.last_mut()) {
            (Sight::Turn(_), _) => turns.push(Vec::new()),
            (Sight::Action(Action::Send { conn, .. }), Some(turn)) => match turn.last_mut() {
                Some((origin, n)) if *origin == conn.origin => *n += 1,
                _ => turn.push((conn.origin, 1)),
            },
            _ => {}
        }
    }
}

/// After a pause 64, 200 and 200 requests are due. A turn sends 64: whoever was cut off before it sent any comes next, and
/// of two that go on for longer neither has two turns while the other waits.
#[test]
fn origins_send_in_turn_where_there_is_too_much_for_one() {
    let load = |(operation, per_s)| OpenPart {
        start: ms(200),
        only: Some(vec![operation]),
        ..OpenPart::whole(vec![Phase::hold(Rate::per_second(per_s), ms(500))], Process::Even)
    };
    let loads = [(0, 128), (1, 400), (2, 400)].map(load).to_vec();
    let plan = plan(LoadSpec::Several(loads), 3, Pool::Fixed { n: 200 });
    let mut world = WorldSpec::new(ServerSpec::new(Service::Constant(ms(500))));
    world.generator.pauses = Some(Windows::once(ms(100), ms(1_000)));
    let turns = RefCell::default();
    simulate_part(&plan, &world, SimPart::default(), Sends(&turns), |_| {});
    let turns: Vec<_> = turns.take().into_iter().filter(|turn| !turn.is_empty()).collect();
    let alone = |origin| vec![(origin, 64)];
    let expected = [0, 1, 2, 1, 2, 1, 2].map(alone).into_iter().chain([vec![(1, 8), (2, 8)]]);
    assert_eq!(turns, expected.collect::<Vec<_>>());
}

/// Work of 1 ms, and of 40 ms for the second operation, on one server and behind its own queue.
#[test]
fn an_operation_may_have_a_service_time_of_its_own() {
    let spec = PlanSpec {
        origins: Origins::default(),
        ..plan(LoadSpec::Open { phases: hold(300), process: Process::Even }, 3, Pool::Auto { max: 200 })
            .spec()
            .clone()
    };
    let service_of = BTreeMap::from([(1, Service::Constant(ms(40)))]);
    let server = ServerSpec { service_of, ..ServerSpec::new(Service::Constant(ms(1))) };
    let (total, _) = run(&Plan::new(spec).unwrap(), &WorldSpec::new(server));
    for (operation, service) in [(0, ms(1)), (1, ms(40)), (2, ms(1))] {
        let sums = total.operations.get(operation).unwrap().sums(Series::Service);
        assert_eq!(sums.count, 800);
        assert_eq!((sums.sum_ns, sums.max_ns), (800 * u128::from(service.0), service.0));
    }
}

#[test]
fn origins_without_a_server_of_their_own_have_one_like_the_first() {
    let load = || LoadSpec::Open { phases: hold(100), process: Process::Even };
    let world = WorldSpec {
        others: vec![ServerSpec::new(Service::Constant(ms(9)))],
        ..WorldSpec::new(ServerSpec { slots: Some(1), ..ServerSpec::new(Service::Constant(ms(20))) })
    };
    // One slot for 20 ms, and a request each 30 ms: a shared one would be late for ever.
    let (total, _) = run(&plan(load(), 3, Pool::Auto { max: 200 }), &world);
    let max = |operation| total.operations.get(operation).unwrap().sums(Series::Response).max_ns;
    assert_eq!([0, 1, 2].map(max), [ms(20).0, ms(9).0, ms(20).0]);
}

/// Outcomes and every bin of each origin.
fn by_origin(bank: &Bank<u64>) -> Vec<String> {
    let times = |place| Series::BY_OPERATION.map(|s| bank.origins.bins(place, s).collect::<Vec<_>>());
    let one = |(place, of): (usize, &OperationRecord)| format!("{:?} {:?}", of.outcomes, times(place));
    bank.origins.iter().enumerate().map(one).collect()
}

/// More operations than are recorded apart: those in the last place are of several origins, and each origin still has an
/// account of its own, which is that of its operations, and which two workers add up to.
#[test]
fn each_origin_has_its_account_however_many_operations_there_are() {
    const OPERATIONS: usize = 300;
    let of_operation: Vec<u8> = (0..OPERATIONS).map(|operation| (operation % 3) as u8).collect();
    let spec = PlanSpec {
        idempotent: vec![true; OPERATIONS],
        origins: Origins::new(&of_operation).unwrap(),
        ..plan(LoadSpec::Open { phases: hold(1_500), process: Process::Even }, 3, Pool::Auto { max: 8_000 })
            .spec()
            .clone()
    };
    let services = [ms(1), ms(2), ms(4_000)];
    let world = WorldSpec {
        others: services[1..].iter().map(|&time| ServerSpec::new(Service::Constant(time))).collect(),
        ..WorldSpec::new(ServerSpec::new(Service::Constant(services[0])))
    };
    let alone = Plan::new(spec.clone()).unwrap();
    let (total, _) = run(&alone, &world);
    let scheduled = alone.scheduled_apart(Nanos::ZERO, alone.load_length()).unwrap();
    assert_eq!(scheduled.by_origin, [4_000; 3]);
    for (place, record) in total.origins.iter().enumerate() {
        let Outcomes { due, sent, ok, timed_out, .. } = record.outcomes;
        assert_eq!((due, sent), (4_000, 4_000));
        // The third takes longer than its timeout.
        assert_eq!((ok, timed_out), if place < 2 { (4_000, 0) } else { (0, 4_000) });
        let service = record.sums(Series::Service);
        assert_eq!(
            (service.count, service.max_ns),
            if place < 2 { (4_000, services[place].0) } else { (0, 0) }
        );
    }
    let two = Plan::new(PlanSpec { threads: 2, ..spec }).unwrap();
    let mut added = Bank::new(two.layout());
    for worker in 0..2 {
        let part = SimPart { worker, ..SimPart::default() };
        simulate_part(&two, &world, part, (), |interval| added.add(&interval.bank));
    }
    assert_eq!(by_origin(&added), by_origin(&total));
    let slow = total.slowest.as_slice();
    assert!(slow.iter().all(|slow| slow.origin == 2 && slow.operation % 3 == 2), "{slow:?}");
}
