//! Plans of one worker, in which everything that a test says nothing of is as usual.

use unblink_core::dispatch::Pool;
use unblink_core::plan::{LoadSpec, PlanSpec};
use unblink_core::time::Nanos;

/// One request, without a warm-up; nothing is tried again.
pub(crate) fn plain(load: LoadSpec, pool: Pool, timeout: Nanos) -> PlanSpec {
    PlanSpec {
        load,
        warmup: Nanos::ZERO,
        limit: None,
        timeout,
        drain: None,
        pool,
        threads: 1,
        retry: None,
        idempotent: vec![true],
        mix: Default::default(),
        origins: Default::default(),
        rate_cap: None,
    }
}
