//! Arrivals by their numbers.

use super::Schedule;
use super::streams::{STREAMS, Stream};
use crate::time::Nanos;

impl Schedule {
    /// When the arrival with this number is intended; `None` if there is none. Of a drawn schedule, those of its stream that
    /// come before it are drawn, too.
    pub fn intended(&self, number: u64) -> Option<Nanos> {
        let units = match self.process.seed() {
            None => u128::from(number).checked_mul(self.units_per_request)?,
            Some(seed) => {
                let mut stream = Stream::new(self, seed, number % STREAMS);
                stream.skip(number / STREAMS, self);
                stream.units()
            }
        };
        if units >= self.end_units { None } else { self.at_units(units) }
    }

    /// No arrival has this number or a higher one, or so rarely that it never happens.
    pub fn numbers_end(&self) -> u64 {
        let expected = self.end_units.div_ceil(self.units_per_request);
        let expected = u64::try_from(expected).unwrap_or(u64::MAX);
        match self.process.seed() {
            None => expected,
            Some(_) => {
                // Ten standard deviations above what a stream has on average.
                let of_stream = expected as f64 / STREAMS as f64;
                (of_stream + 10.0 * of_stream.sqrt() + 30.0) as u64 * STREAMS
            }
        }
    }
}
