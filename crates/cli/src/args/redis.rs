//! How commands go to Redis.

use clap::{Args, ValueEnum};

/// What a run against Redis must know beside its commands.
#[derive(Args, serde::Serialize, Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct RedisArgs {
    /// Version of Redis's protocol; 3 is asked for by HELLO [default: 2]
    #[arg(long, value_enum, value_name = "VERSION", help_heading = "Connections")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resp: Option<RespArg>,
}

/// `--resp`.
#[derive(ValueEnum, serde::Serialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum RespArg {
    /// RESP2
    #[default]
    #[value(name = "2")]
    #[serde(rename = "2")]
    Two,
    /// RESP3
    #[value(name = "3")]
    #[serde(rename = "3")]
    Three,
}
