//! `unblink plan` and `unblink init`: their flags.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// Plan files.
#[derive(Subcommand, Debug)]
pub(crate) enum PlanCommand {
    /// Say whether a plan is in order; nothing is sent
    Check(CheckArgs),
    /// Show what a plan comes to, and the rate that it offers over time
    Show(ShowArgs),
    /// Print the JSON Schema of plans, for editors
    Schema,
}

const CHECK_HELP: &str = "\
EXAMPLES
  unblink plan check plan.toml
  unblink plan check --json *.toml | jq '.plans[] | select(.in_order | not)'

EXIT STATUS
  0 every plan is in order   2 one is not";

/// Reads plans as `unblink run` and `unblink sim` would, up to the first request. Variables that the environment does
/// not have are taken for granted.
#[derive(Args, Debug)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct CheckArgs {
    /// Plans, as TOML or YAML
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,

    /// Print what is wrong, and where, as JSON (`unblink schema plan-check` describes it)
    #[arg(long)]
    pub json: bool,
}

const SHOW_HELP: &str = "\
EXAMPLES
  unblink plan show plan.toml
  unblink plan show plan.toml --as yaml > plan.yaml

EXIT STATUS
  0 shown   2 wrong usage";

/// Shows each field with what it is when the plan leaves it out. Variables are shown by their names, and what may be
/// secret is masked; with --as it becomes a variable, so that what is printed is a plan.
#[derive(Args, Debug)]
#[command(after_help = SHOW_HELP)]
pub(crate) struct ShowArgs {
    /// The plan, as TOML or YAML
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// Print the fields of the plan alone, in this form
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

EXIT STATUS
  0 written   2 wrong usage, or the file exists";

/// Writes a plan with every field, most of them as comments. A file that exists is left alone.
#[derive(Args, Debug)]
#[command(after_help = INIT_HELP)]
pub(crate) struct InitArgs {
    /// Where to write it
    #[arg(value_name = "FILE", default_value = "plan.toml")]
    pub file: PathBuf,
}
