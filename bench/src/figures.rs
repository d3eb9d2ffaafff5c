//! Medians, spreads and ratios over rounds, and how they are written.

/// Several rounds of one figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub median: f64,
    pub min: f64,
    pub max: f64,
    pub rounds: usize,
}

impl Spread {
    /// `None` without any value. The median of an even number is the mean of the two in the middle.
    pub(crate) fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut values: Vec<f64> = values.into_iter().collect();
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median =
            if values.len() % 2 == 1 { values[middle] } else { (values[middle - 1] + values[middle]) / 2.0 };
        Some(Spread { median, min, max, rounds: values.len() })
    }

    /// `median (min–max)`, or the value alone when there is one round.
    pub(crate) fn text(&self) -> String {
        self.text_with(three_digits)
    }

    /// The same, with every number written by `write`.
    pub(crate) fn text_with(&self, write: fn(f64) -> String) -> String {
        match self.rounds {
            1 => write(self.median),
            _ => format!("{} ({}–{})", write(self.median), write(self.min), write(self.max)),
        }
    }
}

/// Three significant digits, whole numbers in full from 1,000 on: `0.0123`, `4.56`, `78.9`, `123`, `164,000`.
pub(crate) fn three_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    let step = 10f64.powi(magnitude - 2);
    let rounded = (value / step).round() * step;
    // Rounding may have added a digit before the point: 9.996 is 10.0.
    let magnitude = rounded.abs().log10().floor() as i32;
    with_commas(&format!("{rounded:.*}", (2 - magnitude).max(0) as usize))
}

/// A number of things, in full: `149,998`.
pub(crate) fn whole(value: f64) -> String {
    with_commas(&format!("{value:.0}"))
}

fn with_commas(number: &str) -> String {
    let (whole, fraction) = number.split_once('.').map_or((number, None), |(w, f)| (w, Some(f)));
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|g| std::str::from_utf8(g).ok()).collect();
    let fraction = fraction.map_or(String::new(), |fraction| format!(".{fraction}"));
    format!("{sign}{}{fraction}", groups.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(Spread::of([3.0, 1.0, 2.0]), Some(Spread { median: 2.0, min: 1.0, max: 3.0, rounds: 3 }));
        assert_eq!(Spread::of([4.0, 1.0]).map(|s| s.median), Some(2.5));
        assert_eq!(Spread::of([]), None);
    }

    #[test]
    fn numbers_have_three_digits_that_mean_something() {
        for (value, text) in [
            (0.0, "0"),
            (0.012_345, "0.0123"),
            (4.4, "4.40"),
            (9.996, "10.0"),
            (78.94, "78.9"),
            (999.6, "1,000"),
            (164_321.0, "164,000"),
            (2_345_678.0, "2,350,000"),
            (-1_234.0, "-1,230"),
        ] {
            assert_eq!(three_digits(value), text);
        }
        assert_eq!([whole(149_998.0), whole(12.0)], ["149,998", "12"]);
    }

    #[test]
    fn one_round_has_no_spread() {
        assert_eq!(Spread::of([7.0]).map(|s| s.text()).as_deref(), Some("7.00"));
        assert_eq!(Spread::of([1.0, 2.0, 4.0]).map(|s| s.text()).as_deref(), Some("2.00 (1.00–4.00)"));
    }
}
