//! What harmed the users of a run, the most of them first: failures, arrivals without an answer in time, a drift, an
//! event or a tail. Titles lead with the first.

use super::drift::{Drift, How, drift};
use super::{none_ok, outcome, percentiles, quantile};
use crate::event::{self, Tail};
use crate::format::{self, duration, least, plural};
use unblink_artifact::document::{Quantile, RunDocument, RunStatus};

/// A tail that is this many times the median is worth a cause.
pub(super) const TAIL_RATIO: u64 = 3;

/// What harms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Failures,
    Timeouts,
    Drift,
    Tail,
}

/// One harm.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Harm {
    pub(super) kind: Kind,
    /// How many arrivals it harmed.
    pub(super) users: u64,
    /// As a title, which says when where that is known.
    pub(super) finding: String,
    /// As the end of another title.
    pub(super) beside: String,
}

/// All that there is, the worst first. Of a run in which nothing was ok: nothing, which says more.
pub(super) fn harms(doc: &RunDocument) -> Vec<Harm> {
    if none_ok(doc).is_some() {
        return Vec::new();
    }
    let mut harms: Vec<Harm> =
        [failures(doc), timeouts(doc), drifted(doc), tail(doc)].into_iter().flatten().collect();
    harms.sort_by_key(|harm| std::cmp::Reverse(harm.users));
    harms
}

/// The worst as a title, with the other arrivals that have no response time.
pub(super) fn title(harms: &[Harm]) -> Option<String> {
    let (worst, rest) = harms.split_first()?;
    let beside: Vec<&str> =
        rest.iter().filter(|harm| !harm.beside.is_empty()).map(|harm| harm.beside.as_str()).collect();
    Some(match beside.as_slice() {
        [] => worst.finding.clone(),
        beside => format!("{}; {}", worst.finding, beside.join(", ")),
    })
}

/// How many failed of this many, as a title begins: `60 %`, `3 of 60 000 arrivals`.
fn how_many(n: u64, of: u64) -> String {
    match n as f64 >= of as f64 / 100.0 {
        true => format!("{} of the arrivals", format::share(n, of)),
        false => format!("{} of {}", format::count(n), plural(of, "arrival", "arrivals")),
    }
}

/// Where arrivals fell due, as the end of a sentence.
fn when(doc: &RunDocument, place: Tail) -> String {
    let moment = |at| format::moment(event::about(doc, at));
    match place {
        Tail::Unknown => String::new(),
        Tail::Event { from_ns, .. } => format!(", in one event at {}", moment(from_ns)),
        Tail::Events { number, from_ns, .. } => {
            format!(", in {number} events, the first at {}", moment(from_ns))
        }
        Tail::Stretch { from_ns, to_ns } => format!(", due from {} to {}", moment(from_ns), moment(to_ns)),
        Tail::Bursts { number, from_ns } => {
            format!(", in {number} bursts, the first at {}", moment(from_ns))
        }
        Tail::Throughout => ", throughout the run".into(),
    }
}

fn failures(doc: &RunDocument) -> Option<Harm> {
    let a = &doc.arrivals;
    let failed = a.failed;
    if failed == 0 {
        return None;
    }
    let most = match outcome::commonest(doc) {
        Some((kind, n)) if n == failed => format!(" with {kind}"),
        Some((kind, _)) => format!(", most often with {kind}"),
        None => String::new(),
    };
    let beside = match failed as f64 >= a.due() as f64 / 100.0 {
        true => format!("{} failed", format::share(failed, a.due())),
        false => format!("{} failed", format::count(failed)),
    };
    let finding = format!("{} failed{most}{}", how_many(failed, a.due()), when(doc, event::failed(doc)));
    Some(Harm { kind: Kind::Failures, users: failed, finding, beside })
}

fn timeouts(doc: &RunDocument) -> Option<Harm> {
    let a = &doc.arrivals;
    let open = a.unfinished.saturating_add(a.unsent);
    let users = a.timed_out.saturating_add(open);
    if users == 0 {
        return None;
    }
    let (finding, beside) = if doc.status == RunStatus::Running && open > a.timed_out {
        // What was under way when the record ends is not in the picture.
        let had = format!("{} had no answer yet when the record ends", plural(open, "arrival", "arrivals"));
        let finding = match quantile(&doc.response_time, 0.99).filter(|p99| p99.censored) {
            Some(p99) => format!("p99 is above {}: {had}", least(p99.value)),
            None => had.clone(),
        };
        (finding, had)
    } else if open > a.timed_out {
        let had = "had no answer when the run ended";
        (format!("{} {had}", how_many(users, a.due())), format!("{} {had}", format::count(users)))
    } else {
        // Of those that were open at the end nobody knows for how long they would have gone on.
        let had = format!("had no answer within {}", least(doc.plan.timeout_ns));
        let left = match open {
            0 => String::new(),
            open => format!(", and {} none when the run ended", format::count(open)),
        };
        let many = how_many(a.timed_out, a.due());
        let finding = format!("{many} {had}{left}{}", when(doc, event::censored(doc)));
        (finding, format!("{} {had}{left}", format::count(a.timed_out)))
    };
    Some(Harm { kind: Kind::Timeouts, users, finding, beside })
}

fn drifted(doc: &RunDocument) -> Option<Harm> {
    let drift = drift(&percentiles::under_load(doc, super::p50_over_time(doc)))?;
    let users = (doc.arrivals.ok as f64 * drift.slow_share) as u64;
    let finding = course("The median", doc, &drift);
    Some(Harm { kind: Kind::Drift, users, finding, beside: String::new() })
}

fn course(what: &str, doc: &RunDocument, drift: &Drift) -> String {
    let moment = |at| format::moment(event::about(doc, at));
    let (low, high) = (duration(drift.low_ns), duration(drift.high_ns));
    match drift.how {
        How::Rose => format!("{what} rose from {low} to {high} over the run"),
        How::RoseAt(at) => format!("{what} rose from {low} to {high} at {}", moment(at)),
        How::Fell => format!("{what} fell from {high} to {low} over the run"),
        How::FellAt(at) => format!("{what} fell from {high} to {low} at {}", moment(at)),
        How::High(from, to) => {
            format!("{what} rose from {low} to {high}, from {} to {}", moment(from), moment(to))
        }
    }
}

/// Whose percentile it is: that of all, unless so many failed that it would be another with them.
pub(crate) fn whose(doc: &RunDocument, q: f64) -> &'static str {
    let a = &doc.arrivals;
    match a.failed as f64 >= (1.0 - q) * a.due() as f64 && a.failed > 0 {
        true if doc.response_time.censored > 0 => " of those that did not fail",
        true => " of the ok answers",
        false => "",
    }
}

fn tail(doc: &RunDocument) -> Option<Harm> {
    let response = |q| quantile(&doc.response_time, q);
    let p50 = response(0.5)?;
    let mut below = None;
    for q in [0.99, 0.999] {
        let high = response(q).filter(|high| !high.few_samples || high.censored)?;
        let is = is(doc, high);
        if !high.censored && high.value / TAIL_RATIO < p50.value {
            below = Some(is);
            continue;
        }
        let users = (doc.arrivals.due() as f64 * (1.0 - q)) as u64;
        let finding =
            with_cause(doc, &below.map_or(is.clone(), |below| format!("{below}, but {is}")), high.value);
        return Some(Harm { kind: Kind::Tail, users, finding, beside: String::new() });
    }
    None
}

/// `p99 is 410 ms`
pub(super) fn is(doc: &RunDocument, quantile: &Quantile) -> String {
    let (label, whose) = (format::quantile_label(quantile.q), whose(doc, quantile.q));
    match quantile.censored {
        true => format!("{label}{whose} is above {}", least(quantile.value)),
        false => format!("{label}{whose} is {}", duration(quantile.value)),
    }
}

/// A moment. One in the first second would read like a latency.
fn moment_after(ns: u64) -> String {
    match ns {
        1_000_000..999_500_000 => format!("{}\u{a0}s after the start", format::number(ns as f64 / 1e9)),
        _ => format::moment(ns),
    }
}

fn with_cause(doc: &RunDocument, is: &str, threshold_ns: u64) -> String {
    let moment = |at| format::moment(event::about(doc, at));
    match event::tail(doc, threshold_ns) {
        Tail::Unknown => is.into(),
        Tail::Event { from_ns, to_ns } => {
            let at = moment_after(event::moment(doc, from_ns, to_ns));
            format!("{is} because of one event at {at}")
        }
        Tail::Events { number, from_ns, to_ns } => {
            let first = moment_after(event::moment(doc, from_ns, to_ns));
            format!("{is} because of {number} events, the first at {first}")
        }
        Tail::Stretch { from_ns, to_ns } => {
            format!("{is}: the slow arrivals were due from {} to {}", moment(from_ns), moment(to_ns))
        }
        Tail::Bursts { .. } | Tail::Throughout => {
            match drift(&percentiles::under_load(doc, super::p99_over_time(doc))) {
                Some(drift) => course("p99", doc, &drift),
                None => format!("{is}: slow arrivals come throughout the run"),
            }
        }
    }
}
