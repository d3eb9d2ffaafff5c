//! What a run is to do: a value that is checked once, when it is made, and never again.

mod check;
mod error;

pub use error::PlanError;

use crate::dispatch::{Policy, Pool, Room};
use crate::load::{Asked, Closed, ClosedShare, LoadNumber, Open, OpenShare};
use crate::origins::Origins;
use crate::record::SampleBlocks;
use crate::schedule::{HOLD_LENGTH_MAX, Phase, Process, RAMP_LENGTH_MAX, Rate, Schedule};
use crate::share::Share;
use crate::time::{Instant, Nanos};
use check::{check_common, check_length, check_limit, check_phases, check_users};
use std::sync::Arc;

/// Users of a closed population who don't think begin spread over this time.
const RAMP_UP_WITHOUT_THINKING: Nanos = Nanos::from_millis(100);

/// Operations that are recorded apart; the rest of a long target list shares the last place.
pub const OPERATIONS_APART_MAX: usize = 256;

/// Requests of a limited Poisson load at the most: all are drawn once before the start, a hundred million in about a second.
pub const LIMIT_POISSON_MAX: u64 = 100_000_000;

/// Users of a closed population at the most.
pub const USERS_MAX: u32 = 1_000_000;

/// Worker threads at the most; each holds some megabytes of histograms.
pub const THREADS_MAX: u32 = 256;

/// What offers the load, before it is checked.
#[derive(Clone, PartialEq, Debug)]
pub enum LoadSpec {
    /// Arrivals by schedule.
    Open {
        /// The measured shape, end to end; the warm-up is put before it.
        phases: Vec<Phase>,
        /// How arrivals lie around it.
        process: Process,
    },
    /// A finite population.
    Closed {
        /// How many users.
        users: u32,
        /// From an answer to the next request.
        think: Nanos,
        /// Their first requests are spread evenly over this time; measuring begins after it.
        ramp_up: Nanos,
        /// Length of the measured part.
        duration: Nanos,
    },
}

impl LoadSpec {
    /// A finite population that begins spread over a think time: then as many are thinking at each moment as later.
    pub fn closed(users: u32, think: Nanos, duration: Nanos) -> LoadSpec {
        let ramp_up = if think > Nanos::ZERO { think } else { RAMP_UP_WITHOUT_THINKING };
        LoadSpec::Closed { users, think, ramp_up, duration }
    }
}

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
    /// After the last arrival due; the timeout unless given.
    pub drain: Option<Nanos>,
    /// Connections to each origin, over all workers.
    pub pool: Pool,
    /// Worker threads.
    pub threads: u32,
    /// For each operation: may it be sent twice?
    pub idempotent: Vec<bool>,
    /// Where each operation goes.
    pub origins: Origins,
    /// No plan may offer more than this.
    pub rate_cap: Option<Rate>,
}

/// Arrivals counted from the schedule alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Scheduled {
    /// Before the measured part.
    pub warmup: u64,
    /// In it.
    pub measured: u64,
}

/// A checked plan.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    spec: PlanSpec,
    schedule: Option<Arc<Schedule>>,
    load_length: Nanos,
}

impl Plan {
    /// Checks `spec`.
    pub fn new(spec: PlanSpec) -> Result<Plan, PlanError> {
        check_common(&spec)?;
        let schedule = match &spec.load {
            LoadSpec::Open { phases, process } => {
                check_phases(phases, &spec)?;
                check_limit(*process, spec.limit)?;
                Some(Arc::new(place(phases, *process, spec.warmup, spec.limit)))
            }
            LoadSpec::Closed { users, think, ramp_up, duration } => {
                check_users(*users, *think, &spec)?;
                check_length("a closed load", *duration, HOLD_LENGTH_MAX)?;
                if *ramp_up > RAMP_LENGTH_MAX {
                    return Err(PlanError::TooLong {
                        what: "a ramp-up",
                        length: *ramp_up,
                        max: RAMP_LENGTH_MAX,
                    });
                }
                None
            }
        };
        let load_length = match (&schedule, &spec.load) {
            (Some(schedule), _) => schedule.span(),
            (None, LoadSpec::Closed { ramp_up, duration, .. }) => *ramp_up + spec.warmup + *duration,
            (None, LoadSpec::Open { .. }) => Nanos::ZERO,
        };
        Ok(Plan { spec, schedule, load_length })
    }

    /// What was asked for.
    pub fn spec(&self) -> &PlanSpec {
        &self.spec
    }

    /// The schedule of an open load, warm-up first.
    pub fn schedule(&self) -> Option<&Arc<Schedule>> {
        self.schedule.as_ref()
    }

    /// What is left out at the beginning: the ramp-up of closed users, and the warm-up.
    pub fn measured_from(&self) -> Nanos {
        match self.spec.load {
            LoadSpec::Closed { ramp_up, .. } => ramp_up + self.spec.warmup,
            LoadSpec::Open { .. } => self.spec.warmup,
        }
    }

    /// Arrivals of an open load before `from`, and from there until just before `to`.
    pub fn scheduled(&self, from: Nanos, to: Nanos) -> Option<Scheduled> {
        let [warmup, all] = self.schedule()?.counts_before(Share::WHOLE, [from.min(to), to]);
        Some(Scheduled { warmup, measured: all - warmup })
    }

    /// The measured ones of these by operation, as they are recorded apart; `None` where there is one operation, or no
    /// schedule.
    pub fn scheduled_by_operation(&self, from: Nanos, to: Nanos) -> Option<Vec<u64>> {
        let places = self.operations_apart();
        let operations = self.spec.idempotent.len() as u64;
        let schedule = self.schedule().filter(|_| places > 1)?;
        Some(schedule.counts_by_operation(from.min(to), to, operations, places))
    }

    /// Worker threads.
    pub fn threads(&self) -> u32 {
        self.spec.threads
    }

    /// How long arrivals may come, warm-up included.
    pub fn load_length(&self) -> Nanos {
        self.load_length
    }

    /// How long dispatch goes on after the last arrival due.
    pub fn drain(&self) -> Nanos {
        self.spec.drain.unwrap_or(self.spec.timeout)
    }

    /// Connections of worker `shard` to each origin; each worker has at least one.
    pub fn pool_of(&self, shard: u32) -> Pool {
        let share = |all: u32| all / self.threads() + u32::from(shard < all % self.threads());
        match self.spec.pool {
            Pool::Auto { max } => Pool::Auto { max: share(max).max(1) },
            Pool::Fixed { n } => Pool::Fixed { n: share(n) },
        }
    }

    /// What worker `shard`'s dispatcher must know. A connection takes one request at a time, for ever, and
    /// arrivals have no grain: how the requests are carried is not the plan's affair.
    pub fn policy(&self, shard: u32) -> Policy {
        Policy {
            pool: self.pool_of(shard),
            origins: self.spec.origins.clone(),
            room: Room::SINGLE,
            connection_age: None,
            share: self.share_of(shard),
            timeout: self.spec.timeout,
            drain: self.drain(),
            idempotent: self.spec.idempotent.clone(),
            grain: None,
        }
    }

    /// Which arrivals are kept to test the process of an open load by.
    pub fn sample_blocks(&self) -> Option<SampleBlocks> {
        let schedule = self.schedule.as_ref()?;
        Some(SampleBlocks::new(schedule.clone(), self.measured_from(), self.load_length))
    }

    fn share_of(&self, shard: u32) -> Share {
        Share { first: shard, of: self.threads() }
    }

    /// Worker `shard`'s open load, if the load is open.
    pub fn open_load(&self, start: Instant, shard: u32) -> Option<Open> {
        let schedule = self.schedule.as_ref()?;
        Some(Open::new(OpenShare {
            number: LoadNumber::ONLY,
            schedule: schedule.clone(),
            start,
            share: self.share_of(shard),
            asked: Asked::all(self.spec.idempotent.len()),
            origins: self.spec.origins.clone(),
        }))
    }

    /// Worker `shard`'s users, if the load is closed.
    pub fn closed_load(&self, start: Instant, shard: u32) -> Option<Closed> {
        let LoadSpec::Closed { users, think, ramp_up, .. } = self.spec.load else { return None };
        Some(Closed::new(ClosedShare {
            number: LoadNumber::ONLY,
            users,
            think,
            ramp_up,
            start,
            end: start + self.load_length,
            measured_from: start + self.measured_from(),
            limit: self.spec.limit.unwrap_or(u64::MAX),
            share: self.share_of(shard),
            asked: Asked::all(self.spec.idempotent.len()),
            origins: self.spec.origins.clone(),
        }))
    }

    /// Operations that are recorded apart.
    pub fn operations_apart(&self) -> usize {
        self.spec.idempotent.len().min(OPERATIONS_APART_MAX)
    }
}

/// The warm-up holds the rate with which the shape begins; the limit counts measured arrivals only.
fn place(phases: &[Phase], process: Process, warmup: Nanos, limit: Option<u64>) -> Schedule {
    let mut all = Vec::with_capacity(phases.len() + 1);
    if warmup > Nanos::ZERO {
        all.push(Phase::hold(phases[0].from, warmup));
    }
    all.extend_from_slice(phases);
    let schedule = Schedule::new(&all, process, u64::MAX);
    match limit {
        None => schedule,
        Some(limit) => {
            let warm = schedule.count_before(warmup);
            schedule.with_limit(warm.saturating_add(limit))
        }
    }
}
