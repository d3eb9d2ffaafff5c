//! What a run against Redis refuses beside its commands.

use crate::args::run::RunArgs;
use crate::errors::refuse;
use crate::journey;
use crate::request::redis::check_depth;
use crate::request::version::HttpArg;
use anyhow::Result;
use unblink_workload::answer::Condition;

/// Flags that are for Redis or for HTTP, and what Redis can't do.
pub(super) fn check(args: &RunArgs) -> Result<()> {
    let all = || args.requests.iter().chain(journey::requests(&args.journeys));
    let is_redis = all().any(|request| request.url.origin.is_redis());
    if !is_redis && args.target.redis.resp.is_some() {
        refuse!(["resp"], "--resp is for Redis: write redis:// or rediss://");
    }
    let is_ws = args.requests.iter().any(|request| request.url.origin.is_ws());
    let is_postgres = all().any(|request| request.url.origin.is_postgres());
    let is_ordered = is_redis || is_ws || is_postgres;
    if !is_ordered && args.target.web_socket.depth.is_some() {
        refuse!(
            ["depth"],
            "--depth is for WebSockets and databases: write ws://, wss://, redis://, rediss:// or postgres://"
        );
    }
    if !is_redis || args.target.as_text {
        return Ok(());
    }
    if args.target.http != HttpArg::One || args.target.streams.is_some() {
        refuse!(
            ["http", "streams"],
            "--http and --streams are for HTTP, and this run goes to Redis: leave them out"
        );
    }
    if args.target.script.script.is_some() {
        refuse!(
            ["script", "url"],
            "--script makes HTTP requests, and this run goes to Redis: leave one of them out"
        );
    }
    let is_of_events = |one: &Condition| matches!(one, Condition::Events(_));
    let mut conditions = all().flat_map(|request| request.parts.expect.iter());
    if args.target.request.stream.is_some() || conditions.any(is_of_events) {
        refuse!(["stream"], "--stream is for answers of HTTP, and this run goes to Redis: leave it out");
    }
    let depth = args.target.web_socket.depth.unwrap_or(1);
    for request in all() {
        check_depth(&request.below(&args.target.request)?, depth)?;
    }
    Ok(())
}
