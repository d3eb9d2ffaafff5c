//! A 95 % interval for the difference of two sets of runs, by a bootstrap in two stages: runs are drawn first, then
//! blocks of time within each.
//!
//! Drawn naïvely, the second stage counts what varies within runs twice, since it is in the spread of the runs
//! already, and the first one is too narrow by (n − 1)/n. So the runs' deviations are scaled such that both stages
//! together vary as much as runs do, or as their own time says they must, whichever is more (A. C. Davison,
//! D. V. Hinkley, "Bootstrap Methods and their Application", 1997, section 3.8), and where runs say more than time
//! the interval is stretched from the normal distribution's to Student's (T. Hesterberg, "What Teachers Should Know about the Bootstrap", 2015).

use super::within::Deviations;
use crate::interval::exact::{ONE_LOOK, student};
use unblink_core::sim::Random;

const REPLICATES: usize = 2_000;
/// Of a two-sided interval of 95 %.
const SIDE: f64 = 0.025;
const SEED: u64 = 2;

/// A figure of one run.
#[derive(Clone, Debug)]
pub(super) struct Sample {
    pub(super) value: f64,
    pub(super) within: Deviations,
}

/// Where mean(candidate) − mean(baseline) lies with 95 %. One run each: only what varies within them is known.
/// `None` where too little is known.
pub(super) fn interval(baseline: &[Sample], candidate: &[Sample]) -> Option<(f64, f64)> {
    let (n, m) = (baseline.len(), candidate.len());
    let one_each = n == 1 && m == 1;
    if !one_each && n.min(m) < 2 || one_each && baseline.iter().chain(candidate).any(|s| s.within.is_empty())
    {
        return None;
    }
    let spread = Spread::of(baseline, candidate);
    let (baseline, candidate) = (Side::new(baseline, &spread), Side::new(candidate, &spread));
    let mut random = Random::new(SEED, 0);
    let mut replicates: Vec<f64> =
        (0..REPLICATES).map(|_| candidate.draw(&mut random) - baseline.draw(&mut random)).collect();
    replicates.sort_unstable_by(f64::total_cmp);
    let place = (REPLICATES as f64 * SIDE) as usize;
    let middle = candidate.mean - baseline.mean;
    Some((
        middle + spread.stretch * replicates[place],
        middle + spread.stretch * replicates[REPLICATES - 1 - place],
    ))
}

/// How much of what runs differ by is more than their own time explains.
struct Spread {
    /// Share of the variance between runs, 0 to 1.
    between: f64,
    /// The interval is stretched by this: the variance is known from few runs only, where these say more than time.
    stretch: f64,
}

impl Spread {
    fn of(baseline: &[Sample], candidate: &[Sample]) -> Spread {
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len().max(1) as f64;
        let squares = |side: &[Sample]| {
            let mean = mean(&side.iter().map(|sample| sample.value).collect::<Vec<f64>>());
            side.iter().map(|sample| (sample.value - mean).powi(2)).sum::<f64>()
        };
        let draws = baseline.iter().chain(candidate).map(|sample| &sample.within).filter(|w| !w.is_empty());
        let own = mean(
            &draws
                .map(|draws| mean(&draws.iter().map(|d| d * d).collect::<Vec<f64>>()))
                .collect::<Vec<f64>>(),
        );
        let freedom = (baseline.len() + candidate.len() - 2) as f64;
        let all = (squares(baseline) + squares(candidate)) / freedom.max(1.0);
        match all > own {
            true => Spread {
                between: 1.0 - own / all,
                stretch: student(freedom, ONE_LOOK.normal) / ONE_LOOK.normal,
            },
            false => Spread { between: 0.0, stretch: 1.0 },
        }
    }
}

/// One set of runs.
struct Side<'a> {
    mean: f64,
    /// Deviations of the runs from their mean, scaled.
    between: Vec<f64>,
    within: Vec<&'a [f64]>,
}

impl Side<'_> {
    fn new<'a>(samples: &'a [Sample], spread: &Spread) -> Side<'a> {
        let n = samples.len() as f64;
        let mean = samples.iter().map(|sample| sample.value).sum::<f64>() / n;
        // Of one run nothing is known between runs, and nothing is scaled.
        let scale = (spread.between * n / (n - 1.0).max(1.0)).sqrt();
        let between = samples.iter().map(|sample| (sample.value - mean) * scale).collect();
        let within = samples.iter().map(|sample| &sample.within[..]).filter(|w| !w.is_empty()).collect();
        Side { mean, between, within }
    }

    /// The deviation of one replicate's mean.
    fn draw(&self, random: &mut Random) -> f64 {
        let runs = self.between.len();
        let one = |random: &mut Random| {
            let between = self.between[random.below(runs as u64) as usize];
            let within = match self.within.len() as u64 {
                0 => 0.0,
                runs => {
                    let draws = self.within[random.below(runs) as usize];
                    draws[random.below(draws.len() as u64) as usize]
                }
            };
            between + within
        };
        (0..runs).map(|_| one(random)).sum::<f64>() / runs as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often the interval holds the true difference 0, for noise between runs and within them.
    fn held(between: f64, within: f64, runs: usize) -> f64 {
        const TRIALS: u64 = 400;
        let mut held = 0;
        for seed in 0..TRIALS {
            let mut random = Random::new(seed, 9);
            let mut side = || -> Vec<Sample> {
                let mut one = || {
                    let value = between * random.normal() + within * random.normal();
                    Sample { value, within: (0..100).map(|_| within * random.normal()).collect() }
                };
                (0..runs).map(|_| one()).collect()
            };
            let (low, high) = interval(&side(), &side()).expect("enough is known");
            held += u64::from(low <= 0.0 && 0.0 <= high);
        }
        held as f64 / TRIALS as f64
    }

    #[test]
    fn the_interval_holds_what_it_should_wherever_the_noise_is() {
        // 95 % of 400 trials, give or take three standard errors; where runs show all of the noise, and where time
        // within them does, the interval errs on the wide side.
        for (between, within) in [(1.0, 0.0), (1.0, 0.5), (0.5, 1.0), (0.0, 1.0)] {
            let held = held(between, within, 5);
            assert!((0.917..=0.995).contains(&held), "{between} {within}: {held}");
        }
    }

    #[test]
    fn one_run_each_knows_only_itself() {
        let one = |within: Deviations| vec![Sample { value: 1.0, within }];
        assert_eq!(interval(&one(vec![]), &one(vec![0.1, -0.1])), None);
        assert!(interval(&one(vec![0.1, -0.1]), &one(vec![0.1, -0.1])).is_some());
        let two = [one(vec![]), one(vec![])].concat();
        assert_eq!(interval(&two, &one(vec![])), None);
        assert_eq!(interval(&two, &two), Some((0.0, 0.0)));
    }
}
