//! `unblink run`: its flags.

use super::{Exports, value};
use clap::Args;
use std::path::PathBuf;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

const HELP: &str = "\
EXAMPLES
  unblink run http://127.0.0.1:8080/ -R 1000 -d 60s
  unblink run https://api.test/ -R 100..5000 -d 5m --arrivals poisson
  unblink run http://[::1]:8080/ -R 10/m -n 20
  unblink run http://127.0.0.1:8080/ --closed 10 -d 30s
  unblink run --targets targets.txt -R 500 -c 64 -t 2

VALUES
  rates      5000   5k   50/s   10/m   3/10s   100..5000 (ramp)   100,200,400 (equal steps)
  times      500us   200ms   30s   5m   1h30m   30 (seconds)
  -c         auto (opens what is needed, up to a limit)   auto:5000   64 (fixed)
  --expect   status=200,404   status=2xx   size=512   size=100..900   contains=TEXT

EXIT STATUS
  0 the run can be believed   2 wrong usage   3 run invalid   130 interrupted";

/// Each request is due at a time that the schedule fixes beforehand. When the target stalls, requests
/// go on falling due, and each response is measured from the moment it should have started.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct RunArgs {
    /// Where to send requests; several are taken in turn and share one scheme, host and port
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,

    /// Read targets from a file in vegeta's format, taken in turn (`-` reads standard input)
    #[arg(long, value_name = "FILE", conflicts_with = "urls")]
    pub targets: Option<PathBuf>,

    /// Offer this many requests per second (open loop)
    #[arg(short = 'R', long, value_name = "RATE", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::shape)]
    pub rate: Option<value::Shape>,

    /// This many users, each of whom waits for its answer (closed loop)
    #[arg(long, value_name = "USERS", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::positive)]
    pub closed: Option<u32>,

    /// How long a user thinks between an answer and the next request
    #[arg(long, value_name = "TIME", requires = "closed", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub think: Option<Nanos>,

    /// How long to measure [default: 30s, or until the requests of -n are sent]
    #[arg(short, long, value_name = "TIME", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub duration: Option<Nanos>,

    /// Stop after this many measured requests
    #[arg(short = 'n', long, value_name = "COUNT", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::count)]
    pub requests: Option<u64>,

    /// Offer load for this long before the measured part, and leave it out of every figure
    #[arg(long, value_name = "TIME", default_value = "0s", help_heading = "Load", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub warmup: Nanos,

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

    /// Worker threads [default: 1 below 50,000/s]
    #[arg(short, long, value_name = "COUNT", help_heading = "Connections", allow_hyphen_values = true,
          value_parser = value::positive)]
    pub threads: Option<u32>,

    /// An answer later than this, counted from the intended start, has timed out
    #[arg(long, value_name = "TIME", default_value = "30s", help_heading = "Connections", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub timeout: Nanos,

    /// How long to wait for outstanding answers after the last request fell due [default: the timeout]
    #[arg(long, value_name = "TIME", help_heading = "Connections", allow_hyphen_values = true,
          value_parser = value::duration)]
    pub drain: Option<Nanos>,

    /// Connect to HOST2:PORT2 for requests to HOST1:PORT1
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2", help_heading = "Connections")]
    pub connect_to: Option<String>,

    /// Connect to this Unix-domain socket instead of the URL's host
    #[arg(long, value_name = "PATH", conflicts_with = "connect_to", help_heading = "Connections")]
    pub unix_socket: Option<PathBuf>,

    /// Method of the requests [default: GET, or POST with a body]
    #[arg(short = 'X', long, short_alias = 'm', value_name = "METHOD", help_heading = "Request")]
    pub method: Option<String>,

    /// Add a header; may be given several times
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", help_heading = "Request")]
    pub headers: Vec<String>,

    /// Send this body
    #[arg(long, value_name = "TEXT", help_heading = "Request")]
    pub body: Option<String>,

    /// Send the contents of this file as body
    #[arg(long, value_name = "FILE", conflicts_with = "body", help_heading = "Request")]
    pub body_file: Option<PathBuf>,

    /// What an answer must be like to count as ok; may be given several times
    #[arg(long, value_name = "CONDITION", help_heading = "Request", value_parser = value::expectation)]
    pub expect: Vec<value::Expectation>,

    /// An answer with a larger body has failed
    #[arg(long, value_name = "BYTES", default_value = "1g", help_heading = "Request", value_parser = value::bytes)]
    pub max_body_size: u64,

    /// Do not send one request per target before the run
    #[arg(long, help_heading = "Request")]
    pub no_preflight: bool,

    /// Accept any certificate
    #[arg(short = 'k', long, help_heading = "TLS")]
    pub insecure: bool,

    /// Trust the certificates in this PEM file instead of the system's
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub cacert: Option<PathBuf>,

    /// Present this client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "key", help_heading = "TLS")]
    pub cert: Option<PathBuf>,

    /// Key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "TLS")]
    pub key: Option<PathBuf>,

    /// Folder for the run's record and report [default: unblink-runs/<time> here]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub exports: Exports,

    /// No live line while the run goes on
    #[arg(short, long, help_heading = "Output")]
    pub quiet: bool,
}

/// How arrivals lie around the rate.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Arrivals {
    /// Evenly spaced
    Even,
    /// Independent of each other, as from many users
    Poisson,
}
