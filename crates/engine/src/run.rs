//! A run from the outside: start it, take an interval a second, stop it, see how it ended.

use crate::addresses::AddressCounts;
use crate::awake::Awake;
use crate::clock::{Clock, WallTime};
use crate::job::Job;
use crate::pacing::Pacing;
use crate::priority::{Background, Priority};
use crate::worker::{Channels, Worker, WorkerEnd};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use unblink_core::dispatch::Pool;
use unblink_core::load::Load;
use unblink_core::record::{Bank, Handed, Interval, Merger};
use unblink_core::time::{Instant, Nanos};

/// From "all workers are ready" to the schedule's zero.
const LEAD: Nanos = Nanos::from_millis(50);
/// From the user's wish to stop to the end of the schedule: every worker has heard of it by then.
const STOP_LEAD: Nanos = Nanos::from_millis(20);
/// Banks that a worker has in turn: one being filled, one full, one to spare.
const SPARE_BANKS: usize = 2;

/// Why a run can't go on.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The system refused something that every run needs.
    #[error("can't set up a worker thread: {0} (fewer threads, -t, need fewer file descriptors)")]
    Setup(Errno),
    /// A thread could not be started.
    #[error("can't start a worker thread: {0}")]
    Thread(std::io::Error),
    /// A defect.
    #[error(
        "worker {0} stopped unexpectedly; the run's folder holds what was recorded until the last interval"
    )]
    WorkerLost(usize),
}

/// Ends a run early, from any thread.
#[derive(Debug)]
pub struct Controls {
    clock: Clock,
    stop_at: AtomicU64,
    aborted: AtomicBool,
    wakers: Vec<OwnedFd>,
}

impl Controls {
    /// Lets nothing fall due from now on; what is under way is waited for. True unless somebody was first.
    pub fn stop(&self) -> bool {
        let at = (self.clock.now() + STOP_LEAD).0;
        let is_first =
            self.stop_at.compare_exchange(u64::MAX, at, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        self.wake();
        is_first
    }

    /// Ends at once, with what was recorded.
    pub fn abort(&self) {
        self.stop();
        // Whoever sees this sees the stop too.
        self.aborted.store(true, Ordering::Release);
        self.wake();
    }

    pub(crate) fn stop_at(&self) -> Option<Instant> {
        match self.stop_at.load(Ordering::Relaxed) {
            u64::MAX => None,
            at => Some(Instant(at)),
        }
    }

    pub(crate) fn is_aborted(&self) -> bool {
        self.aborted.load(Ordering::Acquire)
    }

    pub(crate) fn wake_fd(&self, worker: usize) -> &OwnedFd {
        &self.wakers[worker]
    }

    fn wake(&self) {
        for waker in &self.wakers {
            let _ = rustix::io::write(waker, &1u64.to_ne_bytes());
        }
    }
}

/// Where workers wait for each other before the start.
pub(crate) struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
}

struct GateState {
    /// A worker could not be set up.
    refused: Option<Errno>,
    ready: usize,
    start: Option<Instant>,
    cancelled: bool,
}

impl Gate {
    /// The worker is ready. Returns when all are: the schedule's zero, or nothing if there is no run.
    pub(crate) fn ready_and_wait(&self) -> Option<Instant> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.ready += 1;
        self.changed.notify_all();
        while state.start.is_none() && !state.cancelled {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.start
    }

    /// The worker can't be set up: there will be no run.
    fn refuse(&self, errno: Errno) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.refused.get_or_insert(errno);
        self.changed.notify_all();
    }

    /// Opens once every worker is ready; `lost` names one that has ended instead.
    fn open_when_ready(
        &self,
        workers: usize,
        clock: &Clock,
        lost: impl Fn() -> Option<usize>,
    ) -> Result<Instant, EngineError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.ready < workers {
            let failure = match state.refused {
                Some(errno) => Some(EngineError::Setup(errno)),
                None => lost().map(EngineError::WorkerLost),
            };
            if let Some(failure) = failure {
                state.cancelled = true;
                self.changed.notify_all();
                return Err(failure);
            }
            let patience = std::time::Duration::from_millis(100);
            (state, _) = self.changed.wait_timeout(state, patience).unwrap_or_else(PoisonError::into_inner);
        }
        let start = clock.now() + LEAD;
        state.start = Some(start);
        self.changed.notify_all();
        Ok(start)
    }
}

/// How a run ended, beside what its intervals say.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// Set when the user ended it: nothing fell due from here on, after the schedule's zero.
    pub stopped_at: Option<Nanos>,
    /// What was under way was not waited for.
    pub aborted: bool,
    /// The last `ok` arrival, after the schedule's zero.
    pub last_ok: Option<Nanos>,
    /// What came of the attempts to connect, by address.
    pub by_address: BTreeMap<String, AddressCounts>,
    /// Involuntary context switches of the workers.
    pub involuntary_switches: Option<u64>,
    /// At which priority the workers ran; of several, the one that fell furthest short of what was asked for.
    pub priority: Priority,
    /// No processor slept while it went on; `None`: that was not asked for.
    pub kept_awake: Option<bool>,
}

/// A run that is under way.
pub struct Running {
    job: Arc<Job>,
    clock: Clock,
    start: Instant,
    controls: Arc<Controls>,
    workers: Vec<JoinHandle<WorkerEnd>>,
    full: Receiver<Handed>,
    empty: Vec<Sender<Box<Bank<u32>>>>,
    merger: Merger,
    /// Asked for, and granted.
    awake: Option<Option<Awake>>,
    /// Of the thread that takes the intervals.
    _background: Background,
}

/// Starts the workers, opens fixed pools, and sets the schedule's zero.
pub fn start(job: Job) -> Result<Running, EngineError> {
    let clock = Clock::start();
    // Before the workers learn how late they wake up.
    let awake = (job.pacing == Pacing::Precise).then(Awake::keep);
    let job = Arc::new(job);
    let threads = job.plan.threads() as usize;
    let operations = job.plan.operations_apart();
    let wakers = (0..threads).map(|_| eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC));
    let controls = Arc::new(Controls {
        clock,
        stop_at: AtomicU64::new(u64::MAX),
        aborted: AtomicBool::new(false),
        wakers: wakers.collect::<Result<_, _>>().map_err(EngineError::Setup)?,
    });
    let (Pool::Auto { max } | Pool::Fixed { n: max }) = job.plan.spec().pool;
    crate::limits::make_room(&controls.wakers[0], u64::from(max));
    let state = GateState { refused: None, ready: 0, start: None, cancelled: false };
    let gate = Arc::new(Gate { state: Mutex::new(state), changed: Condvar::new() });
    let (full_in, full) = sync_channel(threads * (SPARE_BANKS + 2));
    let mut empty = Vec::new();
    let mut workers = Vec::new();
    for number in 0..threads {
        let (spare_in, spare) = channel();
        for _ in 0..SPARE_BANKS {
            let _ = spare_in.send(Box::new(Bank::new(operations)));
        }
        empty.push(spare_in);
        let channels = Channels { full: full_in.clone(), empty: spare };
        workers.push(spawn(number, &job, clock, &controls, &gate, channels)?);
    }
    drop::<SyncSender<Handed>>(full_in);
    let lost = || workers.iter().position(JoinHandle::is_finished);
    let start = gate.open_when_ready(threads, &clock, lost).inspect_err(|_| controls.abort())?;
    Ok(Running {
        job,
        clock,
        start,
        controls,
        workers,
        full,
        empty,
        merger: Merger::new(threads, operations),
        awake,
        // Behind the workers, which have the policy of the thread that starts them.
        _background: Background::begin(),
    })
}

fn spawn(
    number: usize,
    job: &Arc<Job>,
    clock: Clock,
    controls: &Arc<Controls>,
    gate: &Arc<Gate>,
    channels: Channels,
) -> Result<JoinHandle<WorkerEnd>, EngineError> {
    let (job, controls, gate) = (job.clone(), controls.clone(), gate.clone());
    let builder = std::thread::Builder::new().name(format!("unblink-{number}"));
    let life = move || {
        let shard = number as u32;
        let plan = job.plan.clone();
        if plan.schedule().is_some() {
            live(number, job, clock, controls, &gate, channels, |at| plan.open_load(at, shard))
        } else {
            live(number, job, clock, controls, &gate, channels, |at| plan.closed_load(at, shard))
        }
    };
    builder.spawn(life).map_err(EngineError::Thread)
}

fn live<L: Load>(
    number: usize,
    job: Arc<Job>,
    clock: Clock,
    controls: Arc<Controls>,
    gate: &Gate,
    channels: Channels,
    load: impl FnOnce(Instant) -> Option<L>,
) -> WorkerEnd {
    let bank = Box::new(Bank::new(job.plan.operations_apart()));
    let worker = match Worker::new(number, job, clock, controls, channels, bank) {
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

    /// Wall-clock time of the schedule's zero.
    pub fn started_at(&self) -> WallTime {
        self.clock.wall(self.start)
    }

    /// Waits for the next interval, a second's as a rule. `None` when the run has ended.
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
        let aborted = self.controls.is_aborted();
        let kept_awake = self.awake.as_ref().map(Option::is_some);
        let mut summary = Summary { stopped_at, aborted, kept_awake, ..Summary::default() };
        for (number, worker) in self.workers.into_iter().enumerate() {
            let end = worker.join().map_err(|_| EngineError::WorkerLost(number))?;
            summary.last_ok = summary.last_ok.max(end.last_ok);
            summary.priority = summary.priority.max(end.priority);
            if let Some(switches) = end.involuntary_switches {
                *summary.involuntary_switches.get_or_insert(0) += switches;
            }
            for (address, count) in self.job.target.addresses.iter().zip(end.by_address) {
                summary.by_address.entry(address.to_string()).or_default().add(&count);
            }
        }
        Ok(summary)
    }
}
