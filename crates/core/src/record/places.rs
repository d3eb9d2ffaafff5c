//! Where an arrival is recorded apart.

use super::{Apart, Bank, OperationRecord, Series};
use crate::arrival::Arrival;
use crate::origins::Origins;
use crate::time::Nanos;

/// Its place by each of [`Apart::ALL`], where there are several.
pub(super) struct Places([Option<usize>; Apart::ALL.len()]);

impl Places {
    #[inline]
    pub(super) fn of(arrival: &Arrival, origins: &Origins, bank: &Bank<u32>) -> Places {
        Places(Apart::ALL.map(|by| match by {
            Apart::Operation => bank.operations.place(arrival.operation),
            Apart::Load => bank.loads.place(arrival.key.load),
            // It is recorded when it ends, and it is no request.
            Apart::Journey => None,
            Apart::Origin => bank.origins.place(origins.of(arrival.operation) as u32),
        }))
    }

    /// Calls `change` for what is recorded apart of these. Never inlined, since many runs have nothing apart.
    #[inline(never)]
    pub(super) fn each(&self, bank: &mut Bank<u32>, change: impl Fn(&mut OperationRecord)) {
        let Bank { operations, loads, journeys, origins, .. } = bank;
        // In the order of `Apart::ALL`.
        let all = [operations, loads, journeys, origins].into_iter().zip(self.0);
        all.filter_map(|(records, place)| records.get_mut(place?)).for_each(change);
    }

    /// Records a duration of these.
    #[inline(never)]
    pub(super) fn record(&self, bank: &mut Bank<u32>, series: Series, value: Nanos) {
        for (by, place) in Apart::ALL.into_iter().zip(self.0) {
            if let Some(place) = place {
                bank.apart_mut(by).record(place, series, value);
            }
        }
    }
}
