//! Rates on the command line, exactly as they are written.

use super::{duration, plain_number};
use unblink_core::schedule::{Phase, RAMP_LENGTH_MAX, RATE_MAX_PER_S, Rate};
use unblink_core::time::{Nanos, SECOND_NS};

/// The rate over time, before its length is known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Hold(Rate),
    Ramp(Rate, Rate),
    Steps(Vec<Rate>),
}

impl Shape {
    /// The shape over `duration`. Equal steps; what division leaves over goes to the last.
    pub(crate) fn over(&self, duration: Nanos) -> Vec<Phase> {
        match self {
            Shape::Hold(rate) => vec![Phase::hold(*rate, duration)],
            Shape::Ramp(from, to) => vec![Phase { from: *from, to: *to, duration }],
            Shape::Steps(rates) => {
                let each = Nanos(duration.0 / rates.len() as u64);
                let rest = Nanos(duration.0 - each.0 * (rates.len() as u64 - 1));
                let last = rates.len() - 1;
                let length = |i| if i == last { rest } else { each };
                rates.iter().enumerate().map(|(i, &rate)| Phase::hold(rate, length(i))).collect()
            }
        }
    }
}

/// `5000`, `5k`, `10M`, `50/s`, `50rps`, `30/m`, `100..5000`, `100,200,400`. Of several rates the last one's unit is that of all, or
/// each has its own.
pub(crate) fn shape(text: &str) -> Result<Shape, String> {
    let two = text.split_once("..").map(|(from, to)| vec![from, to]);
    let parts = two.clone().unwrap_or_else(|| text.split(',').collect());
    // Whoever writes `1,000` means a thousand, not a step of 1/s and one of nothing.
    if two.is_none() && parts.iter().skip(1).any(|step| step.starts_with('0') && step.len() > 1) {
        return Err(format!(
            "{text:?} is not a rate: commas separate steps; write 1000 or 1k for a thousand"
        ));
    }
    let (last, first) = parts.split_last().ok_or("a rate is expected")?;
    let own = first.iter().filter(|part| has_unit(part)).count();
    let (last_amount, common) = split_unit(last)?;
    if own > 0 && (own < first.len() || !has_unit(last)) {
        return Err(format!(
            "{text:?} is ambiguous: give each rate its unit, or one unit after the last for all of them"
        ));
    }
    let mut rates = Vec::with_capacity(parts.len());
    for part in first {
        let (amount, unit) = if own > 0 { split_unit(part)? } else { (*part, common) };
        rates.push(one_rate(amount, unit, text)?);
    }
    rates.push(one_rate(last_amount, common, text)?);
    match rates.as_slice() {
        [from, to] if two.is_some() => Ok(Shape::Ramp(*from, *to)),
        [rate] if rate.is_zero() => {
            Err("the rate is 0: nothing would be sent (give a rate above 0, such as 50/s)".into())
        }
        [rate] => Ok(Shape::Hold(*rate)),
        _ => Ok(Shape::Steps(rates)),
    }
}

/// A single rate above 0.
pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    match shape(text)? {
        Shape::Hold(rate) => Ok(rate),
        _ => Err("a single rate is expected, such as 5000 or 50/s".into()),
    }
}

/// A single rate, or 0.
pub(crate) fn rate_or_none(text: &str) -> Result<Rate, String> {
    let (amount, unit) = split_unit(text)?;
    one_rate(amount, unit, text)
}

/// Requests per second, as many tools write it.
const RPS: &str = "rps";

fn has_unit(rate: &str) -> bool {
    rate.contains('/') || without_rps(rate).is_some()
}

fn without_rps(rate: &str) -> Option<&str> {
    let at = rate.len().checked_sub(RPS.len())?;
    let (amount, unit) = rate.split_at_checked(at)?;
    unit.eq_ignore_ascii_case(RPS).then_some(amount)
}

/// Splits `50/1s` or `50rps` into the amount and the length of its unit.
fn split_unit(text: &str) -> Result<(&str, Nanos), String> {
    let Some((amounts, unit)) = text.split_once('/') else {
        return Ok((without_rps(text).unwrap_or(text), Nanos::from_secs(1)));
    };
    let length = match unit {
        "s" | "sec" | "second" => Nanos::from_secs(1),
        "m" | "min" | "minute" => Nanos::from_secs(60),
        "h" | "hour" => Nanos::from_secs(3600),
        other => duration(other).map_err(|_| {
            format!("{text:?} is not a rate: after the / expected s, m, h or a time such as 10s")
        })?,
    };
    if length == Nanos::ZERO {
        return Err(format!("{unit:?} is too short for the unit of a rate (use /s, /m, /h or such as /10s)"));
    }
    Ok((amounts, length))
}

/// No rate is lower: one request in the longest ramp.
const RATE_MIN: (u64, u64) = (1, RAMP_LENGTH_MAX.0 / SECOND_NS);

/// Exactly what is written, as a fraction.
fn one_rate(amount: &str, unit: Nanos, whole: &str) -> Result<Rate, String> {
    let amount = amount.trim();
    // A small m would be taken for minutes as often as not.
    let written = amount.strip_suffix('m').filter(|digits| plain_number(digits).is_some());
    if let Some(digits) = written {
        return Err(format!(
            "{whole:?} is ambiguous: write {digits}M for millions, or {digits}/m for that many a minute"
        ));
    }
    let (amount, factor) = match amount.strip_suffix('M') {
        Some(digits) => (digits, 1_000_000),
        None => (amount, 1),
    };
    let amount = amount.to_ascii_lowercase();
    let (digits, factor) = match amount.strip_suffix('k').filter(|_| factor == 1) {
        Some(digits) => (digits, 1000),
        None => (amount.as_str(), factor),
    };
    no_number(digits, whole)?;
    let too_fine = || format!("{whole:?} has too many digits for a rate: give at most nine");
    let (before, behind) = digits.split_once('.').unwrap_or((digits, ""));
    let all = format!("{before}{behind}").replace('_', "");
    let scale = u32::try_from(behind.replace('_', "").len()).unwrap_or(u32::MAX);
    let above = || format!("{whole:?} is above the highest possible rate, {RATE_MAX_PER_S}/s");
    // In 128 bits: so many digits are above any rate, or finer than any.
    let (mut requests, mut seconds) = match all.parse::<u64>() {
        Ok(n) if scale <= 18 => {
            (u128::from(n) * factor * u128::from(SECOND_NS), 10u128.pow(scale) * u128::from(unit.0))
        }
        _ if before.len() > 18 => return Err(above()),
        _ => return Err(too_fine()),
    };
    let (mut a, mut b) = (requests, seconds);
    while b != 0 {
        (a, b) = (b, a % b);
    }
    (requests, seconds) = (requests / a, seconds / a);
    if requests > u128::from(RATE_MAX_PER_S) * seconds {
        return Err(above());
    }
    if requests > 0 && requests * u128::from(RATE_MIN.1) < seconds * u128::from(RATE_MIN.0) {
        return Err(format!("{whole:?} is below the lowest possible rate, one request in 24 h"));
    }
    let parts = u64::try_from(requests).ok().zip(u64::try_from(seconds).ok());
    let rate = parts.and_then(|(requests, seconds)| Rate::new(requests, seconds)).ok_or_else(too_fine)?;
    let held = unblink_core::schedule::common_seconds(&[Phase::hold(rate, Nanos(1))]);
    held.map(|_| rate).ok_or_else(too_fine)
}

/// What is wrong with an amount that is no plain number.
fn no_number(digits: &str, whole: &str) -> Result<(), String> {
    if plain_number(digits).is_some() {
        return Ok(());
    }
    let unsigned = digits.trim_start_matches(['+', '-']);
    Err(if unsigned == "nan" {
        format!("{whole:?} is not a number: give a rate above 0, such as 50/s")
    } else if unsigned == "inf" || unsigned == "infinity" {
        format!(
            "{whole:?}: no rate is infinite: give one (the highest is {RATE_MAX_PER_S}/s), or use --closed USERS to \
             send as fast as the target answers"
        )
    } else if digits.starts_with('-') && plain_number(unsigned).is_some() {
        format!("{whole:?} is negative: give a rate above 0, such as 50/s")
    } else {
        format!(
            "{whole:?} is not a rate: expected a number per second, such as 5000, 5k, 10M, 50/s, 50rps, 30/m"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milli(n: u64) -> Rate {
        Rate::from_milli(n)
    }

    #[test]
    fn rates() {
        let hold = |n| Ok(Shape::Hold(milli(n)));
        assert_eq!(shape("5000"), hold(5_000_000));
        assert_eq!(shape("5k"), hold(5_000_000));
        assert_eq!(shape("1.5k/s"), hold(1_500_000));
        assert_eq!(shape("50/1s"), hold(50_000));
        for (text, per_s) in
            [("1.5M", 1_500_000), ("10M/s", 10_000_000), ("100M", 100_000_000), ("1M..2M", 0)]
        {
            match per_s {
                0 => assert_eq!(shape(text), shape("1000k..2000k")),
                _ => assert_eq!(shape(text), hold(1000 * per_s), "{text}"),
            }
        }
        assert_eq!((shape("6M/m"), shape("0.1Mrps")), (shape("100k"), shape("100k")));
        for text in ["100rps", "100 rps", "100RPS", "0.1krps"] {
            assert_eq!(shape(text), hold(100_000), "{text}");
        }
        assert_eq!(shape("10..50rps"), shape("10/s..50/s"));
        assert_eq!(shape("10rps..120/m"), shape("10..2"));
        assert_eq!(shape("30/m"), hold(500));
        assert_eq!(shape("3/10s"), hold(300));
        assert_eq!(shape("100..5000"), Ok(Shape::Ramp(milli(100_000), milli(5_000_000))));
        assert_eq!(shape("0..60/m"), Ok(Shape::Ramp(milli(0), milli(1000))));
        assert_eq!(shape("1,2,3"), Ok(Shape::Steps(vec![milli(1000), milli(2000), milli(3000)])));
        // A unit for each, or one for all.
        assert_eq!(shape("10/m..60/m"), shape("10..60/m"));
        assert_eq!(shape("30/m..10/s"), Ok(Shape::Ramp(milli(500), milli(10_000))));
        assert_eq!(shape("1/s,2/s,180/m"), shape("1,2,3"));
        for bad in [
            "",
            "0",
            "-5",
            "nan",
            "inf",
            "1e5",
            "5x",
            "5/x",
            "1..",
            "1,,2",
            "200000k",
            "101M",
            "100000001",
            "1kM",
            "10m",
            "0.000001",
            "5/0s",
            "1,000",
            "10/x",
            "1/25h",
            "0.12345678901234567891",
            "99999999999999999999",
            "1.5e3",
            "0.3..x",
            "10/m..60",
            "1/s,2,3/s",
            "1/s..2/x",
            "rps",
            "5rps/s",
            "10rps..50",
            "€rps",
        ] {
            assert!(shape(bad).is_err(), "{bad}");
        }
        // What no whole number of thousandths is, too, is kept exactly.
        for (text, requests, seconds) in [
            ("10/m", 1, 6),
            ("2/h", 1, 1800),
            ("1/3s", 1, 3),
            ("1/24h", 1, 86_400),
            ("0.3335", 667, 2000),
            ("1_000.5", 2001, 2),
            ("0.1k/7ms", 100_000, 7),
            ("0.333333333", 333_333_333, 1_000_000_000),
        ] {
            assert_eq!(shape(text), Ok(Shape::Hold(Rate::new(requests, seconds).unwrap())), "{text}");
        }
        for (text, said) in [
            ("-5", "is negative"),
            ("-0.5/s", "is negative"),
            ("nan", "is not a number"),
            ("NaN", "is not a number"),
            ("inf", "no rate is infinite"),
            ("-infinity", "no rate is infinite"),
            ("5x", "is not a rate"),
            ("1.5m", "write 1.5M for millions, or 1.5/m"),
            ("100.000001M", "above the highest possible rate, 100000000/s"),
        ] {
            let error = shape(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn steps_fill_the_duration() {
        let phases = Shape::Steps(vec![milli(1), milli(2), milli(3)]).over(Nanos(100));
        assert_eq!(phases.iter().map(|p| p.duration.0).collect::<Vec<_>>(), [33, 33, 34]);
    }
}
