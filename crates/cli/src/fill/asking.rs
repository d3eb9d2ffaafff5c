//! Questions to a store beside any load.

use crate::args::target::TargetArgs;
use crate::request::cql::{CqlParts, keyspace};
use crate::request::fields::RequestArgs;
use crate::request::url::Speaks;
use crate::request::{Parts, Request};
use crate::run::{self, Prepared, prepare_under};
use crate::ycsb::requests;
use crate::ycsb::workload::Workload;
use anyhow::{Context, Result, anyhow};
use std::time::Duration;
use unblink_wire::cql::Consistency;

/// So long a question is waited for: a large table takes its time to be counted.
const PATIENCE: Duration = Duration::from_secs(600);

/// A place in a text, whose value is written by whoever feeds it.
pub(super) const PLACE: &str = "{{bytes(0)}}";

/// A store, and the way to it.
pub(super) struct Asking {
    store: Request,
    pub(super) speaks: Speaks,
    pub(super) target: TargetArgs,
    /// Of Cassandra, where the command line says it.
    consistency: Option<Consistency>,
}

impl Asking {
    /// Of this store; `change` says how it is reached.
    pub(super) fn new(store: Request, change: impl FnOnce(&mut TargetArgs)) -> Result<Asking> {
        let mut target = run::by_default(&store.url_text)?.target;
        change(&mut target);
        let consistency = target.request.cql.consistency;
        // Nothing of what the load asks is asked here.
        target.request = RequestArgs::default();
        (target.order, target.no_preflight) = (None, true);
        let speaks = requests::store(&store.url)?;
        Ok(Asking { store, speaks, target, consistency })
    }

    /// The same cluster, of which no keyspace is chosen.
    pub(super) fn beside_keyspaces(&self) -> Asking {
        let Asking { speaks, consistency, .. } = *self;
        let mut store = self.store.clone();
        store.url.target = "/".into();
        Asking { store, speaks, target: self.target.clone(), consistency }
    }

    /// The keyspace that its URL names.
    pub(super) fn keyspace(&self) -> Result<String> {
        keyspace(&self.store.url)?.context("the URL names no keyspace")
    }

    /// A command or statement for it.
    pub(super) fn request(&self, text: &str) -> Request {
        let body = Some(text.as_bytes().into());
        let (is_sql, is_command) = (self.speaks == Speaks::Postgres, self.speaks == Speaks::Redis);
        let mut parts = Parts { body, is_sql, is_command, ..Parts::default() };
        parts.cql.is_statement = self.speaks == Speaks::Cql;
        Request { parts, ..self.store.clone() }
    }

    /// The same, which reads records as `workload` does.
    pub(super) fn reading(&self, text: &str, workload: &Workload) -> Request {
        self.as_by(text, workload.reads)
    }

    /// The same, which writes some.
    pub(super) fn writing(&self, text: &str, workload: &Workload) -> Request {
        self.as_by(text, workload.writes)
    }

    fn as_by(&self, text: &str, consistency: Consistency) -> Request {
        let mut request = self.request(text);
        if self.speaks == Speaks::Cql {
            request.parts.cql = CqlParts::of_lines([self.consistency.unwrap_or(consistency); 2]);
        }
        request
    }

    /// All of these, ready to be sent over so many connections, so many at once on each.
    pub(super) fn prepared(&self, requests: Vec<Request>, connections: u32, depth: u32) -> Result<Prepared> {
        let mut run = run::by_default(&self.store.url_text)?;
        run.target = self.target.clone();
        match self.speaks {
            Speaks::Cql => run.target.streams = Some(depth),
            _ => run.target.web_socket.depth = Some(depth),
        }
        run.requests = requests;
        run.load.connections = Some(crate::value::Connections::Fixed(connections));
        prepare_under(&run, None)
    }

    /// What the store answers to one question.
    pub(super) fn ask(&self, text: &str) -> Result<String> {
        let prepared = self.prepared(vec![self.request(text)], 1, 1)?;
        let tried = prepared.job.once(0, PATIENCE).context("there is nothing to ask")?;
        tried.result.map_err(|error| anyhow!("{error}"))?;
        String::from_utf8(tried.body).context("the store's answer is not text")
    }

    /// A number that it answers with.
    pub(super) fn number(&self, text: &str) -> Result<u64> {
        let said = self.ask(text)?;
        said.trim().parse().map_err(|_| anyhow!("the store answers {said:?}, where a number is expected"))
    }
}
