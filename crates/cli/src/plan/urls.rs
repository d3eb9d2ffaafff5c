//! What a command line asks for that names no plan, or one whose requests it replaces.

use crate::args::{Cli, Command};
use crate::errors;
use crate::request::{Request, lets, line};
use crate::ycsb;
use anyhow::{Result, bail};
use std::sync::Arc;
use unblink_workload::Lets;

/// What a workload asks of its stores, or the URLs of a command line as requests, where no plan says what is asked. They use the
/// values of a plan, if there is one.
pub(super) fn with_requests(mut cli: Cli, planned: Option<&Arc<Lets>>) -> Result<Cli> {
    if let Command::Try(args) = &mut cli.command {
        args.offer_something();
    }
    if ycsb::expand(&mut cli)? {
        return Ok(cli);
    }
    let (urls, lines, requests) = match &mut cli.command {
        Command::Knee(args) if !args.journeys.is_empty() => return Ok(cli),
        Command::Knee(args) => (&args.urls, &mut args.lines, &mut args.requests),
        other => match other.run_mut() {
            // Its journeys are what is requested.
            Some(args) if !args.journeys.is_empty() => return Ok(cli),
            Some(args) => (&args.urls, &mut args.lines, &mut args.requests),
            None => return Ok(cli),
        },
    };
    if requests.is_empty() {
        let (lets, lines) = (&mut lines.lets, &lines.lines);
        lets.named = planned.cloned().map_or_else(|| lets::table(&lets.lets), Ok)?;
        *requests = match (lines.as_slice(), urls.as_slice()) {
            ([], urls) => errors::all(urls.iter().map(|url| Request::new(None, url)))?,
            (lines, [] | [_]) => line::requests(lines, urls.first().map(String::as_str))?,
            _ => bail!("--request takes its paths from one URL, and there are {}: give one", urls.len()),
        };
        requests.iter_mut().for_each(|request| request.lets = lets.named.clone());
    }
    Ok(cli)
}
