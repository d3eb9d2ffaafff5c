//! A metric over time: a gauge as it is, a counter by how much it grows per second; all series that are meant together.

use crate::growth::{Growth, take_numbers};
use crate::sample::{Kind, Labels, Sample, Value};
use crate::selector::Selector;
use std::collections::BTreeMap;

/// A series whose last sample is so much older than the newest is gone, in seconds.
const GONE_AFTER_S: f64 = 300.0;

/// A metric over time.
#[derive(Clone, Debug)]
pub struct Level {
    selector: Selector,
    of: Of,
}

#[derive(Clone, Debug)]
enum Of {
    Gauge(BTreeMap<Labels, (f64, f64)>),
    /// The growth, and the time and the growth that were told last.
    Counter(Box<Growth<f64>>, Option<(f64, f64)>),
}

impl Level {
    /// Of the metric that `selector` means, which is of this kind if that is known; otherwise by its name.
    pub fn new(selector: Selector, kind: Option<Kind>) -> Level {
        let name = &selector.name;
        let counts = || ["_total", "_count", "_sum", "_bucket"].iter().any(|end| name.ends_with(end));
        let is_counter = match kind {
            Some(Kind::Counter) => true,
            Some(Kind::Gauge) => false,
            _ => counts(),
        };
        let of = match is_counter {
            true => {
                let mut growth = Growth::default();
                growth.begin();
                Of::Counter(Box::new(growth), None)
            }
            false => Of::Gauge(BTreeMap::new()),
        };
        Level { selector, of }
    }

    /// It is a counter, and told as its growth per second.
    pub fn is_rate(&self) -> bool {
        matches!(self.of, Of::Counter(..))
    }

    /// Takes samples of the time `at`, in seconds.
    pub fn take(&mut self, at: f64, samples: &[Sample]) {
        match &mut self.of {
            Of::Counter(growth, _) => take_numbers(growth, &self.selector, at, samples),
            Of::Gauge(last) => {
                let meant = samples.iter().filter(|sample| {
                    sample.name == self.selector.name && self.selector.is_met_by(&sample.labels)
                });
                for sample in meant {
                    if let Value::Number(value) = sample.value
                        && last.get(&sample.labels).is_none_or(|(before, _)| *before < at)
                        && (last.contains_key(&sample.labels) || last.len() < crate::growth::SERIES_MAX)
                    {
                        last.insert(sample.labels.clone(), (at, value));
                    }
                }
            }
        }
    }

    /// Takes a whole page, which has all that there is at the time `at`: a gauge's series that is not on it is gone.
    pub fn take_page(&mut self, at: f64, samples: &[Sample]) {
        self.take(at, samples);
        if let Of::Gauge(last) = &mut self.of {
            last.retain(|_, (seen, _)| *seen >= at);
        }
    }

    /// The time of the latest sample, and what all together are; nothing before there is something to tell.
    pub fn value(&mut self) -> Option<(f64, f64)> {
        match &mut self.of {
            Of::Gauge(last) => {
                let newest = last.values().map(|(at, _)| *at).reduce(f64::max)?;
                last.retain(|_, (at, _)| *at >= newest - GONE_AFTER_S);
                Some((newest, last.values().map(|(_, value)| value).sum::<f64>()))
                    .filter(|(_, sum)| sum.is_finite())
            }
            Of::Counter(growth, told) => {
                let now = growth.latest()?;
                let (before, grown) = match *told {
                    Some(told) if told.0 < now => told,
                    Some(_) => return None,
                    None => {
                        *told = Some((now, growth.grown));
                        return None;
                    }
                };
                *told = Some((now, growth.grown));
                Some((now, (growth.grown - grown) / (now - before)))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(name: &str, job: &str, value: f64) -> Sample {
        let labels = vec![("job".to_string(), job.to_string())];
        Sample { name: name.into(), labels, value: Value::Number(value) }
    }

    #[test]
    fn gauges_are_summed_and_what_is_gone_counts_no_longer() {
        let mut level = Level::new(Selector::parse("m{job!=\"c\"}").expect("one"), None);
        assert!(!level.is_rate() && level.value().is_none());
        level.take(10.0, &[sample("m", "a", 1.0), sample("m", "b", 2.0), sample("m", "c", 9.0)]);
        assert_eq!(level.value(), Some((10.0, 3.0)));
        level.take(10.0, &[sample("m", "a", 7.0)]);
        assert_eq!(level.value(), Some((10.0, 3.0)), "the same sample again");
        level.take(400.0, &[sample("m", "a", 5.0)]);
        assert_eq!(level.value(), Some((400.0, 5.0)));
        level.take(401.0, &[sample("m", "a", f64::NAN)]);
        assert_eq!(level.value(), None);
    }

    #[test]
    fn what_is_not_on_a_page_any_more_is_gone() {
        let mut level = Level::new(Selector::parse("m").expect("one"), None);
        level.take_page(10.0, &[sample("m", "a", 1.0), sample("m", "b", 2.0)]);
        assert_eq!(level.value(), Some((10.0, 3.0)));
        level.take_page(11.0, &[sample("m", "b", 2.0), sample("n", "a", 5.0)]);
        assert_eq!(level.value(), Some((11.0, 2.0)));
        level.take_page(12.0, &[sample("n", "a", 5.0)]);
        assert_eq!(level.value(), None);
    }

    #[test]
    fn counters_are_told_by_second() {
        let mut level = Level::new(Selector::parse("x_total").expect("one"), None);
        assert!(level.is_rate());
        level.take(10.0, &[sample("x_total", "a", 1_000.0)]);
        assert_eq!(level.value(), None, "since when it has grown is not known");
        level.take(12.0, &[sample("x_total", "a", 1_100.0)]);
        assert_eq!(level.value(), Some((12.0, 50.0)));
        assert_eq!(level.value(), None, "nothing new");
        level.take(14.0, &[sample("x_total", "a", 30.0)]);
        assert_eq!(level.value(), Some((14.0, 15.0)), "it began anew");
    }
}
