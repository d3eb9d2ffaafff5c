//! `unblink lab serve`: its flags.

use crate::value;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use unblink_core::time::Nanos;

const HELP: &str = "\
SCENARIOS (made for 60 s at 1,000/s)
  healthy      answers after 10 ms
  stall        no answers for 1 s, starting at 30 s
  ramp         the delay goes from 10 ms to 100 ms between 20 s and 50 s
  pauses       no answers for 200 ms every 10 s, first at 9.5 s, six times
  saturation   serves 5 requests at once, the others wait
  headroom     serves 50 at once, which is enough
  early, late  the stall starts at 5 s, or at 59.5 s
  frozen       the whole process stops for 1 s, starting at 30 s
  accept       each answer ends its connection; no connection is accepted from 30 s to 31 s
  one-in-100   one request in 100 takes 200 ms
  timeouts     requests that arrive from 30 s to 31 s take 10 s
  resets       requests that arrive from 30 s to 31 s are reset
  errors       requests that arrive in 3 s of every 5 s fail at once with status 500
  trickle      answers after 50 ms
  fast         answers after 200 µs
  one-server   one request at a time, 1 ms each; every 500th takes 200 ms (for 30 s at 450/s)

Every path is answered the same way; /healthy always answers at once. `accept` is for HTTP/1.1 alone, `errors` not for
WebSocket.

EXAMPLES
  unblink lab serve --scenario stall
  unblink lab serve --scenario healthy --baseline 2ms --stall-at 5s --stall-for 500ms
  unblink lab serve --scenario saturation --max-concurrency 20 --truth truth.csv
  unblink lab serve --grpc      then: unblink run grpc://127.0.0.1:8080/lab.Echo/Say -d 60s
  unblink lab serve --events 20 --event-gap 50ms

EXIT STATUS
  0 stopped   2 wrong usage";

/// Start a server (HTTP, gRPC or WebSocket) that misbehaves on a known timetable, to test load testers with.
#[derive(Args, Debug)]
#[command(after_help = HELP)]
pub(crate) struct ServeArgs {
    /// How the server misbehaves
    #[arg(long, value_name = "NAME", default_value = "stall",
          value_parser = clap::builder::PossibleValuesParser::new(unblink_lab::Scenario::names().chain([unblink_lab::Scenario::ONE_SERVER])))]
    pub scenario: String,

    /// Fit the scenario to a run of this length: its events move and shrink
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = value::duration)]
    pub made_for: Nanos,

    /// Where to listen; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8080", value_parser = listen)]
    pub listen: SocketAddr,

    /// Delay of each answer
    #[arg(long, value_name = "TIME", help_heading = "Numbers of the scenario", value_parser = value::duration)]
    pub baseline: Option<Nanos>,

    /// When to stall, counted from the start of the clock (see --clock)
    #[arg(long, value_name = "TIME", help_heading = "Numbers of the scenario", value_parser = value::duration)]
    pub stall_at: Option<Nanos>,

    /// How long to stall
    #[arg(long, value_name = "TIME", help_heading = "Numbers of the scenario", value_parser = value::duration)]
    pub stall_for: Option<Nanos>,

    /// Delay after the ramp; before it, the delay is --baseline
    #[arg(long, value_name = "TIME", help_heading = "Numbers of the scenario", value_parser = value::duration)]
    pub ramp_to: Option<Nanos>,

    /// When the ramp begins
    #[arg(long, value_name = "TIME", help_heading = "Numbers of the scenario", value_parser = value::duration)]
    pub ramp_start: Option<Nanos>,

    /// When the ramp ends
    #[arg(long, value_name = "TIME", help_heading = "Numbers of the scenario", value_parser = value::duration)]
    pub ramp_end: Option<Nanos>,

    /// When the first pause begins
    #[arg(long, value_name = "TIME", help_heading = "Numbers of the scenario", value_parser = value::duration)]
    pub pause_first: Option<Nanos>,

    /// Time from one pause to the next
    #[arg(long, value_name = "TIME", help_heading = "Numbers of the scenario", value_parser = value::duration)]
    pub pause_every: Option<Nanos>,

    /// How long each pause lasts
    #[arg(long, value_name = "TIME", help_heading = "Numbers of the scenario", value_parser = value::duration)]
    pub pause_for: Option<Nanos>,

    /// How many pauses
    #[arg(long, value_name = "COUNT", help_heading = "Numbers of the scenario", value_parser = value::positive)]
    pub pause_count: Option<u32>,

    /// Requests served at once; the others wait in order
    #[arg(long, value_name = "COUNT", help_heading = "Numbers of the scenario", value_parser = value::positive)]
    pub max_concurrency: Option<u32>,

    /// What starts the clock of the scenario: the first request of a run (a single request before it counts as a
    /// probe), the start of the process, or POST /_lab/arm
    #[arg(long, value_enum, default_value_t = Clock::First, help_heading = "Server")]
    pub clock: Clock,

    /// Treat the first requests as probes if they come one at a time and nothing follows for this long; must be longer
    /// than the time between two requests of a slow load
    #[arg(long, value_name = "TIME", default_value = "20ms", help_heading = "Server", value_parser = value::duration)]
    pub probe_gap: Nanos,

    /// Log what happened to each request in this CSV file
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    pub truth: Option<PathBuf>,

    /// Body size of each answer
    #[arg(long, value_name = "BYTES", default_value = "16", help_heading = "Server", value_parser = value::bytes)]
    pub body_size: u64,

    /// Answer with JSON that tells each request's number: {"id":7,"token":"t-00000007","state":"open"}; every third one
    /// is "paid"
    #[arg(long, conflicts_with = "body_size", help_heading = "Server")]
    pub answer_json: bool,

    /// Version of HTTP; 2 needs prior knowledge, or ALPN with TLS
    #[arg(long, value_enum, default_value_t, value_name = "VERSION", help_heading = "Server")]
    pub http: Http,

    /// Serve gRPC instead: lab.Echo/Say and the stream lab.Echo/Watch, with reflection and health
    #[arg(long, conflicts_with_all = ["http", "answer_json", "body_size"], help_heading = "Server")]
    pub grpc: bool,

    /// Serve WebSocket instead: each message comes back as its answer
    #[arg(long, conflicts_with_all = ["http", "grpc", "answer_json", "body_size", "events"], help_heading = "Server")]
    pub ws: bool,

    /// Answer with a stream of this many server-sent events; the first comes when the answer would. With --grpc: messages
    /// of each answer of lab.Echo/Watch [default: 10]
    #[arg(long, value_name = "COUNT", conflicts_with_all = ["answer_json", "body_size"], help_heading = "Server", value_parser = value::positive)]
    pub events: Option<u32>,

    /// Time from one event of an answer to the next
    #[arg(long, value_name = "TIME", default_value = "10ms", help_heading = "Server", value_parser = value::duration)]
    pub event_gap: Nanos,

    /// Serve what the server says of itself here, under /metrics: requests, errors, and a histogram of its own times, as text and
    /// as protobuf; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS:PORT", help_heading = "Server", value_parser = listen)]
    pub metrics: Option<SocketAddr>,

    /// Serve https with a certificate made at startup
    #[arg(long, help_heading = "Server")]
    pub tls: bool,

    /// Serve https with this certificate (PEM)
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    pub cert: Option<PathBuf>,

    /// Private key of the certificate (PEM)
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    pub key: Option<PathBuf>,

    /// Write the server's certificate to this file, for a client's --cacert
    #[arg(long, value_name = "FILE", help_heading = "Server")]
    pub write_cert: Option<PathBuf>,

    /// Print the address, and the summary at the end, as JSON
    #[arg(long, help_heading = "Server")]
    pub json: bool,
}

/// What starts the clock of events.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Clock {
    /// The first request of a run
    First,
    /// The start of the process
    Process,
    /// POST /_lab/arm
    Arm,
}

/// What the server speaks.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Http {
    /// HTTP/1.1 and HTTP/1.0
    #[default]
    #[value(name = "1.1")]
    One,
    /// HTTP/2 alone
    #[value(name = "2")]
    Two,
}

fn listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!("{text:?} is not an address with a port: expected such as 127.0.0.1:8080 or [::1]:8080")
    })
}
