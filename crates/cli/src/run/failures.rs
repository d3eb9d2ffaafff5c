//! `--keep-failures`: the first requests to fail in each way, with their answers and without their secrets.

use super::requests::requests;
use crate::args::run::RunArgs;
use crate::errors::refuse;
use crate::observe::{End, Observer};
use crate::output;
use crate::request::version::{Operations, Version};
use crate::secrets::{Known, MASK};
use crate::shown::{self, Length, Made, captures, drawn, expected, expected_of_message};
use anyhow::Result;
use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use unblink_artifact::codes::NamedCodes;
use unblink_artifact::exchange::{KeptFailure, TriedCondition, TriedMessage, TriedOutcome, TriedRequest};
use unblink_artifact::folder::FailureWriter;
use unblink_artifact::tally::Tally;
use unblink_core::plan::Plan;
use unblink_core::record::{FailedArrival, Interval, Then};
use unblink_core::time::Nanos;
use unblink_engine::failed::{Echo, Failed};
use unblink_engine::job::Job;
use unblink_engine::pacing::Pacing;
use unblink_engine::preflight::{PreflightError, Tried};
use unblink_engine::walk::Walk;
use unblink_wire::Limits;
use unblink_wire::http1::Http1;
use unblink_wire::protocol::Reply;
use unblink_workload::Globals;
use unblink_workload::answer::{Captured, Coding, Expect};

/// The kind of those that took too long.
const TIMED_OUT: &str = "timed_out";

/// What must be known of a run's requests to show those that fail.
pub(crate) struct Showing {
    each: u32,
    /// In HTTP/1.1, which has the words for it. What is taken from answers beside the load is masked.
    job: Job<Http1>,
    /// What is sent and is no HTTP.
    other: Option<Version>,
    globals: Option<Arc<Globals>>,
}

/// Nothing where none are kept. What is taken from answers beside the load is in `globals`.
pub(super) fn prepare(args: &RunArgs, plan: &Plan, globals: Option<Arc<Globals>>) -> Result<Option<Showing>> {
    let Some(each) = args.keep_failures else { return Ok(None) };
    if args.targets.as_deref() == Some(Path::new("-")) {
        refuse!(
            ["keep-failures", "targets"],
            "--keep-failures reads the requests a second time, and standard input is read once: give --targets a file"
        );
    }
    let mut requests = requests(args, Version::One)?;
    let values = requests.values(plan, args.load.seed)?;
    if let Some(values) = &values {
        let captured = 0..values.lets().captured_count() as u32;
        values.globals().set(&captured.map(|number| (number, MASK.into())).collect::<Vec<_>>());
    }
    let expects = requests.expects();
    let Operations::One(operations) = requests.operations else { unreachable!("asked for in HTTP/1.1") };
    let job = Job {
        plan: plan.clone(),
        targets: Vec::new(),
        operations,
        values,
        script: None,
        expects,
        settings: Limits::default(),
        connection_age: None,
        pacing: Pacing::Frugal,
    };
    Ok(Some(Showing { each, job, other: args.other_than_http(), globals }))
}

impl Showing {
    /// How many of each kind.
    pub(super) fn each(&self) -> u32 {
        self.each
    }

    fn shown(&self, failed: &Failed, kind: String, name: String, codes: Option<&NamedCodes>) -> KeptFailure {
        let Failed { arrival: FailedArrival { arrival, attempts, .. }, at, answer, taken } = failed;
        let mut known = Known::of_variables();
        let globals = self.globals.iter().flat_map(|globals| globals.all());
        globals.chain(taken.iter().cloned()).for_each(|value| known.add_taken(&value));
        let expect = self.job.expects.of(arrival.operation);
        let brought = answer.as_ref().map(|echo| brought(expect, echo)).unwrap_or_default();
        brought.iter().flatten().for_each(|value| known.add_taken(value));
        let drawn = drawn(&self.job, arrival, &mut known);
        let sent = Walk::filled(&self.job, MASK.as_bytes()).composed(&self.job, arrival);
        let sent = sent.map(|bytes| match self.other {
            Some(Version::WebSocket) => shown::message(Length::Begun, &bytes, &mut known),
            Some(Version::Redis) => shown::command(Length::Begun, &bytes, &known),
            Some(Version::Postgres) => statement(&bytes, &known, unblink_wire::postgres::shown),
            Some(Version::Cql) => statement(&bytes, &known, unblink_wire::cql::shown),
            _ => shown::request(Length::Begun, &bytes, &Made::of(&self.job, arrival.operation), &mut known),
        });
        let mut notes = Vec::new();
        let told = answer.as_ref().map(|echo| {
            let mut body = &echo.body[..];
            if let Some(why) = why_left_out(expect, echo) {
                notes.push(why.to_string());
                body = &[];
            }
            let head = match self.other {
                Some(Version::WebSocket) => &b"message"[..],
                _ => &echo.head,
            };
            shown::answer(Length::Begun, head, (body, echo.body_bytes), &mut known)
        });
        let is_message = self.other == Some(Version::WebSocket);
        let mut expected =
            answer.as_ref().map(|echo| conditions(expect, echo, (codes, is_message))).unwrap_or_default();
        for found in expected.iter_mut().filter_map(|condition| condition.found.as_mut()) {
            *found = known.masked(found);
        }
        let is_whole = answer.as_ref().is_some_and(|echo| echo.status.is_some());
        let outcome = match () {
            () if *attempts == 0 => TriedOutcome::NotSent,
            () if is_whole => TriedOutcome::Unexpected,
            () => TriedOutcome::NoAnswer,
        };
        let unmet = expected.iter().find(|condition| condition.holds == Some(false));
        let why = match (kind == TIMED_OUT, outcome) {
            (true, TriedOutcome::NotSent) => Some("it could not be sent in time".to_string()),
            (true, TriedOutcome::Unexpected) => Some("its answer came after the timeout".to_string()),
            (true, _) => Some("no whole answer came within the timeout".to_string()),
            (false, _) => unmet.map(|unmet| {
                let found = unmet.found.as_ref().map(|found| format!(" ({found})"));
                format!("{} does not hold{}", unmet.condition, found.unwrap_or_default())
            }),
        };
        let request = TriedRequest {
            name,
            arrival: Some(arrival.index),
            outcome,
            why,
            notes,
            drawn,
            sent,
            answer: told,
            took_ns: None,
            captures: captures(&expect.captures, &brought, Some("the answer failed")),
            expected,
        };
        let response_ns = at.0.saturating_sub(arrival.intended.0);
        KeptFailure { kind, at_ns: at.0, response_ns, attempts: *attempts, request }
    }
}

/// A statement without its literals, which may be secrets.
fn statement(bytes: &[u8], known: &Known, shown: fn(&str) -> String) -> TriedMessage {
    let whole = shown::command(Length::Begun, bytes, known);
    TriedMessage { line: shown(&whole.line), ..whole }
}

/// What the answer has of the values that are to be taken from it; nothing where all of it would be needed.
fn brought(expect: &Expect, echo: &Echo) -> Vec<Result<Vec<u8>, String>> {
    let mut decoded = Vec::new();
    let body = Coding::of(&echo.head).decode(&echo.body, &mut decoded);
    let is_whole = echo.status.is_some() && is_all_kept(echo);
    let one = |Captured { capture, .. }: &Captured| {
        let mut value = Vec::new();
        let body = match &body {
            Ok(body) if is_whole => *body,
            _ if capture.reads_body() => return Err("not all of its body is kept".to_string()),
            _ => &[],
        };
        let is_there = capture.take(&echo.head, body, &mut value);
        is_there.then_some(value).ok_or_else(|| "the answer does not have it".to_string())
    };
    expect.captures.iter().map(one).collect()
}

fn is_all_kept(echo: &Echo) -> bool {
    echo.body.len() as u64 >= echo.body_bytes
}

/// Why its body is not shown, if a secret in it might not be known.
fn why_left_out(expect: &Expect, echo: &Echo) -> Option<&'static str> {
    let is_whole = echo.status.is_some() && is_all_kept(echo);
    let is_taken_from = expect.captures.iter().any(|captured| captured.capture.reads_body());
    match () {
        () if is_whole || echo.body.is_empty() => None,
        () if is_taken_from => {
            Some("its body is left out: values are taken from it, and not all of it is kept")
        }
        () if Coding::of(&echo.head) != Coding::Plain => {
            Some("its body is left out: it is compressed, and not all of it is kept")
        }
        () => None,
    }
}

/// Each condition on the answer, and whether it holds. `codes` are those of the protocol, where they have names.
fn conditions(
    expect: &Expect,
    echo: &Echo,
    (codes, is_message): (Option<&NamedCodes>, bool),
) -> Vec<TriedCondition> {
    let Echo { status, head, body, body_bytes } = echo.clone();
    let tried = Tried {
        sent: Vec::new(),
        head,
        body,
        told: Vec::new(),
        reply: status.map(|code| Reply { code, body_bytes, reusable: false }),
        took: Nanos::ZERO,
        room: None,
        then: Then::Done,
        result: Err(PreflightError::Answer { answer: String::new(), reason: String::new() }),
    };
    let mut all = match is_message {
        true => expected_of_message(expect, &tried),
        false => expected(expect, &tried, codes),
    };
    if !is_all_kept(echo) {
        // The run had more of it than there is now.
        let untold = all.iter_mut().filter(|condition| condition.holds.is_none());
        untold.for_each(|condition| condition.found = Some("not all of the body is kept".into()));
    }
    all
}

/// Keeps failed requests as they come.
pub(super) struct Keeping<'a> {
    showing: &'a Showing,
    writer: FailureWriter,
    failed: Receiver<Failed>,
    kept: HashMap<String, u32>,
}

impl<'a> Keeping<'a> {
    /// What `failed` gives goes into the run's folder.
    pub(super) fn new(showing: &'a Showing, folder: &Path, failed: Receiver<Failed>) -> Option<Keeping<'a>> {
        let writer = FailureWriter::create(folder);
        let writer = writer.map_err(|error| output::note(format_args!("warning: {error}"))).ok()?;
        Some(Keeping { showing, writer, failed, kept: HashMap::new() })
    }
}

impl Observer for Keeping<'_> {
    fn look(&mut self, _: &Interval, tally: &mut Tally) -> Option<End> {
        let mut all: Vec<Failed> = self.failed.try_iter().collect();
        all.sort_by_key(|failed| failed.at);
        for failed in all {
            let header = tally.header();
            let kind = failed.arrival.kind;
            let kind = kind.map_or(TIMED_OUT.into(), |kind| header.failure_code(kind.index()));
            // Each worker keeps as many.
            let kept = self.kept.entry(kind.clone()).or_default();
            if *kept < self.showing.each {
                *kept += 1;
                let name = header.target_name(failed.arrival.arrival.operation as usize);
                let shown = self.showing.shown(&failed, kind, name, header.codes.as_ref());
                self.writer.write(&shown);
                tally.keep_failure(shown);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_with_names_are_told_by_them_and_the_first_is_whole() {
        let names = ["ok", "nil", "ERR"].map(String::from).to_vec();
        let codes = NamedCodes { protocol: "redis".into(), names, successes: 2 };
        let of = |status| {
            conditions(&Expect::new(&[]), &Echo { status, ..Echo::default() }, (Some(&codes), false))
        };
        for (status, holds) in
            [(Some(0), Some(true)), (Some(1), Some(true)), (Some(2), Some(false)), (None, None)]
        {
            let all = of(status);
            assert_eq!((all.len(), all[0].condition.as_str(), all[0].holds), (1, "status=ok|nil", holds));
        }
    }
}
