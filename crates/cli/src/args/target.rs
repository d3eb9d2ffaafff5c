//! How requests are sent and what their answers must be like: flags that every command with a real target has in
//! common.

use super::guards::GuardArgs;
use super::redis::RedisArgs;
use super::replay::{PathTemplate, path_template};
use super::script::ScriptArgs;
use super::tls::TlsArgs;
use super::web_socket::WebSocketArgs;
use crate::request::fields::RequestArgs;
use crate::request::grpc::fields::GrpcArgs;
use crate::request::share::OrderArg;
use crate::request::version::HttpArg;
use crate::value;
use clap::Args;
use std::path::PathBuf;
use unblink_core::time::Nanos;
use unblink_engine::pacing::Pacing;

/// The way to the target, and what is asked of it.
#[derive(Args, serde::Serialize, Clone, Debug)]
pub(crate) struct TargetArgs {
    /// Worker threads [default: one per 50,000/s, rounded up, and at most one per processor]
    #[arg(short, long, value_name = "COUNT", help_heading = "Connections", allow_hyphen_values = true,
          value_parser = value::threads)]
    pub threads: Option<u32>,

    /// How much CPU to spend on sending requests on time
    #[arg(long, value_enum, default_value_t = PacingArg::Balanced, help_heading = "Load")]
    pub pacing: PacingArg,

    /// Ask for what a recorded path means here, as in '/items/{id} = /items/{{item}}': {id} is any number in a path of --replay, and
    /// the text after = is a template (see --let). May be given several times
    #[arg(long, value_name = "PATH = PATH", help_heading = "Load", value_parser = path_template)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub path_template: Vec<PathTemplate>,

    /// Version of HTTP
    #[arg(long, value_enum, value_name = "VERSION", default_value_t = HttpArg::One, help_heading = "Connections")]
    #[serde(skip_serializing_if = "HttpArg::is_default")]
    pub http: HttpArg,

    /// Requests at once on a connection of HTTP/2, gRPC or CQL, if the target allows as many [default: 100]
    #[arg(long, value_name = "COUNT", help_heading = "Connections", allow_hyphen_values = true,
          value_parser = value::streams)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub streams: Option<u32>,

    #[command(flatten)]
    #[serde(flatten)]
    pub web_socket: WebSocketArgs,

    #[command(flatten)]
    #[serde(flatten)]
    pub grpc: GrpcArgs,

    #[command(flatten)]
    #[serde(flatten)]
    pub redis: RedisArgs,

    /// Connect to HOST2:PORT2 for requests to HOST1:PORT1; if given several times, connections go to each in turn
    #[arg(long, value_name = "HOST1:PORT1:HOST2:PORT2", help_heading = "Connections")]
    pub connect_to: Vec<String>,

    /// Send each request of CQL to a node that has its row, as the cluster's ring of tokens says, if a connection to one has room
    #[arg(long, value_enum, value_name = "on|off", default_value_t = TokenAware::On, help_heading = "Connections")]
    #[serde(skip_serializing_if = "TokenAware::is_default")]
    pub token_aware: TokenAware,

    /// Close each connection after this time; a fixed pool opens a new one in its place
    #[arg(long, value_name = "TIME", help_heading = "Connections", value_parser = value::a_second_or_more)]
    #[serde(serialize_with = "value::as_ns")]
    pub connection_age: Option<Nanos>,

    /// Resolve the target's name again this often; new connections use the latest addresses
    #[arg(long, value_name = "TIME", help_heading = "Connections", value_parser = value::a_second_or_more,
          conflicts_with = "unix_socket")]
    #[serde(serialize_with = "value::as_ns")]
    pub resolve_every: Option<Nanos>,

    /// Connect to this Unix-domain socket instead of the URL's host
    #[arg(long, value_name = "PATH", conflicts_with = "connect_to", help_heading = "Connections")]
    pub unix_socket: Option<PathBuf>,

    // What ends the load is not what is measured.
    #[command(flatten)]
    #[serde(skip)]
    pub guards: GuardArgs,

    /// Which request comes when [default: shuffled where requests have shares, turn where they have none]
    #[arg(long, value_enum, value_name = "ORDER", help_heading = "Request")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub order: Option<OrderArg>,

    #[command(flatten)]
    #[serde(flatten)]
    pub request: RequestArgs,

    #[command(flatten)]
    #[serde(flatten)]
    pub script: ScriptArgs,

    /// Count an answer with a larger body as failed
    #[arg(long, value_name = "BYTES", default_value = "1g", help_heading = "Request", value_parser = value::bytes)]
    pub max_body_size: u64,

    /// Skip the check before the run, which requests each target once
    #[arg(long, help_heading = "Request", value_name = "true|false", num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true", hide_default_value = true,
          hide_possible_values = true, action = clap::ArgAction::Set)]
    pub no_preflight: bool,

    /// What is sent is only shown: as HTTP/1.1 would write it, whatever is measured.
    #[arg(skip)]
    #[serde(skip)]
    pub as_text: bool,

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

    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", help_heading = "TLS")]
    pub key: Option<PathBuf>,
}

impl TargetArgs {
    /// Its flags of TLS.
    pub(crate) fn tls(&self) -> TlsArgs {
        TlsArgs {
            insecure: self.insecure,
            cacert: self.cacert.clone(),
            cert: self.cert.clone(),
            key: self.key.clone(),
        }
    }

    /// Replaces its flags of TLS.
    pub(crate) fn set_tls(&mut self, tls: &TlsArgs) {
        let TlsArgs { insecure, cacert, cert, key } = tls.clone();
        (self.insecure, self.cacert, self.cert, self.key) = (insecure, cacert, cert, key);
    }
}

/// Whether requests go where their rows are.
#[derive(clap::ValueEnum, serde::Serialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenAware {
    /// Where the cluster has several nodes
    On,
    /// To any node
    Off,
}

impl TokenAware {
    #[allow(clippy::trivially_copy_pass_by_ref)] // As serde has it.
    fn is_default(&self) -> bool {
        *self == TokenAware::On
    }
}

/// What punctuality may cost.
#[derive(clap::ValueEnum, serde::Serialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PacingArg {
    /// The most exact: uses most of a processor; if allowed, runs at real-time priority and keeps processors awake
    Precise,
    /// Spins briefly before each request, for as long as wake-ups on this machine are late
    Balanced,
    /// The cheapest: never spins; requests leave in groups, up to 1 ms late
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
