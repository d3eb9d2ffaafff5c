//! What makes a rate a good one.
//!
//! Near capacity a queue remembers for about 1/(μ(1 − √ρ)²): a percentile from a window of a few such times is chance.
//! So a rate is good when the upper end of the percentile's 95 % interval lies below the limit, bad when the lower end
//! lies above it, and otherwise nothing is decided yet; the interval knows the memory (`docs/statistics.md`).

use crate::interval::exact::ONE_LOOK;
use unblink_core::record::Apart;
use unblink_core::time::Nanos;

/// Less than this share of what fell due, ended `ok` in the same time, is too little.
pub const DELIVERED_SHARE_MIN: f64 = 0.99;
/// Fewer arrivals than this may lack an answer because they are on their way; one that failed is not.
const MISSING_MIN: f64 = 10.0;
/// Each quarter of the window is looked at by itself.
const QUARTERS: usize = 4;
/// The error of a share is taken from this many parts of the window.
pub(super) const BATCHES: usize = 10;
/// Without an interval a rate is good when nothing at all took longer than this share of the limit.
const CLEAR_SHARE: f64 = 0.5;

/// What is asked of a rate.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Criterion {
    /// 0 to 1.
    pub quantile: f64,
    /// That the response time at this percentile must stay below.
    pub limit: Nanos,
    /// Of what is recorded apart in this place alone: one request, or one journey by its journey time; otherwise of all
    /// requests together.
    pub of: Option<(Apart, usize)>,
}

/// A percentile of response time, and where it lies with 95 %, all looks of the trial together.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Percentile {
    /// In ns; a lower bound when `censored`.
    pub value_ns: u64,
    /// It lies beyond what is known.
    pub censored: bool,
    /// Lower end of the 95 % interval, in ns, if there is one.
    pub low_ns: Option<u64>,
    /// Upper end of the 95 % interval, in ns, if there is one.
    pub high_ns: Option<u64>,
}

/// Is a rate good?
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RateVerdict {
    /// It meets everything.
    Met,
    /// It does not.
    Missed(Miss),
    /// The interval of the percentile holds the limit.
    Undecided,
    /// The generator, not the target, was the limit.
    Generator,
}

/// What a rate misses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Miss {
    /// Nothing was answered as expected.
    NoAnswers,
    /// What has no answer grows and grows.
    Growing,
    /// Less than 99 % of what fell due ended `ok`.
    Delivered,
    /// The percentile is above its limit.
    Percentile,
}

/// One recorded interval of the measured window.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
pub(super) struct Mark {
    /// Fell due.
    pub(super) due: u64,
    /// Ended `ok`.
    pub(super) ok: u64,
    /// Of measured arrivals, those that failed or timed out: no answer is on its way to them.
    pub(super) lost: u64,
    /// Known response times, the timed-out included.
    pub(super) known: u64,
    /// Those above the limit.
    pub(super) above: u64,
    /// Arrivals without an answer at its end.
    pub(super) level: u64,
}

/// What a verdict rests on.
pub(super) struct Grounds<'a> {
    pub(super) marks: &'a [Mark],
    /// Those whose times count: of journeys also what the drain brought.
    pub(super) times: &'a [Mark],
    /// Of the journeys that are judged, those that failed or timed out, and all that ended.
    pub(super) lost: Option<(u64, u64)>,
    pub(super) percentile: Option<Percentile>,
    /// The longest that is known of, in ns.
    pub(super) max_ns: u64,
    /// The checks of a run found that the target falls behind.
    pub(super) is_saturated: bool,
    /// The generator was the limit.
    pub(super) is_generator: bool,
}

impl Criterion {
    /// A generator that is late makes response times longer, never shorter: a rate that is good in spite of it is good.
    pub(super) fn judge(&self, grounds: &Grounds<'_>) -> RateVerdict {
        match self.by_figures(grounds) {
            RateVerdict::Met => RateVerdict::Met,
            _ if grounds.is_generator => RateVerdict::Generator,
            verdict => verdict,
        }
    }

    fn by_figures(&self, grounds: &Grounds<'_>) -> RateVerdict {
        let (due, ok) = sums(grounds.marks);
        let Some(percentile) = grounds.percentile.filter(|_| ok > 0.0) else {
            return RateVerdict::Missed(Miss::NoAnswers);
        };
        if grounds.is_saturated || is_growing(grounds.marks) {
            return RateVerdict::Missed(Miss::Growing);
        }
        let lost = grounds.marks.iter().map(|mark| mark.lost).sum::<u64>() as f64;
        let missing_max = due * (1.0 - DELIVERED_SHARE_MIN);
        if lost > missing_max || due - ok > missing_max.max(MISSING_MIN) {
            return RateVerdict::Missed(Miss::Delivered);
        }
        // A few failed requests are many failed journeys.
        let is_lost = |(lost, ended): (u64, u64)| lost as f64 > ended as f64 * (1.0 - DELIVERED_SHARE_MIN);
        if grounds.lost.is_some_and(is_lost) {
            return RateVerdict::Missed(Miss::Delivered);
        }
        self.by_percentile(grounds, percentile)
    }

    fn by_percentile(&self, grounds: &Grounds<'_>, percentile: Percentile) -> RateVerdict {
        let limit_ns = self.limit.0;
        let is_bounded = percentile.low_ns.is_some() || percentile.high_ns.is_some();
        if percentile.high_ns.is_some_and(|high_ns| high_ns < limit_ns) {
            return RateVerdict::Met;
        }
        if percentile.low_ns.is_some_and(|low_ns| low_ns > limit_ns) {
            return RateVerdict::Missed(Miss::Percentile);
        }
        // A short window near capacity, or one with an event, has no interval; but when each quarter says the same …
        if !is_bounded && percentile.value_ns > limit_ns && self.is_above_throughout(grounds.times) {
            return RateVerdict::Missed(Miss::Percentile);
        }
        // As many samples as an upper end by ranks would need, of which none is near the limit.
        let known = grounds.times.iter().map(|mark| mark.known).sum::<u64>() as f64;
        let is_enough = self.quantile.powf(known) <= ONE_LOOK.side;
        if !is_bounded
            && is_enough
            && !percentile.censored
            && (grounds.max_ns as f64) < CLEAR_SHARE * limit_ns as f64
        {
            return RateVerdict::Met;
        }
        RateVerdict::Undecided
    }

    /// In each quarter more took longer than the limit than the percentile allows.
    fn is_above_throughout(&self, marks: &[Mark]) -> bool {
        marks.len() >= QUARTERS
            && quarters(marks).all(|quarter| {
                let (known, above) = quarter.iter().fold((0, 0), |(k, a), m| (k + m.known, a + m.above));
                above as f64 > (1.0 - self.quantile) * known as f64
            })
    }
}

/// What has no answer grows from each quarter to the next, and by more than a good rate may leave undelivered.
pub(super) fn is_growing(marks: &[Mark]) -> bool {
    if marks.len() < QUARTERS {
        return false;
    }
    let mean = |quarter: &[Mark]| quarter.iter().map(|m| m.level as f64).sum::<f64>() / quarter.len() as f64;
    let levels: Vec<f64> = quarters(marks).map(mean).collect();
    let (due, _) = sums(marks);
    // From the middle of the first quarter to that of the last are three quarters of the window.
    let least = (due * (1.0 - DELIVERED_SHARE_MIN) * 0.75).max(MISSING_MIN);
    levels.windows(2).all(|pair| pair[1] > pair[0]) && levels[QUARTERS - 1] - levels[0] > least
}

/// The share of known response times above the limit, and its standard error by batches of the window, each longer than the
/// target's memory if the window is long enough for it (M. S. Meketon, B. Schmeiser 1984).
pub(super) fn above(marks: &[Mark]) -> Option<(f64, Option<f64>)> {
    let sum = |marks: &[Mark]| marks.iter().fold((0, 0), |(k, a), mark| (k + mark.known, a + mark.above));
    let (known, above) = sum(marks);
    let share = above as f64 / known as f64;
    let batch = |i: usize| &marks[i * marks.len() / BATCHES..(i + 1) * marks.len() / BATCHES];
    let off = |i: usize| {
        let (known, above) = sum(batch(i));
        above as f64 - share * known as f64
    };
    let squares: f64 = (0..BATCHES).map(|i| off(i).powi(2)).sum();
    let freedom = (BATCHES - 1) as f64 / BATCHES as f64;
    let error = (squares / freedom).sqrt() / known as f64;
    (known > 0).then_some((share, (marks.len() >= BATCHES).then_some(error)))
}

fn quarters(marks: &[Mark]) -> impl Iterator<Item = &[Mark]> {
    (0..QUARTERS).map(|i| &marks[i * marks.len() / QUARTERS..(i + 1) * marks.len() / QUARTERS])
}

/// (fell due, ended `ok`)
fn sums(marks: &[Mark]) -> (f64, f64) {
    let (due, ok) = marks.iter().fold((0, 0), |(due, ok), mark| (due + mark.due, ok + mark.ok));
    (due as f64, ok as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRITERION: Criterion = Criterion { quantile: 0.99, limit: Nanos::from_millis(50), of: None };

    fn marks(n: usize, mark: impl Fn(u64) -> Mark) -> Vec<Mark> {
        (0..n as u64).map(mark).collect()
    }

    fn steady(_: u64) -> Mark {
        Mark { due: 1_000, ok: 1_000, lost: 0, known: 1_000, above: 0, level: 10 }
    }

    fn percentile(value_ms: u64, interval_ms: Option<(u64, u64)>) -> Percentile {
        let ns = |ms: u64| ms * 1_000_000;
        Percentile {
            value_ns: ns(value_ms),
            censored: false,
            low_ns: interval_ms.map(|(low, _)| ns(low)),
            high_ns: interval_ms.map(|(_, high)| ns(high)),
        }
    }

    fn judge(marks: &[Mark], percentile: Option<Percentile>, max_ms: u64) -> RateVerdict {
        let max_ns = max_ms * 1_000_000;
        CRITERION.judge(&Grounds {
            marks,
            times: marks,
            lost: None,
            percentile,
            max_ns,
            is_saturated: false,
            is_generator: false,
        })
    }

    #[test]
    fn the_interval_decides() {
        let marks = marks(20, steady);
        assert_eq!(judge(&marks, Some(percentile(40, Some((35, 49)))), 90), RateVerdict::Met);
        assert_eq!(judge(&marks, Some(percentile(40, Some((35, 50)))), 90), RateVerdict::Undecided);
        assert_eq!(judge(&marks, Some(percentile(60, Some((49, 70)))), 90), RateVerdict::Undecided);
        let missed = RateVerdict::Missed(Miss::Percentile);
        assert_eq!(judge(&marks, Some(percentile(60, Some((51, 70)))), 90), missed);
        assert_eq!(judge(&marks, None, 90), RateVerdict::Missed(Miss::NoAnswers));
    }

    #[test]
    fn without_an_interval_only_what_is_clear_is_decided() {
        let above = |share: u64| move |i: u64| Mark { above: if i < 15 { share } else { 0 }, ..steady(i) };
        let missed = RateVerdict::Missed(Miss::Percentile);
        assert_eq!(judge(&marks(15, above(20)), Some(percentile(60, None)), 90), missed);
        // The last quarter is calm.
        assert_eq!(judge(&marks(20, above(20)), Some(percentile(60, None)), 90), RateVerdict::Undecided);
        assert_eq!(judge(&marks(20, steady), Some(percentile(10, None)), 24), RateVerdict::Met);
        assert_eq!(judge(&marks(20, steady), Some(percentile(10, None)), 26), RateVerdict::Undecided);
        // Of a p99 fewer than 368 say nothing.
        let few = |known: u64| move |i: u64| Mark { known, ..steady(i) };
        assert_eq!(judge(&marks(20, few(18)), Some(percentile(10, None)), 24), RateVerdict::Undecided);
        assert_eq!(judge(&marks(20, few(19)), Some(percentile(10, None)), 24), RateVerdict::Met);
    }

    #[test]
    fn what_is_not_delivered_counts() {
        let good = Some(percentile(10, Some((9, 11))));
        let short = |ok: u64| move |i: u64| Mark { ok, ..steady(i) };
        assert_eq!(judge(&marks(20, short(990)), good, 20), RateVerdict::Met);
        assert_eq!(judge(&marks(20, short(989)), good, 20), RateVerdict::Missed(Miss::Delivered));
        // Of few arrivals, ten may be on their way.
        let few = |i: u64| Mark { due: 10, ok: if i < 10 { 9 } else { 10 }, ..steady(i) };
        assert_eq!(judge(&marks(20, few), good, 20), RateVerdict::Met);
        // Of as few, three that failed are more than 1 %; two are not.
        let failed = |n: u64| {
            move |i: u64| Mark { due: 10, ok: 10 - u64::from(i < n), lost: u64::from(i < n), ..steady(i) }
        };
        assert_eq!(judge(&marks(20, failed(3)), good, 20), RateVerdict::Missed(Miss::Delivered));
        assert_eq!(judge(&marks(20, failed(2)), good, 20), RateVerdict::Met);
    }

    #[test]
    fn a_late_generator_spoils_only_what_is_not_good() {
        let judge = |percentile| {
            let marks = marks(20, steady);
            let is_generator = true;
            CRITERION.judge(&Grounds {
                marks: &marks,
                times: &marks,
                lost: None,
                percentile,
                max_ns: 0,
                is_saturated: false,
                is_generator,
            })
        };
        assert_eq!(judge(Some(percentile(40, Some((35, 49))))), RateVerdict::Met);
        assert_eq!(judge(Some(percentile(60, Some((51, 70))))), RateVerdict::Generator);
        assert_eq!(judge(Some(percentile(49, Some((45, 55))))), RateVerdict::Generator);
        assert_eq!(judge(None), RateVerdict::Generator);
    }

    #[test]
    fn a_share_has_the_error_of_its_batches() {
        // Every other interval has 20 of 1,000 above: a share of 1 %, with batches of one interval off by 10 each.
        let marks = marks(10, |i| Mark { above: 20 * (i % 2), ..steady(i) });
        let (share, error) = above(&marks).unwrap();
        let expected = (10.0 * 100.0 * 10.0 / 9.0f64).sqrt() / 10_000.0;
        assert!((share - 0.01).abs() < 1e-12 && (error.unwrap() - expected).abs() < 1e-12, "{error:?}");
        assert_eq!(above(&marks[..9]).unwrap().1, None);
        assert_eq!(above(&[]), None);
    }

    #[test]
    fn growth_is_told_from_noise() {
        let good = Some(percentile(10, Some((9, 11))));
        let growing = |i: u64| Mark { level: 10 + 11 * i, ok: 1_000, ..steady(i) };
        assert_eq!(judge(&marks(20, growing), good, 20), RateVerdict::Missed(Miss::Growing));
        let slowly = |i: u64| Mark { level: 10 + 9 * i, ..steady(i) };
        assert_eq!(judge(&marks(20, slowly), good, 20), RateVerdict::Met);
        let noisy = |i: u64| Mark { level: 10 + 400 * (i % 7), ..steady(i) };
        assert_eq!(judge(&marks(21, noisy), good, 20), RateVerdict::Met);
    }
}
