//! Requests per second, exactly.

use crate::time::{Nanos, SECOND_NS};
use std::cmp::Ordering;
use std::fmt;

/// A rate as a fraction in lowest terms: 10 per minute is 1 request in 6 seconds. What was asked for is offered, to
/// the nanosecond, however long the run is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Rate {
    requests: u64,
    seconds: u64,
}

impl Default for Rate {
    fn default() -> Rate {
        Rate::per_second(0)
    }
}

impl Rate {
    /// `per_s` whole requests per second.
    pub const fn per_second(per_s: u64) -> Rate {
        Rate { requests: per_s, seconds: 1 }
    }

    /// `requests` in every `seconds`; a rate over no time is none.
    pub const fn new(requests: u64, seconds: u64) -> Option<Rate> {
        match seconds {
            0 => None,
            _ => Some(Rate::reduced(requests, seconds)),
        }
    }

    /// `milli_per_s` whole thousandths of a request per second.
    pub const fn from_milli(milli_per_s: u64) -> Rate {
        Rate::reduced(milli_per_s, 1000)
    }

    const fn reduced(requests: u64, seconds: u64) -> Rate {
        let common = gcd(requests, seconds);
        Rate { requests: requests / common, seconds: seconds / common }
    }

    /// Whole thousandths of a request per second, rounded down.
    pub fn milli_per_s(self) -> u64 {
        (u128::from(self.requests) * 1000 / u128::from(self.seconds)) as u64
    }

    /// Requests per second, for display and for what is computed in floating point.
    pub fn as_per_s(self) -> f64 {
        self.requests as f64 / self.seconds as f64
    }

    /// Nothing is offered.
    pub fn is_zero(self) -> bool {
        self.requests == 0
    }

    /// So many in [`Rate::seconds`].
    pub fn requests(self) -> u64 {
        self.requests
    }

    /// In so many seconds (and in every multiple of them) the number of requests is whole.
    pub fn seconds(self) -> u64 {
        self.seconds
    }

    /// Requests in `seconds`, where that is a multiple of [`Rate::seconds`] and the result fits.
    pub fn in_seconds(self, seconds: u64) -> Option<u64> {
        let times = seconds / self.seconds;
        self.requests.checked_mul(times).filter(|_| times * self.seconds == seconds)
    }

    /// The rate that lies `part` of `of` on the way to `other`; `None` where it is no fraction of 64-bit numbers.
    pub fn toward(self, other: Rate, part: u64, of: u64) -> Option<Rate> {
        let [a, b, c, d] = [self.requests, self.seconds, other.requests, other.seconds].map(u128::from);
        let (part, of) = (u128::from(part.min(of)), u128::from(of));
        let requests =
            a.checked_mul(d)?.checked_mul(of - part)?.checked_add(c.checked_mul(b)?.checked_mul(part)?)?;
        let seconds = b.checked_mul(d)?.checked_mul(of)?;
        let (mut common, mut rest) = (seconds, requests);
        while rest != 0 {
            (common, rest) = (rest, common % rest);
        }
        let whole = |n: u128| u64::try_from(n.checked_div(common)?).ok();
        Rate::new(whole(requests)?, whole(seconds)?)
    }

    /// The time in which `n` requests fall due, in whole ns; of a rate of 0 the longest there is.
    pub fn time_of(self, n: u64) -> Nanos {
        let ns = u128::from(n) * u128::from(self.seconds) * u128::from(SECOND_NS);
        let ns = ns.checked_div(u128::from(self.requests)).unwrap_or(u128::MAX);
        Nanos(u64::try_from(ns).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for Rate {
    /// Without rounding: `0.5/s`, `10/min`, `3 in 7 s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rate { requests, seconds } = *self;
        // A decimal fraction ends when ten has every factor of the denominator.
        let mut rest = seconds;
        for factor in [2, 5] {
            while rest.is_multiple_of(factor) {
                rest /= factor;
            }
        }
        match rest {
            1 => write!(f, "{}/s", self.as_per_s()),
            _ if 60u64.is_multiple_of(seconds) => write!(f, "{}/min", requests * (60 / seconds)),
            _ if 3600u64.is_multiple_of(seconds) => write!(f, "{}/h", requests * (3600 / seconds)),
            _ => write!(f, "{requests} in {seconds} s"),
        }
    }
}

impl Ord for Rate {
    fn cmp(&self, other: &Rate) -> Ordering {
        let cross = |a: &Rate, b: &Rate| u128::from(a.requests) * u128::from(b.seconds);
        cross(self, other).cmp(&cross(other, self))
    }
}

impl PartialOrd for Rate {
    fn partial_cmp(&self, other: &Rate) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Euclid's. `gcd(0, b)` is b.
pub(crate) const fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rates_are_one_value_and_have_an_order() {
        assert_eq!(Rate::new(10, 60), Rate::new(1, 6));
        assert_eq!(Rate::new(0, 60), Some(Rate::default()));
        assert_eq!(Rate::from_milli(5000), Rate::per_second(5));
        assert_eq!(Rate::new(1, 0), None);
        let [third, less, more] = [(1, 3), (333, 1000), (334, 1000)].map(|(n, s)| Rate::new(n, s).unwrap());
        assert!(less < third && third < more);
        assert_eq!((third.milli_per_s(), third.in_seconds(9), third.in_seconds(10)), (333, Some(3), None));
        let said = |requests, seconds| Rate::new(requests, seconds).unwrap().to_string();
        assert_eq!([said(50, 1), said(1, 2), said(1, 6), said(1, 1800)], ["50/s", "0.5/s", "10/min", "2/h"]);
        assert_eq!([said(101, 1000), said(100_000, 7)], ["0.101/s", "100000 in 7 s"]);
        assert_eq!((third.toward(more, 0, 7), third.toward(more, 7, 7)), (Some(third), Some(more)));
        assert_eq!(third.toward(Rate::per_second(1), 1, 4), Rate::new(1, 2));
        assert_eq!(Rate::default().toward(Rate::new(1, u64::MAX).unwrap(), 1, 2), None);
        assert_eq!((third.time_of(2), Rate::default().time_of(1)), (Nanos::from_secs(6), Nanos(u64::MAX)));
    }
}
