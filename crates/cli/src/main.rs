//! The `unblink` command: arguments to a plan, wiring, exit codes; the only printer.

// The only crate that prints.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod agents;
mod args;
mod aside;
mod asked;
mod charset;
mod clock;
mod compare;
mod config;
mod demo;
mod environment;
mod errors;
mod exit;
mod expect;
mod explain;
mod fill;
mod folder;
mod guard;
mod history;
mod inputs;
mod journey;
mod k8s;
mod knee;
mod lab;
mod live;
mod load;
mod manual;
mod merge;
mod mirror;
mod observe;
mod output;
mod plan;
mod precision;
mod recorded;
mod replay;
mod report;
mod request;
mod retry;
mod run;
mod scenario;
mod script;
mod secrets;
mod setup;
mod shape;
mod shown;
mod signals;
mod signoff;
mod sim;
mod size;
mod think;
mod trace;
mod tried;
mod unshown;
mod value;
mod values_sent;
mod ycsb;

use args::{Cli, Command, SchemaOf};
use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::process::ExitCode;
use unblink_artifact::schema;

fn main() -> ExitCode {
    match plan::command_line().and_then(fill::counted).and_then(|cli| execute(&cli)) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            output::note(format_args!("error: {}", harmless(&explain_error(&error), std::env::args_os())));
            ExitCode::from(exit::of_error(&error))
        }
    }
}

fn execute(cli: &Cli) -> anyhow::Result<u8> {
    match &cli.command {
        Command::Run(args) if args.agents.agents.is_some() => agents::run(args),
        Command::Run(args) => {
            agents::check_alone(&args.agents, Some(args.share.share.is_some())).and_then(|()| run::run(args))
        }
        Command::Try(args) => tried::tried(args),
        Command::Fill(args) => fill::fill(args),
        Command::Demo(args) => demo::demo(args),
        Command::Compare(args) => compare::compare(args),
        Command::Report(args) => report::report(args),
        Command::Agent(args) => agents::agent(args, run_of, size::CEILINGS),
        Command::K8s(command) => k8s::k8s(command),
        Command::Merge(args) => merge::merge(args),
        Command::Sim(args) => sim::sim(args),
        Command::Size(args) => size::size(args),
        Command::Explain(args) => explain::explain(args),
        Command::Knee(args) => knee::knee(args),
        Command::Signoff(args) => signoff::signoff(args),
        Command::Mirror(args) => mirror::mirror(args),
        Command::Allow(args) => guard::allow(args),
        Command::Lab(command) => lab::lab(command),
        Command::History(args) => history::history(args),
        Command::Show(args) if args.failures => tried::failures(args),
        Command::Show(args) => match args.arrival {
            Some(number) => tried::again(args, number),
            None => history::show(args),
        },
        Command::Trend(args) => history::trend(args),
        Command::Tag(args) => history::tag(args),
        Command::Baseline(command) => history::baseline(command),
        Command::Index(args) => history::index(args),
        Command::Plan(command) => plan::plan(command),
        Command::Init(args) => plan::init(args),
        Command::Import(args) => recorded::import(args),
        Command::Trace(command) => recorded::trace(command),
        Command::Schema { document } => print_schema(*document),
        Command::Completions { shell } => manual::completions(*shell),
        Command::Man(args) => manual::man(args),
    }
}

/// The run that a command line asks for, or one of those.
fn run_of(argv: Vec<OsString>, part: Option<&serde_json::Value>) -> anyhow::Result<args::run::RunArgs> {
    match (plan::stage_line(argv)?.command, part) {
        (Command::Run(args), None) => Ok(*args),
        (Command::Knee(args), Some(part)) => knee::trial_of(&args, part),
        (Command::Compare(args), Some(part)) => compare::run_of(&args, part),
        _ => anyhow::bail!("the coordinator's offer is not a run"),
    }
}

/// The command line as clap reads it; ends the process where it can't be read.
pub(crate) fn parse(command: clap::Command, argv: Vec<OsString>) -> Cli {
    let read = command.try_get_matches_from(argv);
    read.and_then(|matches| Cli::from_arg_matches(&matches))
        .unwrap_or_else(|error| refuse(errors::without_secrets(error)))
}

/// Ends the process. Two flags that exclude each other get a sentence that says so; the rest is clap's to say.
fn refuse(error: clap::Error) -> ! {
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
        (ErrorKind::DisplayHelp | ErrorKind::DisplayVersion, ..) => {
            if !charset::is_ascii_only() {
                error.exit()
            }
            let _ = output::print(&error.render().to_string());
            std::process::exit(exit::OK.into())
        }
        _ => {
            let text = error.render().to_string();
            let shown = harmless(&text, std::env::args_os());
            if shown == text && !charset::is_ascii_only() {
                error.exit()
            }
            output::note(format_args!("{}", shown.trim_end()));
            std::process::exit(exit::USAGE.into())
        }
    }
}

/// A message in which no argument that it echoes can break a line, move the cursor or change colours. Line breaks of
/// its own stay.
fn harmless(message: &str, args: impl IntoIterator<Item = OsString>) -> String {
    let mut shown = message.to_string();
    for arg in args {
        let arg = arg.to_string_lossy().into_owned();
        // With its flag, and as the value alone.
        let value = arg.split_once('=').map(|(_, value)| value.to_string());
        for text in [Some(arg), value].into_iter().flatten().filter(|text| text.contains(['\n', '\r'])) {
            shown = shown.replace(&text, &text.escape_debug().to_string());
        }
    }
    unblink_artifact::harmless::escaped(&shown)
}

/// The error and its causes in one sentence. A cause that a message quotes already is not repeated.
pub(crate) fn explain_error(error: &anyhow::Error) -> String {
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
        SchemaOf::CompareKnees => schema::compare_knees_schema(),
        SchemaOf::Knee => schema::knee_schema(),
        SchemaOf::Signoff => schema::signoff_schema(),
        SchemaOf::Mirror => schema::mirror_schema(),
        SchemaOf::PlanCheck => schema::plan_check_schema(),
        SchemaOf::Try => schema::try_schema(),
        SchemaOf::Failures => schema::failures_schema(),
        SchemaOf::Size => schema::size_schema(),
        SchemaOf::SizeConstants => schema::size_constants_schema(),
        SchemaOf::TraceSummary => schema::trace_summary_schema(),
        SchemaOf::LabCell => schema::lab_cell_schema(),
        SchemaOf::Lab => schema::lab_schema(),
        SchemaOf::LabAudit => schema::audit_schema(),
        SchemaOf::History => schema::history_schema(),
        SchemaOf::Trend => schema::trend_schema(),
        SchemaOf::TrendKnees => schema::trend_knees_schema(),
    };
    output::print_document(&schema::schema_text(&value))?;
    Ok(exit::OK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_echoed_can_not_act() {
        let args = ["-X", "GET\r\nerror: none", "--rate=\u{1b}[2J\n5"].map(OsString::from);
        let message = "the method GET\r\nerror: none is wrong\n  and \u{1b}[2J\n5, too";
        assert_eq!(
            harmless(message, args),
            "the method GET\\r\\nerror: none is wrong\n  and \\u{1b}[2J\\n5, too"
        );
        assert_eq!(harmless("p.toml:1:2: wrong\n |\n1 | über", []), "p.toml:1:2: wrong\n |\n1 | über");
    }
}
