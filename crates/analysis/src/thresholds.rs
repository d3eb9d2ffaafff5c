//! Every line that a finding draws. `docs/validity.md` gives the reasons; a test holds the two together.

use unblink_core::time::Nanos;

/// A quantile rests on too little when fewer samples than this lie above its rank.
pub const SAMPLES_ABOVE_MIN: u64 = 10;

/// Below this share of the offered arrivals sent while the load lasted, the run is degraded.
pub const SENT_SHARE_DEGRADES: f64 = 0.999;
/// Below this share, it is invalid.
pub const SENT_SHARE_INVALIDATES: f64 = 0.99;
/// Fewer missing arrivals than this are the ones on their way when the load ended.
pub const SENT_MISSING_MIN: u64 = 10;

/// Own lateness up to this is never held against the generator.
pub const LATE_FLOOR: Nanos = Nanos::from_millis(1);
/// Own lateness above this share of a printed percentile up to p99 degrades the run.
pub const LATE_SHARE_DEGRADES: f64 = 0.10;
/// Own lateness above this share of a printed percentile up to p99 invalidates the run; of a higher
/// percentile it degrades it.
pub const LATE_SHARE_INVALIDATES: f64 = 0.50;
/// The highest percentile for which the generator's lateness can invalidate a run.
pub const LATE_QUANTILE_MAX: f64 = 0.99;

/// Of several machines, one is unlike the others when its p99 is more than so many times the median of all, or as much below it.
pub const AGENT_P99_RATIO: f64 = 2.0;
/// Fewer machines than this have no median that one of them could be held against.
pub const AGENTS_COMPARED_MIN: usize = 3;
/// The p99 of a machine with fewer answers than this is its own chance.
pub const AGENT_ANSWERS_MIN: u64 = 1_000;

/// The busiest interval's share of work above which the run is degraded.
pub const BUSY_SHARE_DEGRADES: f64 = 0.80;
/// The whole run's share of work above which it is invalid.
pub const BUSY_SHARE_INVALIDATES: f64 = 0.95;

/// Loops that ran for less than this are not judged by their share of work.
pub const BUSY_TIME_MIN: Nanos = Nanos::from_secs(1);

/// An own pause from this length on is told.
pub const PAUSE_MIN: Nanos = Nanos::from_millis(10);
/// Time without a processor counts as pauses when each lasted at least this long on average: shorter ones
/// are the ordinary price of waking up.
pub const RUN_DELAY_MIN: Nanos = Nanos::from_micros(500);
/// Own pauses that may have moved a printed percentile by more than this share of it degrade the run.
pub const PAUSE_MOVED_SHARE_DEGRADES: f64 = 0.10;
/// By more than this share of a printed percentile up to p99: they invalidate it; of a higher
/// percentile they degrade it.
pub const PAUSE_MOVED_SHARE_INVALIDATES: f64 = 0.50;

/// Stolen processor time above this share degrades the run.
pub const STEAL_SHARE_DEGRADES: f64 = 0.01;
/// Stolen processor time above this share invalidates it.
pub const STEAL_SHARE_INVALIDATES: f64 = 0.10;

/// Answers below this share of what fell due, over the last half of a hold, mean saturation when also
/// the unanswered grow.
pub const SATURATED_ANSWERED_SHARE: f64 = 0.98;
/// The unanswered grow when each stretch of the last half adds more than this share of what fell due.
pub const SATURATED_GROWTH_SHARE: f64 = 0.01;
/// They have stopped growing only because the timeout removes them when they hold more than this share
/// of what falls due within one timeout.
pub const SATURATED_LEVEL_SHARE: f64 = 0.50;
/// Where all origins together carry the load and one of them does not, that invalidates the run when it leaves this share
/// of all arrivals unanswered, and degrades it below: what lies above p99 can't be told then.
pub const SATURATED_ORIGIN_SHARE: f64 = 0.01;
/// Into how many stretches the last half of a hold is cut.
pub const SATURATED_STRETCHES: usize = 4;

/// A target has more than enough to work on when this many times as many requests are in flight as it works on at once
/// at its best (by Little's law, from its best second and its quickest answer): the others queue in it.
pub const CONNECTIONS_ENOUGH: f64 = 4.0;
/// This many times as many connections keep it busy, also while one answer is under way and the next request is.
pub const CONNECTIONS_SUGGESTED: f64 = 2.0;

/// In a run too short for that, more than this share of all arrivals unanswered when the load ended
/// degrades it: the target may be saturated or only slow.
pub const TOO_SHORT_UNANSWERED_SHARE: f64 = 0.02;

/// Above this share of arrivals waiting for a connection, a pool that is meant to grow degrades the run.
pub const POOL_WAITED_SHARE_DEGRADES: f64 = 0.001;
/// Above this share of arrivals failed for lack of a port or descriptor, the run is invalid.
pub const LOCAL_LIMIT_SHARE_INVALIDATES: f64 = 0.01;
/// Above this share of arrivals thrown away by the own pool, the run is invalid.
pub const SHED_SHARE_INVALIDATES: f64 = 0.01;
/// Above this share of arrivals that a part's borders separate from their ends, the part is degraded.
pub const PART_SHARE_DEGRADES: f64 = 0.01;

/// A run without an end is invalid when the arrivals under way then are more than what lies above this quantile.
pub const KILLED_QUANTILE_INVALIDATES: f64 = 0.99;

/// Above this share of failed arrivals, the run is degraded however few its samples are.
pub const FAILED_SHARE_DEGRADES: f64 = 0.05;
/// Above this share of failed arrivals, the percentiles speak for a minority.
pub const FAILED_SHARE_INVALIDATES: f64 = 0.50;
/// The highest percentile whose being a lower bound degrades the run; above it is a note.
pub const CENSORED_QUANTILE_DEGRADES: f64 = 0.99;
/// Fewer attempts than this for each arrival that was sent are not told.
pub const AMPLIFIED_MIN: f64 = 1.2;
/// Nor are more where no more than this share of the arrivals failed or timed out in spite of them.
pub const AMPLIFIED_FAILED_SHARE: f64 = 0.05;
/// Above this share of arrivals cut off by the end of the run, it is degraded.
pub const CUT_OFF_SHARE_DEGRADES: f64 = 0.01;

/// Fewer requests than this by which the service's count differs are not told.
pub const COUNTS_APART_MIN: u64 = 10;
/// Nor is a smaller share of ours that the service did not count.
pub const COUNTS_MISSING_SHARE: f64 = 0.001;
/// Above this share of ours that it did not count, the run is degraded: something else may have answered.
pub const COUNTS_MISSING_SHARE_DEGRADES: f64 = 0.01;
/// Errors there and here that differ by a smaller share of the requests are not told.
pub const ERRORS_APART_SHARE: f64 = 0.001;
/// Nor is a smaller share of what the service counted that is foreign.
pub const FOREIGN_SHARE: f64 = 0.001;
/// Above this share, the run is degraded: the target bore another load than this one.
pub const FOREIGN_SHARE_DEGRADES: f64 = 0.05;

/// A process of arrivals is doubted below this probability of its gaps.
pub const ARRIVAL_P_VALUE_MAX: f64 = 0.001;
/// The distribution of its gaps must also be off by this much somewhere (of 1): a test alone finds lateness
/// that nobody needs to know of.
pub const ARRIVAL_DISTANCE_MIN: f64 = 0.05;
/// Gaps that are correlated by this much with those before them are not independent.
pub const ARRIVAL_CORRELATION_MIN: f64 = 0.20;
/// And by this many standard deviations, which a good run reaches once in 16,000.
pub const ARRIVAL_CORRELATION_SIGMAS: f64 = 4.0;
/// Fewer gaps than this are not tested.
pub const ARRIVAL_GAPS_MIN: u64 = 50;
/// A gap between two sent arrivals may be off by this much: the loop's ordinary turn.
pub const ARRIVAL_SEND_TOLERANCE: Nanos = Nanos::from_micros(50);
/// An even arrival whose intended time is off by more than this is not where the schedule says.
pub const ARRIVAL_OFF_THE_LINE_MAX: Nanos = Nanos::from_micros(1);
