//! Listens to a coordinator while it leads, and shows what goes on.

use super::causes::{by_guard, cause};
use super::local::Local;
use super::together::Together;
use super::unseen::Unseen;
use crate::clock::OwnTime;
use crate::observe::End;
use crate::signals::Interruptions;
use crate::{live, output};
use anyhow::{Result, bail};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;
use unblink_artifact::document::{Aborted, GuardKind};
use unblink_cluster::bus::{CoordinatorBus, Record, Told};
use unblink_cluster::coordinator::FleetOutcome;
use unblink_cluster::message::{AgentId, Cause};
use unblink_core::time::Nanos;
use unblink_report::format;

const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A second comes half a second after its end; what is so much older is late. By then an agent that is silent is lost, and nobody
/// waits for it.
const BEHIND_MAX: Nanos = Nanos::from_secs(8);

/// What is listened to, and who may end it.
pub(super) struct Watching<'a, 'e> {
    pub bus: &'a CoordinatorBus,
    pub told: &'a Receiver<Told>,
    pub interruptions: &'a Interruptions,
    pub local: Option<&'a mut Local>,
    pub shown: Shown,
    pub together: Together<'e>,
}

/// What is shown while it goes on.
pub(super) struct Shown {
    pub time: OwnTime,
    /// The load lasts for so long.
    pub load: u64,
    pub count: u32,
    pub quiet: bool,
}

/// What came of it.
pub(super) struct Seen {
    pub outcome: FleetOutcome,
    /// Folders of the records, each with the agent whose it is.
    pub folders: Vec<(AgentId, PathBuf)>,
    pub notes: Vec<String>,
    /// The rule that has held for the figures of all, if one has.
    pub rule: Option<String>,
}

/// Listens until all is over.
pub(super) fn watched(watching: Watching<'_, '_>) -> Result<Seen> {
    let Watching { bus, told, interruptions, mut local, shown, mut together } = watching;
    let (mut notes, mut is_stopping, mut is_behind, mut rule) = (Vec::new(), false, false, None);
    let (mut unseen, mut broken, mut is_interrupted) = (Unseen::default(), None, false);
    loop {
        // Also where a rule was first, which waits for journeys to end.
        if !is_interrupted && !interruptions.wait(Duration::ZERO) {
            (is_interrupted, is_stopping) = (true, true);
            bus.interrupt("interrupted".into());
        }
        match told.recv_timeout(LOOK_EVERY) {
            Ok(Told::Note(note)) => {
                if !shown.quiet {
                    output::clear_live();
                    output::note(format_args!("{note}"));
                }
                notes.push(note);
            }
            Ok(Told::Progress { start_at, stop_at, due, ok, heard, records, again }) => {
                together.ends_at(after_start(start_at, stop_at));
                // Nobody takes the place of one that was started here.
                if start_at.is_none()
                    && !is_stopping
                    && let Some((number, said)) = local.as_mut().and_then(|local| local.gone())
                {
                    is_stopping = true;
                    let why = format!("agent {number} of those that were started here has ended: {said}");
                    bus.stop(Cause::Coordinator, why);
                }
                if let Some(end) = together.look(&records) {
                    rule = rule.or(rule_of(&end));
                    is_stopping = true;
                    let (cause, why) = cause(end);
                    bus.stop(cause, why);
                }
                let is_awaited = heard > 0 && together.waits() && shown.is_under_way(start_at);
                let now = Duration::from_nanos(shown.time.now());
                if unseen.look(now, is_awaited, together.until(), due, again) && !is_stopping {
                    is_stopping = true;
                    let why = why_unseen(broken.as_deref());
                    output::clear_live();
                    output::note(format_args!("stopping all agents: {why}"));
                    notes.push(why.clone());
                    bus.stop(by_guard(GuardKind::Record), why);
                }
                shown.progress(start_at, due, ok, heard, together.has_begun());
                let behind = shown.behind(start_at, together.until());
                if !is_behind && !is_stopping && behind > BEHIND_MAX {
                    let behind = format::plain(&format::moment(behind.0));
                    let note = format!(
                        "the bus is behind: records of the last {behind} have not come, and rules wait for them"
                    );
                    output::clear_live();
                    output::note(format_args!("warning: {note}"));
                    notes.push(note);
                    is_behind = true;
                }
                is_behind &= behind.0 > BEHIND_MAX.0 / 2;
            }
            Ok(Told::Broken(what)) => {
                // What can't be kept comes again and again.
                if !notes.contains(&what) {
                    output::clear_live();
                    output::note(format_args!("warning: {what}"));
                    notes.push(what.clone());
                }
                broken = Some(what);
            }
            Ok(Told::Done(outcome, folders)) => {
                let records = folders.iter().map(|(_, dir)| Record { dir: Some(dir.clone()), is_over: true });
                let last = together.look(&records.collect::<Vec<_>>());
                rule = rule.or_else(|| rule_of(&last?));
                output::clear_live();
                return Ok(Seen { outcome, folders, notes, rule });
            }
            Err(RecvTimeoutError::Timeout) => {
                if !is_stopping && local.as_mut().is_some_and(|local| local.all_gone()) {
                    is_stopping = true;
                    bus.interrupt("the agents have ended".into());
                }
            }
            Err(RecvTimeoutError::Disconnected) => bail!("the bus has gone"),
        }
    }
}

/// When that is after t = 0.
fn after_start(start_at: Option<u64>, at: Option<u64>) -> Option<Nanos> {
    Some(Nanos(at?.saturating_sub(start_at?)))
}

/// Why a load is ended of which no figures come.
fn why_unseen(broken: Option<&str>) -> String {
    let why = broken.map(|why| format!(": {why}")).unwrap_or_default();
    format!("no figures have come for 15 s, so no rule or budget sees the load{why}")
}

/// The rule that calls for it.
fn rule_of(end: &End) -> Option<String> {
    match end {
        End::Aborted(Aborted { rule, guard: None, .. }) => Some(rule.clone()),
        _ => None,
    }
}

impl Shown {
    /// Load may fall due.
    fn is_under_way(&self, start_at: Option<u64>) -> bool {
        let gone = start_at.and_then(|start_at| self.time.now().checked_sub(start_at));
        gone.is_some_and(|gone| gone < self.load)
    }

    /// How much of the load is over of which no record has come.
    fn behind(&self, start_at: Option<u64>, until: Option<Nanos>) -> Nanos {
        let gone = start_at.map_or(0, |start_at| self.time.now().saturating_sub(start_at)).min(self.load);
        Nanos(gone.saturating_sub(until.unwrap_or_default().0))
    }

    /// While a load is under way whose figures come in, these are shown instead.
    fn progress(&self, start_at: Option<u64>, due: u64, ok: u64, heard: usize, has_figures: bool) {
        if self.quiet || !std::io::stderr().is_terminal() {
            return;
        }
        let now = self.time.now();
        let when = match start_at {
            None => return,
            Some(start_at) if now < start_at => format!("starting in {}", format::moment(start_at - now)),
            Some(start_at) if now - start_at < self.load && has_figures => return,
            Some(start_at) if now - start_at < self.load => live::left(Nanos(self.load - (now - start_at))),
            Some(_) => "waiting for records".to_string(),
        };
        let line = format!(
            "{heard} of {} agents  due {}  ok {}  {when}",
            self.count,
            format::count(due),
            format::count(ok)
        );
        output::show_live(&format::plain(&line));
    }
}
