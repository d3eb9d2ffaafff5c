//! Steps of a journey that go over a WebSocket of its own: what opens it, what uses it, and what closes it.

use super::file::{PlanFile, Table, values_of};
use super::requests::{self, Address};
use super::source::Wrong;
use crate::errors;
use crate::journey::{Awaited, PlannedStep};
use crate::request::body::BodyFiles;
use crate::request::steps::SocketStep;
use crate::request::taking::Taking;
use crate::request::url::Url;
use crate::request::{Parts, Request};
use anyhow::{Error, Result};
use std::sync::Arc;
use unblink_workload::Lets;
use unblink_workload::answer::{Capture, Condition};

/// Fields of every step.
const OF_ALL: [&str; 3] = ["name", "think", "exit"];

/// The WebSocket that a journey has open.
#[derive(Clone)]
pub(super) struct Opened {
    url: Url,
    url_text: String,
}

impl Opened {
    /// Where the step of `table` connects to, as far as that can be said.
    pub(super) fn at(plan: &PlanFile, table: &Table, target: Option<&Address<'_>>) -> Option<Opened> {
        let text = values_of(&table.given, "connect").first()?;
        let address = requests::address(plan, text, text.raw.clone(), target, None).ok()?.over_ws();
        let url = address.parsed(plan).ok()?;
        Some(Opened { url, url_text: address.shown() })
    }
}

fn wrong(plan: &PlanFile, table: &Table, message: impl Into<String>) -> Error {
    plan.source.error_hiding(&Wrong::new(table.at.clone(), message), &plan.hidden)
}

/// What a step does over a WebSocket, if it does.
pub(super) fn kind(step: &PlannedStep) -> Option<SocketStep> {
    match () {
        () if step.connect.is_some() => Some(SocketStep::Connect),
        () if step.own.message.is_some() => Some(SocketStep::Send { awaits: !step.awaits.is_empty() }),
        () if !step.awaits.is_empty() => Some(SocketStep::Await),
        () if step.close => Some(SocketStep::Close),
        () => None,
    }
}

/// What such a step does, for a message about it, and the fields that it may have beside those of every step.
fn about(kind: SocketStep) -> (&'static str, &'static [&'static str]) {
    match kind {
        SocketStep::Connect => {
            ("opens a WebSocket", &["connect", "header", "name-requests", "traceparent", "capture"])
        }
        SocketStep::Send { awaits: true } => (
            "sends a message and awaits its answer",
            &["message", "await", "repeat", "chance", "expect", "capture"],
        ),
        SocketStep::Send { awaits: false } => {
            ("sends a message and awaits nothing (await says for what)", &["message", "repeat", "chance"])
        }
        SocketStep::Await => ("awaits a message", &["await", "repeat", "chance", "expect", "capture"]),
        SocketStep::Close => ("closes the WebSocket", &["close"]),
    }
}

/// What is wrong with the fields of such a step, whatever they say.
pub(super) fn check(
    plan: &PlanFile,
    table: &Table,
    kind: SocketStep,
    opened: Option<&Opened>,
) -> Result<(), Error> {
    let (does, allowed) = about(kind);
    let is_allowed = |name: &str| OF_ALL.contains(&name) || allowed.contains(&name);
    if let Some(given) = table.given.iter().find(|given| !is_allowed(&given.field.name)) {
        let name = &given.field.name;
        let message = match (name.as_str(), kind) {
            ("url", SocketStep::Connect) => "connect says where the WebSocket is: leave url out".to_string(),
            ("url", _) => {
                "a step over a WebSocket goes where its journey has connected: leave url out".to_string()
            }
            _ => format!("this step {does}: leave {name} out"),
        };
        return Err(match given.values.first() {
            Some(text) => plan.error(text, message),
            None => wrong(plan, table, message),
        });
    }
    let fault = match (kind, opened) {
        (SocketStep::Connect, Some(_)) => {
            Some("its journey has a WebSocket already: close that in a step before this one")
        }
        (SocketStep::Connect, None) => None,
        (_, None) => Some(
            "no WebSocket is open here: a step with connect must come before this one, and no close in between",
        ),
        (_, Some(_)) => None,
    };
    match fault {
        None => Ok(()),
        Some(fault) => Err(wrong(plan, table, fault)),
    }
}

/// What `step` asks, and the WebSocket that is open behind it.
pub(super) fn built(
    plan: &PlanFile,
    table: &Table,
    (kind, step): (SocketStep, PlannedStep),
    taking: Taking,
    name: String,
    (opened, target, lets): (Option<&Opened>, Option<&Address<'_>>, &Arc<Lets>),
    files: &mut BodyFiles,
) -> Result<(Request, Option<Opened>)> {
    check(plan, table, kind, opened)?;
    let at_fault = |field: &str, message: &str| match values_of(&table.given, field).first() {
        Some(text) => plan.error(text, message),
        None => wrong(plan, table, message),
    };
    let has_no_head =
        |one: &Condition| matches!(one, Condition::Statuses(_) | Condition::Codes(_) | Condition::Header(..));
    if let Some(one) = step.own.expect.iter().find(|one| has_no_head(one)) {
        return Err(at_fault("expect", &format!("{one}: a message has neither a status nor headers")));
    }
    for captured in &taking.captures {
        if kind == SocketStep::Connect && captured.capture.reads_body() {
            return Err(at_fault(
                "capture",
                "the answer to connect has headers alone: take this from a message, in a step with await",
            ));
        }
        if kind.is_answered() && matches!(captured.capture, Capture::Header(..)) {
            return Err(at_fault("capture", "a message has no headers: take it by json or regex"));
        }
    }
    let pointed = |error| plan.pointed(error, &table.given, |_| false);
    let mut parts = Parts::read(&step.own, files, |_| String::new()).map_err(pointed)?;
    (parts.taking, parts.socket) = (taking, Some(kind));
    let opened = match (kind, step.connect, opened) {
        (SocketStep::Connect, Some(url), _) => {
            let text = &values_of(&table.given, "connect")[0];
            let address = requests::address(plan, text, url, target, None)?.over_ws();
            let url = address.parsed(plan)?;
            if !url.origin.is_ws() {
                return Err(plan.error(text, "connect opens a WebSocket: write ws:// or wss://, or a path"));
            }
            Opened { url, url_text: address.shown() }
        }
        (_, _, Some(opened)) => opened.clone(),
        _ => return Err(wrong(plan, table, "no WebSocket is open here")),
    };
    let place = Some(format!("{}, line {}", plan.source.name, plan.source.line(table.at.start)));
    let Opened { url, url_text } = opened.clone();
    let (share, inserts, lets) = (None, false, lets.clone());
    let request = Request { url, url_text, parts, place, name: Some(name), share, inserts, lets };
    match request.render(crate::request::version::Version::Steps) {
        Ok(_) => Ok((request, Some(opened).filter(|_| kind != SocketStep::Close))),
        Err(error) if error.is::<errors::Refused>() => Err(pointed(error)),
        Err(error) => Err(at_fault("connect", &crate::explain_error(&error))),
    }
}

/// The conditions among them.
pub(super) fn conditions(plan: &PlanFile, table: &Table, awaits: &[Awaited]) -> Result<Vec<Condition>> {
    let of_one = |one: &Awaited| match one {
        Awaited::Any => None,
        Awaited::Like(condition) => Some(condition.clone()),
    };
    let all: Vec<Condition> = awaits.iter().filter_map(of_one).collect();
    let text = || &values_of(&table.given, "await")[0];
    if all.len() < awaits.len() && awaits.len() > 1 {
        return Err(plan.error(text(), "any accepts every message: leave the other conditions out, or any"));
    }
    match crate::expect::check(&all) {
        Ok(()) => Ok(all),
        Err(_) => {
            Err(plan.error(text(), "two conditions on the size, or two on the contents: give one of each"))
        }
    }
}
