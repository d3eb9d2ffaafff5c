//! What load is offered, and how patiently: flags that every command with a load has in common.

use super::arrivals::{Arrivals, arrivals};
use super::replay::ReplayArgs;
use super::retry::RetryArgs;
use super::steady::{self, Warmup};
use crate::value;
use clap::Args;
use std::path::PathBuf;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

/// The load.
#[derive(Args, Clone, Debug)]
pub(crate) struct LoadArgs {
    /// The loads of a plan that has a list of them. Each says what is offered in the place of `rate`, `shape`, `arrivals`
    /// and `duration`.
    #[arg(skip)]
    pub loads: Vec<PlannedLoad>,

    /// Send this many requests per second, however slowly they are answered (open loop)
    #[arg(short = 'R', long, value_name = "RATE", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::shape)]
    pub rate: Option<value::Shape>,

    /// The kind of test, which sets how the rate changes and what the report looks at: `load` holds -R; `spike` jumps
    /// from the lower to the higher rate of -R LOW..HIGH and drops back; `stress` ramps from one to the other, stays
    /// there, and ramps down; `soak` holds -R for a long time and looks for drift; `sine` swings from the lower to the
    /// higher rate and back, as over a day
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Load")]
    pub shape: Option<ShapeName>,

    /// How long a spike or the top of a stress test lasts [default: 1/6 of the duration for a spike, 1/8 for stress]
    #[arg(long, value_name = "TIME", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub peak_for: Option<Nanos>,

    /// How long a swing of `--shape sine` takes, from its lowest rate to the next [default: the duration]
    #[arg(long, value_name = "TIME", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub period: Option<Nanos>,

    #[command(flatten)]
    pub trace: TraceArgs,

    #[command(flatten)]
    pub replay: ReplayArgs,

    /// Send requests as this many users, each of whom waits for its answer before the next request (closed loop)
    #[arg(long, value_name = "USERS", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::users)]
    pub closed: Option<u32>,

    /// How long a user of --closed waits between an answer and the next request
    #[arg(long, value_name = "TIME", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub think: Option<Nanos>,

    /// Start the users of --closed over this time; measuring begins after it [default: the think time, or 100ms]
    #[arg(long, value_name = "TIME", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub ramp_up: Option<Nanos>,

    /// How long to measure [default: 30s, or until -n requests are sent]
    #[arg(short, long, value_name = "TIME", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub duration: Option<Nanos>,

    /// Stop after this many measured requests
    #[arg(short = 'n', long, value_name = "COUNT", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::count)]
    pub requests: Option<u64>,

    /// Send load for this long before measuring begins, and leave it out of every figure; `auto` finds the end of the
    /// warm-up after the run
    #[arg(long, value_name = "TIME|auto", default_value = "0s", help_heading = "Load", allow_hyphen_values = true,
          value_parser = steady::warmup)]
    pub warmup: Warmup,

    /// How requests are spaced in time: `even`, `poisson`, or `bursty(peak=5x,on=200ms,off=1s)`, which is Poisson at 5
    /// times the rate in bursts of 200 ms on average, at random times 1 s apart on average, and at less in between, so
    /// that -R stays the mean
    #[arg(long, value_name = "PROCESS", default_value = "even", help_heading = "Load", value_parser = arrivals)]
    pub arrivals: Arrivals,

    /// Seed of random arrivals, of bursts, and of the order of the requests; the same seed gives the same ones for any number of
    /// threads
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Load")]
    pub seed: u64,

    /// Refuse to start a run with a higher rate than this (`max-rate` in ~/.config/unblink/config.toml does the same)
    #[arg(long, value_name = "RATE", help_heading = "Load", value_parser = value::rate)]
    pub max_rate: Option<Rate>,

    /// Connections: `auto`, `auto:MAX`, or a fixed number shared by the threads [default: auto; to a database a number: 50
    /// to Redis, 20 to PostgreSQL, 8 to Cassandra]
    #[arg(short, long, value_name = "auto|N", help_heading = "Connections", value_parser = value::connections)]
    pub connections: Option<value::Connections>,

    /// Count a request as timed out after this time, measured from its intended start
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = "Connections", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub timeout: Nanos,

    /// How long to wait for outstanding answers after the last request was due [default: the timeout]
    #[arg(long, value_name = "TIME", help_heading = "Connections", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub drain: Option<Nanos>,

    #[command(flatten)]
    pub retry: RetryArgs,
}

/// A rate over time from a file.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct TraceArgs {
    /// Offer the rates in a column of this CSV file, one row after the other; with -R they are scaled to that mean
    #[arg(long, value_name = "FILE", help_heading = "Load")]
    pub trace: Option<PathBuf>,

    /// Column of --trace that has the requests per second [default: `rate`, or the only one]
    #[arg(long, value_name = "NAME", help_heading = "Load")]
    pub trace_column: Option<String>,

    /// How long the rate of each row of --trace is held [default: the duration, shared equally]
    #[arg(long, value_name = "TIME", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub trace_step: Option<Nanos>,
}

/// One of the open loads that a plan lists.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlannedLoad {
    /// How the report calls it [default: its place, as in "load 1"]
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// Send this many requests per second, however slowly they are answered
    #[arg(long, value_name = "RATE", required_unless_present = "trace", allow_hyphen_values = true,
          value_parser = value::shape)]
    pub rate: Option<value::Shape>,

    /// How the rate changes: `load` holds it; `spike` jumps from the lower to the higher rate of LOW..HIGH and drops
    /// back; `stress` ramps from one to the other, stays there, and ramps down; `sine` swings from one to the other and
    /// back
    #[arg(long, value_enum, value_name = "NAME")]
    pub shape: Option<ShapeName>,

    /// How long a spike or the top of a stress test lasts [default: 1/6 of the duration for a spike, 1/8 for stress]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = value::duration)]
    pub peak_for: Option<Nanos>,

    /// How long a swing of `sine` takes, from its lowest rate to the next [default: the duration]
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = value::duration)]
    pub period: Option<Nanos>,

    #[command(flatten)]
    pub trace: TraceArgs,

    /// How requests are spaced in time: `even`, `poisson`, or `bursty(peak=5x,on=200ms,off=1s)`
    #[arg(long, value_name = "PROCESS", default_value = "even", value_parser = arrivals)]
    pub arrivals: Arrivals,

    /// When it begins, after the start of the measured part
    #[arg(long, value_name = "TIME", default_value = "0s", allow_hyphen_values = true, value_parser = value::duration)]
    pub start: Nanos,

    /// How long it lasts
    #[arg(long, value_name = "TIME", default_value = "30s", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub duration: Nanos,

    /// Names of the requests that it asks for [default: all of them]
    #[arg(long, value_name = "NAME")]
    pub only: Vec<String>,
}

/// What a load is for.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShapeName {
    /// Can the target handle the expected load?
    Load,
    /// How does it handle a sudden jump, and when has it recovered?
    Spike,
    /// How does it fail, and does it recover?
    Stress,
    /// Does anything drift?
    Soak,
    /// Can the target handle a day?
    Sine,
}
