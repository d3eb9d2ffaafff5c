//! Does the target fall behind, so that latency measures only how long was waited?
//!
//! Looked at is the last half of a hold. Answers below what falls due is not enough: a single stall at
//! the end has the same balance. So the half is cut into stretches, and in each the unanswered must grow,
//! or have stopped growing only because the timeout removes them. Of several origins each is judged by itself.

use super::{Case, found, generator, severity, share};
use crate::evidence::{Evidence, Model, Pool, Row};
use crate::finding::{Finding, FindingCode, Severity};
use crate::text;
use crate::thresholds::{
    BUSY_SHARE_DEGRADES, CONNECTIONS_ENOUGH, CONNECTIONS_SUGGESTED, SAMPLES_ABOVE_MIN,
    SATURATED_ANSWERED_SHARE, SATURATED_GROWTH_SHARE, SATURATED_LEVEL_SHARE, SATURATED_ORIGIN_SHARE,
    SATURATED_STRETCHES, TOO_SHORT_UNANSWERED_SHARE,
};
use std::borrow::Cow;
use unblink_core::record::{ConnectionCounts, Outcomes, Series, Track};
use unblink_core::time::Nanos;

/// A single stretch shows no growth.
const STRETCHES_MIN: usize = 2;

pub(super) fn saturated(case: &Case<'_>) -> Option<Finding> {
    let evidence = case.evidence;
    if evidence.model == Model::Closed || !evidence.is_hold || generator::is_script_the_limit(case) {
        return None;
    }
    // What was not told was not left unanswered.
    if super::agents::all_break_off(case) {
        return None;
    }
    let (all, origin) = (piled_up(evidence, evidence.rows), worst_origin(evidence));
    let piled_up = origin.as_ref().map(|(_, piled_up)| piled_up).or(all.as_ref())?;
    let subject = match origin.as_ref() {
        Some((number, _)) => Subject::origin(case, *number),
        None => Subject::whole(case),
    };
    let PiledUp { due, answered, seconds, unanswered, last } = *piled_up;
    let best_per_s = best_per_second(evidence, subject.rows);
    let working = working_on(&subject.service, best_per_s);
    let narrowest = narrowest(case, &subject, &last, working);
    let suggested = suggested_connections(case, &subject, &last, working);
    let is_part = all.is_none() && unanswered_share(evidence, due - answered) < SATURATED_ORIGIN_SHARE;
    let mut numbers = vec![
        ("answered", answered as f64),
        ("due", due as f64),
        ("answered_share", share(answered, due)),
        ("answered_per_s", answered as f64 / seconds),
        ("answered_per_s_best", best_per_s),
        ("unanswered_at_end", unanswered as f64),
        ("in_flight_at_end", last.in_flight as f64),
        (crate::moves::GENERATOR_IS_NARROWEST, f64::from(u8::from(narrowest == Narrowest::Generator))),
    ];
    if narrowest == Narrowest::Target && matches!(evidence.pool, Pool::Default { .. }) {
        numbers.push((crate::moves::TARGET_IS_NARROWEST, 1.0));
    }
    numbers.extend(suggested.map(|n| ("connections_suggested", n as f64)));
    numbers.extend(origin.as_ref().map(|(number, _)| ("origin", *number as f64)));
    found(
        FindingCode::Saturated,
        severity(is_part, Severity::Degrades, Severity::Invalidates),
        format!(
            "{} can't carry this load: in the last {} {} arrivals{} were answered, and the rest piled up. Latency \
             says only how long was waited.",
            narrowest.name(case, &subject),
            text::duration(Nanos((seconds * 1e9).round() as u64)),
            text::of(answered, due),
            subject.origin.map_or(String::new(), |name| format!(" for {name}"))
        ),
        narrowest.remedy(best_per_s, suggested, grows(case), case.evidence.places),
        numbers,
    )
}

/// What is judged: the run, or one of its several origins.
struct Subject<'a> {
    rows: &'a [Row],
    measured: &'a Outcomes,
    connections: ConnectionCounts,
    service: Cow<'a, Track<u64>>,
    /// The name of an origin.
    origin: Option<&'a str>,
}

impl<'a> Subject<'a> {
    fn whole(case: &Case<'a>) -> Subject<'a> {
        let Evidence { totals, rows, .. } = *case.evidence;
        Subject {
            rows,
            measured: &totals.counters.measured,
            connections: totals.counters.connections(),
            service: Cow::Borrowed(totals.track(Series::Service)),
            origin: None,
        }
    }

    fn origin(case: &Case<'a>, number: usize) -> Subject<'a> {
        let Evidence { totals, rows_by_origin, origins, .. } = *case.evidence;
        let Some(record) = totals.origins.get(number) else { return Subject::whole(case) };
        Subject {
            rows: &rows_by_origin[number],
            measured: &record.outcomes,
            connections: totals.counters.origins[number],
            service: Cow::Owned(totals.origins.track(number, Series::Service)),
            origin: origins.get(number).map(String::as_str),
        }
    }
}

/// What the last half of a hold has left unanswered.
#[derive(Clone, Copy)]
struct PiledUp {
    due: u64,
    answered: u64,
    /// Length of that half.
    seconds: f64,
    /// At its end.
    unanswered: u64,
    last: Row,
}

/// `None` where the unanswered of these rows do not grow.
fn piled_up(evidence: &Evidence<'_>, of: &[Row]) -> Option<PiledUp> {
    let (first, rows) = late_half(evidence, of);
    let stretches = rows.len().min(SATURATED_STRETCHES);
    if stretches < STRETCHES_MIN {
        return None;
    }
    let due: u64 = rows.iter().map(|r| r.due).sum();
    let answered: u64 = rows.iter().map(|r| r.answered).sum();
    if due == 0 || share(answered, due) >= SATURATED_ANSWERED_SHARE {
        return None;
    }
    let mut before = first.checked_sub(1).map_or(0, |i| of[i].level());
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
    Some(PiledUp { due, answered, seconds, unanswered: before, last: *rows.last()? })
}

/// The origin that answered the smallest share of what it was asked, of those for which arrivals pile up. In the sum of all
/// origins, those that keep up would hide it. A handful of arrivals shows nothing.
fn worst_origin(evidence: &Evidence<'_>) -> Option<(usize, PiledUp)> {
    let each = evidence.rows_by_origin.iter().enumerate();
    let saturated = each.filter_map(|(number, rows)| Some((number, piled_up(evidence, rows)?)));
    let answered = |of: &PiledUp| share(of.answered, of.due);
    saturated
        .filter(|(_, of)| of.unanswered >= SAMPLES_ABOVE_MIN)
        .min_by(|(_, a), (_, b)| answered(a).total_cmp(&answered(b)))
}

/// Of all that fell due in the same time.
fn unanswered_share(evidence: &Evidence<'_>, unanswered: u64) -> f64 {
    share(unanswered, late_half(evidence, evidence.rows).1.iter().map(|row| row.due).sum())
}

/// What the arrivals pile up before.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Narrowest {
    Target,
    /// It does not accept connections as fast as they are asked for, or not at all.
    Accepting,
    Pool,
    Generator,
}

/// What waits in the target is in flight. What piles up unsent waits for what has cost the arrivals most time: the
/// generator, the pool's limit, or connections that were still being opened. Those that never were sent count with the
/// whole timeout, whether it had passed or the run ended before. The time that those waited who were sent is known of all
/// origins together.
fn narrowest(case: &Case<'_>, subject: &Subject<'_>, last: &Row, working: f64) -> Narrowest {
    let (lag, measured) = (case.evidence.totals.counters.lag, subject.measured);
    let whole = |n: u64| u128::from(n) * u128::from(case.evidence.timeout.0);
    let never_sent = measured.timed_out_never_sent;
    let own_unsent = measured.timed_out_never_sent_own.min(never_sent);
    let shed = measured.timed_out_pool_full.min(never_sent - own_unsent);
    let unsent_own = measured.unsent_own.min(measured.unsent);
    let own = u128::from(lag.generator_ns) + whole(own_unsent + unsent_own);
    // Of those that still waited at the end without the generator's doing, the most have found the pool in use.
    let pool = u128::from(lag.pool_ns()) + whole(shed + measured.unsent - unsent_own);
    let connecting = u128::from(lag.connecting_ns) + whole(never_sent - own_unsent - shed);
    let has_enough = has_enough(last, working);
    match () {
        () if last.in_flight >= last.backlog => Narrowest::Target,
        () if own > pool + connecting => Narrowest::Generator,
        // A pool that grew to its limit, or was of our making, before a target that had enough to do long before.
        () if has_enough && !is_asked_for(case) && is_alike(&subject.service) => Narrowest::Target,
        () if pool >= connecting => Narrowest::Pool,
        // More connections would only have more requests waiting in the target.
        () if has_enough => Narrowest::Target,
        () if case.evidence.busy_share_max < BUSY_SHARE_DEGRADES => Narrowest::Accepting,
        () => Narrowest::Generator,
    }
}

/// The shortest in a thousand service times take at most this many times as long as the shortest of all.
const SHORTEST_ALIKE: u64 = 3;

/// How many requests the target works on at once at its best, by Little's law: those that it takes in per second times
/// the shortest time that one of them took. 0 when it answered none.
fn working_on(service: &Track<u64>, best_per_s: f64) -> f64 {
    match service.count() {
        0 => 0.0,
        _ => (best_per_s * service.histogram.min_nz() as f64 / 1e9).max(1.0),
    }
}

/// This many connections keep the target busy without queueing in it, where it was given far more of them.
fn suggested_connections(case: &Case<'_>, subject: &Subject<'_>, last: &Row, working: f64) -> Option<u64> {
    (grows(case) && case.evidence.places == 1 && has_enough(last, working) && is_alike(&subject.service))
        .then(|| (CONNECTIONS_SUGGESTED * working).ceil() as u64)
}

/// More is in flight than the target, which works on this many at once, needs to be busy.
fn has_enough(last: &Row, working: f64) -> bool {
    working > 0.0 && last.in_flight as f64 >= CONNECTIONS_ENOUGH * working
}

/// A connection is opened for each request that waits.
fn grows(case: &Case<'_>) -> bool {
    matches!(case.evidence.pool, Pool::Auto { .. })
}

/// Somebody wants to know of this number.
fn is_asked_for(case: &Case<'_>) -> bool {
    matches!(case.evidence.pool, Pool::Fixed { .. })
}

/// The pool carries more at once than the target works on at its best: whatever waits for a connection, it is the target that it
/// waits for.
pub(super) fn pool_is_enough(case: &Case<'_>) -> bool {
    let Evidence { totals, rows, places, pool, .. } = *case.evidence;
    let (Pool::Auto { max: n } | Pool::Fixed { n } | Pool::Default { n, .. }) = pool;
    let service = totals.track(Series::Service);
    let working = working_on(service, best_per_second(case.evidence, rows));
    working > 0.0 && n.saturating_mul(places) as f64 >= CONNECTIONS_ENOUGH * working && is_alike(service)
}

/// Where service times differ by themselves, the shortest one is luck and says nothing of how many are worked on.
fn is_alike(service: &Track<u64>) -> bool {
    let service = &service.histogram;
    service.value_at_quantile(0.001) <= SHORTEST_ALIKE.saturating_mul(service.min_nz())
}

impl Narrowest {
    fn name(&self, case: &Case<'_>, subject: &Subject<'_>) -> String {
        let counts = subject.connections;
        let target = subject.origin.unwrap_or("The target");
        match self {
            Narrowest::Target => target.to_string(),
            Narrowest::Accepting => format!(
                "{target}, which accepted {} connections that it was asked for,",
                text::of(counts.opened, counts.attempted)
            ),
            Narrowest::Pool => match subject.origin {
                Some(origin) => format!("The client's {} to {origin}", case.connections()),
                None => format!("The client's {}", case.connections()),
            },
            Narrowest::Generator => "The generator".to_string(),
        }
    }

    fn remedy(&self, best_per_s: f64, suggested: Option<u64>, grows: bool, places: u64) -> String {
        let best = text::count(best_per_s.round() as u64);
        match (self, suggested) {
            (Narrowest::Target, _) if best_per_s < 0.5 => {
                "Find out why the target does not answer; it did not do so in any second.".to_string()
            }
            (Narrowest::Target, Some(n)) => format!(
                "Measure latency at a lower rate: in its best second the target answered {best}/s. A connection was \
                 opened for each request that waited, which may itself slow it down: -c {n} keeps it busy, and the \
                 rest waits in the client."
            ),
            (Narrowest::Target, None) => format!(
                "Measure latency at a lower rate: in its best second the target answered {best}/s, and under a \
                 full queue it may carry less."
            ),
            (Narrowest::Accepting, _) => format!(
                "Find out why the target does not accept connections faster (its backlog of connections, a limit of \
                 descriptors, something between that drops them). At best {best}/s were answered."
            ),
            (Narrowest::Pool, _) if grows => format!(
                "Try a fixed number of connections (-c 64, -c 256): this many requests at once may themselves slow \
                 the target, which answered {best}/s at best. If it carries no more with them, allow more (-c \
                 auto:N)."
            ),
            (Narrowest::Pool, _) => {
                let each = match places {
                    1 => "one request at a time".to_string(),
                    _ => format!("at most {} requests at a time", text::count(places)),
                };
                format!(
                    "Allow more connections (-c): each carries {each}, and these carried {best}/s at best. The target \
                     may well carry more."
                )
            }
            (Narrowest::Generator, _) => format!(
                "Give the generator more processors (-t, or more shares) or machines of its own: it could not open connections \
                 and send as fast as arrivals fell due. At best {best}/s were answered."
            ),
        }
    }
}

/// Growth takes two stretches to show. Without them, much left unanswered when the load ends may mean a
/// saturated target, or one that takes its time.
pub(super) fn too_short(case: &Case<'_>) -> Option<Finding> {
    let evidence = case.evidence;
    let is_judged = late_half(evidence, evidence.rows).1.len() >= STRETCHES_MIN;
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

/// Those of `rows` that are of the last half of the load, and the place of the first of them.
fn late_half(evidence: &Evidence<'_>, rows: &[Row]) -> (usize, Vec<Row>) {
    let middle = evidence.load_from + Nanos(evidence.load_length().0 / 2);
    let is_late = |row: &&Row| row.start + Nanos(row.length.0 / 2) >= middle && row.end() <= evidence.load_to;
    let first = rows.iter().position(|row| is_late(&row)).unwrap_or(rows.len());
    (first, rows[first..].iter().filter(is_late).copied().collect())
}

/// The most that was answered per second in any of these rows while the load lasted.
fn best_per_second(evidence: &Evidence<'_>, rows: &[Row]) -> f64 {
    let in_load = |row: &&Row| row.start >= evidence.load_from && row.end() <= evidence.load_to;
    let per_second = |row: &Row| row.answered as f64 / row.length.as_secs_f64().max(1e-9);
    rows.iter().filter(in_load).map(per_second).fold(0.0, f64::max)
}
