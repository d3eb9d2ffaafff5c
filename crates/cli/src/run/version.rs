//! Which version of HTTP a run measures: what `--http` says, or what its targets choose.

use super::grpc;
use super::requests::{Requests, in_words, requests};
use super::way::{Ways, ways};
use crate::args::run::RunArgs;
use crate::args::target::TargetArgs;
use crate::args::web_socket::MatchArg;
use crate::errors::refuse;
use crate::guard::Guard;
use crate::journey;
use crate::output;
use crate::request::url::Speaks;
use crate::request::version::{HttpArg, Version};
use crate::request::{Request, template};
use anyhow::{Result, anyhow};
use std::sync::Arc;
use std::time::Duration;
use unblink_engine::alpn::chooses_http2;
use unblink_engine::limits::Limits;
use unblink_engine::target::{ResolveError, Target};
use unblink_wire::ws::Matching;
use unblink_workload::answer::Condition;
use unblink_workload::template::is_fixed;

/// Nobody is waited for longer to learn what it chooses; the check before the run says what is wrong with it.
const PATIENCE: Duration = Duration::from_secs(3);

/// The requests, in the version that is measured, and the ways to their origins, as far as `guard` lets them go there.
pub(super) fn agreed(args: &RunArgs, limits: &Limits, guard: Guard) -> Result<(Requests, Ways)> {
    let guard = Arc::new(guard);
    match args.other_than_http() {
        None => {}
        Some(Version::Grpc) => return grpc::agreed(args, limits, &guard),
        Some(version) => {
            let requests = requests(args, version)?;
            let ways = ways(args, version, &requests.origins, limits, &guard)?;
            return Ok((requests, ways));
        }
    }
    check_streams(&args.target)?;
    let way = |requests: &Requests, version| {
        if !args.target.as_text && requests.origins.iter().any(|origin| origin.speaks != Speaks::Http) {
            refuse!(
                ["targets"],
                "a file of targets can't ask over WebSockets or gRPC, nor ask Redis, PostgreSQL or Cassandra: list what it asks in a plan"
            );
        }
        ways(args, version, &requests.origins, limits, &guard).map_err(|error| at_sign(error, requests))
    };
    if let Some(version) = args.target.http.stated() {
        let requests = requests(args, version)?;
        let ways = way(&requests, version)?;
        return Ok((requests, ways));
    }
    let in_one = requests(args, Version::One)?;
    let ways = way(&in_one, Version::One)?;
    let chosen: Vec<bool> = ways.targets.iter().map(|target| chooses_http2(target, PATIENCE)).collect();
    if !chosen.contains(&true) {
        return Ok((in_one, ways));
    }
    let others = in_one.origins.iter().zip(&chosen).filter(|(_, chosen)| !**chosen);
    let others: Vec<_> = others.map(|(origin, _)| origin.clone()).collect();
    if !others.is_empty() {
        refuse!(
            ["http"],
            "--http auto: {} does not choose HTTP/2, and other targets do; a run measures one version: say --http 1.1, or \
             put them into runs of their own",
            in_words(&others)
        );
    }
    let in_two = requests(args, Version::Two)?;
    let ways = way(&in_two, Version::Two)?;
    Ok((in_two, ways))
}

/// Flags that are for WebSockets or for HTTP, and what WebSockets can't do.
pub(super) fn check_web_socket(args: &RunArgs) -> Result<()> {
    if args.setup.iter().any(|one| one.request.url.origin.is_ws()) {
        refuse!(["url"], "[[setup]] can't ask over a WebSocket: only [[requests]] and steps of journeys can");
    }
    if journey::requests(&args.journeys).any(|one| one.parts.socket.is_some()) {
        return check_steps(args);
    }
    let is_ws = args.requests.iter().any(|request| request.url.origin.is_ws());
    if !is_ws && let Some(flag) = args.target.web_socket.given() {
        refuse!([flag], "--{flag} is for WebSockets: write ws:// or wss://");
    }
    if !is_ws || args.target.as_text {
        return Ok(());
    }
    if args.target.http != HttpArg::One || args.target.streams.is_some() {
        refuse!(
            ["http", "streams"],
            "--http and --streams are for HTTP, and this run goes over WebSockets: leave them out"
        );
    }
    if args.target.script.script.is_some() {
        refuse!(
            ["script", "url"],
            "--script makes HTTP requests, and this run goes over WebSockets: leave one of them out"
        );
    }
    if args.target.request.stream.is_some() || args.requests.iter().any(has_events) {
        refuse!(
            ["stream"],
            "--stream is for answers of HTTP, and this run goes over WebSockets, where each message is an answer: leave it out"
        );
    }
    if let Some(MatchArg::Json(text, _)) = &args.target.web_socket.matching {
        for request in &args.requests {
            check_named(request, &args.target, text)?;
        }
    }
    Ok(())
}

/// What can't stand beside steps over WebSockets.
fn check_steps(args: &RunArgs) -> Result<()> {
    if args.target.http != HttpArg::One || args.target.streams.is_some() {
        refuse!(
            ["http", "streams"],
            "steps of its journeys go over WebSockets, and the others in HTTP/1.1 beside them: leave --http and --streams out"
        );
    }
    if args.requests.iter().any(|request| request.url.origin.speaks != Speaks::Http) {
        refuse!(
            ["url"],
            "steps of its journeys go over WebSockets, beside which requests go in HTTP/1.1 alone: put others into a run of their own"
        );
    }
    if args.target.script.script.is_some() {
        refuse!(["script"], "--script makes the requests, and this plan has journeys: leave one of them out");
    }
    if args.target.web_socket.matching.is_some() {
        refuse!(
            ["match"],
            "--match is for messages outside journeys; a step says by await which message it waits for: leave it out"
        );
    }
    if args.target.web_socket.depth.is_some() {
        refuse!(
            ["depth"],
            "--depth is for messages outside journeys; a journey takes one step after the other: leave it out"
        );
    }
    Ok(())
}

fn has_events(request: &Request) -> bool {
    request.parts.expect.iter().any(|condition| matches!(condition, Condition::Events(_)))
}

/// What `--match` looks for in an answer must stand in the message, too.
fn check_named(request: &Request, target: &TargetArgs, path: &str) -> Result<()> {
    let mut parts = request.parts.clone();
    if parts.body.is_none() {
        parts.body = target.request.message.as_ref().map(|text| text.clone().into_bytes().into());
    }
    let Some(body) = parts.body else { return Ok(()) };
    let Ok(text) = std::str::from_utf8(&body) else { return Ok(()) };
    let Some(Matching::Name(finder)) = target.web_socket.matching.as_ref().map(MatchArg::matching) else {
        return Ok(());
    };
    // Whatever is filled in: a number stands well in a text, and by itself.
    let named = |value: &str| {
        let place = |inside: &str| String::from(if is_fixed(inside, &request.lets) { "0" } else { value });
        let filled = template::filled_by(text, place).ok()?;
        let mut name = Vec::new();
        Some(finder.find(filled.as_bytes(), &mut name).then_some(name))
    };
    let (Some(one), Some(other)) = (named("1"), named("2")) else { return Ok(()) };
    if one.is_some() && one == other {
        refuse!(
            ["match"],
            "--match '{path}': all messages of a request have the same value there, so that any answer would match each of \
             them: let it differ, such as {{\"id\":\"{{{{index}}}}\"}}"
        );
    }
    if one.is_none() {
        refuse!(
            ["match"],
            "--match '{path}': a message of this run has no such value, so that no answer could be found for it: put one \
             into it, such as {{\"id\":\"{{{{index}}}}\"}}"
        );
    }
    Ok(())
}

/// HTTP/1.1 takes one request at a time on a connection.
pub(super) fn check_streams(args: &TargetArgs) -> Result<()> {
    if args.streams.is_some() && args.http == HttpArg::One && !args.as_text {
        refuse!(["streams"], "--streams is for HTTP/2, and this run measures HTTP/1.1: add --http 2");
    }
    Ok(())
}

/// Tells of targets that would choose HTTP/2, where HTTP/1.1 is measured.
pub(super) fn tell_of_others(targets: &[Target], origins: &[String]) {
    for (target, origin) in targets.iter().zip(origins) {
        if chooses_http2(target, PATIENCE) {
            output::note(format_args!("{origin} offers HTTP/2, and HTTP/1.1 is measured (see --http)"));
        }
    }
}

/// A host that nobody knows may be a user, where an @ stands further on. What stands before it is not quoted.
fn at_sign(error: anyhow::Error, requests: &Requests) -> anyhow::Error {
    match error.downcast_ref::<ResolveError>() {
        Some(ResolveError::Lookup { .. } | ResolveError::Empty(_)) if requests.has_at_sign => anyhow!(
            "{}; if this is a user whose password has a / ? or # in it, percent-encode those (%2F, %3F, %23)",
            crate::explain_error(&error)
        ),
        _ => error,
    }
}
