//! Why a plan can't be.

use super::{
    LIMIT_POISSON_MAX, LOADS_MAX, PHASES_MAX, RECORDED_USERS_MAX, SHARES_MAX, THREADS_MAX, USERS_MAX,
};
use crate::dispatch::ATTEMPTS_MAX;
use crate::journey::JourneyError;
use crate::mix::MixError;
use crate::schedule::bursts::CHANGES_MAX;
use crate::schedule::{RATE_MAX_PER_S, Rate};
use crate::time::Nanos;
use std::fmt;

/// What of a plan may be too long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// The warm-up.
    Warmup,
    /// The time before a load begins.
    BeforeLoad,
    /// The time in which users begin.
    RampUp,
    /// A load, in words.
    Load(&'static str),
}

impl fmt::Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Length::Warmup => "a warm-up",
            Length::BeforeLoad => "the time before a load",
            Length::RampUp => "a ramp-up",
            Length::Load(what) => what,
        })
    }
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
    #[error(
        "a rate of {rate} is above the cap of {cap} (--max-rate, or one that unblink allow --list shows)"
    )]
    AboveCap {
        /// What the plan asked for.
        rate: Rate,
        /// What is allowed.
        cap: Rate,
    },
    /// A recorded second above the user's own cap.
    #[error(
        "a second of the replay has {most}, above the cap of {cap} (--max-rate, or max-rate in the config file)"
    )]
    RecordedAboveCap {
        /// In the busiest second.
        most: Rate,
        /// What is allowed.
        cap: Rate,
    },
    /// Nothing of the record would be measured.
    #[error("the warm-up of a replay is a part of what was recorded, and takes all of it")]
    WarmupOfRecorded,
    /// A burst or a lull of no length.
    #[error(
        "bursts and the time between them need a length above 0, such as bursty(peak=5x,on=200ms,off=1s)"
    )]
    BurstsWithoutTime,
    /// A peak that is none, or one that would take more than there is.
    #[error(
        "a peak of {peak}x is not possible: the mean stays the rate that was asked for, so a burst of these has more than 1x \
         and at most {max}x of it (shorter or rarer bursts can be higher)"
    )]
    BurstsImpossible {
        /// What was asked for, in multiples of the mean.
        peak: f64,
        /// The highest that is possible.
        max: f64,
    },
    /// More bursts than are drawn before the start.
    #[error(
        "the load would have about {bursts} bursts, more than are drawn beforehand, {}: make it shorter, or the bursts longer",
        CHANGES_MAX / 2
    )]
    TooManyBursts {
        /// How many are expected.
        bursts: u64,
    },
    /// A burst above what the schedule's integers hold.
    #[error("bursts of {burst_per_s:.0}/s are above the highest possible rate, {RATE_MAX_PER_S}/s")]
    BurstsTooHigh {
        /// Their rate, per second.
        burst_per_s: f64,
    },
    /// A burst above the user's own cap.
    #[error(
        "bursts of {burst_per_s:.0}/s are above the cap of {cap} (--max-rate, or one that unblink allow --list shows)"
    )]
    BurstsAboveCap {
        /// Their rate, per second.
        burst_per_s: f64,
        /// What is allowed.
        cap: Rate,
    },
    /// A shape of more pieces than are kept.
    #[error("the load has {0} phases, more than the most possible, {PHASES_MAX}")]
    TooManyPhases(usize),
    /// Operations that can't be asked for in this way.
    #[error(transparent)]
    Mix(#[from] MixError),
    /// Journeys that can't be as they are asked for.
    #[error(transparent)]
    Journeys(#[from] JourneyError),
    /// No time at all.
    #[error("the duration is 0: nothing would be measured (give one above 0, such as -d 30s)")]
    DurationZero,
    /// Longer than the schedule's integers hold it.
    #[error("{} is too long: {what} lasts at most {}", in_words(*.length), in_words(*.max))]
    TooLong {
        /// Whose length it is.
        what: Length,
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
    /// As many attempts as no arrival has.
    #[error("{0} attempts for each request: give from 2 to {ATTEMPTS_MAX}, or leave retries out")]
    Attempts(u32),
    /// No attempt could be answered.
    #[error(
        "the timeout of an attempt is 0: each would be given up (give one above 0, such as --try-timeout 1s)"
    )]
    TryTimeoutZero,
    /// No attempt would be given up.
    #[error(
        "an attempt is given up after {}, and its request has timed out by then, after {}: give a shorter --try-timeout",
        in_words(*.limit),
        in_words(*.timeout)
    )]
    TryTimeoutTooLong {
        /// Of an attempt.
        limit: Nanos,
        /// Of an arrival.
        timeout: Nanos,
    },
    /// Nothing is ever tried again.
    #[error("there is nothing after which a request would be tried again: give --retry-on, or --try-timeout")]
    RetriesOnNothing,
    /// No user.
    #[error("0 users send nothing")]
    NoUsers,
    /// No arrival asked for.
    #[error("0 requests: nothing would be sent")]
    LimitZero,
    /// More drawn arrivals than are drawn before the start to find where they end.
    #[error(
        "{0} requests at random times are more than can be counted beforehand, {LIMIT_POISSON_MAX}: give a duration instead (-d), or --arrivals even"
    )]
    LimitTooHigh(u64),
    /// No worker.
    #[error("0 threads can't send anything")]
    NoThreads,
    /// No operation.
    #[error("there is nothing to request: give a URL or a target file")]
    NoOperations,
    /// More users than can be kept.
    #[error("{0} users are more than the highest possible, {USERS_MAX}")]
    TooManyUsers(u32),
    /// More recorded users than one run holds.
    #[error(
        "{0} recorded users are more than a run by user has, {RECORDED_USERS_MAX}: take a smaller --scale, or a part of the trace"
    )]
    TooManyRecordedUsers(u64),
    /// More workers than make sense.
    #[error("{0} threads are more than the highest possible, {THREADS_MAX}")]
    TooManyThreads(u32),
    /// Nothing holds closed users below the cap.
    #[error(
        "{users} users may send more than the cap of {cap} (--max-rate, or one that unblink allow --list shows), since a closed load has no rate: \
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
    /// More loads than are kept apart.
    #[error("{0} loads are more than the highest possible, {LOADS_MAX}")]
    TooManyLoads(usize),
    /// A number of requests does not say which load they are of.
    #[error("a number of requests (-n) needs a single load: give each of several loads a duration instead")]
    LimitOfSeveral,
    /// What is wrong with one of several loads.
    #[error("{error}")]
    OfLoad {
        /// Its place among them.
        load: usize,
        /// What it is.
        error: Box<PlanError>,
    },
    /// The loads add up to more than the cap.
    #[error(
        "the loads add up to {highest_per_s:.0}/s at their highest, more than the cap of {cap} (--max-rate, or one that unblink allow --list shows)"
    )]
    SumAboveCap {
        /// The highest sum of their rates, per second.
        highest_per_s: f64,
        /// What is allowed.
        cap: Rate,
    },
    /// Journeys ask for more than the cap.
    #[error(
        "with the requests of its journeys the load comes to {requests_per_s:.0}/s, more than the cap of {cap} (--max-rate, or \
         one that unblink allow --list shows)"
    )]
    JourneysAboveCap {
        /// Requests at the highest rate, per second and on average.
        requests_per_s: f64,
        /// What is allowed.
        cap: Rate,
    },
    /// A shape that begins with nothing has no rate to warm up with.
    #[error("the shape begins at 0/s, which warms nothing up: begin it above 0, or leave --warmup out")]
    WarmupWithoutRate,
    /// More shares than a load has streams.
    #[error(
        "a load in {0} shares is more than the highest possible, {SHARES_MAX}, since Poisson arrivals are one stream \
         for each share: use fewer threads or agents"
    )]
    TooManyShares(u32),
    /// A share beyond the last.
    #[error(
        "{}, the first of them with share {}, are more than the {of} of all machines together",
        plural(*threads, "thread"),
        first + 1
    )]
    NoSuchShare {
        /// The first one here, from 0.
        first: u32,
        /// Threads here, each with a share.
        threads: u32,
        /// Of all machines.
        of: u32,
    },
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
