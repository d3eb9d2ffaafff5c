//! HdrHistogram's percentile distribution as text (`.hgrm`), for its plotting tools.
//!
//! Columns are value in ms, share, number of samples up to it and 1/(1 − share), as
//! `Histogram.outputPercentileDistribution` of the Java library prints them with five ticks for each
//! halving of the distance to 100 %. What was censored counts as longer than everything known, so that
//! the shares are those of all arrivals: the curve ends where the known data end, instead of reaching
//! 100 % with the survivors. Notes stand at the end, among the `#` lines that every reader passes over.

use std::fmt::Write as _;
use unblink_analysis::quantile::Survival;
use unblink_core::record::Track;

const MS: f64 = 1e6;
/// A share is a quotient, and so is a level: what is this close is the same.
const ROUNDING: f64 = 1e-12;
const TICKS_PER_HALVING: u32 = 5;

/// The percentile distribution of what was completed and what is only known to take longer: the censored, and
/// `open` more of which not even an age is known, as in a run that was killed.
pub fn percentile_distribution(completed: &Track<u64>, censored: &Track<u64>, open: u64) -> String {
    distribution_of("Response time from the intended start", (completed, censored), open)
}

/// The same of what is called so.
pub fn distribution_of(what: &str, (completed, censored): (&Track<u64>, &Track<u64>), open: u64) -> String {
    let survival = Survival::with_open(completed, censored, open);
    let steps: Vec<(u64, f64)> = survival.steps().collect();
    let mut out = String::from("       Value     Percentile TotalCount 1/(1-Percentile)\n\n");
    let (mut place, mut level) = (0, 0.0);
    while let Some(&(value_ns, share)) = steps.get(place) {
        let is_last = place + 1 == steps.len();
        line(&mut out, value_ns, if is_last { share } else { level }, share * survival.count() as f64);
        if is_last {
            break;
        }
        level = next_level(level);
        place = steps.partition_point(|(_, share)| *share < level - ROUNDING).min(steps.len() - 1);
    }
    out.push_str(&footer(what, completed, &survival));
    out
}

fn line(out: &mut String, value_ns: u64, level: f64, count: f64) {
    let value = value_ns as f64 / MS;
    // Writing to a string can't fail. As in Java, the last line of a whole distribution has no inverse.
    let _ = write!(out, "{value:12.3} {level:2.12} {count:10.0}");
    let _ = match level < 1.0 {
        true => writeln!(out, " {:14.2}", 1.0 / (1.0 - level)),
        false => writeln!(out),
    };
}

/// HdrHistogram's ticks: each halving of the distance to 100 % has the same number of them.
fn next_level(level: f64) -> f64 {
    let halvings = (1.0 / (1.0 - level)).log2().floor() + 1.0;
    level + 1.0 / (f64::from(TICKS_PER_HALVING) * halvings.exp2())
}

fn footer(what: &str, completed: &Track<u64>, survival: &Survival) -> String {
    let mean = completed.mean_ns().unwrap_or(0.0) / MS;
    let deviation = completed.histogram.stdev() / MS;
    let max = completed.max_ns as f64 / MS;
    let buckets = completed.histogram.buckets();
    // 3 digits: 2,048 sub-buckets.
    let mut footer = format!(
        "#[Mean    = {mean:12.3}, StdDeviation   = {deviation:12.3}]\n\
         #[Max     = {max:12.3}, Total count    = {:12}]\n\
         #[Buckets = {buckets:12}, SubBuckets     = {:12}]\n\
         # {what}, in ms.\n",
        survival.count(),
        2048,
    );
    if survival.censored() > 0 {
        let _ = writeln!(
            footer,
            "# {} of {} arrivals timed out or were cut off: they count as longer than all above; mean, deviation and maximum are of the others.",
            survival.censored(),
            survival.count()
        );
    }
    footer
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_core::time::Nanos;

    fn track(ms: impl IntoIterator<Item = u64>) -> Track<u64> {
        let mut track = Track::default();
        ms.into_iter().for_each(|ms| track.record(Nanos::from_millis(ms)));
        track
    }

    /// (value in ms, share, count) of every line that a plotting tool reads.
    fn read(text: &str) -> Vec<(f64, f64, u64)> {
        let lines = text.lines().skip(2).filter(|line| !line.starts_with('#'));
        let fields = lines.map(|line| line.split_whitespace().collect::<Vec<_>>());
        let number = |text: &str| text.parse::<f64>().expect("a number");
        fields.map(|f| (number(f[0]), number(f[1]), number(f[2]) as u64)).collect()
    }

    #[test]
    fn ticks_are_those_of_the_java_library() {
        // HistogramIterators' doc: five ticks for each halving.
        let mut levels = vec![0.0];
        (0..12).for_each(|_| levels.push(next_level(levels[levels.len() - 1])));
        let expected = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.775, 0.8];
        assert!(levels.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-9), "{levels:?}");
    }

    #[test]
    fn whole_distribution() {
        let text = percentile_distribution(&track(1..=1_000), &track([]), 0);
        assert!(text.starts_with("       Value     Percentile TotalCount 1/(1-Percentile)\n\n"));
        let lines = read(&text);
        assert_eq!(lines.first().map(|l| (l.1, l.2)), Some((0.0, 1)));
        assert_eq!(lines.last(), Some(&(1000.0, 1.0, 1000)));
        assert!(lines.iter().any(|l| (l.0 - 500.0).abs() < 0.5 && l.1 == 0.5 && l.2 == 500));
        assert!(text.contains("#[Max     =     1000.000, Total count    =         1000]"));
        assert!(!text.contains("cut off"));
    }

    #[test]
    fn ends_where_the_known_data_end() {
        let text = percentile_distribution(&track(1..=60), &track((0..40).map(|_| 5_000)), 0);
        assert_eq!(read(&text).last(), Some(&(60.0, 0.6, 60)));
        assert!(text.contains("# 40 of 100 arrivals timed out or were cut off"));
        assert!(read(&percentile_distribution(&track([]), &track([5_000]), 0)).is_empty());
        // A killed run: of 40 not even an age is known.
        let killed = percentile_distribution(&track(1..=60), &track([]), 40);
        assert_eq!(read(&killed).last(), Some(&(60.0, 0.6, 60)));
        assert!(killed.contains("# 40 of 100 arrivals timed out or were cut off"));
    }
}
