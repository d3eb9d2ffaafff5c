//! `unblink plan` and `unblink init`: their flags.

use super::recorded::{LogArgs, LogFormat};
use clap::{Args, Subcommand, ValueEnum};
use std::path::{Path, PathBuf};

/// Plan files.
#[derive(Subcommand, Debug)]
pub(crate) enum PlanCommand {
    /// Check plans for errors; nothing is sent
    Check(CheckArgs),
    /// Show what a plan would do, with its rate over time
    Show(ShowArgs),
    /// Print the JSON Schema of plans, for editors
    Schema,
}

const CHECK_HELP: &str = "\
EXAMPLES
  unblink plan check plan.toml
  unblink plan check --json *.toml | jq '.plans[] | select(.in_order | not)'

EXIT STATUS
  0 every plan is correct   2 a plan has errors";

/// Read plans as the commands that use them would, but send nothing. Variables that are not set in the environment are
/// not errors.
#[derive(Args, Debug)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct CheckArgs {
    /// Plans, as TOML or YAML
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Print the errors and their places as JSON (`unblink schema plan-check` prints the schema)
    #[arg(long)]
    pub json: bool,
}

const SHOW_HELP: &str = "\
EXAMPLES
  unblink plan show plan.toml
  unblink plan show plan.toml --as yaml > plan.yaml

EXIT STATUS
  0 shown   2 wrong usage";

/// Show every field, with the default where the plan doesn't set it. Variables are shown by name and possible secrets
/// are masked; --as turns these secrets into variables, so that its output is a plan.
#[derive(Args, Debug)]
#[command(after_help = SHOW_HELP)]
pub(crate) struct ShowArgs {
    /// The plan, as TOML or YAML
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Print only the fields that the plan sets, in this format
    #[arg(long = "as", value_enum, value_name = "FORM")]
    pub form: Option<Form>,

    /// The same as --as json
    #[arg(long, conflicts_with = "form")]
    pub json: bool,
}

/// What a plan is written in.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form {
    /// TOML
    Toml,
    /// YAML
    Yaml,
    /// JSON, as the schema describes it
    Json,
}

const INIT_HELP: &str = "\
EXAMPLES
  unblink init
  unblink init checkout.toml && unblink plan show checkout.toml
  unblink init --from access.log --format nginx -o shop.toml      requests, keys, sizes, bursts as in the log
  unblink init --from hour.trace -o shop.toml

EXIT STATUS
  0 written   2 wrong usage, the file exists, or no request could be read   130 interrupted";

/// Write a plan with every field, most of them as comments; or, with --from, one that is fitted to a log or a trace. An
/// existing file is never overwritten.
#[derive(Args, Debug)]
#[command(after_help = INIT_HELP)]
pub(crate) struct InitArgs {
    /// File to write [default: plan.toml]
    #[arg(value_name = "FILE", conflicts_with = "output")]
    pub file: Option<PathBuf>,

    /// The same
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    /// Fit the plan to this access log or trace: what is asked, how popular keys are, sizes, the rate and its bursts. The
    /// plan says how well each fits
    #[arg(long, value_name = "LOG|TRACE")]
    pub from: Option<PathBuf>,

    /// What wrote the log [default: combined or common, whichever reads its first lines]
    #[arg(long, value_enum, requires = "from")]
    pub format: Option<LogFormat>,

    #[command(flatten)]
    pub log: LogArgs,
}

impl InitArgs {
    /// The file to write.
    pub(crate) fn to(&self) -> &Path {
        self.file.as_deref().or(self.output.as_deref()).unwrap_or(Path::new("plan.toml"))
    }
}
