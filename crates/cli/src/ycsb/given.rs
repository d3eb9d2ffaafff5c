//! The workload of a command line or its plan, in the place of requests: here alone it becomes what is asked of its stores.

use super::requests;
use super::workload::Workload;
use crate::args::compare::CompareArgs;
use crate::args::load::{LoadArgs, PlannedLoad};
use crate::args::sim::WorldArgs;
use crate::args::target::TargetArgs;
use crate::args::{Cli, Command};
use crate::errors::{self, refuse};
use crate::request::lets::LetArgs;
use crate::request::url::{Speaks, UNKNOWN_ADDRESS, Url};
use crate::request::workload::WorkloadArgs;
use crate::request::{NOWHERE, Parts, Request};
use anyhow::{Result, bail};
use std::sync::Arc;
use unblink_core::schedule::Phase;
use unblink_core::time::Nanos;

/// How long a run lasts that says nothing about it.
const DURATION: Nanos = Nanos::from_secs(30);

/// A command that has a workload.
pub(crate) struct Given<'a> {
    pub workload: &'a mut WorkloadArgs,
    /// What is asked of each store; before it is expanded, the store itself. Of a comparison there are two, or one with itself.
    pub stores: Vec<&'a mut Vec<Request>>,
    /// How a store is reached; a simulated one is not.
    pub target: Option<&'a TargetArgs>,
    /// Agents offer the load, who are told what the command line says.
    pub has_agents: bool,
    pub is_simulated: bool,
    lets: Option<&'a mut LetArgs>,
    operations: Option<u64>,
    /// What asks a store more than once.
    several: Option<&'static str>,
    /// The load is recorded traffic.
    replays: bool,
}

/// Puts what the workload of `cli` asks in the place of its stores. False if it has none.
pub(crate) fn expand(cli: &mut Cli) -> Result<bool> {
    let Some(mut given) = Given::of(cli)? else { return Ok(false) };
    given.check()?;
    given.expand()?;
    Ok(true)
}

impl Given<'_> {
    /// Of a command line with its plan; nothing where no workload is given, or nothing would be measured.
    pub(crate) fn of(cli: &mut Cli) -> Result<Option<Given<'_>>> {
        if cli.command.workload_mut().is_none_or(|workload| !workload.is_given()) {
            return Ok(None);
        }
        let from_urls = |requests: &mut Vec<Request>, urls: &[String]| -> Result<()> {
            if requests.is_empty() {
                *requests = errors::all(urls.iter().map(|url| Request::new(None, url)))?;
            }
            Ok(())
        };
        Ok(Some(match &mut cli.command {
            Command::Knee(args) => {
                let is_simulated = is_simulated(&args.world);
                from_urls(&mut args.requests, &args.urls)?;
                Given {
                    workload: &mut args.lines.workload,
                    stores: vec![&mut args.requests],
                    target: Some(&args.target),
                    has_agents: args.agents.agents.is_some(),
                    is_simulated,
                    lets: Some(&mut args.lines.lets),
                    operations: None,
                    several: (!is_simulated).then_some("a search"),
                    replays: args.recorded.replay.is_some(),
                }
            }
            Command::Compare(args) => {
                let is_simulated = is_simulated(&args.world);
                if !is_simulated && !has_stores(args)? {
                    return Ok(None);
                }
                let stores = match (is_simulated, &mut args.planned) {
                    (false, Some(sides)) => sides.iter_mut().filter(|side| !side.is_empty()).collect(),
                    _ => vec![&mut args.beside],
                };
                Given {
                    workload: &mut args.workload,
                    stores,
                    target: Some(&args.target),
                    has_agents: args.agents.agents.is_some(),
                    is_simulated,
                    lets: None,
                    operations: operations(&args.load),
                    several: (!is_simulated).then_some("a comparison"),
                    replays: args.load.replay.recorded.replay.is_some(),
                }
            }
            Command::Sim(args) => Given {
                workload: &mut args.workload,
                stores: vec![&mut args.requests],
                target: None,
                has_agents: false,
                is_simulated: true,
                lets: None,
                operations: operations(&args.load),
                several: None,
                replays: args.load.replay.recorded.replay.is_some(),
            },
            other => {
                let Some(args) = other.run_mut() else { return Ok(None) };
                from_urls(&mut args.requests, &args.urls)?;
                Given {
                    workload: &mut args.lines.workload,
                    stores: vec![&mut args.requests],
                    target: Some(&args.target),
                    has_agents: args.agents.agents.is_some(),
                    is_simulated: false,
                    lets: Some(&mut args.lines.lets),
                    operations: operations(&args.load),
                    several: None,
                    replays: args.load.replay.recorded.replay.is_some(),
                }
            }
        }))
    }

    /// Refuses what says something else of what is asked.
    fn check(&self) -> Result<()> {
        if let Some(request) = self.target.map(|target| &target.request) {
            let own = [
                ("command", !request.command.is_empty()),
                ("sql", !request.sql.is_empty()),
                ("cql", request.cql.cql.is_some()),
                ("body", request.body.is_some()),
                ("body-file", request.body_file.is_some()),
                ("message", request.message.is_some()),
            ];
            if let Some((flag, _)) = own.into_iter().find(|(_, is_given)| *is_given) {
                refuse!([flag], "--{flag} and --workload exclude each other: a workload says what is sent");
            }
        }
        if self.lets.as_ref().is_some_and(|lets| !lets.lets.is_empty()) {
            bail!(
                "--let and --workload exclude each other: a workload draws its own values (--set changes them)"
            );
        }
        if self.replays {
            refuse!(
                ["replay"],
                "--replay and --workload exclude each other: a replay sends what was recorded"
            );
        }
        Ok(())
    }

    /// Puts what is asked in the place of each store, or of what was asked of it before.
    pub(crate) fn expand(&mut self) -> Result<()> {
        let workload = Workload::read(self.workload)?;
        if let Some(several) = self.several.filter(|_| workload.inserts()) {
            refuse!(
                ["workload", "properties", "set"],
                "this workload inserts records, and {several} runs it several times on the same store: each run would begin with \
                 other records than the one before. Take one that inserts none (ycsb-a, b, c or f), or let unblink run measure \
                 each on a store that was filled anew"
            );
        }
        for asked in &mut self.stores {
            let store = match asked.as_slice() {
                [store] => bare(store),
                // It has been expanded before.
                [first, ..] if first.parts.series.is_some() => bare(first),
                [] if self.is_simulated => Request::new(None, NOWHERE)?,
                _ => bail!("a workload asks one store: give its URL, such as redis://127.0.0.1:6379/0"),
            };
            let store = Request { url: known(store.url)?, ..store };
            **asked = requests::of(&workload, &store, self.operations)?;
        }
        if let (Some(lets), Some(first)) = (&mut self.lets, self.stores.first().and_then(|all| all.first())) {
            lets.named = Arc::clone(&first.lets);
        }
        Ok(())
    }
}

fn is_simulated(world: &WorldArgs) -> bool {
    world.server.is_some() || world.scenario.is_some()
}

/// Both sides of a comparison are stores, and not what was recorded.
fn has_stores(args: &mut CompareArgs) -> Result<bool> {
    if args.planned.is_some() {
        return Ok(true);
    }
    let urls: Vec<&String> = args.baseline.iter().chain(&args.candidate).collect();
    let (is_whole, are_urls) = (urls.len() == 2 || args.a_a, urls.iter().all(|url| url.contains("://")));
    if urls.is_empty() || !is_whole || !are_urls {
        return Ok(false);
    }
    let side = |url: Option<&&String>| {
        url.map(|url| Request::new(None, url)).into_iter().collect::<Result<Vec<_>>>()
    };
    let planned = [side(urls.first())?, side(urls.get(1))?];
    (args.planned, args.baseline, args.candidate) = (Some(planned), None, None);
    Ok(true)
}

/// The address alone of what is asked.
pub(crate) fn bare(request: &Request) -> Request {
    let (parts, lets) = (Parts::default(), Arc::default());
    Request { parts, name: None, share: None, inserts: false, lets, ..request.clone() }
}

/// The same. An address that only a variable says, or that nobody needs, stands for a store that needs nothing but a host.
fn known(url: Url) -> Result<Url> {
    let host = url.origin.host.as_str();
    let is_unknown = [UNKNOWN_ADDRESS, NOWHERE].iter().any(|it| it.strip_prefix("http://") == Some(host));
    match (is_unknown, url.origin.speaks) {
        (true, Speaks::Http) => Url::parse(&format!("redis://{host}")),
        _ => Ok(url),
    }
}

/// How many operations this load asks for, where that is known.
fn operations(load: &LoadArgs) -> Option<u64> {
    if load.requests.is_some() {
        return load.requests;
    }
    let of_phase =
        |phase: &Phase| (phase.from.as_per_s() + phase.to.as_per_s()) / 2.0 * phase.duration.0 as f64 / 1e9;
    let of_rate =
        |rate: &crate::value::Shape, duration| rate.over(duration).iter().map(of_phase).sum::<f64>();
    if !load.loads.is_empty() {
        let of_one = |one: &PlannedLoad| Some(of_rate(one.rate.as_ref()?, one.duration));
        return load.loads.iter().map(of_one).sum::<Option<f64>>().map(|sum| sum.round() as u64);
    }
    let duration = load.duration.unwrap_or(DURATION) + load.warmup.planned();
    load.rate.as_ref().map(|rate| of_rate(rate, duration).round() as u64)
}
