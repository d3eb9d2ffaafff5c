//! `unblink run`: its flags.

use super::load::LoadArgs;
use super::steady::PrecisionArgs;
use super::{Exports, value};
use clap::Args;
use std::path::PathBuf;

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

    #[command(flatten)]
    pub load: LoadArgs,

    #[command(flatten)]
    pub precision: PrecisionArgs,

    /// Worker threads [default: 1 below 50,000/s]
    #[arg(short, long, value_name = "COUNT", help_heading = "Connections", allow_hyphen_values = true,
          value_parser = value::positive)]
    pub threads: Option<u32>,

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
