//! The command line: what can be asked for, and nothing about how it is done.

pub(crate) mod compare;
pub(crate) mod expect;
pub(crate) mod history;
pub(crate) mod knee;
pub(crate) mod lab;
pub(crate) mod load;
pub(crate) mod objectives;
pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod short;
pub(crate) mod sim;
pub(crate) mod steady;
pub(crate) mod target;
pub(crate) mod value;

use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// The load tester that does not look away when the server stalls.
///
/// It offers load on a schedule that nothing the target does can move, measures each response from the
/// moment it should have started, accounts for every arrival, and says so when a run can't be trusted.
#[derive(Parser, Debug)]
#[command(name = "unblink", version = env!("UNBLINK_VERSION"), propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Offer load to a target and report what its users would feel
    Run(Box<run::RunArgs>),
    /// See in a minute what a closed-loop tool hides: a stalling server, measured both ways
    Demo(DemoArgs),
    /// Is a target slower than another, or a run than those before it?
    Compare(Box<compare::CompareArgs>),
    /// Rebuild the report of a run from its folder
    Report(Box<ReportArgs>),
    /// Run a load in virtual time against a server that you describe
    Sim(Box<sim::SimArgs>),
    /// See what every kind of load tool would report of one server, and what users feel
    Explain(Box<sim::ExplainArgs>),
    /// Check plan files and see what they come to
    #[command(subcommand)]
    Plan(plan::PlanCommand),
    /// Write a plan to begin with
    Init(plan::InitArgs),
    /// Find the highest rate at which a target meets an objective
    Knee(Box<knee::KneeArgs>),
    /// List the runs that were recorded
    History(Box<history::HistoryArgs>),
    /// Show a run of the history
    Show(history::RunNameArgs),
    /// See a percentile over the runs of the history, and where it changed
    Trend(Box<history::TrendArgs>),
    /// Tag a run of the history
    Tag(history::TagArgs),
    /// Name runs to compare with
    #[command(subcommand)]
    Baseline(history::BaselineCommand),
    /// Take run folders into the history
    Index(history::IndexArgs),
    /// A misbehaving server whose truth is known, and what load tools say of it
    #[command(subcommand)]
    Lab(lab::LabCommand),
    /// Print the JSON Schema of a document
    Schema {
        /// Which document
        #[arg(value_enum, default_value_t = SchemaOf::Run)]
        document: SchemaOf,
    },
    /// Print what makes a shell complete commands and flags
    Completions {
        /// Which shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write those of all commands
    Man(ManArgs),
}

const MAN_HELP: &str = "\
EXAMPLES
  unblink man | man -l -
  unblink man -o ~/.local/share/man/man1     unblink.1, unblink-run.1 and so on

EXIT STATUS
  0 printed or written   2 wrong usage";

/// Print the manual page of unblink, or write the pages of all its commands into a folder.
#[derive(clap::Args, Debug)]
#[command(after_help = MAN_HELP)]
pub(crate) struct ManArgs {
    /// Write the pages of all commands into this folder
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Documents that have a schema.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SchemaOf {
    /// Of a run: `run --json`
    Run,
    /// Of a comparison: `compare --json`
    Compare,
    /// Of a comparison of searches: `compare --json` with two folders of `knee`
    CompareKnees,
    /// Of a search: `knee --json`
    Knee,
    /// Of what is wrong with plans: `plan check --json`
    PlanCheck,
    /// Of one run of one tool in the lab: `cell.json`
    LabCell,
    /// Of many: `lab run --json`
    Lab,
    /// Of an audit: `lab audit --json`
    LabAudit,
    /// Of runs in the history: `history --json`, also of `show`, `tag`, `baseline` and `index`
    History,
    /// Of a percentile over runs: `trend --json`
    Trend,
    /// Of the highest rate over searches: `trend --json` with folders of `knee`
    TrendKnees,
}

const DEMO_HELP: &str = "\
EXAMPLES
  unblink demo            a stall of 1 s in 12 s, twice: closed loop, then open loop
  unblink demo --full     60 s at 1,000/s with the stall at 30 s, as published

EXIT STATUS
  0 shown   2 wrong usage   130 interrupted";

/// Start the lab server on a free loopback port, run its stall closed-loop with 10 users and open-loop
/// at 1,000/s, and show both beside the exact value from theory.
#[derive(clap::Args, Debug)]
#[command(after_help = DEMO_HELP)]
pub(crate) struct DemoArgs {
    /// The published numbers: 60 s, the stall at 30 s
    #[arg(long)]
    pub full: bool,
    /// Where to write the page and both runs [default: unblink-demo/<time> here]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
    /// Print both run documents and the truth as one JSON object instead of the text
    #[arg(long)]
    pub json: bool,
}

const REPORT_HELP: &str = "\
EXAMPLES
  unblink report latest
  unblink report unblink-runs/2026-01-31T12-00-00Z
  unblink report DIR --from 10s --to 50s
  unblink report DIR --slo 'p99 < 200ms'           (judged anew)
  unblink report DIR --json | jq .response_time.quantiles

EXIT STATUS
  0 the run can be believed, if only with care (degraded), and met what was asked of it
  1 it missed an objective, or --abort-on stopped it   2 wrong usage
  3 the run is invalid, such as one that was killed with too much under way, or an objective can't be told";

/// Everything is computed anew from what was written while the run went on, so this also works for a run
/// that was killed.
#[derive(clap::Args, Debug)]
#[command(after_help = REPORT_HELP)]
pub(crate) struct ReportArgs {
    /// Folder of the run, or its name in the history, or `latest`
    #[arg(value_name = "DIR|RUN")]
    pub dir: PathBuf,
    /// Only what was recorded from here on, after the start
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    pub from: Option<unblink_core::time::Nanos>,
    /// Only what was recorded before this, after the start
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    pub to: Option<unblink_core::time::Nanos>,
    /// Instead of what was asked of the run.
    #[command(flatten)]
    pub objectives: objectives::SloArgs,
    #[command(flatten)]
    pub exports: Exports,
    /// Write the HTML report to this file
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    #[command(flatten)]
    pub store: history::StoreArgs,
}

/// Forms of the result, shared by every command that has one.
#[derive(clap::Args, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct Exports {
    /// Print the run document as JSON instead of the text
    #[arg(long)]
    pub json: bool,
    /// Write the figures over time as CSV, a row per interval (`-`: to standard output, instead of the text)
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the percentiles as CSV, each with its 95 % interval (`-`: to standard output)
    #[arg(long, value_name = "FILE")]
    pub csv_percentiles: Option<PathBuf>,
    /// Write the percentiles of response time in HdrHistogram's text form (`-`: to standard output)
    #[arg(long, value_name = "FILE")]
    pub hgrm: Option<PathBuf>,
    /// Write the objectives and whether the run can be believed as JUnit XML (`-`: to standard output)
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a summary in Markdown; `github` adds it to the job's summary ($GITHUB_STEP_SUMMARY) and annotates the
    /// run on standard error
    #[arg(long, value_name = "FILE|github")]
    pub summary: Option<PathBuf>,
    /// Write every picture as an SVG file into this folder
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Say what pages feel that need this many requests each
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, value_parser = value::positive)]
    pub fanout: Option<u32>,
}
