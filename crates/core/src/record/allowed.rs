//! How many requests at once a target allows its connections.

use super::counted::Summed;

/// The fewest and the most that open connections were allowed in a stretch of time, as they said in it: when they opened, and when
/// that changed. It is never more than was asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Allowed {
    /// More than `most` where nothing was said.
    least: u32,
    most: u32,
}

impl Allowed {
    /// From the fewest to the most.
    pub fn between(least: u32, most: u32) -> Allowed {
        Allowed { least, most }
    }

    /// An open connection takes so many.
    pub(super) fn note(&mut self, places: u32) {
        self.sum(&Allowed::between(places, places));
    }

    /// The fewest and the most; `None` where nothing was said.
    pub fn range(self) -> Option<(u32, u32)> {
        (self.least <= self.most).then_some((self.least, self.most))
    }
}

impl Summed for Allowed {
    const ZERO: Allowed = Allowed { least: u32::MAX, most: 0 };

    fn sum(&mut self, other: &Allowed) {
        *self = Allowed { least: self.least.min(other.least), most: self.most.max(other.most) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_that_of_all_in_any_order() {
        let said =
            [Allowed::between(20, 20), Allowed::ZERO, Allowed::between(0, 3), Allowed::between(100, 100)];
        let sum = |of: &[Allowed]| {
            of.iter().fold(Allowed::ZERO, |mut all, one| {
                all.sum(one);
                all
            })
        };
        assert_eq!((sum(&[]).range(), sum(&said[..2]).range()), (None, Some((20, 20))));
        assert_eq!(sum(&said).range(), Some((0, 100)));
        let turned: Vec<Allowed> = said.into_iter().rev().collect();
        assert_eq!(sum(&said), sum(&turned));
    }
}
