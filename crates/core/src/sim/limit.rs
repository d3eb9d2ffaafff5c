//! A server that takes requests at a rate and turns the others away: a token bucket.

use crate::rate::Rate;
use crate::time::{Instant, Nanos, SECOND_NS};

/// How much the server takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limit {
    /// In the long run; above 0.
    pub rate: Rate,
    /// The size of a burst: this many more at once after a time without requests.
    pub burst: u32,
}

/// What is in the bucket, in units of which a token has seconds × 10⁹ and each ns brings as many as the rate has
/// requests: whole numbers, so that nothing is lost in rounding.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    per_ns: u128,
    token: u128,
    capacity: u128,
    level: u128,
    last: Instant,
}

impl Bucket {
    /// A full one.
    pub(super) fn new(limit: Limit) -> Bucket {
        let (requests, seconds) = (limit.rate.requests(), limit.rate.seconds());
        let token = u128::from(seconds) * u128::from(SECOND_NS);
        let capacity = token * (u128::from(limit.burst) + 1);
        Bucket { per_ns: u128::from(requests), token, capacity, level: capacity, last: Instant(0) }
    }

    /// Is there a token for a request that comes now? `now` never goes back.
    pub(super) fn take(&mut self, now: Instant) -> bool {
        let Nanos(passed) = now.since(self.last);
        self.last = now;
        self.level = (self.level + u128::from(passed) * self.per_ns).min(self.capacity);
        let has_token = self.level >= self.token;
        if has_token {
            self.level -= self.token;
        }
        has_token
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many of those that come every `every_ns` for so many seconds are taken.
    fn taken(rate: Rate, burst: u32, every_ns: u64, seconds: u64) -> u64 {
        let mut bucket = Bucket::new(Limit { rate, burst });
        (0..seconds * SECOND_NS / every_ns).filter(|k| bucket.take(Instant(k * every_ns))).count() as u64
    }

    #[test]
    fn in_the_long_run_it_takes_its_rate_and_a_burst_once() {
        const MS: u64 = 1_000_000;
        let fifty = Rate::per_second(50);
        assert_eq!(taken(fifty, 0, 10 * MS, 60), 3_000, "every second one of 100/s");
        // Full at the start, and 50/s until the last one comes, 10 ms before the end.
        assert_eq!(taken(fifty, 10, 10 * MS, 60), 11 + 2_999);
        assert_eq!(taken(fifty, 0, 20 * MS, 60), 3_000, "as many as it takes");
        assert_eq!(taken(fifty, 0, 25 * MS, 60), 2_400);
        // Two thirds of a request in a second: after an hour no token is lost.
        assert_eq!(taken(Rate::new(2, 3).expect("a rate"), 0, 1_500 * MS, 3_600), 2_400);
    }

    #[test]
    fn what_is_not_used_is_kept_up_to_the_burst() {
        let mut bucket = Bucket::new(Limit { rate: Rate::per_second(10), burst: 2 });
        let mut at = |s: u64| (0..10).filter(|_| bucket.take(Instant(s * SECOND_NS))).count();
        assert_eq!([at(0), at(1), at(100)], [3, 3, 3]);
    }
}
