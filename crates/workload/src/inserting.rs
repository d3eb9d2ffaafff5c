//! How many keys the arrivals of a load insert, as far as the schedule tells.

use crate::composition::Composition;
use crate::error::ValuesError;
use crate::lets::Lets;
use unblink_core::plan::Plan;

/// The operations that insert keys. One that stands alone inserts a key with each of its arrivals; a step of a journey inserts as
/// many as it has requests, for each journey that starts.
pub(crate) struct Inserting<'a> {
    plan: &'a Plan,
    alone: Vec<u32>,
    /// Of each step its operation, which entry of the mix it is of, and its requests.
    steps: Vec<(u32, u32, u64)>,
}

impl<'a> Inserting<'a> {
    /// `operations` of `plan` insert keys.
    pub(crate) fn new(operations: &[u32], plan: &'a Plan) -> Inserting<'a> {
        let step = |&operation: &u32| {
            let step = plan.journeys()?.step_with(operation)?;
            Some((operation, plan.entry_of(operation), u64::from(step.repeat.0)))
        };
        let is_alone = |operation: &&u32| step(operation).is_none();
        Inserting {
            alone: operations.iter().filter(is_alone).copied().collect(),
            steps: operations.iter().filter_map(step).collect(),
            plan,
        }
    }

    /// None of them is a step of a journey.
    pub(crate) fn has_no_steps(&self) -> bool {
        self.steps.is_empty()
    }

    /// So many keys for so many arrivals of a load.
    pub(crate) fn part_of(&self, load: u32) -> (u64, u64) {
        let asked = self.plan.asked_by(load);
        let (alone, whole) = asked.part_of(&self.alone);
        let of_step = |(_, entry, requests): &(u32, u32, u64)| asked.part_of(&[*entry]).0 * requests;
        (alone + self.steps.iter().map(of_step).sum::<u64>(), whole)
    }

    /// A key that is drawn once for a journey, by its number, is one key, however many of its requests insert it.
    ///
    /// # Errors
    /// [`ValuesError::OneKeyForMany`].
    pub(crate) fn check(&self, lets: &Lets, compositions: &[Option<Composition>]) -> Result<(), ValuesError> {
        for (number, (name, source)) in (0..).zip(lets.iter()) {
            if !source.is_key() || !source.needs().ordinal {
                continue;
            }
            let uses = |operation: u32| {
                let composition = compositions.get(operation as usize).and_then(Option::as_ref);
                composition.is_some_and(|composition| composition.uses.contains(&number))
            };
            for (_, entry, _) in &self.steps {
                let own = self.steps.iter().filter(|(operation, of, _)| of == entry && uses(*operation));
                if own.map(|(_, _, requests)| requests).sum::<u64>() > 1 {
                    return Err(ValuesError::OneKeyForMany { name: name.to_string() });
                }
            }
        }
        Ok(())
    }
}
