//! By how much counters grew from before a load to behind it, sample by sample. A counter that is lower than it was has begun
//! anew: then it grew by all that it says. What was counted between the last sample and such a new start is lost.

use crate::histogram::Histogram;
use crate::sample::{Labels, Sample, Value};
use crate::selector::Selector;
use std::collections::BTreeMap;

/// Series that one selector may mean.
pub const SERIES_MAX: usize = 10_000;

/// What grows.
pub trait Grows: Clone {
    /// By how much since `earlier`, and whether counting began anew.
    fn since(&self, earlier: &Self) -> (Self, bool);
    /// Takes in what another series grew by.
    fn add(&mut self, more: &Self);
}

impl Grows for f64 {
    fn since(&self, earlier: &f64) -> (f64, bool) {
        if self < earlier { (*self, true) } else { (self - earlier, false) }
    }

    fn add(&mut self, more: &f64) {
        *self += more;
    }
}

impl Grows for Histogram {
    fn since(&self, earlier: &Histogram) -> (Histogram, bool) {
        self.since(earlier).map_or_else(|| (self.clone(), true), |since| (since, false))
    }

    fn add(&mut self, more: &Histogram) {
        self.add(more);
    }
}

/// Of all series that are meant, together.
#[derive(Clone, Debug)]
pub struct Growth<T> {
    last: BTreeMap<Labels, (f64, T)>,
    /// By how much they grew since the start.
    pub grown: T,
    /// How often one of them began anew.
    pub resets: u64,
    /// The time of the latest sample before the start.
    pub from: Option<f64>,
    /// Samples at this time or later end a series.
    until: f64,
    has_begun: bool,
    /// There were more series than are held.
    pub is_cut: bool,
}

impl<T: Grows + Default> Default for Growth<T> {
    fn default() -> Self {
        Growth {
            last: BTreeMap::new(),
            grown: T::default(),
            resets: 0,
            from: None,
            until: f64::INFINITY,
            has_begun: false,
            is_cut: false,
        }
    }
}

impl<T: Grows + Default> Growth<T> {
    /// What comes from now on is growth. A series that was not there before has begun at zero.
    pub fn begin(&mut self) {
        self.has_begun = true;
    }

    /// Of each series the first sample at `until` or later is its last.
    pub fn end_at(&mut self, until: f64) {
        self.until = until;
    }

    /// Every series has had its last sample, but for those that are gone: without one for so many seconds before the end.
    pub fn is_over(&self, gone_after_s: f64) -> bool {
        let is_behind = |at: f64| at < self.until && at >= self.until - gone_after_s;
        let times = || self.last.values().map(|(at, _)| *at);
        times().any(|at| at >= self.until) && !times().any(is_behind)
    }

    /// Any of what is meant was seen.
    pub fn is_seen(&self) -> bool {
        !self.last.is_empty()
    }

    /// The time of the latest sample.
    pub fn latest(&self) -> Option<f64> {
        self.last.values().map(|(at, _)| *at).reduce(f64::max)
    }

    fn take(&mut self, at: f64, labels: &Labels, value: T) {
        let is_full = self.last.len() >= SERIES_MAX;
        match self.last.get_mut(labels) {
            Some((last, _)) if at <= *last || *last >= self.until => return,
            Some(known) => {
                if self.has_begun {
                    let (more, is_reset) = value.since(&known.1);
                    self.grown.add(&more);
                    self.resets += u64::from(is_reset);
                }
                *known = (at, value);
            }
            None if is_full => {
                self.is_cut = true;
                return;
            }
            None => {
                if self.has_begun {
                    self.grown.add(&value);
                }
                self.last.insert(labels.clone(), (at, value));
            }
        }
        if !self.has_begun {
            self.from = Some(self.from.unwrap_or(f64::NEG_INFINITY).max(at));
        }
    }
}

/// Takes what `samples`, which are of the time `at`, say of the series that `selector` means.
pub fn take_numbers(growth: &mut Growth<f64>, selector: &Selector, at: f64, samples: &[Sample]) {
    for sample in samples.iter().filter(|sample| is_meant(selector, &selector.name, sample)) {
        if let Value::Number(value) = sample.value
            && value.is_finite()
        {
            growth.take(at, &sample.labels, value);
        }
    }
}

fn is_meant(selector: &Selector, name: &str, sample: &Sample) -> bool {
    sample.name == name && selector.is_met_by(&sample.labels)
}

/// The parts of a classic histogram at one moment.
#[derive(Default)]
struct Parts {
    buckets: Vec<(f64, f64)>,
    count: Option<f64>,
    sum: Option<f64>,
}

/// The same of a histogram. Where a series has both forms, its native one, which is finer.
///
/// # Errors
/// Why the first series that is none is no histogram.
pub fn take_histograms(
    growth: &mut Growth<Histogram>,
    selector: &Selector,
    at: f64,
    samples: &[Sample],
) -> Result<(), String> {
    let (mut natives, mut classics) = (BTreeMap::new(), BTreeMap::<Labels, Parts>::new());
    for sample in samples {
        let Some(part) = sample.name.strip_prefix(selector.name.as_str()) else { continue };
        let mut labels = sample.labels.clone();
        let le = labels.iter().position(|(name, _)| name == "le").filter(|_| part == "_bucket");
        let le = le.map(|place| labels.remove(place).1);
        if !selector.is_met_by(&labels) {
            continue;
        }
        match (&sample.value, part) {
            (Value::Histogram(histogram), "") => {
                natives.insert(labels, histogram.clone());
            }
            (Value::Number(n), "_bucket") => {
                let le = le.ok_or("a bucket has no label le")?;
                let bound =
                    le.parse().map_err(|_| format!("a bucket's bound le=\"{le}\" is not a number"))?;
                classics.entry(labels).or_default().buckets.push((bound, *n));
            }
            (Value::Number(n), "_count") => classics.entry(labels).or_default().count = Some(*n),
            (Value::Number(n), "_sum") => classics.entry(labels).or_default().sum = Some(*n),
            _ => {}
        }
    }
    for (labels, parts) in classics {
        // A count and a sum alone are a summary.
        if !natives.contains_key(&labels) && !parts.buckets.is_empty() {
            natives.insert(labels, Histogram::classic(&parts.buckets, parts.count, parts.sum)?);
        }
    }
    for (labels, histogram) in natives {
        growth.take(at, &labels, histogram);
    }
    Ok(())
}
