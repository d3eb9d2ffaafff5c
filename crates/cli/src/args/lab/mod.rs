//! `unblink lab`: its commands.

pub(crate) mod audit;
pub(crate) mod run;
pub(crate) mod serve;

use clap::Subcommand;

#[derive(Subcommand, Debug)]
pub(crate) enum LabCommand {
    /// Serve a scenario until Ctrl-C
    Serve(Box<serve::ServeArgs>),
    /// Run load tools against scenarios and compare their reports with the truth
    Run(Box<run::RunArgs>),
    /// Run one load tool, or any script, against the scenarios and say what it gets wrong
    Audit(Box<audit::AuditArgs>),
    /// List the load tools: which are installed, in which version, and how to install the others
    Tools(run::ToolsArgs),
    /// Install load tools from their registries into the lab's own folder
    Install(run::InstallArgs),
}
