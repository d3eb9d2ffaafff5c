//! `unblink lab`: its commands.

pub(crate) mod audit;
pub(crate) mod run;
pub(crate) mod serve;

use clap::Subcommand;

#[derive(Subcommand, Debug)]
pub(crate) enum LabCommand {
    /// Serve a scenario until Ctrl-C
    Serve(Box<serve::ServeArgs>),
    /// Run load tools against scenarios and hold what they report beside the truth
    Run(Box<run::RunArgs>),
    /// Put one load tool, or any script, through the scenarios and say what it gets wrong
    Audit(Box<audit::AuditArgs>),
    /// List the load tools: which are here, which version, how to install the others
    Tools(run::ToolsArgs),
    /// Install load tools from their registries into a folder of the lab's own
    Install(run::InstallArgs),
}
