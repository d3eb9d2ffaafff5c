//! The load of one agent: workers, what they record together, and its way into a folder.

use super::crowd::Played;
use super::record::{Record, header};
use super::worker::{Around, Happened, Worker};
use super::{Node, Rule, TIMEOUT, World};
use std::path::PathBuf;
use unblink_artifact::document::ClockReading;
use unblink_cluster::message::{Ended, Offer, Reading, Time};
use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec, WorkerShares};
use unblink_core::record::Merger;
use unblink_core::schedule::{Phase, Process, Rate};
use unblink_core::time::Nanos;

/// Of one agent, from its start on.
pub(super) struct Load {
    plan: Plan,
    /// By its own clock.
    pub(super) zero: Time,
    pub(super) by: By,
    pub(super) record: Record,
    pub(super) clock: Option<ClockReading>,
}

/// Who offers it.
pub(super) enum By {
    /// Workers, as time goes by.
    Workers(Vec<Worker>, Box<Merger>),
    /// Workers that have done so beforehand.
    Played(Played),
}

/// What the load of a world is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked {
    /// Arrivals of each share in a second.
    pub(super) per_s: u64,
    pub(super) process: Process,
    /// Connections of each share.
    pub(super) connections: u32,
    /// How long it is offered.
    pub(super) length: u64,
    /// One agent may be lost.
    pub(super) tolerates: bool,
}

impl Asked {
    /// The part of an agent.
    pub(super) fn plan(&self, offer: &Offer) -> Plan {
        let rate = Rate::per_second(self.per_s * u64::from(offer.of));
        let plan = Plan::new(PlanSpec {
            threads: offer.last - offer.first + 1,
            ..PlanSpec::plain(
                LoadSpec::Open { phases: vec![Phase::hold(rate, Nanos(self.length))], process: self.process },
                Pool::Auto { max: self.connections * offer.of },
                Nanos(TIMEOUT),
            )
        });
        let shares = WorkerShares { first: offer.first - 1, of: offer.of };
        plan.and_then(|plan| plan.with_shares(shares)).expect("a plan")
    }
}

impl Load {
    fn new(
        asked: &Asked,
        offer: &Offer,
        reading: Reading,
        (zero, now): (Time, u64),
        dir: PathBuf,
        seed: u64,
    ) -> Load {
        let plan = asked.plan(offer);
        let workers = (0..plan.threads()).map(|number| Worker::new(&plan, number, zero, now, seed)).collect();
        let merger = Box::new(Merger::new(plan.threads() as usize, plan.layout()));
        let record = Record::begin(dir, header(&plan, offer, reading, asked.tolerates));
        Load { plan, zero, by: By::Workers(workers, merger), record, clock: None }
    }

    /// What became of the requests of its workers.
    pub(super) fn happened(&self) -> Vec<&Happened> {
        match &self.by {
            By::Workers(workers, _) => workers.iter().map(Worker::happened).collect(),
            By::Played(played) => played.happened.iter().collect(),
        }
    }

    /// Where its record ends, after the schedule's zero.
    pub(super) fn end(&self) -> u64 {
        self.happened().iter().map(|worker| worker.books.end()).max().unwrap_or(0)
    }
}

impl Node {
    /// Lets workers do all that they do up to `now`. Gives how the run ended, once it has.
    pub(super) fn work(&mut self, now: u64, broken: Option<Rule>) -> Option<Ended> {
        let Node { load: Some(load), lease, clock, life, ended: false, .. } = self else { return None };
        let Load { plan, zero, by, record, clock: reading } = load;
        let (workers, merger) = match by {
            By::Workers(workers, merger) => (workers, merger),
            By::Played(played) => return played.go_on(&record.dir, clock.at(now).saturating_sub(*zero)),
        };
        let mut out = Vec::new();
        let mut around =
            Around { clock: *clock, lease, stands_still: life.stands_still, broken, out: &mut out };
        // In the order of time: whoever finds the lease ended ends it for all.
        while let Some((at, worker)) = first(workers, &around).filter(|(at, _)| *at <= now) {
            let knew = around.lease.ended.is_some();
            workers[worker].step(at, &mut around);
            if !knew && around.lease.ended.is_some() {
                around.lease.told_at = Some(at);
            }
        }
        out.into_iter().for_each(|handed| merger.push(handed));
        while merger.complete(|worker, bank| workers[worker].recycle(bank)) {
            record.take(merger.interval());
        }
        if !workers.iter().all(Worker::is_finished) {
            return None;
        }
        assert!(!merger.is_holding());
        Some(record.finish(plan, *zero, lease, *reading))
    }
}

/// Which worker does something next, and when.
fn first(workers: &mut [Worker], around: &Around<'_>) -> Option<(u64, usize)> {
    let all = workers.iter_mut().enumerate();
    all.filter_map(|(number, worker)| Some((worker.next(around)?, number))).min()
}

impl World {
    /// The workers of an agent are ready, and it was told when to begin: by its own clock, which nobody sets.
    pub(super) fn begin_load(&mut self, number: usize) {
        let (now, seed, dir) = (self.now, self.seed, self.own_dir(number));
        let node = &mut self.nodes[number];
        let (Some(start_at), Some(offer)) = (node.start_at, &node.offer) else { return };
        let zero = match self.broken {
            // As it is read now: it was another one when that was told.
            Some(Rule::Monotonic) => start_at.saturating_add_signed(node.told_by_wall - node.wall.ahead),
            _ => start_at,
        };
        node.load = Some(Load::new(&self.asked, offer, node.reading, (zero, now), dir, seed));
        if self.crowd.is_some() {
            self.play(number);
        }
    }

    /// Where an agent records.
    pub(super) fn own_dir(&self, number: usize) -> PathBuf {
        self.place.as_ref().expect("not in a crowd without records").path().join(format!("own-{number}"))
    }
}
