//! The requests that follow redirects: for each step that may be sent on, one for each origin that the plan asks, and for those
//! whose method may change one more with GET. Where they go is known from the answer alone.

use crate::request::template::{self, BodyForm};
use crate::request::url::{Origin, Url};
use crate::request::{Parts, Request};
use anyhow::{Context, Result};
use unblink_workload::Lets;
use unblink_workload::answer::{Capture, Captured, Elsewhere, Method, Redirects, TargetText};

/// What follows the redirects of `step`: the requests, whose numbers begin with `first`, and which of them asks where. `cookies`
/// are the origins whose cookies its journey keeps, if it keeps any.
pub(super) fn of(
    step: &Request,
    cookies: Option<&[Origin]>,
    origins: &[Origin],
    first: u32,
) -> Result<(Redirects, Vec<Request>)> {
    let method = Method::of(step.method());
    let each = if method == Method::Safe { 1 } else { 2 };
    let elsewhere = (first..).step_by(each as usize).zip(origins).map(|(same, origin)| Elsewhere {
        tls: origin.tls,
        host: origin.host.clone(),
        port: origin.port,
        same,
        get: same + each - 1,
    });
    let own = origins.iter().position(|origin| *origin == step.url.origin).unwrap_or_default();
    let target = template::read(
        &step.url.target,
        &[],
        &Parts { body: None, segments: Default::default(), ..step.parts.clone() },
        &step.lets,
    )?;
    let redirects = Redirects {
        kept: step.lets.kept(Lets::WENT).context("a plan with redirects keeps where they lead to")?,
        target: Some(TargetText::new(&target.target)),
        origin: own,
        method,
        origins: elsewhere.collect(),
    };
    // Origins that only redirects lead to come behind those of the steps.
    let jars = cookies.map(|own| {
        let others = origins.iter().filter(|origin| !own.contains(origin));
        own.iter().chain(others).cloned().collect::<Vec<Origin>>()
    });
    let mut all = Vec::new();
    for (place, origin) in origins.iter().enumerate() {
        for (method, as_get) in [(method, false), (Method::Safe, true)].into_iter().take(each as usize) {
            let redirects = Redirects { target: None, origin: place, method, ..redirects.clone() };
            all.push(to(step, origin, as_get, (jars.as_deref(), origins.len() > 1), redirects));
        }
    }
    Ok((redirects, all))
}

/// The request of `step` to `origin`. What is for the step's own origin alone is not sent to another one.
fn to(
    step: &Request,
    origin: &Origin,
    as_get: bool,
    (jars, is_one_of_several): (Option<&[Origin]>, bool),
    redirects: Redirects,
) -> Request {
    let is_own = *origin == step.url.origin;
    let mut request = step.clone();
    let authority = if is_own { step.url.authority.clone() } else { origin.authority() };
    request.url = Url {
        origin: origin.clone(),
        authority,
        target: format!("/{{{{{}}}}}", Lets::WENT),
        userinfo: step.url.userinfo.clone().filter(|_| is_own),
    };
    request.url_text = format!("{origin}/{{{{{}}}}}", Lets::WENT);
    let name = step.name.clone().unwrap_or_default();
    let to = if is_one_of_several { format!(" to {}", origin.authority()) } else { String::new() };
    request.name = Some(format!("{name} redirected{to}{}", if as_get { " with GET" } else { "" }));
    let parts = &mut request.parts;
    let is_of_body = |name: &str| name.len() > 8 && name[..8].eq_ignore_ascii_case("content-");
    let is_private = |name: &str| {
        ["authorization", "proxy-authorization", "cookie", "host"]
            .contains(&name.to_ascii_lowercase().as_str())
    };
    let is_jar = |name: &str| jars.is_some() && name.eq_ignore_ascii_case("cookie");
    parts
        .headers
        .retain(|(name, _)| !(as_get && is_of_body(name) || !is_own && is_private(name) || is_jar(name)));
    if as_get {
        parts.method = Some("GET".to_string());
        (parts.body, parts.body_form, parts.segments) = (None, BodyForm::Plain, Default::default());
        parts.file = None;
    }
    parts.taking.known |= 1 << redirects.kept;
    parts.taking.redirects = Some(redirects);
    if let Some(jar) = jars.and_then(|jars| jars.iter().position(|jar| jar == origin)) {
        let name = Lets::cookies_name(jar);
        let number = step.lets.kept(&name).unwrap_or_default();
        parts.headers.push(("Cookie".into(), format!("{{{{{name}}}}}")));
        parts.taking.known |= 1 << number;
        parts.taking.captures.retain(|captured| !captured.capture.adds());
        parts.taking.captures.push(Captured { name, number, capture: Capture::Cookies });
    }
    request
}
