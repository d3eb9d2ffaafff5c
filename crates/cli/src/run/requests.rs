//! All requests of a run: rendered one by one, so that of a million only what is sent is kept, and named for the report
//! as far as it lists them.

use super::conditions::Conditions;
use super::names::{Names, in_errors};
use super::{redirected, sockets, target_file};
use crate::args::run::RunArgs;
use crate::errors::refused;
use crate::journey::{Journey, Step};
use crate::replay;
use crate::request::grpc::types::Types;
use crate::request::grpc::{self, Call};
use crate::request::share::{self, Share};
use crate::request::taking::Taking;
use crate::request::url::Origin;
use crate::request::version::{Operations, Version};
use crate::request::{Parts, Request};
use crate::script::Source;
use anyhow::{Context, Result, bail};
use std::sync::Arc;
use unblink_artifact::document::{OperationPlan, OriginName, Protocol, Requested, SCRIPT, TargetsBeyond};
use unblink_artifact::harmless;
use unblink_artifact::names::few;
use unblink_core::origins::{ORIGINS_MAX, SocketUse};
use unblink_core::plan::Plan;
use unblink_wire::http1;
use unblink_workload::answer::{Condition, Expects};
use unblink_workload::{Composition, Lets, Values, ValuesError};

/// Targets that a document lists; it counts the others.
const LISTED_MAX: usize = 1_000;

/// What is sent.
pub(crate) struct Requests {
    /// Where they go.
    pub origins: Vec<Origin>,
    /// For each the place of its origin among these.
    pub origin_of: Vec<u8>,
    pub operations: Operations,
    /// For each what stands in its places, if it has any.
    pub compositions: Vec<Option<Composition>>,
    /// Those that add a key, by number.
    pub inserts: Vec<u32>,
    /// The values that these may use.
    pub lets: Arc<Lets>,
    /// For each what its answers must be like.
    expects: Conditions,
    /// For each whether it may be sent twice.
    pub idempotent: Vec<bool>,
    /// For each how it uses the WebSocket of its journey.
    pub sockets: Vec<SocketUse>,
    /// How many of them stand alone; the others are steps of journeys, and what follows redirects.
    pub plain: usize,
    /// For each step the names of the requests that may follow its redirects; they come behind all steps.
    pub redirected: Vec<Vec<String>>,
    /// The weight of each that stands alone, and behind these of each journey, if they were given shares.
    pub weights: Option<Vec<u32>>,
    /// The first of them as the report names them, secrets masked.
    pub targets: Vec<Requested>,
    /// The same by method and path, secrets and all: what they may be called by whoever asks.
    pub asked: Vec<String>,
    /// The same again with secrets masked, and with the numbers of its places: `GET /items/{{0}}`.
    pub numbered: Vec<String>,
    /// The path or query of one has an @, which may have been meant for the end of a password.
    pub has_at_sign: bool,
    pub beyond: Option<TargetsBeyond>,
}

impl Requests {
    /// Those that are recorded apart; the last of them may stand for all others.
    pub(crate) fn operations_apart(&self, plan: &Plan) -> Vec<OperationPlan> {
        let apart = plan.operations_apart();
        // Shares are of all that is asked for.
        let is_whole = plan.spec().load.open_parts().iter().all(|part| part.only.is_none());
        let named =
            self.targets.iter().take(apart).zip(&self.origin_of).map(|(target, &origin)| OperationPlan {
                name: target.name.clone(),
                protocol: match self.origins[usize::from(origin)].is_ws() {
                    true => Protocol::WebSocket,
                    false => self.operations.version().protocol(),
                },
                origin: (self.origins.len() > 1).then_some(origin),
                share: None,
            });
        let mut operations: Vec<OperationPlan> = named.collect();
        let parts = self.weights.iter().filter(|_| is_whole).flat_map(|weights| share::parts(weights));
        for (i, part) in parts.take(self.plain).enumerate() {
            *operations[i.min(apart - 1)].share.get_or_insert(0.0) += part;
        }
        if self.operations.len() > apart {
            operations[apart - 1].name = "(others)".to_string();
            // They may go anywhere.
            operations[apart - 1].origin = None;
        }
        operations
    }
}

/// Takes requests one by one.
struct Gathering {
    version: Version,
    /// Of the calls to each origin, if calls are what is measured.
    types: Vec<Types>,
    /// What the flags say for every request that does not say it itself.
    of_all: Parts,
    found: Option<Requests>,
    names: Names,
    /// Places of the listed ones that have no name of their own.
    unnamed: Vec<usize>,
}

impl Gathering {
    fn count(&self) -> usize {
        self.found.as_ref().map_or(0, |found| found.operations.len())
    }

    fn add(&mut self, mut request: Request) -> Result<()> {
        request.parts.fill(&self.of_all);
        self.add_whole(request)
    }

    /// Takes one that says all that it says.
    fn add_whole(&mut self, request: Request) -> Result<()> {
        let place = || request.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
        let found = self.found.get_or_insert_with(|| Requests {
            origins: Vec::new(),
            origin_of: Vec::new(),
            operations: Operations::new(self.version),
            compositions: Vec::new(),
            inserts: Vec::new(),
            lets: Arc::default(),
            expects: Conditions::default(),
            idempotent: Vec::new(),
            sockets: Vec::new(),
            plain: 0,
            redirected: Vec::new(),
            weights: None,
            targets: Vec::new(),
            asked: Vec::new(),
            numbered: Vec::new(),
            has_at_sign: false,
            beyond: None,
        });
        let known = found.origins.iter().position(|origin| *origin == request.url.origin);
        let origin = known.unwrap_or_else(|| {
            found.origins.push(request.url.origin.clone());
            found.origins.len() - 1
        });
        if origin >= ORIGINS_MAX {
            bail!(
                "{}a run has at most {ORIGINS_MAX} origins (scheme, host and port), and {} would be one more: put the \
                 others into a run of their own",
                place(),
                request.url.origin
            );
        }
        found.origin_of.push(origin as u8);
        let mut target = request.target();
        let rendered = match self.types.get(origin) {
            Some(types) => grpc::render(&request, types),
            None => request.render(self.version).map(|(rendered, composition)| Call {
                rendered,
                composition,
                reader: None,
                is_idempotent: request.is_idempotent(),
            }),
        };
        let Call { rendered: operation, composition, reader, is_idempotent } =
            rendered.with_context(|| format!("{}can't send {}", place(), in_errors(&target)))?;
        let pushed = found.operations.push(operation);
        pushed.with_context(|| format!("{}can't send {}", place(), in_errors(&target)))?;
        if request.inserts {
            found.inserts.push(found.operations.len() as u32 - 1);
        }
        found.compositions.push(composition);
        found.lets = request.lets.clone();
        found.expects.add(&request.parts.expect, &request.parts.taking, reader);
        found.has_at_sign |= request.url.userinfo.is_none() && request.url.target.contains('@');
        found.idempotent.push(is_idempotent);
        found.sockets.push(request.parts.socket.map_or(SocketUse::None, |step| step.socket_use()));
        if found.targets.len() < LISTED_MAX {
            if request.name.is_none() {
                target.name = self.names.told_apart(target.name, &request.asked());
                self.unnamed.push(found.targets.len());
            }
            found.targets.push(target);
            found.numbered.push(harmless::replaced(&request.numbered()?));
            found.asked.push(match request.url.origin.has_paths() {
                false => request.method().to_string(),
                true => format!("{} {}", request.method(), request.url.target),
            });
        } else {
            found.beyond = Some(TargetsBeyond::add(found.beyond.take(), &target));
        }
        Ok(())
    }
}

impl Gathering {
    /// Takes the steps of all journeys and, of those of which `is_followed` says so, behind them what follows their redirects to any
    /// origin of the plan.
    fn add_journeys(&mut self, journeys: &[Journey], is_followed: &dyn Fn(&Step) -> bool) -> Result<()> {
        let mut steps = Vec::new();
        for (journey, step) in journeys.iter().flat_map(|one| one.steps.iter().map(move |step| (one, step))) {
            let mut request = step.request.clone();
            request.parts.fill(&self.of_all);
            self.add_whole(request.clone())?;
            // What follows a redirect is no insert of its own.
            request.inserts = false;
            steps.push((journey, step.spec.redirects.max > 0 && is_followed(step), request));
        }
        let Some(found) = &mut self.found else { return Ok(()) };
        // Where a WebSocket is, nothing is redirected to.
        let origins: Vec<Origin> = found.origins.iter().filter(|origin| !origin.is_ws()).cloned().collect();
        let first_step = found.operations.len() - steps.len();
        sockets::look_ahead(&mut found.operations, journeys, first_step as u32);
        for (number, (journey, is_followed, request)) in steps.into_iter().enumerate() {
            let mut names = Vec::new();
            if is_followed {
                let first = self.count() as u32;
                let (redirects, all) = redirected::of(&request, journey.cookies.as_deref(), &origins, first)?;
                if let Some(found) = &mut self.found {
                    let taking = Taking { redirects: Some(redirects), ..request.parts.taking.clone() };
                    found.expects.replace(first_step + number, &request.parts.expect, &taking);
                }
                names.extend(all.iter().map(|request| request.target().name));
                all.into_iter().try_for_each(|request| self.add_whole(request))?;
            }
            if let Some(found) = &mut self.found {
                found.redirected.push(names);
            }
        }
        Ok(())
    }
}

/// Every request of the run.
pub(crate) fn requests(args: &RunArgs, version: Version) -> Result<Requests> {
    all(args, version, Vec::new())
}

/// The same where all of them are calls; `types` has those of each origin.
pub(super) fn calls(args: &RunArgs, types: Vec<Types>) -> Result<Requests> {
    all(args, Version::Grpc, types)
}

fn all(args: &RunArgs, version: Version, types: Vec<Types>) -> Result<Requests> {
    let of_all = Parts::of_all(&args.target.request)?;
    let found = gathered(of_all, (version, types), |gathering| {
        match &args.targets {
            Some(file) => target_file::read(file, &mut |request| {
                gathering.add(Request { lets: args.lines.lets.named.clone(), ..request })
            })?,
            None => match args.load.replay.read(args.load.seed)? {
                Some(found) => {
                    let requests = found.requests(replay::base(args)?, &args.target.path_template)?;
                    requests.into_iter().try_for_each(|request| gathering.add(request))?;
                }
                None => args.requests.iter().try_for_each(|request| gathering.add(request.clone()))?,
            },
        }
        let plain = gathering.count();
        gathering.add_journeys(&args.journeys, &|_| true)?;
        Ok(plain)
    })?;
    let mut found = found.context("nothing to request: give a URL, a plan, or --targets FILE")?;
    if args.targets.is_none() && args.load.replay.recorded.replay.is_none() {
        let alone = args.requests.iter().map(|request| request.share);
        let journeys = args.journeys.iter().map(|journey| journey.share);
        let shares: Vec<Option<Share>> = alone.chain(journeys).collect();
        found.weights = share::weights(&shares)?;
    }
    Ok(found)
}

/// `requests` and the steps of `journeys`, of which nothing is sent, with what `of_all` says for each that does not say it itself; `None`
/// where there are none. What follows redirects is there for the steps of which `is_followed` says so.
pub(crate) fn listed(
    of_all: Parts,
    requests: &[Request],
    journeys: &[Journey],
    is_followed: &dyn Fn(&Step) -> bool,
) -> Result<Option<Requests>> {
    let found = gathered(of_all, (Version::One, Vec::new()), |gathering| {
        requests.iter().try_for_each(|request| gathering.add(request.clone()))?;
        let plain = gathering.count();
        gathering.add_journeys(journeys, is_followed)?;
        Ok(plain)
    })?;
    let alone = requests.iter().map(|request| request.share);
    let shares: Vec<Option<Share>> = alone.chain(journeys.iter().map(|journey| journey.share)).collect();
    let weights = share::weights(&shares)?;
    Ok(found.map(|found| Requests { weights, ..found }))
}

/// What `each` gathers, which says how many of it stand alone.
fn gathered(
    of_all: Parts,
    (version, types): (Version, Vec<Types>),
    each: impl FnOnce(&mut Gathering) -> Result<usize>,
) -> Result<Option<Requests>> {
    let mut gathering =
        Gathering { version, types, of_all, found: None, names: Names::default(), unnamed: Vec::new() };
    let plain = each(&mut gathering)?;
    let Gathering { mut found, unnamed, .. } = gathering;
    if let Some(found) = &mut found {
        found.tell_origins(&unnamed);
        found.plain = plain;
    }
    Ok(found)
}

impl Requests {
    /// Of several origins, a request without a name of its own is called by the one that it goes to.
    fn tell_origins(&mut self, unnamed: &[usize]) {
        let is_mixed = self.origins.iter().any(|origin| origin.tls != self.origins[0].tls);
        if self.origins.len() == 1 {
            return;
        }
        let places: Vec<String> = self.origins.iter().map(ToString::to_string).collect();
        for &i in unnamed {
            let whole = &places[usize::from(self.origin_of[i])];
            let place = if is_mixed {
                whole
            } else {
                whole.split_once("://").map_or(whole.as_str(), |(_, host)| host)
            };
            for name in [&mut self.targets[i].name, &mut self.asked[i]] {
                *name = name.replacen(" /", &format!(" {place}/"), 1);
            }
        }
    }

    /// A script makes the only request, and nobody knows whether that may be sent twice.
    pub(crate) fn made_by(&mut self, script: &Source<'_>) {
        let called = script.called();
        self.operations = Operations::One(vec![http1::Request::filled_in()]);
        self.idempotent = vec![false];
        for target in &mut self.targets {
            target.name.clone_from(&called);
            target.method = SCRIPT.to_string();
        }
        self.asked = vec![called.clone()];
        self.numbered = vec![called];
    }

    /// What the answers to each must be like.
    pub(crate) fn expects(&self) -> Expects {
        self.expects.of_each()
    }

    /// What differs from one arrival to the next; asked for once.
    pub(crate) fn values(&mut self, plan: &Plan, seed: u64) -> Result<Option<Values>> {
        let compositions = std::mem::take(&mut self.compositions);
        self.drawing(compositions, plan, seed)
    }

    /// The same, as often as it is asked for.
    pub(crate) fn values_of(&self, plan: &Plan, seed: u64) -> Result<Option<Values>> {
        self.drawing(self.compositions.clone(), plan, seed)
    }

    fn drawing(
        &self,
        compositions: Vec<Option<Composition>>,
        plan: &Plan,
        seed: u64,
    ) -> Result<Option<Values>> {
        if compositions.iter().all(Option::is_none) {
            return Ok(None);
        }
        let values = Values::new((*self.lets).clone(), compositions, &self.inserts, plan, seed);
        values.map(Some).map_err(|error| {
            let fields: &[&str] = match error {
                ValuesError::OneKeyForMany { .. } => &["inserts", "repeat"],
                ValuesError::InsertsOutOfOrder { .. } => &["arrivals", "closed"],
                ValuesError::NoSchedule { .. } | ValuesError::RandomOrder { .. } => &["order"],
            };
            refused(fields, error.to_string())
        })
    }

    /// Some answers come event by event.
    pub(crate) fn has_events(&self) -> bool {
        let is_of_events = |one: &Condition| matches!(one, Condition::Events(_));
        self.expects.distinct.iter().any(|(conditions, ..)| conditions.iter().any(is_of_events))
    }

    /// Where they go, as the document says it.
    pub(crate) fn origin_names(&self) -> impl Iterator<Item = OriginName> + '_ {
        self.origins.iter().map(|origin| OriginName {
            scheme: Some(origin.scheme()),
            host: Some(origin.host.clone()),
            port: Some(origin.port),
        })
    }

    /// Where they go.
    pub(crate) fn places(&self) -> String {
        in_words(&self.origins)
    }
}

/// Origins by name.
pub(super) fn in_words(origins: &[Origin]) -> String {
    few(&origins.iter().map(ToString::to_string).collect::<Vec<_>>())
}
