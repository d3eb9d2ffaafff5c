//! Codes of answers that have names, in conditions and in `--retry-on`: each protocol has its own.

use crate::args::run::RunArgs;
use crate::errors::refuse;
use crate::journey;
use crate::request::url::Speaks;
use anyhow::Result;
use unblink_workload::answer::Condition;

/// What names a code names one of the protocol that it is said for.
pub(super) fn check(args: &RunArgs) -> Result<()> {
    // Runs over several protocols are refused elsewhere.
    let mut all = args.requests.iter().chain(journey::requests(&args.journeys));
    let of_load = all.next().map_or(Speaks::Http, |request| request.url.origin.speaks);
    let own = args.requests.iter().flat_map(|request| request.parts.expect.iter());
    let of_load_all = own.chain(&args.target.request.expect).map(|one| (of_load, one));
    let of_beside = args.beside().flat_map(|request| {
        request.parts.expect.iter().map(|condition| (request.url.origin.speaks, condition))
    });
    for (speaks, condition) in of_load_all.chain(of_beside) {
        let fits = match condition {
            Condition::Statuses(_) => has_statuses(speaks),
            Condition::Codes(codes) => codes.iter().all(|code| Some(code.protocol) == names(speaks)),
            _ => true,
        };
        if !fits {
            refuse!(["expect"], "--expect '{condition}': {}", instead(speaks, "status="));
        }
    }
    check_held(args)?;
    let Some(on) = &args.load.retry.retry_on else { return Ok(()) };
    let of_others = on.protocols.iter().any(|protocol| Some(*protocol) != names(of_load));
    if of_others || (on.has_statuses && !has_statuses(of_load)) {
        refuse!(["retry-on"], "--retry-on {}: {}", on.text, instead(of_load, ""));
    }
    Ok(())
}

/// PostgreSQL answers COMMIT with success after an error, and has rolled back: who expects the error would count what was never
/// done.
fn check_held(args: &RunArgs) -> Result<()> {
    let held = args.journeys.iter().filter(|journey| journey.hold_connection);
    for step in held.flat_map(|journey| &journey.steps) {
        let url = &step.request.url;
        for condition in step.request.parts.expect.iter().chain(&args.target.request.expect) {
            let Condition::Codes(codes) = condition else { continue };
            if url.origin.is_postgres()
                && codes.iter().any(|code| !["done", "empty", "not_found"].contains(&code.name.as_str()))
            {
                refuse!(
                    ["expect"],
                    "expect '{condition}' in a step of a journey with hold-connection: after an error PostgreSQL answers COMMIT with \
                     success and rolls back, so that what was never done would count; expect status=done or status=empty, or \
                     put the transaction into one step"
                );
            }
        }
    }
    Ok(())
}

fn has_statuses(speaks: Speaks) -> bool {
    matches!(speaks, Speaks::Http | Speaks::WebSocket)
}

/// As its codes call the protocol, where they have names.
fn names(speaks: Speaks) -> Option<&'static str> {
    match speaks {
        Speaks::Http | Speaks::WebSocket => None,
        Speaks::Grpc => Some("grpc"),
        Speaks::Redis => Some("redis"),
        Speaks::Postgres => Some("postgres"),
        Speaks::Cql => Some("cql"),
    }
}

fn instead(speaks: Speaks, prefix: &str) -> String {
    let (of, examples) = match speaks {
        Speaks::Http => ("of HTTP is a number", ["200", "503"]),
        Speaks::WebSocket => ("of the upgrade is a number", ["101", "503"]),
        Speaks::Grpc => ("of a call has a name", ["OK", "UNAVAILABLE"]),
        Speaks::Postgres => ("of a transaction has a name", ["done", "deadlock_detected"]),
        Speaks::Cql => ("of a statement of CQL has a name", ["rows", "overloaded"]),
        Speaks::Redis => ("of a reply is ok, nil or the first word of its error", ["nil", "LOADING"]),
    };
    let [first, second] = examples.map(|example| format!("{prefix}{example}"));
    format!("the status {of}, as in {first} or {second}")
}
