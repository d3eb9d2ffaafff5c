//! What a stall does to response times: by theory, and by the server's own clock.

use crate::clock::SECOND_NS;
use crate::deviation::{offset_ns, rank};
use crate::stamps::Stamp;
use serde::{Deserialize, Serialize};

/// A load at a rate, and a server that answers nothing from `from_ns` to `to_ns` after the first arrival.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Stall {
    pub rate_per_s: u64,
    pub seconds: u64,
    pub from_ns: u64,
    pub to_ns: u64,
}

/// Percentiles of response time, counted from when each arrival was due, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Responses {
    pub p50_ns: u64,
    pub p95_ns: u64,
    pub p99_ns: u64,
    pub p99_9_ns: u64,
    pub arrivals: u64,
}

impl Stall {
    /// Arrivals of the schedule.
    pub(crate) fn arrivals(&self) -> u64 {
        self.rate_per_s * self.seconds
    }

    /// With a server that answers in no time before and after, and all at once when the stall ends.
    pub(crate) fn exact(&self) -> Option<Responses> {
        let due_ns = |k: u64| k * SECOND_NS / self.rate_per_s;
        let response = |k: u64| {
            let due_ns = due_ns(k);
            if self.from_ns <= due_ns && due_ns < self.to_ns { self.to_ns - due_ns } else { 0 }
        };
        percentiles((0..self.arrivals()).map(response).collect())
    }

    /// As the server saw it: from the place on the ideal line to when the answer went out. `None` when a request
    /// has no answer, or the requests are not as many as were scheduled: then this line is not theirs.
    pub(crate) fn by_server(&self, stamps: &[Stamp]) -> Option<Responses> {
        if stamps.len() as u64 != self.arrivals() {
            return None;
        }
        let first_ns = stamps.first()?.arrived_ns;
        let offset = |(k, stamp): (usize, &Stamp)| offset_ns(stamp.arrived_ns - first_ns, k, self.rate_per_s);
        let mut offsets: Vec<i64> = stamps.iter().enumerate().map(offset).collect();
        offsets.sort_unstable();
        let base_ns = offsets[rank(offsets.len(), 0.01)?];
        let response = |(k, stamp): (usize, &Stamp)| {
            let late_ns = offset_ns(stamp.answered_ns? - first_ns, k, self.rate_per_s) - base_ns;
            Some(late_ns.max(0) as u64)
        };
        percentiles(stamps.iter().enumerate().map(response).collect::<Option<_>>()?)
    }
}

fn percentiles(mut values: Vec<u64>) -> Option<Responses> {
    values.sort_unstable();
    let at = |q| Some(values[rank(values.len(), q)?]);
    Some(Responses {
        p50_ns: at(0.5)?,
        p95_ns: at(0.95)?,
        p99_ns: at(0.99)?,
        p99_9_ns: at(0.999)?,
        arrivals: values.len() as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALL: Stall =
        Stall { rate_per_s: 1000, seconds: 20, from_ns: 12 * SECOND_NS, to_ns: 13 * SECOND_NS };

    #[test]
    fn the_exact_values_are_those_of_the_uniform_law() {
        // A twentieth of the arrivals waits between 0 and 1 s, evenly.
        let exact = STALL.exact().unwrap();
        assert_eq!(exact.arrivals, 20_000);
        assert_eq!((exact.p50_ns, exact.p95_ns), (0, 0));
        assert_eq!((exact.p99_ns, exact.p99_9_ns), (800_000_000, 980_000_000));
    }

    #[test]
    fn the_server_sees_the_same_of_a_client_that_is_on_time() {
        let stamp = |k: u64| {
            let due_ns = k * 1_000_000;
            let is_held = (STALL.from_ns..STALL.to_ns).contains(&due_ns);
            // On a clock of its own, and every request 40 µs on its way.
            let at = |ns: u64| 77 * SECOND_NS + 40_000 + ns;
            Stamp {
                arrived_ns: at(due_ns),
                answered_ns: Some(at(if is_held { STALL.to_ns } else { due_ns })),
            }
        };
        let stamps: Vec<Stamp> = (0..20_000).map(stamp).collect();
        assert_eq!(STALL.by_server(&stamps), STALL.exact());
        assert_eq!(STALL.by_server(&stamps[1..]), None);
        let mut unanswered = stamps;
        unanswered[7].answered_ns = None;
        assert_eq!(STALL.by_server(&unanswered), None);
    }
}
