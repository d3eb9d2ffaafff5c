//! Which version of HTTP a run measures: what `--http` says, or what its targets choose.

use super::requests::{Requests, in_words, requests};
use super::way::targets;
use crate::args::run::RunArgs;
use crate::args::target::TargetArgs;
use crate::errors::refuse;
use crate::output;
use crate::request::version::{HttpArg, Version};
use anyhow::{Result, anyhow};
use std::time::Duration;
use unblink_engine::alpn::chooses_http2;
use unblink_engine::limits::Limits;
use unblink_engine::target::{ResolveError, Target};

/// Nobody is waited for longer to learn what it chooses; the check before the run says what is wrong with it.
const PATIENCE: Duration = Duration::from_secs(3);

/// The requests, in the version that is measured, and the ways to their origins.
pub(super) fn agreed(args: &RunArgs, limits: &Limits) -> Result<(Requests, Vec<Target>)> {
    check_streams(&args.target)?;
    let way = |requests: &Requests, version| {
        targets(args, version, &requests.origins, limits).map_err(|error| at_sign(error, requests))
    };
    if let Some(version) = args.target.http.stated() {
        let requests = requests(args, version)?;
        let targets = way(&requests, version)?;
        return Ok((requests, targets));
    }
    let in_one = requests(args, Version::One)?;
    let targets = way(&in_one, Version::One)?;
    let chosen: Vec<bool> = targets.iter().map(|target| chooses_http2(target, PATIENCE)).collect();
    if !chosen.contains(&true) {
        return Ok((in_one, targets));
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
    let targets = way(&in_two, Version::Two)?;
    Ok((in_two, targets))
}

/// HTTP/1.1 takes one request at a time on a connection.
pub(super) fn check_streams(args: &TargetArgs) -> Result<()> {
    if args.streams.is_some() && args.http == HttpArg::One {
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
