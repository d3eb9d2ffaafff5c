//! Does a figure drift? The slope of P. K. Sen (1968) and H. Theil (1950), the median of the slopes between all pairs of
//! values, with Sen's interval: ranks of these slopes as far from the middle as Kendall's S may be by chance.
//!
//! Neighbouring values resemble each other, so that S varies by more than for independent ones. Its variance is taken
//! times the factor of K. H. Hamed and A. R. Rao (1998), from the autocorrelation of the ranks of what the slope leaves
//! over; all positive ones up to the first that is not, rather than the significant ones alone: too wide an interval is
//! the smaller harm.

/// Values at most; a longer series is averaged to this many.
pub const VALUES_MAX: usize = 60;
/// Fewer values show no trend.
pub const VALUES_MIN: usize = 20;
/// Normal quantile of the 99 % interval: several figures are looked at in one run.
const Z_INTERVAL: f64 = 2.576;
/// And of a power of 80 %.
const Z_POWER: f64 = 0.842;

/// How a figure changes from the start to the end of what was looked at.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Trend {
    /// The median of the values.
    pub level: f64,
    /// By how much it changes over the whole time.
    pub change: f64,
    /// Lower end of the 99 % interval of that.
    pub low: f64,
    /// Its upper end.
    pub high: f64,
    /// A change of this size, either way, is found in four of five cases; `None` where the figure hardly ever changed.
    pub findable: Option<f64>,
}

impl Trend {
    /// No change at all would be a surprise, and it is more than `least`.
    pub fn is_drift(&self, least: f64) -> bool {
        (self.low > 0.0 || self.high < 0.0) && self.change.abs() > least
    }
}

/// Of (time, value) in order of time; `None` of fewer than [`VALUES_MIN`].
pub fn trend(series: &[(f64, f64)]) -> Option<Trend> {
    let points = averaged(series);
    let (first, last) = (series.first()?.0, series.last()?.0);
    let length = last - first;
    if points.len() < VALUES_MIN || length <= 0.0 {
        return None;
    }
    let mut slopes = Vec::with_capacity(points.len() * (points.len() - 1) / 2);
    for (i, a) in points.iter().enumerate() {
        slopes.extend(points[i + 1..].iter().filter(|b| b.0 > a.0).map(|b| (b.1 - a.1) / (b.0 - a.0)));
    }
    slopes.sort_by(f64::total_cmp);
    let slope = median(&slopes);
    let values: Vec<f64> = points.iter().map(|p| p.1).collect();
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let rest: Vec<f64> = points.iter().map(|p| p.1 - slope * (p.0 - first)).collect();
    let deviation = (variance_of_s(&sorted) * dependence(&ranks(&rest))).sqrt();
    let at = |z: f64| {
        let place = (slopes.len() as f64 + z * deviation) / 2.0;
        slopes[(place.round().max(0.0) as usize).min(slopes.len() - 1)] * length
    };
    // Ranks beyond the last slope: the interval is as wide as the slopes are.
    let (low, high) = (at(-Z_INTERVAL), at(Z_INTERVAL));
    let half = (high - low) / 2.0;
    // Where most values are equal, the slopes say nothing of how much they vary.
    let findable = (half > 0.0).then_some(half * (Z_INTERVAL + Z_POWER) / Z_INTERVAL);
    Some(Trend { level: median(&sorted), change: slope * length, low, high, findable })
}

/// Neighbours averaged, so that [`VALUES_MAX`] are left.
fn averaged(series: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let n = series.len().min(VALUES_MAX);
    let part = |i: usize| &series[i * series.len() / n..(i + 1) * series.len() / n];
    let mean = |part: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        part.iter().map(of).sum::<f64>() / part.len() as f64
    };
    (0..n).map(|i| (mean(part(i), |p| p.0), mean(part(i), |p| p.1))).collect()
}

fn median(sorted: &[f64]) -> f64 {
    let n = sorted.len();
    (sorted[(n - 1) / 2] + sorted[n / 2]) / 2.0
}

/// Of Kendall's S for independent values, corrected for equal ones. `sorted` ascending.
fn variance_of_s(sorted: &[f64]) -> f64 {
    let of = |n: f64| n * (n - 1.0) * (2.0 * n + 5.0);
    let ties: f64 = sorted.chunk_by(|a, b| a == b).map(|equal| of(equal.len() as f64)).sum();
    (of(sorted.len() as f64) - ties) / 18.0
}

/// Ranks from 1; equal values share their mean rank.
fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut before = 0;
    for equal in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let rank = before as f64 + (equal.len() as f64 + 1.0) / 2.0;
        equal.iter().for_each(|&i| ranks[i] = rank);
        before += equal.len();
    }
    ranks
}

/// By how much the variance of S exceeds that of independent values.
fn dependence(ranks: &[f64]) -> f64 {
    let n = ranks.len() as f64;
    let mean = ranks.iter().sum::<f64>() / n;
    let squares: f64 = ranks.iter().map(|r| (r - mean).powi(2)).sum();
    if squares == 0.0 {
        return 1.0;
    }
    let correlation = |lag: usize| {
        let product: f64 = ranks.iter().zip(&ranks[lag..]).map(|(a, b)| (a - mean) * (b - mean)).sum();
        // A series from which its own slope was taken looks less dependent than it is.
        product / squares + 1.0 / n
    };
    let weight = |lag: f64| (n - lag) * (n - lag - 1.0) * (n - lag - 2.0);
    let lags = (1..ranks.len() / 2).map(|lag| (lag, correlation(lag))).take_while(|(_, c)| *c > 0.0);
    let sum: f64 = lags.map(|(lag, c)| weight(lag as f64) * c).sum();
    1.0 + 2.0 / (n * (n - 1.0) * (n - 2.0)) * sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_as_it_is() {
        let series: Vec<(f64, f64)> = (0..40).map(|i| (f64::from(i), 5.0 + 0.5 * f64::from(i))).collect();
        let found = trend(&series).expect("a trend");
        assert!(
            (found.change - 19.5).abs() < 1e-9 && found.is_drift(1.0) && !found.is_drift(20.0),
            "{found:?}"
        );
    }

    #[test]
    fn what_never_changes_has_no_drift_and_too_little_no_trend() {
        let flat: Vec<(f64, f64)> = (0..40).map(|i| (f64::from(i), 7.0)).collect();
        let found = trend(&flat).expect("a trend");
        assert_eq!((found.change, found.low, found.high, found.findable), (0.0, 0.0, 0.0, None));
        assert!(!found.is_drift(0.0) && trend(&flat[..19]).is_none());
    }

    #[test]
    fn ranks_share_what_is_equal() {
        assert_eq!(ranks(&[3.0, 1.0, 3.0, 2.0]), [3.5, 1.0, 3.5, 2.0]);
        // Kendall (1975): n = 4 with one pair: (4·3·13 − 2·1·9)/18.
        assert!((variance_of_s(&[1.0, 2.0, 3.0, 3.0]) - (156.0 - 18.0) / 18.0).abs() < 1e-12);
    }
}
