//! What stops a load from outside of it: kill switches, budgets, and a name that leads to where no load may go. Kill switches
//! have threads of their own, so that they are heard within a second, whatever the workers do.

use super::alive::spawn;
use super::by_default::by_default;
use super::fired::Fired;
use super::kill_url;
use super::question::{How, Questions};
use super::spending::{Budgets, budget_here, cap_here, parts};
pub(crate) use super::spending::{Spending, errors_spent, requests_spent};
use super::way::Moved;
use crate::args::guards::GuardArgs;
use crate::args::run::RunArgs;
use crate::args::tls::TlsArgs;
use crate::errors::refused;
use crate::observe::Why;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::Duration;
use unblink_artifact::document::GuardKind;
use unblink_core::plan::{LoadSpec, Plan};
use unblink_core::schedule::{Rate, Schedule};
use unblink_core::time::{Instant, Nanos};
use unblink_engine::controls::Controls;
use unblink_engine::limits::Limits;
use unblink_report::format;

/// From one look at a file to the next.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// For a kill URL's answer before the load.
const FIRST_PATIENCE: Duration = Duration::from_secs(3);
/// What is under way when a kill switch stops journeys or retries is waited for so long: what would follow it is load, too.
const GRACE: Duration = Duration::from_millis(500);

/// What may stop a load.
pub(crate) struct Guards {
    kill_file: Option<PathBuf>,
    kill_url: Option<Questions>,
    budgets: Budgets,
    moved: Moved,
    /// Requests follow answers.
    has_followers: bool,
}

/// What `args` ask for, and what follows from `plan` and a `rate_cap` of all of it beside that of `args`.
pub(crate) fn prepare(
    args: &RunArgs,
    plan: &Plan,
    rate_cap: Option<Rate>,
    moved: Moved,
    limits: &Limits,
) -> Result<Guards> {
    let GuardArgs { kill_file, kill_url, budget_requests, budget_errors, budget_time } =
        args.target.guards.clone();
    let how = How { flag: "kill-url", headers: &[], body_bytes_max: None };
    let kill_url = kill_url.map(|url| Questions::new(args, &url, &[String::new()], &how, limits));
    // Requests that follow others stand in no schedule.
    let is_counted = plan.journeys().is_none() && plan.spec().retry.is_none();
    let schedule = plan.schedule().filter(|_| is_counted);
    let within = |end: &Nanos| *end < plan.load_length();
    let requests_end = budget_requests
        .zip(schedule)
        .map(|(n, schedule)| (Schedule::clone(schedule).with_limit(n).span(), n));
    let budgets = Budgets {
        requests: budget_here(args, plan, budget_requests).filter(|_| schedule.is_none()),
        errors: budget_errors,
        time: budget_time.filter(within),
        requests_end: requests_end.filter(|(end, _)| within(end)),
        rate_cap: cap_here(args, plan, rate_cap).filter(|_| !is_counted || is_by_user(plan)),
        parts: parts(plan),
        followers: match plan.journeys() {
            Some(_) => "journeys",
            None if is_by_user(plan) => "recorded users",
            None => "attempts",
        },
    };
    let kill_url = kill_url.transpose()?;
    let guards = Guards { kill_file, kill_url, budgets, moved, has_followers: !is_counted };
    guards.check_file()?;
    Ok(guards)
}

/// What stops a load that is no run's: no schedule says what falls due, so that a stop is followed by an end. Requests and
/// errors are counted by whoever sends them.
pub(crate) fn beside(args: &GuardArgs, tls: &TlsArgs, limits: &Limits) -> Result<Guards> {
    let how = How { flag: "kill-url", headers: &[], body_bytes_max: None };
    let ask = |url: &String| {
        let mut run = by_default(url)?;
        run.target.set_tls(tls);
        Questions::new(&run, url, &[String::new()], &how, limits)
    };
    let kill_url = args.kill_url.as_ref().map(ask).transpose()?;
    let budgets = Budgets { time: args.budget_time, ..Budgets::default() };
    let kill_file = args.kill_file.clone();
    let guards = Guards { kill_file, kill_url, budgets, moved: Moved::default(), has_followers: true };
    guards.check_file()?;
    Ok(guards)
}

/// How often recorded users ask follows from the answers.
fn is_by_user(plan: &Plan) -> bool {
    matches!(plan.spec().load, LoadSpec::RecordedUsers(_))
}

/// The guards of a run that is under way, for as long as this lives.
pub(crate) struct Watching {
    fired: Fired,
    /// Stops that were known beforehand, after the schedule's zero.
    planned: Vec<(Nanos, GuardKind, String)>,
    /// Requests follow answers, which goes on when nothing falls due any more.
    has_followers: bool,
    controls: Arc<Controls>,
    /// Their ends are what the threads wait for.
    _alive: Vec<Sender<()>>,
}

/// Stops a load from elsewhere.
#[derive(Clone)]
pub(crate) struct Stopper {
    fired: Fired,
    has_followers: bool,
    controls: Arc<Controls>,
}

impl Stopper {
    /// Lets nothing fall due from `at` on, or from now on if that has passed. Where a guard says so, what requests follow answers
    /// with is waited for only a moment, whatever had stopped the load before.
    pub(crate) fn stop_from(&self, at: Instant, wait: Duration, why: Why, rule: String) {
        self.fired.stop(|| self.controls.stop_from(at), why, rule);
        if matches!(why, Why::Guard(_)) {
            self.give_up_after(wait);
        }
    }

    /// Lets nothing be sent from `at` on, unless a later time is told before then.
    pub(crate) fn lease_until(&self, at: Instant) {
        self.controls.lease_until(at);
    }

    /// Lets nothing be sent any more.
    pub(crate) fn end_lease(&self) {
        self.controls.end_lease();
        self.give_up_after(Duration::ZERO);
    }

    /// What requests follow answers with is waited for only a moment after that.
    fn give_up_after(&self, wait: Duration) {
        if self.has_followers {
            let (fired, controls) = (self.fired.clone(), self.controls.clone());
            let life = move || {
                std::thread::sleep(wait + GRACE);
                fired.cut(|| controls.abort());
            };
            // Without a thread the answers under way are waited for, which the planned end bounds.
            let _ = std::thread::Builder::new().name("guard".into()).spawn(life);
        }
    }
}

impl Guards {
    /// Nothing stops the load before it has begun.
    ///
    /// # Errors
    /// A kill switch is set already.
    pub(crate) fn check(&self) -> Result<()> {
        self.check_file()?;
        if let Some(questions) = &self.kill_url {
            let url = questions.shown();
            questions.ask(0, FIRST_PATIENCE).map_err(|why| {
                refused(&["kill-url"], format!("--kill-url {url} does not say that load may begin: {why}"))
            })?;
        }
        Ok(())
    }

    fn check_file(&self) -> Result<()> {
        match &self.kill_file {
            Some(path) if path.exists() => Err(refused(
                &["kill-file"],
                format!(
                    "--kill-file {}: this file is there, so no load may begin; remove it first",
                    path.display()
                ),
            )),
            _ => Ok(()),
        }
    }

    /// Watches a load whose schedule begins at `start`, and stops it.
    pub(crate) fn watch(self, controls: Arc<Controls>, start: Instant) -> Result<(Watching, Spending)> {
        let Guards { kill_file, kill_url, budgets, moved, has_followers } = self;
        let mut planned = Vec::new();
        if let Some(time) = budgets.time {
            let rule = format!("--budget-time {} is over", format::plain(&format::duration(time.0)));
            planned.push((time, GuardKind::BudgetTime, rule));
        }
        if let Some((end, n)) = budgets.requests_end {
            planned.push((end, GuardKind::BudgetRequests, requests_spent(n)));
        }
        for (at, ..) in &planned {
            controls.stop_from(start + *at);
        }
        let (fired, _alive) = (Fired::default(), Vec::new());
        let mut watching = Watching { fired, planned, has_followers, controls, _alive };
        if has_followers && let Some(at) = watching.planned.iter().map(|(at, ..)| *at).min() {
            watching.end_after(Duration::from_nanos(at.0) + GRACE)?;
        }
        for (every, look) in looks(kill_file, moved, kill_url)? {
            watching.thread(every, look)?;
        }
        Ok((watching, Spending::new(budgets)))
    }

    /// Watches a load that others offer, and says `stop` once when it must end.
    pub(crate) fn watch_for(
        self,
        stop: impl Fn(GuardKind, String) + Clone + Send + 'static,
    ) -> Result<(Vec<Sender<()>>, Spending)> {
        let Guards { kill_file, kill_url, budgets, moved, .. } = self;
        let mut alive = Vec::new();
        for (every, mut look) in looks(kill_file, moved, kill_url)? {
            let stop = stop.clone();
            alive.push(spawn(move |ended| {
                while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                    if let Some((guard, rule)) = look() {
                        return stop(guard, rule);
                    }
                }
            })?);
        }
        Ok((alive, Spending::new(budgets)))
    }
}

type Look = Box<dyn FnMut() -> Option<(GuardKind, String)> + Send>;

/// What is to be looked at, and how often.
fn looks(
    kill_file: Option<PathBuf>,
    moved: Moved,
    kill_url: Option<Questions>,
) -> Result<Vec<(Duration, Look)>> {
    let file: Look = Box::new(move || switched(kill_file.as_deref(), &moved));
    let mut all = vec![(LOOK_EVERY, file)];
    if let Some(questions) = kill_url {
        let mut look = kill_url::looked_at(questions)?;
        all.push((kill_url::LOOK_EVERY, Box::new(move || Some((GuardKind::KillUrl, look()?)))));
    }
    Ok(all)
}

/// Why no more load may be sent, as far as a file and a name tell.
fn switched(kill_file: Option<&Path>, moved: &Moved) -> Option<(GuardKind, String)> {
    match kill_file.filter(|path| path.exists()) {
        Some(path) => Some((GuardKind::KillFile, format!("--kill-file {} exists", path.display()))),
        None => moved.get().map(|why| (GuardKind::Moved, why.clone())),
    }
}

impl Watching {
    /// What has stopped a load that was stopped then, after the schedule's zero, if one of them did.
    pub(crate) fn fired(&self, stopped_at: Option<Nanos>) -> Option<(Why, String)> {
        let planned = self.planned.iter().find(|(at, ..)| Some(*at) == stopped_at);
        self.fired.what().or(planned.map(|(_, kind, rule)| (Why::Guard(*kind), rule.clone())))
    }

    /// The load was withheld as a whole: its start had passed when all was ready, `late` after it.
    pub(crate) fn began_late(&self, late: Nanos) {
        let late = format::plain(&format::moment(late.0));
        let rule = format!("a machine was ready only {late} after the start");
        self.fired.stop(|| true, Why::Guard(GuardKind::LateStart), rule);
    }

    /// Whether answers are not waited for once a guard has stopped the load.
    pub(super) fn has_followers(&self) -> bool {
        self.has_followers
    }

    /// A guard has cut off what would go on by itself.
    pub(super) fn has_cut(&self) -> bool {
        self.fired.is_cut()
    }

    /// A guard that sees figures has fired: nothing goes on by itself.
    pub(super) fn cut(&self) {
        if self.has_followers {
            self.fired.cut(|| self.controls.abort());
        }
    }

    /// For who may stop the load from elsewhere.
    pub(super) fn stopper(&self) -> Stopper {
        let Watching { fired, has_followers, controls, .. } = self;
        Stopper { fired: fired.clone(), has_followers: *has_followers, controls: controls.clone() }
    }

    /// Looks every so often, until there is a reason to stop.
    fn thread(&mut self, every: Duration, mut look: Look) -> Result<()> {
        let (fired, controls, has_followers) =
            (self.fired.clone(), self.controls.clone(), self.has_followers);
        self.spawn(move |ended| {
            while ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let Some((guard, rule)) = look() else { continue };
                fired.stop(|| controls.stop(), Why::Guard(guard), rule);
                // Also where another one had stopped the load before, and journeys go on to their ends.
                if has_followers && ended.recv_timeout(GRACE) == Err(RecvTimeoutError::Timeout) {
                    fired.cut(|| controls.abort());
                }
                return;
            }
        })
    }

    /// Waits for no answer any longer, a while after a stop that was known beforehand.
    fn end_after(&mut self, wait: Duration) -> Result<()> {
        let (fired, controls) = (self.fired.clone(), self.controls.clone());
        self.spawn(move |ended| {
            if ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                fired.cut(|| controls.abort());
            }
        })
    }

    fn spawn(&mut self, life: impl FnOnce(Receiver<()>) + Send + 'static) -> Result<()> {
        self._alive.push(spawn(life)?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_a_name_are_switches() {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, moved) = (folder.path().join("kill"), Moved::default());
        assert_eq!(switched(Some(&path), &moved), None);
        moved.set("gone".into()).expect("once");
        assert_eq!(switched(None, &moved), Some((GuardKind::Moved, "gone".into())));
        std::fs::write(&path, "").expect("a file");
        assert!(switched(Some(&path), &moved).is_some_and(|(kind, _)| kind == GuardKind::KillFile));
    }
}
