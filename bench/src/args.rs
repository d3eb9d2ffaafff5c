//! What can be asked on the command line.

use crate::part::Part;
use clap::{Args, Parser, Subcommand};
use std::net::SocketAddr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Parser)]
#[command(name = "unblink-bench", about = "unblink beside other load generators, on one machine, in turn")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Measure: everybody who is there, in turn, in rounds
    Run(Run),
    /// The results as Markdown
    Table(Table),
    /// Who is there, in which version, and who is missing
    Peers(Unblink),
    /// A minimal server that notes when each request came and when its answer left
    ///
    /// It prints its address first. When standard input ends it prints what happened, as JSON.
    Respond(Respond),
    /// A closed loop that neither parses nor records: the ceiling of throughput
    Raw(Raw),
    /// A loop that sleeps and spins until each arrival is due: the reference of pacing
    Pace(Pace),
    /// Run a command and write what it cost
    #[command(hide = true)]
    Measure {
        /// Where what it cost goes
        usage: PathBuf,
        /// The command
        #[arg(last = true, required = true)]
        words: Vec<String>,
    },
}

#[derive(Args)]
pub(crate) struct Run {
    /// Only these; all of them unless given
    #[arg(value_enum)]
    pub parts: Vec<Part>,
    /// How often everybody plays; each part has its own number unless given
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,
    /// How long each load lasts; each part has its own length unless given
    #[arg(long, value_parser = clap::value_parser!(u64).range(2..=600))]
    pub seconds: Option<u64>,
    /// Only these tools, by the names of the tables
    #[arg(long, value_delimiter = ',', value_name = "TOOL,…")]
    pub only: Vec<String>,
    /// Go on after the last whole round of an earlier call with the same tools, rounds and seconds
    #[arg(long)]
    pub resume: bool,
    /// The processor of the load generators
    #[arg(long, default_value_t = 0)]
    pub client_cpu: usize,
    /// The processor of the server
    #[arg(long, default_value_t = 1)]
    pub server_cpu: usize,
    /// Where the results go, a JSON file for each part
    #[arg(short, long, default_value = "target/bench")]
    pub output: PathBuf,
    #[command(flatten)]
    pub unblink: Unblink,
}

#[derive(Args)]
pub(crate) struct Unblink {
    /// The binary to be measured
    #[arg(long, default_value = "target/release/unblink")]
    pub unblink: PathBuf,
}

#[derive(Args)]
pub(crate) struct Table {
    /// The folder with the results
    #[arg(default_value = "target/bench")]
    pub folder: PathBuf,
    /// One table with what most people ask for first
    #[arg(long, conflicts_with = "into")]
    pub short: bool,
    /// Put the tables into these documents, between `<!-- bench: full -->` or `<!-- bench: short -->` and
    /// `<!-- bench: end -->`
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub into: Vec<PathBuf>,
}

#[derive(Args)]
pub(crate) struct Respond {
    /// On 127.0.0.1; 0 takes any that is free
    #[arg(long, default_value_t = 0)]
    pub port: u16,
    /// Never sleep, so that arrivals are stamped at once
    #[arg(long)]
    pub busy: bool,
    /// Close each connection after one answer
    #[arg(long)]
    pub close: bool,
    /// Bytes of the answer's body
    #[arg(long, default_value_t = 6)]
    pub size: usize,
    /// Answer nothing from the first to the second number of seconds after the first request
    #[arg(long, value_name = "FROM..TO", value_parser = stall)]
    pub stall: Option<(Duration, Duration)>,
    /// Write the time of each arrival and answer to this file: pairs of 64-bit little-endian ns
    #[arg(long, value_name = "FILE")]
    pub stamps: Option<PathBuf>,
    /// How many requests can be stamped
    #[arg(long, default_value_t = 2_000_000)]
    pub room: usize,
}

#[derive(Args)]
pub(crate) struct Raw {
    /// Where to send
    pub to: SocketAddr,
    /// Connections kept alive
    #[arg(short, long, default_value = "64")]
    pub connections: NonZeroUsize,
    /// Seconds
    #[arg(short, long, default_value = "5", value_parser = seconds)]
    pub duration: Duration,
}

#[derive(Args)]
pub(crate) struct Pace {
    /// Where to send
    pub to: SocketAddr,
    /// Arrivals per second
    #[arg(short = 'R', long)]
    pub rate: NonZeroU64,
    /// Connections kept alive
    #[arg(short, long, default_value = "64")]
    pub connections: NonZeroUsize,
    /// Seconds
    #[arg(short, long, default_value = "5", value_parser = seconds)]
    pub duration: Duration,
    /// The last µs before each arrival are spun
    #[arg(long, default_value_t = 30)]
    pub spin: u64,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 =
        text.trim_end_matches('s').parse().map_err(|_| format!("`{text}` is not a number of seconds"))?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

fn stall(text: &str) -> Result<(Duration, Duration), String> {
    let (from, to) = text.split_once("..").ok_or("say it as FROM..TO, such as 3..4")?;
    let (from, to) = (seconds(from)?, seconds(to)?);
    if from < to { Ok((from, to)) } else { Err("a stall ends after it begins".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_is_two_times_in_order() {
        let s = Duration::from_millis;
        assert_eq!(stall("3..4.5"), Ok((s(3000), s(4500))));
        for wrong in ["3", "4..3", "3..3", "a..b", "-1..2", "1..nan"] {
            assert!(stall(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_definition_of_the_command_line_holds_together() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
