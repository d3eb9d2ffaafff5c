//! Questions to a store beside any load.

use crate::args::target::TargetArgs;
use crate::args::{Cli, Command};
use crate::request::fields::RequestArgs;
use crate::request::url::Speaks;
use crate::request::{Parts, Request};
use crate::run::{Prepared, prepare_under};
use crate::ycsb::requests::{INDEX, store};
use crate::ycsb::workload::Workload;
use anyhow::{Context, Result, anyhow};
use clap::Parser;
use std::time::Duration;

/// So long a question is waited for: a large table takes its time to be counted.
const PATIENCE: Duration = Duration::from_secs(600);

/// A store, and the way to it.
pub(super) struct Asking {
    pub(super) url: String,
    pub(super) speaks: Speaks,
    pub(super) target: TargetArgs,
}

impl Asking {
    /// Of the store at `url`; `change` says how it is reached.
    pub(super) fn new(url: &str, change: impl FnOnce(&mut TargetArgs)) -> Result<Asking> {
        let mut target = run_of(url)?.target;
        change(&mut target);
        // Nothing of what the load asks is asked here.
        target.request = RequestArgs::default();
        (target.order, target.no_preflight) = (None, true);
        Ok(Asking { url: url.to_string(), speaks: store(url)?, target })
    }

    /// A command or statement for it.
    pub(super) fn request(&self, text: &str) -> Result<Request> {
        let request = Request::new(None, &self.url)?;
        let is_sql = self.speaks == Speaks::Postgres;
        let body = Some(text.as_bytes().into());
        let parts = Parts { body, is_sql, is_command: !is_sql, ..request.parts };
        Ok(Request { parts, ..request })
    }

    /// All of these, ready to be sent over so many connections, so many at once on each.
    pub(super) fn prepared(&self, requests: Vec<Request>, connections: u32, depth: u32) -> Result<Prepared> {
        let mut run = run_of(&self.url)?;
        run.target = self.target.clone();
        run.target.web_socket.depth = Some(depth);
        run.requests = requests;
        run.load.connections = crate::value::Connections::Fixed(connections);
        prepare_under(&run, None)
    }

    /// What the store answers to one question.
    pub(super) fn ask(&self, text: &str) -> Result<String> {
        let prepared = self.prepared(vec![self.request(text)?], 1, 1)?;
        let tried = prepared.job.once(0, PATIENCE).context("there is nothing to ask")?;
        tried.result.map_err(|error| anyhow!("{error}"))?;
        String::from_utf8(tried.body).context("the store answers with what is no text")
    }

    /// A number that it answers with.
    pub(super) fn number(&self, text: &str) -> Result<u64> {
        let said = self.ask(text)?;
        said.trim().parse().map_err(|_| anyhow!("the store answers {said:?}, where a number is expected"))
    }

    /// How many records of `workload` it has.
    pub(super) fn count(&self, workload: &Workload) -> Result<u64> {
        match self.speaks {
            Speaks::Redis => self.number(&format!("ZCARD {INDEX}")),
            _ => self.number(&format!("SELECT count(*) FROM {}", workload.table)),
        }
    }
}

/// The flags of a run that asks `url` something, as they are by default.
fn run_of(url: &str) -> Result<crate::args::run::RunArgs> {
    let line = ["unblink", "run", url, "-R", "1", "-n", "1"];
    match Cli::try_parse_from(line)?.command {
        Command::Run(run) => Ok(*run),
        _ => Err(anyhow!("a run is a run")),
    }
}
