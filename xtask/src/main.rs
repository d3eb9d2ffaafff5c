//! `cargo xtask check`: the checks of the repository, as a command.
#![allow(clippy::print_stdout, clippy::print_stderr)] // A command that tells people what it found.

use std::process::ExitCode;

use xtask::CHECKS;
use xtask::repo::Repo;

const USAGE: &str = "usage: cargo xtask check [NAME...]";

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    if args.next().as_deref() != Some("check") {
        return usage(None);
    }
    let wanted: Vec<String> = args.collect();
    if let Some(unknown) = wanted.iter().find(|name| !CHECKS.iter().any(|(known, _)| known == name)) {
        return usage(Some(unknown));
    }
    let repo = match Repo::read() {
        Ok(repo) => repo,
        Err(error) => {
            eprintln!("cannot read the repository: {error}");
            return ExitCode::FAILURE;
        }
    };
    let chosen = CHECKS.iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|w| w == name));
    let (mut checks, mut complaints) = (0, 0);
    for (name, check) in chosen {
        checks += 1;
        for complaint in check(&repo) {
            complaints += 1;
            println!("{complaint} [{name}]");
        }
    }
    println!("xtask: {checks} checks, {complaints} complaints");
    if complaints == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn usage(unknown: Option<&str>) -> ExitCode {
    if let Some(name) = unknown {
        eprintln!("no check is called `{name}`");
    }
    let names: Vec<_> = CHECKS.iter().map(|(name, _)| *name).collect();
    eprintln!("{USAGE}\nchecks: {}", names.join(", "));
    ExitCode::from(2)
}
