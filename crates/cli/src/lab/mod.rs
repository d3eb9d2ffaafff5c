//! `unblink lab`: the misbehaving server, and load tools held beside its truth.

mod audit;
mod install;
mod run;
mod serve;
mod tap;
mod tools;

use crate::args::lab::LabCommand;
use anyhow::Result;

/// Carries a command out.
pub(crate) fn lab(command: &LabCommand) -> Result<u8> {
    match command {
        LabCommand::Serve(args) => serve::serve(args),
        LabCommand::Run(args) => run::run(args),
        LabCommand::Audit(args) => audit::audit(args),
        LabCommand::Tools(args) => tools::tools(args),
        LabCommand::Install(args) => install::install(args),
    }
}
