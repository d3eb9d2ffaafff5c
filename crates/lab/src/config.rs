//! How a server is set up.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use unblink_artifact::document;

use crate::{ClockStart, EventStream, Harm, LabError, Scenario};

/// The largest body of an answer, in bytes.
const LARGEST_BODY_BYTES: usize = 64 << 20;
/// The longest gap between two events.
const LONGEST_GAP: Duration = Duration::from_secs(3_600);
/// The longest spin: more would only burn a core.
const LONGEST_SPIN: Duration = Duration::from_millis(10);

/// A lab server's settings. Build it with [`ServerConfig::new`] and change what differs.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Where to listen; port 0 takes any free one.
    pub listen: SocketAddr,
    /// What to do to the requests.
    pub scenario: Scenario,
    /// What starts the event clock.
    pub clock: ClockStart,
    /// For [`ClockStart::FirstRequest`]: nothing in flight for so long after a probe makes the next request the
    /// first of the run. 20 ms by default: well above the gap that a scheduler leaves between two requests of a
    /// run, well below the pause of a load tester after its probe.
    pub probe_gap: Duration,
    /// For [`ClockStart::FirstRequest`]: nothing in flight for so long makes the next request start a new run.
    pub rearm_after: Duration,
    /// Whether to speak TLS.
    pub tls: Option<Tls>,
    /// What it speaks, and nothing else.
    pub protocol: Protocol,
    /// Answers come as so many events: server-sent ones over HTTP, messages of gRPC's `Watch`.
    pub events: Option<EventStream>,
    /// Where to write what happened to each request.
    pub truth_log: Option<PathBuf>,
    /// How long before a due answer the server stops sleeping and spins. 50 µs by default.
    pub spin: Duration,
    /// The size of an answer's body, in bytes.
    pub body_bytes: usize,
    /// Answers are JSON instead, which tells the request's number: what journeys take and go on with.
    pub json: bool,
    /// Where to serve what it says of itself (`GET /metrics`), on a thread of its own.
    pub metrics: Option<SocketAddr>,
}

/// What a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Deserialize)]
pub enum Protocol {
    /// HTTP/1.1 and HTTP/1.0.
    #[default]
    #[serde(rename = "http/1.1")]
    Http1,
    /// HTTP/2: chosen by ALPN over TLS, by prior knowledge without.
    #[serde(rename = "http/2")]
    Http2,
    /// gRPC, over HTTP/2.
    #[serde(rename = "grpc")]
    Grpc,
    /// WebSocket: each message is a request, and comes back as its answer.
    #[serde(rename = "websocket")]
    WebSocket,
}

impl Protocol {
    /// As documents call it.
    pub fn described(self) -> document::Protocol {
        match self {
            Protocol::Http1 => document::Protocol::Http11,
            Protocol::Http2 => document::Protocol::Http2,
            Protocol::Grpc => document::Protocol::Grpc,
            Protocol::WebSocket => document::Protocol::WebSocket,
        }
    }

    /// The URL of what is to be loaded at an address.
    pub fn url(self, address: &str, is_tls: bool) -> String {
        let (scheme, path) = match self {
            Protocol::Http1 | Protocol::Http2 => ("http", ""),
            Protocol::Grpc => ("grpc", "lab.Echo/Say"),
            Protocol::WebSocket => ("ws", ""),
        };
        format!("{scheme}{}://{address}/{path}", if is_tls { "s" } else { "" })
    }

    /// Why it can't play a scenario; `None`: it can.
    pub fn lacks(self, scenario: &Scenario) -> Option<&'static str> {
        let fails = scenario.faults.iter().any(|fault| matches!(fault.harm, Harm::Error { .. }));
        match self {
            Protocol::Http1 => None,
            _ if scenario.ends_connections() => {
                Some("ends a connection with each answer: it can be served over HTTP/1.1 alone")
            }
            Protocol::WebSocket if fails => {
                Some("answers with status 500, and a message has no status: serve it over another protocol")
            }
            _ => None,
        }
    }
}

/// Where the server's certificate comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tls {
    /// Made at start for `localhost`, `127.0.0.1`, `::1` and the address listened on.
    SelfSigned,
    /// PEM files.
    Files {
        /// The certificate and its chain, the server's own first.
        certificates: PathBuf,
        /// The private key.
        key: PathBuf,
    },
}

impl ServerConfig {
    /// The defaults: plain HTTP on 127.0.0.1:8080, the clock started by the first request, no truth log.
    pub fn new(scenario: Scenario) -> Self {
        Self {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8080)),
            scenario,
            clock: ClockStart::default(),
            probe_gap: Duration::from_millis(20),
            rearm_after: Duration::from_secs(5),
            tls: None,
            protocol: Protocol::default(),
            events: None,
            truth_log: None,
            spin: Duration::from_micros(50),
            body_bytes: 16,
            json: false,
            metrics: None,
        }
    }

    /// Rejects what cannot work, with the reason.
    pub fn validate(&self) -> Result<(), LabError> {
        self.scenario.validate()?;
        if let Some(why) = self.protocol.lacks(&self.scenario) {
            return Err(LabError::Config(format!("the scenario {} {why}", self.scenario.name)));
        }
        if let Some(EventStream { count, gap }) = self.events {
            let most = EventStream::MOST;
            if self.protocol == Protocol::WebSocket {
                let why = "a WebSocket answers a message with one of its own: events come over HTTP and gRPC";
                return Err(LabError::Config(why.to_owned()));
            }
            if count == 0 || count > most || gap > LONGEST_GAP {
                let why = format!("an answer has 1 to {most} events, at most {LONGEST_GAP:?} apart");
                return Err(LabError::Config(why));
            }
        }
        if self.body_bytes > LARGEST_BODY_BYTES {
            return Err(LabError::Config(format!("a body has at most {LARGEST_BODY_BYTES} bytes")));
        }
        if self.spin > LONGEST_SPIN {
            return Err(LabError::Config(format!("spin at most {LONGEST_SPIN:?}")));
        }
        if self.probe_gap > self.rearm_after {
            return Err(LabError::Config(format!(
                "the probe gap (--probe-gap) is longer than the silence that ends a run: give {:?} or less",
                self.rearm_after
            )));
        }
        Ok(())
    }
}
