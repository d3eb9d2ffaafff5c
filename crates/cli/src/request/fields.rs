//! What a request is made of: flags for every request of a run, and fields of each request that a plan lists.

use super::cql_fields::CqlArgs;
use crate::expect;
use clap::Args;
use std::path::PathBuf;
use unblink_workload::answer::{Condition, EventFormat};

/// What a request says beside its address.
#[derive(Args, serde::Serialize, Clone, Debug, Default)]
pub(crate) struct RequestArgs {
    /// Method of the requests [default: GET, or POST with a body]
    #[arg(short = 'X', long, short_alias = 'm', value_name = "METHOD", help_heading = "Request")]
    pub method: Option<String>,

    /// Add a header; may be given several times
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", help_heading = "Request")]
    pub headers: Vec<String>,

    /// Identify this load to the target's owners: X-Load-Test with this name, and a User-Agent that has it
    #[arg(long, value_name = "NAME", help_heading = "Request", value_parser = run_name)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name_requests: Option<String>,

    /// Name a trace in each request (W3C Trace Context); the slowest arrivals carry theirs
    #[arg(long, help_heading = "Request", value_name = "true|false", num_args = 0..=1, require_equals = true,
          default_value_t = false, default_missing_value = "true", hide_default_value = true,
          hide_possible_values = true, action = clap::ArgAction::Set)]
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub traceparent: bool,

    /// Send this body; of gRPC, the message as JSON
    #[arg(long, visible_alias = "data", value_name = "TEXT", help_heading = "Request")]
    pub body: Option<String>,

    /// Send the contents of this file as the body
    #[arg(long, value_name = "FILE", conflicts_with = "body", help_heading = "Request")]
    pub body_file: Option<PathBuf>,

    /// Send this message over a WebSocket (ws:// or wss://)
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["body", "body_file"], help_heading = "Request")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,

    /// Send this command to Redis (redis:// or rediss://), such as 'GET {{key}}'; given several times, each is one word of it
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["body", "body_file", "message"], help_heading = "Request")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,

    /// Do this in PostgreSQL (postgres://), such as 'SELECT * FROM item WHERE id = {{id}}'; given several times, all are one
    /// transaction
    #[arg(long, value_name = "STATEMENT", conflicts_with_all = ["body", "body_file", "message", "command"], help_heading = "Request")]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sql: Vec<String>,

    #[command(flatten)]
    #[serde(flatten)]
    pub cql: CqlArgs,

    /// What an answer must look like to count as ok, such as status=201, 'header X-Id' or 'json $.id exists'; may be given
    /// several times
    #[arg(long, value_name = "CONDITION", help_heading = "Request", value_parser = expect::condition)]
    #[serde(serialize_with = "expect::without_secrets")]
    pub expect: Vec<Condition>,

    /// Time the events of each answer: to the first one, and from one to the next
    #[arg(long, value_enum, value_name = "FORMAT", help_heading = "Request")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<StreamArg>,
}

/// Whatever stands in a log without being quoted.
fn run_name(text: &str) -> Result<String, String> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._:/-".contains(&byte);
    match text.bytes().all(is_plain) && (1..=64).contains(&text.len()) {
        true => Ok(text.to_string()),
        false => {
            Err(format!("{text:?} is not a valid name for a run: use up to 64 letters, digits and . _ : / -"))
        }
    }
}

/// What an event is.
#[derive(clap::ValueEnum, serde::Serialize, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum StreamArg {
    /// A block of a text/event-stream (server-sent events) that has data
    Sse,
    /// A line that is not blank, as in JSON Lines
    Lines,
    /// A message of a gRPC method that answers with a stream
    Messages,
}

impl StreamArg {
    /// What each answer must be like: it has an event at least.
    pub(crate) fn condition(self) -> Condition {
        Condition::Events(self.format())
    }

    /// As answers are taken apart.
    pub(crate) fn format(self) -> EventFormat {
        match self {
            StreamArg::Sse => EventFormat::Sse,
            StreamArg::Lines => EventFormat::Lines,
            StreamArg::Messages => EventFormat::Messages,
        }
    }
}

/// One request of a plan.
#[derive(Args, Debug)]
pub(crate) struct PlannedRequest {
    /// How the report and the objectives call it
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,

    /// A path at the target, or a whole URL
    #[arg(long, value_name = "URL", required = true)]
    pub url: String,

    /// Its share of the load, such as 80%; those of all requests sum to 100%
    #[arg(long, value_name = "PERCENT")]
    pub share: Option<String>,

    /// Its share of the load as a whole number beside those of the others, instead of share
    #[arg(long, value_name = "COUNT", conflicts_with = "share")]
    pub weight: Option<String>,

    /// Each of these requests adds a key, so that latest(…) draws newer keys as time goes on
    #[arg(long)]
    pub inserts: bool,

    /// Send this table as JSON
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["body", "body_file"])]
    pub json: Option<String>,

    /// Send this table as the fields of a form
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["body", "body_file", "json"])]
    pub form: Option<String>,

    /// Send these parts, each with its name and a value or a file
    #[arg(long, value_name = "TABLE", conflicts_with_all = ["body", "body_file", "json", "form"])]
    pub multipart: Option<String>,

    #[command(flatten)]
    pub own: RequestArgs,
}
