//! One arrival of a recorded run, drawn again. The record has no drawn values: the run's command is read again, with the plan
//! and the files that it names.

use super::which::{self, Ask};
use super::{Trying, curl, in_http1};
use crate::args::Command;
use crate::args::history::ShowArgs;
use crate::args::run::RunArgs;
use crate::run::{Prepared, prepare};
use crate::secrets::MASK;
use crate::{exit, history, inputs, output, plan};
use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use std::ffi::OsString;
use std::sync::Arc;
use unblink_artifact::document::{Protocol, RunDocument};
use unblink_artifact::tried::{TRY_SCHEMA, TryDocument};

/// What is said of a run, and nothing of what it sends: values of these may be masked in the record.
const LEFT_OUT: [&str; 6] = ["--expect", "--slo", "--abort-on", "--output", "--tag", "-o"];
/// What a request needs, and what is masked in the record: always, and where it may be a secret.
const MASKED: [&str; 4] = ["--body", "--data", "--message", "--let"];

/// `unblink show RUN --arrival N`. Gives the exit code.
pub(crate) fn again(args: &ShowArgs, number: u64) -> Result<u8> {
    let document = history::document(args)?;
    let (run, has_seed) = command(&document)?;
    let mut run = run;
    if run.target.script.script.is_some() {
        bail!(
            "the requests of this run were made by a script, which can't be told to make one of them again"
        );
    }
    if has_seed {
        repeatable(&mut run);
    }
    let protocol = protocol(&document);
    let prepared = prepare(&in_http1(run)).context("the run's command can't be read again")?;
    check_same(&prepared, &document)?;
    if let Some(values) = prepared.job.values() {
        let captured = 0..values.lets().captured_count() as u32;
        values.globals().set(&captured.map(|number| (number, MASK.into())).collect::<Vec<_>>());
    }
    let ask = which::one(prepared.job.plan(), number)?;
    match args.curl {
        true => output::print(&curl::command(&prepared, &ask, protocol)?)?,
        false => show(&prepared, &ask, protocol, args.json)?,
    }
    if document.tool != prepared.header.tool {
        output::note(format_args!(
            "note: the run was recorded by another build of unblink, which may draw others"
        ));
    }
    Ok(exit::OK)
}

/// What the run spoke.
pub(super) fn protocol(document: &RunDocument) -> Protocol {
    document.operations.first().map_or(Protocol::Http11, |operation| operation.plan.protocol)
}

fn show(prepared: &Prepared, ask: &Ask, protocol: Protocol, json: bool) -> Result<()> {
    let document = TryDocument {
        schema: TRY_SCHEMA.into(),
        protocol,
        as_expected: false,
        setup: Vec::new(),
        requests: vec![Trying::new(prepared, prepared).drawn_again(ask)],
        journeys: Vec::new(),
        left_out: 0,
    };
    match json {
        true => output::print_json(&document),
        false => output::print(&unblink_report::tried::render(&document)),
    }
}

/// What the run was told, and whether it was given a seed.
fn command(document: &RunDocument) -> Result<(RunArgs, bool)> {
    let mut argv: Vec<OsString> = Vec::new();
    let mut words = document.command.iter();
    let name_of = |word: &str| word.split_once('=').map_or(word, |(name, _)| name).to_string();
    while let Some(word) = words.next() {
        let name = name_of(word);
        let value = if name == *word { words.clone().next() } else { Some(word) };
        let is_masked = ["--body", "--data", "--message"].contains(&name.as_str())
            || value.is_some_and(|value| value.contains(MASK));
        if MASKED.contains(&name.as_str()) && is_masked {
            bail!(
                "{name} of this run is not kept in its record: unblink try with the run's own command line and --arrival \
                 shows what it sent"
            );
        }
        match LEFT_OUT.contains(&name.as_str()) {
            true if name == *word => drop(words.next()),
            true => {}
            false => argv.push(word.into()),
        }
    }
    match argv.get(1) {
        Some(name) if *name == *"run" => {}
        _ => bail!(
            "this was recorded by another command than unblink run, whose arrivals can't be drawn again"
        ),
    }
    let has_seed = document.command.iter().any(|word| name_of(word) == "--seed");
    let cli = plan::command_line_of(argv).context(
        "an arrival is drawn again from the run's command, its plan and its files, in the folder in which the run was started",
    )?;
    match cli.command {
        Command::Run(args) => Ok((*args, has_seed)),
        _ => bail!("the recorded command is not unblink run"),
    }
}

/// Its identifiers are those of the run, whose command line gave a seed, and not others.
fn repeatable(args: &mut RunArgs) {
    let steps = args.journeys.iter_mut().flat_map(|journey| &mut journey.steps).map(|step| &mut step.request);
    let all: Vec<_> = args.requests.iter_mut().chain(steps).collect();
    let Some(first) = all.first() else { return };
    let lets = Arc::new((*first.lets).clone().of_run(0));
    all.into_iter().for_each(|request| request.lets = lets.clone());
}

/// What was read again is what was run, as far as the record tells.
fn check_same(prepared: &Prepared, document: &RunDocument) -> Result<()> {
    let started: Timestamp =
        document.started_at.parse().context("the record does not say when the run began")?;
    if let Some(path) = inputs::changed_since(started) {
        bail!("{path:?} was changed after the run began, so what the run sent can't be drawn again");
    }
    let header = &prepared.header;
    let names = |name: &str| format!("the run's command comes to something else now: its {name} differ");
    if header.targets != document.targets || header.targets_beyond != document.targets_beyond {
        bail!(names("requests"));
    }
    if header.plan.values != document.plan.values {
        bail!(names("values"));
    }
    if header.plan.order != document.plan.order || header.plan.phases != document.plan.phases {
        bail!(names("load"));
    }
    Ok(())
}
