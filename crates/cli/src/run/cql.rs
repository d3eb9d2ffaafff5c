//! What a run against Cassandra refuses beside its statements.

use crate::args::run::RunArgs;
use crate::args::target::TokenAware;
use crate::errors::refuse;
use crate::journey;
use crate::request::version::HttpArg;
use anyhow::Result;
use unblink_workload::answer::Condition;

/// Flags that are for others, and what Cassandra can't do.
pub(super) fn check(args: &RunArgs) -> Result<()> {
    let all = || args.requests.iter().chain(journey::requests(&args.journeys));
    let is_cql = all().any(|request| request.url.origin.is_cql());
    if !is_cql && args.target.token_aware == TokenAware::Off {
        refuse!(["token-aware"], "--token-aware is for Cassandra: write cql:// or cqls://, or leave it out");
    }
    if !is_cql || args.target.as_text {
        return Ok(());
    }
    if args.target.http != HttpArg::One {
        refuse!(["http"], "--http is for HTTP, and this run goes to Cassandra: leave it out");
    }
    if args.target.web_socket.depth.is_some() {
        refuse!(
            ["depth"],
            "--depth is for answers that come in order, and those of Cassandra come in any: write --streams"
        );
    }
    if args.target.script.script.is_some() {
        refuse!(
            ["script", "url"],
            "--script makes HTTP requests, and this run goes to Cassandra: leave one of them out"
        );
    }
    let is_of_events = |one: &Condition| matches!(one, Condition::Events(_));
    let mut conditions = all().flat_map(|request| request.parts.expect.iter());
    if args.target.request.stream.is_some() || conditions.any(is_of_events) {
        refuse!(["stream"], "--stream is for answers of HTTP, and this run goes to Cassandra: leave it out");
    }
    Ok(())
}
