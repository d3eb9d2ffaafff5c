//! What was drawn for the requests that were sent: how often, and by how popular or how large.

/// Places of counts from one power of two to the next.
const EACH: u64 = 64;
const EACH_BITS: u32 = EACH.ilog2();
/// Every number has one of so many.
const BINS: usize = bin_of(u64::MAX) + 1;

/// Counts of draws of one value. A draw has a place: of keys its rank by popularity, from 0; of sizes the size. Places up to 128
/// are counted each for itself, larger ones in bins whose ends lie 1/64 apart at the most.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Sent {
    bins: Box<[u64]>,
    sum: u128,
}

impl Default for Sent {
    fn default() -> Sent {
        Sent { bins: vec![0; BINS].into(), sum: 0 }
    }
}

/// The bin of a place.
#[inline]
const fn bin_of(place: u64) -> usize {
    let shift = (place | (2 * EACH - 1)).ilog2() - EACH_BITS;
    (shift as u64 * EACH + (place >> shift)) as usize
}

/// The lowest place of a bin.
const fn start_of(bin: usize) -> u64 {
    let bin = bin as u64;
    let shift = (bin / EACH).saturating_sub(1);
    (bin - shift * EACH) << shift
}

impl Sent {
    /// Counts one draw.
    #[inline]
    pub fn count(&mut self, place: u64) {
        self.bins[bin_of(place)] += 1;
        self.sum += u128::from(place);
    }

    /// Becomes the same as another one. Allocates nothing.
    pub fn copy_from(&mut self, other: &Sent) {
        self.bins.copy_from_slice(&other.bins);
        self.sum = other.sum;
    }

    /// Adds what another thread has counted.
    pub fn add(&mut self, other: &Sent) {
        self.bins.iter_mut().zip(&other.bins).for_each(|(bin, more)| *bin += more);
        self.sum += other.sum;
    }

    /// How many draws were counted.
    pub fn draws(&self) -> u64 {
        self.bins.iter().sum()
    }

    /// The mean of their places; none without draws.
    pub fn mean(&self) -> Option<f64> {
        (self.draws() > 0).then(|| self.sum as f64 / self.draws() as f64)
    }

    /// The share of the draws whose places are below `end`, which one of [`Sent::end_near`] is; none without draws.
    pub fn share_below(&self, end: u64) -> Option<f64> {
        let below: u64 = self.bins[..bin_of(end)].iter().sum();
        (self.draws() > 0).then(|| below as f64 / self.draws() as f64)
    }

    /// The lowest place of the bin in which the draw at this quantile lies; none without draws.
    pub fn quantile(&self, q: f64) -> Option<u64> {
        let wanted = ((self.draws() as f64 * q).ceil() as u64).max(1);
        let mut so_far = 0;
        let bin = self.bins.iter().position(|n| {
            so_far += n;
            so_far >= wanted
        });
        bin.map(start_of)
    }

    /// The end of a bin at `place`, or the nearest one below.
    pub fn end_near(place: u64) -> u64 {
        start_of(bin_of(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_follow_each_other_without_a_gap() {
        for bin in 1..BINS {
            let start = start_of(bin);
            assert_eq!((bin_of(start), bin_of(start - 1)), (bin, bin - 1), "{start}");
            assert!(start <= 128 || start - start_of(bin - 1) <= start / 64, "{start}");
        }
        assert_eq!((Sent::end_near(1), Sent::end_near(128), Sent::end_near(10_000)), (1, 128, 9_984));
    }

    #[test]
    fn threads_add_up() {
        let counted = |places: &[u64]| {
            let mut sent = Sent::default();
            places.iter().for_each(|place| sent.count(*place));
            sent
        };
        let (mut one, other) = (counted(&[0, 0, 1, 5]), counted(&[40, 0, u64::MAX]));
        one.add(&other);
        assert_eq!(one, counted(&[0, 0, 1, 5, 40, 0, u64::MAX]));
        assert_eq!(
            (one.draws(), one.share_below(1), one.share_below(2)),
            (7, Some(3.0 / 7.0), Some(4.0 / 7.0))
        );
        assert_eq!(
            (one.quantile(0.5), one.quantile(5.0 / 7.0), one.quantile(0.8)),
            (Some(1), Some(5), Some(40))
        );
        let few = counted(&[10, 20, 60]);
        assert_eq!(few.mean(), Some(30.0));
        assert_eq!((Sent::default().mean(), Sent::default().quantile(0.5)), (None, None));
    }
}
