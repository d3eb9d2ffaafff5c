//! What is kept apart in a bank.

/// By what arrivals are recorded apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Apart {
    /// What they ask for.
    Operation,
    /// Which load they are of.
    Load,
    /// Which journey they begin. What is recorded are journeys, not requests.
    Journey,
}

impl Apart {
    /// All of them.
    pub const ALL: [Apart; 3] = [Apart::Operation, Apart::Load, Apart::Journey];
}

/// How many operations, loads and journeys a run has. Of a single operation or load nothing is kept apart: what is known of all is known of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Operations; those beyond the last are recorded in its place.
    pub operations: usize,
    /// Loads.
    pub loads: usize,
    /// Journeys.
    pub journeys: usize,
    /// Steps of all journeys: the last of the operations.
    pub steps: usize,
}

/// So many operations, one load, and no journeys.
impl From<usize> for Layout {
    fn from(operations: usize) -> Layout {
        Layout { operations, loads: 1, journeys: 0, steps: 0 }
    }
}
