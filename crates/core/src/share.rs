//! Which arrivals of a load are whose, when several workers offer it together.

use crate::random::{below, mixed};

/// A worker's share of a load: of Poisson arrivals whole streams, of even ones one in each group of `of` consecutive ones.
///
/// Which one is drawn anew for each group. Were it always the same, whatever repeats itself in the load (the requests of
/// a run are sent in turn) could fall in step with the workers: with two of each, every worker would send one request only.
/// The draw turns the workers' order by a number that depends on the group alone, so that all shares together are the whole
/// load without knowing of each other, and any place in a share is found without those before it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Share {
    /// The worker's number, from 0.
    pub first: u32,
    /// How many workers there are.
    pub of: u32,
}

impl Share {
    /// All of it.
    pub const WHOLE: Share = Share { first: 0, of: 1 };

    /// Of even arrivals, the number in the load of this share's arrival in group `group`.
    pub fn in_group(self, group: u64) -> u64 {
        let of = u64::from(self.of);
        if of == 1 {
            return group;
        }
        group * of + (u64::from(self.first) + turn(group, of)) % of
    }

    /// How many even arrivals of this share have a number below `end`.
    pub(crate) fn count_before(self, end: u64) -> u64 {
        let group = end / u64::from(self.of);
        group + u64::from(self.in_group(group) < end)
    }
}

/// By how much the order of the workers is turned in a group.
fn turn(group: u64, of: u64) -> u64 {
    below(mixed(group), of)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_shares_are_the_whole() {
        for of in [1u32, 2, 3, 7, 64] {
            let mut all: Vec<u64> = (0..of)
                .flat_map(|first| (0..1_000).map(move |group| Share { first, of }.in_group(group)))
                .collect();
            all.sort_unstable();
            assert!(all.iter().enumerate().all(|(k, &index)| k as u64 == index), "of {of}");
        }
    }

    /// Requests in turn fall to each worker in their own shares: within 4σ, for every number of both.
    #[test]
    fn no_worker_sends_one_request_only() {
        const GROUPS: u64 = 20_000;
        for of in 2u32..=8 {
            for operations in 2u64..=8 {
                for first in 0..of {
                    let mut counts = vec![0u64; operations as usize];
                    for group in 0..GROUPS {
                        counts[(Share { first, of }.in_group(group) % operations) as usize] += 1;
                    }
                    let p = 1.0 / operations as f64;
                    let (mean, sd) = (GROUPS as f64 * p, (GROUPS as f64 * p * (1.0 - p)).sqrt());
                    let far = counts.iter().map(|&n| (n as f64 - mean).abs()).fold(0.0, f64::max);
                    assert!(far < 4.0 * sd, "worker {first} of {of}, {operations} requests: {counts:?}");
                }
            }
        }
    }
}
