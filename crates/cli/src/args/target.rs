//! How requests are sent and what their answers must be like: flags that every command with a real target has in
//! common.

use super::{expect, value};
use crate::request::fields::RequestArgs;
use clap::Args;
use std::path::PathBuf;
use unblink_core::time::Nanos;
use unblink_engine::pacing::Pacing;

/// The way to the target, and what is asked of it.
#[derive(Args, serde::Serialize, Clone, Debug)]
pub(crate) struct TargetArgs {
    /// Worker threads [default: one for each 50,000/s begun, at most one per processor]
    #[arg(short, long, value_name = "COUNT", help_heading = "Connections", allow_hyphen_values = true,
          value_parser = value::threads)]
    pub threads: Option<u32>,

    /// What punctuality may cost
    #[arg(long, value_enum, default_value_t = PacingArg::Balanced, help_heading = "Load")]
    pub pacing: PacingArg,

    /// Connect to HOST2:PORT2 for requests to HOST1:PORT1; given several times, to each in turn
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2", help_heading = "Connections")]
    pub connect_to: Vec<String>,

    /// Close a connection after this time; a fixed pool opens another in its place
    #[arg(long, value_name = "TIME", help_heading = "Connections", value_parser = value::a_second_or_more)]
    #[serde(serialize_with = "value::as_ns")]
    pub connection_age: Option<Nanos>,

    /// Resolve the target's name again this often; new connections go to the addresses of the last answer
    #[arg(long, value_name = "TIME", help_heading = "Connections", value_parser = value::a_second_or_more,
          conflicts_with = "unix_socket")]
    #[serde(serialize_with = "value::as_ns")]
    pub resolve_every: Option<Nanos>,

    /// Connect to this Unix-domain socket instead of the URL's host
    #[arg(long, value_name = "PATH", conflicts_with = "connect_to", help_heading = "Connections")]
    pub unix_socket: Option<PathBuf>,

    #[command(flatten)]
    #[serde(flatten)]
    pub request: RequestArgs,

    /// What an answer must be like to count as ok; may be given several times
    #[arg(long, value_name = "CONDITION", help_heading = "Request", value_parser = expect::expectation)]
    pub expect: Vec<expect::Expectation>,

    /// An answer with a larger body has failed
    #[arg(long, value_name = "BYTES", default_value = "1g", help_heading = "Request", value_parser = value::bytes)]
    pub max_body_size: u64,

    /// Do not send one request per target before the run
    #[arg(long, help_heading = "Request", value_name = "true|false", num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true", hide_default_value = true,
          hide_possible_values = true, action = clap::ArgAction::Set)]
    pub no_preflight: bool,

    /// Accept any certificate
    #[arg(short = 'k', long, help_heading = "TLS", value_name = "true|false", num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true", hide_default_value = true,
          hide_possible_values = true, action = clap::ArgAction::Set)]
    pub insecure: bool,

    /// Trust the certificates in this PEM file instead of the system's
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub cacert: Option<PathBuf>,

    /// Present this client certificate (PEM)
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub cert: Option<PathBuf>,

    /// Key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub key: Option<PathBuf>,
}

/// What punctuality may cost.
#[derive(clap::ValueEnum, serde::Serialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PacingArg {
    /// Most of a processor; where permitted, at a real-time priority and with no processor asleep
    Precise,
    /// A short spin before each arrival, as long as wake-ups are late here
    Balanced,
    /// No spinning: arrivals leave up to 1 ms late, in groups
    Frugal,
}

impl PacingArg {
    /// As the engine calls it.
    pub(crate) fn mode(self) -> Pacing {
        match self {
            PacingArg::Precise => Pacing::Precise,
            PacingArg::Balanced => Pacing::Balanced,
            PacingArg::Frugal => Pacing::Frugal,
        }
    }
}
