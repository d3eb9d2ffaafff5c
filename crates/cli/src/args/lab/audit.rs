//! `unblink lab audit`: its flags.

use super::run::DefinitionArgs;
use crate::args::value;
use clap::Args;
use std::path::PathBuf;
use unblink_core::time::Nanos;

const HELP: &str = "\
In COMMAND, {url} stands for the server, {rate} for arrivals per second, {duration_s} for the length, {users} for the \
users of a closed loop, {timeout_s} for the timeout and {folder} for an empty folder, in which it is run.

EXAMPLES
  unblink lab audit --as wrk
  unblink lab audit --percentile 'p(?<q>[0-9.]+) (?<value>[0-9.]+)(?<unit>ms)' -- ./load.py {url} {rate}
  unblink lab audit --csv latency_us --unit us --file out.csv -- ./load --out out.csv {url} -d {duration_s}
  unblink lab audit --like wrk2 -- ./my-wrk2 -R{rate} -d{duration_s}s --latency {url}

EXIT STATUS
  0 every question was answered with yes   1 one was not   2 wrong usage   3 there is nothing to answer them from   \
130 stopped";

/// Put one load tool, or any script, through the scenarios and say in plain words what it gets wrong.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct AuditArgs {
    /// The command that offers the load, after --
    #[arg(value_name = "COMMAND", last = true, required_unless_present = "known", conflicts_with = "known")]
    pub command: Vec<String>,

    /// Audit a tool by its definition's name (unblink lab tools lists them)
    #[arg(long = "as", value_name = "NAME")]
    pub known: Option<String>,

    /// Its load is closed, by its own claim
    #[arg(long)]
    pub closed: bool,

    /// Its output is that of this tool
    #[arg(long, value_name = "NAME", help_heading = "Its output", conflicts_with_all = ["percentile", "csv", "hlog", "hgrm"])]
    pub like: Option<String>,

    /// Lines with a percentile: a regular expression with the groups q (in percent), value, and unit if there is one
    #[arg(long, value_name = "REGEX", help_heading = "Its output", conflicts_with_all = ["csv", "hlog", "hgrm"])]
    pub percentile: Option<String>,

    /// A row for each request, its latency in this column: a name, or a number from 1
    #[arg(long, value_name = "COLUMN", help_heading = "Its output", conflicts_with_all = ["hlog", "hgrm"])]
    pub csv: Option<String>,

    /// An HdrHistogram log
    #[arg(long, help_heading = "Its output", conflicts_with = "hgrm")]
    pub hlog: bool,

    /// HdrHistogram's percentile distribution as text
    #[arg(long, help_heading = "Its output")]
    pub hgrm: bool,

    /// Unit of its times, where the output does not say it: ns, us, ms or s
    #[arg(long, value_name = "UNIT", help_heading = "Its output", value_parser = ["ns", "us", "ms", "s"])]
    pub unit: Option<String>,

    /// The file that it writes into its folder; without it, its standard output is read
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

    /// Keep the cells here instead of throwing them away
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Print the document as JSON instead of the scorecard
    #[arg(long)]
    pub json: bool,
}
