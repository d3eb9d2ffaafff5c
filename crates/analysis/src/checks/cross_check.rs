//! Do the service's own metrics agree?

use super::{Case, found, severity, share};
use crate::cross_check::ServiceCount;
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use crate::thresholds::*;

/// Of the requests first: errors are some of them.
pub(super) fn counts_disagree(case: &Case<'_>) -> Option<Finding> {
    let check = case.evidence.cross_check?;
    requests_missing(check.requests, check.resets)
        .or_else(|| errors_apart(check.errors, check.requests.map_or(0, |of| of.here_max)))
}

fn requests_missing(requests: Option<&ServiceCount>, resets: u64) -> Option<Finding> {
    let requests = requests?;
    let missing = requests.missing();
    let missing_share = share(missing, requests.here_min);
    if missing < COUNTS_APART_MIN || missing_share <= COUNTS_MISSING_SHARE {
        return None;
    }
    let lost = match resets {
        0 => String::new(),
        n => format!(
            " Its counters began anew {}, which loses what was counted last.",
            text::plural(n, "time", "times")
        ),
    };
    // What a new start loses is no contradiction.
    let degrades = missing_share > COUNTS_MISSING_SHARE_DEGRADES && resets == 0;
    found(
        FindingCode::CountsDisagree,
        severity(degrades, Severity::Degrades, Severity::Note),
        format!(
            "The service counted {} requests ({}), and {} were answered: {} are missing there.{lost}",
            text::count(requests.there),
            requests.metric,
            text::count(requests.here_min),
            text::of(missing, requests.here_min),
        ),
        "Something before the service may have answered (a cache, a balancer's page), or the metric is that of one of several \
         instances, or leaves requests out: select all of them.",
        vec![
            ("there", requests.there as f64),
            ("answered", requests.here_min as f64),
            ("missing_share", missing_share),
        ],
    )
}

fn errors_apart(errors: Option<&ServiceCount>, requests: u64) -> Option<Finding> {
    let errors = errors?;
    let (missing, more) = (errors.missing(), errors.foreign());
    let apart = missing.max(more);
    if apart < COUNTS_APART_MIN || share(apart, requests.max(errors.here_max)) <= ERRORS_APART_SHARE {
        return None;
    }
    let here = match missing > more {
        true => format!("{} answers with a status of its errors came here", text::count(errors.here_min)),
        false => format!("at most {} came here", text::count(errors.here_max)),
    };
    found(
        FindingCode::CountsDisagree,
        Severity::Note,
        format!("The service counted {} errors ({}), and {here}.", text::count(errors.there), errors.metric),
        "The metric may count other errors than answers that say so (a retry behind it, 4xx), or those of others: compare what \
         both mean by an error.",
        vec![
            ("there", errors.there as f64),
            ("here_min", errors.here_min as f64),
            ("here_max", errors.here_max as f64),
        ],
    )
}

pub(super) fn foreign_traffic(case: &Case<'_>) -> Option<Finding> {
    let requests = case.evidence.cross_check?.requests?;
    let foreign = requests.foreign();
    let foreign_share = share(foreign, requests.there);
    if foreign < COUNTS_APART_MIN || foreign_share <= FOREIGN_SHARE {
        return None;
    }
    found(
        FindingCode::ForeignTraffic,
        severity(foreign_share > FOREIGN_SHARE_DEGRADES, Severity::Degrades, Severity::Note),
        format!(
            "The service counted {} requests ({}), and at most {} of them are ours: {} came from elsewhere.",
            text::count(requests.there),
            requests.metric,
            text::count(requests.here_max),
            text::of(foreign, requests.there),
        ),
        "Others used the target meanwhile, which then bore more than this load, or one of our requests counts several times: \
         select what is ours by its labels, or test when nobody else does.",
        vec![
            ("there", requests.there as f64),
            ("ours_max", requests.here_max as f64),
            ("foreign_share", foreign_share),
        ],
    )
}

/// Nothing measured depends on it.
pub(super) fn failed(case: &Case<'_>) -> Option<Finding> {
    let problems = case.evidence.cross_check?.problems;
    let first = problems.first()?;
    let more = match problems.len() - 1 {
        0 => String::new(),
        n => format!(" (and {} more)", text::count(n as u64)),
    };
    found(
        FindingCode::CrossCheckFailed,
        Severity::Note,
        format!("The service's own metrics could not all be held against ours: {first}{more}."),
        "What was measured here does not depend on them. Correct what it says, and ask again with the next run.",
        vec![("problems", problems.len() as f64)],
    )
}
