//! From tracks to the document's distributions.

use crate::document::{Distribution, Quantile, SpectrumPoint};
use unblink_analysis::quantile::{QuantileValue, Survival};
use unblink_core::record::Track;

/// Points of a percentile spectrum at most.
const SPECTRUM_POINTS: usize = 400;

/// A distribution of which a part is known only to be longer than its age.
pub(super) fn distribution(completed: &Track<u64>, censored: &Track<u64>) -> Distribution {
    of_survival(&Survival::new(completed, censored), completed, censored.max_ns)
}

/// A distribution of which everything is known.
pub(super) fn known(completed: &Track<u64>) -> Distribution {
    of_survival(&Survival::known(completed), completed, 0)
}

/// The curve for drawing. `open` samples more have no known age, as in a run that was killed.
pub(super) fn spectrum(completed: &Track<u64>, censored: &Track<u64>, open: u64) -> Vec<SpectrumPoint> {
    let curve = Survival::with_open(completed, censored, open).spectrum(SPECTRUM_POINTS);
    curve.into_iter().map(|(q, value_ns)| SpectrumPoint { q, value_ns }).collect()
}

/// `age_ns_max` is the largest age of the censored.
pub(super) fn of_survival(survival: &Survival, completed: &Track<u64>, age_ns_max: u64) -> Distribution {
    let quantile = |(q, value): (f64, QuantileValue)| Quantile {
        q,
        value: value.value_ns,
        censored: value.censored,
        few_samples: value.few_samples,
        ..Quantile::default()
    };
    Distribution {
        unit: "ns".to_string(),
        count: survival.count(),
        censored: survival.censored(),
        mean: if survival.censored() == 0 { completed.mean_ns() } else { None },
        max: (survival.count() > 0).then_some(completed.max_ns.max(age_ns_max)),
        max_censored: survival.censored() > 0,
        quantiles: survival.table().into_iter().map(quantile).collect(),
    }
}
