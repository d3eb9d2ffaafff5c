//! Where requests went: connections are shared within an origin.

use super::{Connections, Distribution, OperationArrivals};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// Where requests went, and what came of them and of the connections to it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Origin {
    /// Its name.
    #[serde(flatten)]
    pub name: OriginName,
    /// Connections over the whole run.
    pub connections: Connections,
    /// Where every measured arrival for it ended. Absent where the run has one origin: then all arrivals are for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arrivals: Option<OperationArrivals>,
    /// Failed arrivals by kind; empty where `arrivals` is absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub failures: BTreeMap<String, u64>,
    /// Answers by code, as its protocol has them, also those that came after the timeout; empty where `arrivals` is absent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub codes: BTreeMap<String, u64>,
    /// Intended start to last byte; absent where `arrivals` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_time: Option<Distribution>,
    /// Send to last byte; absent where `arrivals` is, and of a run without an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_time: Option<Distribution>,
    /// Why the request before the run failed, if it did: then nothing was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preflight: Option<String>,
}

impl Origin {
    /// The only one of a run: what came of all arrivals came of those for it.
    pub fn of_all(name: OriginName, connections: Connections, preflight: Option<String>) -> Origin {
        Origin {
            name,
            connections,
            preflight,
            arrivals: None,
            failures: BTreeMap::new(),
            codes: BTreeMap::new(),
            response_time: None,
            service_time: None,
        }
    }
}

/// Scheme, host and port, as in a URL; all three absent for a server that is simulated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OriginName {
    /// With or without TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheme: Option<Scheme>,
    /// Name or address, an IPv6 one without brackets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// TCP port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// As in a URL; `simulated` where there is none.
impl fmt::Display for OriginName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(scheme), Some(host), Some(port)) = (self.scheme, &self.host, self.port) else {
            return f.write_str("simulated");
        };
        let scheme = match scheme {
            Scheme::Http => "http",
            Scheme::Https => "https",
            Scheme::Ws => "ws",
            Scheme::Wss => "wss",
            Scheme::Grpc => "grpc",
            Scheme::Grpcs => "grpcs",
            Scheme::Redis => "redis",
            Scheme::Rediss => "rediss",
            Scheme::Postgres => "postgres",
            Scheme::Cql => "cql",
            Scheme::Cqls => "cqls",
        };
        match host.contains(':') {
            true => write!(f, "{scheme}://[{host}]:{port}"),
            false => write!(f, "{scheme}://{host}:{port}"),
        }
    }
}

/// The scheme of a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// In plain text.
    Http,
    /// Over TLS.
    Https,
    /// A WebSocket in plain text.
    Ws,
    /// A WebSocket over TLS.
    Wss,
    /// gRPC in plain text.
    Grpc,
    /// gRPC over TLS.
    Grpcs,
    /// Redis in plain text.
    Redis,
    /// Redis over TLS.
    Rediss,
    /// PostgreSQL in plain text.
    Postgres,
    /// CQL in plain text.
    Cql,
    /// CQL over TLS.
    Cqls,
}

impl Scheme {
    /// The port that goes without saying.
    pub fn port(self) -> u16 {
        match self {
            Scheme::Http | Scheme::Ws | Scheme::Grpc => 80,
            Scheme::Https | Scheme::Wss | Scheme::Grpcs => 443,
            Scheme::Redis | Scheme::Rediss => 6379,
            Scheme::Postgres => 5432,
            Scheme::Cql | Scheme::Cqls => 9042,
        }
    }
}
