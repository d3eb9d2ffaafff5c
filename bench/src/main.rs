//! unblink beside other load generators, on one machine, in turn: `make bench`.
//!
//! The client has one processor, the server the other. What a generator did is counted and timed by the server,
//! never by the generator, wherever that is possible.

#![allow(clippy::print_stdout, clippy::print_stderr)]

mod clock;
mod descriptors;
mod pace;
mod raw;
mod responder;
mod stamps;

use anyhow::Result;
use clap::{Args, Parser, Subcommand};
use std::net::SocketAddr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Parser)]
#[command(name = "unblink-bench", about = "unblink beside other load generators, on one machine, in turn")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// A minimal server that notes when each request came and when its answer left
    ///
    /// It prints its address first. When standard input ends it prints what happened, as JSON.
    Respond(Respond),
    /// A closed loop that neither parses nor records: the ceiling of throughput
    Raw(Raw),
    /// A loop that sleeps and spins until each arrival is due: the reference of pacing
    Pace(PaceArgs),
}

#[derive(Args)]
struct Respond {
    /// On 127.0.0.1; 0 takes any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Never sleep, so that arrivals are stamped at once
    #[arg(long)]
    busy: bool,
    /// Close each connection after one answer
    #[arg(long)]
    close: bool,
    /// Bytes of the answer's body
    #[arg(long, default_value_t = 6)]
    size: usize,
    /// Answer nothing from the first to the second number of seconds after the first request
    #[arg(long, value_name = "FROM..TO", value_parser = stall)]
    stall: Option<(Duration, Duration)>,
    /// Write the time of each arrival and answer to this file: pairs of 64-bit little-endian ns
    #[arg(long, value_name = "FILE")]
    stamps: Option<PathBuf>,
    /// How many requests can be stamped
    #[arg(long, default_value_t = 2_000_000)]
    room: usize,
}

#[derive(Args)]
struct Raw {
    /// Where to send
    to: SocketAddr,
    /// Connections kept alive
    #[arg(short, long, default_value_t = 64)]
    connections: usize,
    /// Seconds
    #[arg(short, long, default_value = "5", value_parser = seconds)]
    duration: Duration,
}

#[derive(Args)]
struct PaceArgs {
    /// Where to send
    to: SocketAddr,
    /// Arrivals per second
    #[arg(short = 'R', long)]
    rate: NonZeroU64,
    /// Connections kept alive
    #[arg(short, long, default_value = "64")]
    connections: NonZeroUsize,
    /// Seconds
    #[arg(short, long, default_value = "5", value_parser = seconds)]
    duration: Duration,
    /// The last µs before each arrival are spun
    #[arg(long, default_value_t = 30)]
    spin: u64,
}

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

fn run(command: Command) -> Result<()> {
    descriptors::raise_limit();
    match command {
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
        Command::Raw(args) => println!("{}", raw::run(args.to, args.connections, args.duration)?),
        Command::Pace(args) => {
            let pace = pace::Pace {
                rate_per_s: args.rate.get(),
                length: args.duration,
                connections: args.connections.get(),
                spin_ns: args.spin * 1000,
            };
            println!("{}", pace::run(args.to, pace)?);
        }
    }
    Ok(())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let text = text.trim_end_matches('s');
    let number: f64 = text.parse().map_err(|_| format!("`{text}` is no number of seconds"))?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

fn stall(text: &str) -> Result<(Duration, Duration), String> {
    let (from, to) = text.split_once("..").ok_or("say it as FROM..TO, such as 3..4")?;
    let (from, to) = (seconds(from)?, seconds(to)?);
    if from < to { Ok((from, to)) } else { Err("a stall ends after it begins".into()) }
}
