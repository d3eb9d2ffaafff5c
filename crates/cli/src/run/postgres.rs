//! What a run against PostgreSQL refuses beside its statements.

use crate::args::run::RunArgs;
use crate::errors::refuse;
use crate::journey;
use crate::request::version::HttpArg;
use anyhow::Result;
use unblink_workload::answer::Condition;

/// Flags that are for HTTP, and what PostgreSQL can't do.
pub(super) fn check(args: &RunArgs) -> Result<()> {
    let all = || args.requests.iter().chain(journey::requests(&args.journeys));
    let is_postgres = all().any(|request| request.url.origin.is_postgres());
    if !is_postgres || args.target.as_text {
        return Ok(());
    }
    if args.target.http != HttpArg::One || args.target.streams.is_some() {
        refuse!(
            ["http", "streams"],
            "--http and --streams are for HTTP, and this run goes to PostgreSQL: leave them out"
        );
    }
    if args.target.script.script.is_some() {
        refuse!(
            ["script", "url"],
            "--script makes HTTP requests, and this run goes to PostgreSQL: leave one of them out"
        );
    }
    let is_of_events = |one: &Condition| matches!(one, Condition::Events(_));
    let mut conditions = all().flat_map(|request| request.parts.expect.iter());
    if args.target.request.stream.is_some() || conditions.any(is_of_events) {
        refuse!(["stream"], "--stream is for answers of HTTP, and this run goes to PostgreSQL: leave it out");
    }
    Ok(())
}
