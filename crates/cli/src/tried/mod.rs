//! `unblink try`: everything that a run asks, sent once and shown.

mod again;
mod curl;
mod failures;
mod trying;
mod which;

pub(crate) use again::again;
pub(crate) use failures::failures;

use crate::args::run::RunArgs;
use crate::args::tried::TryArgs;
use crate::errors::refuse;
use crate::request::version::HttpArg;
use crate::run::{Prepared, prepare};
use crate::{exit, output};
use anyhow::Result;
use std::path::Path;
use trying::Trying;
use unblink_artifact::tried::{TRY_SCHEMA, TriedJourney, TriedOutcome, TryDocument};
use which::Once;

/// Sends what `args` ask for once. Gives the exit code.
pub(crate) fn tried(args: &TryArgs) -> Result<u8> {
    if args.arrival.is_some() && args.run.target.script.script.is_some() {
        refuse!(
            ["arrival"],
            "--arrival: a script makes the requests one after the other: leave it out to see the first of them"
        );
    }
    if crate::journey::requests(&args.run.journeys).any(|step| step.parts.socket.is_some()) {
        refuse!(
            ["connect"],
            "try sends each request on a connection of its own, and steps over a WebSocket need the one that a step before them \
             has opened: send a few journeys with run -n instead"
        );
    }
    if args.run.share.start_at.is_some() {
        refuse!(
            ["start-at", "share"],
            "--start-at and --share are about a run: leave them out, try sends each request once"
        );
    }
    let prepared = prepare(&args.run)?;
    let (all, left_out) = match args.arrival {
        Some(number) => (vec![which::of_arrival(prepared.job.plan(), number)?], 0),
        None => which::all(prepared.job.plan()),
    };
    let setup_is_text = prepared.setup.as_ref().is_none_or(|setup| setup.http1().is_some());
    let as_text = match prepared.job.http1().filter(|_| setup_is_text) {
        Some(_) => None,
        None => Some(prepared_as_text(&args.run)?),
    };
    let mut trying = Trying::new(&prepared, as_text.as_ref().unwrap_or(&prepared));
    let mut document = TryDocument {
        schema: TRY_SCHEMA.into(),
        protocol: prepared.job.protocol(),
        as_expected: true,
        setup: trying.setup(),
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

/// What is sent in another version is shown as HTTP/1.1 writes it.
fn prepared_as_text(args: &RunArgs) -> Result<Prepared> {
    if args.targets.as_deref() == Some(Path::new("-")) {
        refuse!(
            ["targets"],
            "--targets -: what is sent in HTTP/2 is read a second time to be shown, and standard input is read once: give a \
             file"
        );
    }
    prepare(&in_http1(args.clone()))
}

/// The same in HTTP/1.1.
fn in_http1(mut args: RunArgs) -> RunArgs {
    args.target.http = HttpArg::One;
    args.target.streams = None;
    args.target.as_text = true;
    args
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
