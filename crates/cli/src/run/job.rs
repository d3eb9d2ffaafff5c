//! A job in whichever version of HTTP is measured.

use crate::args::target::TargetArgs;
use crate::args::web_socket::{MatchArg, MessageType, WebSocketArgs};
use crate::request::version::Operations;
use std::sync::Arc;
use std::time::Duration;
use unblink_artifact::document::{self, WebSocketPlan};
use unblink_core::arrival::Arrival;
use unblink_core::plan::Plan;
use unblink_engine::error::EngineError;
use unblink_engine::job::Job;
use unblink_engine::preflight::{AskedOnce, PreflightError, preflight};
use unblink_engine::run::Running;
use unblink_engine::target::Target;
use unblink_engine::walk::Walk;
use unblink_wire::Limits;
use unblink_wire::http1::Http1;
use unblink_wire::http2::{self, Http2};
use unblink_wire::protocol::Protocol;
use unblink_wire::ws::{self, Ws};
use unblink_workload::Values;
use unblink_workload::answer::Expects;

/// What is the same in every version.
pub(super) struct Whole {
    pub(super) plan: Plan,
    pub(super) targets: Vec<Target>,
    pub(super) values: Option<Values>,
    pub(super) expects: Expects,
}

/// What a run does.
#[derive(Debug)]
pub(crate) enum AnyJob {
    One(Job<Http1>),
    Two(Job<Http2>),
    WebSocket(Job<Ws>),
}

/// The same expression of a job, whatever its version.
macro_rules! of_any {
    ($any:expr, $job:ident => $what:expr) => {
        match $any {
            AnyJob::One($job) => $what,
            AnyJob::Two($job) => $what,
            AnyJob::WebSocket($job) => $what,
        }
    };
}

impl AnyJob {
    pub(super) fn new(whole: Whole, operations: Operations, args: &TargetArgs) -> AnyJob {
        let limits = Limits { body_bytes_max: args.max_body_size, ..Default::default() };
        match operations {
            Operations::One(operations) => AnyJob::One(job(whole, operations, limits, args)),
            Operations::Two(operations) => {
                let settings = http2::Settings { limits, streams: args.streams.unwrap_or(http2::STREAMS) };
                AnyJob::Two(job(whole, operations, settings, args))
            }
            Operations::WebSocket(handshake, messages) => {
                let WebSocketArgs { matching, depth, message_type } = &args.web_socket;
                let settings = ws::Settings {
                    handshake: Arc::new(handshake.expect("a run has a request")),
                    limits,
                    depth: depth.unwrap_or(1),
                    matching: matching.clone().unwrap_or_default().matching(),
                    is_binary: *message_type == Some(MessageType::Binary),
                };
                AnyJob::WebSocket(job(whole, messages, settings, args))
            }
        }
    }

    pub(crate) fn plan(&self) -> &Plan {
        of_any!(self, job => &job.plan)
    }

    /// In HTTP/1.1, if that is measured.
    pub(crate) fn http1(&self) -> Option<&Job<Http1>> {
        match self {
            AnyJob::One(job) => Some(job),
            AnyJob::Two(_) | AnyJob::WebSocket(_) => None,
        }
    }

    pub(crate) fn targets(&self) -> &[Target] {
        of_any!(self, job => &job.targets)
    }

    pub(crate) fn values(&self) -> Option<&Values> {
        of_any!(self, job => job.values.as_ref())
    }

    /// As the document calls it.
    pub(crate) fn protocol(&self) -> document::Protocol {
        match self {
            AnyJob::One(_) => document::Protocol::Http11,
            AnyJob::Two(_) => document::Protocol::Http2,
            AnyJob::WebSocket(_) => document::Protocol::WebSocket,
        }
    }

    /// How many requests there are.
    pub(crate) fn operations(&self) -> usize {
        of_any!(self, job => job.operations.len())
    }

    /// What can be wrong with an answer's bytes, by number.
    pub(super) fn violations(&self) -> &'static [&'static str] {
        match self {
            AnyJob::One(_) => Http1::VIOLATIONS,
            AnyJob::Two(_) => Http2::VIOLATIONS,
            AnyJob::WebSocket(_) => Ws::VIOLATIONS,
        }
    }

    /// Streams of HTTP/2 on a connection, as asked for.
    pub(super) fn streams(&self) -> Option<u32> {
        match self {
            AnyJob::One(_) | AnyJob::WebSocket(_) => None,
            AnyJob::Two(job) => Some(job.settings.streams),
        }
    }

    /// How messages go over WebSockets, if they do.
    pub(super) fn web_socket(&self, args: &WebSocketArgs) -> Option<WebSocketPlan> {
        let AnyJob::WebSocket(job) = self else { return None };
        let matching = args.matching.clone().unwrap_or_default();
        Some(WebSocketPlan {
            depth: job.settings.depth,
            in_order: matching == MatchArg::Order,
            matching: matching.to_string(),
            is_binary: job.settings.is_binary,
        })
    }

    /// Asks once, and gives how many requests a connection takes at once if the target allows fewer than were asked for.
    pub(crate) fn preflight(&self, number: usize, timeout: Duration) -> Result<Option<u32>, PreflightError> {
        of_any!(self, job => preflight(job, number, timeout))
    }

    /// Sends the request of `arrival` as the next step of `walk`. `None` where no row is left for it.
    pub(crate) fn step(&self, walk: &mut Walk, arrival: &Arrival, timeout: Duration) -> Option<AskedOnce> {
        of_any!(self, job => walk.step(job, arrival, timeout))
    }

    pub(super) fn start(self) -> Result<Running, EngineError> {
        of_any!(self, job => unblink_engine::run::start(job))
    }
}

fn job<P: Protocol>(
    Whole { plan, targets, values, expects }: Whole,
    operations: Vec<P::Request>,
    settings: P::Settings,
    args: &TargetArgs,
) -> Job<P> {
    let (connection_age, pacing) = (args.connection_age, args.pacing.mode());
    Job { plan, targets, operations, values, expects, settings, connection_age, pacing }
}
