//! Recorded arrivals at the times at which they are due: faster or slower, in copies, or thinned.

use super::operations::{Kinds, Operation};
use super::reading::{READ_BYTES, Read, Who};
use crate::args::replay::Factor;
use anyhow::{Context, Result, bail};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::Write;
use unblink_core::random::{below, mixed};
use unblink_core::recorded::{ARRIVAL_BYTES, Bytes, Recorded, RecordedArrival};
use unblink_core::time::{Nanos, SECOND_NS};
use unblink_engine::spill::Spill;

/// Requests of all copies together at the most: eight GiB of a file.
const ARRIVALS_MAX: u64 = 1 << 29;
/// Of all users, in the unit of a part of them.
const ALL_USERS: u32 = 1_000_000;

/// Keeps these draws apart from others of the same seed.
const OFFSETS: u64 = 0x6f66_6673_6574_7300;

/// Where everything lies.
pub(super) struct Placed {
    pub(super) recorded: Recorded,
    /// [`Who::BYTES`] for each, where users are to keep their order. A copy's users are its own, and whoever goes on from the
    /// end of the trace to its start is two of them: what was asked first must not come last.
    pub(super) who: Option<Bytes>,
    pub(super) operations: Vec<Operation>,
    /// Of each copy.
    pub(super) offsets: Vec<Nanos>,
}

/// A copy of the trace, which begins in its midst and goes on from its start.
struct Copy {
    /// How much later each of its requests is due.
    offset: Nanos,
    /// Which part of the users it has, in millionths.
    users: u32,
    /// How many requests of the trace were looked at.
    passed: u64,
    /// Where it begins.
    first: u64,
}

/// `read` so many times as fast, and in so many copies. It begins `lead` before its end, and goes on from its start.
pub(super) fn placed(read: &Read, speed: Factor, scale: Factor, lead: Nanos, seed: u64) -> Result<Placed> {
    let (all, _) = (*read.arrivals).as_ref().as_chunks::<READ_BYTES>();
    let count = all.len() as u64;
    if u128::from(count) * u128::from(scale.micro) / 1_000_000 > u128::from(ARRIVALS_MAX) {
        bail!(
            "it would have more than {ARRIVALS_MAX} requests: take a smaller --scale, or a part of the trace"
        );
    }
    let divided = |at: u64| (u128::from(at) * 1_000_000).div_ceil(u128::from(speed.micro)) as u64;
    // Rounded up, so that what began with a recorded second begins with it in the replay, too, and its last ns do not become
    // those of the next one.
    let faster = |at: Nanos| {
        let next = (at.0 / SECOND_NS).saturating_add(1).saturating_mul(SECOND_NS);
        Nanos(divided(at.0).min(divided(next) - 1))
    };
    let length = faster(read.length).max(faster(read.length - Nanos(1)) + Nanos(1));
    let (operations, now) = Kinds::sorted(&read.operations);
    let arrival = |k: u64| {
        let (arrival, user) = all[k as usize].split_first_chunk::<ARRIVAL_BYTES>().expect("longer than it");
        let arrival = RecordedArrival::from_bytes(arrival);
        let user = user.try_into().map_or(0, u32::from_le_bytes);
        (
            RecordedArrival {
                at: faster(arrival.at),
                operation: now[usize::from(arrival.operation)],
                ..arrival
            },
            user,
        )
    };
    let mut copies: Vec<Copy> = offsets(scale, length, seed)
        .map(|(offset, users)| {
            let offset = Nanos((offset.0 + lead.0 % length.0) % length.0);
            // Those from here on wrap around the end.
            let first = all.partition_point(|bytes| {
                let at =
                    bytes.first_chunk::<ARRIVAL_BYTES>().map(|bytes| RecordedArrival::from_bytes(bytes).at);
                faster(at.unwrap_or_default()) + offset < length
            });
            Copy { offset, users, passed: 0, first: first as u64 }
        })
        .collect();
    let next = |copy: &mut Copy| {
        while copy.passed < count {
            let number = (copy.first + copy.passed) % count;
            let (arrival, user) = arrival(number);
            copy.passed += 1;
            if user < copy.users {
                let at = arrival.at + copy.offset;
                let wraps = at >= length;
                let at = if wraps { at - length } else { at };
                return Some((RecordedArrival { at, ..arrival }, number, wraps));
            }
        }
        None
    };
    let who = |copy: usize, number: u64, wraps: bool| {
        let all = (**read.who.as_ref()?).as_ref().as_chunks::<{ Who::BYTES }>().0;
        let who = Who::from_bytes(all.get(number as usize)?);
        let took = who.took.map(divided);
        Some(Who { user: who.user ^ mixed(2 * copy as u64 + u64::from(wraps)), took })
    };
    let mut out = Spill::new().context("can't write a temporary file")?;
    let spilled = read.who.is_some().then(Spill::new).transpose();
    let mut users = spilled.context("can't write a temporary file")?;
    let mut heads = Vec::new();
    let mut order = BinaryHeap::new();
    for (number, copy) in copies.iter_mut().enumerate() {
        let head = next(copy);
        order.extend(head.map(|(head, ..)| Reverse((head.at, number))));
        heads.push(head);
    }
    while let Some(Reverse((_, number))) = order.pop() {
        let head = std::mem::replace(&mut heads[number], next(&mut copies[number]));
        order.extend(heads[number].map(|(head, ..)| Reverse((head.at, number))));
        if let Some((head, of, wraps)) = head {
            out.write_all(&head.to_bytes()).context("can't write a temporary file")?;
            if let (Some(users), Some(who)) = (&mut users, who(number, of, wraps)) {
                users.write_all(&who.to_bytes()).context("can't write a temporary file")?;
            }
        }
    }
    let offsets = copies.iter().map(|copy| copy.offset).collect();
    let arrivals = out.finish().context("can't write a temporary file")?;
    let who = users.map(Spill::finish).transpose().context("can't write a temporary file")?;
    let recorded = Recorded::new(arrivals, read.texts.clone(), length)
        .context("no request is left: take a larger --scale")?;
    Ok(Placed { recorded, who, operations, offsets })
}

/// When each copy begins, and which part of the users it has. The first one is the trace as it is; the others lie in its length
/// so far from each other that none repeats what another has just sent, and not at fractions of it, at which a rhythm of the
/// trace would repeat itself.
fn offsets(scale: Factor, length: Nanos, seed: u64) -> impl Iterator<Item = (Nanos, u32)> {
    let (whole, rest) = (scale.micro / 1_000_000, (scale.micro % 1_000_000) as u32);
    let copies = whole + u64::from(rest > 0);
    (0..copies).map(move |number| {
        let users = if number < whole { ALL_USERS } else { rest };
        if number == 0 {
            return (Nanos::ZERO, users);
        }
        let part = length.0 / copies;
        let drawn = below(mixed(mixed(seed ^ OFFSETS) ^ number), (part / 2).max(1));
        (Nanos(part * number - part / 4 + drawn), users)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use std::sync::Arc;

    /// Arrivals at so many ms, each by the user of its number in `parts`.
    fn read(at_ms: &[u64], parts: &[u32]) -> Read {
        let at: Vec<Nanos> = at_ms.iter().map(|&ms| Nanos::from_millis(ms)).collect();
        read_at(&at, parts)
    }

    /// The same at these times.
    fn read_at(times: &[Nanos], parts: &[u32]) -> Read {
        let one = |(k, &at): (u64, &Nanos)| {
            let arrival = RecordedArrival { at, operation: 0, text: k };
            let part = parts[k as usize % parts.len()];
            arrival.to_bytes().into_iter().chain(part.to_le_bytes()).collect::<Vec<u8>>()
        };
        let bytes: Vec<u8> = (0..).zip(times).flat_map(one).collect();
        let length = *times.last().unwrap() + Nanos::from_millis(1);
        let operations = Kinds::of_one("GET /");
        Read {
            arrivals: Arc::new(bytes),
            texts: Arc::new(Vec::new()),
            length,
            operations,
            left_out: Default::default(),
            who: None,
            ids: Default::default(),
        }
    }

    /// Bursts and lulls, about 100 in a second.
    fn bursty(n: u64) -> Vec<u64> {
        let gap = |k: u64| if mixed(k / 50).is_multiple_of(4) { mixed(k) % 3 } else { mixed(k) % 27 };
        let next = |at: &mut u64, k| {
            *at += gap(k);
            Some(*at)
        };
        (0..n).scan(0, next).collect()
    }

    fn times(placed: &Placed) -> Vec<Nanos> {
        (0..placed.recorded.count()).map_while(|k| placed.recorded.at(k)).collect()
    }

    fn factor(milli: u64) -> Factor {
        Factor { micro: milli * 1_000 }
    }

    /// Requests per second, and how often a second this level ends.
    const BUSY: (f64, f64) = (400.0, 2.0);
    const QUIET: (f64, f64) = (50.0, 1.0);
    /// How long each record of the two is.
    const BUSY_AND_QUIET_S: u64 = 300;

    /// A Poisson process whose rate goes back and forth between the two at random: when its requests are.
    fn busy_and_quiet(seed: u64) -> Vec<Nanos> {
        let mut draws = (0..).map(|k| (mixed(mixed(seed) ^ k) >> 11) as f64 / (1_u64 << 53) as f64);
        let mut draw = || draws.next().unwrap();
        let mut is_busy = draw() < QUIET.1 / (BUSY.1 + QUIET.1);
        let (mut at, mut all) = (0.0, Vec::new());
        while at < BUSY_AND_QUIET_S as f64 {
            let (rate, ends) = if is_busy { BUSY } else { QUIET };
            at -= (1.0 - draw()).ln() / (rate + ends);
            if draw() * (rate + ends) < ends {
                is_busy = !is_busy;
            } else if at < BUSY_AND_QUIET_S as f64 {
                all.push(Nanos((at * 1e9) as u64));
            }
        }
        all
    }

    /// Its rate, and its index of dispersion in windows of so many seconds (W. Fischer and K. Meier-Hellstern, The Markov-modulated
    /// Poisson process cookbook, 1993).
    fn law(window_s: f64) -> (f64, f64) {
        let ((busy, to_quiet), (quiet, to_busy)) = (BUSY, QUIET);
        let both = to_quiet + to_busy;
        let rate = (busy * to_busy + quiet * to_quiet) / both;
        let spread = 2.0 * (busy - quiet).powi(2) * to_quiet * to_busy / (both.powi(3) * rate);
        (rate, 1.0 + spread * (1.0 - (1.0 - (-both * window_s).exp()) / (both * window_s)))
    }

    /// How far the numbers in windows lie from their known mean, squared, in units of that mean.
    fn dispersion(times: &[Nanos], window_ms: u64, mean: f64) -> f64 {
        let mut counts = vec![0.0; (BUSY_AND_QUIET_S * 1_000 / window_ms) as usize];
        times.iter().for_each(|at| counts[(at.0 / (window_ms * 1_000_000)) as usize] += 1.0);
        counts.iter().map(|count| (count - mean).powi(2)).sum::<f64>() / counts.len() as f64 / mean
    }

    #[test]
    fn each_recorded_second_has_its_requests_at_any_speed() {
        let mut at: Vec<Nanos> = bursty(20_000).into_iter().map(Nanos::from_millis).collect();
        // The first and the last moment of each second.
        let seconds = at.last().unwrap().0 / SECOND_NS;
        at.extend(
            (0..seconds).flat_map(|second| [0, SECOND_NS - 1].map(|ns| Nanos(second * SECOND_NS + ns))),
        );
        at.sort_unstable();
        for milli in [60_000, 2_000, 500, 7_300, 1_000_000] {
            let placed = placed(&read_at(&at, &[0]), factor(milli), Factor::ONE, Nanos::ZERO, 1).unwrap();
            let mut expected = BTreeMap::new();
            at.iter().for_each(|at| *expected.entry(at.0 / SECOND_NS).or_insert(0) += 1);
            for (second, count) in expected {
                let due = |second: u64| Nanos((second * SECOND_NS * 1_000).div_ceil(milli));
                let before = |end| placed.recorded.count_before(end);
                assert_eq!(before(due(second + 1)) - before(due(second)), count, "second {second}, {milli}");
            }
        }
    }

    #[test]
    fn each_copy_is_the_whole_trace_around_its_end() {
        let at = bursty(3_000);
        let read = read(&at, &[0]);
        let placed = placed(&read, Factor::ONE, factor(4_000), Nanos::ZERO, 9).unwrap();
        assert_eq!((placed.recorded.count(), placed.offsets.len()), (12_000, 4));
        assert!(times(&placed).is_sorted());
        let gap = placed.offsets.windows(2).map(|two| two[1] - two[0]).min().unwrap();
        assert!(gap.0 >= read.length.0 / 4 / 2, "{:?}", placed.offsets);
        let mut expected: Vec<u64> = placed
            .offsets
            .iter()
            .flat_map(|offset| at.iter().map(move |ms| (ms * 1_000_000 + offset.0) % read.length.0))
            .collect();
        expected.sort_unstable();
        assert!(times(&placed).iter().map(|at| at.0).eq(expected));
    }

    /// Copies that don't depend on each other add up: as many times the variance, and as many times the mean. What bounds the difference
    /// from the law is the scatter of 16 records of 300 s, in which the numbers in windows of 100 ms, 1 s and 10 s are counted.
    #[test]
    fn copies_keep_the_index_of_dispersion() {
        const RECORDS: u64 = 16;
        let records: Vec<Vec<Nanos>> = (0..RECORDS).map(busy_and_quiet).collect();
        for copies in [1, 2, 4] {
            let all: Vec<Vec<Nanos>> = (0..)
                .zip(&records)
                .map(|(seed, at)| {
                    let read = Read { length: Nanos::from_secs(BUSY_AND_QUIET_S), ..read_at(at, &[0]) };
                    let placed =
                        placed(&read, Factor::ONE, factor(1_000 * copies), Nanos::ZERO, seed).unwrap();
                    times(&placed)
                })
                .collect();
            for window_ms in [100, 1_000, 10_000] {
                let (rate, index) = law(window_ms as f64 / 1e3);
                let mean = (rate * window_ms as f64 / 1e3) * copies as f64;
                let found: Vec<f64> = all.iter().map(|times| dispersion(times, window_ms, mean)).collect();
                let average = found.iter().sum::<f64>() / RECORDS as f64;
                let squares = found.iter().map(|one| (one - average).powi(2)).sum::<f64>();
                let error = (squares / (RECORDS * (RECORDS - 1)) as f64).sqrt();
                let what = format!(
                    "{copies} copies, {window_ms} ms: {average:.2} and not {index:.2}, by {error:.2}"
                );
                assert!((average - index).abs() < 3.5 * error, "{what}");
                // The same users twice at once would have twice the index.
                assert!((average - 2.0 * index).abs() > 3.5 * error, "{what}");
            }
        }
    }

    #[test]
    fn a_smaller_part_of_the_users_is_within_a_larger_one() {
        let parts = [0, 250_000, 500_000, 999_999];
        let of = |milli| {
            let placed =
                placed(&read(&bursty(400), &parts), Factor::ONE, factor(milli), Nanos::ZERO, 5).unwrap();
            placed.recorded.count()
        };
        assert_eq!([1_000, 999, 501, 500, 251, 1].map(of), [400, 300, 300, 200, 200, 100]);
        assert_eq!([1_250, 2_501].map(of), [500, 1_100]);
    }

    /// What a search measures is the part from its start on, with what comes before it as a lead.
    #[test]
    fn a_lead_is_the_end_of_the_part() {
        let at = bursty(3_000);
        let read = read(&at, &[0]);
        let (length, lead) = (read.length, Nanos::from_secs(5));
        for scale in [1_000, 3_000] {
            let of = |lead| times(&placed(&read, Factor::ONE, factor(scale), lead, 9).unwrap());
            let (plain, led) = (of(Nanos::ZERO), of(lead));
            let mut expected: Vec<u64> = plain.iter().map(|at| (at.0 + lead.0) % length.0).collect();
            expected.sort_unstable();
            assert!(led.iter().map(|at| at.0).eq(expected));
        }
    }
}
