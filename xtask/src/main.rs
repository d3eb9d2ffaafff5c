//! `cargo xtask check`: the checks of the repository, as a command; `cargo xtask worlds`: the hostile worlds.
#![allow(clippy::print_stdout, clippy::print_stderr)] // A command that tells people what it found.

use std::process::ExitCode;

use xtask::CHECKS;
use xtask::repo::Repo;
use xtask::worlds::{self, Sum};

const USAGE: &str = "usage: cargo xtask check [NAME...]";

/// For a mistake in how the command is called.
const EXIT_USAGE: u8 = 2;

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("check") => check(&args.collect::<Vec<_>>()),
        Some("worlds") => run_worlds(&args.collect::<Vec<_>>()),
        _ => usage(None),
    }
}

fn run_worlds(args: &[String]) -> ExitCode {
    match worlds::worlds(args) {
        Ok(Ok(Sum { worlds, arrivals, events })) => {
            println!("{worlds} worlds, {arrivals} arrivals, {events} events: nothing is wrong");
            ExitCode::SUCCESS
        }
        Ok(Err(failure)) => {
            println!("{}", worlds::describe(&failure));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("{error}\n{}", worlds::USAGE);
            ExitCode::from(EXIT_USAGE)
        }
    }
}

fn check(wanted: &[String]) -> ExitCode {
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
    eprintln!("{USAGE}\nchecks: {}\n{}", names.join(", "), worlds::USAGE);
    ExitCode::from(EXIT_USAGE)
}
