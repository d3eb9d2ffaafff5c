//! `unblink lab audit`: one tool through the scenarios.

use super::{run, tap, tools};
use crate::args::lab::audit::AuditArgs;
use crate::unshown::Shown;
use crate::{environment, exit, output, signals};
use anyhow::{Context, Result, bail};
use std::path::PathBuf;
use toml::Value;
use unblink_artifact::document::LoadModel;
use unblink_artifact::lab::{AUDIT_SCHEMA, AuditDocument, LabCell, Passed};
use unblink_lab::{AUDIT_SCENARIOS, Database, Definition, Job, Output, Processors, Scorecard};
use unblink_report::lab;

/// Runs the scenarios and judges.
pub(crate) fn audit(args: &AuditArgs) -> Result<u8> {
    let definition = definition(args)?;
    let of_database = definition.database.map(Database::scenario);
    let usual = of_database.as_ref().map_or(AUDIT_SCENARIOS, std::slice::from_ref);
    let names: Vec<String> = match args.scenarios.is_empty() {
        true => usual.iter().map(|name| (*name).to_string()).collect(),
        false => args.scenarios.clone(),
    };
    let mut cases = run::cases(&names, run::length(args.length)?)?;
    if let Some(case) = cases.iter().find(|case| !definition.can_meet(&case.scenario)) {
        let lacks = format!("{} can't be served with the scenario {}", definition.name, case.scenario.name);
        if !args.scenarios.is_empty() {
            bail!("{lacks} in what it speaks: leave that scenario out");
        }
        output::note(format_args!("{lacks} in what it speaks: what that would tell stays open"));
        cases.retain(|case| definition.can_meet(&case.scenario));
    }
    let places = tools::places(&args.definitions)?;
    let found = places.find(&definition).map_err(|reason| anyhow::anyhow!("{reason}"))?;
    let processors = Processors::whole();
    let folder = match &args.output {
        Some(folder) => Cells { folder: folder.clone(), is_kept: true },
        None => {
            let name = format!("unblink-audit-{}", std::process::id());
            Cells { folder: std::env::temp_dir().join(name), is_kept: false }
        }
    };
    let stop = signals::flag()?;
    let mut cells = Vec::new();
    for case in &cases {
        let job = Job {
            case,
            truth: &case.truth(),
            definition: &definition,
            found: &found,
            own: &places.own,
            processors: &processors,
            folder: &folder.folder.join(&case.scenario.name),
            run: 1,
            tap: tap::open,
            stop: &stop,
        };
        // An audit never takes what is there for what it is to see.
        let Some(cell) = run::cell(&job, true)? else {
            output::note(format_args!("stopped: an audit that is not whole says nothing"));
            return Ok(exit::INTERRUPTED);
        };
        run::say(&cell, cells.len() + 1, cases.len());
        cells.push(cell);
    }
    let document = document(args, &definition, unblink_lab::audit(&cells), cells);
    let printed = match args.json {
        true => output::print_json(&document),
        false => output::print_report(&lab::audit(&document, &output::style())),
    };
    // Cells that nobody wants to keep are the only record there is.
    match folder.is_kept {
        true => Ok(Shown::of(printed, &folder.folder, output::PAGE).code(code(&document))),
        false => printed.map(|()| code(&document)),
    }
}

/// Where the cells are; thrown away in the end, whatever it is, unless somebody wants them.
struct Cells {
    folder: PathBuf,
    is_kept: bool,
}

impl Drop for Cells {
    fn drop(&mut self) {
        if !self.is_kept {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

fn code(document: &AuditDocument) -> u8 {
    let any = |passed| document.checks.iter().any(|check| check.passed == passed);
    match (any(Passed::No), any(Passed::Yes)) {
        (true, _) => exit::FAILED,
        (false, true) => exit::OK,
        (false, false) => exit::INVALID,
    }
}

fn document(
    args: &AuditArgs,
    definition: &Definition,
    card: Scorecard,
    cells: Vec<LabCell>,
) -> AuditDocument {
    let Scorecard { checks, mechanism, evidence, scenarios } = card;
    let command = match args.command.is_empty() {
        true => [std::slice::from_ref(&definition.program), &definition.command].concat(),
        false => args.command.clone(),
    };
    AuditDocument {
        schema: AUDIT_SCHEMA.to_string(),
        tool: environment::tool(),
        command,
        checks,
        mechanism,
        evidence,
        scenarios,
        cells,
    }
}

fn definition(args: &AuditArgs) -> Result<Definition> {
    let known = |name: &str| -> Result<Definition> {
        let all = tools::definitions(&args.definitions)?;
        let names: Vec<String> = all.iter().map(|definition| definition.name.clone()).collect();
        all.into_iter().find(|definition| definition.name == name).with_context(|| {
            format!(
                "no tool is called {name:?}; there are {}, and --tool FILE brings another",
                names.join(", ")
            )
        })
    };
    if let Some(name) = &args.known {
        return known(name);
    }
    let Some((program, words)) = args.command.split_first() else {
        bail!("there is no command to audit: give it after --, with {{url}} in it");
    };
    let output = match &args.like {
        Some(name) => known(name)?.output,
        None => described_output(args)?,
    };
    let model = if args.closed { LoadModel::Closed } else { LoadModel::Open };
    let definition = Definition::of_command(&path(program)?, words, model, output);
    definition.map_err(|error| anyhow::anyhow!("{error}"))
}

/// It is run in a folder of its own, so a path from here is made whole.
fn path(program: &str) -> Result<String> {
    if !program.contains('/') {
        return Ok(program.to_string());
    }
    let path: PathBuf = std::path::absolute(program)?;
    Ok(path.to_string_lossy().into_owned())
}

/// The flags as the table of a definition, so that they mean the same.
fn described_output(args: &AuditArgs) -> Result<Output> {
    let mut table = toml::Table::new();
    let mut set = |key: &str, value: Option<Value>| {
        value.and_then(|value| table.insert(key.to_string(), value));
    };
    let text = |text: &str| Some(Value::String(text.to_string()));
    let format = match (&args.percentile, &args.csv) {
        (Some(pattern), _) => {
            set("percentile", text(pattern));
            "pattern"
        }
        (None, Some(column)) => {
            let number = column.parse::<i64>().ok().map(Value::Integer);
            set("column", number.or_else(|| text(column)));
            "csv"
        }
        (None, None) if args.hlog => "hlog",
        (None, None) if args.hgrm => "hgrm",
        (None, None) => bail!(
            "how is its output to be read? Say it with --percentile REGEX, --csv COLUMN, --hlog, --hgrm, or --like TOOL"
        ),
    };
    if args.unit.is_none() && format != "pattern" {
        bail!("--unit is missing: are its times in ns, us, ms or s?");
    }
    set("format", text(format));
    set("unit", args.unit.as_deref().and_then(text));
    set("file", args.file.as_deref().and_then(text));
    Value::Table(table).try_into().context("its output can't be read this way")
}
