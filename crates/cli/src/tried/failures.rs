//! The failed requests that a run kept.

use super::again::protocol;
use crate::args::history::ShowArgs;
use crate::{exit, history, output};
use anyhow::{Result, bail};
use unblink_artifact::tried::{FAILURES_SCHEMA, FailuresDocument};

/// `unblink show RUN --failures`. Gives the exit code.
pub(crate) fn failures(args: &ShowArgs) -> Result<u8> {
    let run = history::document(args)?;
    if run.kept_failures.is_empty() && run.arrivals.failed + run.arrivals.timed_out > 0 {
        bail!(
            "this run kept none of its failed requests: run it again with --keep-failures 3, which keeps three of each kind"
        );
    }
    let protocol = protocol(&run);
    let document = FailuresDocument { schema: FAILURES_SCHEMA.into(), protocol, failures: run.kept_failures };
    match args.json {
        true => output::print_json(&document)?,
        false => output::print(&unblink_report::tried::failures(&document))?,
    }
    Ok(exit::OK)
}
