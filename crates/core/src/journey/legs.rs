//! What a journey asks, one after the other, as long as each answer is as it must be.

use super::Paths;
use crate::arrival::Key;

/// One step of a journey, as it was drawn for it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Leg {
    /// What it asks for.
    pub operation: u32,
    /// Its first request, counted from the first of the journey.
    pub first: u32,
    /// How many it has; none where the step is skipped.
    pub requests: u16,
    /// It asks until it has its answer, or follows redirects: in a run it has as many requests more as that takes.
    pub is_open: bool,
}

impl Paths {
    /// The steps of a journey that begins with the arrival that has this key.
    pub fn legs(&self, journey: usize, key: Key) -> Vec<Leg> {
        let (mut legs, mut first) = (Vec::new(), 0);
        while let Some(step) = self.step(journey, legs.len()) {
            let number = legs.len();
            let requests =
                if self.is_taken(&step, number, key) { self.repeats(&step, number, key) } else { 0 };
            let is_open = (step.until.is_some() || step.redirects.max > 0) && requests > 0;
            legs.push(Leg { operation: self.operation(journey, number), first, requests, is_open });
            first += u32::from(requests);
        }
        legs
    }
}

#[cfg(test)]
mod tests {
    use super::super::{JourneySpec, Journeys, StepSpec};
    use super::*;

    #[test]
    fn legs_follow_each_other_and_are_drawn_by_journey() {
        let step = StepSpec { repeat: (1, 3), chance: 5_000, ..StepSpec::ONCE };
        let steps = vec![StepSpec { repeat: (2, 2), ..StepSpec::ONCE }, step, StepSpec::ONCE];
        let journeys = Journeys {
            each: vec![JourneySpec { steps, ..JourneySpec::default() }],
            seed: 3,
            ..Journeys::default()
        };
        let paths = Paths::new(&journeys, 4, 256).unwrap().unwrap();
        let mut seen = [false; 4];
        for unit in 0..100 {
            let legs = paths.legs(0, Key::single(unit));
            let parts: Vec<_> = legs.iter().map(|leg| (leg.operation, leg.first)).collect();
            let of_second = legs[1].requests;
            assert_eq!(parts, [(1, 0), (2, 2), (3, 2 + u32::from(of_second))]);
            assert_eq!((legs[0].requests, legs[2].requests), (2, 1));
            seen[usize::from(of_second)] = true;
        }
        assert_eq!(seen, [true; 4]);
    }
}
