//! YCSB's core workloads (Cooper and others, *Benchmarking Cloud Serving Systems with YCSB*, SoCC 2010) as requests to Redis,
//! PostgreSQL and Cassandra, in the layouts of YCSB's own bindings: hashes and an index of Redis, and the tables of its JDBC and its
//! Cassandra binding.

pub(crate) mod cql;
mod kind;
mod properties;
pub(crate) mod requests;
pub(crate) mod workload;

use crate::args::load::LoadArgs;
use crate::request::Request;
use crate::request::fields::RequestArgs;
use crate::request::line::LineArgs;
use anyhow::{Result, bail};
use std::sync::Arc;
use unblink_core::time::Nanos;
use workload::Workload;

/// How long a run lasts that says nothing about it.
const DURATION: Nanos = Nanos::from_secs(30);

/// What a command line's workload asks of the URL.
pub(crate) fn asked(
    lines: &mut LineArgs,
    urls: &[String],
    request: &RequestArgs,
    load: Option<&LoadArgs>,
) -> Result<Vec<Request>> {
    let own = [
        ("command", !request.command.is_empty()),
        ("sql", !request.sql.is_empty()),
        ("body", request.body.is_some()),
        ("body-file", request.body_file.is_some()),
        ("message", request.message.is_some()),
    ];
    if let Some((flag, _)) = own.into_iter().find(|(_, is_given)| *is_given) {
        bail!("--{flag} and --workload exclude each other: a workload says what is sent");
    }
    let workload = Workload::read(&lines.workload)?;
    let [url] = urls else {
        bail!("a workload asks one store: give its URL, such as redis://127.0.0.1:6379/0");
    };
    if !lines.lets.lets.is_empty() {
        bail!(
            "--let and --workload exclude each other: a workload draws its own values (--set changes them)"
        );
    }
    let (requests, named) = requests::of(&workload, url, load.and_then(operations))?;
    lines.lets.named = named.clone();
    Ok(requests.into_iter().map(|request| Request { lets: Arc::clone(&named), ..request }).collect())
}

/// How many operations this load asks for, where that is known.
fn operations(load: &LoadArgs) -> Option<u64> {
    if load.requests.is_some() {
        return load.requests;
    }
    let rate = load.rate.as_ref()?;
    let of_phase = |phase: &unblink_core::schedule::Phase| {
        (phase.from.as_per_s() + phase.to.as_per_s()) / 2.0 * phase.duration.0 as f64 / 1e9
    };
    let phases = rate.over(load.duration.unwrap_or(DURATION) + load.warmup.planned());
    Some(phases.iter().map(of_phase).sum::<f64>().round() as u64)
}
