//! The command line: what can be asked for, and nothing about how it is done.

pub(crate) mod agents;
pub(crate) mod allow;
pub(crate) mod arrivals;
pub(crate) mod compare;
pub(crate) mod cross_check;
pub(crate) mod fill;
pub(crate) mod guards;
pub(crate) mod history;
pub(crate) mod journeys;
pub(crate) mod k8s;
pub(crate) mod knee;
pub(crate) mod lab;
pub(crate) mod load;
pub(crate) mod metric_rule;
pub(crate) mod mirror;
pub(crate) mod objectives;
pub(crate) mod plan;
pub(crate) mod recorded;
pub(crate) mod redis;
pub(crate) mod replay;
pub(crate) mod retry;
pub(crate) mod run;
pub(crate) mod script;
pub(crate) mod share;
pub(crate) mod short;
pub(crate) mod signoff;
pub(crate) mod sim;
pub(crate) mod size;
pub(crate) mod steady;
pub(crate) mod target;
pub(crate) mod tls;
pub(crate) mod tried;
pub(crate) mod web_socket;

use crate::request::workload::WorkloadArgs;
use crate::value;
use clap::{Parser, Subcommand};
use std::path::PathBuf;

/// The load tester that does not look away when the server stalls.
///
/// unblink sends requests on a fixed schedule, however slowly the target answers. It measures each response from
/// the moment the request should have started, accounts for every request, and says when a run can't be trusted.
#[derive(Parser, Debug)]
#[command(name = "unblink", version = env!("UNBLINK_VERSION"), propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Put load on a target and report what its users would feel
    Run(Box<run::RunArgs>),
    /// Send each request of a plan once and show all of it
    Try(Box<tried::TryArgs>),
    /// Fill Redis, PostgreSQL or Cassandra with a workload's records
    Fill(Box<fill::FillArgs>),
    /// See what a closed-loop tool hides of a stalling server
    Demo(DemoArgs),
    /// Compare a candidate with a baseline: did it get slower?
    Compare(Box<compare::CompareArgs>),
    /// Rebuild the report of a run from its folder
    Report(Box<ReportArgs>),
    /// Wait on the bus for a run, and take part in it
    Agent(Box<agents::AgentArgs>),
    /// Let a Kubernetes cluster offer a load
    #[command(subcommand)]
    K8s(k8s::K8sCommand),
    /// Make one run of the folders of machines that shared a load
    Merge(Box<MergeArgs>),
    /// Simulate a load in virtual time against a server you describe
    Sim(Box<sim::SimArgs>),
    /// Say how many machines a load takes, and what breaks first
    Size(Box<size::SizeArgs>),
    /// Show what different load tools would report about one server
    Explain(Box<sim::ExplainArgs>),
    /// Check plan files and show what they would do
    #[command(subcommand)]
    Plan(plan::PlanCommand),
    /// Write a starter plan file
    Init(plan::InitArgs),
    /// Make a trace of access logs: what was asked, and when
    Import(Box<recorded::ImportArgs>),
    /// Show, cut, sample and merge traces
    #[command(subcommand)]
    Trace(recorded::TraceCommand),
    /// Find the highest rate at which a target meets an objective
    Knee(Box<knee::KneeArgs>),
    /// Send what a proxy mirrors to a baseline and a candidate
    Mirror(Box<mirror::MirrorArgs>),
    /// Run the stages of a plan, and report them as one
    Signoff(Box<signoff::SignoffArgs>),
    /// List recorded runs
    History(Box<history::HistoryArgs>),
    /// Show one run from the history
    Show(history::ShowArgs),
    /// Show how a percentile changed over runs, and when it shifted
    Trend(Box<history::TrendArgs>),
    /// Tag a run in the history
    Tag(history::TagArgs),
    /// Name a set of runs to compare against
    #[command(subcommand)]
    Baseline(history::BaselineCommand),
    /// Add run folders to the history
    Index(history::IndexArgs),
    /// Allow load on a public host
    Allow(allow::AllowArgs),
    /// Start a server that misbehaves, and test load tools against it
    #[command(subcommand)]
    Lab(lab::LabCommand),
    /// Print the JSON Schema of a document
    Schema {
        /// Which document
        #[arg(value_enum, default_value_t = SchemaOf::Run)]
        document: SchemaOf,
    },
    /// Print the completion script for a shell
    Completions {
        /// Which shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write the pages of all commands
    Man(ManArgs),
}

impl Command {
    /// The flags of a run, whether it is run or only tried.
    pub(crate) fn run_mut(&mut self) -> Option<&mut run::RunArgs> {
        match self {
            Command::Run(args) => Some(args),
            Command::Try(args) => Some(&mut args.run),
            _ => None,
        }
    }

    /// The flags of a workload, of a command that takes one in the place of requests.
    pub(crate) fn workload_mut(&mut self) -> Option<&mut WorkloadArgs> {
        match self {
            Command::Run(args) => Some(&mut args.lines.workload),
            Command::Try(args) => Some(&mut args.run.lines.workload),
            Command::Knee(args) => Some(&mut args.lines.workload),
            Command::Compare(args) => Some(&mut args.workload),
            Command::Sim(args) => Some(&mut args.workload),
            _ => None,
        }
    }
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
    /// A run: `run --json`
    Run,
    /// A comparison: `compare --json`
    Compare,
    /// A comparison of searches: `compare --json` with two folders of `knee`
    CompareKnees,
    /// A search: `knee --json`
    Knee,
    /// A sign-off: `signoff --json`
    Signoff,
    /// A mirror: `mirror --json`
    Mirror,
    /// The errors in plans: `plan check --json`
    PlanCheck,
    /// What `try` found: `try --json`
    Try,
    /// Failed requests that a run kept: `show --failures --json`
    Failures,
    /// The machines that a load takes: `size --json`
    Size,
    /// What `size --calibrate -o FILE` measures
    SizeConstants,
    /// What is in a trace: `trace show --json`
    TraceSummary,
    /// One run of one tool in the lab: `cell.json`
    LabCell,
    /// All of them: `lab run --json`
    Lab,
    /// An audit: `lab audit --json`
    LabAudit,
    /// Runs in the history: `history --json`; also `show`, `tag`, `baseline` and `index`
    History,
    /// A percentile over runs: `trend --json`
    Trend,
    /// The highest rate over searches: `trend --json` with folders of `knee`
    TrendKnees,
}

const DEMO_HELP: &str = "\
EXAMPLES
  unblink demo            a stall of 1 s in 12 s, twice: closed loop, then open loop
  unblink demo --full     60 s at 1,000/s with the stall at 30 s, as published

EXIT STATUS
  0 shown   2 wrong usage   130 interrupted";

/// Start the lab server on a free loopback port and measure its stall twice: closed loop with 10 users, and open loop
/// at 1,000/s. Show both results next to the exact value from theory.
#[derive(clap::Args, Debug)]
#[command(after_help = DEMO_HELP)]
pub(crate) struct DemoArgs {
    /// Run the full 60 s with the stall at 30 s, as published
    #[arg(long)]
    pub full: bool,
    /// Length of each of the two runs, in whole seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 12, value_parser = clap::value_parser!(u32).range(4..=600),
        conflicts_with = "full")]
    pub seconds: u32,
    /// Folder for the page and both runs [default: unblink-demo/<time>]
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
  unblink report DIR --slo 'p99 < 200ms'           (judge the run by this objective instead)
  unblink report DIR --json | jq .response_time.quantiles

EXIT STATUS
  0 every objective is met, or there are none and the run is valid or degraded
  1 an objective is missed, --abort-on stopped the run, or the check before it failed   2 wrong usage
  3 an objective is inconclusive, a guard stopped the run, or there is no objective and it is invalid";

/// The report is computed again from the files that the run wrote as it went, so this also works for a run
/// that was killed.
#[derive(clap::Args, Debug)]
#[command(after_help = REPORT_HELP)]
pub(crate) struct ReportArgs {
    /// The run: its folder, its name in the history, or `latest`
    #[arg(value_name = "DIR|RUN")]
    pub dir: PathBuf,
    /// Report only what was recorded after this time, counted from the start
    #[arg(long, value_name = "TIME", value_parser = value::duration)]
    pub from: Option<unblink_core::time::Nanos>,
    /// Report only what was recorded before this time, counted from the start
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

const MERGE_HELP: &str = "\
EXAMPLES
  unblink merge share-1 share-2 -o whole       after, on one machine each, with the same start:
  at=$(date -u -d '+10 sec' +%FT%TZ)
  unblink run plan.toml --seed 7 --start-at \"$at\" --share 1/2 -o share-1
  unblink run plan.toml --seed 7 --start-at \"$at\" --share 2/2 -o share-2

EXIT STATUS
  0 objectives met   1 missed   2 wrong usage, or no parts of one run   3 the run is invalid, or no verdict can be given";

/// Make one run of the folders of machines that shared a load.
///
/// Each was started with --share, with the same plan, --seed and --start-at. Intervals are added up, so that every figure is that of
/// the whole load, as if one machine had offered it. What a folder lacks, or a machine that is missing would have sent, counts as lost.
/// The same bytes come out in whichever order folders are named, and whichever of them were merged before.
#[derive(clap::Args, Debug)]
#[command(after_help = MERGE_HELP)]
pub(crate) struct MergeArgs {
    /// The run folders of the machines, or folders that were merged of some of them
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,
    /// Folder for the merged record and its report [default: unblink-runs/<time>]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub exports: Exports,
    #[command(flatten)]
    pub keep: history::KeepArgs,
}

/// Forms of the result, shared by every command that has one.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Output")]
pub(crate) struct Exports {
    /// Print the run document as JSON instead of the text
    #[arg(long)]
    pub json: bool,
    /// Write the figures over time as CSV, one row per interval (`-`: to standard output, instead of the text)
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Write the percentiles as CSV, each with its 95 % interval (`-`: to standard output)
    #[arg(long, value_name = "FILE")]
    pub csv_percentiles: Option<PathBuf>,
    /// Write the percentiles of response time in HdrHistogram's text form (`-`: to standard output)
    #[arg(long, value_name = "FILE")]
    pub hgrm: Option<PathBuf>,
    /// Write the same for response and service time of each request into this folder
    #[arg(long, value_name = "DIR")]
    pub hgrm_by_request: Option<PathBuf>,
    /// Write what YCSB prints of a run: [READ] and [Intended-READ] and so on (`-`: to standard output)
    #[arg(long, value_name = "FILE")]
    pub ycsb_output: Option<PathBuf>,
    /// Write the objectives and the validity of the run as JUnit XML (`-`: to standard output)
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Write a summary in Markdown; `github` adds it to the job summary ($GITHUB_STEP_SUMMARY) and writes annotations
    /// to standard error
    #[arg(long, value_name = "FILE|github")]
    pub summary: Option<PathBuf>,
    /// Write every picture as an SVG file into this folder
    #[arg(long, value_name = "DIR")]
    pub svg: Option<PathBuf>,
    /// Report the latency of a page that needs this many requests
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, value_parser = value::positive)]
    pub fanout: Option<u32>,
}
