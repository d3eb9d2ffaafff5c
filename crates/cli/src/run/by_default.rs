//! A run of which nothing is said but where it goes.

use crate::args::run::RunArgs;
use crate::args::{Cli, Command};
use anyhow::{Result, anyhow};
use clap::Parser;

/// The flags of a run that asks `url` something, as they are by default.
pub(crate) fn by_default(url: &str) -> Result<RunArgs> {
    let line = ["unblink", "run", url, "-R", "1", "-n", "1"];
    match Cli::try_parse_from(line)?.command {
        Command::Run(run) => Ok(*run),
        _ => Err(anyhow!("a run is a run")),
    }
}
