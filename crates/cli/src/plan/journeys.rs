//! The journeys of a plan: its `[[journeys]]`, each with its `[[journeys.steps]]`.

mod held;

use super::file::{PlanFile, Table, values_of};
use super::lists::{JOURNEYS, STEPS};
use super::requests::{self, Address, One};
use super::sockets::{self, Opened};
use super::source::Wrong;
use super::user::User;
use super::value;
use crate::errors;
use crate::expect;
use crate::journey::{Chance, Journey, PlannedJourney, PlannedStep, Repeat, Step};
use crate::request::Request;
use crate::request::body::BodyFiles;
use crate::request::share::{self, Share};
use crate::request::steps::SocketStep;
use crate::request::taking::{self, Taking};
use crate::request::url::{Origin, Speaks};
use crate::think::{Measured, ThinkArg};
use anyhow::{Error, Result};
use std::sync::Arc;
use unblink_core::journey::{CERTAIN, JOURNEYS_MAX, POLLS_MAX, Redirects, StepSpec, Think, Until};
use unblink_core::origins::ORIGINS_MAX;
use unblink_workload::Lets;
use unblink_workload::answer::{Capture, Captured};

/// Where paths lead to, and what stands in requests.
#[derive(Clone, Copy)]
pub(super) struct Paths<'a> {
    pub target: Option<&'a Address<'a>>,
    pub lets: &'a Arc<Lets>,
}

/// The journeys of `plan`. `user` is the command line without the plan, and `beside` are the requests that share
/// the load with them.
pub(super) fn of(plan: &PlanFile, user: &User, paths: Paths<'_>, beside: &[Request]) -> Result<Vec<Journey>> {
    let Some(first) = plan.journeys.first() else { return Ok(Vec::new()) };
    if let Some(message) = refusal(plan, user) {
        return Err(wrong(plan, first, message));
    }
    let mut files = BodyFiles::default();
    let tables = plan.journeys.iter().enumerate();
    let journeys: Vec<Journey> =
        errors::all(tables.map(|(number, table)| one(plan, number, table, paths, &mut files)))?;
    for (place, journey) in journeys.iter().enumerate() {
        if journeys[..place].iter().any(|other| other.name == journey.name) {
            let message =
                format!("another journey is called {:?}, too: give each a name of its own", journey.name);
            return Err(wrong(plan, &plan.journeys[place], message));
        }
    }
    if let Some(why) = held::refusal_beside(plan, user, &journeys) {
        let at = journeys.iter().position(|journey| journey.hold_connection).unwrap_or_default();
        return Err(wrong(plan, &plan.journeys[at], why));
    }
    let requests = beside.iter().map(|request| request.share);
    let shares: Vec<Option<Share>> = requests.chain(journeys.iter().map(|journey| journey.share)).collect();
    match share::weights(&shares) {
        Ok(_) => Ok(journeys),
        Err(bad) => {
            let tables = plan.requests.iter().chain(&plan.journeys).collect::<Vec<_>>();
            match tables.get(bad.request) {
                Some(table) if plan.requests.len() == beside.len() => Err(wrong(plan, table, bad.message)),
                _ => Err(bad.into()),
            }
        }
    }
}

/// Names the values that journeys take from answers. Those of several journeys may have the same name: each has its own.
pub(super) fn add_taken(plan: &PlanFile, lets: &mut Lets) -> Result<()> {
    let is_whole = |table: &Table| {
        let urls = ["url", "connect"].into_iter().flat_map(|field| values_of(&table.given, field));
        urls.into_iter().any(|url| !url.raw.starts_with('/'))
    };
    let all = plan.requests.iter().chain(plan.journeys.iter().flat_map(|journey| &journey.inner));
    let all_others = all.filter(|table| is_whole(table)).count().min(ORIGINS_MAX - 1);
    for table in &plan.journeys {
        for step in &table.inner {
            for name in requests::captures(plan, step)?.keys() {
                let text = &values_of(&step.given, "capture")[0];
                lets.add_kept(name).map_err(|why| plan.error(text, why))?;
            }
        }
        let redirects =
            std::iter::once(table).chain(&table.inner).flat_map(|t| values_of(&t.given, "redirects"));
        let redirects = redirects.last();
        if let Some(text) = redirects {
            lets.add_went().map_err(|why| plan.error(text, why))?;
        }
        if let Some(text) = values_of(&table.given, "cookies").first() {
            // Of the target, and of as many other origins as there may be. A redirect may lead to any.
            let others = table.inner.iter().filter(|step| is_whole(step)).count();
            let others = if redirects.is_some() { all_others } else { others };
            for number in 0..=others {
                lets.add_cookies(number).map_err(|why| plan.error(text, why))?;
            }
        }
    }
    Ok(())
}

/// Why there can be no journeys in this load, if there can't.
fn refusal(plan: &PlanFile, user: &User) -> Option<String> {
    let has = |field: &str| user.has(field) || plan.value(field).is_some();
    let why = if has("closed") {
        "journeys need a rate, so they can't run with --closed"
    } else if has("precision") || has("precision-of") {
        "--precision ends a run in the middle of its journeys"
    } else if has("targets") {
        "journeys have shares, and a file of targets has none"
    } else {
        return None;
    };
    Some(format!("{why}: leave it out, or the [[{JOURNEYS}]]"))
}

fn wrong(plan: &PlanFile, table: &Table, message: impl Into<String>) -> Error {
    let at = ["share", "weight", "name"].into_iter().flat_map(|field| values_of(&table.given, field)).next();
    let at = at.map_or(&table.at, |text| &text.at);
    plan.source.error_hiding(&Wrong::new(at.clone(), message), &plan.hidden)
}

fn one(
    plan: &PlanFile,
    number: usize,
    table: &Table,
    paths: Paths<'_>,
    files: &mut BodyFiles,
) -> Result<Journey> {
    if number >= JOURNEYS_MAX {
        let all = plan.journeys.len();
        let message =
            format!("these are {all} journeys, and a run has at most {JOURNEYS_MAX}: leave some out");
        return Err(wrong(plan, table, message));
    }
    let PlannedJourney { name, share, weight, think, cookies, own_connection, hold_connection, redirects } =
        value::read(plan, table, JOURNEYS)?;
    let name = name.unwrap_or_else(|| format!("journey {}", number + 1));
    let share = requests::share_in(share, weight).map_err(|message| wrong(plan, table, message))?;
    let mut so_far = SoFar {
        known: 0,
        origins: Vec::new(),
        has_cookies: cookies,
        socket: None,
        may_have_left: false,
        holds: hold_connection,
    };
    let of_step = |(i, inner)| {
        let place = Place { number: i, is_last: i + 1 == table.inner.len() };
        let mut step =
            step(plan, place, (table, inner), (&name, think.as_ref(), redirects), &mut so_far, paths, files);
        match &mut step {
            Ok(step) => so_far.goes_on(plan, inner, place, step)?,
            // What it takes is not missed in the next one, too.
            Err(_) => so_far.known |= bits(paths.lets, requests::captures(plan, inner)?.keys()),
        }
        step
    };
    let steps: Vec<Step> = errors::all(table.inner.iter().enumerate().map(of_step))?;
    for (place, one) in steps.iter().enumerate() {
        if steps[..place].iter().any(|other| other.request.name == one.request.name) {
            let message = "another step of this journey has the same name: give each a name of its own";
            return Err(wrong(plan, &table.inner[place], message));
        }
    }
    if own_connection && steps.iter().any(|step| step.request.parts.socket.is_some()) {
        let message = "own-connection is for journeys without WebSockets, and connect opens one that is the journey's own \
                       anyway: leave own-connection out";
        return Err(wrong(plan, table, message));
    }
    if hold_connection && let Some(why) = held::refusal(&steps, own_connection) {
        return Err(wrong(plan, table, why));
    }
    let cookies = cookies.then_some(so_far.origins);
    Ok(Journey { name, share, cookies, own_connection, hold_connection, steps })
}

/// Where a step stands in its journey.
#[derive(Clone, Copy)]
struct Place {
    number: usize,
    is_last: bool,
}

/// What a journey has taken from its answers, from one step to the next.
struct SoFar {
    /// A bit for each value.
    known: u64,
    /// Those that it keeps cookies of, by number.
    origins: Vec<Origin>,
    has_cookies: bool,
    /// The WebSocket that it has open.
    socket: Option<Opened>,
    /// Some have left behind a step before, as drawn.
    may_have_left: bool,
    /// The journey holds its connection.
    holds: bool,
}

impl SoFar {
    /// What `step` brings is there for those behind it; what was brought before in cookies is sent with it.
    fn goes_on(&mut self, plan: &PlanFile, table: &Table, place: Place, step: &mut Step) -> Result<()> {
        let Step { request, spec, .. } = step;
        // Of a step that may be skipped nothing is sure to be there.
        if spec.chance == CERTAIN {
            let numbers = request.parts.taking.captures.iter().map(|captured| captured.number);
            self.known |= numbers.fold(0, |known, number| known | 1 << number);
        }
        // A message carries none.
        if !self.has_cookies || !matches!(request.parts.socket, None | Some(SocketStep::Connect)) {
            return Ok(());
        }
        if request.parts.headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("cookie")) {
            let message =
                "this journey keeps its cookies (cookies = true), which stand in this header: leave it out";
            let text = values_of(&table.given, "header").first();
            return Err(text.map_or_else(|| wrong(plan, table, message), |text| plan.error(text, message)));
        }
        let own = request.url.origin.of_cookies();
        let at = self.origins.iter().position(|origin| *origin == own);
        let number = at.unwrap_or_else(|| {
            self.origins.push(own);
            self.origins.len() - 1
        });
        let name = Lets::cookies_name(number);
        let kept = request.lets.kept(&name).unwrap_or_default();
        // Nothing can have been set before the first request.
        if place.number > 0 || spec.repeat.1 > 1 || spec.until.is_some() {
            request.parts.headers.push(("Cookie".into(), format!("{{{{{name}}}}}")));
            request.parts.taking.known |= 1 << kept;
        }
        request.parts.taking.captures.push(Captured { name, number: kept, capture: Capture::Cookies });
        Ok(())
    }
}

/// A bit for each of these values.
fn bits<'a>(lets: &Lets, names: impl Iterator<Item = &'a String>) -> u64 {
    names.filter_map(|name| lets.kept(name)).fold(0, |bits, number| bits | 1 << number)
}

/// Why nobody can say how many keys a step inserts for each journey that starts, if nobody can.
fn uncountable(spec: &StepSpec, may_have_left: bool, over_ws: bool) -> Option<&'static str> {
    let StepSpec { repeat: (least, most), chance, until, .. } = spec;
    match () {
        () if over_ws => Some("only a step with url inserts keys: leave inserts out"),
        () if until.is_some() => Some(
            "with until nobody knows how often the step asks, and so how many keys it adds: insert in a step without until",
        ),
        () if least < most => Some(
            "how often this step is repeated is drawn for each journey, so nobody knows how many keys there are: repeat it a fixed \
             number of times",
        ),
        () if *chance < CERTAIN => Some(
            "whether this step is taken is drawn for each journey, so nobody knows which keys there are: leave chance out, or give \
             those that insert a journey of their own with its share",
        ),
        () if may_have_left => Some(
            "some journeys leave before this step (exit), as is drawn for each, so nobody knows which keys there are: insert before \
             them, or give those that insert a journey of their own with its share",
        ),
        () => None,
    }
}

/// A file of think times can't be used: of the step, or of its whole journey.
fn think_at_fault(plan: &PlanFile, step: &Table, journey: &Table, why: &str) -> Error {
    let texts = [step, journey].into_iter().flat_map(|table| values_of(&table.given, "think"));
    texts.take(1).map(|text| plan.error(text, why)).next().unwrap_or_else(|| wrong(plan, step, why))
}

fn step(
    plan: &PlanFile,
    place: Place,
    (journey_table, table): (&Table, &Table),
    (journey, of_all, redirects_of_all): (&str, Option<&ThinkArg>, Option<u8>),
    so_far: &mut SoFar,
    paths: Paths<'_>,
    files: &mut BodyFiles,
) -> Result<Step> {
    let mut planned: PlannedStep = value::read(plan, table, STEPS)?;
    let over_ws = sockets::kind(&planned);
    let PlannedStep { repeat, chance, exit, redirects, inserts, every, within, .. } = planned;
    let (until, think) = (std::mem::take(&mut planned.until), planned.think.take());
    let at_fault = |field: &str, message: &str| match values_of(&table.given, field).first() {
        Some(text) => plan.error(text, message),
        None => wrong(plan, table, message),
    };
    if place.number == 0 && chance.is_some_and(|Chance(chance)| chance < CERTAIN) {
        let message = "a journey begins with its first step: give the journey a smaller share instead";
        return Err(at_fault("chance", message));
    }
    if place.is_last && exit.is_some() {
        return Err(at_fault("exit", "the journey ends after its last step anyway: leave exit out"));
    }
    if !until.is_empty() && repeat.is_some() {
        return Err(at_fault("repeat", "with until a step asks until it has its answer: leave repeat out"));
    }
    if expect::check(&until).is_err() {
        return Err(at_fault(
            "until",
            "two conditions on the size, or two on the contents: give one of each",
        ));
    }
    let asked = match (every, within) {
        (None, None) if until.is_empty() => None,
        (every, _) if until.is_empty() => {
            let field = if every.is_some() { "every" } else { "within" };
            return Err(at_fault(field, &format!("{field} belongs to until, which this step does not have")));
        }
        (Some(every), Some(within)) => Some(Until { every, within }),
        (every, _) => {
            let lacks = if every.is_none() { "every, such as \"500ms\"" } else { "within, such as \"30s\"" };
            return Err(at_fault("until", &format!("a step with until needs {lacks}")));
        }
    };
    if asked.is_some_and(|asked| asked.every > asked.within) {
        let message = "this is longer than within, so the step would not ask again before its time is over: ask more often";
        return Err(at_fault("every", message));
    }
    if asked.is_some_and(|asked| asked.requests_max() > POLLS_MAX) {
        let message = format!(
            "this would be more than {POLLS_MAX} requests for one answer: ask less often, or for a shorter time"
        );
        return Err(at_fault("every", &message));
    }
    if asked.is_some() && redirects.is_some_and(|redirects| redirects > 0) {
        let message = "with until a step asks again and again for one answer: ask where that is, and leave redirects out";
        return Err(at_fault("redirects", message));
    }
    let of_all_too = redirects_of_all.filter(|_| asked.is_none() && over_ws.is_none());
    let redirects = redirects.or(of_all_too).unwrap_or(0);
    let Repeat(least, most) = repeat.unwrap_or(Repeat(1, 1));
    let (think_law, measured) = match think.as_ref().or(of_all) {
        None => (Think::NONE, None),
        Some(ThinkArg::Law(law)) => (*law, None),
        Some(ThinkArg::File(file)) => match Measured::read(file, plan.path.parent()) {
            Ok(measured) => (Think::NONE, Some(measured)),
            Err(why) => return Err(think_at_fault(plan, table, journey_table, &why)),
        },
    };
    let spec = StepSpec {
        think: think_law,
        repeat: (least, most),
        chance: chance.map_or(CERTAIN, |Chance(chance)| chance),
        exit: exit.map_or(0, |Chance(exit)| exit),
        until: asked,
        redirects: Redirects { max: redirects, operations: 0 },
        inserts,
    };
    if inserts && let Some(why) = uncountable(&spec, so_far.may_have_left, over_ws.is_some()) {
        return Err(at_fault("inserts", why));
    }
    so_far.may_have_left |= spec.exit > 0;
    if place.number == 0 && most == 1 && think.is_some() {
        let message = "nobody thinks before the first request of a journey: write it to the step after";
        return Err(at_fault("think", message));
    }
    let captures = errors::all(requests::captures(plan, table)?.into_iter().map(|(name, text)| {
        let capture =
            Capture::parse(&text).map_err(|error| at_fault("capture", &format!("{name}: {error}")))?;
        Ok(Captured { number: paths.lets.kept(&name).unwrap_or_default(), name, capture })
    }))?;
    let name = planned.name.take().unwrap_or_else(|| format!("step {}", place.number + 1));
    let name = format!("{journey}: {name}");
    let mut taking = Taking {
        known: so_far.known,
        tells_values: captures.iter().any(|captured| captured.capture.is_told()),
        captures,
        until,
        redirects: None,
        holds_connection: so_far.holds,
    };
    let unfit = |captures: &[Captured], speaks| {
        let unfit = captures.iter().find_map(|one| Some((one, taking::refusal(&one.capture, speaks)?)));
        unfit.map(|(one, why)| at_fault("capture", &format!("{}: {why}", one.name)))
    };
    if over_ws.is_some()
        && let Some(error) = unfit(&taking.captures, Speaks::WebSocket)
    {
        return Err(error);
    }
    if let Some(kind) = over_ws {
        taking.until = sockets::conditions(plan, table, &planned.awaits)?;
        let around = (so_far.socket.as_ref(), paths.target, paths.lets);
        let built = sockets::built(plan, table, (kind, planned), taking, name, around, files);
        if built.is_err() && kind == SocketStep::Connect {
            // That it is not open is not missed by the next ones, too.
            so_far.socket = sockets::Opened::at(plan, table, paths.target).or(so_far.socket.take());
        }
        let (request, opened) = built?;
        so_far.socket = opened;
        return Ok(Step { request, spec, measured });
    }
    let PlannedStep { url, own, json, form, multipart, .. } = planned;
    let Some(url) = url else { return Err(wrong(plan, table, "this step has no url")) };
    let text = &values_of(&table.given, "url")[0];
    if requests::address(plan, text, url.clone(), paths.target, None)?.parsed(plan)?.origin.is_ws() {
        let message = "a journey has a WebSocket of its own: a step with connect opens it, and the steps after it \
                       say message, await or close";
        return Err(plan.error(text, message));
    }
    let (name, share) = (Some(name), None);
    let one = One { name, url, share, inserts, json, form, multipart, own, taking };
    let request = requests::built(plan, table, one, paths.target, None, paths.lets, files)?;
    match unfit(&request.parts.taking.captures, request.url.origin.speaks) {
        Some(error) => Err(error),
        None => Ok(Step { request, spec, measured }),
    }
}
