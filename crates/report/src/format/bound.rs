//! What is only known to lie on one side of a figure: rounded to that side, so that no more is claimed than is known.
//! A time above 311.7 ms is above 311 ms, and not above 312 ms.

use super::{THOUSANDS, UNIT, UNITS, duration, percent, thousands, three_fixed, trim};

/// On which side of the true value a bound lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// The true value is not lower: rounded down.
    Lower,
    /// The true value is not higher: rounded up.
    Upper,
}

impl Bound {
    /// A duration that is a bound, with three digits.
    pub fn duration(self, ns: u64) -> String {
        duration(self.rounded(ns))
    }

    /// A duration that is a bound, to stand beside the same figure as [`duration`] writes it: with a fourth digit where
    /// three would read like another figure.
    pub(crate) fn beside(self, ns: u64) -> String {
        let (of_three, nearest) = (self.duration(ns), duration(ns));
        if without_zeros(&of_three) == without_zeros(&nearest) {
            return without_zeros(&of_three);
        }
        let (name, length, step, decimals) = match *unit(ns) {
            (name, length, _) if ns / length < 10 => (name, length, length / 1_000, 3),
            (name, length, _) if ns / length < 100 => (name, length, length / 100, 2),
            (name, length, _) => (name, length, length / 10, 1),
        };
        let below = ns - ns % step.max(1);
        let bound =
            if self == Bound::Upper && below < ns { below.saturating_add(step.max(1)) } else { below };
        let number = format!("{:.decimals$}", bound as f64 / length as f64);
        format!("{}{UNIT}{name}", trim(&thousands(&number)))
    }

    /// A share from 0 to 1 that is a bound, as a percentage.
    pub(crate) fn percent(self, share: f64) -> String {
        percent(self.to_digits(share * 100.0, 3) / 100.0)
    }

    /// Three digits of a number, and no more than `decimals_max` decimals.
    pub(crate) fn to_digits(self, value: f64, decimals_max: i32) -> f64 {
        let size = value.abs();
        let decimals = if size < 1.0 { decimals_max } else { (2 - size.log10().floor() as i32).max(0) };
        let step = 10f64.powi(decimals.min(decimals_max));
        // What the product of two floats may have added or lost is not a reason for a step.
        let steps = value * step;
        match self {
            Bound::Lower => (steps + 1e-9).floor() / step,
            // A zero without a sign.
            Bound::Upper => (steps - 1e-9).ceil() / step + 0.0,
        }
    }

    /// The nearest duration on this side that `duration` shows as it is.
    fn rounded(self, ns: u64) -> u64 {
        let unit = unit(ns);
        let step = match ns / unit.1 {
            0..10 => unit.1 / 100,
            10..100 => unit.1 / 10,
            _ => unit.1,
        }
        .max(1);
        let below = ns - ns % step;
        match self {
            Bound::Upper if below < ns => below.saturating_add(step),
            _ => below,
        }
    }
}

/// Longer than a duration: `> 5 s`. A bound says no more than it must, so it has no zeros at its end.
pub fn above(ns: u64) -> String {
    format!(">{UNIT}{}", least(ns))
}

/// A duration of which is known that it was not shorter than this: `5 s`, without zeros at its end.
pub fn least(ns: u64) -> String {
    without_zeros(&Bound::Lower.duration(ns))
}

fn without_zeros(text: &str) -> String {
    match text.split_once(UNIT) {
        Some((number, unit)) => format!("{}{UNIT}{unit}", trim(number)),
        None => text.into(),
    }
}

/// The unit in which a duration is written; the last one has no end.
fn unit(ns: u64) -> &'static (&'static str, u64, u64) {
    UNITS.iter().find(|(_, length, below)| ns / length < *below).unwrap_or(&UNITS[UNITS.len() - 1])
}

/// From a lower bound to an upper one; a unit that both have stands once: `405–415 ms`, `980 µs–1.02 ms`.
pub(crate) fn between(low_ns: u64, high_ns: u64) -> String {
    let (low, high) = (three_of(Bound::Lower.rounded(low_ns)), three_of(Bound::Upper.rounded(high_ns)));
    match (low.split_once(UNIT), high.split_once(UNIT)) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number}–{high}"),
        _ => format!("{low}–{high}"),
    }
}

/// An estimate: three digits also of a whole number of its unit, which it is by chance.
fn three_of(ns: u64) -> String {
    let text = duration(ns);
    match text.split_once(UNIT) {
        Some((number, unit)) if unit != UNITS[0].0 && !number.contains(['.', THOUSANDS]) => {
            let value: f64 = number.parse().unwrap_or_default();
            format!("{}{UNIT}{unit}", three_fixed(value))
        }
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::super::plain;
    use super::*;

    #[test]
    fn a_bound_is_rounded_to_its_side() {
        for (ns, low, high) in [
            (0, "0 ns", "0 ns"),
            (999, "999 ns", "999 ns"),
            (1_001, "1 µs", "1.01 µs"),
            (311_700_000, "311 ms", "312 ms"),
            (999_999_999, "999 ms", "1 s"),
            (9_999_000_000, "9.99 s", "10 s"),
            (119_900_000_000, "119 s", "2 min"),
            (120_000_000_001, "2 min", "2.01 min"),
            (5_000_000_000, "5 s", "5 s"),
        ] {
            assert_eq!(plain(&Bound::Lower.duration(ns)), low, "{ns} ns");
            assert_eq!(plain(&Bound::Upper.duration(ns)), high, "{ns} ns");
        }
        assert_eq!(plain(&above(2_009_000_000)), "> 2 s");
        for (share, low, high) in [
            (0.0, "0 %", "0 %"),
            (0.049_81, "4.98 %", "4.99 %"),
            (0.29, "29 %", "29 %"),
            (0.999_96, "99.9 %", "100 %"),
        ] {
            assert_eq!(plain(&Bound::Lower.percent(share)), low, "{share}");
            assert_eq!(plain(&Bound::Upper.percent(share)), high, "{share}");
        }
    }

    /// The headline has 19.5 ms.
    #[test]
    fn a_bound_does_not_read_like_another_figure() {
        for (ns, low, high) in [
            (19_480_575, "19.48 ms", "19.5 ms"),
            (410_200_000, "410 ms", "410.2 ms"),
            (9_741_609, "9.74 ms", "9.742 ms"),
            (1_013_000_000, "1.01 s", "1.013 s"),
            (311_700_000, "311.7 ms", "312 ms"),
            (5_000_000_000, "5 s", "5 s"),
            (999_999_999, "999.9 ms", "1 s"),
            (873, "873 ns", "873 ns"),
        ] {
            assert_eq!(plain(&Bound::Lower.beside(ns)), low, "{ns} ns");
            assert_eq!(plain(&Bound::Upper.beside(ns)), high, "{ns} ns");
        }
    }

    #[test]
    fn a_unit_in_common_stands_once() {
        assert_eq!(plain(&between(405_000_000, 415_000_000)), "405–415 ms");
        assert_eq!(plain(&between(980_000, 1_020_000)), "980 µs–1.02 ms");
        // One way of writing on both sides.
        assert_eq!(plain(&between(9_990_000, 10_000_000)), "9.99–10.0 ms");
        assert_eq!(plain(&between(5_000_000_000, 6_010_000_000)), "5.00–6.01 s");
        assert_eq!(plain(&between(70, 900)), "70–900 ns");
        assert_eq!(plain(&between(405_900_000, 415_100_000)), "405–416 ms", "outwards");
    }
}
