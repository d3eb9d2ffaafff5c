//! What a simulated load asks for: the requests of a plan and the steps of its journeys, as a run gathers them, each with its share, its
//! origin and, if it was given one, a service time of its own.

use super::answer::Answer;
use super::server;
use super::wanted;
use crate::args::load::LoadArgs;
use crate::args::objectives::SloArgs;
use crate::args::sim::{ServiceArgs, SimArgs};
use crate::args::steady::Warmup;
use crate::errors::{refuse, refused_value};
use crate::journey::{self, Journey, Step};
use crate::replay::Replay;
use crate::request::share::{self, OrderArg};
use crate::request::{NOWHERE, Request};
use crate::run::requests::{self, Requests};
use crate::run::{default_pool, objectives};
use crate::secrets;
use anyhow::Result;
use serde_json::json;
use std::collections::BTreeMap;
use unblink_analysis::slo::{AbortRule, Slo};
use unblink_artifact::document::{
    Database, JourneyPlan, Objectives, OperationPlan, OriginName, Protocol, Requested,
};
use unblink_artifact::header::RunHeader;
use unblink_artifact::names::few;
use unblink_core::mix::Mix;
use unblink_core::origins::Origins;
use unblink_core::plan::Plan;
use unblink_core::sim::{Content, Service};
use unblink_workload::Values;

/// What is replayed. It needs no address where nothing is sent.
fn replayed(args: &SimArgs, replay: &Replay) -> Result<Vec<Request>> {
    if !args.requests.is_empty() || !args.journeys.is_empty() {
        refuse!(["replay"], "a replay sends what was recorded: leave [[requests]] and journeys out");
    }
    // What a path means is for a target.
    replay.requests(&Request::new(None, NOWHERE)?, &[])
}

/// What a plan asks for, for a simulation.
pub(crate) struct Listed<'a> {
    /// Those that stand alone.
    pub(crate) requests: &'a [Request],
    pub(crate) journeys: &'a [Journey],
    /// Of these so many may be under way.
    pub(crate) under_way_max: u16,
    pub(crate) order: Option<OrderArg>,
    /// Of single requests.
    pub(crate) services: &'a ServiceArgs,
}

/// The requests of a simulation; one kind of them where a plan lists none.
#[derive(Default)]
pub(crate) struct Asked {
    /// Those that stand alone, and behind them the steps of journeys.
    pub(super) requests: Option<Requests>,
    journeys: Vec<Journey>,
    under_way_max: u16,
    order: Option<OrderArg>,
    /// By number of the request.
    pub(crate) services: BTreeMap<u32, Service>,
    /// The same in words, by name.
    pub(super) in_words: BTreeMap<String, String>,
    /// What the answers to steps say.
    pub(crate) content: Content,
    /// The same in words, by name.
    pub(super) answers_in_words: BTreeMap<String, String>,
    /// A script makes the requests.
    is_scripted: bool,
}

impl Asked {
    pub(super) fn of(args: &SimArgs) -> Result<Asked> {
        let replayed = match args.load.replay.read(args.load.seed)? {
            Some(replay) => Some(replayed(args, &replay)?),
            None => None,
        };
        let asked = Asked::new(&Listed {
            requests: replayed.as_ref().unwrap_or(&args.requests),
            journeys: &args.journeys,
            under_way_max: args.under_way.journeys_max,
            order: args.order,
            services: &args.services,
        })?;
        // Nobody knows whether what a script makes may be sent twice.
        Ok(Asked { is_scripted: args.script.script.is_some(), ..asked })
    }

    pub(crate) fn new(listed: &Listed<'_>) -> Result<Asked> {
        let Listed { requests, journeys, under_way_max, order, services } = *listed;
        wanted::refuse_sockets(journeys)?;
        let answers = Answer::all(&services.answer)?;
        // What follows redirects is asked for where there are any.
        let is_followed = |step: &Step| answers.iter().any(|answer| answer.redirects(step));
        let requests = requests::listed(Default::default(), requests, journeys, &is_followed)?;
        let mut asked =
            Asked { requests, journeys: journeys.to_vec(), under_way_max, order, ..Asked::default() };
        for answer in answers {
            let said = answer.put_into(&mut asked.content, journeys, asked.requests.as_ref())?;
            asked.answers_in_words.extend([said]);
        }
        for (number, text) in services.service.iter().enumerate() {
            let (given, service, words) = server::service_of(number, text)?;
            let requests = asked.requests.as_ref();
            let name = requests.map_or_else(|| given.clone(), |requests| requests.called(&given));
            let targets = requests.map(|requests| &requests.targets[..]).unwrap_or_default();
            let so_called = (0..).zip(targets).filter(|(_, target)| target.name == name);
            let numbers: Vec<u32> = so_called.map(|(number, _)| number).collect();
            if numbers.is_empty() {
                let names: Vec<&str> = targets.iter().map(|target| target.name.as_str()).collect();
                let message = match names.is_empty() {
                    true => {
                        "it takes the name of a request, and there is no plan that lists [[requests]] or [[journeys]]"
                            .into()
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

    /// Refuses what no journey can have.
    pub(super) fn check(&self, args: &LoadArgs, has_client: bool) -> Result<()> {
        if self.journeys.is_empty() {
            return Ok(());
        }
        if has_client {
            refuse!(["client"], "--client imitates a tool without journeys: leave it out, or [[journeys]]");
        }
        if args.warmup == Warmup::Auto {
            refuse!(["warmup"], "--warmup auto would cut through journeys: give the warm-up a time");
        }
        Ok(())
    }

    /// May each be sent twice?
    pub(crate) fn idempotent(&self) -> Vec<bool> {
        self.requests.as_ref().map_or_else(|| vec![!self.is_scripted], |requests| requests.idempotent.clone())
    }

    /// What differs from one arrival of `plan` to the next, if anything does.
    pub(super) fn values(&self, plan: &Plan, seed: u64) -> Result<Option<Values>> {
        match &self.requests {
            Some(requests) => requests.values_of(plan, seed),
            None => Ok(None),
        }
    }

    pub(crate) fn mix(&self, seed: u64) -> Mix {
        let Some(requests) = &self.requests else { return Mix::default() };
        Mix {
            journeys: journey::specs(&self.journeys, seed, self.under_way_max, &requests.redirected),
            ..share::mix(requests.weights.as_deref(), self.order, seed)
        }
    }

    pub(crate) fn origins(&self) -> Origins {
        let of = self.requests.as_ref().map(|requests| requests.origin_of.as_slice()).unwrap_or_default();
        Origins::new(of).expect("no more origins than a run may have")
    }

    /// The journeys as a document has them; `operations` has their steps.
    pub(super) fn described(&self, operations: &[OperationPlan]) -> Vec<JourneyPlan> {
        let Some(requests) = &self.requests else { return Vec::new() };
        let steps = operations.iter().skip(requests.plain).map(|operation| operation.name.as_str());
        let shares = requests.weights.iter().flat_map(|weights| share::parts(weights)).skip(requests.plain);
        journey::describe(&self.journeys, self.under_way_max, steps, &requests.redirected, shares)
    }

    /// What a search or a comparison is to go on with, where a plan lists it.
    pub(crate) fn said(&self) -> Option<serde_json::Value> {
        let requests = self.requests.as_ref()?;
        let each = requests.targets.iter().zip(&requests.idempotent).zip(&requests.origin_of);
        let each = each.map(|((target, idempotent), origin)| json!([target.name, idempotent, origin]));
        let mut said = json!({
            "requests": each.collect::<Vec<_>>(),
            "weights": requests.weights,
            "order": self.order,
            "services": self.in_words,
        });
        if !self.answers_in_words.is_empty() {
            said["answers"] = json!(self.answers_in_words);
        }
        Some(said)
    }

    /// One has no name: nothing is connected to.
    pub(super) fn origin_names(&self) -> Vec<OriginName> {
        match &self.requests {
            Some(requests) if requests.origins.len() > 1 => requests.origin_names().collect(),
            _ => vec![OriginName::default()],
        }
    }

    /// Names that a load may be restricted to, and that objectives may speak of.
    pub(crate) fn names(&self) -> &[Requested] {
        self.requests.as_ref().map(|requests| &requests.targets[..]).unwrap_or_default()
    }

    /// How many connections the load has because its requests would go to a database, and it says nothing of them.
    pub(super) fn pool_by_default(&self, load: &LoadArgs) -> Option<(Database, u32)> {
        let origin = self.requests.as_ref().and_then(|requests| requests.origins.first())?;
        let is_said = load.connections.is_some() || load.closed.is_some();
        default_pool(origin.speaks).filter(|_| !is_said)
    }

    /// Loads name their requests as objectives do.
    pub(super) fn with_names(&self, args: &LoadArgs) -> LoadArgs {
        let mut args = args.clone();
        args.loads.iter_mut().flat_map(|load| &mut load.only).for_each(|name| *name = self.called(name));
        args
    }

    /// As a load means it: by method and path, too.
    pub(crate) fn called(&self, name: &str) -> String {
        self.requests.as_ref().map_or_else(|| name.to_string(), |requests| requests.called(name))
    }

    /// What is asked for, as the document says it. `server` is what answers, in words.
    pub(super) fn targets(&self, server: &str) -> Vec<Requested> {
        match &self.requests {
            Some(requests) => requests.targets.clone(),
            None => vec![Requested {
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

    /// What is asked of the simulated run, once it is known that it can tell, and the rules that may end it.
    pub(super) fn objectives(
        &self,
        slos: &SloArgs,
        rules: &[AbortRule],
        plan: &Plan,
        header: &RunHeader,
    ) -> Result<Objectives> {
        if let Some(requests) = &self.requests {
            let journeys = header.journeys.clone();
            let asked = objectives::asked(slos, rules, requests, plan, &header.operations, journeys)?;
            return Ok(asked.slos.document(&asked.rules));
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
        if let Some((number, named)) = rules
            .iter()
            .enumerate()
            .find(|(_, rule)| rule.name.as_ref().is_some_and(|name| header.part_called(name).is_none()))
        {
            let why = "without a plan that lists [[requests]] a simulated server is asked for one thing only; leave the name \
                       out";
            let text = secrets::mask_objective(&named.to_string());
            return Err(refused_value("abort-on", number, format!("--abort-on {text:?}: {why}")));
        }
        objectives::check_tellable(&slos.slo, rules, plan)?;
        Ok(slos.document(rules))
    }
}
