//! Did the highest rate change? Each side is one search or several.
//!
//! A search ends with a bracket that holds the border nearly always (`docs/knee.md`). Two brackets that don't meet are a
//! change: were both searches off by normal noise around one border, brackets of 95 % would lie apart, and in this order, in
//! 1 − Φ(1.96·2/√2) = 0.28 % of cases. Five searches of each side or more are compared by their answers like runs, with the exact
//! [`permutation`] test and Student's interval of the ratio: that knows how much searches differ, and finds less.

use super::permutation;
use super::{ALARM_LEVEL, RUNS_MIN, SPLITS_MAX};
use crate::interval::exact::{ONE_LOOK, student};

/// What one search found, in requests per second.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub struct Searched {
    /// The answer, if it has one.
    pub per_s: Option<f64>,
    /// Surely good.
    pub low_per_s: Option<f64>,
    /// Surely not.
    pub high_per_s: Option<f64>,
}

/// How the candidate's border lies to the baseline's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Moved {
    /// Surely lower, and by as much as counts.
    Lower,
    /// Surely higher, and by as much as counts.
    Higher,
    /// Surely not lower by as much as counts.
    Not,
    /// None of these.
    Unknown,
}

/// Two sides side by side.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Compared {
    /// Candidate over baseline, of the geometric means; nothing when a search has no answer.
    pub ratio: Option<f64>,
    /// Lower end of its interval.
    pub low: Option<f64>,
    /// Upper end of its interval.
    pub high: Option<f64>,
    /// Of the permutation test; nothing where brackets decide.
    pub p_value: Option<f64>,
    /// What follows.
    pub moved: Moved,
}

/// Compares the searches of both sides. A change by less than `effect_min`, a share of the baseline, does not count.
pub fn compare(baseline: &[Searched], candidate: &[Searched], effect_min: f64) -> Compared {
    let answers = |side: &[Searched]| -> Option<Vec<f64>> {
        side.iter().map(|searched| searched.per_s.map(f64::ln)).collect::<Option<Vec<f64>>>()
    };
    let both = answers(baseline).zip(answers(candidate));
    let ratio = both.as_ref().filter(|(b, c)| !b.is_empty() && !c.is_empty());
    let ratio = ratio.map(|(b, c)| (mean(c) - mean(b)).exp());
    let is_repeated = baseline.len().min(candidate.len()) >= RUNS_MIN
        && permutation::splits(baseline.len(), candidate.len()) <= SPLITS_MAX;
    let compared = match both.filter(|_| is_repeated) {
        Some((b, c)) => repeated(&b, &c),
        None => by_brackets(baseline, candidate, ratio),
    };
    Compared { moved: moved(&compared, effect_min), ..compared }
}

fn repeated(baseline: &[f64], candidate: &[f64]) -> Compared {
    let (difference, half) = (mean(candidate) - mean(baseline), half_width(baseline, candidate));
    Compared {
        ratio: Some(difference.exp()),
        low: Some((difference - half).exp()),
        high: Some((difference + half).exp()),
        p_value: Some(permutation::test(baseline, candidate).p_value()),
        moved: Moved::Unknown,
    }
}

/// Of the 95 % interval of the difference of two means with one variance (Student).
fn half_width(baseline: &[f64], candidate: &[f64]) -> f64 {
    let squares = |side: &[f64]| side.iter().map(|x| (x - mean(side)).powi(2)).sum::<f64>();
    let (n, m) = (baseline.len() as f64, candidate.len() as f64);
    let freedom = n + m - 2.0;
    let variance = (squares(baseline) + squares(candidate)) / freedom;
    student(freedom, ONE_LOOK.normal) * (variance * (1.0 / n + 1.0 / m)).sqrt()
}

/// Two brackets of one side count as one that holds both; of three or more the middle ends count, which one search that
/// was off, or whose time was up early, does not move.
fn by_brackets(baseline: &[Searched], candidate: &[Searched], ratio: Option<f64>) -> Compared {
    // An end that is not known is the farthest.
    let low = |side: &[Searched]| middle(side, |searched| searched.low_per_s.unwrap_or(0.0));
    let high = |side: &[Searched]| middle(side, |searched| -searched.high_per_s.unwrap_or(f64::INFINITY));
    let known = |per_s: f64| (per_s > 0.0 && per_s.is_finite()).then_some(per_s);
    let low = |side| low(side).and_then(known);
    let high = |side| high(side).and_then(|per_s| known(-per_s));
    let over = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a / b);
    Compared {
        ratio,
        low: over(low(candidate), high(baseline)),
        high: over(high(candidate), low(baseline)),
        p_value: None,
        moved: Moved::Unknown,
    }
}

/// The middle of what `end` gives, the lower of two.
fn middle(side: &[Searched], end: impl Fn(&Searched) -> f64) -> Option<f64> {
    let mut ends: Vec<f64> = side.iter().map(end).collect();
    ends.sort_by(f64::total_cmp);
    ends.get(ends.len().checked_sub(1)? / 2).copied()
}

fn moved(compared: &Compared, effect_min: f64) -> Moved {
    let is_unlikely = compared.p_value.is_none_or(|p| p <= ALARM_LEVEL);
    // Without an answer the nearest end must be as far away as counts.
    let lower_by = compared.ratio.or(compared.high).is_some_and(|ratio| ratio <= 1.0 - effect_min);
    let higher_by = compared.ratio.or(compared.low).is_some_and(|ratio| ratio >= 1.0 + effect_min);
    let is_lower = compared.high.is_some_and(|high| high < 1.0);
    let is_higher = compared.low.is_some_and(|low| low > 1.0);
    match () {
        () if is_unlikely && is_lower && lower_by => Moved::Lower,
        () if is_unlikely && is_higher && higher_by => Moved::Higher,
        () if compared.low.is_some_and(|low| low >= 1.0 - effect_min) => Moved::Not,
        () => Moved::Unknown,
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::sim::Random;

    fn bracket(low: f64, high: f64) -> Searched {
        Searched { per_s: Some((low * high).sqrt()), low_per_s: Some(low), high_per_s: Some(high) }
    }

    #[test]
    fn one_search_each_is_decided_by_its_bracket() {
        let moved = |b: Searched, c: Searched| compare(&[b], &[c], 0.05).moved;
        let before = bracket(7_900.0, 8_100.0);
        assert_eq!(moved(before, bracket(5_900.0, 6_100.0)), Moved::Lower);
        assert_eq!(moved(bracket(5_900.0, 6_100.0), before), Moved::Higher);
        assert_eq!(moved(before, bracket(7_950.0, 8_050.0)), Moved::Not);
        assert_eq!(moved(before, bracket(7_000.0, 8_000.0)), Moved::Unknown, "they meet");
        assert_eq!(moved(before, bracket(7_700.0, 7_890.0)), Moved::Not, "lower, but by less than counts");
        // A search whose time was up has no answer, and one of the ends may be missing.
        let rough = |low, high| Searched { per_s: None, low_per_s: low, high_per_s: high };
        assert_eq!(moved(before, rough(Some(4_000.0), Some(6_000.0))), Moved::Lower);
        assert_eq!(moved(before, rough(Some(7_000.0), Some(7_800.0))), Moved::Unknown, "perhaps by 1 %");
        assert_eq!(moved(before, rough(Some(9_000.0), None)), Moved::Higher);
        assert_eq!(moved(before, rough(None, None)), Moved::Unknown);
    }

    #[test]
    fn the_ratio_has_the_interval_of_both_brackets() {
        let compared = compare(&[bracket(8_000.0, 10_000.0)], &[bracket(4_000.0, 5_000.0)], 0.05);
        assert!((compared.ratio.unwrap() - 0.5).abs() < 1e-12);
        assert_eq!((compared.low, compared.high), (Some(0.4), Some(0.625)));
        // A few of one side count as one that holds them all.
        let several = [bracket(8_000.0, 9_000.0), bracket(9_000.0, 10_000.0)];
        let compared = compare(&several, &[bracket(4_000.0, 5_000.0)], 0.05);
        assert_eq!((compared.low, compared.high, compared.p_value), (Some(0.4), Some(0.625), None));
    }

    #[test]
    fn one_search_that_knows_little_takes_nothing_from_the_others() {
        let rough = Searched { per_s: None, low_per_s: Some(400.0), high_per_s: Some(1_200.0) };
        let open = Searched { per_s: None, low_per_s: Some(400.0), high_per_s: None };
        for odd in [rough, open] {
            let before = [
                bracket(850.0, 950.0),
                bracket(870.0, 930.0),
                odd,
                bracket(860.0, 960.0),
                bracket(850.0, 940.0),
            ];
            let after = [
                bracket(650.0, 720.0),
                odd,
                bracket(660.0, 710.0),
                bracket(640.0, 700.0),
                bracket(655.0, 715.0),
            ];
            let compared = compare(&before, &after, 0.05);
            assert_eq!(compared.moved, Moved::Lower, "{compared:?}");
            assert_eq!(compare(&before, &before, 0.05).moved, Moved::Unknown);
        }
    }

    /// Searches with a noise of 1 % and brackets of 95 % around one border, and around two.
    fn shares(searches: usize, shift_sd: f64) -> (f64, f64) {
        const TRIALS: u64 = 4_000;
        const SD: f64 = 0.01;
        let (mut lower, mut held) = (0, 0);
        for seed in 0..TRIALS {
            let mut random = Random::new(seed, 5);
            let mut side = |shift: f64| -> Vec<Searched> {
                let mut one = || {
                    let at = SD * (random.normal() - shift);
                    let end = |sign: f64| Some(1_000.0 * (at + sign * 1.96 * SD).exp());
                    Searched { per_s: Some(1_000.0 * at.exp()), low_per_s: end(-1.0), high_per_s: end(1.0) }
                };
                (0..searches).map(|_| one()).collect()
            };
            let (baseline, candidate) = (side(0.0), side(shift_sd));
            let compared = compare(&baseline, &candidate, 0.0);
            lower += u32::from(compared.moved == Moved::Lower);
            let exact = (-SD * shift_sd).exp();
            held += u32::from(compared.low.unwrap() <= exact && exact <= compared.high.unwrap());
        }
        (f64::from(lower) / TRIALS as f64, f64::from(held) / TRIALS as f64)
    }

    /// Φ((shift − 2·1.96)/√2) of one search each; 1 of 252 splits of five each.
    #[test]
    fn alarms_and_finds_are_as_often_as_they_should_be() {
        let (alarms, held) = shares(1, 0.0);
        assert!((alarms - 0.0028).abs() < 0.0025 && held > 0.99, "{alarms}, {held}");
        let (found, _) = shares(1, 6.0);
        assert!((found - 0.9292).abs() < 0.013, "{found}");
        let (alarms, held) = shares(5, 0.0);
        assert!((alarms - 1.0 / 252.0).abs() < 0.003 && (held - 0.95).abs() < 0.011, "{alarms}, {held}");
        // One search each finds it in 66 % of cases.
        let (found, _) = shares(5, 4.5);
        assert!(found > 0.97, "{found}");
    }
}
