//! What is kept apart in a bank.

/// By what arrivals are recorded apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Apart {
    /// What they ask for.
    Operation,
    /// Which load they are of.
    Load,
    /// Which journey they begin. What is recorded are journeys, not requests; and behind these, for each step that asks again
    /// and again, how long it waits.
    Journey,
    /// Where they go.
    Origin,
}

impl Apart {
    /// Each of these.
    pub const ALL: [Apart; 4] = [Apart::Operation, Apart::Load, Apart::Journey, Apart::Origin];
}

/// How many operations, loads, journeys and origins a run has. Of a single operation, load or origin nothing is kept apart:
/// what is known of all is known of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Operations; those beyond the last are recorded in its place.
    pub operations: usize,
    /// Loads.
    pub loads: usize,
    /// Journeys, and steps that ask again and again.
    pub journeys: usize,
    /// Steps of all journeys: the last of the operations but for those of redirected requests.
    pub steps: usize,
    /// Operations of redirected requests.
    pub redirected: usize,
    /// Origins.
    pub origins: usize,
}

/// So many operations, one load and one origin, and no journeys.
impl From<usize> for Layout {
    fn from(operations: usize) -> Layout {
        Layout { operations, loads: 1, journeys: 0, steps: 0, redirected: 0, origins: 1 }
    }
}
