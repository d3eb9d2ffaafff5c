//! What a simulated load asks for: the journeys of a plan, or its requests, each with its share, its origin and, if it was given one, a
//! service time of its own.

use super::server;
use super::wanted::Wanted;
use crate::args::load::LoadArgs;
use crate::args::objectives::SloArgs;
use crate::args::sim::SimArgs;
use crate::errors::{refuse, refused_value};
use crate::replay::Replay;
use crate::request::share::{self, OrderArg};
use crate::request::{NOWHERE, Request};
use crate::run::objectives::{self, Known};
use crate::run::requests::{Requests, listed};
use crate::secrets;
use anyhow::Result;
use std::collections::BTreeMap;
use unblink_analysis::slo::Slo;
use unblink_artifact::document::{Objectives, OperationPlan, OriginName, Protocol, Target};
use unblink_artifact::header::RunHeader;
use unblink_artifact::names::few;
use unblink_core::mix::Mix;
use unblink_core::origins::Origins;
use unblink_core::plan::Plan;
use unblink_core::sim::Service;
use unblink_workload::Values;

/// What is replayed. It needs no address where nothing is sent.
fn replayed(args: &SimArgs, replay: &Replay) -> Result<Vec<Request>> {
    if !args.requests.is_empty() || !args.journeys.is_empty() {
        refuse!(["replay"], "a replay sends what was recorded: leave [[requests]] and journeys out");
    }
    // What a path means is for a target.
    replay.requests(&Request::new(None, NOWHERE)?, &[])
}

/// The requests of a simulation; one kind of them where a plan lists none.
#[derive(Default)]
pub(crate) struct Asked {
    pub(super) requests: Option<Requests>,
    /// Of a plan with journeys, which has no other requests.
    pub(super) wanted: Wanted,
    /// The same with what is drawn for them.
    steps: Option<Requests>,
    order: Option<OrderArg>,
    /// By number of the request.
    pub(super) services: BTreeMap<u32, Service>,
    /// The same in words, by name.
    pub(super) in_words: BTreeMap<String, String>,
}

impl Asked {
    /// Only what `wanted` says.
    pub(crate) fn wanted(wanted: Wanted) -> Asked {
        Asked { wanted, ..Asked::default() }
    }

    pub(super) fn of(args: &SimArgs) -> Result<Asked> {
        let requests = match (args.load.replay.read(args.load.seed)?, args.journeys.is_empty()) {
            (Some(replay), _) => listed(Default::default(), &replayed(args, &replay)?, &[])?,
            (None, true) => listed(Default::default(), &args.requests, &[])?,
            (None, false) => None,
        };
        let wanted = Wanted::of(&args.requests, &args.journeys, args.under_way.journeys_max)?;
        let steps = match args.journeys.is_empty() {
            true => None,
            false => listed(Default::default(), &args.requests, &args.journeys)?,
        };
        let mut asked = Asked { requests, wanted, steps, order: args.order, ..Asked::default() };
        for (number, text) in args.service.iter().enumerate() {
            let (given, service, words) = server::service_of(number, text)?;
            let requests = asked.requests.as_ref();
            let name = requests.map_or_else(|| given.clone(), |requests| requests.called(&given));
            let targets = requests.map(|requests| &requests.targets[..]).unwrap_or_default();
            let so_called = (0..).zip(targets).filter(|(_, target)| target.name == name);
            let numbers: Vec<u32> = so_called.map(|(number, _)| number).collect();
            if numbers.is_empty() {
                let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
                let message = match names.is_empty() {
                    true if !args.journeys.is_empty() => {
                        "all requests of journeys are simulated by one server: leave it out, or the journeys"
                            .into()
                    }
                    true => {
                        "it takes the name of a request, and there is no plan that lists [[requests]]".into()
                    }
                    false => format!("no request is called {name:?}; there are {}", few(&names)),
                };
                return Err(refused_value("service", number, format!("--service {text:?}: {message}")));
            }
            asked.services.extend(numbers.into_iter().map(|number| (number, service.clone())));
            asked.in_words.insert(name, words);
        }
        Ok(asked)
    }

    /// May each be sent twice?
    pub(super) fn idempotent(&self) -> Vec<bool> {
        let alike = || vec![true; self.wanted.names.len().max(1)];
        self.requests.as_ref().map_or_else(alike, |requests| requests.idempotent.clone())
    }

    /// What differs from one arrival of `plan` to the next, if anything does.
    pub(super) fn values(&self, plan: &Plan, seed: u64) -> Result<Option<Values>> {
        let Some(requests) = self.requests.as_ref().or(self.steps.as_ref()) else { return Ok(None) };
        // What follows redirects is not simulated.
        let operations = if self.steps.is_some() { self.wanted.names.len() } else { usize::MAX };
        requests.values_of(operations, plan, seed)
    }

    pub(super) fn mix(&self, seed: u64) -> Mix {
        match &self.requests {
            Some(requests) => share::mix(requests.weights.as_deref(), self.order, seed),
            None => self.wanted.mix(seed),
        }
    }

    pub(super) fn origins(&self) -> Origins {
        let of = self.requests.as_ref().map(|requests| requests.origin_of.as_slice()).unwrap_or_default();
        Origins::new(of).expect("no more origins than a run may have")
    }

    /// One has no name: nothing is connected to.
    pub(super) fn origin_names(&self) -> Vec<OriginName> {
        match &self.requests {
            Some(requests) if requests.origins.len() > 1 => requests.origin_names().collect(),
            _ => vec![OriginName::default()],
        }
    }

    /// Names that a load may be restricted to.
    pub(super) fn names(&self) -> &[Target] {
        self.requests.as_ref().map(|requests| &requests.targets[..]).unwrap_or_default()
    }

    /// Loads name their requests as objectives do.
    pub(super) fn with_names(&self, args: &LoadArgs) -> LoadArgs {
        let mut args = args.clone();
        args.loads.iter_mut().flat_map(|load| &mut load.only).for_each(|name| *name = self.called(name));
        args
    }

    /// As a load means it: by method and path, too.
    fn called(&self, name: &str) -> String {
        self.requests.as_ref().map_or_else(|| name.to_string(), |requests| requests.called(name))
    }

    /// What is asked for, as the document says it. `server` is what answers, in words.
    pub(super) fn targets(&self, server: &str) -> Vec<Target> {
        match &self.requests {
            Some(requests) => requests.targets.clone(),
            None => vec![Target {
                name: "simulated server".into(),
                method: "simulated server:".into(),
                url: server.to_string(),
            }],
        }
    }

    pub(super) fn operations(&self, plan: &Plan) -> Vec<OperationPlan> {
        let Some(requests) = &self.requests else {
            let name = "simulated server".to_string();
            return vec![OperationPlan { name, protocol: Protocol::Simulated, origin: None, share: None }];
        };
        let operations = requests.operations_apart(plan).into_iter();
        operations.map(|operation| OperationPlan { protocol: Protocol::Simulated, ..operation }).collect()
    }

    /// What is asked of the simulated run, once it is known that it can tell.
    pub(super) fn objectives(&self, slos: &SloArgs, plan: &Plan, header: &RunHeader) -> Result<Objectives> {
        if let Some(requests) = &self.requests {
            let journeys = header.journeys.clone();
            let asked = objectives::asked(slos, &[], requests, plan, &header.operations, journeys)?;
            return Ok(asked.slos.document(&[]));
        }
        if !header.journeys.is_empty() {
            let (targets, operations) = (&header.targets[..], &header.operations[..]);
            let known = Known { targets, operations, parts: header.part_names(), plan: Some(plan) };
            objectives::check(&slos.slo, &[], &known)?;
            objectives::check_tellable(&slos.slo, &[], plan)?;
            return Ok(slos.document(&[]));
        }
        let is_told = |slo: &Slo, name: &str| {
            header.part_called(name).is_some() && slo.objective.figure.is_better_small()
        };
        let is_refused = |slo: &&Slo| slo.name.as_ref().is_some_and(|name| !is_told(slo, name));
        if let Some(named) = slos.slo.iter().find(is_refused) {
            refuse!(
                ["slo"],
                "--slo {:?}: without a plan that lists [[requests]] a simulated server is asked for one thing only; leave \
                 the name out",
                secrets::mask_objective(&named.to_string())
            );
        }
        objectives::check_tellable(&slos.slo, &[], plan)?;
        Ok(slos.document(&[]))
    }
}
