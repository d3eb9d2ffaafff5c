//! What is kept apart in a bank.

/// By what arrivals are recorded apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Apart {
    /// What they ask for.
    Operation,
    /// Which load they are of.
    Load,
}

impl Apart {
    /// Both.
    pub const ALL: [Apart; 2] = [Apart::Operation, Apart::Load];
}

/// How many operations and loads a run has. Of a single one nothing is kept apart: what is known of all is known of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    /// Operations; those beyond the last are recorded in its place.
    pub operations: usize,
    /// Loads.
    pub loads: usize,
}

/// So many operations, and one load.
impl From<usize> for Layout {
    fn from(operations: usize) -> Layout {
        Layout { operations, loads: 1 }
    }
}
