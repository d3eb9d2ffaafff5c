//! Requests of the run that failed, with what was answered, for whoever shows them.

pub use crate::conn::Echo;
use unblink_core::record::FailedArrival;
use unblink_core::time::Nanos;

/// An arrival that failed. It may hold secrets.
#[derive(Clone, Debug)]
pub struct Failed {
    /// What failed, and why. Its intended time counts from the schedule's zero.
    pub arrival: FailedArrival,
    /// When it ended, after the schedule's zero.
    pub at: Nanos,
    /// What came of the answer to its last attempt, if anything did.
    pub answer: Option<Echo>,
    /// What its journey had taken from answers.
    pub taken: Vec<Vec<u8>>,
}
