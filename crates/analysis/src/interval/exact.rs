//! Two-sided intervals by ranks alone, for independent samples, and the critical values that go with them.

/// How often an interval may miss.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Level {
    /// On each side, with this probability.
    pub(crate) side: f64,
    /// The normal distribution's point above which this probability lies.
    pub(crate) normal: f64,
}

/// Two-sided 95 %.
pub(crate) const ONE_LOOK: Level = Level { side: 0.025, normal: 1.959_963_984_540_054 };
/// Half of what [`ONE_LOOK`] may miss.
pub(crate) const EACH_OF_TWO_LOOKS: Level = Level { side: 0.012_5, normal: 2.241_402_727_604_947 };

impl Level {
    /// What misses `share` (above 0, at most 1) as often as [`ONE_LOOK`].
    pub(crate) fn of_share(share: f64) -> Level {
        let side = ONE_LOOK.side * share;
        Level { side, normal: normal(side) }
    }
}

/// The point above which a normal variable lies with probability `side`, from 1e-9 to 0.5, to three decimals (C. Hastings
/// 1955; M. Abramowitz, I. A. Stegun, 26.2.23).
fn normal(side: f64) -> f64 {
    let t = (-2.0 * side.ln()).sqrt();
    let above = 2.515_517 + t * (0.802_853 + t * 0.010_328);
    t - above / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)))
}

/// The ranks (from 1 to n) of the two order statistics between which the q-quantile of `n` independent samples
/// lies as often as `level` says at least; `None` for a side on which no sample is far enough out. For p99 and 95 % the
/// upper one needs 368 samples, since 0.99^367 > 2.5 %. Exact: sums of binomial probabilities (H. A. David,
/// H. N. Nagaraja, "Order Statistics", 2003, section 7.1).
pub(crate) fn ranks(n: u64, q: f64, level: Level) -> (Option<u64>, Option<u64>) {
    // Probabilities relative to that of the mode, as far out as they count.
    let mode = ((n as f64 + 1.0) * q).floor().min(n as f64) as u64;
    let odds = q / (1.0 - q);
    let mut below = Vec::new();
    let (mut k, mut p) = (mode, 1.0);
    while k > 0 && p > 1e-18 {
        p *= k as f64 / ((n - k + 1) as f64 * odds);
        k -= 1;
        below.push((k, p));
    }
    let mut above = Vec::new();
    (k, p) = (mode, 1.0);
    while k < n && p > 1e-18 {
        p *= (n - k) as f64 * odds / (k + 1) as f64;
        k += 1;
        above.push((k, p));
    }
    let total = 1.0 + below.iter().chain(&above).map(|(_, p)| p).sum::<f64>();
    // P(at most k) ≤ the side's probability for the largest such k: the rank is k + 1.
    let mut tail = 0.0;
    let mut low = None;
    for &(k, p) in below.iter().rev() {
        tail += p / total;
        if tail > level.side {
            break;
        }
        low = Some(k + 1);
    }
    tail = 0.0;
    let mut high = None;
    for &(k, p) in above.iter().rev() {
        tail += p / total;
        if tail > level.side {
            break;
        }
        high = Some(k);
    }
    (low, high)
}

/// The point of Student's distribution with `freedom` degrees of freedom, at least 10, that belongs to the normal
/// distribution's `normal`, to four digits (the expansion of Cornish and Fisher; M. Abramowitz, I. A. Stegun, 26.7.5).
pub(crate) fn student(freedom: f64, normal: f64) -> f64 {
    let z = normal;
    let terms = [
        (z.powi(3) + z) / 4.0,
        (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0,
        (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0,
    ];
    z + terms[0] / freedom + terms[1] / freedom.powi(2) + terms[2] / freedom.powi(3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_upper_bound_of_p99_needs_368_samples() {
        for (q, needed) in [(0.5, 6), (0.9, 36), (0.99, 368), (0.999, 3_688), (0.9999, 36_887)] {
            assert_eq!(ranks(needed - 1, q, ONE_LOOK).1, None, "{q}");
            assert_eq!(ranks(needed, q, ONE_LOOK).1, Some(needed), "{q}");
        }
    }

    #[test]
    fn ranks_are_those_of_the_tables() {
        // Binomial tables: n = 20, q = 0.5 gives the 6th and the 15th; n = 100 the 40th and the 61st.
        assert_eq!(ranks(20, 0.5, ONE_LOOK), (Some(6), Some(15)));
        assert_eq!(ranks(100, 0.5, ONE_LOOK), (Some(40), Some(61)));
        // Large n: the normal approximation is right within a rank or two.
        let (low, high) = ranks(10_000_000, 0.99, ONE_LOOK);
        let half = ONE_LOOK.normal * (10_000_000.0f64 * 0.99 * 0.01).sqrt();
        assert!((low.expect("low") as f64 - (9_900_000.0 - half)).abs() < 3.0);
        assert!((high.expect("high") as f64 - (9_900_000.0 + half)).abs() < 3.0);
        assert_eq!(ranks(0, 0.5, ONE_LOOK), (None, None));
        assert_eq!(ranks(1, 0.5, ONE_LOOK), (None, None));
    }

    #[test]
    fn a_share_of_the_level_is_that_of_the_tables() {
        for (share, point) in [(1.0, 1.960), (0.5, 2.241), (0.125, 2.734), (0.001, 4.056)] {
            assert!((Level::of_share(share).normal - point).abs() < 0.001, "{share}");
        }
    }

    #[test]
    fn student_is_that_of_the_tables() {
        for (freedom, value) in [(10.0, 2.228), (19.0, 2.093), (28.0, 2.048), (60.0, 2.000), (1e9, 1.960)] {
            assert!((student(freedom, ONE_LOOK.normal) - value).abs() < 0.001, "{freedom}");
        }
        // 98.75 %.
        for (freedom, value) in [(10.0, 2.634), (20.0, 2.423), (28.0, 2.369), (60.0, 2.299)] {
            assert!((student(freedom, EACH_OF_TWO_LOOKS.normal) - value).abs() < 0.002, "{freedom}");
        }
    }
}
