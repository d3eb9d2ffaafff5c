//! Requests beside the load: asked before it, and again while it goes on.

use super::asking;
use super::job::{AnyJob, Whole};
use super::preflight::{PATIENCE, told_if_slow};
use super::version::agreed;
use super::way::Ways;
use crate::args::run::RunArgs;
use crate::args::target::TargetArgs;
use crate::errors::{PreflightFailed, refuse};
use crate::guard::Guard;
use crate::journey;
use crate::output;
use crate::request::url::Speaks;
use anyhow::{Result, anyhow};
use std::sync::Arc;
use std::time::Duration;
use unblink_artifact::codes::NamedCodes;
use unblink_artifact::document::{Protocol, Scheme, SetupRequest};
use unblink_core::origins::Origins;
use unblink_engine::controls::Controls;
use unblink_engine::limits::Limits;
use unblink_engine::preflight::AskedOnce;
use unblink_engine::setup::{Refreshed, Refreshing, Setup};
use unblink_wire::cql::Cql;
use unblink_wire::http1::Http1;
use unblink_wire::http2::Http2;
use unblink_wire::postgres::Postgres;
use unblink_wire::redis::Redis;
use unblink_workload::answer::Captured;
use unblink_workload::{Globals, Lets, Values};

/// What is asked, and what each request is called.
pub(crate) struct Asked {
    setup: AnySetup,
    protocol: Protocol,
    codes: Option<NamedCodes>,
    timeout: Duration,
    names: Vec<String>,
}

/// What `args` ask beside the load. Values that are taken go to `globals`.
pub(super) fn prepare(args: &RunArgs, limits: &Limits, globals: &Arc<Globals>) -> Result<Option<Asked>> {
    let Some(first) = args.setup.first() else { return Ok(None) };
    let lets: Lets = (*first.request.lets).clone();
    let asked = args.setup.iter().map(|one| one.request.clone()).collect();
    let target = target_of(args, first.request.url.origin.speaks)?;
    let own = RunArgs::of_experiment(asked, args.load.clone(), target, true);
    let (mut requests, Ways { targets, .. }) = agreed(&own, limits, Guard::read()?)?;
    let plan = asking::plan(
        args.load.timeout,
        requests.idempotent.clone(),
        Origins::new(&requests.origin_of).ok_or_else(|| anyhow!("[[setup]] asks too many origins"))?,
    )?;
    let numbered = |(name, capture): &(String, _)| Captured {
        name: name.clone(),
        number: lets.captured(name).unwrap_or_default(),
        capture: Clone::clone(capture),
    };
    let captures = args.setup.iter().map(|one| one.captures.iter().map(numbered).collect()).collect();
    let compositions = std::mem::take(&mut requests.compositions);
    let values = Values::new(lets.clone(), compositions, &[], &plan, args.load.seed)?;
    let names = requests.targets.iter().map(|target| target.name.clone()).collect();
    let values = Some(values.sharing(globals.clone()));
    let whole = Whole { plan, targets, values, script: None, expects: requests.expects() };
    let job = AnyJob::new(whole, requests.operations, &own.target);
    let (protocol, codes) = (job.protocol(), job.codes());
    let every = args.setup.iter().map(|one| one.every.map(|every| Duration::from_nanos(every.0))).collect();
    let timeout = Duration::from_nanos(args.load.timeout.0).min(PATIENCE);
    let globals = globals.clone();
    let setup = match job {
        AnyJob::One(job) => AnySetup::One(Setup { job, captures, every, globals, timeout }),
        AnyJob::Two(job) => AnySetup::Two(Setup { job, captures, every, globals, timeout }),
        AnyJob::Redis(job) => AnySetup::Redis(Setup { job, captures, every, globals, timeout }),
        AnyJob::Postgres(job) => AnySetup::Postgres(Setup { job, captures, every, globals, timeout }),
        AnyJob::Cql(job) => AnySetup::Cql(Setup { job, captures, every, globals, timeout }),
        AnyJob::Grpc(_) | AnyJob::WebSocket(_) | AnyJob::Steps(_) => {
            refuse!(
                ["url"],
                "requests of [[setup]] must use HTTP or ask a database: give an http:// or https:// URL"
            )
        }
    };
    Ok(Some(Asked { setup, protocol, codes, timeout, names }))
}

/// What holds for all requests of `[[setup]]`, which speak this, whatever the load speaks.
fn target_of(args: &RunArgs, speaks: Speaks) -> Result<TargetArgs> {
    if args.setup.iter().any(|one| one.request.url.origin.speaks != speaks) {
        refuse!(
            ["url"],
            "requests of [[setup]] speak one protocol: let all of them be asked over HTTP, or all of one database"
        );
    }
    let mut all = args.requests.iter().chain(journey::requests(&args.journeys));
    let of_load = all.next().map_or(Speaks::Http, |request| request.url.origin.speaks);
    let is_database = |speaks| matches!(speaks, Speaks::Redis | Speaks::Postgres | Speaks::Cql);
    let mut target = args.target.clone();
    (target.web_socket, target.grpc) = Default::default();
    if speaks != Speaks::Redis {
        target.redis = Default::default();
    }
    if speaks != of_load && (is_database(speaks) || is_database(of_load)) {
        // What is said of all requests is said of those of the load.
        target.request = Default::default();
        (target.http, target.streams) = Default::default();
    }
    let request = &mut target.request;
    (request.message, request.command, request.sql, request.cql.cql) = Default::default();
    if args.setup.iter().all(|one| !one.request.url.origin.tls) {
        target.set_tls(&Default::default());
    }
    Ok(target)
}

/// In whichever protocol it is asked.
enum AnySetup {
    One(Setup<Http1>),
    Two(Setup<Http2>),
    Redis(Setup<Redis>),
    Postgres(Setup<Postgres>),
    Cql(Setup<Cql>),
}

/// The same expression, whatever its protocol.
macro_rules! of_any {
    ($any:expr, $setup:ident => $what:expr) => {
        match $any {
            AnySetup::One($setup) => $what,
            AnySetup::Two($setup) => $what,
            AnySetup::Redis($setup) => $what,
            AnySetup::Postgres($setup) => $what,
            AnySetup::Cql($setup) => $what,
        }
    };
}

impl Asked {
    /// What can be asked, in HTTP/1.1 if that is measured.
    pub(crate) fn http1(&self) -> Option<&Setup<Http1>> {
        match &self.setup {
            AnySetup::One(setup) => Some(setup),
            _ => None,
        }
    }

    /// Asks request `number` once. `None` where a row would be taken that is for one arrival of the run.
    pub(crate) fn ask_and_tell(&self, number: usize) -> Option<AskedOnce> {
        let ask = || of_any!(&self.setup, setup => setup.ask_and_tell(number));
        told_if_slow(ask, &self.names[number], self.timeout)
    }

    /// What is spoken.
    pub(crate) fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// How the URLs of a database begin; nothing of HTTP.
    pub(crate) fn scheme(&self) -> Option<Scheme> {
        match self.protocol {
            Protocol::Redis => Some(Scheme::Redis),
            Protocol::Postgres => Some(Scheme::Postgres),
            Protocol::Cql => Some(Scheme::Cql),
            _ => None,
        }
    }

    /// Its codes, where they have names.
    pub(crate) fn codes(&self) -> Option<&NamedCodes> {
        self.codes.as_ref()
    }

    /// What each request is called.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// Asks each once, in order.
    ///
    /// # Errors
    /// Why the run should not start.
    pub(super) fn before(&self) -> Result<()> {
        for (number, name) in self.names.iter().enumerate() {
            let ask = || of_any!(&self.setup, setup => setup.ask(number));
            told_if_slow(ask, name, self.timeout).map_err(|source| PreflightFailed {
                origin: 0,
                request: format!("[[setup]] {name}"),
                source,
                is_setup: true,
            })?;
        }
        Ok(())
    }

    /// Asks again, for as long as the load goes on that `controls` end. Where requests `follow` answers, it goes on after a stop.
    pub(super) fn again(self, controls: Arc<Controls>, follow: bool) -> Result<Again> {
        let Asked { setup, names, .. } = self;
        let may_ask = move || controls.may_ask(follow);
        Ok(Again { refreshing: of_any!(setup, setup => Refreshing::start(setup, may_ask))?, names })
    }
}

/// What is asked again.
pub(super) struct Again {
    refreshing: Option<Refreshing>,
    names: Vec<String>,
}

impl Again {
    /// Ends it. What was asked in vain is said.
    pub(super) fn end(self) -> Vec<SetupRequest> {
        let again = self.refreshing.map(Refreshing::stop).unwrap_or_default();
        let again = again.into_iter().map(Some).chain(std::iter::repeat(None));
        let all = self.names.into_iter().zip(again);
        all.map(|(name, again)| (name, again.unwrap_or_default()))
            .map(|(name, Refreshed { asked, failed, last_error })| {
                if failed > 0 {
                    let why = last_error.as_deref().unwrap_or_default();
                    output::note(format_args!(
                        "warning: [[setup]] {name} failed {failed} of {} times: {why}",
                        1 + asked
                    ));
                }
                // Once before the load, or there would have been none.
                SetupRequest { name, asked: 1 + asked, failed }
            })
            .collect()
    }
}
