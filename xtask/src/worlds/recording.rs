//! What a worker of a world did, event by event, and what it recorded.

use super::generate::Case;
use std::cell::RefCell;
use unblink_core::plan::Plan;
use unblink_core::record::{Ages, Bank, Cell, Counters, Gauges, Interval, Slowest};
use unblink_core::sim::{Sight, SimPart, Watch, WorldSpec, simulate_part};
use unblink_core::time::{Instant, Nanos};

/// No world of the generator has as many events; one that goes on for ever does.
const ENTRIES_MAX: usize = 1_000_000;

/// One line of the log.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// Something was seen.
    Seen(Instant, Sight),
    /// An interval was handed over.
    HandedOver(Box<Snapshot>),
}

/// The parts of an interval that are checked one by one; its distributions are checked in sum.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Snapshot {
    pub(super) start: Nanos,
    pub(super) length: Nanos,
    pub(super) double: bool,
    pub(super) counters: Counters,
    pub(super) gauges: Gauges,
    pub(super) ages: Ages,
    pub(super) slowest: Slowest,
    pub(super) cells: Vec<Cell>,
}

impl Snapshot {
    fn of(interval: &Interval) -> Snapshot {
        Snapshot {
            start: interval.start,
            length: interval.length,
            double: interval.double,
            counters: interval.bank.counters.clone(),
            gauges: interval.gauges,
            ages: interval.ages.clone(),
            slowest: interval.bank.slowest,
            cells: interval.bank.timeline.cells().to_vec(),
        }
    }
}

/// One worker's run.
#[derive(Clone, Debug)]
pub(super) struct Recording {
    pub(super) log: Vec<Entry>,
    /// All intervals together.
    pub(super) total: Bank<u64>,
    /// After the schedule's zero.
    pub(super) last_ok: Option<Nanos>,
}

struct Logging<'a>(&'a RefCell<Vec<Entry>>);

impl Watch for Logging<'_> {
    fn see(&mut self, at: Instant, sight: Sight) {
        let mut log = self.0.borrow_mut();
        assert!(log.len() < ENTRIES_MAX, "the run does not end: at {at:?} it has {ENTRIES_MAX} events");
        log.push(Entry::Seen(at, sight));
    }
}

/// Lets `worker` do its part. Each worker meets a server of its own.
pub(super) fn record(plan: &Plan, case: &Case, worker: u32) -> Recording {
    let log = RefCell::new(Vec::new());
    let mut total = Bank::new(plan.layout());
    let world = WorldSpec { seed: case.world.seed.wrapping_add(u64::from(worker)), ..case.world.clone() };
    let part = SimPart { worker, stop: case.stop };
    let summary = simulate_part(plan, &world, part, Logging(&log), |interval| {
        log.borrow_mut().push(Entry::HandedOver(Box::new(Snapshot::of(interval))));
        total.add(&interval.bank);
    });
    Recording { log: log.into_inner(), total, last_ok: summary.last_ok }
}
