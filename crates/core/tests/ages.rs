//! How old those are who wait, against books that are kept from outside of dispatcher and recorder.

use std::cell::RefCell;
use std::collections::BTreeMap;
use unblink_core::dispatch::{Action, Event, Pool};
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::record::Ages;
use unblink_core::schedule::{Cursor, Phase, Process, Rate};
use unblink_core::sim::{
    ServerSpec, Service, Sight, SimPart, Watch, Windows, WorldSpec, ZERO, simulate_part,
};
use unblink_core::time::{Instant, Nanos};

const AUTO: Pool = Pool::Auto { max: 20_000 };
const SHUT_FROM_S: u64 = 2;
const SHUT_S: u64 = 3;

/// Arrivals that are due or to come and have no answer, by number: when they are intended.
#[derive(Default)]
struct Books {
    open: BTreeMap<u64, Instant>,
    carried: BTreeMap<u32, u64>,
}

struct Bookkeeper<'a>(&'a RefCell<Books>);

impl Watch for Bookkeeper<'_> {
    fn see(&mut self, _at: Instant, sight: Sight) {
        let Books { open, carried } = &mut *self.0.borrow_mut();
        match sight {
            Sight::Action(Action::Send { flight, arrival, .. }) => {
                carried.insert(flight.slot, arrival);
            }
            Sight::Turn(Event::Answered(flight, _)) => {
                carried.remove(&flight.slot).and_then(|arrival| open.remove(&arrival));
            }
            _ => {}
        }
    }
}

fn plan(phases: Vec<Phase>, process: Process, pool: Pool) -> Plan {
    Plan::new(PlanSpec {
        warmup: Nanos::from_secs(1),
        ..PlanSpec::plain(LoadSpec::Open { phases, process }, pool, Nanos::from_secs(3600))
    })
    .unwrap()
}

/// At the end of each second what was told, and what is true: ages in ns, ascending.
fn told_and_true(plan: &Plan) -> Vec<(Ages, Vec<u64>)> {
    let books = RefCell::new(Books::default());
    let schedule = plan.schedule().expect("an open load");
    let mut cursor = Cursor::new(schedule, 0, 1);
    while let Some((index, offset)) = cursor.next(schedule) {
        books.borrow_mut().open.insert(index, ZERO + offset);
    }
    let shut = vec![Windows::once(Nanos::from_secs(SHUT_FROM_S), Nanos::from_secs(SHUT_S))];
    let server = ServerSpec { shut, ..ServerSpec::new(Service::Constant(Nanos::from_millis(10))) };
    let mut all = Vec::new();
    simulate_part(plan, &WorldSpec::new(server), SimPart::default(), Bookkeeper(&books), |interval| {
        let end = ZERO + interval.start + interval.length;
        let books = books.borrow();
        let mut truth: Vec<u64> =
            books.open.values().filter(|at| **at < end).map(|at| end.since(*at).0).collect();
        truth.sort_unstable();
        assert_eq!(interval.gauges.in_flight + interval.gauges.backlog, truth.len() as u64);
        assert_eq!(interval.ages.count(), truth.len() as u64);
        all.push((interval.ages.clone(), truth));
    });
    all
}

fn exact(ages: &[u64]) -> Ages {
    let mut exact = Ages::default();
    ages.iter().for_each(|age| exact.add(Nanos(*age), 1));
    exact
}

/// By how many arrivals what is told to be older than anything is off at the most: (too many, too few).
fn off(told: &Ages, truth: &[u64]) -> (u64, u64) {
    let truth = exact(truth);
    let edges = truth.bins().chain(told.bins()).map(|(age, _)| Nanos(age.0.saturating_sub(1)));
    let pairs = edges.map(|age| (told.longer_than(age), truth.longer_than(age)));
    pairs.fold((0, 0), |(many, few), (told, truth)| {
        (many.max(told.saturating_sub(truth)), few.max(truth.saturating_sub(told)))
    })
}

fn hold(per_s: u64, seconds: u64) -> Phase {
    Phase::hold(Rate::per_second(per_s), Nanos::from_secs(seconds))
}

#[test]
fn few_are_told_one_by_one() {
    for pool in [AUTO, Pool::Fixed { n: 7 }] {
        let all = told_and_true(&plan(vec![hold(80, 8)], Process::Even, pool));
        assert!(all.iter().any(|(_, truth)| truth.len() > 200));
        for (told, truth) in &all {
            assert_eq!(*told, exact(truth));
        }
    }
}

/// One in 256 of them is looked at; a spike in the middle of the stall moves none.
#[test]
fn a_backlog_of_even_arrivals_is_told_from_its_places() {
    let shape = vec![hold(500, 3), hold(20_000, 1), hold(10, 4)];
    let all = told_and_true(&plan(shape, Process::Even, Pool::Fixed { n: 20 }));
    assert!(all.iter().any(|(_, truth)| truth.len() > 20_000));
    for (told, truth) in &all {
        let (many, few) = off(told, truth);
        assert!(many == 0 && few <= truth.len() as u64 / 256 + 1, "{} wait: {many}, {few}", truth.len());
    }
}

/// Where they are expected. By Kolmogorov and Smirnov n ranks are off by 1.95 √n once in a thousand times.
#[test]
fn a_backlog_of_poisson_arrivals_is_told_from_its_shape() {
    let ramp =
        Phase { from: Rate::per_second(100), to: Rate::per_second(5_000), duration: Nanos::from_secs(6) };
    let all = told_and_true(&plan(vec![ramp], Process::Poisson { seed: 5 }, Pool::Fixed { n: 20 }));
    assert!(all.iter().any(|(_, truth)| truth.len() > 6_000));
    for (told, truth) in &all {
        let (many, few) = off(told, truth);
        let bound = 1.95 * (truth.len() as f64).sqrt() + truth.len() as f64 / 256.0 + 1.0;
        assert!((many.max(few) as f64) <= bound, "{} wait: {many}, {few}", truth.len());
    }
}

/// The oldest are looked at one by one, some of the others for all: 1,024 of those.
#[test]
fn of_many_in_flight_the_oldest_are_exact() {
    let all = told_and_true(&plan(vec![hold(4_000, 6)], Process::Even, AUTO));
    let (told, truth) = all.iter().max_by_key(|(_, truth)| truth.len()).expect("intervals");
    assert!(truth.len() > 11_000, "{}", truth.len());
    let oldest = Nanos(truth[truth.len() - 1_024]);
    assert_eq!(exact(truth).longer_than(oldest), told.longer_than(oldest));
    let (many, few) = off(told, truth);
    assert!(many.max(few) <= truth.len() as u64 / 20, "{} wait: {many}, {few}", truth.len());
    let (told, truth) = all.last().expect("intervals");
    assert!(truth.is_empty() && told.count() == 0);
}

#[test]
fn users_who_wait_for_a_connection_are_told_one_by_one() {
    let load = LoadSpec::closed(60, Nanos::from_millis(5), Nanos::from_secs(6));
    let spec = plan(vec![hold(1, 1)], Process::Even, Pool::Fixed { n: 4 }).spec().clone();
    let plan = Plan::new(PlanSpec { load, ..spec }).unwrap();
    let shut = vec![Windows::once(Nanos::from_secs(2), Nanos::from_secs(SHUT_S))];
    let server = ServerSpec { shut, ..ServerSpec::new(Service::Constant(Nanos::from_millis(1))) };
    let mut waited = Vec::new();
    simulate_part(&plan, &WorldSpec::new(server), SimPart::default(), (), |interval| {
        waited.push([0, 1, 2].map(|s| interval.ages.longer_than(Nanos::from_millis(s * 1_000 + 900))));
    });
    // All of them ask within 20 ms, and nobody is answered from 2 s to 5 s.
    assert_eq!(waited[2..5], [[60, 0, 0], [60, 60, 0], [60, 60, 60]]);
    assert_eq!(waited[5..7].iter().flatten().sum::<u64>(), 0, "{waited:?}");
}
