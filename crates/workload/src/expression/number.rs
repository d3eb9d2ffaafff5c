//! Numbers as people write them: `1M`, `10k`, `1_000`, `4KiB`, `30%`, `0.99`.

/// Units of counts and of sizes, by what is written behind the digits.
const UNITS: [(&str, u64); 15] = [
    ("", 1),
    ("k", 1_000),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("TiB", 1 << 40),
];

/// A whole number: digits, perhaps with `_` or a fraction, and a unit. The error says what is wrong with it.
pub(crate) fn whole(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || c == '_' || c == '.')).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number = number.replace('_', "");
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() || fraction.contains('.') || (number.contains('.') && fraction.is_empty()) {
        return Err(if text.starts_with('-') {
            format!("`{text}` is negative; write a number from 0 on")
        } else {
            format!("`{text}` is not a number such as 1000, 10k, 1M or 4KiB")
        });
    }
    let Some((_, times)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        let message =
            format!("`{unit}` is not a unit; write k, M, G, T, or a size in B, kB, MB, KiB, MiB, GiB");
        return Err(message);
    };
    let too_large = || format!("`{text}` is too large: numbers end at 2^64 − 1");
    let scale = u32::try_from(fraction.len()).ok().and_then(|digits| 10u128.checked_pow(digits));
    let mantissa = format!("{whole}{fraction}").parse::<u128>().ok();
    let (scale, mantissa) = scale.zip(mantissa).ok_or_else(too_large)?;
    let product = mantissa.checked_mul(u128::from(*times)).ok_or_else(too_large)?;
    if !product.is_multiple_of(scale) {
        return Err(format!("`{text}` is not a whole number"));
    }
    u64::try_from(product / scale).map_err(|_| too_large())
}

/// A number that may have a fraction, such as an exponent.
pub(crate) fn real(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if number.is_finite() && text.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
            Ok(number)
        }
        _ => Err(format!("`{text}` is not a number such as 0.99")),
    }
}

/// A share from 0 to 1: `30%` or `0.3`.
pub(crate) fn share(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => real(percent)? / 100.0,
        None => real(text)?,
    };
    if (0.0..=1.0).contains(&share) {
        return Ok(share);
    }
    Err(format!("`{text}` is not a share; write one from 0% to 100%, or from 0 to 1"))
}

/// With narrow spaces between the thousands, as in all reports.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut shown = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push('\u{202f}');
        }
        shown.push(digit);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_and_fractions_come_out_whole() {
        for (text, number) in [
            ("0", 0),
            ("1_000", 1_000),
            ("10k", 10_000),
            ("1M", 1_000_000),
            ("1.5M", 1_500_000),
            ("0.5KiB", 512),
            ("4KiB", 4_096),
            ("1MiB", 1 << 20),
            ("2kB", 2_000),
            ("7B", 7),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(whole(text), Ok(number), "{text}");
        }
    }

    #[test]
    fn what_is_no_number_says_why() {
        for (text, why) in [
            ("", "is not a number such as"),
            ("k", "is not a number such as"),
            ("1.", "is not a number such as"),
            ("1.2.3", "is not a number such as"),
            ("-1", "is negative"),
            ("1.5", "is not a whole number"),
            ("1e6", "`e6` is not a unit"),
            ("1m", "`m` is not a unit"),
            ("18446744073709551616", "is too large"),
            ("99999999999999T", "is too large"),
            ("1.00000000000000000000000000000000000000000000001", "is too large"),
        ] {
            let error = whole(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
        for text in ["inf", "NaN", "", "x", "1e999", ".5"] {
            assert!(real(text).is_err(), "{text}");
        }
        for text in ["101%", "1.5", "-1%", "%"] {
            assert!(share(text).is_err(), "{text}");
        }
        assert_eq!((share("30%"), share("0.25"), share("100%")), (Ok(0.3), Ok(0.25), Ok(1.0)));
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!(
            [0, 999, 1_000, 1_234_567].map(grouped),
            ["0", "999", "1\u{202f}000", "1\u{202f}234\u{202f}567"]
        );
    }
}
