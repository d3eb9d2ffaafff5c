//! A run as seen from outside: start it, take an interval each second, stop it and see how it ended.

use crate::addresses::AddressCounts;
use crate::awake::Awake;
use crate::clock::{Clock, WallTime};
use crate::controls::Controls;
use crate::directory::{Asking, Directory};
use crate::error::EngineError;
use crate::failed::Failed;
use crate::gate::Gate;
use crate::job::Job;
use crate::pacing::Pacing;
use crate::priority::{Background, Priority};
use crate::so_far::SentSoFar;
use crate::worker::{Channels, Worker, WorkerEnd};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use unblink_core::dispatch::{Pool, Spread};
use unblink_core::load::Load;
use unblink_core::record::{Bank, Handed, Interval, Merger};
use unblink_core::time::{Instant, Nanos};
use unblink_wire::protocol::Protocol;
use unblink_workload::Sent;

/// The banks that a worker uses in turn: one being filled, one full, one spare.
const SPARE_BANKS: usize = 2;

/// The time between "all workers are ready" and the schedule's zero.
const LEAD: Nanos = Nanos::from_millis(50);

/// Workers that are told of their start must be awake at it.
const AWAKE_BEFORE: Nanos = Nanos::from_millis(5);

/// How a run ended, in addition to its intervals.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Set when the user ended the run: nothing fell due from this time on, counted from the schedule's zero.
    pub stopped_at: Option<Nanos>,
    /// Whether that was the end of the lease.
    pub lease_ended: bool,
    /// Whether the run ended without waiting for what was under way.
    pub aborted: bool,
    /// When the last `ok` arrival ended, counted from the schedule's zero.
    pub last_ok: Option<Nanos>,
    /// By origin.
    pub origins: Vec<OriginSummary>,
    /// By named value: what was drawn for the requests that were sent, each time that one was; empty without values.
    pub sent: Vec<Sent>,
    /// Involuntary context switches of the workers.
    pub involuntary_switches: Option<u64>,
    /// The priority at which the workers ran. If they differ, the one that fell furthest short of what was asked for.
    pub priority: Priority,
    /// Whether no processor slept during the run. `None` if that was not asked for.
    pub kept_awake: Option<bool>,
}

/// The results of the attempts to connect to one origin.
#[derive(Clone, Debug, Default)]
pub struct OriginSummary {
    /// By address.
    pub by_address: BTreeMap<String, AddressCounts>,
    /// How requests were spread over connections.
    pub spread: Spread,
    /// How often its name could not be resolved again while the run went on.
    pub resolving_failed: u64,
}

/// A run that is under way.
pub struct Running {
    /// By origin.
    directories: Vec<Arc<Directory>>,
    /// Looks names up again for as long as the run goes on.
    _asking: Vec<Asking>,
    clock: Clock,
    start: Instant,
    /// See [`Running::late`].
    late: Option<Nanos>,
    controls: Arc<Controls>,
    workers: Vec<JoinHandle<WorkerEnd>>,
    full: Receiver<Handed>,
    empty: Vec<Sender<Box<Bank<u32>>>>,
    merger: Merger,
    /// Receives the first arrivals to fail in each way.
    failed: Option<Receiver<Failed>>,
    sent: Arc<SentSoFar>,
    /// The outer `Option` says whether it was asked for, the inner one whether it was granted.
    awake: Option<Option<Awake>>,
    /// Belongs to the thread that takes the intervals.
    _background: Background,
}

/// Starts the workers, opens fixed pools, and sets the schedule's zero.
pub fn start<P: Protocol + 'static>(job: Job<P>) -> Result<Running, EngineError> {
    start_as(job, Starting::default())
}

/// How a run begins.
#[derive(Clone, Copy, Debug, Default)]
pub struct Starting {
    /// Each worker keeps so many of the first arrivals that fail in each way. See [`Running::take_failed`].
    pub failed_each: u32,
    /// The schedule's zero; as soon as the workers are ready where none is given.
    pub at: Option<StartAt>,
}

/// A start that was settled beforehand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartAt {
    /// By the wall clock as it goes when the run is started: a step of it before that moves the start, too.
    Wall(WallTime),
    /// When `CLOCK_MONOTONIC` of this machine reads so many ns: no step of the wall clock moves it.
    Monotonic(u64),
}

impl StartAt {
    /// When that is by the clock of the run; its first moment if that has passed, since at 0 nothing has begun.
    fn instant(self, clock: &Clock) -> Instant {
        let at = match self {
            StartAt::Wall(wall) => clock.at(wall).unwrap_or_default(),
            StartAt::Monotonic(ns) => clock.at_monotonic(ns),
        };
        at.max(Instant(1))
    }
}

/// Like [`start`], in the way that `starting` says.
pub fn start_as<P: Protocol + 'static>(job: Job<P>, starting: Starting) -> Result<Running, EngineError> {
    let clock = Clock::start();
    // Done before the workers learn how late they wake up.
    let awake = (job.pacing == Pacing::Precise).then(Awake::keep);
    let job = Arc::new(job);
    let threads = job.plan.threads() as usize;
    let layout = job.plan.layout();
    let controls = Arc::new(Controls::new(clock, threads).map_err(EngineError::Setup)?);
    let (Pool::Auto { max } | Pool::Fixed { n: max }) = job.plan.pool_here();
    crate::limits::make_room(controls.wake_fd(0), u64::from(max) * job.targets.len() as u64);
    let gate = Arc::new(Gate::closed());
    let directories: Vec<_> = job.targets.iter().map(|_| Arc::new(Directory::default())).collect();
    let named = job.values.as_ref().map_or(0, |values| values.lets().iter().len());
    let sent = Arc::new(SentSoFar::new(threads, named));
    let (full_in, full) = sync_channel(threads * (SPARE_BANKS + 2));
    let (failed_in, failed) = channel();
    let mut empty = Vec::new();
    let mut workers = Vec::new();
    for number in 0..threads {
        let (spare_in, spare) = channel();
        for _ in 0..SPARE_BANKS {
            let _ = spare_in.send(Box::new(Bank::new(layout)));
        }
        empty.push(spare_in);
        let Starting { failed_each, .. } = starting;
        let failed = (failed_each > 0).then(|| (failed_each, failed_in.clone()));
        let channels = Channels { sent: sent.clone(), full: full_in.clone(), empty: spare, failed };
        workers.push(spawn(number, &job, clock, &controls, &directories, &gate, channels)?);
    }
    drop::<SyncSender<Handed>>(full_in);
    let lost = || workers.iter().position(JoinHandle::is_finished);
    gate.wait_until_ready(threads, lost).inspect_err(|_| controls.abort())?;
    let now = clock.now();
    let start = starting.at.map_or(now + LEAD, |at| at.instant(&clock));
    let late = Some((now + AWAKE_BEFORE).since(start)).filter(|late| *late > Nanos::ZERO);
    if late.is_some() {
        controls.withhold_all(start);
    }
    gate.open(start);
    let targets = job.targets.iter().zip(&directories);
    let asking = targets
        .filter_map(|(target, directory)| Some(Asking::begin(directory.clone(), target.refresh.clone()?)));
    let asking = asking.collect();
    Ok(Running {
        _asking: asking,
        directories,
        clock,
        start,
        late,
        controls,
        workers,
        full,
        empty,
        merger: Merger::new(threads, layout),
        failed: Some(failed),
        sent,
        awake,
        // Set after the workers were started, since they inherit the policy of the thread that starts them.
        _background: Background::begin(),
    })
}

fn spawn<P: Protocol + 'static>(
    number: usize,
    job: &Arc<Job<P>>,
    clock: Clock,
    controls: &Arc<Controls>,
    directories: &[Arc<Directory>],
    gate: &Arc<Gate>,
    channels: Channels,
) -> Result<JoinHandle<WorkerEnd>, EngineError> {
    let (job, controls, gate) = (job.clone(), controls.clone(), gate.clone());
    let directories = directories.to_vec();
    let builder = std::thread::Builder::new().name(format!("unblink-{number}"));
    let life = move || {
        let shard = number as u32;
        let plan = job.plan.clone();
        if plan.journeys().is_some() {
            live(number, job, clock, (controls, directories), &gate, channels, |at| {
                plan.journeys_load(at, shard)
            })
        } else if plan.is_open() {
            live(number, job, clock, (controls, directories), &gate, channels, |at| plan.open_load(at, shard))
        } else {
            live(number, job, clock, (controls, directories), &gate, channels, |at| {
                plan.closed_load(at, shard)
            })
        }
    };
    builder.spawn(life).map_err(EngineError::Thread)
}

fn live<L: Load, P: Protocol>(
    number: usize,
    job: Arc<Job<P>>,
    clock: Clock,
    (controls, directories): (Arc<Controls>, Vec<Arc<Directory>>),
    gate: &Gate,
    channels: Channels,
    load: impl FnOnce(Instant) -> Option<L>,
) -> WorkerEnd {
    let bank = Box::new(Bank::new(job.plan.layout()));
    let worker = match Worker::new(number, job, clock, controls, &directories, channels, bank) {
        Ok(worker) => worker,
        Err(errno) => {
            gate.refuse(errno);
            return WorkerEnd::default();
        }
    };
    worker.run(gate, |at| load(at).expect("the plan has the kind of load that was asked for"))
}

impl Running {
    /// Ends the run early, from any thread.
    pub fn controls(&self) -> Arc<Controls> {
        self.controls.clone()
    }

    /// The schedule's zero.
    pub fn start(&self) -> Instant {
        self.start
    }

    /// How late the workers were ready for a start that was settled beforehand, if they were late: then all of the load is
    /// withheld, and the run ends at its start.
    pub fn late(&self) -> Option<Nanos> {
        self.late
    }

    /// Wall-clock time of the schedule's zero.
    pub fn started_at(&self) -> WallTime {
        self.clock.wall(self.start)
    }

    /// Hands out, once, the channel that receives the first arrivals to fail in each way. Those of an interval are in
    /// it when [`Running::next_interval`] returns that interval.
    pub fn take_failed(&mut self) -> Option<Receiver<Failed>> {
        self.failed.take()
    }

    /// By named value: what was drawn for the requests that were sent, up to the end of the last interval or a little longer;
    /// empty without values.
    pub fn sent_so_far(&self) -> Vec<Sent> {
        self.sent.sum()
    }

    /// Waits for the next interval, which usually covers a second. `None` when the run has ended.
    pub fn next_interval(&mut self) -> Option<&Interval> {
        loop {
            let empty = &self.empty;
            if self.merger.complete(|worker, bank| {
                // A worker that has finished needs no more banks.
                let _ = empty[worker].send(bank);
            }) {
                return Some(self.merger.interval());
            }
            match self.full.recv() {
                Ok(handed) => self.merger.push(handed),
                // Every worker has dropped its end.
                Err(_) if self.merger.is_holding() => self.merger.close(),
                Err(_) => return None,
            }
        }
    }

    /// Waits for the workers and says how the run ended.
    pub fn finish(self) -> Result<Summary, EngineError> {
        let stopped_at = self.controls.stop_at().map(|at| at.since(self.start));
        let ended = self.controls.lease_ended();
        let lease_ended = ended.is_some() && ended == self.controls.stop_at();
        let aborted = self.controls.is_aborted();
        let kept_awake = self.awake.as_ref().map(Option::is_some);
        let origins = self.directories.iter().map(|directory| OriginSummary {
            resolving_failed: directory.failed(),
            ..OriginSummary::default()
        });
        let origins = origins.collect();
        let mut summary =
            Summary { stopped_at, lease_ended, aborted, kept_awake, origins, ..Summary::default() };
        for (number, worker) in self.workers.into_iter().enumerate() {
            let end = worker.join().map_err(|_| EngineError::WorkerLost(number))?;
            summary.last_ok = summary.last_ok.max(end.last_ok);
            summary.priority = summary.priority.max(end.priority);
            if summary.sent.is_empty() {
                summary.sent = vec![Sent::default(); end.sent.len()];
            }
            summary.sent.iter_mut().zip(&end.sent).for_each(|(sent, more)| sent.add(more));
            if let Some(switches) = end.involuntary_switches {
                *summary.involuntary_switches.get_or_insert(0) += switches;
            }
            for (origin, spread) in summary.origins.iter_mut().zip(&end.spreads) {
                origin.spread.add(spread);
            }
            for (origin, by_address) in summary.origins.iter_mut().zip(end.by_address) {
                for (address, count) in by_address {
                    origin.by_address.entry(address.to_string()).or_default().add(&count);
                }
            }
        }
        Ok(summary)
    }
}
