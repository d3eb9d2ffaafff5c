//! unblink beside other load generators, on one machine, in turn: `make bench`.
//!
//! The client has one processor, the server the other. What a generator did is counted and timed by the server,
//! never by the generator, wherever that is possible.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod args;
mod claims;
mod clock;
mod descriptors;
mod deviation;
mod document;
mod figures;
mod generator;
mod nginx;
mod pace;
mod part;
mod play;
mod process;
mod raw;
mod responder;
mod results;
mod rounds;
mod session;
mod stall;
mod stamps;
mod table;
mod target;

use anyhow::{Context, Result, bail};
use args::{Cli, Command};
use clap::Parser;
use generator::{Field, PEERS, Tool};
use part::PARTS;
use results::Results;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<ExitCode> {
    descriptors::raise_limit();
    match command {
        Command::Run(args) => return measure_all(args),
        Command::Table(args) => tables(&args)?,
        Command::Peers(args) => print_field(&generator::find(&args.unblink)?),
        Command::Respond(args) => {
            let responder = responder::Responder::bind(responder::Options {
                port: args.port,
                busy: args.busy,
                close: args.close,
                size: args.size,
                stall: args.stall,
                stamps: args.stamps,
                room: args.room,
            })?;
            println!("{}", responder.address());
            println!("{}", serde_json::to_string(&responder.run()?)?);
        }
        Command::Raw(args) => println!("{}", raw::run(args.to, args.connections.get(), args.duration)?),
        Command::Pace(args) => {
            let pace = pace::Pace {
                rate_per_s: args.rate.get(),
                length: args.duration,
                connections: args.connections.get(),
                spin_ns: args.spin * 1000,
            };
            println!("{}", pace::run(args.to, pace)?);
        }
        Command::Measure { usage, words } => process::measure(&usage, &words)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Exit code 1: a run of unblink itself failed.
fn measure_all(args: args::Run) -> Result<ExitCode> {
    if args.client_cpu == args.server_cpu {
        bail!("client and server need a processor each: --client-cpu and --server-cpu name the same");
    }
    let known: Vec<String> =
        PEERS.iter().map(|(tool, _)| *tool).chain(generator::OURS).map(Tool::name).collect();
    if let Some(unknown) = args.only.iter().find(|name| !known.contains(name)) {
        bail!("no tool is called `{unknown}`: {}", known.join(", "));
    }
    for cpu in [args.client_cpu, args.server_cpu] {
        if !process::may_use(cpu)? {
            bail!(
                "there is no processor {cpu}, or not for us; name others with --client-cpu and --server-cpu"
            );
        }
    }
    let field = generator::find(&args.unblink.unblink)?;
    print_field(&field);
    std::fs::create_dir_all(&args.output)
        .with_context(|| format!("cannot make {}", args.output.display()))?;
    let session = session::Session {
        field,
        processors: play::Processors { client: args.client_cpu, server: args.server_cpu },
        rounds: args.rounds,
        seconds: args.seconds,
        only: args.only,
        resume: args.resume,
        folder: args.output,
    };
    let parts = if args.parts.is_empty() { PARTS.to_vec() } else { args.parts };
    let mut all = Vec::new();
    for part in parts {
        all.push(session.play(part, &mut |line| eprintln!("{line}"))?);
    }
    print!("{}", table::full(&all));
    let own_failed = |run: &results::Run| run.failure.is_some() && run.tool.starts_with("unblink");
    let failed = all.iter().flat_map(|results| &results.runs).any(own_failed);
    Ok(ExitCode::from(u8::from(failed)))
}

fn print_field(field: &Field) {
    for generator in &field.present {
        eprintln!("{:<15} {}", generator.tool.name(), generator.version);
    }
    for (tool, install) in &field.missing {
        eprintln!("{:<15} missing ({install})", tool.name());
    }
}

fn tables(args: &args::Table) -> Result<()> {
    let all = read_all(&args.folder)?;
    if args.into.is_empty() {
        print!("{}", if args.short { table::short(&all) } else { table::full(&all) });
    }
    for path in &args.into {
        let name = path.display();
        let document = std::fs::read_to_string(path).with_context(|| format!("cannot read {name}"))?;
        let table = |name: &str| match name {
            "full" => Some(table::full(&all)),
            "short" => Some(table::short(&all)),
            _ => None,
        };
        let filled = document::fill(&document, table).with_context(|| format!("{name} is left as it is"))?;
        std::fs::write(path, filled).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(())
}

fn read_all(folder: &Path) -> Result<Vec<Results>> {
    let read = PARTS.iter().map(|&part| Results::read(folder, part));
    let all: Vec<Results> = read.filter_map(Result::transpose).collect::<Result<_>>()?;
    if all.is_empty() {
        bail!("there are no results in {}; measure first: make bench", folder.display());
    }
    Ok(all)
}
