//! What came of a run's addresses and threads, as its record says it.

use unblink_artifact::document::{FailedAttempts, Spread, WorkerPriority};
use unblink_artifact::tally::OriginEnding;
use unblink_engine::addresses::AddressCounts;
use unblink_engine::priority::Priority;
use unblink_engine::run::OriginSummary;

pub(super) fn origin_ending(summary: OriginSummary) -> OriginEnding {
    let OriginSummary { by_address, spread, resolving_failed } = summary;
    OriginEnding {
        by_address: by_address.iter().map(|(at, counts)| (at.clone(), counts.usable)).collect(),
        arrivals_by_address: by_address
            .iter()
            .filter_map(|(at, counts)| Some((at.clone(), counts.arrivals.as_ref()?.into())))
            .collect(),
        failed_by_address: by_address.into_iter().filter_map(failed_attempts).collect(),
        spread: spread.requests().map(|(requests_min, requests_median, requests_max)| Spread {
            requests_min,
            requests_median,
            requests_max,
            at_once_max: spread.at_once_max(),
        }),
        resolving_failed,
        preflight: None,
        ring: None,
    }
}

/// Of one address, if there were any.
fn failed_attempts((address, counts): (String, AddressCounts)) -> Option<(String, FailedAttempts)> {
    let AddressCounts { refused, unanswered, unreachable, .. } = counts;
    let failed = FailedAttempts { refused, unanswered, unreachable };
    (failed != FailedAttempts::default()).then_some((address, failed))
}

pub(super) fn priority(priority: Priority) -> Option<WorkerPriority> {
    match priority {
        Priority::Normal => None,
        Priority::RealTime => Some(WorkerPriority::RealTime),
        Priority::GivenUp => Some(WorkerPriority::GivenUp),
        Priority::Refused => Some(WorkerPriority::Refused),
    }
}
