//! Steps that insert keys.

use super::{Paths, StepSpec};

impl Paths {
    /// The step with this operation, unless it stands alone.
    pub fn step_with(&self, operation: u32) -> Option<StepSpec> {
        let path = self.each.iter().rfind(|path| path.first <= operation)?;
        path.steps.get((operation - path.first) as usize).copied()
    }

    /// Behind the step with this number the journey inserts nothing any more; none of a journey that never inserts.
    pub(crate) fn last_insert(&self, journey: usize) -> Option<usize> {
        self.each[journey].steps.iter().rposition(|step| step.inserts)
    }
}
