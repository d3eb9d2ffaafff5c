//! What a document must have, whoever wrote it.

use super::{Journey, RunDocument, RunStatus, breaks_off};

impl RunDocument {
    /// A document that anybody may have written has what each must have.
    pub(crate) fn check(self) -> Result<RunDocument, String> {
        let lists = [
            ("loads", self.loads.is_empty()),
            ("origins", self.origins.is_empty()),
            ("operations", self.operations.is_empty()),
        ];
        if let Some((name, _)) = lists.iter().find(|(_, is_empty)| *is_empty) {
            return Err(format!("`{name}` is empty"));
        }
        // Of a part, and of a run without an end, not all is known that belongs together.
        if self.part.is_none() && self.transient.is_none() && self.status != RunStatus::Running {
            self.journeys.iter().try_for_each(Journey::check)?;
            self.check_steps()?;
        }
        Ok(self)
    }

    /// Of requests that were lost with a machine, nobody knows what became of them, and those that were withheld never fell due.
    fn check_steps(&self) -> Result<(), String> {
        let is_alike = self.plan.warmup_ns == 0;
        let is_known = self.arrivals.lost == 0 && self.arrivals.withheld == 0 && !breaks_off(&self.agents);
        let mut journeys = self.journeys.iter().filter(|_| is_known);
        journeys.try_for_each(|journey| journey.check_requests(&self.operations, is_alike))
    }
}
