//! From the flags of retries to what a plan needs, and to what the run document says of them.

use crate::args::retry::{JitterArg, RetryArgs};
use crate::errors::refuse;
use anyhow::Result;
use unblink_artifact::document::{Requested, RetryJitter, RetryPlan};
use unblink_artifact::names::few;
use unblink_core::dispatch::{Jitter, Retry};
use unblink_core::plan::PlanSpec;

/// What is tried again; nothing where there is one attempt. `seed` is that of the load.
pub(crate) fn spec(args: &RetryArgs, seed: u64) -> Result<Option<Retry>> {
    let needs_more = [
        ("try-timeout", args.try_timeout.is_some()),
        ("retry-on", args.retry_on.is_some()),
        ("retry-wait", args.retry_wait.is_some()),
        ("retry-jitter", args.retry_jitter.is_some()),
        ("retry-budget", args.retry_budget.is_some()),
        ("retry-unsafe", args.retry_unsafe),
    ];
    if args.attempts == 1 {
        if let Some((flag, _)) = needs_more.into_iter().find(|(_, is_given)| *is_given) {
            refuse!(
                [flag, "attempts"],
                "--{flag} is for requests that are tried again: add --attempts 3, say"
            );
        }
        return Ok(None);
    }
    Ok(Some(Retry {
        attempts: args.attempts,
        on: args.on().set,
        try_timeout: args.try_timeout,
        wait: args.wait(),
        jitter: match args.jitter() {
            JitterArg::None => Jitter::None,
            JitterArg::Equal => Jitter::Equal,
            JitterArg::Full => Jitter::Full,
        },
        budget_percent: args.retry_budget,
        is_unsafe: args.retry_unsafe,
        seed,
    }))
}

/// What the document says of it.
pub(crate) fn describe(args: &RetryArgs) -> Option<RetryPlan> {
    (args.attempts > 1).then(|| RetryPlan {
        attempts: args.attempts,
        on: args.on().text,
        try_timeout_ns: args.try_timeout.map(|limit| limit.0),
        wait_ns: args.wait().0,
        jitter: match args.jitter() {
            JitterArg::None => RetryJitter::None,
            JitterArg::Equal => RetryJitter::Equal,
            JitterArg::Full => RetryJitter::Full,
        },
        budget_percent: args.retry_budget,
        is_unsafe: args.retry_unsafe,
    })
}

/// What retries can add to the load, for its summary. `names` are those of the operations, as far as they are listed.
pub(crate) fn summary(spec: &PlanSpec, names: &[Requested]) -> Option<String> {
    let retry = spec.retry.as_ref()?;
    let mut summary = format!("up to {} attempts each", retry.attempts);
    if let Some(percent) = retry.budget_percent {
        summary += &format!(" and {percent} % more requests");
    }
    let once = spec.idempotent.iter().zip(names).filter(|(idempotent, _)| !**idempotent && !retry.is_unsafe);
    let once: Vec<&str> = once.map(|(_, target)| target.name.as_str()).collect();
    if !once.is_empty() {
        summary += &format!(" ({} only once: not safe to send twice)", few(&once));
    }
    Some(summary)
}

/// Retries of requests none of which may be sent twice would be none.
pub(crate) fn check(spec: &PlanSpec) -> Result<()> {
    let is_tried_again = |retry: &Retry| retry.is_unsafe || spec.idempotent.contains(&true);
    if spec.retry.as_ref().is_some_and(|retry| !is_tried_again(retry)) {
        refuse!(
            ["attempts"],
            "--attempts: no request of this run is safe to send twice, since each may change something there (POST and PATCH of HTTP, \
             commands and statements that do not only read); add --retry-unsafe to retry them all the same"
        );
    }
    Ok(())
}
