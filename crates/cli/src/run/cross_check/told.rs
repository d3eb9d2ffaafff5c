//! The service's own counts beside ours.

use super::service::Service;
use std::time::UNIX_EPOCH;
use unblink_artifact::document::{CrossCheck, MetricsSource, ServiceCount};
use unblink_core::failure::FailureKind;
use unblink_core::record::Bank;
use unblink_engine::clock::WallTime;

/// What was sent here and answered, the warm-up included.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Own {
    /// Whole answers that the service must have given.
    answered: u64,
    ok: u64,
    /// Of them by status, those that no service takes for anything but errors.
    errors: u64,
    /// All that may have reached it.
    sent: u64,
}

impl Own {
    /// What the account of the load says, and `beside` it.
    pub(super) fn of(bank: &Bank<u64>, beside: u64) -> Own {
        let counters = &bank.counters;
        let mut own = Own { sent: counters.connections().resent + beside, ..Own::default() };
        for of in [&counters.measured, &counters.warmup] {
            let failed = |is_one: fn(FailureKind) -> bool| {
                FailureKind::all()
                    .filter(|kind| is_one(*kind))
                    .map(|kind| of.failed[kind.index()])
                    .sum::<u64>()
            };
            own.ok += of.ok;
            own.answered += of.ok + failed(FailureKind::is_of_whole_answer);
            own.errors += of.failed[FailureKind::STATUS_5XX.index()];
            own.sent += of.sent + of.retries.sent_again;
        }
        own
    }

    /// At least, and at most: with `asked` questions for the metrics themselves.
    pub(super) fn requests(&self, asked: u64) -> (u64, u64) {
        (self.answered, self.sent + asked)
    }

    /// The same of errors: whatever was not as it should be may be one.
    fn errors(&self, asked: u64) -> (u64, u64) {
        (self.errors, (self.sent + asked).saturating_sub(self.ok))
    }
}

/// `own` is absent where the service's counts are not known to the end of the load; otherwise it has the number of questions
/// that went to the service itself.
pub(super) fn document(
    source: MetricsSource,
    url: String,
    service: Service,
    own: Option<(Own, u64)>,
    started_at: WallTime,
) -> CrossCheck {
    let beside = |there: Option<(String, u64)>, of: fn(&Own, u64) -> (u64, u64)| {
        let ((metric, there), (own, asked)) = there.zip(own)?;
        let (here_min, here_max) = of(&own, asked);
        Some(ServiceCount { metric, there, here_min, here_max })
    };
    let start_s = started_at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    let since_start = |at: f64| ((at - start_s) * 1e9) as i64;
    let (from, to) = service.between();
    CrossCheck {
        source,
        url,
        from_ns: from.map(since_start),
        to_ns: to.map(since_start),
        asked: service.asked,
        failed: service.failed,
        resets: service.resets(),
        requests: beside(service.requests(), Own::requests),
        errors: beside(service.errors(), Own::errors),
        latency: service.latency(),
        problems: service.problems(),
    }
}
