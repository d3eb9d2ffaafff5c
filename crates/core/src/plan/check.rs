//! What a plan must be like.

use super::load::highest_together;
use super::{
    LIMIT_POISSON_MAX, LOADS_MAX, Length, LoadSpec, OpenPart, PHASES_MAX, PlanError, PlanSpec,
    RECORDED_USERS_MAX, THREADS_MAX, USERS_MAX,
};
use crate::dispatch::{ATTEMPTS_MAX, Pool, Retry};
use crate::journey::Paths;
use crate::record::RECORDABLE_MAX;
use crate::recorded::Recorded;
use crate::recorded_users::RecordedUsers;
use crate::schedule::bursts::{Bursts, CHANGES_MAX, PEAK_MAX};
use crate::schedule::{
    HOLD_LENGTH_MAX, Phase, Process, RAMP_LENGTH_MAX, RATE_MAX_PER_S, Rate, bursts_fit, common_seconds,
};
use crate::time::Nanos;

/// Longest part before the measured one.
const WARMUP_MAX: Nanos = RAMP_LENGTH_MAX;

pub(super) fn check_common(spec: &PlanSpec) -> Result<(), PlanError> {
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
        return Err(PlanError::TooLong { what: Length::Warmup, length: spec.warmup, max: WARMUP_MAX });
    }
    if let Some(retry) = &spec.retry {
        check_retry(retry, spec.timeout)?;
    }
    let (Pool::Auto { max: connections } | Pool::Fixed { n: connections }) = spec.pool;
    if connections < threads {
        return Err(PlanError::FewerConnectionsThanThreads { connections, threads });
    }
    Ok(())
}

fn check_retry(retry: &Retry, timeout: Nanos) -> Result<(), PlanError> {
    if !(2..=ATTEMPTS_MAX).contains(&retry.attempts) {
        return Err(PlanError::Attempts(retry.attempts));
    }
    match retry.try_timeout {
        Some(Nanos::ZERO) => Err(PlanError::TryTimeoutZero),
        Some(limit) if limit >= timeout => Err(PlanError::TryTimeoutTooLong { limit, timeout }),
        None if retry.on.is_empty() => Err(PlanError::RetriesOnNothing),
        _ => Ok(()),
    }
}

pub(super) fn check_users(users: u32, think: Nanos, spec: &PlanSpec) -> Result<(), PlanError> {
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

/// What was recorded asks for operations of the run, and not for more in any second than is allowed.
pub(super) fn check_recorded(recorded: &Recorded, spec: &PlanSpec) -> Result<(), PlanError> {
    if spec.warmup >= recorded.length() {
        return Err(PlanError::WarmupOfRecorded);
    }
    check_length("a replay", recorded.length(), HOLD_LENGTH_MAX)?;
    if (0..recorded.count()).any(|k| recorded.operation(k) as usize >= spec.idempotent.len()) {
        return Err(PlanError::NoOperations);
    }
    let most = Rate::per_second(recorded.most_in_a_second());
    if most > Rate::per_second(RATE_MAX_PER_S) {
        return Err(PlanError::RateTooHigh(most));
    }
    match spec.rate_cap.filter(|&cap| most > cap) {
        Some(cap) => Err(PlanError::RecordedAboveCap { most, cap }),
        None => Ok(()),
    }
}

/// The same of users who wait for their answers, of whom each worker has one.
pub(super) fn check_recorded_users(users: &RecordedUsers, spec: &PlanSpec) -> Result<(), PlanError> {
    check_recorded(users.recorded(), spec)?;
    let all = users.users();
    if all > RECORDED_USERS_MAX {
        return Err(PlanError::TooManyRecordedUsers(all));
    }
    if all < u64::from(spec.threads) {
        return Err(PlanError::FewerUsersThanThreads { users: all as u32, threads: spec.threads });
    }
    Ok(())
}

/// Each open load, and all of them together.
pub(super) fn check_open(parts: &[OpenPart], spec: &PlanSpec) -> Result<(), PlanError> {
    if parts.is_empty() {
        return Err(PlanError::DurationZero);
    }
    if parts.len() > LOADS_MAX {
        return Err(PlanError::TooManyLoads(parts.len()));
    }
    if parts.len() > 1 && spec.limit.is_some() {
        return Err(PlanError::LimitOfSeveral);
    }
    for (load, part) in parts.iter().enumerate() {
        check_part(part, spec).map_err(|error| match spec.load {
            LoadSpec::Several(_) => PlanError::OfLoad { load, error: Box::new(error) },
            _ => error,
        })?;
    }
    let warms_up = |part: &OpenPart| part.start == Nanos::ZERO && !part.phases[0].from.is_zero();
    if spec.warmup > Nanos::ZERO && !parts.iter().any(warms_up) {
        return Err(PlanError::WarmupWithoutRate);
    }
    match spec.rate_cap {
        Some(cap) if parts.len() > 1 => check_sum(parts, cap),
        _ => Ok(()),
    }
}

fn check_part(part: &OpenPart, spec: &PlanSpec) -> Result<(), PlanError> {
    check_phases(&part.phases, spec)?;
    if let Process::Bursty { bursts, .. } = part.process {
        check_bursts(&bursts, part, spec)?;
    }
    check_limit(part.process, spec.limit)?;
    let max = HOLD_LENGTH_MAX - spec.warmup;
    if part.start > max {
        return Err(PlanError::TooLong { what: Length::BeforeLoad, length: part.start, max });
    }
    let placed = part.placed(spec.warmup);
    let fits = match part.process {
        Process::Bursty { bursts, .. } => bursts_fit(&placed, &bursts),
        _ => common_seconds(&placed).is_some(),
    };
    if fits { Ok(()) } else { Err(PlanError::RatesTooFine) }
}

/// Bursts that there can be, at rates that can be offered.
fn check_bursts(bursts: &Bursts, part: &OpenPart, spec: &PlanSpec) -> Result<(), PlanError> {
    if bursts.on == Nanos::ZERO || bursts.off == Nanos::ZERO {
        return Err(PlanError::BurstsWithoutTime);
    }
    let max_milli = bursts.peak_milli_max().min(1_000 * PEAK_MAX);
    if bursts.peak_milli <= 1_000 || bursts.peak_milli > max_milli {
        return Err(PlanError::BurstsImpossible { peak: bursts.peak(), max: max_milli as f64 / 1e3 });
    }
    let length = part.placed(spec.warmup).iter().fold(Nanos::ZERO, |sum, phase| sum + phase.duration);
    let changes = bursts.changes_expected(length);
    if changes > CHANGES_MAX {
        return Err(PlanError::TooManyBursts { bursts: changes / 2 });
    }
    let highest = part.phases.iter().map(|phase| phase.from.max(phase.to)).max().unwrap_or_default();
    let burst_per_s = highest.as_per_s() * bursts.peak();
    if burst_per_s > RATE_MAX_PER_S as f64 {
        return Err(PlanError::BurstsTooHigh { burst_per_s });
    }
    match spec.rate_cap.filter(|cap| is_above(burst_per_s, *cap)) {
        Some(cap) => Err(PlanError::BurstsAboveCap { burst_per_s, cap }),
        None => Ok(()),
    }
}

/// Products and sums of fractions are rounded.
fn is_above(per_s: f64, cap: Rate) -> bool {
    per_s > cap.as_per_s() * (1.0 + 1e-9)
}

/// The rates of several loads may be at their highest together, and all of them in a burst.
fn check_sum(parts: &[OpenPart], cap: Rate) -> Result<(), PlanError> {
    let highest_per_s = highest_together(parts);
    if is_above(highest_per_s, cap) {
        return Err(PlanError::SumAboveCap { highest_per_s, cap });
    }
    Ok(())
}

/// The cap is on requests: an arrival that is a journey is several of them.
pub(super) fn check_journeys(parts: &[OpenPart], paths: &Paths, spec: &PlanSpec) -> Result<(), PlanError> {
    let Some(cap) = spec.rate_cap else { return Ok(()) };
    let requests_per_s = highest_together(parts) * paths.requests_per_arrival(spec.mix.weights.as_deref());
    if requests_per_s > cap.as_per_s() * (1.0 + 1e-9) {
        return Err(PlanError::JourneysAboveCap { requests_per_s, cap });
    }
    Ok(())
}

pub(super) fn check_closed_lengths(ramp_up: Nanos, duration: Nanos) -> Result<(), PlanError> {
    check_length("a closed load", duration, HOLD_LENGTH_MAX)?;
    if ramp_up > RAMP_LENGTH_MAX {
        return Err(PlanError::TooLong { what: Length::RampUp, length: ramp_up, max: RAMP_LENGTH_MAX });
    }
    Ok(())
}

fn check_limit(process: Process, limit: Option<u64>) -> Result<(), PlanError> {
    match limit.filter(|_| process.seed().is_some()) {
        Some(limit) if limit > LIMIT_POISSON_MAX => Err(PlanError::LimitTooHigh(limit)),
        _ => Ok(()),
    }
}

fn check_phases(phases: &[Phase], spec: &PlanSpec) -> Result<(), PlanError> {
    if phases.is_empty() {
        return Err(PlanError::DurationZero);
    }
    if phases.len() > PHASES_MAX {
        return Err(PlanError::TooManyPhases(phases.len()));
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
    Ok(())
}

fn check_length(what: &'static str, length: Nanos, max: Nanos) -> Result<(), PlanError> {
    if length == Nanos::ZERO {
        return Err(PlanError::DurationZero);
    }
    if length > max {
        return Err(PlanError::TooLong { what: Length::Load(what), length, max });
    }
    Ok(())
}
