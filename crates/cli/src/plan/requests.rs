//! What a plan requests, with `${NAME}` filled in from the environment. What was written is kept beside what is sent:
//! only the former is ever shown.

use super::arguments::beside;
use super::file::{PlanFile, Text};
use super::source::Wrong;
use crate::run::body::BodyFiles;
use crate::run::request::{RequestSpec, header};
use crate::run::url::Url;
use crate::{errors, secrets};
use anyhow::{Context, Result};
use std::sync::Arc;

/// A request of a plan, ready to be sent.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    pub name: Option<String>,
    pub url: String,
    /// As it was written.
    pub url_shown: String,
    pub method: Option<String>,
    pub headers: Vec<String>,
    pub body: Option<Arc<[u8]>>,
    /// For messages.
    pub place: String,
}

/// Every request of `plan`, at `urls` instead of its target if the user gave any.
pub(crate) fn of(plan: &PlanFile, urls: &[String]) -> Result<Vec<Planned>> {
    match urls {
        [] => at_target(plan, written(plan, &plan.target)?, None),
        [url] => at_target(plan, given(url), Some("the URL on the command line")),
        // Several are what is asked for, in turn.
        _ => Ok(urls.iter().map(|url| plain(url, url, "the command line".into())).collect()),
    }
}

/// Every request of `plan`, at its target and at its candidate. One URL stands for the candidate, two stand for both.
pub(crate) fn of_both(plan: &PlanFile, urls: &[String]) -> Result<[Vec<Planned>; 2]> {
    let (base, candidate) = match urls {
        [] => (written(plan, &plan.target)?, written(plan, &plan.candidate)?),
        [candidate] => (written(plan, &plan.target)?, given(candidate)),
        [base, candidate, ..] => (given(base), given(candidate)),
    };
    for (own, asked) in [(&plan.target, &base), (&plan.candidate, &candidate)] {
        let (Some(own), Some((_, asked))) = (own, asked) else { continue };
        if own.raw == *asked && !plan.requests.is_empty() && has_path(asked) {
            let message =
                "its path is not used, since each request has one: write the path with the requests";
            return Err(plan.error(&Wrong::new(own.at.clone(), message)));
        }
    }
    let candidate = match candidate {
        None => Vec::new(),
        some => at_target(plan, some, Some("the candidate"))?,
    };
    Ok([at_target(plan, base, None)?, candidate])
}

/// More than the root.
fn has_path(url: &str) -> bool {
    let host = url.find("://").map_or(0, |i| i + 3);
    url[host..].find('/').is_some_and(|slash| host + slash + 1 < url.len())
}

/// An address as it is asked, and as it is shown.
type Address = Option<(String, String)>;

fn written(plan: &PlanFile, url: &Option<Text>) -> Result<Address> {
    url.as_ref().map(|url| Ok((filled_in(plan, url)?, url.raw.clone()))).transpose()
}

fn given(url: &str) -> Address {
    Some((url.to_string(), url.to_string()))
}

/// Every request of `plan` at `target`. `instead` says what it is that takes the place of the plan's own target.
fn at_target(plan: &PlanFile, target: Address, instead: Option<&str>) -> Result<Vec<Planned>> {
    if plan.requests.is_empty() {
        let place = || plan.source.name.clone();
        return Ok(target.map(|(url, shown)| plain(&url, &shown, place())).into_iter().collect());
    }
    let mut files = BodyFiles::default();
    let mut request = |request: &super::file::Request| {
        let raw = &request.url.raw;
        let path = filled_in(plan, &request.url)?;
        let (url, url_shown) = match (raw.starts_with('/'), &target) {
            (true, Some((base, shown))) => (at(base, &path), at(shown, raw)),
            (true, None) => {
                let wrong = Wrong::new(request.url.at.clone(), "this is a path, and the plan has no target");
                return Err(plan.error(&wrong));
            }
            (false, _) => match instead {
                Some(instead) => {
                    let message = format!(
                        "this request has an address of its own, which {instead} can't replace: write its path alone"
                    );
                    return Err(plan.error(&Wrong::new(request.url.at.clone(), message)));
                }
                None => (path, raw.clone()),
            },
        };
        let mut file = |text: &Text| {
            let read = files.read(&beside(&plan.path, &text.raw));
            read.map_err(|error| plan.error(&Wrong::new(text.at.clone(), crate::explain_error(&error))))
        };
        let body = match (&request.body, &request.body_file) {
            (Some(text), _) => Some(filled_in(plan, text)?.into_bytes().into()),
            (None, Some(text)) => Some(file(text)?),
            (None, None) => None,
        };
        let planned = Planned {
            name: request.name.as_ref().map(|name| name.raw.clone()),
            url,
            url_shown,
            method: request.method.as_ref().map(|method| method.raw.clone()),
            headers: request.headers.iter().map(|header| filled_in(plan, header)).collect::<Result<_>>()?,
            body,
            place: format!("{}, line {}", plan.source.name, plan.source.line(request.at.start)),
        };
        check(plan, request, &planned)?;
        Ok(planned)
    };
    errors::all(plan.requests.iter().map(&mut request))
}

/// Can it be sent? What is wrong is pointed at.
fn check(plan: &PlanFile, request: &super::file::Request, planned: &Planned) -> Result<()> {
    let wrong = |at: &Text, error: &anyhow::Error| {
        let said = crate::explain_error(error);
        let said = said.strip_prefix(&format!("{}: ", planned.place)).unwrap_or(&said).to_string();
        plan.error(&Wrong::new(at.at.clone(), said))
    };
    // A path is as good as the target that it stands at.
    let base = plan.target.as_ref().filter(|_| request.url.raw.starts_with('/')).unwrap_or(&request.url);
    let of_url = planned.context(Url::parse(&planned.url)).map(drop).map_err(|error| wrong(base, &error));
    let of_headers = request
        .headers
        .iter()
        .zip(&planned.headers)
        .map(|(text, line)| header(line).map(drop).map_err(|error| wrong(text, &error)));
    errors::all(std::iter::once(of_url).chain(of_headers))?;
    let sent = RequestSpec::planned(planned).and_then(|spec| spec.render());
    let at = request.method.as_ref().unwrap_or(&request.url);
    sent.map(drop).map_err(|error| wrong(at, &error))
}

fn plain(url: &str, shown: &str, place: String) -> Planned {
    let (url, url_shown) = (url.to_string(), shown.to_string());
    Planned { name: None, url, url_shown, method: None, headers: Vec::new(), body: None, place }
}

/// `path` at the scheme, host and port of `base`.
fn at(base: &str, path: &str) -> String {
    let host = base.find("://").map_or(0, |i| i + 3);
    let end = base[host..].find(['/', '?', '#']).map_or(base.len(), |i| host + i);
    format!("{}{path}", &base[..end])
}

/// The text with each `${NAME}` replaced by what the environment says; `$${` stands for `${`.
pub(crate) fn filled_in(plan: &PlanFile, text: &Text) -> Result<String> {
    if text.raw.contains(secrets::MASK) && !plan.to_look_at {
        let message =
            "*** stands in the place of a value that was not to be shown: write the value, or ${NAME}";
        return Err(plan.error(&Wrong::new(text.at.clone(), message)));
    }
    // An address that is a variable altogether is still to look like one.
    let stand_in = if text.raw.starts_with("${") { "http://variable.test" } else { "variable" };
    let value =
        |name: &str| std::env::var(name).ok().or_else(|| plan.to_look_at.then(|| stand_in.to_string()));
    fill(&text.raw, value).map_err(|why| plan.error(&Wrong::new(text.at.clone(), why)))
}

fn fill(text: &str, value: impl Fn(&str) -> Option<String>) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find("${") {
        let (before, behind) = (&rest[..start], &rest[start + 2..]);
        if let Some(literal) = before.strip_suffix('$') {
            out += literal;
            out += "${";
            rest = behind;
            continue;
        }
        let end = behind.find('}').ok_or("${ has no } behind it")?;
        let name = &behind[..end];
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err("what stands between ${ and } is no name of a variable".into());
        }
        out += before;
        out += &value(name)
            .ok_or_else(|| format!("the environment has no variable {name}: set it before the run"))?;
        rest = &behind[end + 1..];
    }
    out += rest;
    Ok(out)
}

impl super::source::Source {
    /// The number of the line in which a byte lies.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
    }
}

impl Planned {
    /// For an error about what is sent: it may hold a secret, so that only what was written is quoted.
    pub(crate) fn context<T>(&self, result: Result<T>) -> Result<T> {
        match self.url == self.url_shown {
            true => result.with_context(|| self.place.clone()),
            false => result.map_err(|_| {
                anyhow::anyhow!(
                    "{}: with its variables filled in, {:?} is no URL",
                    self.place,
                    secrets::mask_wrong_url(&self.url_shown)
                )
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_or_named() {
        let value = |name: &str| (name == "TOKEN").then(|| "s3cret".to_string());
        assert_eq!(fill("Authorization: Bearer ${TOKEN}", value).unwrap(), "Authorization: Bearer s3cret");
        assert_eq!(fill("$${TOKEN} ${TOKEN}$ $5", value).unwrap(), "${TOKEN} s3cret$ $5");
        assert!(fill("${NONE}", value).unwrap_err().contains("NONE"));
        assert!(fill("${", value).is_err() && fill("${a b}", value).is_err());
    }

    #[test]
    fn a_path_stands_at_the_origin_of_the_target() {
        assert_eq!(at("http://h:1/base?x", "/cart"), "http://h:1/cart");
        assert_eq!(at("http://h:1", "/cart"), "http://h:1/cart");
        assert_eq!(at("${BASE}", "/cart"), "${BASE}/cart");
    }
}
