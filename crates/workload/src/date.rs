//! Dates of arrivals, on a clock that starts at a fixed time, so that a run can be repeated byte by byte.

/// 2026-01-01T00:00:00Z, in nanoseconds since 1970: when a load begins.
pub(crate) const ZERO_NS: u64 = 1_767_225_600_000_000_000;

/// Appends a time as RFC 3339 has it, in UTC with milliseconds.
pub(crate) fn write(since_1970_ns: u64, out: &mut Vec<u8>) {
    let (days, of_day_ms) = (since_1970_ns / 86_400_000_000_000, since_1970_ns / 1_000_000 % 86_400_000);
    let (year, month, day) = civil(days);
    let (seconds, ms) = (of_day_ms / 1_000, of_day_ms % 1_000);
    for (number, digits, before) in [
        (year, 4, None),
        (month, 2, Some(b'-')),
        (day, 2, Some(b'-')),
        (seconds / 3_600, 2, Some(b'T')),
        (seconds / 60 % 60, 2, Some(b':')),
        (seconds % 60, 2, Some(b':')),
        (ms, 3, Some(b'.')),
    ] {
        out.extend(before);
        padded(number, digits, out);
    }
    out.push(b'Z');
}

fn padded(number: u64, digits: u32, out: &mut Vec<u8>) {
    out.extend((0..digits).rev().map(|place| b'0' + (number / 10u64.pow(place) % 10) as u8));
}

/// Year, month and day of the day with this number since 1970-01-01, by the algorithm of Howard Hinnant
/// ("chrono-compatible low-level date algorithms").
fn civil(days: u64) -> (u64, u64, u64) {
    let from_0000 = days + 719_468;
    let (era, of_era) = (from_0000 / 146_097, from_0000 % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates() {
        for (ns, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399_999_000_000, "2000-02-28T23:59:59.999Z"),
            (951_782_400_000_000_000, "2000-02-29T00:00:00.000Z"),
            (ZERO_NS, "2026-01-01T00:00:00.000Z"),
            (ZERO_NS + 86_400_000_000_000 * 365 + 61_001_000_000, "2027-01-01T00:01:01.001Z"),
        ] {
            let mut out = Vec::new();
            write(ns, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
