//! What was recorded of answers, to stand beside those of the replay.

use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use unblink_artifact::document::{RecordedAnswers, RecordedTimes};
use unblink_trace::format::Request;

/// Digits of durations: there may be a thousand kinds of requests.
const DIGITS: u8 = 2;

/// Answers to one kind of requests.
#[derive(Clone, Debug, Default)]
pub(super) struct Answers {
    requests: u64,
    codes: BTreeMap<u16, u64>,
    sizes: u64,
    bytes: u128,
    took: Option<Histogram<u32>>,
    /// The longest as it was recorded: the histogram has but two digits.
    longest: u64,
}

impl Answers {
    pub(super) fn add(&mut self, request: &Request) {
        self.requests += 1;
        if let Some(status) = request.status {
            *self.codes.entry(status).or_default() += 1;
        }
        if let Some(size) = request.answer_bytes {
            self.sizes += 1;
            self.bytes += u128::from(size);
        }
        let Some(took) = request.took else { return };
        self.longest = self.longest.max(took);
        if self.took.is_none() {
            self.took = Histogram::new(DIGITS).ok();
        }
        // It grows with what it is given.
        let _ = self.took.as_mut().map(|all| all.record(took));
    }

    pub(super) fn merge(&mut self, other: &Answers) {
        self.requests += other.requests;
        other.codes.iter().for_each(|(&code, n)| *self.codes.entry(code).or_default() += n);
        self.sizes += other.sizes;
        self.bytes += other.bytes;
        self.longest = self.longest.max(other.longest);
        match (&mut self.took, &other.took) {
            (Some(all), Some(more)) => {
                let _ = all.add(more);
            }
            (none @ None, more) => none.clone_from(more),
            (_, None) => {}
        }
    }

    pub(super) fn document(&self) -> RecordedAnswers {
        RecordedAnswers {
            requests: self.requests,
            codes: self.codes.iter().map(|(code, &n)| (code.to_string(), n)).collect(),
            answer_bytes_mean: (self.sizes > 0).then(|| self.bytes as f64 / self.sizes as f64),
            took: self.took.as_ref().map(|all| RecordedTimes {
                count: all.len(),
                p50_ns: all.value_at_quantile(0.5).min(self.longest),
                p99_ns: all.value_at_quantile(0.99).min(self.longest),
                max_ns: self.longest,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_the_whole() {
        let request = |n: u64| Request {
            status: (n % 4 != 3).then_some(if n.is_multiple_of(10) { 500 } else { 200 }),
            answer_bytes: Some(n),
            took: n.is_multiple_of(2).then_some(n * 1_000_000),
            ..Request::default()
        };
        let of = |from: u64, to: u64| {
            let mut all = Answers::default();
            (from..to).for_each(|n| all.add(&request(n)));
            all
        };
        let mut parts = Answers::default();
        [of(0, 300), of(300, 1_001)].iter().for_each(|part| parts.merge(part));
        let whole = of(0, 1_001).document();
        assert_eq!(parts.document(), whole);
        assert_eq!((whole.requests, whole.answer_bytes_mean), (1_001, Some(500.0)));
        assert_eq!(whole.codes.values().sum::<u64>(), 751);
        let took = whole.took.unwrap();
        assert!(took.count == 501 && took.p50_ns.abs_diff(500_000_000) <= 5_000_000, "{took:?}");
        assert!(took.p99_ns.abs_diff(990_000_000) <= 10_000_000, "{took:?}");
        assert_eq!(took.max_ns, 1_000_000_000, "as it was recorded");
        assert_eq!(Answers::default().document(), RecordedAnswers::default());
    }
}
