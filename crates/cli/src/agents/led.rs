//! A run as the coordinator leads it: when it begins, what it says of itself, and when it must end.

use super::RECORD;
use super::causes::why_of;
use crate::clock::OwnTime;
use crate::exit;
use crate::observe::{End, Observer, Why};
use crate::run::guards::Stopper;
use crate::run::lead::{Begun, Lead};
use crate::script;
use crate::signals::Interruptions;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use unblink_artifact::document::{Aborted, ClockReading, GuardKind};
use unblink_artifact::tally::Tally;
use unblink_cluster::agent::{Action, Event, Left};
use unblink_cluster::bus::AgentBus;
use unblink_cluster::message::{Cause, Reading, Time};
use unblink_core::record::Interval;
use unblink_core::time::{Instant, Nanos};
use unblink_workload::script::Script;

/// For what an agent records to be written once nobody leads it any more: answers under way are waited for.
const WRITTEN_WITHIN: u32 = 1_200;
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The run never began, because nobody said so.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(super) struct NotBegun(String);

/// A run that the coordinator leads.
pub(super) struct Led<'a> {
    time: OwnTime,
    bus: &'a AgentBus,
    todo: &'a Receiver<Action>,
    stopping: &'a Arc<Stopping>,
    interruptions: &'a Interruptions,
    /// Where the record will be.
    pub folder: PathBuf,
    /// Of the run that is under way, if it has one.
    script: Option<Arc<Script>>,
    due: u64,
    ok: u64,
    /// Why its record is not whole.
    pub unwritten: Option<String>,
}

impl<'a> Led<'a> {
    pub(super) fn new(
        time: OwnTime,
        bus: &'a AgentBus,
        todo: &'a Receiver<Action>,
        stopping: &'a Arc<Stopping>,
        interruptions: &'a Interruptions,
    ) -> Led<'a> {
        let (folder, script, unwritten) = (PathBuf::new(), None, None);
        Led { time, bus, todo, stopping, interruptions, folder, script, due: 0, ok: 0, unwritten }
    }

    /// All of the record is in its folder, or there will be none.
    pub(super) fn recorded(&self) {
        self.stopping.lock().is_recorded = true;
    }

    /// Whoever leads it has ended the load so, and knows.
    pub(super) fn was_told(&self, by: &Aborted) -> bool {
        let is_that = |(why, rule): &(Why, String)| {
            by.guard.is_some_and(|guard| *why == Why::Guard(guard)) && *rule == by.rule
        };
        self.stopping.lock().ordered.iter().any(is_that)
    }

    /// What the user of the run should hear of it.
    pub(super) fn notes(&self) -> Vec<String> {
        self.script.as_deref().and_then(script::failed).into_iter().collect()
    }
}

impl Lead for Led<'_> {
    fn begin(&mut self) -> Result<Begun> {
        self.bus.tell(Event::Prepared(Ok(())));
        while let Ok(action) = self.todo.recv() {
            match action {
                Action::Begin { start_at, told, reading } => {
                    self.stopping.lock().start_at = Some(start_at);
                    // The others count on it from now on, and once the load is over its record is still to be fetched: it ends with
                    // that, and not with a last word.
                    self.interruptions.last_word(None);
                    self.interruptions
                        .defer("waiting until the record is fetched (Ctrl-C again to quit at once)");
                    let (at_monotonic_ns, told) = (self.time.monotonic_ns(start_at), OwnTime::told(told));
                    return Ok(Begun {
                        at_monotonic_ns,
                        told,
                        offset_ns: reading.offset_ns,
                        error_ns: reading.error_ns,
                    });
                }
                Action::Leave(Left::Because(why)) => {
                    return Err(NotBegun(format!("the run does not begin: {why}")).into());
                }
                _ => {}
            }
        }
        bail!("the bus has gone")
    }

    fn follow(&mut self, stopper: Stopper, start: Instant, script: Option<Arc<Script>>) {
        self.script = script;
        self.stopping.attach(stopper, start);
        self.bus.record(self.folder.clone(), &RECORD);
    }

    fn clock(&self) -> Option<ClockReading> {
        self.stopping.lock().clock
    }

    fn bus_behind(&self) -> Nanos {
        Nanos(self.bus.behind(self.time.now()))
    }

    fn unwritten(&mut self, why: String) {
        self.unwritten = Some(why);
    }
}

impl Observer for Led<'_> {
    fn look(&mut self, interval: &Interval, _: &mut Tally) -> Option<End> {
        let counters = &interval.bank.counters;
        for of in [&counters.measured, &counters.warmup] {
            self.due += of.due;
            self.ok += of.ok;
        }
        self.bus.tell(Event::Progress { due: self.due, ok: self.ok });
        // All are to end at one instant, so this agent alone ends nothing.
        if self.script.as_ref().is_some_and(|script| script.is_stopped()) {
            self.bus.tell(Event::AsksToStop);
        }
        None
    }
}

/// Ends the load when the coordinator says so or is not heard any more, from the bus's own thread.
pub(super) struct Stopping {
    time: OwnTime,
    inner: Mutex<Stop>,
}

#[derive(Default)]
struct Stop {
    start_at: Option<Time>,
    running: Option<(Stopper, Instant)>,
    /// As it was told last.
    lease_until: Option<Time>,
    /// What came before the load could be stopped, in its order.
    told: Vec<(Time, Why, String)>,
    /// What the coordinator has said.
    ordered: Vec<(Why, String)>,
    /// All of its record is in its folder.
    is_recorded: bool,
    /// How its clock compared with the coordinator's when that was looked at last.
    clock: Option<ClockReading>,
}

impl Stopping {
    pub(super) fn new(time: OwnTime) -> Stopping {
        Stopping { time, inner: Mutex::default() }
    }

    /// The run is over.
    pub(super) fn clear(&self) {
        *self.lock() = Stop::default();
    }

    /// The clocks were compared again, at this moment by the agent's own.
    pub(super) fn compared(&self, at: Time, reading: Reading) {
        let mut stop = self.lock();
        let Some(at_ns) = stop.start_at.and_then(|start_at| at.checked_sub(start_at)) else { return };
        let Reading { offset_ns, error_ns } = reading;
        stop.clock = Some(ClockReading { at_ns, offset_ns, error_ns });
    }

    /// So long the load may go on, as far as is known.
    pub(super) fn lease_until(&self, until: Time) {
        let mut stop = self.lock();
        stop.lease_until = Some(until);
        self.apply_lease(&stop);
    }

    /// The coordinator says so, or nobody does.
    pub(super) fn stop_by(&self, at: Time, cause: Cause, why: String) {
        let ordered = why_of(cause);
        self.lock().ordered.push((ordered, why.clone()));
        self.stop(at, ordered, why);
    }

    /// No bus keeps what is recorded: nobody sees the load any more.
    pub(super) fn unkept(&self, why: String) {
        self.stop(self.time.now(), Why::Guard(GuardKind::Record), why);
    }

    fn lock(&self) -> MutexGuard<'_, Stop> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn attach(&self, stopper: Stopper, start: Instant) {
        let mut stop = self.lock();
        stop.running = Some((stopper, start));
        self.apply_lease(&stop);
        for (at, why, rule) in std::mem::take(&mut stop.told) {
            self.apply(&stop, at, why, rule);
        }
    }

    fn stop(&self, at: Time, why: Why, rule: String) {
        let mut stop = self.lock();
        match &stop.running {
            Some(_) => self.apply(&stop, at, why, rule),
            None => stop.told.push((at, why, rule)),
        }
    }

    fn apply_lease(&self, stop: &Stop) {
        let Some(until) = stop.lease_until.and_then(|until| stop.instant(until)) else { return };
        if let Some((stopper, _)) = &stop.running {
            stopper.lease_until(until);
        }
    }

    fn apply(&self, stop: &Stop, at: Time, why: Why, rule: String) {
        let (Some((stopper, _)), Some(instant)) = (&stop.running, stop.instant(at)) else { return };
        if why == Why::Guard(GuardKind::Lease) {
            return stopper.end_lease();
        }
        let wait = Duration::from_nanos(at.saturating_sub(self.time.now()));
        stopper.stop_from(instant, wait, why, rule);
    }
}

impl Stop {
    /// When that is by the run's clock; its start, if it is before that.
    fn instant(&self, at: Time) -> Option<Instant> {
        let ((_, start), start_at) = (self.running.as_ref()?, self.start_at?);
        Some(*start + Nanos(at.saturating_sub(start_at)))
    }
}

/// An agent that was started beside its coordinator ends with it.
pub(super) fn leave_with_input(stopping: Arc<Stopping>) -> Result<()> {
    let life = move || {
        let _ = std::io::copy(&mut std::io::stdin().lock(), &mut std::io::sink());
        if stopping.lock().running.is_none() {
            std::process::exit(exit::INVALID.into());
        }
        stopping.stop(
            stopping.time.now(),
            Why::Guard(GuardKind::Coordinator),
            "the coordinator is gone".into(),
        );
        // Its record is written to its end, and stays where it is.
        for _ in 0..WRITTEN_WITHIN {
            if stopping.lock().is_recorded {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        std::process::exit(exit::INVALID.into());
    };
    let thread = std::thread::Builder::new().name("input".into()).spawn(life);
    thread.map(drop).context("can't watch standard input")
}
