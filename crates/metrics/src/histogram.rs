//! Histograms as bins with bounds, whichever form they came in, and what they say of a quantile: two bounds, and nothing
//! between them.

/// How many of what was observed lie above `lower` and up to `upper`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// In the metric's own unit.
    pub lower: f64,
    /// The same; +∞ for what lies above all bounds.
    pub upper: f64,
    /// How many.
    pub count: f64,
}

/// Counts by bin, sorted by bounds, none of them empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram {
    /// The bins.
    pub bins: Vec<Bin>,
    /// Of all of them, as the histogram says.
    pub count: f64,
    /// The sum of what was observed; NaN where that is not known.
    pub sum: f64,
}

/// Between which bounds a quantile lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// It is above this.
    pub lower: f64,
    /// And at most this; +∞ where no bucket ends above it.
    pub upper: f64,
}

impl Histogram {
    /// Of the cumulative counts of a classic histogram, in any order.
    ///
    /// # Errors
    /// Why these are no counts of a histogram.
    pub fn classic(
        buckets: &[(f64, f64)],
        count: Option<f64>,
        sum: Option<f64>,
    ) -> Result<Histogram, String> {
        let mut buckets = buckets.to_vec();
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        if buckets.iter().any(|(le, n)| le.is_nan() || !n.is_finite() || *n < 0.0) {
            return Err("a bucket's bound or count is not a number, or is negative".into());
        }
        if buckets.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err("it has a bucket twice".into());
        }
        let highest = buckets.last().ok_or("it has no buckets")?;
        if highest.0 != f64::INFINITY {
            let count = count.filter(|n| n.is_finite());
            let all = count.ok_or("its bucket +Inf is missing, and so is its _count")?;
            buckets.push((f64::INFINITY, all));
        }
        // What is below the first bound of a time is above zero.
        let mut below = (if buckets[0].0 > 0.0 { 0.0 } else { f64::NEG_INFINITY }, 0.0);
        let mut bins = Vec::new();
        for (le, cumulative) in buckets {
            if cumulative < below.1 {
                return Err(format!(
                    "its buckets are not cumulative: up to {le} it counts {cumulative}, and up to {} already {}",
                    below.0, below.1
                ));
            }
            bins.push(Bin { lower: below.0, upper: le, count: cumulative - below.1 });
            below = (le, cumulative);
        }
        Ok(Histogram { bins, count: below.1, sum: sum.unwrap_or(f64::NAN) }.compact())
    }

    fn compact(mut self) -> Histogram {
        self.bins.retain(|bin| bin.count > 0.0);
        self
    }

    /// What was observed after `earlier`; `None` if counting began anew.
    pub fn since(&self, earlier: &Histogram) -> Option<Histogram> {
        if self.count < earlier.count {
            return None;
        }
        let mut bins = self.bins.clone();
        // Each lies within one bin of now, which may have grown coarser meanwhile.
        for old in &earlier.bins {
            let place = bins.iter_mut().find(|now| now.lower <= old.lower && old.upper <= now.upper)?;
            place.count -= old.count;
        }
        let is_reset = bins.iter().any(|bin| bin.count < 0.0);
        let since = Histogram { bins, count: self.count - earlier.count, sum: self.sum - earlier.sum };
        (!is_reset).then(|| since.compact())
    }

    /// Adds what another one counted, whatever its bins.
    pub fn add(&mut self, other: &Histogram) {
        for bin in &other.bins {
            let order =
                |known: &Bin| known.lower.total_cmp(&bin.lower).then(known.upper.total_cmp(&bin.upper));
            match self.bins.binary_search_by(order) {
                Ok(place) => self.bins[place].count += bin.count,
                Err(place) => self.bins.insert(place, *bin),
            }
        }
        self.count += other.count;
        self.sum += other.sum;
    }

    /// Between which bounds the quantile `q` lies: the nearest rank, as for our own. The r-th smallest lower bound is at
    /// most the r-th smallest value, and the r-th smallest upper bound at least that, however the bins lie. `None` without
    /// a value.
    pub fn quantile(&self, q: f64) -> Option<Bounds> {
        let all: f64 = self.bins.iter().map(|bin| bin.count).sum();
        if all <= 0.0 || !all.is_finite() {
            return None;
        }
        let rank = (q * all).ceil().clamp(1.0, all.max(1.0));
        let at_rank = |bound: fn(&Bin) -> f64| {
            let mut bins: Vec<(f64, f64)> = self.bins.iter().map(|bin| (bound(bin), bin.count)).collect();
            bins.sort_by(|a, b| a.0.total_cmp(&b.0));
            let mut below = 0.0;
            let reached = bins.iter().find(|(_, count)| {
                below += count;
                // Counts may be sums of fractions.
                below >= rank - 1e-9 * all
            });
            reached.or(bins.last()).map(|(bound, _)| *bound)
        };
        Some(Bounds { lower: at_rank(|bin| bin.lower)?, upper: at_rank(|bin| bin.upper)? })
    }
}

/// Places that follow each other: how many are left out before them, and how many there are; and a count for each place.
pub type Spans = (Vec<(i32, u32)>, Vec<f64>);

/// A native histogram as it is sent.
#[derive(Clone, Debug, Default)]
pub struct Native {
    /// Bounds are powers of 2^(2^−schema).
    pub schema: i32,
    /// Everything up to this, either way, is in the bucket around zero.
    pub zero_threshold: f64,
    /// How many these are.
    pub zero_count: f64,
    /// Above zero.
    pub positive: Spans,
    /// Below it.
    pub negative: Spans,
    /// All of them.
    pub count: f64,
    /// What they add up to.
    pub sum: f64,
}

/// What exponential buckets may have as their schema.
const SCHEMAS: std::ops::RangeInclusive<i32> = -4..=8;

impl Native {
    /// The same as bins.
    ///
    /// # Errors
    /// Why it is no such histogram.
    pub fn histogram(&self) -> Result<Histogram, String> {
        if !SCHEMAS.contains(&self.schema) {
            return Err(format!("a native histogram of schema {}, which is unknown", self.schema));
        }
        let mut bins = Vec::new();
        for (spans, sign) in [(&self.positive, 1.0), (&self.negative, -1.0)] {
            for (place, count) in placed(spans)? {
                let bound = |place: f64| (place * f64::from(-self.schema).exp2()).exp2();
                let (inner, outer) = (bound(f64::from(place) - 1.0), bound(f64::from(place)));
                let (lower, upper) = if sign > 0.0 { (inner, outer) } else { (-outer, -inner) };
                bins.push(Bin { lower, upper, count });
            }
        }
        let zero = self.zero_threshold;
        bins.push(Bin { lower: -zero, upper: zero, count: self.zero_count });
        let is_count = |n: &f64| n.is_finite() && *n >= 0.0;
        if !bins.iter().all(|bin| is_count(&bin.count)) || !is_count(&self.count) || !is_count(&zero) {
            return Err("a native histogram with a count that is not a number, or is negative".into());
        }
        bins.sort_by(|a, b| a.lower.total_cmp(&b.lower).then(a.upper.total_cmp(&b.upper)));
        Ok(Histogram { bins, count: self.count, sum: self.sum }.compact())
    }
}

/// Each count with its place.
fn placed((spans, counts): &Spans) -> Result<Vec<(i32, f64)>, String> {
    let (mut place, mut out) = (0i64, Vec::new());
    let mut counts = counts.iter();
    for (offset, length) in spans {
        place += i64::from(*offset);
        for _ in 0..*length {
            let count = counts.next().ok_or("a native histogram with fewer counts than places")?;
            let at = i32::try_from(place).map_err(|_| "a native histogram with a bucket out of range")?;
            out.push((at, *count));
            place += 1;
        }
    }
    Ok(out)
}
