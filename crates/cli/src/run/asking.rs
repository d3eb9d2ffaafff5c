//! Questions beside the load: one at a time, by one thread, on one connection.

use anyhow::Result;
use unblink_core::dispatch::Pool;
use unblink_core::origins::Origins;
use unblink_core::plan::{LoadSpec, Plan, PlanSpec};
use unblink_core::time::Nanos;

/// A plan for asking, each answer waited for as long as `timeout`. Of each question, whether it may be sent twice.
pub(super) fn plan(timeout: Nanos, idempotent: Vec<bool>, origins: Origins) -> Result<Plan> {
    Ok(Plan::new(PlanSpec {
        idempotent,
        origins,
        ..PlanSpec::plain(
            LoadSpec::closed(1, Nanos::ZERO, Nanos::from_secs(1)),
            Pool::Fixed { n: 1 },
            timeout,
        )
    })?)
}
