//! The `unblink` command: arguments to a plan, wiring, exit codes; the only printer.

// The only crate that prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod clock;
mod compare;
mod config;
mod demo;
mod environment;
mod exit;
mod explain;
mod knee;
mod lab;
mod live;
mod load;
mod output;
mod plan;
mod report;
mod run;
mod secrets;
mod signals;
mod sim;

use args::{Cli, Command, SchemaOf};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::process::ExitCode;
use unblink_artifact::schema;

fn main() -> ExitCode {
    match plan::command_line().and_then(|cli| execute(&cli)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::note(format_args!("error: {}", explain_error(&error)));
            ExitCode::from(exit::USAGE)
        }
    }
}

fn execute(cli: &Cli) -> anyhow::Result<u8> {
    match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Demo(args) => demo::demo(args),
        Command::Compare(args) => compare::compare(args),
        Command::Report(args) => report::report(args),
        Command::Sim(args) => sim::sim(args),
        Command::Explain(args) => explain::explain(args),
        Command::Knee(args) => knee::knee(args),
        Command::Lab(args::lab::LabCommand::Serve(args)) => lab::serve(args),
        Command::Plan(command) => plan::plan(command),
        Command::Init(args) => plan::init(args),
        Command::Schema { document } => print_schema(*document),
    }
}

/// The command line as clap reads it; ends the process where it can't be read.
pub(crate) fn parse(argv: Vec<OsString>) -> Cli {
    Cli::try_parse_from(argv).unwrap_or_else(|error| refuse(&error))
}

/// Ends the process. Two flags that exclude each other get a sentence that says so; the rest is clap's to say.
fn refuse(error: &clap::Error) -> ! {
    let flags = |kind| match error.get(kind) {
        Some(ContextValue::String(flag)) => Some(flag.clone()),
        Some(ContextValue::Strings(flags)) => Some(flags.join(" and ")),
        _ => None,
    };
    match (error.kind(), flags(ContextKind::InvalidArg), flags(ContextKind::PriorArg)) {
        (ErrorKind::ArgumentConflict, Some(one), Some(other)) if one != other => {
            output::note(format_args!("error: {one} and {other} exclude each other: leave one of them out"));
            std::process::exit(exit::USAGE.into())
        }
        _ => error.exit(),
    }
}

/// The error and its causes in one sentence. A cause that a message quotes already is not repeated.
fn explain_error(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

fn print_schema(document: SchemaOf) -> anyhow::Result<u8> {
    let value = match document {
        SchemaOf::Run => schema::json_schema(),
        SchemaOf::Compare => schema::compare_schema(),
        SchemaOf::Knee => schema::knee_schema(),
    };
    output::print(&schema::schema_text(&value))?;
    Ok(exit::OK)
}
