//! Counts that are named once. Their zero, their sum, and the list by which records are written and read follow from the
//! fields.

/// Counts with names.
pub trait Counted: Copy + Default {
    /// Names of the counts, in the order of the fields.
    const NAMES: &'static [&'static str];
    /// So many of them, from the first on, are written even where they are 0.
    const WRITTEN: usize;

    /// The counts, in the same order.
    fn counts_mut(&mut self) -> impl Iterator<Item = &mut u64>;

    /// Each count with its name.
    fn counts(mut self) -> Vec<(&'static str, u64)> {
        Self::NAMES.iter().copied().zip(self.counts_mut().map(|n| *n)).collect()
    }
}

/// What adds up over workers and intervals.
pub(super) trait Summed {
    const ZERO: Self;

    fn sum(&mut self, other: &Self);
}

impl Summed for u64 {
    const ZERO: u64 = 0;

    fn sum(&mut self, other: &u64) {
        *self += other;
    }
}

impl<T: Summed, const N: usize> Summed for [T; N] {
    const ZERO: [T; N] = [T::ZERO; N];

    fn sum(&mut self, other: &[T; N]) {
        self.iter_mut().zip(other).for_each(|(a, b)| a.sum(b));
    }
}

/// A struct of counts. Those of `rarely` are not written where they are 0; what stands `besides` adds up as well, but has
/// no place in the list.
macro_rules! counted {
    (
        $(#[$about:meta])*
        pub struct $name:ident { $($(#[$doc:meta])* $count:ident,)* }
        $(rarely { $($(#[$rare_doc:meta])* $rare:ident,)* })?
        $(besides { $($(#[$other_doc:meta])* $other:ident: $type:ty,)* })?
    ) => {
        $(#[$about])*
        pub struct $name {
            $($(#[$doc])* pub $count: u64,)*
            $($($(#[$rare_doc])* pub $rare: u64,)*)?
            $($($(#[$other_doc])* pub $other: $type,)*)?
        }

        impl $name {
            /// Adds another worker's or another interval's counts.
            pub fn add(&mut self, other: &$name) {
                $crate::record::counted::Summed::sum(self, other);
            }
        }

        impl Default for $name {
            fn default() -> $name {
                <$name as $crate::record::counted::Summed>::ZERO
            }
        }

        impl $crate::record::counted::Summed for $name {
            const ZERO: $name = $name {
                $($count: 0,)*
                $($($rare: 0,)*)?
                $($($other: <$type as $crate::record::counted::Summed>::ZERO,)*)?
            };

            fn sum(&mut self, other: &$name) {
                $(self.$count += other.$count;)*
                $($(self.$rare += other.$rare;)*)?
                $($($crate::record::counted::Summed::sum(&mut self.$other, &other.$other);)*)?
            }
        }

        impl $crate::record::Counted for $name {
            const NAMES: &'static [&'static str] =
                &[$(stringify!($count),)* $($(stringify!($rare),)*)?];
            const WRITTEN: usize = [$(stringify!($count)),*].len();

            fn counts_mut(&mut self) -> impl Iterator<Item = &mut u64> {
                [$(&mut self.$count,)* $($(&mut self.$rare,)*)?].into_iter()
            }
        }
    };
}
pub(super) use counted;

#[cfg(test)]
mod tests {
    use super::super::{Counted, Outcomes, RetryCounts};

    #[test]
    fn every_count_has_a_name_and_adds_up() {
        let mut one =
            Outcomes { retries: RetryCounts { retried: 7, ..Default::default() }, ..Default::default() };
        for (n, count) in (1..).zip(one.counts_mut()) {
            *count = n;
        }
        one.failed[3] = 5;
        let mut two = one;
        two.add(&one);
        for ((name, n), (other, twice)) in one.counts().into_iter().zip(two.counts()) {
            assert_eq!((name, 2 * n), (other, twice));
        }
        assert_eq!((two.failed[3], two.failed_total(), two.retries.retried), (10, 10, 14));
        assert_eq!(one.counts().first(), Some(&("due", 1)));
        assert_eq!(one.counts().len(), Outcomes::NAMES.len());
        assert_eq!(
            one.counts().iter().find(|(name, _)| *name == "unsent_own").map(|(_, n)| *n),
            Some(one.unsent_own)
        );
    }
}
