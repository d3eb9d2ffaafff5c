//! What stops a load although the target could bear it: flags of all that put load on a target.

use crate::value;
use clap::Args;
use std::path::PathBuf;
use unblink_core::time::Nanos;

/// Guards never slow the load, they end it: what was due from then on is withheld.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Guards")]
pub(crate) struct GuardArgs {
    /// Stop as soon as this file exists, and refuse to start while it does
    #[arg(long, value_name = "PATH")]
    pub kill_file: Option<PathBuf>,

    /// Ask this URL four times a second, and stop within 1 s unless it answers 2xx, also if it is silent
    #[arg(long, value_name = "URL")]
    pub kill_url: Option<String>,

    /// Stop before more requests than this are sent, the warm-up's and second attempts included
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, value_parser = value::count)]
    pub budget_requests: Option<u64>,

    /// Stop when this many requests have failed or timed out
    #[arg(long, value_name = "COUNT", allow_hyphen_values = true, value_parser = value::count)]
    pub budget_errors: Option<u64>,

    /// Stop when the load has lasted this long
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = value::duration)]
    pub budget_time: Option<Nanos>,
}
