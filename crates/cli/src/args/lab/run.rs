//! `unblink lab run` and `unblink lab tools`: their flags.

use crate::value;
use clap::Args;
use std::path::PathBuf;
use unblink_core::time::Nanos;

const RUN_HELP: &str = "\
A cell is one tool in one scenario. Each cell has a fresh server, and the tool's first request starts the scenario's \
clock, so that every tool meets the event at the same moment of its run. With two processors, the server has one to \
itself. The folder keeps the server's log, the tool's output and the result of every cell; cells that it already \
has are not run again. redis-stall, postgres-stall and cassandra-stall start a real database, which stalls for a second; what \
users felt is seen on the loopback (CAP_NET_RAW).

EXAMPLES
  unblink lab run stall
  unblink lab run stall pauses --tools unblink,wrk,k6 --short
  unblink lab run all --runs 3 -o lab
  unblink lab run all --short --jobs 6
  unblink lab run stall --tool my-tool.toml
  unblink lab run redis-stall postgres-stall --short

EXIT STATUS
  0 every cell was run   2 wrong usage   3 a tool gave no figures   130 interrupted; finished cells are shown";

/// Run load tools against scenarios and compare what they report with the exact truth.
#[derive(Args, Debug)]
#[command(after_help = RUN_HELP)]
pub(crate) struct RunArgs {
    /// Scenarios by name (see unblink lab serve --help), `all` of these, redis-stall, postgres-stall,
    /// cassandra-stall
    #[arg(value_name = "SCENARIO", required = true)]
    pub scenarios: Vec<String>,

    /// Only these tools: a name such as k6-constant-vus, or a program such as k6 for all of its modes
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub tools: Vec<String>,

    #[command(flatten)]
    pub definitions: DefinitionArgs,

    /// Length of each run; the scenarios' times shrink with it
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = value::duration)]
    pub length: Nanos,

    /// The short profile: runs of 15 s
    #[arg(long, conflicts_with = "length")]
    pub short: bool,

    /// Runs of each cell; medians are shown
    #[arg(long, value_name = "COUNT", default_value = "1", value_parser = value::positive)]
    pub runs: u32,

    /// Number of cells to run at once, each with two or more processors of its own if the machine has enough
    #[arg(short, long, value_name = "COUNT", default_value = "1", value_parser = value::positive)]
    pub jobs: u32,

    /// Folder where cells are kept and found again [default: unblink-lab-60s, by the length]
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,

    /// Run all cells again, even those the folder already has
    #[arg(long)]
    pub again: bool,

    /// Print the document as JSON instead of the table
    #[arg(long)]
    pub json: bool,
}

/// Where definitions and programs come from.
#[derive(Args, Debug)]
pub(crate) struct DefinitionArgs {
    /// A tool definition in TOML, or a folder of them; it replaces a built-in one of the same name (repeatable)
    #[arg(long = "tool", value_name = "FILE|DIR")]
    pub files: Vec<PathBuf>,

    /// Where the lab installs tools [default: unblink/tools in $XDG_DATA_HOME or ~/.local/share]
    #[arg(long, value_name = "DIR")]
    pub installed: Option<PathBuf>,
}

const TOOLS_HELP: &str = "\
EXAMPLES
  unblink lab tools
  unblink lab tools --json | jq '.[] | select(.version == null)'

EXIT STATUS
  0 listed   2 wrong usage";

/// List the load tools: which are installed, in which version, and how to install the others.
#[derive(Args, Debug)]
#[command(after_help = TOOLS_HELP)]
pub(crate) struct ToolsArgs {
    #[command(flatten)]
    pub definitions: DefinitionArgs,

    /// Print the list as JSON
    #[arg(long)]
    pub json: bool,
}

const INSTALL_HELP: &str = "\
Only root can install tools from the distribution (apt); other users are told the command. The rest goes into the lab's \
folder, in the versions whose output the lab knows. UNBLINK_MAVEN_REPOSITORY names a repository to use instead of \
Maven Central.

EXAMPLES
  unblink lab install vegeta k6 oha
  unblink lab install all

EXIT STATUS
  0 all are installed   1 one could not be installed   2 wrong usage";

/// Install load tools from apt, the Go module proxy, crates.io, PyPI, npm and Maven Central.
#[derive(Args, Debug)]
#[command(after_help = INSTALL_HELP)]
pub(crate) struct InstallArgs {
    /// Tools by name or program, or `all`
    #[arg(value_name = "TOOL", required = true)]
    pub wanted: Vec<String>,

    #[command(flatten)]
    pub definitions: DefinitionArgs,

    /// Print what would be done, but do nothing
    #[arg(long)]
    pub dry_run: bool,
}
