//! A plan as it is asked for.

use super::LoadSpec;
use crate::dispatch::{Pool, Retry};
use crate::mix::Mix;
use crate::origins::Origins;
use crate::schedule::Rate;
use crate::time::Nanos;

/// A plan before it is checked.
#[derive(Clone, PartialEq, Debug)]
pub struct PlanSpec {
    /// What offers the load.
    pub load: LoadSpec,
    /// Excluded from every figure, before the measured part; of a closed load, after its ramp-up.
    pub warmup: Nanos,
    /// Measured arrivals at the most.
    pub limit: Option<u64>,
    /// From the intended time.
    pub timeout: Nanos,
    /// After the last arrival due; unless given the timeout, or the time that journeys may take.
    pub drain: Option<Nanos>,
    /// Connections to each origin, over all workers.
    pub pool: Pool,
    /// Worker threads.
    pub threads: u32,
    /// What is tried again; nothing without it.
    pub retry: Option<Retry>,
    /// For each operation: may it be sent twice?
    pub idempotent: Vec<bool>,
    /// In which shares and in which order the operations are asked for.
    pub mix: Mix,
    /// Where each operation goes.
    pub origins: Origins,
    /// No plan may offer more than this.
    pub rate_cap: Option<Rate>,
}

impl PlanSpec {
    /// One plain operation to one origin by one worker, all of it measured: no warm-up, no limit, nothing tried again, no cap.
    pub fn plain(load: LoadSpec, pool: Pool, timeout: Nanos) -> PlanSpec {
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
            mix: Mix::default(),
            origins: Origins::default(),
            rate_cap: None,
        }
    }
}
