//! What a plan requests, with `${NAME}` filled in from the environment. What was written is kept beside what is sent:
//! only the former is ever shown.

use super::file::{self, PlanFile, Text};
use super::source::Wrong;
use crate::request::body::BodyFiles;
use crate::request::url::Url;
use crate::request::{Request, header};
use crate::{errors, secrets};
use anyhow::{Result, anyhow};

/// Every request of `plan`, at `urls` instead of its target if the user gave any.
pub(crate) fn of(plan: &PlanFile, urls: &[String]) -> Result<Vec<Request>> {
    match urls {
        [] => at_target(plan, written(plan, &plan.target)?, None),
        [url] => at_target(plan, given(url), Some("the URL on the command line")),
        // Several are what is asked for, in turn.
        _ => urls.iter().map(|url| Request::new(None, url)).collect(),
    }
}

/// Every request of `plan`, at its target and at its candidate. One URL stands for the candidate, two stand for both.
pub(crate) fn of_both(plan: &PlanFile, urls: &[String]) -> Result<[Vec<Request>; 2]> {
    let (base, candidate) = match urls {
        [] => (written(plan, &plan.target)?, written(plan, &plan.candidate)?),
        [candidate] => (written(plan, &plan.target)?, given(candidate)),
        [base, candidate, ..] => (given(base), given(candidate)),
    };
    for (own, asked) in [(&plan.target, &base), (&plan.candidate, &candidate)] {
        let (Some(own), Some(asked)) = (own, asked) else { continue };
        if own.raw == asked.shown && !plan.requests.is_empty() && has_path(&asked.shown) {
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

/// Where a request goes.
struct Address<'a> {
    url: String,
    /// As it was written.
    shown: String,
    /// The plan's own text, unless the user gave it.
    at: Option<&'a Text>,
}

fn written<'a>(plan: &PlanFile, url: &'a Option<Text>) -> Result<Option<Address<'a>>> {
    let address =
        |url: &'a Text| Ok(Address { url: filled_in(plan, url)?, shown: url.raw.clone(), at: Some(url) });
    url.as_ref().map(address).transpose()
}

fn given(url: &str) -> Option<Address<'static>> {
    Some(Address { url: url.to_string(), shown: url.to_string(), at: None })
}

impl Address<'_> {
    /// What is wrong with it may hold a secret that was filled in, so that only what was written is quoted.
    fn parsed(&self, plan: &PlanFile) -> Result<Url> {
        Url::parse(&self.url).map_err(|error| {
            let said = match self.url == self.shown {
                true => crate::explain_error(&error),
                false => {
                    let shown = secrets::mask_wrong_url(&self.shown);
                    format!("with its variables filled in, {shown:?} is no URL")
                }
            };
            match self.at {
                Some(at) => plan.error(&Wrong::new(at.at.clone(), said)),
                None => anyhow!("{said}"),
            }
        })
    }

    /// A request of nothing more.
    fn plain(self, plan: &PlanFile) -> Result<Request> {
        let (url, place) = (self.parsed(plan)?, Some(plan.source.name.clone()));
        let (method, headers, body, name) = (None, Vec::new(), None, None);
        Ok(Request { method, url, url_text: self.shown, headers, body, place, name })
    }
}

/// Every request of `plan` at `target`. `instead` says what it is that takes the place of the plan's own target.
fn at_target(plan: &PlanFile, target: Option<Address<'_>>, instead: Option<&str>) -> Result<Vec<Request>> {
    if plan.requests.is_empty() {
        return target.map(|target| target.plain(plan)).into_iter().collect();
    }
    let mut files = BodyFiles::default();
    errors::all(plan.requests.iter().map(|request| {
        let address = address(plan, request, target.as_ref(), instead)?;
        of_one(plan, request, &address, &mut files)
    }))
}

/// Where a request of the plan goes: a path to the target.
fn address<'a>(
    plan: &PlanFile,
    request: &'a file::Request,
    target: Option<&Address<'a>>,
    instead: Option<&str>,
) -> Result<Address<'a>> {
    let raw = &request.url.raw;
    let path = filled_in(plan, &request.url)?;
    let wrong = |message: String| Err(plan.error(&Wrong::new(request.url.at.clone(), message)));
    match (raw.starts_with('/'), target, instead) {
        (true, Some(base), _) => {
            // A path is as good as the target that it stands at.
            let at_fault = if Url::parse(&base.url).is_err() { base.at } else { Some(&request.url) };
            Ok(Address { url: at(&base.url, &path), shown: at(&base.shown, raw), at: at_fault })
        }
        (true, None, _) => wrong("this is a path, and the plan has no target".into()),
        (false, _, Some(instead)) => wrong(format!(
            "this request has an address of its own, which {instead} can't replace: write its path alone"
        )),
        (false, _, None) => Ok(Address { url: path, shown: raw.clone(), at: Some(&request.url) }),
    }
}

/// A request of the plan, once it can be sent. What is wrong is pointed at.
fn of_one(
    plan: &PlanFile,
    request: &file::Request,
    address: &Address<'_>,
    files: &mut BodyFiles,
) -> Result<Request> {
    let wrong = |at: &Text, error: &anyhow::Error| {
        plan.error(&Wrong::new(at.at.clone(), crate::explain_error(error)))
    };
    let body = match (&request.body, &request.body_file) {
        (Some(text), _) => Some(filled_in(plan, text)?.into_bytes().into()),
        (None, Some(text)) => Some(files.read(&plan.beside(&text.raw)).map_err(|error| wrong(text, &error))?),
        (None, None) => None,
    };
    let headers = errors::all(
        request
            .headers
            .iter()
            .map(|text| header(&filled_in(plan, text)?).map_err(|error| wrong(text, &error))),
    );
    let (url, headers) = errors::both(address.parsed(plan), headers)?;
    let place = format!("{}, line {}", plan.source.name, plan.source.line(request.at.start));
    let made = Request {
        method: request.method.as_ref().map(|method| method.raw.clone()),
        url,
        url_text: address.shown.clone(),
        headers,
        body,
        place: Some(place),
        name: request.name.as_ref().map(|name| name.raw.clone()),
    };
    let at = request.method.as_ref().unwrap_or(&request.url);
    made.render().map_err(|error| wrong(at, &error))?;
    Ok(made)
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
