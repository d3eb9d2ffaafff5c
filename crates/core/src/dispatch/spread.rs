//! How requests spread over connections.

use hdrhistogram::Histogram;

/// Requests of a connection at the most, as far as they are told apart.
const REQUESTS_MAX: u64 = 1 << 40;
/// Digits of a median that are right.
const DIGITS: u8 = 2;

/// What one connection has carried.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carried {
    requests: u64,
    at_once_max: u32,
}

impl Carried {
    /// One more, so that so many are under way.
    #[inline]
    pub(super) fn count(&mut self, at_once: u32) {
        self.requests += 1;
        self.at_once_max = self.at_once_max.max(at_once);
    }

    /// The last one went elsewhere.
    pub(super) fn uncount(&mut self) {
        self.requests -= 1;
    }
}

/// Requests by connection, of all that were usable, over the whole run.
#[derive(Clone, PartialEq, Debug)]
pub struct Spread {
    requests: Histogram<u32>,
    requests_min: u64,
    requests_max: u64,
    at_once_max: u32,
}

impl Default for Spread {
    fn default() -> Spread {
        let requests = Histogram::new_with_max(REQUESTS_MAX, DIGITS).expect("bounds that fit");
        Spread { requests, requests_min: u64::MAX, requests_max: 0, at_once_max: 0 }
    }
}

impl Spread {
    pub(super) fn add_one(&mut self, carried: Carried) {
        self.requests.saturating_record(carried.requests);
        self.requests_min = self.requests_min.min(carried.requests);
        self.requests_max = self.requests_max.max(carried.requests);
        self.at_once_max = self.at_once_max.max(carried.at_once_max);
    }

    /// Adds another worker's.
    pub fn add(&mut self, other: &Spread) {
        self.requests.add(&other.requests).expect("the same bounds");
        self.requests_min = self.requests_min.min(other.requests_min);
        self.requests_max = self.requests_max.max(other.requests_max);
        self.at_once_max = self.at_once_max.max(other.at_once_max);
    }

    /// Fewest, median and most requests of a connection; the median to within a hundredth. `None`: no connection was usable.
    pub fn requests(&self) -> Option<(u64, u64, u64)> {
        let median = self.requests.value_at_quantile(0.5);
        let is_any = !self.requests.is_empty();
        is_any.then(|| {
            (self.requests_min, median.clamp(self.requests_min, self.requests_max), self.requests_max)
        })
    }

    /// Most requests that were under way at once on one connection.
    pub fn at_once_max(&self) -> u32 {
        self.at_once_max
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_of_several_workers_are_one_distribution() {
        let mut all = Spread::default();
        assert_eq!((all.requests(), all.at_once_max()), (None, 0));
        for (requests, at_once_max) in [(0, 0), (7, 3)] {
            all.add_one(Carried { requests, at_once_max });
        }
        let mut other = Spread::default();
        let mut carried = Carried::default();
        (1..=100_003).for_each(|i| carried.count(i % 9));
        other.add_one(carried);
        all.add(&other);
        assert_eq!((all.requests(), all.at_once_max()), (Some((0, 7, 100_003)), 8));
        other.add(&Spread::default());
        assert_eq!(other.requests(), Some((100_003, 100_003, 100_003)));
    }
}
