//! Which arrivals are kept, so that it can be judged how they came.

use super::{Flight, Recorder, SampleBlocks};

impl Recorder {
    /// Keeps the measured arrivals of `blocks`, which are by load; without blocks (a closed load has no process) none.
    pub fn sample_arrivals(&mut self, blocks: Vec<SampleBlocks>) {
        self.unsent_blocks = blocks.clone();
        self.blocks = blocks;
    }

    /// The arrival has ended, and was never sent.
    pub(super) fn sample_unsent(&mut self, flight: &Flight) {
        let load = flight.arrival.key.load as usize;
        if self.is_measured(&flight.arrival)
            && !flight.arrival.follows()
            && let Some(blocks) = self.unsent_blocks.get_mut(load)
        {
            self.bank.samples[load].note(blocks, &flight.arrival, None, self.start);
        }
    }
}
