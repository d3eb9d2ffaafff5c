//! Does the target fall behind, so that latency measures only how long was waited?
//!
//! Looked at is the last half of a hold. Answers below what falls due is not enough: a single stall at
//! the end has the same balance. So the half is cut into stretches, and in each the unanswered must grow,
//! or have stopped growing only because the timeout removes them.

use super::{Case, found, pool, share};
use crate::evidence::{Evidence, Model, Row};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use crate::thresholds::{
    SAMPLES_ABOVE_MIN, SATURATED_ANSWERED_SHARE, SATURATED_GROWTH_SHARE, SATURATED_LEVEL_SHARE,
    SATURATED_STRETCHES, TOO_SHORT_UNANSWERED_SHARE,
};
use unblink_core::time::Nanos;

/// A single stretch shows no growth.
const STRETCHES_MIN: usize = 2;

pub(super) fn saturated(case: &Case<'_>) -> Option<Finding> {
    let evidence = case.evidence;
    if evidence.model == Model::Closed || !evidence.is_hold {
        return None;
    }
    let (first, rows) = late_half(evidence);
    let stretches = rows.len().min(SATURATED_STRETCHES);
    if stretches < STRETCHES_MIN {
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
    let best_per_s = best_per_second(case);
    let narrowest = narrowest(case, rows.last()?);
    found(
        FindingCode::Saturated,
        Severity::Invalidates,
        format!(
            "{} can't carry this load: in the last {} {} arrivals were answered, and the rest piled up. Latency \
             says only how long was waited.",
            narrowest.name(case),
            text::duration(Nanos((seconds * 1e9).round() as u64)),
            text::of(answered, due)
        ),
        narrowest.remedy(best_per_s),
        vec![
            ("answered", answered as f64),
            ("due", due as f64),
            ("answered_share", share(answered, due)),
            ("answered_per_s", answered as f64 / seconds),
            ("answered_per_s_best", best_per_s),
            ("unanswered_at_end", before as f64),
            (crate::validity::GENERATOR_IS_NARROWEST, f64::from(u8::from(narrowest == Narrowest::Generator))),
        ],
    )
}

/// What the arrivals pile up before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Narrowest {
    Target,
    Pool,
    Generator,
}

/// What waits in the target is in flight. What piles up unsent waits for a connection: for one of a pool at its
/// limit, or for the generator to get round to it.
fn narrowest(case: &Case<'_>, last: &Row) -> Narrowest {
    let lag = case.evidence.totals.counters.lag;
    if last.in_flight >= last.backlog {
        Narrowest::Target
    } else if lag.no_connection >= lag.connecting {
        Narrowest::Pool
    } else {
        Narrowest::Generator
    }
}

impl Narrowest {
    fn name(&self, case: &Case<'_>) -> String {
        match self {
            Narrowest::Target => "The target".to_string(),
            Narrowest::Pool => format!("The client's {}", pool::connections(case)),
            Narrowest::Generator => "The generator".to_string(),
        }
    }

    fn remedy(&self, best_per_s: f64) -> String {
        let best = text::count(best_per_s.round() as u64);
        match self {
            Narrowest::Target if best_per_s < 0.5 => {
                "Find out why the target does not answer; it did not do so in any second.".to_string()
            }
            Narrowest::Target => format!(
                "Measure latency at a lower rate: in its best second the target answered {best}/s, and under a \
                 full queue it may carry less."
            ),
            Narrowest::Pool => format!(
                "Allow more connections (-c): each carries one request at a time, and these carried {best}/s at \
                 best. The target may well carry more."
            ),
            Narrowest::Generator => format!(
                "Give the generator more processors (-t) or machines of its own: it could not open connections \
                 and send as fast as arrivals fell due. At best {best}/s were answered."
            ),
        }
    }
}

/// Growth takes two stretches to show. Without them, much left unanswered when the load ends may mean a
/// saturated target, or one that takes its time.
pub(super) fn too_short(case: &Case<'_>) -> Option<Finding> {
    let evidence = case.evidence;
    let is_judged = late_half(evidence).1.len() >= STRETCHES_MIN;
    if evidence.model == Model::Closed || !evidence.is_hold || evidence.is_part || is_judged {
        return None;
    }
    let unanswered = evidence.rows.iter().find(|row| row.end() >= evidence.load_to)?.level();
    if share(unanswered, evidence.scheduled) <= TOO_SHORT_UNANSWERED_SHARE || unanswered < SAMPLES_ABOVE_MIN {
        return None;
    }
    found(
        FindingCode::TooShort,
        Severity::Degrades,
        format!(
            "The run is too short to tell whether the target keeps up: {} were unanswered when the load ended.",
            text::of(unanswered, evidence.scheduled)
        ),
        "Measure for at least 5 s, and for several times as long as an answer takes.",
        vec![("unanswered", unanswered as f64), ("scheduled", evidence.scheduled as f64)],
    )
}

/// The rows of the last half of the load, and the place of the first of them.
fn late_half(evidence: &Evidence<'_>) -> (usize, Vec<Row>) {
    let middle = evidence.load_from + Nanos(evidence.load_length().0 / 2);
    let is_late = |row: &&Row| row.start + Nanos(row.length.0 / 2) >= middle && row.end() <= evidence.load_to;
    let first = evidence.rows.iter().position(|row| is_late(&row)).unwrap_or(evidence.rows.len());
    (first, evidence.rows[first..].iter().filter(is_late).copied().collect())
}

/// The most that the target answered per second in any row while the load lasted.
fn best_per_second(case: &Case<'_>) -> f64 {
    let evidence = case.evidence;
    let in_load = |row: &&Row| row.start >= evidence.load_from && row.end() <= evidence.load_to;
    let per_second = |row: &Row| row.answered as f64 / row.length.as_secs_f64().max(1e-9);
    evidence.rows.iter().filter(in_load).map(per_second).fold(0.0, f64::max)
}
