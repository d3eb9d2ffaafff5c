//! `unblink allow`: its flags.

use crate::value;
use clap::Args;
use jiff::civil::Date;
use unblink_core::schedule::Rate;

const HELP: &str = "\
EXAMPLES
  unblink allow staging.example.com --max-rate 20k --until 2027-01-31
  unblink allow --list
  unblink allow --remove staging.example.com
  UNBLINK_ALLOW=staging.example.com unblink run plan.toml          (in CI)

EXIT STATUS
  0 done   2 wrong usage, or the host is not in the list";

/// Allow load on a public host. This machine and private networks need no permission. The list is kept in
/// ~/.config/unblink/allow.toml, and a policy in /etc/unblink/policy.toml can forbid what it allows (docs/guards.md).
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct AllowArgs {
    /// The host, by its name or address; it replaces what was said of it before
    #[arg(value_name = "HOST", required_unless_present_any = ["list", "remove"])]
    pub host: Option<String>,

    /// Refuse a run on it with a higher rate than this
    #[arg(long, value_name = "RATE", requires = "host", value_parser = value::rate)]
    pub max_rate: Option<Rate>,

    /// The last day on which load is allowed, in UTC
    #[arg(long, value_name = "DATE", requires = "host", value_parser = day)]
    pub until: Option<Date>,

    /// Show the list, and the policies and limits of this machine
    #[arg(long, conflicts_with_all = ["host", "remove"])]
    pub list: bool,

    /// Take a host from the list
    #[arg(long, value_name = "HOST", conflicts_with = "host")]
    pub remove: Option<String>,
}

fn day(text: &str) -> Result<Date, String> {
    text.parse().map_err(|_| format!("{text:?} is not a day: write it as 2027-01-31"))
}
