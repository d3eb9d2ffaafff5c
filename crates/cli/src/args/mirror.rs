//! `unblink mirror`: its flags.

use super::compare::effect;
use super::guards::GuardArgs;
use super::steady;
use super::tls::TlsArgs;
use crate::value;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use unblink_core::time::Nanos;

const USAGE: &str = "\
unblink mirror [OPTIONS] --listen <ADDRESS:PORT>
                      --baseline <URL> --candidate <URL>";

const HELP: &str = "\
EXAMPLES
  unblink mirror --listen 127.0.0.1:9000 \\
      --baseline http://old --candidate http://new
  unblink mirror --listen 127.0.0.1:9000 --baseline http://old --candidate http://new --noise http://old2 --for 10m

  In nginx: mirror /copy; and location = /copy { internal; proxy_pass http://127.0.0.1:9000$request_uri; }

EXIT STATUS
  0 the candidate is not slower   1 it is slower, or fails more   2 wrong usage   3 no verdict
  Ctrl-C is the usual end, and changes none of these; a second one does not wait for answers";

/// Take the copies of real requests that a proxy mirrors, answer each at once, and send it to a baseline and a candidate.
/// The baseline is a second instance of the old version, never production. See docs/mirror.md.
#[derive(Args, Debug)]
#[command(after_help = HELP, override_usage = USAGE)]
pub(crate) struct MirrorArgs {
    /// Where the proxy sends its copies: an address of this machine, unless --listen-anywhere
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub listen: SocketAddr,

    /// Allow --listen an address that other machines reach
    #[arg(long)]
    pub listen_anywhere: bool,

    /// A second instance of the old version: scheme, host and port
    #[arg(long, value_name = "URL")]
    pub baseline: String,

    /// The new version
    #[arg(long, value_name = "URL")]
    pub candidate: String,

    /// A third instance, of the old version, to see what differs by itself; only with it, bodies are compared
    #[arg(long, value_name = "URL")]
    pub noise: Option<String>,

    /// End after this time [default: at Ctrl-C]
    #[arg(long = "for", value_name = "TIME", value_parser = value::duration)]
    pub length: Option<Nanos>,

    /// Mirror requests that may change something, too (POST, PUT, DELETE and so on)
    #[arg(long)]
    pub mutating: bool,

    /// Don't mirror requests with a larger body
    #[arg(long, value_name = "BYTES", default_value = "64k", value_parser = value::bytes)]
    pub body_max: u64,

    /// Pairs that may be under way at once; what comes beyond is left out and counted
    #[arg(long, value_name = "COUNT", default_value = "10000", value_parser = value::positive)]
    pub queue: u32,

    /// Bytes of requests that may be under way at once
    #[arg(long, value_name = "BYTES", default_value = "64m", value_parser = value::bytes)]
    pub queue_bytes: u64,

    /// At most this many connections to each target
    #[arg(short, long, value_name = "COUNT", default_value = "1024", value_parser = value::positive)]
    pub connections: u32,

    /// Treat a slower answer as no answer
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = value::duration)]
    pub timeout: Nanos,

    /// Set this header in each copy, in the place of one of the same name
    #[arg(short = 'H', long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,

    /// The percentile of response time that decides
    #[arg(long, value_name = "PERCENTILE", default_value = "p99", value_parser = steady::percentile)]
    pub percentile: f64,

    /// A smaller relative difference doesn't count
    #[arg(long, value_name = "PERCENT", default_value = "5%", allow_hyphen_values = true, value_parser = effect)]
    pub min_effect: f64,

    #[command(flatten)]
    pub tls: TlsArgs,

    #[command(flatten)]
    pub guards: GuardArgs,

    /// Folder for the report [default: unblink-mirrors/<time>]
    #[arg(short, long, value_name = "DIR", help_heading = "Output")]
    pub output: Option<PathBuf>,

    /// Print the document as JSON instead of the text
    #[arg(long, help_heading = "Output")]
    pub json: bool,
}
