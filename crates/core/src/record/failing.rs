//! Giving away the first arrivals that fail in each way.

use super::failed::{FailedArrival, FirstFailed};
use super::{Flight, Recorder};
use crate::outcome::Outcome;
use crate::time::Instant;

impl Recorder {
    /// Keeps the first `each` arrivals that fail in each way, for [`Recorder::take_failed`].
    pub fn with_failed(mut self, each: u32) -> Recorder {
        self.first_failed = (each > 0).then(|| Box::new(FirstFailed::new(each)));
        self
    }

    /// Something has failed that [`Recorder::take_failed`] gives.
    #[inline]
    pub fn has_failed(&self) -> bool {
        self.first_failed.as_ref().is_some_and(|first| !first.new.is_empty())
    }

    /// One of the first arrivals to fail in its way; each is given once.
    pub fn take_failed(&mut self) -> Option<FailedArrival> {
        self.first_failed.as_mut()?.new.pop()
    }

    #[inline]
    pub(super) fn note_first_failed(&mut self, flight: &Flight, outcome: Outcome, now: Instant) {
        if let Some(first) = &mut self.first_failed {
            first.note(flight, outcome, now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrival::Arrival;
    use crate::failure::FailureKind;
    use crate::record::Bank;
    use crate::time::Nanos;

    #[test]
    fn the_first_of_each_way_are_kept_and_given_once() {
        let recorder = || Recorder::new(Box::new(Bank::new(0)), Nanos::from_secs(1));
        let fail = |recorder: &mut Recorder, index, kind| {
            let flight = Flight { arrival: Arrival::single(index, 0, Instant(0)), ..Flight::default() };
            recorder.failed(&flight, 0, kind, None, Instant(5));
        };
        let mut keeping = recorder().with_failed(2);
        for index in 0..3 {
            fail(&mut keeping, index, FailureKind::RESET);
        }
        fail(&mut keeping, 3, FailureKind::TLS);
        keeping.timed_out(&Flight::default(), 0, Instant(7));
        let mut taken: Vec<_> = std::iter::from_fn(|| keeping.take_failed()).collect();
        taken.reverse();
        let told: Vec<_> = taken.iter().map(|one| (one.arrival.index, one.kind)).collect();
        let (reset, tls) = (Some(FailureKind::RESET), Some(FailureKind::TLS));
        assert_eq!(told, [(0, reset), (1, reset), (3, tls), (0, None)]);
        fail(&mut keeping, 4, FailureKind::RESET);
        assert!(!keeping.has_failed());
        let mut silent = recorder().with_failed(0);
        fail(&mut silent, 0, FailureKind::RESET);
        assert!(!silent.has_failed());
    }
}
