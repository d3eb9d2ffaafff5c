//! What a run is to do: a value that is checked once, when it is made, and never again.

use crate::dispatch::{Policy, Pool};
use crate::load::{Closed, ClosedShare, Open};
use crate::record::{RECORDABLE_MAX, SampleBlocks};
use crate::schedule::{
    HOLD_LENGTH_MAX, Phase, Process, RAMP_LENGTH_MAX, RATE_MAX_PER_S, Rate, Schedule, common_seconds,
};
use crate::share::Share;
use crate::time::{Instant, Nanos};
use std::sync::Arc;

/// Users of a closed population who don't think begin spread over this time.
const RAMP_UP_WITHOUT_THINKING: Nanos = Nanos::from_millis(100);

/// Operations whose response times are kept apart; the rest of a long target list shares the last place.
pub const OPERATIONS_APART_MAX: usize = 32;

/// Users of a closed population at the most.
pub const USERS_MAX: u32 = 1_000_000;

/// Longest part before the measured one.
const WARMUP_MAX: Nanos = RAMP_LENGTH_MAX;

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
    /// Connections over all workers.
    pub pool: Pool,
    /// Worker threads.
    pub threads: u32,
    /// For each operation: may it be sent twice?
    pub idempotent: Vec<bool>,
    /// No plan may offer more than this.
    pub rate_cap: Option<Rate>,
}

/// Why a plan can't be.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum PlanError {
    /// A rate of nothing.
    #[error("the rate is 0 throughout: nothing would be sent")]
    RateZero,
    /// A rate above what the schedule's integers hold.
    #[error("a rate of {0} is above the highest possible, {RATE_MAX_PER_S}/s")]
    RateTooHigh(Rate),
    /// Rates that no schedule of integers holds exactly.
    #[error(
        "these rates can't be offered exactly together: give them with fewer digits, or in one unit (such as 100..500/m)"
    )]
    RatesTooFine,
    /// Above the user's own cap.
    #[error("a rate of {rate} is above the cap of {cap} (--max-rate, or max-rate in the config file)")]
    AboveCap {
        /// What the plan asked for.
        rate: Rate,
        /// What is allowed.
        cap: Rate,
    },
    /// No time at all.
    #[error("the duration is 0: nothing would be measured (give one above 0, such as -d 30s)")]
    DurationZero,
    /// Longer than the schedule's integers hold it.
    #[error("{} is too long: {what} lasts {} at the most", in_words(*.length), in_words(*.max))]
    TooLong {
        /// Whose length it is.
        what: &'static str,
        /// What was asked for.
        length: Nanos,
        /// What is possible.
        max: Nanos,
    },
    /// A timeout that no answer could meet.
    #[error("the timeout is 0: every request would be late (give one above 0, such as --timeout 30s)")]
    TimeoutZero,
    /// A timeout that can't be recorded.
    #[error("a timeout of {} is longer than the longest that is recorded, 1 h", in_words(*.0))]
    TimeoutTooLong(Nanos),
    /// No user.
    #[error("0 users send nothing")]
    NoUsers,
    /// No arrival asked for.
    #[error("0 requests: nothing would be sent")]
    LimitZero,
    /// No worker.
    #[error("0 threads can't send anything")]
    NoThreads,
    /// No operation.
    #[error("there is nothing to request: give a URL or a target file")]
    NoOperations,
    /// More users than can be kept.
    #[error("{0} users are more than the highest possible, {USERS_MAX}")]
    TooManyUsers(u32),
    /// More workers than make sense.
    #[error("{0} threads are more than the highest possible, {THREADS_MAX}")]
    TooManyThreads(u32),
    /// Nothing holds closed users below the cap.
    #[error(
        "{users} users may send more than the cap of {cap} (--max-rate, or max-rate in the config file), since a closed load has no rate: \
         give a think time of at least users/cap, {think_s} s, or a rate (-R)"
    )]
    ClosedAboveCap {
        /// How many.
        users: u32,
        /// What is allowed.
        cap: Rate,
        /// The think time that would keep them below it.
        think_s: f64,
    },
    /// A shape that begins with nothing has no rate to warm up with.
    #[error("the shape begins at 0/s, which warms nothing up: begin it above 0, or leave --warmup out")]
    WarmupWithoutRate,
    /// A worker without a connection.
    #[error(
        "{} can't be shared by {}: each needs one (raise -c or lower -t)",
        plural(*connections, "connection"),
        plural(*threads, "thread")
    )]
    FewerConnectionsThanThreads {
        /// Connections asked for.
        connections: u32,
        /// Threads asked for.
        threads: u32,
    },
    /// A worker without a user.
    #[error(
        "{} can't be shared by {}: each needs one (lower -t)", plural(*users, "user"), plural(*threads, "thread")
    )]
    FewerUsersThanThreads {
        /// Users asked for.
        users: u32,
        /// Threads asked for.
        threads: u32,
    },
}

fn plural(n: u32, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}

/// A long time as people say it: `25 h`, `24 h 1 s`, `7 d`.
fn in_words(time: Nanos) -> String {
    const DAY_S: f64 = 86_400.0;
    let seconds = time.as_secs_f64();
    if seconds >= 2.0 * DAY_S && seconds % DAY_S == 0.0 {
        return format!("{} d", seconds / DAY_S);
    }
    let (hours, minutes) = ((seconds / 3600.0).floor(), (seconds / 60.0).floor() % 60.0);
    let parts = [(hours, "h"), (minutes, "min"), (seconds - hours * 3600.0 - minutes * 60.0, "s")];
    let said = parts.into_iter().filter(|(n, _)| *n > 0.0).map(|(n, unit)| format!("{n} {unit}"));
    said.collect::<Vec<_>>().join(" ")
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

    /// Connections of worker `shard`; each worker has at least one.
    pub fn pool_of(&self, shard: u32) -> Pool {
        let share = |all: u32| all / self.threads() + u32::from(shard < all % self.threads());
        match self.spec.pool {
            Pool::Auto { max } => Pool::Auto { max: share(max).max(1) },
            Pool::Fixed { n } => Pool::Fixed { n: share(n) },
        }
    }

    /// What worker `shard`'s dispatcher must know.
    pub fn policy(&self, shard: u32) -> Policy {
        Policy {
            pool: self.pool_of(shard),
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
        Some(Open::new(schedule.clone(), start, self.share_of(shard), self.spec.idempotent.len()))
    }

    /// Worker `shard`'s users, if the load is closed.
    pub fn closed_load(&self, start: Instant, shard: u32) -> Option<Closed> {
        let LoadSpec::Closed { users, think, ramp_up, .. } = self.spec.load else { return None };
        Some(Closed::new(ClosedShare {
            users,
            think,
            ramp_up,
            start,
            end: start + self.load_length,
            measured_from: start + self.measured_from(),
            limit: self.spec.limit.unwrap_or(u64::MAX),
            share: self.share_of(shard),
            operations: self.spec.idempotent.len(),
        }))
    }

    /// Operations whose response times are kept apart.
    pub fn operations_apart(&self) -> usize {
        self.spec.idempotent.len().min(OPERATIONS_APART_MAX)
    }
}

fn check_common(spec: &PlanSpec) -> Result<(), PlanError> {
    let threads = spec.threads;
    if threads == 0 {
        return Err(PlanError::NoThreads);
    }
    if threads > THREADS_MAX {
        return Err(PlanError::TooManyThreads(threads));
    }
    if spec.idempotent.is_empty() {
        return Err(PlanError::NoOperations);
    }
    if spec.limit == Some(0) {
        return Err(PlanError::LimitZero);
    }
    if spec.timeout == Nanos::ZERO {
        return Err(PlanError::TimeoutZero);
    }
    if spec.timeout > RECORDABLE_MAX {
        return Err(PlanError::TimeoutTooLong(spec.timeout));
    }
    if spec.warmup > WARMUP_MAX {
        return Err(PlanError::TooLong { what: "a warm-up", length: spec.warmup, max: WARMUP_MAX });
    }
    let (Pool::Auto { max: connections } | Pool::Fixed { n: connections }) = spec.pool;
    if connections < threads {
        return Err(PlanError::FewerConnectionsThanThreads { connections, threads });
    }
    Ok(())
}

fn check_users(users: u32, think: Nanos, spec: &PlanSpec) -> Result<(), PlanError> {
    if users == 0 {
        return Err(PlanError::NoUsers);
    }
    if users > USERS_MAX {
        return Err(PlanError::TooManyUsers(users));
    }
    if users < spec.threads {
        return Err(PlanError::FewerUsersThanThreads { users, threads: spec.threads });
    }
    // Each user sends at most once in a think time, however fast the target answers.
    match spec.rate_cap.filter(|cap| f64::from(users) > cap.as_per_s() * think.as_secs_f64()) {
        Some(cap) => {
            Err(PlanError::ClosedAboveCap { users, cap, think_s: f64::from(users) / cap.as_per_s() })
        }
        None => Ok(()),
    }
}

fn check_phases(phases: &[Phase], spec: &PlanSpec) -> Result<(), PlanError> {
    if phases.is_empty() {
        return Err(PlanError::DurationZero);
    }
    for phase in phases {
        let what = if phase.from == phase.to { "a load at one rate" } else { "a ramp" };
        check_length(what, phase.duration, phase.length_max())?;
        let rate = phase.from.max(phase.to);
        if rate > Rate::per_second(RATE_MAX_PER_S) {
            return Err(PlanError::RateTooHigh(rate));
        }
        if let Some(cap) = spec.rate_cap.filter(|&cap| rate > cap) {
            return Err(PlanError::AboveCap { rate, cap });
        }
    }
    if phases.iter().all(|p| p.from.is_zero() && p.to.is_zero()) {
        return Err(PlanError::RateZero);
    }
    if common_seconds(phases).is_none() {
        return Err(PlanError::RatesTooFine);
    }
    if spec.warmup > Nanos::ZERO && phases[0].from.is_zero() {
        return Err(PlanError::WarmupWithoutRate);
    }
    Ok(())
}

fn check_length(what: &'static str, length: Nanos, max: Nanos) -> Result<(), PlanError> {
    if length == Nanos::ZERO {
        return Err(PlanError::DurationZero);
    }
    if length > max {
        return Err(PlanError::TooLong { what, length, max });
    }
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_times_are_said_in_hours() {
        assert_eq!(in_words(Nanos::from_secs(90_000)), "25 h");
        assert_eq!(in_words(Nanos::from_secs(86_401)), "24 h 1 s");
        assert_eq!(in_words(Nanos::from_secs(7 * 86_400)), "7 d");
        assert_eq!(in_words(Nanos::from_secs(5_400)), "1 h 30 min");
    }
}
