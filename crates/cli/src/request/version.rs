//! Versions of HTTP: which one is asked for, and what is sent in it.

use super::account::{Account, CqlAccount};
use super::login::Login;
use anyhow::{Result, bail};
use clap::ValueEnum;
use unblink_artifact::document::Protocol;
use unblink_engine::tls::{HTTP_1_1, Offers};
use unblink_wire::ws::Ask;
use unblink_wire::{cql, http1, http2, postgres, redis, ws};

/// `--http`.
#[derive(ValueEnum, serde::Serialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum HttpArg {
    /// HTTP/1.1: one request at a time on a connection
    #[default]
    #[value(name = "1.1")]
    #[serde(rename = "1.1")]
    One,
    /// HTTP/2; without TLS, the target must know (prior knowledge)
    #[value(name = "2")]
    #[serde(rename = "2")]
    Two,
    /// HTTP/2 if all targets use TLS and choose it, HTTP/1.1 if none does
    #[serde(rename = "auto")]
    Auto,
}

impl HttpArg {
    /// The version, unless the targets are to decide.
    pub(crate) fn stated(self) -> Option<Version> {
        match self {
            HttpArg::One => Some(Version::One),
            HttpArg::Two => Some(Version::Two),
            HttpArg::Auto => None,
        }
    }

    /// Left out of what a search remembers of itself, so that those of earlier builds can go on.
    pub(crate) fn is_default(&self) -> bool {
        *self == HttpArg::default()
    }
}

/// The version that is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    One,
    Two,
    /// Calls of gRPC, over HTTP/2.
    Grpc,
    /// Of HTTP only the upgrade.
    WebSocket,
    /// HTTP/1.1, and WebSockets that journeys open.
    Steps,
    /// None of HTTP.
    Redis,
    Postgres,
    Cql,
}

impl Version {
    /// What TLS offers. A server that does not know HTTP/2 chooses the other one, which says more than its refusal.
    pub(crate) fn offers(self) -> Offers<'static> {
        match self {
            Version::One | Version::WebSocket | Version::Steps => &[HTTP_1_1],
            Version::Two | Version::Grpc => &[http2::ALPN, HTTP_1_1],
            Version::Redis | Version::Postgres | Version::Cql => &[],
        }
    }

    /// As the document calls it.
    pub(crate) fn protocol(self) -> Protocol {
        match self {
            Version::One | Version::Steps => Protocol::Http11,
            Version::Two => Protocol::Http2,
            Version::Grpc => Protocol::Grpc,
            Version::WebSocket => Protocol::WebSocket,
            Version::Redis => Protocol::Redis,
            Version::Postgres => Protocol::Postgres,
            Version::Cql => Protocol::Cql,
        }
    }
}

/// A request, rendered.
#[derive(Clone, Debug)]
pub(crate) enum Rendered {
    One(http1::Request),
    Two(http2::Request),
    Grpc(http2::Request),
    WebSocket(ws::Handshake, ws::Message),
    Step(Ask),
    Redis(Login, redis::Command),
    Postgres(Account, postgres::Transaction),
    Cql(CqlAccount, cql::Statement),
}

/// What is sent, by operation.
#[derive(Debug)]
pub(crate) enum Operations {
    One(Vec<http1::Request>),
    Two(Vec<http2::Request>),
    Grpc(Vec<http2::Request>),
    /// With how every socket begins; nothing as long as there are no messages.
    WebSocket(Option<ws::Handshake>, Vec<ws::Message>),
    Steps(Vec<Ask>),
    /// The same with what every connection says first.
    Redis(Option<Login>, Vec<redis::Command>),
    /// The same.
    Postgres(Option<Account>, Vec<postgres::Transaction>),
    /// The same.
    Cql(Option<CqlAccount>, Vec<cql::Statement>),
}

impl Operations {
    pub(crate) fn new(version: Version) -> Operations {
        match version {
            Version::One => Operations::One(Vec::new()),
            Version::Two => Operations::Two(Vec::new()),
            Version::Grpc => Operations::Grpc(Vec::new()),
            Version::WebSocket => Operations::WebSocket(None, Vec::new()),
            Version::Steps => Operations::Steps(Vec::new()),
            Version::Redis => Operations::Redis(None, Vec::new()),
            Version::Postgres => Operations::Postgres(None, Vec::new()),
            Version::Cql => Operations::Cql(None, Vec::new()),
        }
    }

    pub(crate) fn version(&self) -> Version {
        match self {
            Operations::One(_) => Version::One,
            Operations::Two(_) => Version::Two,
            Operations::Grpc(_) => Version::Grpc,
            Operations::WebSocket(..) => Version::WebSocket,
            Operations::Steps(_) => Version::Steps,
            Operations::Redis(..) => Version::Redis,
            Operations::Postgres(..) => Version::Postgres,
            Operations::Cql(..) => Version::Cql,
        }
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Operations::One(all) => all.len(),
            Operations::Two(all) | Operations::Grpc(all) => all.len(),
            Operations::WebSocket(_, all) => all.len(),
            Operations::Steps(all) => all.len(),
            Operations::Redis(_, all) => all.len(),
            Operations::Postgres(_, all) => all.len(),
            Operations::Cql(_, all) => all.len(),
        }
    }

    /// Adds a request, which was rendered in the same version.
    ///
    /// # Errors
    /// It can't share its connections with those before it.
    pub(crate) fn push(&mut self, request: Rendered) -> Result<()> {
        match (self, request) {
            (Operations::WebSocket(known, all), Rendered::WebSocket(handshake, message)) => {
                if known.get_or_insert_with(|| handshake.clone()) != &handshake {
                    bail!(
                        "all messages of a run go over the same sockets, and this one asks for another URL or other headers: put \
                         it into a run of its own"
                    );
                }
                all.push(message);
            }
            (Operations::Redis(known, all), Rendered::Redis(login, command)) => {
                if known.get_or_insert_with(|| login.clone()) != &login {
                    bail!(
                        "all commands of a run go over the same connections, and this one asks for another user or database: put \
                         it into a run of its own"
                    );
                }
                all.push(command);
            }
            (Operations::Steps(all), Rendered::Step(step)) => all.push(step),
            (Operations::Postgres(known, all), Rendered::Postgres(account, transaction)) => {
                if known.get_or_insert_with(|| account.clone()) != &account {
                    bail!(
                        "all requests of a run go over the same connections, and this one asks for another user or database: put \
                         it into a run of its own"
                    );
                }
                all.push(transaction);
            }
            (Operations::Cql(known, all), Rendered::Cql(account, statement)) => {
                if known.get_or_insert_with(|| account.clone()) != &account {
                    bail!(
                        "all requests of a run go over the same connections, and this one asks for another user or keyspace: put \
                         it into a run of its own"
                    );
                }
                if all.len() == cql::STREAMS_MAX as usize {
                    bail!(
                        "a run has at most {} statements of CQL: they are prepared at once",
                        cql::STREAMS_MAX
                    );
                }
                all.push(statement);
            }
            (Operations::One(all), Rendered::One(request)) => all.push(request),
            (Operations::Two(all), Rendered::Two(request)) => all.push(request),
            (Operations::Grpc(all), Rendered::Grpc(request)) => all.push(request),
            _ => unreachable!("requests of a run are rendered in one version"),
        }
        Ok(())
    }
}
