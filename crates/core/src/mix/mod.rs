//! What the arrivals of a load ask for: which operations, in which shares, and in which order.
//!
//! The operation of an arrival is a function of its place in the load alone (and of the seed), so that any number of
//! shares ask for the same, and any arrival's operation is found without those before it.

mod among;
mod count;

pub use among::{Among, Counted};

use crate::journey::Journeys;
use crate::random::{below, mixed};
use crate::recorded::Recorded;
use crate::shuffle::Shuffle;
use std::sync::Arc;

/// Arrivals of a block at the most: with shares in percent with two decimals, no block is longer.
pub const BLOCK_MAX: u64 = 10_000;

/// Keeps these draws apart from those of the arrival times, which are seeded by the same number.
const DRAWS: u64 = 0x6f70_6572_6174_696f;

/// How the operations of a run follow each other, before it is checked.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Mix {
    /// The weight of each operation of the run that stands alone, and of each journey; all the same without.
    pub weights: Option<Vec<u32>>,
    /// Which comes when.
    pub order: Order,
    /// What of it are journeys: the last of the weights are theirs.
    pub journeys: Journeys,
}

/// Which operation comes when.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Order {
    /// One after the other, each as often as the others.
    #[default]
    Turn,
    /// In blocks of as few arrivals as the weights come out whole in, each in a random order of its own. Even arrivals
    /// are one sequence of blocks. Each stream of Poisson arrivals is another one, and so is each closed user.
    Shuffled {
        /// The same seed gives the same operations, for any number of shares.
        seed: u64,
    },
    /// Each arrival by itself. So each operation of a Poisson load has Poisson arrivals, too.
    Random {
        /// The same seed gives the same operations, for any number of shares.
        seed: u64,
    },
}

/// Why no load can ask in this way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MixError {
    /// Not one weight for each operation.
    #[error("there are {weights} weights for {operations} requests: each needs one")]
    OneWeightEach {
        /// Those that there are.
        weights: usize,
        /// Of the run.
        operations: usize,
    },
    /// An operation that never comes.
    #[error("a request with a weight of 0 is never sent: leave it out, or give it a weight above 0")]
    WeightZero,
    /// In turn, all come equally often.
    #[error("requests in turn have no shares: leave --order turn out, or the shares")]
    WeightsInTurn,
    /// The weights come out whole in no block that is short enough.
    #[error(
        "these weights come out whole only in blocks of {arrivals} requests, and --order shuffled takes at most \
         {BLOCK_MAX}: round the weights, or use --order random"
    )]
    BlockTooLong {
        /// In the shortest block.
        arrivals: u64,
    },
}

/// Where an arrival stands in its load: at an ordinal of one of the sequences that the load consists of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Place {
    /// The number of the sequence: a Poisson stream, or a closed user; even arrivals have a single one.
    pub sequence: u64,
    /// How many sequences there are.
    pub sequences: u64,
    /// How many arrivals of the sequence come before.
    pub ordinal: u64,
}

/// The operations that a load asks for, all of the run or some, and how.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Asked {
    /// Those that are asked for.
    count: u64,
    /// Their numbers, where they are not all.
    only: Option<Arc<[u32]>>,
    pick: Pick,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Pick {
    Turn,
    Shuffled { key: u64, shuffle: Shuffle, shares: Shares },
    Random { key: u64, shares: Shares },
    Recorded(Recorded),
}

/// How many places of a block each operation has.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Shares {
    /// In a block.
    total: u64,
    /// For each operation, the place behind its last one. Without, each has one place.
    ends: Option<Arc<[u64]>>,
}

impl Asked {
    /// All operations of a run that has `all`, in turn.
    pub fn all(all: usize) -> Asked {
        Asked { count: all.max(1) as u64, only: None, pick: Pick::Turn }
    }

    /// What was recorded, of a run that has `all` operations. Those of the record must be among them.
    pub fn recorded(recorded: &Recorded, all: usize) -> Asked {
        Asked { count: all.max(1) as u64, only: None, pick: Pick::Recorded(recorded.clone()) }
    }

    /// Those with the numbers `only`, or all of a run that has `all`, as `mix` says. `load` is the number of the load in
    /// the run. The numbers must be known and not empty.
    pub fn new(mix: &Mix, all: usize, only: Option<&[u32]>, load: u32) -> Result<Asked, MixError> {
        let given = mix.weights.as_ref();
        if let Some(weights) = given.filter(|weights| weights.len() != all) {
            return Err(MixError::OneWeightEach { weights: weights.len(), operations: all });
        }
        if given.is_some_and(|weights| weights.contains(&0)) {
            return Err(MixError::WeightZero);
        }
        let count = only.map_or(all, <[u32]>::len).max(1);
        let weights = given.map(|all| match only {
            None => all.clone(),
            Some(numbers) => numbers.iter().map(|&number| all[number as usize]).collect(),
        });
        let shares = Shares::of(count as u64, weights.as_deref());
        let key = |seed: u64| mixed(mixed(seed ^ DRAWS) ^ u64::from(load));
        let pick = match mix.order {
            Order::Turn if given.is_some() => return Err(MixError::WeightsInTurn),
            Order::Turn => Pick::Turn,
            Order::Shuffled { .. } if shares.total > BLOCK_MAX => {
                return Err(MixError::BlockTooLong { arrivals: shares.total });
            }
            Order::Shuffled { seed } => {
                Pick::Shuffled { key: key(seed), shuffle: Shuffle::of(shares.total), shares }
            }
            Order::Random { seed } => Pick::Random { key: key(seed), shares },
        };
        Ok(Asked { count: count as u64, only: only.map(Arc::from), pick })
    }

    /// The operation that the arrival at `place` asks for.
    #[inline]
    pub fn at(&self, place: Place) -> u32 {
        // Most runs have one request, and need no division for it.
        if self.count == 1 && self.only.is_none() { 0 } else { self.of_several(place) }
    }

    fn of_several(&self, place: Place) -> u32 {
        if self.count == 1 {
            return self.number(0);
        }
        let Place { sequence, sequences, ordinal } = place;
        let one = match &self.pick {
            // Were all sequences to begin with the same operation, a long list would be walked in step.
            Pick::Turn => (sequence * self.count / sequences + ordinal) % self.count,
            Pick::Shuffled { key, shuffle, shares } => {
                let (block, rank) = (ordinal / shares.total, ordinal % shares.total);
                shares.at(shuffle.at(mixed(mixed(key ^ sequence) ^ block), rank))
            }
            Pick::Random { key, shares } => {
                shares.at(below(mixed(mixed(key ^ sequence) ^ ordinal), shares.total))
            }
            Pick::Recorded(recorded) => u64::from(recorded.operation(ordinal)),
        };
        self.number(one)
    }

    /// The number in the run of one of those that are asked for.
    #[inline]
    fn number(&self, one: u64) -> u32 {
        self.only.as_ref().map_or(one as u32, |only| only[one as usize])
    }
}

impl Shares {
    /// The smallest whole numbers with the proportions of the weights.
    fn of(count: u64, weights: Option<&[u32]>) -> Shares {
        let common = weights.unwrap_or_default().iter().fold(0, |common, &weight| gcd(common, weight));
        match weights.filter(|weights| weights.iter().any(|&weight| weight != common)) {
            None => Shares { total: count, ends: None },
            Some(weights) => {
                let ends: Arc<[u64]> = weights
                    .iter()
                    .scan(0, |end, &weight| {
                        *end += u64::from(weight / common);
                        Some(*end)
                    })
                    .collect();
                Shares { total: ends.last().copied().unwrap_or(1), ends: Some(ends) }
            }
        }
    }

    /// Whose place it is.
    #[inline]
    fn at(&self, place: u64) -> u64 {
        self.ends.as_ref().map_or(place, |ends| ends.partition_point(|&end| end <= place) as u64)
    }

    /// How many places it has.
    fn places_of(&self, one: usize) -> u64 {
        let Some(ends) = &self.ends else { return 1 };
        ends[one] - one.checked_sub(1).map_or(0, |before| ends[before])
    }
}

fn gcd(a: u32, b: u32) -> u32 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHUFFLED: Order = Order::Shuffled { seed: 7 };

    fn asked(weights: &[u32], order: Order) -> Result<Asked, MixError> {
        Asked::new(&Mix { weights: Some(weights.to_vec()), order, ..Mix::default() }, weights.len(), None, 0)
    }

    #[test]
    fn each_block_has_the_exact_shares() {
        for (weights, block) in
            [(&[8_000, 2_000][..], 5), (&[1, 1, 1], 3), (&[3_333, 3_333, 3_334], 10_000), (&[97, 3, 11], 111)]
        {
            let asked = asked(weights, SHUFFLED).unwrap();
            for sequence in [0, 3] {
                for number in 0..20 {
                    let mut counts = vec![0; weights.len()];
                    for ordinal in number * block..(number + 1) * block {
                        counts[asked.at(Place { sequence, sequences: 4, ordinal }) as usize] += 1;
                    }
                    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
                    let expected: Vec<u64> =
                        weights.iter().map(|&weight| u64::from(weight) * block / sum).collect();
                    assert_eq!(counts, expected, "block {number} of {weights:?}");
                }
            }
        }
    }

    #[test]
    fn blocks_sequences_loads_and_seeds_have_orders_of_their_own() {
        let mix =
            |seed| Mix { weights: Some(vec![50, 30, 20]), order: Order::Shuffled { seed }, ..Mix::default() };
        let operations = |seed, load, sequence, from: u64| -> Vec<u32> {
            let asked = Asked::new(&mix(seed), 3, None, load).unwrap();
            (from..from + 100).map(|ordinal| asked.at(Place { sequence, sequences: 8, ordinal })).collect()
        };
        let one = operations(1, 0, 0, 0);
        assert_eq!(one, operations(1, 0, 0, 0));
        for other in
            [operations(2, 0, 0, 0), operations(1, 1, 0, 0), operations(1, 0, 1, 0), operations(1, 0, 0, 100)]
        {
            assert_ne!(one, other);
        }
        let block = |number: usize| one[number * 10..][..10].to_vec();
        assert!((1..10).any(|number| block(number) != block(0)));
    }

    /// χ² against the shares, over ten million draws in all; the limits are those of a false alarm in 10,000.
    #[test]
    fn random_operations_have_their_shares_and_do_not_follow_each_other() {
        let weights = [80, 15, 5];
        let sum: u32 = weights.iter().sum();
        let p = weights.map(|weight| f64::from(weight) / f64::from(sum));
        let asked = asked(&weights, Order::Random { seed: 3 }).unwrap();
        let (mut single, mut pairs) = ([0u64; 3], [[0u64; 3]; 3]);
        const EACH: u64 = 2_500_000;
        for sequence in 0..4 {
            let mut last = None;
            for ordinal in 0..EACH {
                let operation = asked.at(Place { sequence, sequences: 4, ordinal }) as usize;
                single[operation] += 1;
                // Pairs that don't overlap are independent.
                match last.take() {
                    Some(last) => pairs[last as usize][operation] += 1,
                    None => last = Some(operation as u32),
                }
            }
        }
        let n = (4 * EACH) as f64;
        let far = |count: u64, expected: f64| (count as f64 - expected).powi(2) / expected;
        let chi2: f64 = (0..3).map(|i| far(single[i], n * p[i])).sum();
        assert!(chi2 < 18.42, "2 degrees of freedom: {chi2}");
        let all = (0..9).map(|k| (k / 3, k % 3));
        let chi2: f64 = all.map(|(i, j)| far(pairs[i][j], n / 2.0 * p[i] * p[j])).sum();
        assert!(chi2 < 31.83, "8 degrees of freedom: {chi2}");
    }

    #[test]
    fn some_of_the_operations_keep_their_proportions() {
        let mix = Mix { weights: Some(vec![60, 30, 10]), order: SHUFFLED, ..Mix::default() };
        let asked = Asked::new(&mix, 3, Some(&[2, 1]), 0).unwrap();
        let mut counts = [0; 3];
        (0..400).for_each(|ordinal| {
            counts[asked.at(Place { sequence: 0, sequences: 1, ordinal }) as usize] += 1;
        });
        assert_eq!(counts, [0, 300, 100]);
    }

    #[test]
    fn what_can_not_be_asked_is_refused() {
        assert_eq!(asked(&[1, 0], SHUFFLED), Err(MixError::WeightZero));
        assert_eq!(asked(&[1, 2], Order::Turn), Err(MixError::WeightsInTurn));
        assert_eq!(asked(&[10_000, 1], SHUFFLED), Err(MixError::BlockTooLong { arrivals: 10_001 }));
        assert!(asked(&[u32::MAX, 1, u32::MAX], Order::Random { seed: 0 }).is_ok());
        let mix = Mix { weights: Some(vec![1]), order: SHUFFLED, ..Mix::default() };
        let error = MixError::OneWeightEach { weights: 1, operations: 2 };
        assert_eq!(Asked::new(&mix, 2, None, 0), Err(error));
        assert!(asked(&[50_000; 10_000], SHUFFLED).is_ok(), "a block may be as long as this");
    }
}
