//! `--cross-check-…`: the service's own metrics, held against what was measured. It is asked by a thread of its own, and nothing
//! that is measured waits for it.

mod rules;
mod service;
mod source;
mod told;
mod watched;

use crate::args::cross_check::CrossCheckArgs;
use crate::args::run::RunArgs;
use crate::errors::{refuse, refused, refused_value};
use crate::output;
use crate::signals::Interruptions;
use anyhow::{Context, Result};
use rules::{Rules, Stopping};
use service::Service;
use source::{Role, Source};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;
use unblink_artifact::document::{self, MetricsSource, WatchedMetric};
use unblink_core::record::Bank;
use unblink_core::time::Nanos;
use unblink_engine::clock::WallTime;
use unblink_engine::limits::Limits;
use unblink_metrics::selector::Selector;
pub(super) use watched::News;

/// For each answer before and behind the load.
const FIRST_PATIENCE: Duration = Duration::from_secs(5);
/// While it goes on.
const PATIENCE: Duration = Duration::from_secs(2);
/// From one round of questions to the next; shorter where something is watched.
const EVERY: Duration = Duration::from_secs(5);
const WATCH_EVERY: Duration = Duration::from_secs(1);
/// Metrics that are watched at the most: each has a picture.
const WATCHED_MAX: usize = 8;
/// Parsing answers may use at most one part in this many of a processor.
const SHARE: u32 = 10;
/// How long to wait for a sample that a Prometheus server took after the load. Most take one at least every minute.
const WAIT_MAX: Duration = Duration::from_secs(90);
/// A page may be asked again so often until it has counted what was answered last, with this in between.
const AGAIN_MAX: u32 = 8;
const AGAIN_AFTER: Duration = Duration::from_millis(250);

/// What is asked of whom.
pub(crate) struct CrossCheck {
    source: Source,
    service: Service,
    rules: Rules,
    /// When the load ends, after which there is nothing to stop.
    load_to: Nanos,
}

/// What can be wrong with `args` without asking anybody.
pub(super) fn check(args: &RunArgs) -> Result<()> {
    rules(args).map(drop)
}

/// The rules of `args`, if they say whom to ask.
fn rules(args: &RunArgs) -> Result<Option<Rules>> {
    let asked = &args.cross_check;
    let (places, rules): (Vec<_>, Vec<_>) = args.metric_rules().into_iter().unzip();
    let first = asked.asked().next();
    let Some(source) = asked.source() else {
        let whom = "add --cross-check-prometheus URL, or --cross-check-scrape URL";
        if let Some(flag) = first {
            refuse!([flag], "--{flag} needs to know whom to ask: {whom}");
        }
        if let (Some(place), Some(rule)) = (places.first(), rules.first()) {
            let why = format!("--abort-on {:?} needs to know whom to ask: {whom}", rule.to_string());
            return Err(refused_value("abort-on", *place, why));
        }
        return Ok(None);
    };
    if first.is_none() && rules.is_empty() {
        refuse!(
            [source.0],
            "--{}: nothing is asked for: add --cross-check-latency, --cross-check-requests, --cross-check-errors or --cross-check-watch \
             with a metric",
            source.0
        );
    }
    if asked.cross_check_watch.len() > WATCHED_MAX {
        let n = asked.cross_check_watch.len();
        refuse!(
            ["cross-check-watch"],
            "--cross-check-watch: {n} metrics are to be watched; {WATCHED_MAX} can be"
        );
    }
    let rules = Rules::new(rules, source.2).map_err(|(number, why)| {
        let why = format!("--abort-on: of a page one metric is looked at, and no query is answered: {why}");
        refused_value("abort-on", places[number], why)
    })?;
    Ok(Some(rules))
}

/// The same, ready to be asked.
pub(super) fn prepare(args: &RunArgs, load_to: Nanos, limits: &Limits) -> Result<Option<CrossCheck>> {
    let (Some(rules), Some(source)) = (rules(args)?, args.cross_check.source()) else { return Ok(None) };
    let metrics = metrics(&args.cross_check);
    let queries: Vec<String> = args.metric_rules().into_iter().map(|(_, rule)| rule.query).collect();
    let source = Source::new(args, source, &metrics, &queries, limits)?;
    Ok(Some(CrossCheck { source, service: Service::new(&metrics), rules, load_to }))
}

fn metrics(args: &CrossCheckArgs) -> Vec<(Role, Selector)> {
    let all = [
        (Role::Latency, &args.cross_check_latency),
        (Role::Requests, &args.cross_check_requests),
        (Role::Errors, &args.cross_check_errors),
    ];
    let watched = (0..).map(Role::Watch).zip(args.cross_check_watch.iter().cloned());
    all.into_iter().filter_map(|(role, selector)| Some((role, selector.clone()?))).chain(watched).collect()
}

impl CrossCheck {
    /// Asks for the first time. What comes from now on is of the load.
    ///
    /// # Errors
    /// There is no answer, or not what is asked for.
    pub(super) fn begin(&mut self) -> Result<()> {
        let flag = if self.source.is_prometheus() { "cross-check-prometheus" } else { "cross-check-scrape" };
        let at = format!("--{flag} {}", self.source.shown());
        let answers = self.source.ask(true, FIRST_PATIENCE);
        if let Some(why) = answers.iter().find_map(|answer| answer.as_ref().err()) {
            return Err(refused(&[flag], format!("{at}: {why}")));
        }
        self.service.take(&answers);
        let seen: Vec<_> = answers.into_iter().flatten().collect();
        let like = |name: &str| {
            let like = self.source.like(name, &seen, FIRST_PATIENCE).join(", ");
            if like.is_empty() { String::new() } else { format!("; there are {like}") }
        };
        let mut unknown = Vec::new();
        for (flag, selector) in self.service.unseen() {
            let why = format!("it has no {selector}{}", like(&selector.name));
            // Many a service has no series of errors before the first one.
            if flag != "cross-check-errors" {
                return Err(refused(
                    &[flag],
                    format!(
                        "--{flag}: {at}: {why} (a service may have it only once it has answered something)"
                    ),
                ));
            }
            unknown.push(why);
        }
        let samples = || seen.iter().flat_map(|answered| &answered.samples).flat_map(|(_, samples)| samples);
        let is_there = |selector: &Selector| {
            samples().any(|sample| sample.name == selector.name && selector.is_met_by(&sample.labels))
        };
        if let Some(selector) = self.rules.metrics().find(|selector| !is_there(selector)) {
            let why = format!("--abort-on: {at}: it has no {selector}{}", like(&selector.name));
            return Err(refused(&["abort-on"], why));
        }
        if let Some(problem) = self.service.first_problem() {
            return Err(refused(&[flag], format!("{at}: {problem}")));
        }
        seen.iter().for_each(|answered| self.rules.take(&answered.samples, &answered.kinds));
        self.rules
            .judge(&self.source, true, FIRST_PATIENCE)
            .map_err(|why| refused(&["abort-on"], format!("--abort-on {why}")))?;
        self.service.begin();
        self.service.unknown = unknown;
        Ok(())
    }

    /// What is watched over time, and where what is new of it can be had.
    pub(super) fn watched(&self) -> (Vec<WatchedMetric>, News) {
        (self.service.watched.plan(), self.service.watched.news.clone())
    }

    /// Who ends the load once a rule has held for its time.
    pub(super) fn stopping(&self) -> Option<Stopping> {
        let is_needed = !self.rules.is_empty();
        is_needed.then(|| Stopping { fired: self.rules.fired(), load_to: self.load_to })
    }

    /// Asks every few seconds, until the end.
    pub(super) fn watch(self) -> Result<Watching> {
        let (alive, ended) = channel::<()>();
        let CrossCheck { source, mut service, mut rules, load_to } = self;
        let life = move || {
            let is_slow = service.watched.is_empty() && rules.is_empty();
            let every = if is_slow { EVERY } else { WATCH_EVERY };
            let mut wait = every;
            while ended.recv_timeout(wait) == Err(RecvTimeoutError::Timeout) {
                let before = source.now();
                let answers = source.ask(false, PATIENCE);
                let is_answered = service.take(&answers);
                answers.iter().flatten().for_each(|answered| rules.take(&answered.samples, &answered.kinds));
                if let Err(why) = rules.judge(&source, is_answered, PATIENCE) {
                    service.problem(format!("a rule could not be judged: {why}"));
                }
                wait = every.max((source.now() - before) * SHARE);
            }
            CrossCheck { source, service, rules, load_to }
        };
        let thread = std::thread::Builder::new().name("cross-check".into()).spawn(life);
        Ok(Watching { thread: thread.context("can't ask for the service's own metrics")?, alive })
    }
}

/// The questions of a run that is under way.
pub(super) struct Watching {
    thread: JoinHandle<CrossCheck>,
    alive: Sender<()>,
}

impl Watching {
    /// Asks for the last time, once the load has drained. `beside` are requests that no account of the load has.
    pub(super) fn end(
        self,
        bank: &Bank<u64>,
        beside: u64,
        started_at: WallTime,
        interruptions: &Interruptions,
    ) -> Option<document::CrossCheck> {
        drop(self.alive);
        let CrossCheck { source, mut service, .. } = self.thread.join().ok()?;
        let own = told::Own::of(bank, beside);
        let is_whole = match source.is_prometheus() {
            true => last_samples(&source, &mut service, interruptions),
            false => last_page(&source, &mut service, own.requests(0).0),
        };
        let asked = if source.is_prometheus() { 0 } else { service.asked };
        Some(told::document(
            if source.is_prometheus() { MetricsSource::Prometheus } else { MetricsSource::Scrape },
            source.shown().to_string(),
            service,
            is_whole.then_some((own, asked)),
            started_at,
        ))
    }
}

/// Asks until the page has counted what was answered last.
fn last_page(source: &Source, service: &mut Service, answered: u64) -> bool {
    let mut is_answered = false;
    for again in 0..AGAIN_MAX {
        if again > 0 {
            std::thread::sleep(AGAIN_AFTER);
        }
        is_answered = service.take(&source.ask(false, FIRST_PATIENCE));
        if is_answered && service.requests().is_none_or(|(_, there)| there >= answered) {
            break;
        }
    }
    if !is_answered {
        service.problem(
            "the last question, after the load, was not answered: what was counted since is missing".into(),
        );
    }
    is_answered
}

/// Waits for a sample of each series from behind the load.
fn last_samples(source: &Source, service: &mut Service, interruptions: &Interruptions) -> bool {
    let began = source.now();
    let mut is_told = false;
    let mut until = None;
    loop {
        if until.is_none() {
            until = source.time(FIRST_PATIENCE).ok();
            until.into_iter().for_each(|until| service.end_at(until));
        }
        let is_answered = service.take(&source.ask(false, FIRST_PATIENCE));
        if until.is_some() && is_answered && service.is_over() {
            return true;
        }
        let waited = source.now() - began;
        if waited >= WAIT_MAX || !interruptions.wait(Duration::from_secs(1)) {
            let problem = format!(
                "no sample from after the load came within {} s: what was counted last is missing",
                waited.as_secs()
            );
            service.problem(problem);
            return false;
        }
        if !std::mem::replace(&mut is_told, true) {
            output::note(format_args!(
                "waiting for up to {} s for a sample of the service's metrics from after the load",
                WAIT_MAX.as_secs()
            ));
        }
    }
}
