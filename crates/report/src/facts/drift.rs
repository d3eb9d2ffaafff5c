//! Whether a percentile rose or fell over the run by more than it varies from interval to interval.

use super::RowPercentile;

/// What a percentile did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drift {
    /// Level of the lowest part of the run.
    pub(crate) low_ns: u64,
    /// Level of the highest.
    pub(crate) high_ns: u64,
    pub(crate) how: How,
    /// Share of the parts that are slower than the lowest by as much as counts.
    pub(crate) slow_share: f64,
}

/// The course between the two levels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum How {
    /// Up, all the time.
    Rose,
    /// Up, at this moment.
    RoseAt(u64),
    /// Down, all the time.
    Fell,
    /// Down, at this moment.
    FellAt(u64),
    /// Up and down again: high from one moment to another.
    High(u64, u64),
}

/// Parts of the run that are compared, at most.
const PARTS_MAX: usize = 20;
/// Rows in a part at least.
const PART_ROWS_MIN: usize = 2;
/// Parts that are needed to speak of a course.
const PARTS_MIN: usize = 4;
/// The highest part is this many times the lowest.
const RATIO_MIN: f64 = 1.2;
/// And this many times further away from it than parts vary by chance.
const NOISES_MIN: f64 = 6.0;
/// A part counts as slow that has come so far from the lowest to the highest.
const SLOW_FROM: f64 = 0.5;
/// Parts that one step takes, at most: it may lie within one of them.
const STEP_PARTS_MAX: usize = 2;

/// One part: its level, and when it was.
struct Part {
    level: f64,
    from_ns: u64,
    to_ns: u64,
}

/// The course of a percentile over the rows in which it is known. Nothing where they don't differ by more than chance.
pub(crate) fn drift(rows: &[RowPercentile]) -> Option<Drift> {
    let known: Vec<(u64, u64, f64)> =
        rows.iter().filter_map(|row| Some((row.from_ns, row.to_ns, row.value?.ns as f64))).collect();
    let parts = known.len() / PART_ROWS_MIN;
    if parts < PARTS_MIN {
        return None;
    }
    let length = known.len().div_ceil(parts.min(PARTS_MAX));
    // How far neighbours are apart says how much is chance, whatever the course.
    let mut steps: Vec<f64> = known.windows(2).map(|pair| (pair[1].2 - pair[0].2).abs()).collect();
    let noise = median(&mut steps) / 0.6745 / std::f64::consts::SQRT_2 / (length as f64).sqrt();
    // A short rest would vary by more than the noise of a whole part: it belongs to the last one.
    let ends = (1..=known.len() / length)
        .map(|end| if end == known.len() / length { known.len() } else { end * length });
    let parts: Vec<Part> = ends.enumerate().map(|(i, end)| part(&known[i * length..end])).collect();
    let low = parts.iter().map(|part| part.level).fold(f64::INFINITY, f64::min);
    let high = parts.iter().map(|part| part.level).fold(0.0, f64::max);
    if low <= 0.0 || high < RATIO_MIN * low || high - low < NOISES_MIN * noise {
        return None;
    }
    let is_slow = |part: &&Part| part.level >= low + SLOW_FROM * (high - low);
    let slow = parts.iter().filter(is_slow).count();
    let slow_share =
        parts.iter().filter(|part| part.level >= RATIO_MIN * low).count() as f64 / parts.len() as f64;
    let (first, last) =
        (parts.iter().position(|part| is_slow(&part))?, parts.iter().rposition(|part| is_slow(&part))?);
    // Levels on their way; more of them than a step takes make a course.
    let near = |part: &&Part, level: f64| (part.level - level).abs() <= 0.15 * (high - low);
    let between = parts.iter().filter(|part| !near(part, low) && !near(part, high)).count();
    let is_step = between < STEP_PARTS_MAX;
    let how = match (first, last + 1 == parts.len()) {
        (0, true) => return None,
        (0, false) if is_step && slow == last + 1 => How::FellAt(parts[last].to_ns),
        (0, false) if slow == last + 1 => How::Fell,
        (_, true) if is_step && slow == parts.len() - first => How::RoseAt(parts[first].from_ns),
        (_, true) if slow == parts.len() - first => How::Rose,
        (0, false) | (_, true) => return None,
        _ if slow == last + 1 - first => How::High(parts[first].from_ns, parts[last].to_ns),
        _ => return None,
    };
    Some(Drift { low_ns: low.round() as u64, high_ns: high.round() as u64, how, slow_share })
}

fn part(rows: &[(u64, u64, f64)]) -> Part {
    let mut levels: Vec<f64> = rows.iter().map(|row| row.2).collect();
    Part {
        level: median(&mut levels),
        from_ns: rows.first().map_or(0, |row| row.0),
        to_ns: rows.last().map_or(0, |row| row.1),
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    // Of two the lower: one slow row does not make a part slow.
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_artifact::document::EndedQuantile;

    const S: u64 = 1_000_000_000;
    const MS: f64 = 1_000_000.0;

    fn course(seconds: u64, ms: impl Fn(u64) -> f64) -> Option<Drift> {
        let rows: Vec<RowPercentile> = (0..seconds)
            .map(|i| RowPercentile {
                from_ns: i * S,
                to_ns: (i + 1) * S,
                value: Some(EndedQuantile { ns: (ms(i) * MS) as u64, censored: false }),
            })
            .collect();
        drift(&rows)
    }

    /// Noise with a standard deviation of a tenth, from a fixed list.
    fn noise(i: u64) -> f64 {
        const DRAWN: [f64; 8] = [0.03, -0.12, 0.08, 0.17, -0.05, -0.14, 0.11, -0.02];
        DRAWN[(i as usize * 5 + i as usize / 8) % 8]
    }

    #[test]
    fn a_linear_rise_is_a_rise_over_the_run() {
        let rise = course(60, |i| 10.0 + 6.0 * i as f64 / 59.0).expect("a rise");
        assert_eq!(rise.how, How::Rose);
        assert!(rise.low_ns < 10_300_000 && rise.high_ns > 15_700_000, "{rise:?}");
        let fall = course(60, |i| 16.0 - 6.0 * i as f64 / 59.0).expect("a fall");
        assert_eq!(fall.how, How::Fell);
    }

    #[test]
    fn a_step_is_dated() {
        let step = course(60, |i| if i < 30 { 10.0 } else { 16.0 }).expect("a step");
        assert_eq!((step.how, step.low_ns, step.high_ns), (How::RoseAt(30 * S), 10_000_000, 16_000_000));
        assert!((step.slow_share - 0.5).abs() < 0.01);
        let high = course(60, |i| if (21..42).contains(&i) { 16.0 } else { 10.0 }).expect("a stretch");
        assert_eq!(high.how, How::High(21 * S, 42 * S));
    }

    #[test]
    fn noise_is_no_course() {
        assert_eq!(course(60, |i| 10.0 * (1.0 + noise(i))), None);
        assert_eq!(course(600, |i| 10.0 * (1.0 + 2.0 * noise(i))), None);
        assert_eq!(course(60, |_| 10.0), None);
        assert_eq!(course(5, |i| 10.0 + i as f64), None, "too short to speak of one");
        let noisy = course(60, |i| (10.0 + 6.0 * i as f64 / 59.0) * (1.0 + noise(i) / 2.0));
        assert!(noisy.is_some(), "a rise within noise is still one");
        // 41 rows make parts of 3 and a rest of 2, the lower of which would be the lowest of all.
        let rest = course(41, |i| if i >= 39 { 12.4 } else { 10.0 + noise(i) });
        assert_eq!(rest, None, "two rows are no part");
        // One second of sixty that is slow is an event.
        assert_eq!(course(60, |i| if i == 30 { 500.0 } else { 10.0 }), None);
    }
}
