//! `unblink try`: everything that a run asks, sent once and shown.

mod again;
mod curl;
mod shown;
mod which;

pub(crate) use again::again;

use crate::args::tried::TryArgs;
use crate::run::preflight::told_if_slow;
use crate::run::{Prepared, prepare};
use crate::secrets::Known;
use crate::{exit, output};
use anyhow::{Context, Result};
use std::time::Duration;
use unblink_artifact::tried::{
    TRY_SCHEMA, TriedCapture, TriedCondition, TriedJourney, TriedOutcome, TriedRequest, TryDocument,
};
use unblink_core::arrival::Arrival;
use unblink_core::failure::FailureKind;
use unblink_core::time::Instant;
use unblink_engine::job::Job;
use unblink_engine::preflight::{PreflightError, Tried, composed, not_of_the_run, once_for};
use unblink_engine::setup::{AskedOnce, Setup};
use unblink_wire::http1::Http1;
use unblink_workload::answer::{Condition, Expect, Unmet};
use unblink_workload::{Composer, Composition, Values};
use which::{Ask, Once};

/// Sends what `args` ask for once. Gives the exit code.
pub(crate) fn tried(args: &TryArgs) -> Result<u8> {
    let prepared = prepare(&args.run)?;
    let (all, left_out) = match args.arrival {
        Some(number) => (vec![which::of_arrival(prepared.job.plan(), number)?], 0),
        None => which::all(prepared.job.plan()),
    };
    let mut trying = Trying::new(&prepared)?;
    let mut document = TryDocument {
        schema: TRY_SCHEMA.into(),
        as_expected: true,
        setup: trying.setup(&prepared),
        requests: Vec::new(),
        journeys: Vec::new(),
        left_out,
    };
    for once in all {
        match once {
            Once::Alone(ask) => document.requests.push(trying.alone(&ask)),
            Once::Journey { number, steps } => {
                let name = prepared.header.journeys.get(number).map(|journey| journey.name.clone());
                let steps = trying.journey(&steps);
                document.journeys.push(TriedJourney { name: name.unwrap_or_default(), steps });
            }
        }
    }
    let code = code(&document);
    document.as_expected = code == exit::OK;
    match args.run.exports.json {
        true => output::print_json(&document)?,
        false => output::print(&unblink_report::tried::render(&document))?,
    }
    Ok(code)
}

/// Requests are shown as HTTP/1.1 writes them.
fn http1(prepared: &Prepared) -> Result<&Job<Http1>> {
    prepared.job.http1().context("requests are shown in HTTP/1.1 only so far: leave --http out")
}

fn code(document: &TryDocument) -> u8 {
    let steps = document.journeys.iter().flat_map(|journey| &journey.steps);
    let all = document.setup.iter().chain(&document.requests).chain(steps);
    let has = |outcomes: &[TriedOutcome]| all.clone().any(|one| outcomes.contains(&one.outcome));
    match () {
        () if has(&[TriedOutcome::Unexpected, TriedOutcome::NoAnswer]) => exit::FAILED,
        () if has(&[TriedOutcome::NotSent]) => exit::INVALID,
        () => exit::OK,
    }
}

/// What is asked, and what is known of it so far.
struct Trying<'a> {
    job: &'a Job<Http1>,
    names: Vec<String>,
    known: Known,
    /// By the number of a value that is taken from an answer: it was.
    taken: Vec<bool>,
    timeout: Duration,
}

impl Trying<'_> {
    fn new(prepared: &Prepared) -> Result<Trying<'_>> {
        let job = http1(prepared)?;
        let setup = prepared.setup.as_ref().and_then(|asked| asked.setup());
        let captured = setup.and_then(|setup| setup.job.values.as_ref());
        let captured = captured.or(job.values.as_ref()).map_or(0, |values| values.lets().captured_count());
        Ok(Trying {
            job,
            names: prepared.header.targets.iter().map(|target| target.name.clone()).collect(),
            known: Known::of_variables(),
            taken: vec![false; captured],
            timeout: Duration::from_nanos(job.plan.spec().timeout.0),
        })
    }

    fn name(&self, operation: u32) -> String {
        let numbered = || format!("target {}", operation + 1);
        self.names.get(operation as usize).cloned().unwrap_or_else(numbered)
    }

    /// Asks what the plan asks before its load. What follows on what did not come is not asked.
    fn setup(&mut self, prepared: &Prepared) -> Vec<TriedRequest> {
        let Some(asked) = &prepared.setup else { return Vec::new() };
        let Some(setup) = asked.setup() else { return Vec::new() };
        let names = asked.names().iter().enumerate();
        names.map(|(number, name)| self.one_of_setup(setup, number, name)).collect()
    }

    fn one_of_setup(&mut self, setup: &Setup<Http1>, number: usize, name: &str) -> TriedRequest {
        let ask =
            Ask { arrival: not_of_the_run(number as u32), number: None, notes: Vec::new(), is_timed: true };
        let job = &setup.job;
        if let Some(why) = self.lacks(job, number as u32) {
            return not_sent(name, &ask, why);
        }
        let asked = told_if_slow(|| setup.ask_and_tell(number), name, setup.timeout);
        let Some(AskedOnce { tried, taken }) = asked else { return not_sent(name, &ask, NO_ROW.into()) };
        for value in taken.iter().flatten() {
            self.known.add(&String::from_utf8_lossy(value));
        }
        let is_whole = !taken.is_empty() && taken.iter().all(Result::is_ok);
        let captures = setup.captures[number].iter().enumerate().map(|(place, captured)| {
            if let Some(is_taken) = self.taken.get_mut(captured.number as usize) {
                *is_taken |= is_whole;
            }
            let value = taken.get(place);
            TriedCapture {
                name: captured.name.clone(),
                is_taken: is_whole,
                bytes: value.and_then(|value| Some(value.as_ref().ok()?.len() as u64)),
                why: value.and_then(|value| value.as_ref().err().cloned()),
            }
        });
        let captures: Vec<TriedCapture> = captures.collect();
        let mut told = self.told(job, name, &ask, &tried);
        if told.outcome == TriedOutcome::AsExpected && !is_whole && !captures.is_empty() {
            told.outcome = TriedOutcome::Unexpected;
            told.why = captures.iter().find_map(|capture| capture.why.clone());
        }
        TriedRequest { captures, ..told }
    }

    /// Sends a request that needs no other.
    fn alone(&mut self, ask: &Ask) -> TriedRequest {
        let (job, name) = (self.job, self.name(ask.arrival.operation));
        if let Some(why) = self.lacks(job, ask.arrival.operation) {
            return not_sent(&name, ask, why);
        }
        match told_if_slow(|| once_for(job, &ask.arrival, self.timeout), &name, self.timeout) {
            Some(tried) => self.told(job, &name, ask, &tried),
            None => not_sent(&name, ask, NO_ROW.into()),
        }
    }

    /// Sends one after the other, as long as the answers are as they must be.
    fn journey(&mut self, steps: &[Ask]) -> Vec<TriedRequest> {
        let mut is_over = false;
        let each = steps.iter().map(|ask| {
            let told = match is_over {
                true => {
                    let why = "a step before it was not answered as it must be, and there the journey ends";
                    not_sent(&self.name(ask.arrival.operation), ask, why.into())
                }
                false => self.alone(ask),
            };
            is_over = told.outcome != TriedOutcome::AsExpected;
            told
        });
        each.collect()
    }

    /// What an arrival of a run that is over sent.
    fn drawn_again(&mut self, ask: &Ask) -> TriedRequest {
        let (job, name) = (self.job, self.name(ask.arrival.operation));
        let Some(sent) = composed(job, &ask.arrival) else { return not_sent(&name, ask, NO_ROW.into()) };
        let mut told = not_sent(&name, ask, "it is only drawn again".into());
        let takes = |values: &Values| {
            values.composition(ask.arrival.operation).is_some_and(|one| one.captured().next().is_some())
        };
        told.notes = notes(job, ask);
        if job.values.as_ref().is_some_and(takes) {
            told.notes.push("what was taken from answers is not kept: *** stands for it".into());
        }
        TriedRequest {
            drawn: self.drawn(job, &ask.arrival),
            sent: Some(shown::request(&sent, &mut self.known)),
            ..told
        }
    }

    /// What is not there that a request needs.
    fn lacks(&self, job: &Job<Http1>, operation: u32) -> Option<String> {
        let values = job.values.as_ref()?;
        let mut needed = values.composition(operation).into_iter().flat_map(Composition::captured);
        let missing = needed.find(|&number| self.taken.get(number as usize) == Some(&false))?;
        let name = values.lets().captured_name(missing).unwrap_or_default();
        Some(format!("{{{{{name}}}}} was not taken from an answer before it"))
    }

    /// All that is to be said of a request that was sent.
    fn told(&mut self, job: &Job<Http1>, name: &str, ask: &Ask, tried: &Tried) -> TriedRequest {
        let arrival = &ask.arrival;
        let not_written = || composed(job, arrival).unwrap_or_default();
        let sent = if tried.sent.is_empty() { not_written() } else { tried.sent.clone() };
        let sent = shown::request(&sent, &mut self.known);
        let body_bytes = tried.reply.map_or(tried.body.len() as u64, |reply| reply.body_bytes);
        let answer = (!tried.head.is_empty())
            .then(|| shown::answer(&tried.head, &tried.body, body_bytes, &mut self.known));
        let (outcome, why) = match &tried.result {
            Ok(()) => (TriedOutcome::AsExpected, None),
            Err(PreflightError::Answer { reason, .. }) => (TriedOutcome::Unexpected, Some(reason.clone())),
            Err(other) => (TriedOutcome::NoAnswer, Some(other.to_string())),
        };
        TriedRequest {
            name: name.to_string(),
            arrival: ask.number,
            outcome,
            why: why.map(|why| self.known.masked(&why)),
            notes: notes(job, ask),
            drawn: self.drawn(job, arrival),
            sent: Some(sent),
            answer,
            took_ns: Some(tried.took.0),
            expected: expected(job.expects.of(arrival.operation), tried),
            captures: Vec::new(),
        }
    }

    /// The named values of an arrival.
    fn drawn(&self, job: &Job<Http1>, arrival: &Arrival) -> Vec<unblink_artifact::tried::NamedValue> {
        let Some(values) = &job.values else { return Vec::new() };
        let mut composer = Composer::new(values, &job.plan);
        composer.draw(values, &job.plan, arrival, Instant(0));
        composer.drawn(values).map(|(name, value)| shown::value(&name, &value, &self.known)).collect()
    }
}

/// What is to be known of what an arrival sends.
fn notes(job: &Job<Http1>, ask: &Ask) -> Vec<String> {
    let mut notes = ask.notes.clone();
    let Some(values) = &job.values else { return notes };
    if values.goes_by_time(ask.arrival.operation) && !ask.is_timed {
        notes.push(
            "when the run sends it follows from the answers before it: its time is that of the first".into(),
        );
    }
    if values.draws_anew(ask.arrival.operation) {
        notes.push("{{uuid}} is another in each run, because no --seed is given".into());
    }
    notes
}

/// Why nothing was sent.
const NO_ROW: &str = "no row is left for it: its rows are taken once";

fn not_sent(name: &str, ask: &Ask, why: String) -> TriedRequest {
    TriedRequest {
        name: name.to_string(),
        arrival: ask.number,
        outcome: TriedOutcome::NotSent,
        why: Some(why),
        notes: ask.notes.clone(),
        drawn: Vec::new(),
        sent: None,
        answer: None,
        took_ns: None,
        expected: Vec::new(),
        captures: Vec::new(),
    }
}

/// Each condition on an answer, and whether it holds.
fn expected(expect: &Expect, tried: &Tried) -> Vec<TriedCondition> {
    let mut all = Vec::new();
    if expect.statuses.is_empty() {
        let holds = tried.reply.map(|reply| FailureKind::of_status(reply.code).is_none());
        all.push(TriedCondition { condition: "status=200..399".into(), holds, found: None });
    }
    for condition in expect.conditions() {
        let (holds, found) = match (tried.reply, &tried.result) {
            (None, _) => (None, None),
            (Some(_), Ok(())) => (Some(true), None),
            (Some(reply), Err(_)) => {
                let alone = Expect::new(std::slice::from_ref(&condition));
                match alone.unmet(reply.code, &tried.head, reply.body_bytes, &tried.body) {
                    None => (Some(true), None),
                    // What is not kept may have it.
                    Some(_) if is_of_body(&condition) && reply.body_bytes > tried.body.len() as u64 => {
                        (None, Some("the body is too large to be looked at".to_string()))
                    }
                    Some(Unmet::Body(why)) => (None, Some(why.to_string())),
                    Some(Unmet::Condition { found, .. }) => (Some(false), Some(found)),
                    // A condition takes nothing.
                    Some(Unmet::Capture { .. }) => (Some(true), None),
                }
            }
        };
        all.push(TriedCondition { condition: condition.to_string(), holds, found });
    }
    all
}

fn is_of_body(condition: &Condition) -> bool {
    matches!(condition, Condition::Contains(_) | Condition::Regex(_) | Condition::Json(..))
}
