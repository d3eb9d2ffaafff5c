//! Sampled arrivals in the line of an interval.

use serde::{Deserialize, Serialize};
use unblink_core::record::{ArrivalSample, SampledArrival};
use unblink_core::time::{Instant, Nanos};

/// (block, index, intended, send lag), times in ns; without a lag where it was never sent.
pub(super) type SampledFields = (u64, u64, u64, Option<u64>);

/// Those of one load.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct SampleLine {
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) arrivals: Vec<SampledFields>,
    /// Of every how many blocks of them one is kept; 0 where nothing was left out.
    #[serde(default, rename = "arrivals_spacing", skip_serializing_if = "is_zero")]
    pub(super) spacing: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl SampleLine {
    pub(super) fn of(sample: &ArrivalSample) -> SampleLine {
        let fields = |arrival: &SampledArrival| {
            let SampledArrival { block, index, intended, sent } = *arrival;
            (block, index, intended.0, sent.map(|sent| sent.since(intended).0))
        };
        SampleLine {
            arrivals: sample.as_slice().iter().map(fields).collect(),
            spacing: Some(sample.spacing()).filter(|&spacing| spacing > 1).unwrap_or(0),
        }
    }

    pub(super) fn fill(&self, sample: &mut ArrivalSample) {
        *sample = ArrivalSample::default();
        for &(block, index, intended_ns, lag_ns) in &self.arrivals {
            let intended = Instant(intended_ns);
            let sent = lag_ns.map(|lag| intended + Nanos(lag));
            sample.push(SampledArrival { block, index, intended, sent });
        }
        sample.thin_to(self.spacing);
    }
}
