//! Does the target fall behind, so that latency measures only how long was waited?
//!
//! Looked at is the last half of a hold. Answers below what falls due is not enough: a single stall at
//! the end has the same balance. So the half is cut into stretches, and in each the unanswered must grow,
//! or have stopped growing only because the timeout removes them.

use super::{Case, found, share};
use crate::evidence::{Model, Row};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use crate::thresholds::{
    SATURATED_ANSWERED_SHARE, SATURATED_GROWTH_SHARE, SATURATED_LEVEL_SHARE, SATURATED_STRETCHES,
};
use unblink_core::time::Nanos;

pub(super) fn saturated(case: &Case<'_>) -> Option<Finding> {
    let evidence = case.evidence;
    if evidence.model == Model::Closed || !evidence.is_hold {
        return None;
    }
    let middle = evidence.load_from + Nanos(evidence.load_length().0 / 2);
    let is_late_half =
        |row: &&Row| row.start + Nanos(row.length.0 / 2) >= middle && row.end() <= evidence.load_to;
    let first = evidence.rows.iter().position(|row| is_late_half(&row))?;
    let rows: Vec<Row> = evidence.rows[first..].iter().filter(is_late_half).copied().collect();
    // A single row shows no growth.
    let stretches = rows.len().min(SATURATED_STRETCHES);
    if stretches < 2 {
        return None;
    }
    let due: u64 = rows.iter().map(|r| r.due).sum();
    let answered: u64 = rows.iter().map(|r| r.answered).sum();
    if due == 0 || share(answered, due) >= SATURATED_ANSWERED_SHARE {
        return None;
    }
    let mut before = first.checked_sub(1).map_or(0, |i| evidence.rows[i].level());
    for i in 0..stretches {
        let stretch = &rows[i * rows.len() / stretches..(i + 1) * rows.len() / stretches];
        let last = stretch.last()?;
        let due: u64 = stretch.iter().map(|r| r.due).sum();
        let seconds: f64 = stretch.iter().map(|r| r.length.as_secs_f64()).sum();
        let within_timeout = due as f64 / seconds * evidence.timeout.as_secs_f64();
        let grows = last.level() as f64 - before as f64 > SATURATED_GROWTH_SHARE * due as f64;
        let is_full = last.level() as f64 > SATURATED_LEVEL_SHARE * within_timeout;
        if !grows && !is_full {
            return None;
        }
        before = last.level();
    }
    let seconds: f64 = rows.iter().map(|r| r.length.as_secs_f64()).sum();
    let per_second = answered as f64 / seconds;
    found(
        FindingCode::Saturated,
        Severity::Invalidates,
        format!(
            "The target can't carry this load: in the last {} it answered {} arrivals, about {}/s, and the rest \
             piled up. Latency says only how long was waited.",
            text::duration(Nanos((seconds * 1e9).round() as u64)),
            text::of(answered, due),
            text::count(per_second.round() as u64)
        ),
        format!("Measure latency at a lower rate, well under {}/s.", text::count(per_second.round() as u64)),
        vec![
            ("answered", answered as f64),
            ("due", due as f64),
            ("answered_share", share(answered, due)),
            ("answered_per_s", per_second),
            ("unanswered_at_end", before as f64),
        ],
    )
}
