//! Where a series of runs changes its level: E-divisive means.
//!
//! A series is cut where the energy distance between what lies before and after the cut is largest. Whether a cut
//! stands is decided by a permutation test: if nothing had changed between the cuts that are known, the values between
//! them could have come in any order (D. S. Matteson, N. A. James, "A Nonparametric Approach for Multiple Change Point
//! Analysis of Multivariate Data", 2014). Used on series of performance figures by D. Daly and others, "The Use of
//! Change Point Detection to Identify Software Performance Regressions in a Continuous Integration System" (2020), and
//! by M. Fleming and others, "Hunter: Using Change Point Detection to Hunt for Performance Regressions" (2023), which
//! tests by Student's t instead, for speed; for series as short as these the exact level is worth more.
//!
//! Values are given on the scale on which a change is a shift: the logarithm, for response times.

use unblink_core::sim::Random;

/// How often a series without a change is said to have one. The test looks at all cuts at once, so this holds for the
/// whole series, however long; it holds for the next change beside those that were found, too.
pub const ALARM_LEVEL: f64 = 0.01;
/// Values on either side of a cut at least: fewer tell no level.
pub const SIDE_MIN: usize = 3;
/// Fewer show no change that lasts, however clear: of a + b values in any order, 2 in (a + b)!/(a!·b!) show the two levels as
/// clearly, and only from 5 + 5 on is that rare enough (1 in 126).
pub const RUNS_MIN: usize = 10;
/// Orders that are drawn for each test.
const ORDERS: u32 = 999;
/// The same answer for the same series.
const SEED: u64 = 1;

/// The level changes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ChangePoint {
    /// Number of the first value at the new level, from 0.
    pub at: usize,
    /// Share of orders that would show a change as clear as this.
    pub p_value: f64,
}

/// Change points of `values`, in their order.
pub fn change_points(values: &[f64]) -> Vec<ChangePoint> {
    let mut random = Random::new(SEED, 0);
    let mut found: Vec<ChangePoint> = Vec::new();
    loop {
        let cuts: Vec<usize> = found.iter().map(|point| point.at).collect();
        let Some((at, clearness)) = clearest(values, &cuts) else { break };
        let Some(p_value) = tested(values, &cuts, clearness, &mut random) else { break };
        let place = found.partition_point(|point| point.at < at);
        found.insert(place, ChangePoint { at, p_value });
    }
    found
}

/// The p-value of a cut of this clearness, or `None` as soon as it can't reach the level any more.
fn tested(values: &[f64], cuts: &[usize], clearness: f64, random: &mut Random) -> Option<f64> {
    let most = (ALARM_LEVEL * f64::from(ORDERS + 1)) as u32 - 1;
    let mut values = values.to_vec();
    let mut as_clear = 0;
    for _ in 0..ORDERS {
        for (from, to) in stretches(values.len(), cuts) {
            shuffle(&mut values[from..to], random);
        }
        // Sums are added up in another order: what is equal may differ in its last digits.
        let other = clearest(&values, cuts).map_or(0.0, |(_, clearness)| clearness);
        as_clear += u32::from(other >= clearness * (1.0 - 1e-9));
        if as_clear > most {
            return None;
        }
    }
    Some(f64::from(as_clear + 1) / f64::from(ORDERS + 1))
}

/// Fisher and Yates.
fn shuffle(values: &mut [f64], random: &mut Random) {
    for last in (1..values.len()).rev() {
        values.swap(last, random.below(last as u64 + 1) as usize);
    }
}

/// From cut to cut.
fn stretches(count: usize, cuts: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    let ends = cuts.iter().copied().chain([count]);
    [0].into_iter().chain(cuts.iter().copied()).zip(ends)
}

/// Where the clearest cut of any stretch lies, and how clear it is.
fn clearest(values: &[f64], cuts: &[usize]) -> Option<(usize, f64)> {
    let best = |(from, to)| {
        let (at, clearness) = clearest_of(&values[from..to])?;
        Some((from + at, clearness))
    };
    stretches(values.len(), cuts).filter_map(best).max_by(|(_, a), (_, b)| a.total_cmp(b))
}

/// The cut of one stretch: before it lies all that comes before, after it a part or all of what comes after, so that a
/// change that is taken back soon is seen as clearly as one that lasts.
fn clearest_of(values: &[f64]) -> Option<(usize, f64)> {
    let sums = Sums::new(values);
    let mut best: Option<(usize, f64)> = None;
    for at in SIDE_MIN..=values.len().saturating_sub(SIDE_MIN) {
        for end in at + SIDE_MIN..=values.len() {
            let clearness = sums.clearness(at, end);
            if best.is_none_or(|(_, most)| clearness > most) {
                best = Some((at, clearness));
            }
        }
    }
    best
}

/// Sums of the distances between all pairs of a stretch.
struct Sums {
    /// `below[i * width + j]`: over the first i values against the first j.
    below: Vec<f64>,
    width: usize,
}

impl Sums {
    fn new(values: &[f64]) -> Sums {
        let width = values.len() + 1;
        let mut below = vec![0.0; width * width];
        for (i, x) in values.iter().enumerate() {
            let mut row = 0.0;
            for (j, y) in values.iter().enumerate() {
                row += (x - y).abs();
                below[(i + 1) * width + j + 1] = below[i * width + j + 1] + row;
            }
        }
        Sums { below, width }
    }

    /// mn/(m + n) times the energy distance between the values before `at` and those from there to `end` (Matteson and
    /// James, equations 5 and 6, for an exponent of 1).
    fn clearness(&self, at: usize, end: usize) -> f64 {
        let below = |i: usize, j: usize| self.below[i * self.width + j];
        let (m, n) = (at as f64, (end - at) as f64);
        let between = below(at, end) - below(at, at);
        // Each pair is in the square twice.
        let before = below(at, at);
        let after = below(end, end) - below(at, end) - below(end, at) + below(at, at);
        let distance = 2.0 * between / (m * n) - before / (m * (m - 1.0)) - after / (n * (n - 1.0));
        m * n / (m + n) * distance
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Levels of this many values each, in standard deviations of the noise.
    fn series(levels: &[(usize, f64)], seed: u64) -> Vec<f64> {
        let mut random = Random::new(seed, 7);
        let lengths = levels.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count));
        lengths.map(|level| level + random.normal()).collect()
    }

    fn places(levels: &[(usize, f64)], seed: u64) -> Vec<usize> {
        change_points(&series(levels, seed)).iter().map(|point| point.at).collect()
    }

    /// The energy distance by its definition.
    #[test]
    fn sums_give_the_energy_distance() {
        let values = series(&[(5, 0.0), (4, 2.0)], 1);
        let mean = |a: &[f64], b: &[f64], pairs: f64| {
            a.iter().flat_map(|x| b.iter().map(move |y| (x - y).abs())).sum::<f64>() / pairs
        };
        let (a, b) = (&values[..5], &values[5..8]);
        let exact = 15.0 / 8.0 * (2.0 * mean(a, b, 15.0) - mean(a, a, 20.0) - mean(b, b, 6.0));
        assert!((Sums::new(&values).clearness(5, 8) - exact).abs() < 1e-12);
    }

    /// At 1 %, more than 9 alarms in 300 series come up once in a thousand.
    #[test]
    fn noise_raises_no_more_alarms_than_stated() {
        for (count, heavy) in [(12, false), (30, false), (30, true)] {
            let alarms = (0..300).filter(|&seed| {
                let normal = series(&[(count, 0.0)], seed);
                // A run in a few that is far off, as on a shared machine.
                let values: Vec<f64> = normal.iter().map(|x| if heavy { x.powi(3) } else { *x }).collect();
                !change_points(&values).is_empty()
            });
            let alarms = alarms.count();
            assert!(alarms <= 9, "{alarms} of 300 for {count} values, heavy: {heavy}");
        }
    }

    #[test]
    fn a_shift_of_three_standard_deviations_is_found_where_it_is() {
        // With few runs on one side the level there is hardly known.
        for (levels, found_min, right_min) in [
            ([(15, 0.0), (15, 3.0)], 99, 90),
            ([(6, 3.0), (20, 0.0)], 88, 83),
            ([(20, 0.0), (5, 3.0)], 92, 87),
            ([(20, 0.0), (3, 6.0)], 98, 97),
        ] {
            let all: Vec<Vec<usize>> = (0..100).map(|seed| places(&levels, seed)).collect();
            let found = all.iter().filter(|places| !places.is_empty()).count();
            let is_right = |places: &&Vec<usize>| places.iter().any(|at| at.abs_diff(levels[0].0) <= 1);
            let right = all.iter().filter(is_right).count();
            assert!(found >= found_min && right >= right_min, "{found}, {right} of 100 for {levels:?}");
        }
    }

    #[test]
    fn several_changes_are_found_each() {
        let levels = [(12, 0.0), (10, 4.0), (12, 0.0), (12, -4.0)];
        let right = (0..20).filter(|&seed| {
            let found = places(&levels, seed);
            found.len() == 3 && found.iter().zip([12, 22, 34]).all(|(at, exact)| at.abs_diff(exact) <= 1)
        });
        assert!(right.count() >= 18);
    }

    #[test]
    fn what_is_short_or_constant_has_none() {
        for values in [&[][..], &[1.0], &[1.0, 9.0], &[0.0, 0.1, 0.0, 9.0, 9.1], &[5.0; 40]] {
            assert_eq!(change_points(values), []);
        }
    }

    /// Of levels as far apart as one likes.
    #[test]
    fn a_change_that_lasts_takes_ten_values() {
        let is_seen = |before: usize, after: usize| {
            let level = |i: usize| if i < before { 0.0 } else { 1e6 };
            let values: Vec<f64> = (0..before + after).map(|i| level(i) + 1e-3 * i as f64).collect();
            change_points(&values).iter().any(|point| point.at == before)
        };
        for count in 6..RUNS_MIN {
            assert!((3..=count - 3).all(|before| !is_seen(before, count - before)), "{count}");
        }
        assert!(is_seen(RUNS_MIN / 2, RUNS_MIN / 2));
        // With three on one side it takes thirteen.
        assert!(!is_seen(7, 3) && is_seen(10, 3) && is_seen(3, 10));
    }

    #[test]
    fn the_same_series_has_the_same_answer() {
        let values = series(&[(10, 0.0), (10, 5.0)], 3);
        let found = change_points(&values);
        assert_eq!(found, change_points(&values));
        assert!(found.len() == 1 && found[0].p_value <= ALARM_LEVEL, "{found:?}");
    }
}
