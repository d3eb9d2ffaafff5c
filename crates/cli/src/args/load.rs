//! What load is offered, and how patiently: flags that every command with a load has in common.

use super::steady::{self, Warmup};
use super::value;
use clap::Args;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

/// The load.
#[derive(Args, Clone, Debug)]
pub(crate) struct LoadArgs {
    /// Offer this many requests per second (open loop)
    #[arg(short = 'R', long, value_name = "RATE", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::shape)]
    pub rate: Option<value::Shape>,

    /// What the load is for, which says how the rate goes and what is looked at: `load` holds -R; `spike` jumps from
    /// the lower to the higher rate of -R LOW..HIGH and drops again; `stress` climbs from one to the other, stays, and
    /// comes down; `soak` holds -R for long and looks for drift
    #[arg(long, value_enum, value_name = "NAME", help_heading = "Load")]
    pub shape: Option<ShapeName>,

    /// How long a spike lasts, or stress at its highest rate [default: a sixth of the duration, or an eighth]
    #[arg(long, value_name = "TIME", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub peak_for: Option<Nanos>,

    /// This many users, each of whom waits for its answer (closed loop)
    #[arg(long, value_name = "USERS", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::users)]
    pub closed: Option<u32>,

    /// How long a user thinks between an answer and the next request
    #[arg(long, value_name = "TIME", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub think: Option<Nanos>,

    /// Over how long the users of --closed begin; measuring begins after it [default: the think time, or 100ms]
    #[arg(long, value_name = "TIME", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub ramp_up: Option<Nanos>,

    /// How long to measure [default: 30s, or until the requests of -n are sent]
    #[arg(short, long, value_name = "TIME", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub duration: Option<Nanos>,

    /// Stop after this many measured requests
    #[arg(short = 'n', long, value_name = "COUNT", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::count)]
    pub requests: Option<u64>,

    /// Offer load for this long before the measured part, and leave it out of every figure; `auto` finds the end of
    /// the transient when the run has ended
    #[arg(long, value_name = "TIME|auto", default_value = "0s", help_heading = "Load", allow_hyphen_values = true,
          value_parser = steady::warmup)]
    pub warmup: Warmup,

    /// How arrivals lie around the rate
    #[arg(long, value_enum, default_value_t = Arrivals::Even, help_heading = "Load")]
    pub arrivals: Arrivals,

    /// Seed of the Poisson process; the same seed gives the same arrivals for any number of threads
    #[arg(long, value_name = "NUMBER", default_value_t = 1, help_heading = "Load")]
    pub seed: u64,

    /// Refuse to offer more than this (also as `max-rate` in ~/.config/unblink/config.toml)
    #[arg(long, value_name = "RATE", help_heading = "Load", value_parser = value::rate)]
    pub max_rate: Option<Rate>,

    /// Connections: `auto`, `auto:MAX`, or a fixed number shared by the threads
    #[arg(short, long, value_name = "auto|N", default_value = "auto", help_heading = "Connections",
          value_parser = value::connections)]
    pub connections: value::Connections,

    /// An answer later than this, counted from the intended start, has timed out
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = "Connections", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub timeout: Nanos,

    /// How long to wait for outstanding answers after the last request fell due [default: the timeout]
    #[arg(long, value_name = "TIME", help_heading = "Connections", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub drain: Option<Nanos>,
}

/// What a load is for.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ShapeName {
    /// Can it carry what is expected?
    Load,
    /// How does it take a jump, and when is it as before?
    Spike,
    /// How does it fail, and does it recover?
    Stress,
    /// Does anything drift?
    Soak,
}

/// How arrivals lie around the rate.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrivals {
    /// Evenly spaced
    Even,
    /// Independent of each other, as from many users
    Poisson,
}
