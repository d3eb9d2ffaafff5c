//! Runs over gRPC: what goes with them and what does not, and where their types come from.

mod ask;
mod health;
mod reflection;

pub(crate) use health::Health;

use super::requests::{Requests, calls, requests};
use super::way::{Ways, ways};
use crate::args::run::RunArgs;
use crate::errors::refuse;
use crate::guard::Guard;
use crate::request::Request;
use crate::request::fields::RequestArgs;
use crate::request::grpc::types::Types;
use crate::request::url::Origin;
use crate::request::version::{HttpArg, Version};
use anyhow::Result;
use ask::Asker;
use std::sync::Arc;
use unblink_engine::limits::Limits;
use unblink_engine::target::Target;
use unblink_workload::answer::{Condition, EventFormat};

fn has_calls(args: &RunArgs) -> bool {
    args.requests.iter().any(|request| request.url.origin.is_grpc())
}

/// The calls, and the ways to their origins, which are asked for the types.
pub(super) fn agreed(args: &RunArgs, limits: &Limits, guard: &Arc<Guard>) -> Result<(Requests, Ways)> {
    let origins = requests(args, Version::One)?.origins;
    let ways = ways(args, Version::Grpc, &origins, limits, guard)?;
    let types = match Types::of_files(&args.target.grpc)? {
        Some(types) => vec![types; origins.len()],
        None => {
            let each =
                origins.iter().zip(&ways.targets).map(|(origin, target)| of_target(args, origin, target));
            each.collect::<Result<_>>()?
        }
    };
    Ok((calls(args, types)?, ways))
}

/// The calls as far as they can be told without asking the target: where files have the types.
pub(super) fn check_with_files(args: &RunArgs) -> Result<()> {
    if let Some(types) = Types::of_files(&args.target.grpc)? {
        let origins = requests(args, Version::One)?.origins.len();
        calls(args, vec![types; origins])?;
    }
    Ok(())
}

/// The types of the calls to `origin`, by reflection.
fn of_target(args: &RunArgs, origin: &Origin, target: &Target) -> Result<Types> {
    let is_there = |request: &&Request| request.url.origin == *origin;
    let there: Vec<&Request> = args.requests.iter().filter(is_there).collect();
    let asker = Asker::new(args, there[0], target)?;
    let paths = there.iter().map(|request| request.url.target.as_str());
    reflection::types(asker, origin, paths)
}

/// Flags that are for gRPC or for HTTP, and what calls can't do.
pub(super) fn check(args: &RunArgs) -> Result<()> {
    if args.beside().any(|request| request.url.origin.is_grpc()) {
        refuse!(
            ["url"],
            "a step of a journey or of [[setup]] can't be a call of gRPC: only [[requests]] can"
        );
    }
    if !has_calls(args) {
        return check_without_calls(args);
    }
    let target = &args.target;
    let own = args.requests.iter().flat_map(|request| request.parts.expect.iter());
    let mut conditions = own.chain(&target.request.expect);
    if let Some(other) = args.requests.iter().find(|request| !request.url.origin.is_grpc()) {
        refuse!(
            ["url"],
            "a run speaks one protocol, and {} is not called by gRPC as others are: put it into a run of its own",
            other.url.origin
        );
    }
    if !args.journeys.is_empty() {
        refuse!(["url"], "a run over gRPC has no journeys: put these into a run of their own");
    }
    if target.http != HttpArg::One {
        refuse!(["http"], "--http is for HTTP, and gRPC goes over HTTP/2 always: leave it out");
    }
    if target.script.script.is_some() {
        refuse!(
            ["script", "url"],
            "--script makes HTTP requests, and this run makes calls: leave one of them out"
        );
    }
    let of_http = |format: &EventFormat| *format != EventFormat::Messages;
    if target.request.stream.is_some_and(|stream| of_http(&stream.format()))
        || conditions.any(|one| matches!(one, Condition::Events(format) if of_http(format)))
    {
        refuse!(
            ["stream"],
            "--stream sse and lines are for answers of HTTP: of a call, say --stream messages"
        );
    }
    if args.keep_failures.is_some() {
        refuse!(
            ["keep-failures"],
            "--keep-failures shows requests and answers of HTTP: leave it out for gRPC"
        );
    }
    Ok(())
}

/// What only calls can have.
fn check_without_calls(args: &RunArgs) -> Result<()> {
    let RequestArgs { expect, stream, .. } = &args.target.request;
    let own = args.requests.iter().chain(args.beside()).flat_map(|request| request.parts.expect.iter());
    let streams = stream.iter().map(|stream| stream.condition());
    for condition in own.chain(expect).cloned().chain(streams) {
        if condition == Condition::Events(EventFormat::Messages) {
            refuse!(["stream"], "--stream messages is for gRPC: of HTTP, say --stream sse or lines");
        }
    }
    if let Some(flag) = args.target.grpc.given() {
        refuse!([flag], "--{flag} is for gRPC: write grpc:// or grpcs://");
    }
    Ok(())
}
