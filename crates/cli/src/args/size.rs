//! `unblink size`: its flags.

use super::arrivals::{Arrivals, arrivals};
use crate::value::{self, Shape};
use clap::Args;
use std::path::PathBuf;
use unblink_core::plan::SHARES_MAX;
use unblink_core::time::Nanos;

const HELP: &str = "\
EXAMPLES
  unblink size -R 10M --latency 20ms --stall 1s
  unblink size -R 10M --latency 20ms --stall 1s --tls --body 2k --open-before
  unblink size plan.toml --stall 5s --cores 16 --nic 25G
  unblink size -R 2M --agents 20                      are twenty enough?
  unblink size --calibrate -o here.json               measure this machine, in some seconds
  unblink size -R 10M --constants here.json --set ports=60000

EXIT STATUS
  0 there is a fleet that is enough, or this machine was measured   1 there is none, or --agents are too few
  2 wrong usage   3 this machine was too busy to be measured   130 interrupted";

/// Say how many machines a load takes, and what breaks first: pure arithmetic, nothing is sent but by --calibrate.
///
/// While the target stalls, every arrival needs a connection. So the stall that a fleet can carry is limited by local ports, and by how
/// fast connections are opened, long before its processors are busy otherwise. docs/sizing.md has the formulas and where each constant
/// comes from.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct SizeArgs {
    /// A plan: a file that ends in .toml, .yaml or .yml. Its highest rate, its arrivals, its requests and whether they go over TLS
    /// are taken from it
    #[arg(value_name = "PLAN")]
    pub plan: Option<PathBuf>,

    /// Requests per second of the whole load: 10M, or as in unblink run; of several rates the highest counts
    #[arg(short = 'R', long, value_name = "RATE", help_heading = "Load", value_parser = value::shape)]
    pub rate: Option<Shape>,

    /// How arrivals are dealt: even arrivals equally, poisson and bursty ones as streams that stay whole [default: those of
    /// the plan, or poisson]
    #[arg(long, value_name = "PROCESS", help_heading = "Load", value_parser = arrivals)]
    pub arrivals: Option<Arrivals>,

    /// How long a request takes while all is well
    #[arg(long, value_name = "TIME", default_value = "20ms", help_heading = "Load", value_parser = value::duration)]
    pub latency: Nanos,

    /// How long the slowest request takes in the worst stall that is to be carried
    #[arg(long, value_name = "TIME", default_value = "1s", help_heading = "Load", value_parser = value::duration)]
    pub stall: Nanos,

    /// Connections are opened before the load (unblink run -c N): a stall opens none. Otherwise each arrival of a stall that is longer
    /// than --latency opens one, and a worker must have time for it
    #[arg(long, help_heading = "Load")]
    pub open_before: bool,

    /// Requests go over TLS
    #[arg(long, help_heading = "Load")]
    pub tls: bool,

    /// Body of each answer
    #[arg(long, value_name = "BYTES", default_value = "0", help_heading = "Load", value_parser = value::bytes)]
    pub body: u64,

    /// Body of each request
    #[arg(long, value_name = "BYTES", default_value = "0", help_heading = "Load", value_parser = value::bytes)]
    pub request_body: u64,

    /// A connection is closed after this many requests [default: it is kept]
    #[arg(long, value_name = "COUNT", help_heading = "Load", value_parser = value::count)]
    pub requests_per_connection: Option<u64>,

    /// Requests that are recorded apart [default: those of the plan, or 1]
    #[arg(long, value_name = "COUNT", help_heading = "Load", value_parser = value::positive)]
    pub operations: Option<u32>,

    /// Addresses and ports of the target that connections are spread over: each has local ports of its own
    #[arg(long, value_name = "COUNT", default_value = "1", help_heading = "Load", value_parser = value::positive)]
    pub addresses: u32,

    /// Judge a fleet of this many machines instead of looking for the smallest
    #[arg(long, value_name = "COUNT", help_heading = "Machines", value_parser = agents)]
    pub agents: Option<u32>,

    /// Processors of each
    #[arg(long, value_name = "COUNT", default_value = "4", help_heading = "Machines", value_parser = value::positive)]
    pub cores: u32,

    /// Speed of its network, in bits per second
    #[arg(long, value_name = "SPEED", default_value = "10G", help_heading = "Machines", value_parser = nic)]
    pub nic: f64,

    /// Use what was measured on one of the machines: a file that --calibrate wrote
    #[arg(long, value_name = "FILE", help_heading = "Constants", conflicts_with = "calibrate")]
    pub constants: Option<PathBuf>,

    /// Use another value for a constant (--json lists them); may be given several times
    #[arg(long, value_name = "NAME=VALUE", help_heading = "Constants", value_parser = constant)]
    pub set: Vec<(String, f64)>,

    /// Measure the constants on this machine, against a server of its own on loopback
    #[arg(long, help_heading = "Constants")]
    pub calibrate: bool,

    /// Write what --calibrate measured into this file
    #[arg(short, long, value_name = "FILE", help_heading = "Constants", requires = "calibrate")]
    pub output: Option<PathBuf>,

    /// Print the answer as JSON (`unblink schema size` prints the schema)
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}

fn agents(text: &str) -> Result<u32, String> {
    value::at_most(SHARES_MAX, "agents", text)
}

/// `10G`, `2.5G`, `100M`: bits per second, in powers of 1,000.
fn nic(text: &str) -> Result<f64, String> {
    let expected = || format!("{text:?} is not a speed: expected bits per second, such as 10G, 2.5G or 100M");
    let (digits, factor) = match text.char_indices().next_back() {
        Some((at, 'G' | 'g')) => (&text[..at], 1e9),
        Some((at, 'M' | 'm')) => (&text[..at], 1e6),
        Some((at, 'k' | 'K')) => (&text[..at], 1e3),
        _ => (text, 1.0),
    };
    let plain = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let speed = plain.then(|| digits.parse::<f64>().ok()).flatten().map(|speed| speed * factor);
    speed.filter(|speed| (1e3..=1e15).contains(speed)).ok_or_else(expected)
}

fn constant(text: &str) -> Result<(String, f64), String> {
    let expected =
        || format!("{text:?} is not a constant: expected its name and a number, such as ports=60000");
    let (name, value) = text.split_once('=').ok_or_else(expected)?;
    Ok((name.trim().into(), value.trim().replace('_', "").parse().map_err(|_| expected())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        assert_eq!(["10G", "2.5g", "100M", "1000"].map(nic), [Ok(10e9), Ok(2.5e9), Ok(100e6), Ok(1e3)]);
        for bad in ["", "G", "-1G", "nan", "inf", "1e3G", "1T", "0", "999", "10 G"] {
            assert!(nic(bad).is_err(), "{bad}");
        }
        assert_eq!(constant("ports = 60_000"), Ok(("ports".into(), 60e3)));
        assert!(["ports", "ports=", "ports=many"].iter().all(|text| constant(text).is_err()));
        assert!(agents("1025").is_err() && agents("1024").is_ok());
    }
}
