//! The records of a table of Cassandra, counted by ranges of its ring: all of them at once take longer than a server waits for its
//! replicas.

use super::asking::{Asking, PLACE};
use crate::run::Prepared;
use crate::ycsb::cql::KEY;
use crate::ycsb::workload::Workload;
use anyhow::{Result, anyhow, bail};
use std::io::Write;
use unblink_core::failure::FailureKind;
use unblink_core::time::Nanos;
use unblink_engine::feeding::Feed;

/// Records that a range has at most, if there are as many as the workload says.
const RECORDS: u64 = 10_000;
const RANGES: std::ops::RangeInclusive<u64> = 16..=65_536;
/// Of a table of which nothing is known.
const RANGES_UNKNOWN: u64 = 256;

/// Ranges that are counted at once, over all connections.
const CONNECTIONS: u32 = 2;
const DEPTH: u32 = 4;

/// A server that answers nothing for so long is given up.
const PATIENCE: Nanos = Nanos::from_secs(60);

/// No range is narrower that is halved: 2²⁰ of this width are a ring.
const WIDTH_MIN: i128 = 1 << 44;

/// Tokens from behind the first up to the second.
type Range = (i64, i64);

/// How many records of `workload` the table has.
pub(super) fn count(asking: &Asking, workload: &Workload) -> Result<u64> {
    let text = format!(
        "SELECT count(*) FROM {} WHERE token({KEY}) > {PLACE} AND token({KEY}) <= {PLACE}",
        workload.table
    );
    let request = asking.reading(&text, workload);
    let Prepared { job, header, .. } = asking.prepared(vec![request], CONNECTIONS, DEPTH)?;
    let job = job.hearing_all();
    let (mut left, mut sum) = (parts(workload.records), 0);
    while !left.is_empty() {
        let mut counting = Counting { ranges: &left, next: 0, sum, slow: Vec::new(), failure: None };
        let fed = job.feed(CONNECTIONS, PATIENCE, &mut counting);
        let Counting { sum: so_far, slow, failure, .. } = counting;
        fed.map_err(|error| anyhow!("the store does not say how many records it has: {error}"))?;
        let halves = slow.iter().map(|&(range, kind)| {
            let code = header.failure_code(kind.index());
            match halved(range).filter(|_| takes_too_long(&code)) {
                Some(halves) => Ok(halves),
                None => bail!("a range of the table can't be counted ({code})"),
            }
        });
        let halves = halves.collect::<Result<Vec<_>>>()?;
        if let Some(said) = failure {
            bail!("the store answers {said:?}, where a number is expected");
        }
        (sum, left) = (so_far, halves.concat());
    }
    Ok(sum)
}

/// By what a server says of a range that has too many records.
fn takes_too_long(code: &str) -> bool {
    matches!(code, "cql_read_timeout" | "cql_read_failure" | "cql_overloaded")
}

/// The whole ring.
fn parts(records: Option<u64>) -> Vec<Range> {
    let parts = records.map_or(RANGES_UNKNOWN, |n| (n / RECORDS).clamp(*RANGES.start(), *RANGES.end()));
    let at = |n: u64| {
        let token = i128::from(i64::MIN) + (i128::from(n) << 64) / i128::from(parts);
        token.min(i128::from(i64::MAX)) as i64
    };
    (0..parts).map(|n| (at(n), at(n + 1))).collect()
}

fn halved((from, to): Range) -> Option<[Range; 2]> {
    let middle = i64::midpoint(from, to);
    (i128::from(to) - i128::from(from) >= WIDTH_MIN).then_some([(from, middle), (middle, to)])
}

struct Counting<'a> {
    ranges: &'a [Range],
    next: usize,
    sum: u64,
    /// Those that were not counted, and why.
    slow: Vec<(Range, FailureKind)>,
    /// What is no number.
    failure: Option<String>,
}

impl Feed for Counting<'_> {
    fn next(&mut self) -> Option<(u32, u64)> {
        let number = self.next;
        self.next += 1;
        (number < self.ranges.len()).then_some((0, number as u64))
    }

    fn fill(&mut self, number: u64, place: u32, out: &mut Vec<u8>) {
        let (from, to) = self.ranges[number as usize];
        let _ = write!(out, "{}", if place == 0 { from } else { to });
    }

    fn answered(&mut self, number: u64, failure: Option<FailureKind>, body: &[u8]) {
        if let Some(kind) = failure {
            self.slow.push((self.ranges[number as usize], kind));
            return;
        }
        let text = String::from_utf8_lossy(body);
        match text.trim().parse::<u64>() {
            Ok(counted) => self.sum += counted,
            Err(_) => self.failure = Some(text.into_owned()),
        }
    }

    fn goes_on(&mut self, _: Nanos) -> bool {
        self.failure.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without gaps, from the token that no key has to the last one.
    fn assert_whole(ranges: &[Range]) {
        assert_eq!((ranges[0].0, ranges[ranges.len() - 1].1), (i64::MIN, i64::MAX));
        assert!(ranges.windows(2).all(|two| two[0].1 == two[1].0));
        assert!(ranges.iter().all(|(from, to)| from < to));
    }

    #[test]
    fn ranges_are_the_whole_ring() {
        for (records, n) in [
            (None, 256),
            (Some(5), 16),
            (Some(1_000_000), 100),
            (Some(12_345_678), 1_234),
            (Some(u64::MAX), 65_536),
        ] {
            let parts = parts(records);
            assert_eq!(parts.len(), n);
            assert_whole(&parts);
        }
    }

    #[test]
    fn a_range_is_halved_until_it_is_narrow() {
        let (mut range, mut times) = ((i64::MIN, i64::MAX), 0);
        while let Some(halves) = halved(range) {
            if times == 0 {
                assert_whole(&halves);
            }
            assert!(halves[0].0 == range.0 && halves[1].1 == range.1 && halves[0].1 == halves[1].0);
            (range, times) = (halves[times % 2], times + 1);
        }
        assert!((19..=21).contains(&times), "{times}");
    }
}
