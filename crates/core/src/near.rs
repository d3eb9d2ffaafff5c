//! The column that was looked up last, in which most look-ups end.

/// A column, and where it lies. Who has it looks up faster, and holds no more than before: all are equal.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Near {
    from_ns: u64,
    width_ns: u64,
    place: usize,
}

impl Near {
    /// The one from `from_ns` on.
    pub(crate) fn new(from_ns: u64, width_ns: u64, place: usize) -> Near {
        Near { from_ns, width_ns, place }
    }

    /// Its place, if `at_ns` lies in it.
    #[inline(always)]
    pub(crate) fn place_of(&self, at_ns: u64) -> Option<usize> {
        // What lies before it wraps around, and is far behind it.
        (at_ns.wrapping_sub(self.from_ns) < self.width_ns).then_some(self.place)
    }
}

impl PartialEq for Near {
    fn eq(&self, _: &Near) -> bool {
        true
    }
}

impl Eq for Near {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_half_open() {
        let near = Near::new(200, 100, 2);
        let found = [0, 199, 200, 299, 300, u64::MAX].map(|at| near.place_of(at));
        assert_eq!(found, [None, None, Some(2), Some(2), None, None]);
        assert_eq!([0, u64::MAX].map(|at| Near::default().place_of(at)), [None, None]);
    }
}
