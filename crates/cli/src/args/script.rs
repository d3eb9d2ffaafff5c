//! `--script` and what the script is given.

use clap::Args;
use std::path::PathBuf;

/// A script, and what it is given.
#[derive(Args, serde::Serialize, Clone, Debug, Default)]
pub(crate) struct ScriptArgs {
    /// Let this Lua script of wrk's make the requests
    #[arg(long, value_name = "FILE", help_heading = "Request")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub script: Option<PathBuf>,

    /// Give this to the script's init(args); may be given several times
    #[arg(long, value_name = "TEXT", help_heading = "Request")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub script_arg: Vec<String>,

    /// More of the script's arguments, as wrk takes them: -- ARG ARG
    #[arg(last = true, value_name = "SCRIPT ARG")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub script_args: Vec<String>,
}
