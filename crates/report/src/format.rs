//! Numbers as people read them: three significant digits, a unit, narrow spaces in thousands.
//!
//! The space between a number and its unit is U+00A0 and that in thousands U+202F, so that no line breaks
//! inside a figure. [`plain`] turns both into ordinary spaces for a terminal.

mod bound;

pub(crate) use bound::between;
pub use bound::{Bound, above, least};

const THOUSANDS: char = '\u{202f}';
const UNIT: char = '\u{a0}';

/// Units of a duration: (unit, its length, the largest value shown in it). The page's script reads them, too.
pub(crate) const UNITS: [(&str, u64, u64); 7] = [
    ("ns", 1, 1_000),
    ("µs", 1_000, 1_000),
    ("ms", 1_000_000, 1_000),
    ("s", 1_000_000_000, 120),
    ("min", 60_000_000_000, 120),
    ("h", 3_600_000_000_000, 48),
    ("d", 86_400_000_000_000, u64::MAX),
];

/// A duration: `873 ns`, `10.1 ms`, `1.00 s`, `12.5 min`. A whole number of its unit has no decimals, so that
/// `10 ms` is exact and `10.0 ms` is rounded.
pub fn duration(ns: u64) -> String {
    for (unit, length, below) in UNITS {
        let value = ns as f64 / length as f64;
        let text = if ns.is_multiple_of(length) { format!("{value:.0}") } else { three_fixed(value) };
        // Compared after rounding: 999.9 µs reads `1 ms`, not `1000 µs`.
        let shown: f64 = text.parse().unwrap_or(value);
        if shown < below as f64 || below == u64::MAX {
            return format!("{}{UNIT}{unit}", thousands(&text));
        }
    }
    unreachable!("the last unit has no bound")
}

/// A whole number: `60 000`.
pub fn count(n: u64) -> String {
    thousands(&n.to_string())
}

/// Text by somebody else, its numbers with spaces between thousands.
pub(crate) fn spaced(text: &str) -> String {
    let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let whole = at + digits(&rest[at..]);
        // The points of `5..6` belong to neither.
        let fraction = rest[whole..].strip_prefix('.').map_or(0, digits);
        let end = if fraction > 0 { whole + 1 + fraction } else { whole };
        out += &rest[..at];
        out += &thousands(&rest[at..end]);
        rest = &rest[end..];
    }
    out + rest
}

/// A count with the noun that fits it: `1 arrival`, `1 203 arrivals`.
pub fn plural(n: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(n), if n == 1 { one } else { many })
}

/// A rate: `1 000/s`, `0.5/s`. One below 1/s that has more than two decimals is read better per minute or
/// per hour, if it is a whole number of these: `10/min`.
pub fn rate(per_s: f64) -> String {
    if !per_s.is_finite() {
        return "–".into();
    }
    let hundredths = per_s * 100.0;
    if per_s > 0.0 && per_s < 1.0 && (hundredths - hundredths.round()).abs() > 1e-6 {
        for (unit, seconds) in [("min", 60.0), ("h", 3_600.0)] {
            let whole = (per_s * seconds).round();
            let off = (per_s - whole / seconds).abs();
            if (1.0..60.0).contains(&whole) && off <= per_s * 1e-6 {
                return format!("{}/{unit}", thousands(&format!("{whole:.0}")));
            }
        }
    }
    // Three decimals hold nothing of a lower rate.
    if per_s > 0.0 && per_s < 0.001 {
        return format!("{}/h", three_digits(per_s * 3_600.0));
    }
    format!("{}/s", thousands(&three_or_whole(per_s)))
}

/// A rate that somebody has asked for: with all its decimals, up to three.
pub fn rate_asked(per_s: f64) -> String {
    if !per_s.is_finite() || per_s < 1.0 || per_s.fract() == 0.0 {
        return rate(per_s);
    }
    format!("{}/s", thousands(&trim(&format!("{per_s:.3}"))))
}

/// Rates that somebody has asked for at once: in one unit, where all of them are whole in it.
pub fn rates_asked(per_s: &[f64]) -> Vec<String> {
    let plain: Vec<String> = per_s.iter().map(|&rate| rate_asked(rate)).collect();
    let unit = |text: &String| text.rsplit('/').next().unwrap_or_default().to_string();
    if plain.iter().all(|text| unit(text) == unit(&plain[0])) {
        return plain;
    }
    let is_whole = |n: f64| (n - n.round()).abs() <= n.abs() * 1e-6;
    for (name, seconds) in [("min", 60.0), ("h", 3_600.0)] {
        if per_s.iter().all(|rate| is_whole(rate * seconds)) {
            let one = |rate: &f64| format!("{}/{name}", thousands(&format!("{:.0}", rate * seconds)));
            return per_s.iter().map(one).collect();
        }
    }
    plain
}

/// A share from 0 to 1 as a percentage with at most three decimals. What is not nothing never reads `0 %`,
/// and what is not all never reads `100 %`.
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return "–".into();
    }
    let percent = share * 100.0;
    let text = if share > 0.0 && percent < 0.001 {
        "< 0.001".to_string()
    } else if share < 1.0 && percent > 99.999 {
        "> 99.999".to_string()
    } else if share < 1.0 && percent > 99.0 {
        // Three significant digits would round to 100.
        let decimals = if percent > 99.99 {
            3
        } else if percent > 99.9 {
            2
        } else {
            1
        };
        let text = trim(&format!("{percent:.decimals$}"));
        if text == "100" { trim(&format!("{percent:.3}")) } else { text }
    } else {
        three_digits(percent)
    };
    format!("{text}{UNIT}%")
}

/// The part of a whole; `–` when there is no whole.
pub fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "–".into() } else { percent(part as f64 / whole as f64) }
}

/// `p50`, `p99.9`, `p99.99`.
pub fn quantile_label(q: f64) -> String {
    format!("p{}", trim(&format!("{:.6}", q * 100.0)))
}

/// A number of bytes: `512 B`, `12.5 MB` (powers of 1000).
pub fn bytes(n: u64) -> String {
    let mut value = n as f64;
    for unit in ["B", "kB", "MB", "GB"] {
        if value < 999.5 {
            return format!("{}{UNIT}{unit}", three_digits(value));
        }
        value /= 1_000.0;
    }
    format!("{}{UNIT}TB", thousands(&three_or_whole(value)))
}

/// A moment after t = 0, exact to a millisecond and short: `30 s`, `9.5 s`, `2 min 05 s`, `1 h 30 min`. Below
/// a second it has three digits in the unit that fits: `500 µs`, `100 ms`.
pub fn moment(ns: u64) -> String {
    if (1..999_500_000).contains(&ns) {
        let (unit, length) = match ns {
            0..1_000 => ("ns", 1),
            1_000..999_500 => ("µs", 1_000),
            _ => ("ms", 1_000_000),
        };
        return format!("{}{UNIT}{unit}", three_digits(ns as f64 / f64::from(length)));
    }
    let ms = ns.saturating_add(500_000) / 1_000_000;
    let (hours, minutes, seconds) = (ms / 3_600_000, ms / 60_000 % 60, ms % 60_000);
    let rest = |width: usize| {
        let text = trim(&format!("{:.3}", seconds as f64 / 1e3));
        let digits = text.split('.').next().unwrap_or("").len();
        format!("{}{text}", "0".repeat(width.saturating_sub(digits)))
    };
    if ms < 120_000 {
        format!("{}{UNIT}s", trim(&format!("{:.3}", ms as f64 / 1e3)))
    } else if hours == 0 && seconds == 0 {
        format!("{minutes}{UNIT}min")
    } else if hours == 0 {
        format!("{minutes}{UNIT}min{UNIT}{}{UNIT}s", rest(2))
    } else if minutes == 0 && seconds == 0 {
        format!("{hours}{UNIT}h")
    } else if seconds == 0 {
        format!("{hours}{UNIT}h{UNIT}{minutes:02}{UNIT}min")
    } else {
        format!("{hours}{UNIT}h{UNIT}{minutes:02}{UNIT}min{UNIT}{}{UNIT}s", rest(2))
    }
}

/// With ordinary spaces, for a terminal or a log.
pub fn plain(text: &str) -> String {
    text.replace([THOUSANDS, UNIT], " ")
}

/// Text by others with its figures held together: no line may break in `1 000` or before a unit.
pub(crate) fn hold_figures(text: &str) -> String {
    const UNITS: [&str; 8] = ["%", "ns", "µs", "ms", "s", "min", "h", "d"];
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(' ') {
        out.push_str(before);
        let next = after.split(' ').next().unwrap_or("");
        let next = next.trim_end_matches(|c: char| !c.is_alphanumeric() && c != '%');
        let digits = before.ends_with(|c: char| c.is_ascii_digit());
        let group = next.len() >= 3
            && next.bytes().take(3).all(|b| b.is_ascii_digit())
            && !next.as_bytes().get(3).is_some_and(u8::is_ascii_digit);
        out.push(match digits {
            true if group => THOUSANDS,
            true if UNITS.contains(&next) => UNIT,
            _ => ' ',
        });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Any finite number with about three digits: evidence of findings, whose units are in their names.
pub fn number(value: f64) -> String {
    if value.is_finite() { thousands(&three_or_whole(value)) } else { "–".into() }
}

fn three_or_whole(value: f64) -> String {
    if value.abs() >= 100.0 { format!("{value:.0}") } else { three_digits(value) }
}

fn three_digits(value: f64) -> String {
    trim(&three_fixed(value))
}

fn three_fixed(value: f64) -> String {
    let size = value.abs();
    let decimals = if size >= 99.95 {
        0
    } else if size >= 9.995 {
        1
    } else if size >= 0.9995 {
        2
    } else {
        3
    };
    format!("{value:.decimals$}")
}

fn trim(text: &str) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    } else {
        text.into()
    }
}

fn thousands(text: &str) -> String {
    let (sign, rest) = text.strip_prefix('-').map_or(("", text), |rest| ("-", rest));
    let (whole, fraction) = rest.split_once('.').map_or((rest, None), |(w, f)| (w, Some(f)));
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(THOUSANDS);
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}

/// `2026-01-31 12:00` of an RFC 3339 time in UTC.
pub(crate) fn minute(started_at: &str) -> String {
    started_at.get(..16).unwrap_or(started_at).replace('T', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_that_stand_together_have_one_unit() {
        let said =
            |per_min: [f64; 3]| rates_asked(&per_min.map(|n| n / 60.0)).join(", ").replace('\u{202f}', " ");
        assert_eq!(said([1.0, 2.0, 3.0]), "1/min, 2/min, 3/min");
        assert_eq!(said([60.0, 120.0, 180.0]), "1/s, 2/s, 3/s");
        assert_eq!(said([10.0, 60.0, 60_000.0]), "10/min, 60/min, 60 000/min");
    }

    #[test]
    fn durations_keep_three_digits_and_carry_into_the_next_unit() {
        for (ns, text) in [
            (0, "0 ns"),
            (873, "873 ns"),
            (999, "999 ns"),
            (1_000, "1 µs"),
            (999_400, "999 µs"),
            (999_600, "1.00 ms"),
            (10_123_456, "10.1 ms"),
            (9_996_000, "10.0 ms"),
            (10_000_000, "10 ms"),
            (99_960_000, "100 ms"),
            (410_200_000, "410 ms"),
            (999_999_999, "1.00 s"),
            (1_000_000_000, "1 s"),
            (1_234_000_000, "1.23 s"),
            (90_000_000_000, "90 s"),
            (119_900_000_000, "2.00 min"),
            (750_000_000_000, "12.5 min"),
            (3_600_000_000_000, "60 min"),
            (7_200_000_000_000, "2 h"),
            (86_400_000_000_000, "24 h"),
            (180_000_000_000_000, "2.08 d"),
            (u64::MAX, "213 504 d"),
        ] {
            assert_eq!(plain(&duration(ns)), text, "{ns} ns");
        }
    }

    #[test]
    fn counts_rates_and_bytes() {
        for (n, text) in
            [(0, "0"), (999, "999"), (1_000, "1 000"), (60_000, "60 000"), (1_234_567, "1 234 567")]
        {
            assert_eq!(plain(&count(n)), text);
        }
        for (r, text) in
            [(0.0, "0/s"), (0.5, "0.5/s"), (12.34, "12.3/s"), (999.96, "1 000/s"), (50_000.0, "50 000/s")]
        {
            assert_eq!(plain(&rate(r)), text);
        }
        for (r, text) in [
            (1.0 / 6.0, "10/min"),
            (0.167, "0.167/s"),
            (1.0 / 1_800.0, "2/h"),
            (1.0 / 3.0, "20/min"),
            (1.0 / 86_400.0, "0.042/h"),
            (0.017, "0.017/s"),
            (0.25, "0.25/s"),
            (10.0 / 3_600.0, "10/h"),
            (0.001, "0.001/s"),
            (0.837, "0.837/s"),
            (59.0 / 60.0, "59/min"),
        ] {
            assert_eq!(plain(&rate(r)), text);
        }
        for (r, text) in
            [(100.0, "100/s"), (100.5, "100.5/s"), (1_234.567, "1 234.567/s"), (1.0 / 6.0, "10/min")]
        {
            assert_eq!(plain(&rate_asked(r)), text);
        }
        assert_eq!(rate(f64::NAN), "–");
        for (n, text) in [(0, "0 B"), (999, "999 B"), (1_500, "1.5 kB"), (12_000_000, "12 MB")] {
            assert_eq!(plain(&bytes(n)), text);
        }
    }

    #[test]
    fn a_percentage_hides_neither_the_first_nor_the_last() {
        for (s, text) in [
            (0.0, "0 %"),
            (0.000_001, "< 0.001 %"),
            (0.000_05, "0.005 %"),
            (0.0167, "1.67 %"),
            (1.0 / 3.0, "33.3 %"),
            (0.29, "29 %"),
            (0.5, "50 %"),
            (0.983, "98.3 %"),
            (0.999, "99.9 %"),
            (0.999_96, "99.996 %"),
            (0.999_999_9, "> 99.999 %"),
            (1.0, "100 %"),
        ] {
            assert_eq!(plain(&percent(s)), text, "{s}");
        }
        assert_eq!(share(1, 0), "–");
    }

    #[test]
    fn numbers_of_others_have_their_thousands_apart() {
        for (text, expected) in [
            ("1483.5/s", "1 483.5/s"),
            ("494.5/s..1483.5/s", "494.5/s..1 483.5/s"),
            ("5..10000", "5..10 000"),
            ("75% of knee", "75% of knee"),
            ("", ""),
        ] {
            assert_eq!(plain(&spaced(text)), expected);
        }
    }

    #[test]
    fn figures_of_others_are_held_together() {
        for (text, held) in [
            ("200 of 1 000 offered", "200 of 1\u{202f}000 offered"),
            ("them (4.78 %) in 10 ms, or", "them (4.78\u{a0}%) in 10\u{a0}ms, or"),
            ("at 5 2000 then  ", "at 5 2000 then  "),
        ] {
            assert_eq!(hold_figures(text), held);
        }
    }

    #[test]
    fn quantiles_and_moments() {
        for (q, text) in [(0.5, "p50"), (0.99, "p99"), (0.999, "p99.9"), (0.9999, "p99.99"), (1.0, "p100")] {
            assert_eq!(quantile_label(q), text);
        }
        for (ns, text) in [
            (0, "0 s"),
            (750, "750 ns"),
            (500_000, "500 µs"),
            (999_600, "1 ms"),
            (1_234_567, "1.23 ms"),
            (100_000_000, "100 ms"),
            (999_400_000, "999 ms"),
            (999_600_000, "1 s"),
            (9_500_000_000, "9.5 s"),
            (30_000_000_000, "30 s"),
            (125_000_000_000, "2 min 05 s"),
            (300_000_000_000, "5 min"),
            (5_400_000_000_000, "1 h 30 min"),
            (7_200_000_000_000, "2 h"),
        ] {
            assert_eq!(plain(&moment(ns)), text);
        }
    }
}
