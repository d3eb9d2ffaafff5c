//! A job in whichever version of HTTP is measured.

use crate::args::redis::RespArg;
use crate::args::target::TargetArgs;
use crate::args::web_socket::{MatchArg, MessageType, WebSocketArgs};
use crate::request::account::CqlAccount;
use crate::request::login::Login;
use crate::request::version::Operations;
use crate::secrets;
use std::sync::Arc;
use std::time::Duration;
use unblink_artifact::codes::NamedCodes;
use unblink_artifact::document::{self, CqlPlan, PostgresPlan, RedisPlan, WebSocketPlan};
use unblink_core::arrival::Arrival;
use unblink_core::plan::Plan;
use unblink_core::time::Nanos;
use unblink_engine::error::EngineError;
use unblink_engine::feeding::{Feed, FeedError, feed};
use unblink_engine::job::Job;
use unblink_engine::preflight::{AskedOnce, PreflightError, Tried, once, preflight};
use unblink_engine::run::{Running, Starting};
use unblink_engine::target::Target;
use unblink_engine::walk::Walk;
use unblink_wire::Limits;
use unblink_wire::cql::{self, Cql, Statement};
use unblink_wire::grpc::Grpc;
use unblink_wire::http1::Http1;
use unblink_wire::http2::{self, Http2};
use unblink_wire::postgres::{self, Postgres};
use unblink_wire::protocol::{Codes, Protocol};
use unblink_wire::redis::{self, Greeting, Redis, User};
use unblink_wire::ws::{self, StepSettings, Steps, Ws};
use unblink_workload::Values;
use unblink_workload::answer::Expects;
use unblink_workload::script::Script;

/// What is the same in every version.
pub(super) struct Whole {
    pub(super) plan: Plan,
    pub(super) targets: Vec<Target>,
    pub(super) values: Option<Values>,
    pub(super) script: Option<Arc<Script>>,
    pub(super) expects: Expects,
}

/// What a run does.
#[derive(Debug)]
pub(crate) enum AnyJob {
    One(Job<Http1>),
    Two(Job<Http2>),
    Grpc(Job<Grpc>),
    WebSocket(Job<Ws>),
    Steps(Job<Steps>),
    Redis(Job<Redis>),
    Postgres(Job<Postgres>),
    Cql(Job<Cql>),
}

/// The same expression of a job, whatever its version.
macro_rules! of_any {
    ($any:expr, $job:ident => $what:expr) => {
        match $any {
            AnyJob::One($job) => $what,
            AnyJob::Two($job) => $what,
            AnyJob::Grpc($job) => $what,
            AnyJob::WebSocket($job) => $what,
            AnyJob::Steps($job) => $what,
            AnyJob::Redis($job) => $what,
            AnyJob::Postgres($job) => $what,
            AnyJob::Cql($job) => $what,
        }
    };
}

impl AnyJob {
    pub(super) fn new(whole: Whole, operations: Operations, args: &TargetArgs) -> AnyJob {
        let limits = Limits { body_bytes_max: args.max_body_size, ..Default::default() };
        match operations {
            Operations::One(operations) => AnyJob::One(job(whole, operations, limits, args)),
            Operations::Two(operations) => AnyJob::Two(job(whole, operations, http2(limits, args), args)),
            Operations::Grpc(calls) => AnyJob::Grpc(job(whole, calls, http2(limits, args), args)),
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
            Operations::Steps(steps) => {
                let is_binary = args.web_socket.message_type == Some(MessageType::Binary);
                AnyJob::Steps(job(whole, steps, StepSettings { limits, is_binary }, args))
            }
            Operations::Redis(login, commands) => {
                let Login { user, database } = login.expect("a run has a request");
                let user = user.or_else(user_of_environment);
                // It may come back in an answer that is shown.
                user.iter().for_each(|user| secrets::note_variable(&user.password));
                let is_resp3 = args.redis.resp == Some(RespArg::Three);
                let greeting = Arc::new(Greeting::new(is_resp3, user.as_ref(), database));
                let depth = args.web_socket.depth.unwrap_or(1);
                AnyJob::Redis(job(
                    whole,
                    commands,
                    redis::Settings { greeting, is_resp3, limits, depth },
                    args,
                ))
            }
            Operations::Postgres(account, transactions) => {
                let account = account.expect("a run has a request");
                // It may come back in an answer that is shown.
                account.user.password.iter().for_each(|password| secrets::note_variable(password));
                let session = Arc::new(account.session(&transactions));
                let depth = args.web_socket.depth.unwrap_or(1);
                AnyJob::Postgres(job(
                    whole,
                    transactions,
                    postgres::Settings { session, limits, depth },
                    args,
                ))
            }
            Operations::Cql(account, mut statements) => {
                let CqlAccount { user, keyspace } = account.expect("a run has a request");
                // It may come back in an answer that is shown.
                user.iter().for_each(|user| secrets::note_variable(&user.password));
                let session = Arc::new(cql::Session::new(user, keyspace, &mut statements));
                let streams = args.streams.unwrap_or(cql::STREAMS);
                AnyJob::Cql(job(whole, statements, cql::Settings { session, limits, streams }, args))
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
            AnyJob::Two(_)
            | AnyJob::Grpc(_)
            | AnyJob::WebSocket(_)
            | AnyJob::Steps(_)
            | AnyJob::Redis(_)
            | AnyJob::Postgres(_)
            | AnyJob::Cql(_) => None,
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
            AnyJob::One(_) | AnyJob::Steps(_) => document::Protocol::Http11,
            AnyJob::Two(_) => document::Protocol::Http2,
            AnyJob::Grpc(_) => document::Protocol::Grpc,
            AnyJob::WebSocket(_) => document::Protocol::WebSocket,
            AnyJob::Redis(_) => document::Protocol::Redis,
            AnyJob::Postgres(_) => document::Protocol::Postgres,
            AnyJob::Cql(_) => document::Protocol::Cql,
        }
    }

    /// Its target and how connections to it begin, if it is a cluster of nodes that have different things.
    pub(super) fn of_cluster(&mut self) -> Option<(&mut Target, Arc<cql::Session>)> {
        match self {
            AnyJob::Cql(job) => Some((job.targets.first_mut()?, job.settings.session.clone())),
            _ => None,
        }
    }

    /// What makes the requests instead.
    pub(crate) fn script(&self) -> Option<&Arc<Script>> {
        of_any!(self, job => job.script.as_ref())
    }

    /// What answers must be like.
    pub(crate) fn expects(&self) -> &Expects {
        of_any!(self, job => &job.expects)
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
            AnyJob::Grpc(_) => Grpc::VIOLATIONS,
            AnyJob::WebSocket(_) => Ws::VIOLATIONS,
            AnyJob::Steps(_) => Steps::VIOLATIONS,
            AnyJob::Redis(_) => Redis::VIOLATIONS,
            AnyJob::Postgres(_) => Postgres::VIOLATIONS,
            AnyJob::Cql(_) => Cql::VIOLATIONS,
        }
    }

    /// The names of its answers' codes, where they have names.
    pub(crate) fn codes(&self) -> Option<NamedCodes> {
        let (codes, successes) = match self {
            AnyJob::One(_) => codes_of::<Http1>(),
            AnyJob::Two(_) => codes_of::<Http2>(),
            AnyJob::Grpc(_) => codes_of::<Grpc>(),
            AnyJob::WebSocket(_) => codes_of::<Ws>(),
            AnyJob::Steps(_) => codes_of::<Steps>(),
            AnyJob::Redis(_) => codes_of::<Redis>(),
            AnyJob::Postgres(_) => codes_of::<Postgres>(),
            AnyJob::Cql(_) => codes_of::<Cql>(),
        };
        let Codes::Named { protocol, names } = codes else { return None };
        let names = names.iter().copied().map(String::from).collect();
        Some(NamedCodes { protocol: protocol.to_string(), names, successes })
    }

    /// Streams of HTTP/2 on a connection, as asked for.
    pub(super) fn streams(&self) -> Option<u32> {
        match self {
            AnyJob::One(_)
            | AnyJob::WebSocket(_)
            | AnyJob::Steps(_)
            | AnyJob::Redis(_)
            | AnyJob::Postgres(_)
            | AnyJob::Cql(_) => None,
            AnyJob::Two(job) => Some(job.settings.streams),
            AnyJob::Grpc(job) => Some(job.settings.streams),
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

    /// How commands go to Redis, if they do.
    pub(super) fn redis(&self) -> Option<RedisPlan> {
        let AnyJob::Redis(job) = self else { return None };
        Some(RedisPlan { depth: job.settings.depth, resp: if job.settings.is_resp3 { 3 } else { 2 } })
    }

    /// How transactions go to PostgreSQL, if they do.
    pub(super) fn postgres(&self) -> Option<PostgresPlan> {
        let AnyJob::Postgres(job) = self else { return None };
        Some(PostgresPlan { depth: job.settings.depth })
    }

    /// How statements of CQL go, if they do.
    pub(super) fn cql(&self) -> Option<CqlPlan> {
        let AnyJob::Cql(job) = self else { return None };
        let options = || job.operations.iter().flat_map(Statement::options);
        Some(CqlPlan {
            streams: job.settings.streams,
            consistency: each_once(options().map(|one| one.consistency.to_string())),
            serial_consistency: each_once(
                options().filter_map(|one| Some(one.serial_consistency?.to_string())),
            ),
            page_size: each_once(options().filter_map(|one| one.page_size)),
        })
    }

    /// Asks once, and gives how many requests a connection takes at once if the target allows fewer than were asked for.
    pub(crate) fn preflight(&self, number: usize, timeout: Duration) -> Result<Option<u32>, PreflightError> {
        of_any!(self, job => preflight(job, number, timeout))
    }

    /// Asks once, and gives what was sent and answered. `None` where no row is left for it.
    pub(crate) fn once(&self, number: usize, timeout: Duration) -> Option<Tried> {
        of_any!(self, job => once(job, number, timeout))
    }

    /// Sends the request of `arrival` as the next step of `walk`. `None` where no row is left for it.
    pub(crate) fn step(&self, walk: &mut Walk, arrival: &Arrival, timeout: Duration) -> Option<AskedOnce> {
        of_any!(self, job => walk.step(job, arrival, timeout))
    }

    /// Sends all that `fed` has as fast as the target takes it, and gives how long that took.
    pub(crate) fn feed(
        &self,
        connections: u32,
        patience: Nanos,
        fed: &mut impl Feed,
    ) -> Result<Nanos, FeedError> {
        of_any!(self, job => feed(job, connections, patience, fed))
    }

    /// The same where somebody looks at all of each answer.
    pub(crate) fn hearing_all(mut self) -> AnyJob {
        of_any!(&mut self, job => job.expects = job.expects.clone().hearing_all());
        self
    }

    pub(super) fn start(self, starting: Starting) -> Result<Running, EngineError> {
        of_any!(self, job => unblink_engine::run::start_as(job, starting))
    }
}

fn http2(limits: Limits, args: &TargetArgs) -> http2::Settings {
    http2::Settings { limits, streams: args.streams.unwrap_or(http2::STREAMS) }
}

/// The password that the environment has, where the URL has none.
fn user_of_environment() -> Option<User> {
    let password = ["REDIS_PASSWORD", "REDISCLI_AUTH"].into_iter().find_map(|name| std::env::var(name).ok());
    let password = password.filter(|password| !password.is_empty())?;
    Some(User { name: None, password })
}

/// What comes several times, once.
fn each_once<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut known, one| {
        if !known.contains(&one) {
            known.push(one);
        }
        known
    })
}

fn codes_of<P: Protocol>() -> (Codes, u16) {
    (P::CODES, P::SUCCESSES)
}

fn job<P: Protocol>(
    Whole { plan, targets, values, script, expects }: Whole,
    operations: Vec<P::Request>,
    settings: P::Settings,
    args: &TargetArgs,
) -> Job<P> {
    let (connection_age, pacing) = (args.connection_age, args.pacing.mode());
    Job { plan, targets, operations, values, script, expects, settings, connection_age, pacing }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_analysis::evidence::FULL;
    use unblink_core::failure::FailureKind;

    /// What findings say of a full target would otherwise be left out without a word.
    #[test]
    fn the_findings_know_what_each_codec_calls_a_full_target() {
        fn full<P: Protocol>() -> Option<&'static str> {
            P::FULL.map(|number| P::VIOLATIONS[usize::from(number)])
        }
        let of_http = [full::<Http1>(), full::<Http2>(), full::<Grpc>(), full::<Ws>(), full::<Steps>()];
        let of_databases = [full::<Redis>(), full::<Postgres>(), full::<Cql>()];
        let all: Vec<_> = of_http.into_iter().chain(of_databases).flatten().collect();
        assert_eq!(all, FULL);
    }

    #[test]
    fn every_violation_is_counted_apart() {
        let names = |codes| match codes {
            Codes::Statuses => 0,
            Codes::Named { names, .. } => names.len(),
        };
        let of_redis = Redis::VIOLATIONS.len() + names(Redis::CODES);
        let of_postgres = Postgres::VIOLATIONS.len() + names(Postgres::CODES);
        let of_cql = Cql::VIOLATIONS.len() + names(Cql::CODES);
        let of_http = [Http1::VIOLATIONS.len(), Http2::VIOLATIONS.len()];
        let of_ws = [Ws::VIOLATIONS.len(), Steps::VIOLATIONS.len()];
        for kinds in of_http.into_iter().chain(of_ws).chain([of_redis, of_postgres, of_cql]) {
            let last = FailureKind::protocol(kinds - 1);
            assert!(last.index() < FailureKind::COUNT - 1, "the last place is that of all others");
        }
        // Behind these, each code but that of success is a kind.
        let last = FailureKind::protocol(Grpc::VIOLATIONS.len() + unblink_wire::grpc::CODES.len() - 2);
        assert!(last.index() < FailureKind::COUNT - 1);
    }
}
