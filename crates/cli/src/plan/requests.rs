//! What a plan requests, with `${NAME}` filled in from the environment. What was written is kept beside what is sent:
//! only the former is ever shown.

use super::fields::{CANDIDATE, TARGET};
use super::file::{Given, PlanFile, Table, Text, values_of};
use super::lists::REQUESTS;
use super::value;
use super::variables::Form;
use crate::errors::Refused;
use crate::request::body::BodyFiles;
use crate::request::fields::{PlannedRequest, RequestArgs};
use crate::request::multipart;
use crate::request::share::{self, Share};
use crate::request::taking::Taking;
use crate::request::template::BodyForm;
use crate::request::url::{Speaks, Url, at, over_ws};
use crate::request::version::Version;
use crate::request::{NOWHERE, Parts, Request};
use crate::{errors, secrets};
use anyhow::{Result, anyhow};
use clap::{Args, Command};
use std::collections::BTreeMap;
use std::sync::Arc;
use unblink_workload::Lets;

/// It lists what is asked.
pub(super) fn has_lists(plan: &PlanFile) -> bool {
    !plan.requests.is_empty() || !plan.journeys.is_empty()
}

/// Every request of `plan`, at `urls` instead of its target if the user gave any.
pub(crate) fn of(plan: &PlanFile, urls: &[String], lets: &Arc<Lets>) -> Result<Vec<Request>> {
    match urls {
        [] => at_target(plan, written(plan, plan.value(TARGET))?, None, lets),
        [url] => at_target(plan, given(url), Some("the URL on the command line"), lets),
        _ if has_lists(plan) => Err(anyhow!(
            "{} lists what is requested, and {} URLs are given: give one URL, at which its requests are asked, or a plan \
             without [[requests]]",
            plan.source.name,
            urls.len()
        )),
        // Several are what is asked for.
        _ => urls.iter().map(|url| Ok(Request { lets: lets.clone(), ..Request::new(None, url)? })).collect(),
    }
}

/// Where the paths of `plan` are, for its journeys: at `urls` if the user gave one, and anywhere at all where nothing is sent.
pub(super) fn target_of<'a>(
    plan: &'a PlanFile,
    urls: &[String],
    is_simulated: bool,
) -> Result<Option<Address<'a>>> {
    match (urls, plan.value(TARGET)) {
        ([url, ..], _) => Ok(given(url)),
        ([], None) if is_simulated => Ok(given(NOWHERE)),
        // Nothing is sent there, so no variable of it needs a value.
        ([], Some(target)) if is_simulated => {
            Ok(Some(Address { url: value::stood_in(target), shown: target.raw.clone(), at: Some(target) }))
        }
        ([], target) => written(plan, target),
    }
}

/// What `plan` requests, for a simulation, in which no variable needs a value. Nothing where it lists no requests.
pub(super) fn simulated(plan: &PlanFile, lets: &Arc<Lets>) -> Result<Vec<Request>> {
    if !has_lists(plan) {
        return Ok(Vec::new());
    }
    let mut requests = at_target(plan, target_of(plan, &[], true)?, None, lets)?;
    let of_all = of_all(plan)?;
    requests.iter_mut().for_each(|request| request.parts.fill(&of_all));
    Ok(requests)
}

/// The target alone, of which a script or a workload says what is asked, for a simulation.
pub(super) fn alone(plan: &PlanFile, lets: &Arc<Lets>) -> Result<Option<Request>> {
    if has_lists(plan) {
        return Ok(None);
    }
    let mut requests = at_target(plan, target_of(plan, &[], true)?, None, lets)?;
    let of_all = of_all(plan)?;
    requests.iter_mut().for_each(|request| request.parts.fill(&of_all));
    Ok(requests.pop())
}

/// What all requests have in common. The command line of a simulation knows nothing of it.
pub(super) fn of_all(plan: &PlanFile) -> Result<Parts> {
    let command = RequestArgs::augment_args(Command::new("")).no_binary_name(true);
    let is_part = |given: &&Given| {
        given.field.section == "request"
            && command.get_arguments().any(|arg| arg.get_long() == Some(&given.field.name))
    };
    let given: Vec<Given> = plan.given.iter().filter(is_part).cloned().collect();
    let own: RequestArgs = value::read_by(plan, &given, command)?;
    Parts::read(&own, &mut BodyFiles::default(), |_| String::new())
        .map_err(|error| plan.pointed(error, &given, |_| false))
}

/// Where the paths of `plan` are, of the target and of the candidate. One URL stands for the candidate, two stand for both.
pub(super) fn targets_of_both<'a>(plan: &'a PlanFile, urls: &[String]) -> Result<[Option<Address<'a>>; 2]> {
    Ok(match urls {
        [] => [written(plan, plan.value(TARGET))?, written(plan, plan.value(CANDIDATE))?],
        [candidate] => [written(plan, plan.value(TARGET))?, given(candidate)],
        [base, candidate, ..] => [given(base), given(candidate)],
    })
}

/// Every request of `plan`, at its target and at its candidate.
pub(crate) fn of_both(plan: &PlanFile, urls: &[String], lets: &Arc<Lets>) -> Result<[Vec<Request>; 2]> {
    let [base, candidate] = targets_of_both(plan, urls)?;
    for (own, asked) in [(plan.value(TARGET), &base), (plan.value(CANDIDATE), &candidate)] {
        let (Some(own), Some(asked)) = (own, asked) else { continue };
        if own.raw == asked.shown && !plan.requests.is_empty() && has_path(&asked.shown) {
            let message =
                "its path is not used, since each request has one: write the path with the requests";
            return Err(plan.error(own, message));
        }
    }
    let candidate = match candidate {
        None => Vec::new(),
        some => at_target(plan, some, Some("the candidate"), lets)?,
    };
    Ok([at_target(plan, base, None, lets)?, candidate])
}

/// More than the root.
fn has_path(url: &str) -> bool {
    let host = url.find("://").map_or(0, |i| i + 3);
    url[host..].find('/').is_some_and(|slash| host + slash + 1 < url.len())
}

/// Where a request goes.
pub(super) struct Address<'a> {
    url: String,
    /// As it was written.
    shown: String,
    /// The plan's own text, unless the user gave it.
    at: Option<&'a Text>,
}

fn written<'a>(plan: &PlanFile, url: Option<&'a Text>) -> Result<Option<Address<'a>>> {
    let address = |url: &'a Text| {
        Ok(Address { url: value::filled_in(plan, Form::Plain, url)?, shown: url.raw.clone(), at: Some(url) })
    };
    url.map(address).transpose()
}

fn given(url: &str) -> Option<Address<'static>> {
    Some(Address { url: url.to_string(), shown: url.to_string(), at: None })
}

impl Address<'_> {
    /// What is wrong with it may hold a secret that was filled in, so that only what was written is quoted.
    pub(super) fn parsed(&self, plan: &PlanFile) -> Result<Url> {
        Url::parse(&self.url).map_err(|error| {
            let said = match self.url == self.shown {
                true => crate::explain_error(&error),
                false => {
                    let shown = secrets::mask_wrong_url(&self.shown);
                    format!("with its variables filled in, {shown:?} is not a URL")
                }
            };
            match self.at {
                Some(at) => plan.error(at, said),
                None => anyhow!("{said}"),
            }
        })
    }
}

impl<'a> Address<'a> {
    /// Where a connection becomes a WebSocket.
    pub(super) fn over_ws(self) -> Address<'a> {
        Address { url: over_ws(&self.url), shown: over_ws(&self.shown), at: self.at }
    }

    /// As it was written.
    pub(super) fn shown(self) -> String {
        self.shown
    }
}

/// Every request of `plan` at `target`. `instead` says what it is that takes the place of the plan's own target.
fn at_target(
    plan: &PlanFile,
    target: Option<Address<'_>>,
    instead: Option<&str>,
    lets: &Arc<Lets>,
) -> Result<Vec<Request>> {
    if !has_lists(plan) {
        let plain = |target: Address<'_>| {
            let (url, place) = (target.parsed(plan)?, Some(plan.source.name.clone()));
            Ok(Request {
                url,
                url_text: target.shown,
                parts: Parts::default(),
                place,
                name: None,
                share: None,
                inserts: false,
                lets: lets.clone(),
            })
        };
        return target.map(plain).into_iter().collect();
    }
    let mut files = BodyFiles::default();
    let requests = errors::all(
        plan.requests.iter().map(|table| of_one(plan, table, target.as_ref(), instead, lets, &mut files)),
    )?;
    together(plan, requests)
}

/// Requests that have names of their own, and shares that make a whole.
fn together(plan: &PlanFile, requests: Vec<Request>) -> Result<Vec<Request>> {
    for (i, request) in requests.iter().enumerate() {
        let is_same = |other: &Request| request.name.is_some() && other.name == request.name;
        if let Some(other) = requests[..i].iter().position(is_same) {
            let line = plan.source.line(plan.requests[other].at.start);
            let text = &values_of(&plan.requests[i].given, "name")[0];
            let message = format!(
                "the request in line {line} is called {:?}, too: give each a name of its own, or none",
                text.raw
            );
            return Err(plan.error(text, message));
        }
    }
    if !plan.journeys.is_empty() {
        // Their shares are of one whole.
        return Ok(requests);
    }
    let shares: Vec<Option<Share>> = requests.iter().map(|request| request.share).collect();
    match share::weights(&shares) {
        Ok(_) => Ok(requests),
        Err(wrong) => Err(plan.error(share_of(&plan.requests[wrong.request]), wrong.message)),
    }
}

/// Where a request has its share, or else its address.
fn share_of(table: &Table) -> &Text {
    let fields = ["share", "weight", "url"].into_iter();
    fields.flat_map(|field| values_of(&table.given, field)).next().expect("each request has a url")
}

/// A request of the plan, once it can be sent. What is wrong is pointed at.
fn of_one(
    plan: &PlanFile,
    table: &Table,
    target: Option<&Address<'_>>,
    instead: Option<&str>,
    lets: &Arc<Lets>,
    files: &mut BodyFiles,
) -> Result<Request> {
    let PlannedRequest { name, url, share, weight, inserts, json, form, multipart, own } =
        value::read(plan, table, REQUESTS)?;
    let share = share_in(share, weight).map_err(|message| plan.error(share_of(table), message));
    match share {
        Ok(share) => {
            let one =
                One { name, url, share, inserts, json, form, multipart, own, taking: Taking::default() };
            built(plan, table, one, target, instead, lets, files)
        }
        Err(error) => {
            let one = One {
                name,
                url,
                share: None,
                inserts,
                json,
                form,
                multipart,
                own,
                taking: Taking::default(),
            };
            Err(match built(plan, table, one, target, instead, lets, files) {
                Ok(_) => error,
                Err(other) => errors::several(errors::each(other).into_iter().chain([error]).collect()),
            })
        }
    }
}

/// What of the load it has, if it says so.
pub(super) fn share_in(share: Option<String>, weight: Option<String>) -> Result<Option<Share>, String> {
    match (share, weight) {
        (Some(share), _) => Share::percent(&share).map(Some),
        (None, weight) => weight.map(|weight| Share::weight(&weight)).transpose(),
    }
}

/// What is taken from an answer, as it is written, by name.
pub(super) fn captures(plan: &PlanFile, table: &Table) -> Result<BTreeMap<String, String>> {
    let Some(text) = values_of(&table.given, "capture").first() else { return Ok(BTreeMap::new()) };
    let such = "such as { token = \"json $.access_token\" }";
    let all: BTreeMap<String, String> = serde_json::from_str(&text.raw)
        .map_err(|_| plan.error(text, format!("capture is a table of names and places, {such}")))?;
    match all.is_empty() {
        true => {
            Err(plan
                .error(text, format!("nothing would be taken: name something, {such}, or leave capture out")))
        }
        false => Ok(all),
    }
}

/// A request as its table describes it.
pub(super) struct One {
    pub name: Option<String>,
    pub url: String,
    pub share: Option<Share>,
    pub inserts: bool,
    pub json: Option<String>,
    pub form: Option<String>,
    pub multipart: Option<String>,
    pub own: RequestArgs,
    pub taking: Taking,
}

/// The request that `table` describes as `one`, once it can be sent.
pub(super) fn built(
    plan: &PlanFile,
    table: &Table,
    one: One,
    target: Option<&Address<'_>>,
    instead: Option<&str>,
    lets: &Arc<Lets>,
    files: &mut BodyFiles,
) -> Result<Request> {
    let One { name, url, share, inserts, json, form, multipart, own, taking } = one;
    let address = address(plan, &values_of(&table.given, "url")[0], url, target, instead)?;
    let pointed = |error| plan.pointed(error, &table.given, |_| false);
    let mut parts = Parts::read(&own, files, |_| String::new()).map_err(pointed);
    if let Ok(parts) = &mut parts {
        parts.taking = taking;
        json.into_iter().for_each(|text| parts.set_body(text, BodyForm::Json));
        form.into_iter().for_each(|text| parts.set_body(text, BodyForm::Form));
        if let Some(text) = multipart {
            let body = multipart::body(&text, files, |name| plan.beside(name));
            let set = body.and_then(|segments| parts.set_segments(segments));
            set.map_err(|error| pointed(errors::refused(&["multipart"], crate::explain_error(&error))))?;
        }
    }
    let (url, parts) = errors::both(address.parsed(plan), parts)?;
    let place = Some(format!("{}, line {}", plan.source.name, plan.source.line(table.at.start)));
    let request =
        Request { url, url_text: address.shown, parts, place, name, share, inserts, lets: lets.clone() };
    let version = match request.url.origin.speaks {
        Speaks::WebSocket => Version::WebSocket,
        Speaks::Redis => Version::Redis,
        Speaks::Postgres => Version::Postgres,
        Speaks::Cql => Version::Cql,
        Speaks::Http | Speaks::Grpc => Version::One,
    };
    match request.render(version) {
        Ok(_) => Ok(request),
        Err(error) if error.is::<Refused>() => Err(pointed(error)),
        Err(error) => Err(pointed(errors::refused(&["method", "url"], crate::explain_error(&error)))),
    }
}

/// Where a request of the plan goes: a path to the target. `url` is `text` with its variables filled in.
pub(super) fn address<'a>(
    plan: &PlanFile,
    text: &'a Text,
    url: String,
    target: Option<&Address<'a>>,
    instead: Option<&str>,
) -> Result<Address<'a>> {
    match (text.raw.starts_with('/'), target, instead) {
        (true, Some(base), _) => {
            // A path is as good as the target that it stands at.
            let at_fault = if Url::parse(&base.url).is_err() { base.at } else { Some(text) };
            Ok(Address { url: at(&base.url, &url), shown: at(&base.shown, &text.raw), at: at_fault })
        }
        (true, None, _) => Err(plan.error(text, "this is a path, and the plan has no target")),
        (false, _, Some(instead)) => Err(plan.error(
            text,
            format!(
                "this request has an address of its own, which {instead} can't replace: write its path alone"
            ),
        )),
        (false, _, None) => Ok(Address { url, shown: text.raw.clone(), at: Some(text) }),
    }
}
