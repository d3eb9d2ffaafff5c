//! The places of one request, and what stands in them.

use crate::hole::{Hole, What};
use crate::lets::Lets;

/// The places of one operation, and the named values that they need.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Composition {
    pub(crate) holes: Box<[Hole]>,
    pub(crate) uses: Box<[u32]>,
    /// Values that the journey took from answers.
    pub(crate) kept: Box<[u32]>,
}

impl Composition {
    /// Of the places of a request, by number.
    pub fn new(holes: Vec<Hole>) -> Composition {
        let mut uses: Vec<u32> = holes.iter().filter_map(|hole| hole.what.uses()).collect();
        uses.sort_unstable();
        uses.dedup();
        let mut kept: Vec<u32> = holes.iter().filter_map(|hole| hole.what.kept()).collect();
        kept.sort_unstable();
        kept.dedup();
        Composition { holes: holes.into(), uses: uses.into(), kept: kept.into() }
    }

    /// The numbers of the values taken from answers that it needs.
    pub fn captured(&self) -> impl Iterator<Item = u32> {
        self.holes.iter().filter_map(|hole| match hole.what {
            What::Captured(number) => Some(number),
            _ => None,
        })
    }

    /// The numbers of the values that it needs of those that its journey takes from answers.
    pub fn kept(&self) -> &[u32] {
        &self.kept
    }

    /// How many places there are.
    pub fn places(&self) -> u32 {
        self.holes.len() as u32
    }

    /// Is what stands in the place `number` always a whole number?
    pub fn is_number(&self, number: u32, lets: &Lets) -> bool {
        self.holes.get(number as usize).is_some_and(|hole| hole.what.is_number(lets))
    }

    /// May what stands in the place `number` be shown? Rows of files and parts of answers may be secrets.
    pub fn is_public(&self, number: u32, lets: &Lets) -> bool {
        self.holes.get(number as usize).is_some_and(|hole| !hole.what.is_of_others(lets))
    }

    /// Is what stands in the place `number` made by the generator itself: a number, a key, a time? That is nobody's secret.
    pub fn is_made(&self, number: u32, lets: &Lets) -> bool {
        let is_text = |what: &What| matches!(what, What::Literal(_) | What::Recorded);
        self.holes
            .get(number as usize)
            .is_some_and(|hole| !is_text(&hole.what) && !hole.what.is_of_others(lets))
    }

    /// The numbers of the named values that it needs.
    pub fn uses(&self) -> &[u32] {
        &self.uses
    }
}
