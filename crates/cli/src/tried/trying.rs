//! Sending what a run asks, each once, and all that is to be said of it.

use super::which::Ask;
use crate::run::Prepared;
use crate::run::preflight::told_if_slow;
use crate::run::setup::Asked;
use crate::secrets::{Known, MASK};
use crate::shown::{self, Length, Made, awaited, captures, drawn, expected, expected_of_message};
use std::time::Duration;
use unblink_artifact::document::{Protocol, Scheme};
use unblink_artifact::tried::{TriedMessage, TriedOutcome, TriedRequest};
use unblink_core::journey::Paths;
use unblink_core::record::Then;
use unblink_engine::job::Job;
use unblink_engine::preflight::{AskedOnce, PreflightError, Tried, not_of_the_run};
use unblink_engine::setup::Setup;
use unblink_engine::walk::Walk;
use unblink_wire::http1::Http1;
use unblink_wire::{cql, postgres, redis};
use unblink_workload::answer::Captured;
use unblink_workload::{Composition, Values};

/// What is asked, and what is known of it so far.
pub(super) struct Trying<'a> {
    /// What is sent.
    sent: &'a Prepared,
    /// The same in HTTP/1.1, which has the words for it.
    shown: &'a Job<Http1>,
    setup_shown: Option<&'a Setup<Http1>>,
    names: Vec<String>,
    known: Known,
    /// By the number of a value that `[[setup]]` takes from an answer: it was.
    taken: Vec<bool>,
    timeout: Duration,
}

impl Trying<'_> {
    /// `shown` is `sent` in HTTP/1.1, or the same one.
    pub(super) fn new<'a>(sent: &'a Prepared, shown: &'a Prepared) -> Trying<'a> {
        let job = shown.job.http1().expect("it was prepared in HTTP/1.1");
        let setup_shown = shown.setup.as_ref().and_then(Asked::http1);
        let values = setup_shown.and_then(|setup| setup.job.values.as_ref()).or(job.values.as_ref());
        Trying {
            sent,
            shown: job,
            setup_shown,
            names: sent.header.targets.iter().map(|target| target.name.clone()).collect(),
            known: Known::of_variables(),
            taken: vec![false; values.map_or(0, |values| values.lets().captured_count())],
            timeout: Duration::from_nanos(job.plan.spec().timeout.0),
        }
    }

    fn name(&self, operation: u32) -> String {
        let numbered = || format!("target {}", operation + 1);
        self.names.get(operation as usize).cloned().unwrap_or_else(numbered)
    }

    /// Asks what the plan asks before its load. What follows on what did not come is not asked.
    pub(super) fn setup(&mut self) -> Vec<TriedRequest> {
        let (Some(asked), Some(shown)) = (&self.sent.setup, self.setup_shown) else { return Vec::new() };
        let names = asked.names().iter().enumerate();
        names.map(|(number, name)| self.one_of_setup((asked, shown), number, name)).collect()
    }

    fn one_of_setup(
        &mut self,
        (asked, shown): (&Asked, &Setup<Http1>),
        number: usize,
        name: &str,
    ) -> TriedRequest {
        let ask = Ask {
            arrival: not_of_the_run(number as u32),
            number: None,
            notes: Vec::new(),
            is_timed: true,
            is_skipped: false,
        };
        let job = &shown.job;
        if let Some(why) = self.lacks(job, number as u32) {
            return not_sent(name, &ask, why);
        }
        let as_text = Walk::new(job).composed(job, &ask.arrival);
        let (Some(AskedOnce { tried, taken }), Some(as_text)) = (asked.ask_and_tell(number), as_text) else {
            return not_sent(name, &ask, NO_ROW.into());
        };
        let all = &shown.captures[number];
        self.note_taken(all, &taken);
        let is_whole = taken.len() == all.len() && taken.iter().all(Result::is_ok);
        if is_whole {
            let numbers = all.iter().map(|captured| captured.number);
            let new: Vec<(u32, Vec<u8>)> = numbers.zip(taken.iter().flatten().cloned()).collect();
            new.iter().for_each(|(number, _)| self.taken[*number as usize] = true);
            // Those that are sent have it already.
            shown.globals.set(&new);
        }
        let unused = (!is_whole).then_some("another value lacks");
        let told = TriedRequest {
            captures: captures(all, &taken, unused),
            ..self.told(job, name, &ask, &tried, &as_text)
        };
        lacking(told, &taken)
    }

    /// Sends a request that stands alone.
    pub(super) fn alone(&mut self, ask: &Ask) -> TriedRequest {
        self.step(&mut Walk::new(self.shown), ask).0
    }

    /// Sends one after the other, as long as the answers are as they must be.
    pub(super) fn journey(&mut self, steps: &[Ask]) -> Vec<TriedRequest> {
        let (mut is_over, mut walk, mut all) = (false, Walk::new(self.shown), Vec::new());
        for ask in steps {
            match is_over {
                true => {
                    let why = "a step before it was not answered as it must be, and there the journey ends";
                    all.push(not_sent(&self.name(ask.arrival.operation), ask, why.into()));
                }
                false if ask.is_skipped => self.followed(&mut walk.clone(), ask, &mut all),
                false => self.followed(&mut walk, ask, &mut all),
            }
            is_over = all.last().is_some_and(|told| told.outcome != TriedOutcome::AsExpected);
        }
        all
    }

    /// Sends a request of a journey, and those that its redirects ask for.
    fn followed(&mut self, walk: &mut Walk, ask: &Ask, all: &mut Vec<TriedRequest>) {
        let (mut told, mut then) = self.step(walk, ask);
        let mut arrival = ask.arrival;
        let mut left = self.redirects_max(arrival.operation);
        while let Then::Redirected(operation) = then {
            if left == 0 {
                told.outcome = TriedOutcome::Unexpected;
                told.why = Some("it is one redirect more than the plan follows".into());
                break;
            }
            left -= 1;
            told.notes
                .push("it sends the journey on, and what was to be taken is in the answer there".into());
            all.push(told);
            arrival = arrival.following(arrival.key.step + 1, operation, arrival.intended);
            let (number, notes) = (None, vec!["this follows the redirect before it".into()]);
            let next = Ask { arrival, number, notes, is_timed: false, is_skipped: ask.is_skipped };
            (told, then) = self.step(walk, &next);
        }
        all.push(told);
    }

    /// How many redirects a request of this step follows.
    fn redirects_max(&self, operation: u32) -> u8 {
        let journeys = &self.shown.plan.spec().mix.journeys.each;
        let behind = (operation as usize).checked_sub(self.shown.plan.journeys().map_or(0, Paths::plain));
        let mut steps = journeys.iter().flat_map(|journey| &journey.steps);
        behind.and_then(|behind| steps.nth(behind)).map_or(0, |step| step.redirects.max)
    }

    /// Sends a request behind others of its journey. Gives what is to be said of it, and what follows.
    fn step(&mut self, walk: &mut Walk, ask: &Ask) -> (TriedRequest, Then) {
        let (job, operation) = (self.shown, ask.arrival.operation);
        let name = self.name(operation);
        if let Some(why) = self.lacks(job, operation).or_else(|| lacks_of(walk, job, operation)) {
            return (not_sent(&name, ask, why), Then::Done);
        }
        let as_text = walk.composed(job, &ask.arrival);
        let send = || self.sent.job.step(walk, &ask.arrival, self.timeout);
        let asked = told_if_slow(send, &name, self.timeout);
        let (Some(AskedOnce { tried, taken }), Some(as_text)) = (asked, as_text) else {
            return (not_sent(&name, ask, NO_ROW.into()), Then::Done);
        };
        if let Err(gone @ PreflightError::NotHeld) = &tried.result {
            let none = not_sent(&name, ask, gone.to_string());
            return (TriedRequest { outcome: TriedOutcome::NoAnswer, ..none }, Then::Done);
        }
        let expect = job.expects.of(operation);
        self.note_taken(&expect.captures, &taken);
        let lacks = tried.then != Then::NotYet && taken.iter().any(Result::is_err);
        let unused = match () {
            () if lacks => Some("another value lacks"),
            () if tried.result.is_err() => Some("the answer is not as it must be"),
            () if ask.is_skipped => Some("this journey would skip the step"),
            () => None,
        };
        let told = self.told(job, &name, ask, &tried, &as_text);
        let awaited = awaited(expect, &tried).map(|note| self.known.masked(&note));
        // An answer that sends the journey on is held against nothing, and nothing is taken from it.
        let is_sent_on = matches!(tried.then, Then::Redirected(_));
        let all_captures = if is_sent_on { &[][..] } else { &expect.captures };
        let told = TriedRequest {
            expected: if is_sent_on { Vec::new() } else { told.expected },
            captures: captures(all_captures, &taken, unused),
            notes: told.notes.iter().cloned().chain(awaited).collect(),
            ..told
        };
        (if lacks { lacking(told, &taken) } else { told }, tried.then)
    }

    /// What an arrival of a run that is over sent.
    pub(super) fn drawn_again(&mut self, ask: &Ask) -> TriedRequest {
        let (job, name) = (self.shown, self.name(ask.arrival.operation));
        let Some(sent) = Walk::filled(job, MASK.as_bytes()).composed(job, &ask.arrival) else {
            return not_sent(&name, ask, NO_ROW.into());
        };
        let mut told = TriedRequest {
            outcome: TriedOutcome::DrawnAgain,
            why: None,
            ..not_sent(&name, ask, String::new())
        };
        let takes = |values: &Values| {
            let composition = values.composition(ask.arrival.operation);
            composition.is_some_and(|one| one.captured().next().is_some() || !one.kept().is_empty())
        };
        told.notes = notes(job, ask);
        if job.values.as_ref().is_some_and(takes) {
            told.notes.push("what was taken from answers is not kept: *** stands for it".into());
        }
        // What is drawn tells of secrets, which the request has, too.
        let drawn = drawn(job, &ask.arrival, &mut self.known);
        TriedRequest {
            drawn,
            sent: Some(self.shown_request(None, &sent, &Made::of(job, ask.arrival.operation))),
            ..told
        }
    }

    /// A request, which is `as_text` in HTTP/1.1. Of that, a command of Redis, a statement of SQL or CQL and a message of a WebSocket are the body.
    fn shown_request(&mut self, setup: Option<&Asked>, as_text: &[u8], made: &Made) -> TriedMessage {
        let of_load = || self.sent.header.origins.iter().find_map(|origin| origin.name.scheme);
        match setup.map_or_else(of_load, |setup| setup.scheme()) {
            Some(Scheme::Redis | Scheme::Rediss | Scheme::Postgres | Scheme::Cql | Scheme::Cqls) => {
                shown::command(Length::Whole, as_text, &self.known)
            }
            Some(Scheme::Ws | Scheme::Wss) => shown::message(Length::Whole, as_text, &mut self.known),
            _ => shown::request(Length::Whole, as_text, made, &mut self.known),
        }
    }

    /// What was taken from an answer is shown nowhere. Cookies are told by the headers that they stand in.
    fn note_taken(&mut self, all: &[Captured], taken: &[Result<Vec<u8>, String>]) {
        for (captured, value) in all.iter().zip(taken) {
            if let Ok(value) = value
                && !captured.capture.adds()
            {
                self.known.add(&String::from_utf8_lossy(value));
            }
        }
    }

    /// What `[[setup]]` did not bring that a request needs.
    fn lacks(&self, job: &Job<Http1>, operation: u32) -> Option<String> {
        let values = job.values.as_ref()?;
        let mut needed = values.composition(operation).into_iter().flat_map(Composition::captured);
        let missing = needed.find(|&number| self.taken.get(number as usize) == Some(&false))?;
        Some(not_taken(values.lets().captured_name(missing)))
    }

    /// All that is to be said of a request that was sent, which is `as_text` in HTTP/1.1.
    fn told(
        &mut self,
        job: &Job<Http1>,
        name: &str,
        ask: &Ask,
        tried: &Tried,
        as_text: &[u8],
    ) -> TriedRequest {
        // What is drawn tells of secrets, which the request and its answer have, too.
        let drawn = drawn(job, &ask.arrival, &mut self.known);
        // [[setup]] has a job of its own.
        let is_of_load = std::ptr::eq(job, self.shown);
        let setup = self.sent.setup.as_ref().filter(|_| !is_of_load);
        let spoken = setup.map_or(self.sent.job.protocol(), Asked::protocol);
        // The very bytes, if they are text and were written.
        let in_http1 = match setup {
            Some(setup) => setup.http1().is_some(),
            None => self.sent.job.http1().is_some(),
        };
        let is_text = in_http1 && !tried.sent.is_empty();
        let made = Made::of(job, ask.arrival.operation);
        let sent = self.shown_request(setup, if is_text { &tried.sent } else { as_text }, &made);
        let body_bytes = tried.reply.map_or(tried.body.len() as u64, |reply| reply.body_bytes);
        let head = match (spoken, tried.reply) {
            (Protocol::WebSocket, Some(_)) => &b"message"[..],
            (Protocol::Redis, Some(reply)) => redis::code_name(reply.code).as_bytes(),
            (Protocol::Postgres, Some(reply)) => postgres::code_name(reply.code).as_bytes(),
            (Protocol::Cql, Some(reply)) => cql::code_name(reply.code).as_bytes(),
            _ => &tried.head,
        };
        let expects = if is_of_load { self.sent.job.expects() } else { &job.expects };
        let codes = match setup {
            Some(setup) => setup.codes().cloned(),
            None => self.sent.job.codes(),
        };
        let expect = expects.of(ask.arrival.operation);
        let mut text = Vec::new();
        // A message is shown as what it says.
        let read = expect.reader.as_ref().and_then(|reader| reader.read(&tried.body, &mut text).ok());
        let (body, body_bytes) = match read.filter(|_| body_bytes > 0) {
            Some(text) => (text, text.len() as u64),
            None => (&tried.body[..], body_bytes),
        };
        let answer = (!head.is_empty())
            .then(|| shown::answer(Length::Whole, head, (body, body_bytes), &mut self.known));
        let (outcome, why) = match &tried.result {
            Ok(()) => (TriedOutcome::AsExpected, None),
            Err(PreflightError::Answer { answer, reason }) => {
                let says_more =
                    [Protocol::Postgres, Protocol::Cql].contains(&spoken) && head != answer.as_bytes();
                let said = says_more.then(|| format!("it says \"{answer}\""));
                let reason = (!reason.is_empty()).then(|| reason.clone());
                let all: Vec<String> = said.into_iter().chain(reason).collect();
                (TriedOutcome::Unexpected, Some(all.join(": ")))
            }
            Err(other) => (TriedOutcome::NoAnswer, Some(other.to_string())),
        };
        TriedRequest {
            name: name.to_string(),
            arrival: ask.number,
            outcome,
            why: why.map(|why| self.known.masked(&why)),
            notes: notes(job, ask),
            drawn,
            sent: Some(sent),
            answer,
            took_ns: Some(tried.took.0),
            expected: match is_of_load && spoken == Protocol::WebSocket {
                true => expected_of_message(expect, tried),
                false => expected(expect, tried, codes.as_ref()),
            },
            captures: Vec::new(),
        }
    }
}

/// An answer that is as it must be but for a value that was to be taken from it.
fn lacking(told: TriedRequest, taken: &[Result<Vec<u8>, String>]) -> TriedRequest {
    match (told.outcome, taken.iter().find_map(|value| value.as_ref().err())) {
        (TriedOutcome::AsExpected, Some(why)) => {
            TriedRequest { outcome: TriedOutcome::Unexpected, why: Some(why.clone()), ..told }
        }
        _ => told,
    }
}

/// What the steps before did not bring that a request needs.
fn lacks_of(walk: &Walk, job: &Job<Http1>, operation: u32) -> Option<String> {
    let values = job.values.as_ref()?;
    Some(not_taken(values.lets().kept_name(walk.lacks(values, operation)?)))
}

fn not_taken(name: Option<&str>) -> String {
    format!("{{{{{}}}}} was not taken from an answer before it", name.unwrap_or_default())
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
    if values.traces(ask.arrival.operation) {
        notes.push("{{traceparent}} names another trace in each run".into());
    }
    if values.goes_by_inserts(ask.arrival.operation) {
        notes.push("it follows the inserts that have ended, which the run knows: here none has".into());
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
