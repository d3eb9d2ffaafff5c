//! `unblink lab audit`: its flags.

use super::run::DefinitionArgs;
use crate::value;
use clap::Args;
use std::path::PathBuf;
use unblink_core::time::Nanos;

const HELP: &str = "\
In COMMAND, {url} stands for the server, {rate} for requests per second, {duration_s} for the length, {users} for the \
users of a closed loop, {timeout_s} for the timeout and {folder} for the empty folder in which the command runs.

EXAMPLES
  unblink lab audit --as wrk
  unblink lab audit --percentile 'p(?<q>[0-9.]+) (?<value>[0-9.]+)(?<unit>ms)' -- ./load.py {url} {rate}
  unblink lab audit --csv latency_us --unit us --file out.csv -- ./load --out out.csv {url} -d {duration_s}
  unblink lab audit --like wrk2 -- ./my-wrk2 -R{rate} -d{duration_s}s --latency {url}

EXIT STATUS
  0 no check failed   1 a check failed   2 wrong usage   3 no check could be decided   130 interrupted";

/// Run one load tool, or any script, against the scenarios and say in plain words what it gets wrong.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct AuditArgs {
    /// The command that sends the load, after --
    #[arg(value_name = "COMMAND", last = true, required_unless_present = "known", conflicts_with = "known")]
    pub command: Vec<String>,

    /// Audit this known tool (unblink lab tools lists them)
    #[arg(long = "as", value_name = "NAME")]
    pub known: Option<String>,

    /// The tool claims to be closed loop
    #[arg(long)]
    pub closed: bool,

    /// Read the output like this tool's
    #[arg(long, value_name = "NAME", help_heading = "Its output", conflicts_with_all = ["percentile", "csv", "hlog", "hgrm"])]
    pub like: Option<String>,

    /// Read percentiles from text lines: a regular expression with the groups q (in percent), value and, if there is
    /// one, unit
    #[arg(long, value_name = "REGEX", help_heading = "Its output", conflicts_with_all = ["csv", "hlog", "hgrm"])]
    pub percentile: Option<String>,

    /// Read a CSV with one row per request and its latency in this column: a name, or a number from 1
    #[arg(long, value_name = "COLUMN", help_heading = "Its output", conflicts_with_all = ["hlog", "hgrm"])]
    pub csv: Option<String>,

    /// Read an HdrHistogram log
    #[arg(long, help_heading = "Its output", conflicts_with = "hgrm")]
    pub hlog: bool,

    /// Read HdrHistogram's percentile distribution as text
    #[arg(long, help_heading = "Its output")]
    pub hgrm: bool,

    /// Unit of the times, if the output doesn't say: ns, us, ms or s
    #[arg(long, value_name = "UNIT", help_heading = "Its output", value_parser = ["ns", "us", "ms", "s"])]
    pub unit: Option<String>,

    /// Read this file in the tool's folder instead of its standard output
    #[arg(long, value_name = "FILE", help_heading = "Its output")]
    pub file: Option<String>,

    #[command(flatten)]
    pub definitions: DefinitionArgs,

    /// Only these scenarios [default: healthy, stall, pauses, timeouts, errors, trickle]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub scenarios: Vec<String>,

    /// Length of each run
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = value::duration)]
    pub length: Nanos,

    /// Keep the results of the runs in this folder
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Print the document as JSON instead of the scorecard
    #[arg(long)]
    pub json: bool,
}
