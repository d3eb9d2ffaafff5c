//! Figures as people read them. A number and its unit don't part (U+00A0), nor do thousands (U+202F).

use unblink_core::time::{MICROSECOND_NS, MILLISECOND_NS, Nanos, SECOND_NS};

const UNIT_SPACE: char = '\u{a0}';
const THOUSANDS: char = '\u{202f}';
const MINUTE_NS: u64 = 60 * SECOND_NS;

/// Where a figure goes that has more digits than are shown. A bound goes to its own side, so that no more is claimed
/// than is known: what is above 311.7 ms is above 311 ms, and not above 312 ms.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Round {
    /// An estimate.
    Nearest,
    /// A lower bound.
    Down,
    /// An upper bound.
    Up,
}

impl Round {
    /// With this many decimals; the nearest is left to the formatting.
    pub(crate) fn to(self, value: f64, decimals: usize) -> f64 {
        let ones = 10f64.powi(decimals as i32);
        // What the product of two floats may have added or lost is not a reason for a step.
        match self {
            Round::Nearest => value,
            Round::Down => (value * ones + 1e-9).floor() / ones,
            // A zero without a sign.
            Round::Up => (value * ones - 1e-9).ceil() / ones + 0.0,
        }
    }
}

/// Three significant digits with the unit that fits: `12.3 ms`, `980 µs`, `31.0 s`, `16.7 min`.
pub(crate) fn duration(d: Nanos) -> String {
    duration_to(Round::Nearest, d)
}

/// The same, rounded as it is said.
pub(crate) fn duration_to(round: Round, d: Nanos) -> String {
    if d.0 >= 2 * MINUTE_NS {
        let (scale, unit) = if d.0 >= 120 * MINUTE_NS { (60 * MINUTE_NS, "h") } else { (MINUTE_NS, "min") };
        let tenths = round.to(d.0 as f64 * 10.0 / scale as f64, 0).round();
        return format!("{}{UNIT_SPACE}{unit}", tenths / 10.0);
    }
    let units = [(SECOND_NS, "s"), (MILLISECOND_NS, "ms"), (MICROSECOND_NS, "µs"), (1, "ns")];
    let (scale, unit) = units.into_iter().find(|(scale, _)| d.0 >= *scale).unwrap_or((1, "ns"));
    let value = d.0 as f64 / scale as f64;
    let decimals = match value {
        _ if scale == 1 || value.fract() == 0.0 => 0,
        v if v < 9.995 => 2,
        v if v < 99.95 => 1,
        _ => 0,
    };
    format!("{:.decimals$}{UNIT_SPACE}{unit}", round.to(value, decimals))
}

/// Whole numbers in groups of three: `60 000`.
pub(crate) fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(THOUSANDS);
        }
        out.push(digit);
    }
    out
}

/// Per second, so that no rate reads as none: `0.0417/s`, `100.5/s`, `50 000/s`.
pub(crate) fn rate(round: Round, per_s: f64) -> String {
    if per_s >= 10_000.0 || per_s.fract() == 0.0 {
        return format!("{}/s", count(round.to(per_s, 0).round() as u64));
    }
    let decimals = if per_s >= 100.0 { 1 } else { (2.0 - per_s.log10().floor()).clamp(0.0, 12.0) as usize };
    let text = format!("{:.decimals$}", round.to(per_s, decimals));
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let whole = count(whole.parse().unwrap_or_default());
    match fraction.trim_end_matches('0') {
        "" => format!("{whole}/s"),
        fraction => format!("{whole}.{fraction}/s"),
    }
}

/// `1 203 of 60 000`.
pub(crate) fn of(part: u64, whole: u64) -> String {
    format!("{} of {}", count(part), count(whole))
}

/// A share in percent to three digits, never rounded up to a whole that it isn't: `33.3 %`, `99.97 %`.
pub(crate) fn percent(share: f64) -> String {
    percent_to(Round::Nearest, share)
}

/// The same, rounded as it is said.
pub(crate) fn percent_to(round: Round, share: f64) -> String {
    let percent = share * 100.0;
    let (decimals, round) = match percent {
        p if p < 1.0 => (3, round),
        p if p < 10.0 => (2, round),
        p if p < 99.9 => (1, round),
        p if p < 99.99 => (2, round),
        // An estimate never goes up to all of it.
        _ => (3, if round == Round::Nearest { Round::Down } else { round }),
    };
    let ones = 10f64.powi(decimals as i32);
    let rounded = (round.to(percent, decimals) * ones).round() / ones;
    format!("{rounded}{UNIT_SPACE}%")
}

/// `p99.9` for 0.999.
pub(crate) fn percentile(q: f64) -> String {
    format!("p{}", (q * 1e6).round() / 1e4)
}

/// `1 arrival`, `1 203 arrivals`.
pub(crate) fn arrivals(n: u64) -> String {
    plural(n, "arrival", "arrivals")
}

/// The verb for this many.
pub(crate) fn were(n: u64) -> &'static str {
    if n == 1 { "was" } else { "were" }
}

/// A count with the noun that fits it.
pub(crate) fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A bound that is shown is never a stronger claim than the one that is known.
        #[test]
        fn no_bound_claims_more_than_is_known(ns in 0u64..20_000_000_000_000, share in 0.0f64..=1.0, per_s in 0.1f64..1e6) {
            // A rounding of the float that is read back is not a claim.
            let shown = |text: String, known: f64, round| {
                let (number, unit) = text.split_once([UNIT_SPACE, '/']).expect("a unit");
                let number: f64 = number.replace(THOUSANDS, "").parse().expect("a number");
                let scale = match unit {
                    "h" => 3.6e12,
                    "min" => 6e10,
                    "s" if known < 2e6 => 1.0,
                    "s" => 1e9,
                    "ms" => 1e6,
                    "µs" => 1e3,
                    "%" => 0.01,
                    _ => 1.0,
                };
                let (shown, slack) = (number * scale, known * 1e-9 + 1e-12);
                match round {
                    Round::Up => shown >= known - slack,
                    _ => shown <= known + slack,
                }
            };
            for round in [Round::Down, Round::Up] {
                prop_assert!(shown(duration_to(round, Nanos(ns)), ns as f64, round), "{ns} {round:?}");
                prop_assert!(shown(percent_to(round, share), share, round), "{share} {round:?}");
                prop_assert!(shown(rate(round, per_s), per_s, round), "{per_s} {round:?}");
            }
        }
    }

    #[test]
    fn figures_read_well() {
        let plain = |s: String| s.replace([UNIT_SPACE, THOUSANDS], " ");
        for (ns, text) in [
            (0, "0 ns"),
            (999, "999 ns"),
            (12_345, "12.3 µs"),
            (1_000_000, "1 ms"),
            (1_234_567, "1.23 ms"),
            (999_400_000, "999 ms"),
            (5_000_000_000, "5 s"),
            (31_041_000_000, "31.0 s"),
            (119_000_000_000, "119 s"),
            (120_000_000_000, "2 min"),
            (1_000_000_000_000, "16.7 min"),
            (9_000_000_000_000, "2.5 h"),
        ] {
            assert_eq!(plain(duration(Nanos(ns))), text);
        }
        for (per_s, text) in [
            (0.0, "0/s"),
            (0.000_277_8, "0.000278/s"),
            (0.041_67, "0.0417/s"),
            (0.5, "0.5/s"),
            (9.999, "10/s"),
            (12.34, "12.3/s"),
            (100.42, "100.4/s"),
            (1_234.56, "1 234.6/s"),
            (50_000.4, "50 000/s"),
        ] {
            assert_eq!(plain(rate(Round::Nearest, per_s)), text);
        }
        assert_eq!(plain(of(1_203, 60_000)), "1 203 of 60 000");
        assert_eq!(plain(count(1_000_000)), "1 000 000");
        assert_eq!(plain(percent(0.999_99)), "99.999 %");
        assert_eq!(plain(percent(0.999_568_93)), "99.96 %", "as in the account");
        assert_eq!(plain(percent(0.999_999_9)), "99.999 %");
        assert_eq!(plain(percent(0.000_5)), "0.05 %");
        assert_eq!(plain(percent(1.0 / 3.0)), "33.3 %");
        assert_eq!(plain(percent(0.29)), "29 %");
        assert_eq!(
            (percentile(0.5), percentile(0.999), percentile(0.9999)),
            ("p50".into(), "p99.9".into(), "p99.99".into())
        );
        assert_eq!((arrivals(1), arrivals(2)), ("1 arrival".into(), "2 arrivals".into()));
    }
}
