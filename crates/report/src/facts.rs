//! Sentences about a run, chosen by plain rules from the document's figures. Terminal and page share them.

mod account;
mod arrivals;
mod connections;
mod cross_check;
#[cfg(test)]
mod denied;
mod drift;
mod harm;
mod intervals;
mod load_titles;
mod loads;
mod moments;
mod outcome;
mod percentiles;
mod precision;
mod retries;
mod shape;
mod simulated;
mod targets;
mod title;
mod titles;
mod transient;
mod validity;
mod verdict;
mod waits;

pub(crate) use account::{account, adds_up, errors, outcome_meaning, scheduled_meaning};
pub(crate) use arrivals::arrivals;
pub(crate) use connections::{addresses, allowed, connections, in_requests, ring, spread};
pub(crate) use cross_check::{
    bucket, its_clock, ours as ours_at, source as cross_check_source, watched, watched_unit, watched_value,
};
pub(crate) use harm::whose;
pub(crate) use intervals::{INVALID, interval, notes};
pub(crate) use load_titles::{flight, lateness, phases, rates};
pub use loads::{load_in_words, process_in_words, rates_in_words};
pub(crate) use moments::{Moment, moments, rates as rate_moments, timeline};
use outcome::answered_within;
pub(crate) use outcome::{account_finding, generator, never_asked, none_ok, not_sent, nothing, of_answered};
pub(crate) use percentiles::{RowPercentile, counted_by, folded, p50_over_time, p99_over_time};
pub(crate) use retries::retries;
pub(crate) use shape::{Line, shape, shape_figures, soak_name};
pub(crate) use simulated::{fanout, simulated, wrong_client};
pub(crate) use targets::{arrivals_of, first_and_more, first_targets, operations, target};
pub(crate) use title::Title;
pub(crate) use titles::{close, heat, spectrum, timed};
pub(crate) use transient::{left_out_name, transient};
pub(crate) use validity::{evidence, invalid_note, severity_word, validity_sentence, validity_word};
pub(crate) use verdict::{aborted, slo_line, slo_mark, verdict_sentence, verdict_word};
pub(crate) use waits::{difference, waited, waits};

use crate::format::{self, plural};
use unblink_artifact::document::{
    ConnectionMode, Distribution, LoadModel, MachineLimit, Pacing, Quantile, RunDocument, RunStatus,
    WorkerPriority,
};

/// A transfer that took no longer came in one read: it was not measured.
pub(crate) const ONE_READ_NS_MAX: u64 = 1;

/// How the load was offered, in one line: connections, threads, timeout.
pub(crate) fn means(doc: &RunDocument) -> String {
    let pool = &doc.origin().connections;
    let each = if doc.origins.len() > 1 { " to each origin" } else { "" };
    let limit = format!("{}{each}", format::count(pool.limit));
    let connections = match (pool.mode, pool.limited_by) {
        (ConnectionMode::Fixed, _) => {
            let ours = pool
                .by_default
                .map(|database| format!(" (the default for {}; -c changes it)", database.name()));
            let connections = plural(pool.limit, "connection", "connections");
            format!("{connections}{each}{}", ours.unwrap_or_default())
        }
        (_, None) => format!("connections as needed (at most {limit})"),
        (_, Some(MachineLimit::FileDescriptors)) => {
            format!("connections as needed (at most {limit}, by ulimit\u{a0}-n)")
        }
        (_, Some(MachineLimit::LocalPorts)) => {
            format!("connections as needed (at most {limit}, by local ports)")
        }
    };
    let streams = pool
        .streams
        .map(|n| format!("HTTP/2, {} a connection · ", plural(u64::from(n), "stream", "streams")));
    let over_ws = pool.web_socket.as_ref().map(|plan| format!("{} · ", plan.describe()));
    let to_redis = pool.redis.as_ref().map(|plan| format!("{} · ", plan.describe()));
    let to_postgres = pool.postgres.as_ref().map(|plan| format!("{} · ", plan.describe()));
    let in_cql = pool.cql.as_ref().map(|plan| format!("{} · ", plan.describe()));
    let streams = streams.or(over_ws).or(to_redis).or(to_postgres).or(in_cql).unwrap_or_default();
    let threads = match doc.plan.threads {
        1 => "1\u{a0}thread".to_string(),
        n => format!("{n}\u{a0}threads"),
    };
    let pacing = pacing(doc).map(|pacing| format!(" · {pacing}")).unwrap_or_default();
    format!(
        "{streams}{connections} · {threads}{pacing} · timeout\u{a0}{}",
        format::duration(doc.plan.timeout_ns)
    )
}

/// How arrivals were paced, unless as usual.
fn pacing(doc: &RunDocument) -> Option<String> {
    let mode = doc.plan.pacing.filter(|&mode| mode != Pacing::Balanced)?.name();
    let priority = match doc.generator.priority {
        None => "",
        Some(WorkerPriority::RealTime) => " at real-time priority",
        Some(WorkerPriority::GivenUp) => " at real-time priority until too busy for it",
        Some(WorkerPriority::Refused) => " (real-time priority refused)",
    };
    let awake = match doc.generator.kept_awake {
        None => "",
        Some(true) => ", processors kept awake",
        Some(false) => ", processors may sleep",
    };
    Some(format!("{mode} pacing{priority}{awake}"))
}

/// No machine has told how its load ended.
fn all_break_off(doc: &RunDocument) -> bool {
    let mut results = doc.agents.iter().filter_map(|agent| agent.result.as_ref()).peekable();
    results.peek().is_some() && results.all(|result| result.status == RunStatus::Running)
}

/// How far the document goes, when that is less than the planned run.
pub(crate) fn extent(doc: &RunDocument) -> Vec<String> {
    let mut lines = Vec::new();
    match doc.status {
        RunStatus::Complete => {}
        RunStatus::Aborted => lines.extend(aborted(doc)),
        RunStatus::Running => lines.push("The run has not ended, or was killed: figures so far.".into()),
        RunStatus::Interrupted if all_break_off(doc) => {
            lines.push("The records of all machines break off: what came after that is not known.".into());
        }
        RunStatus::Interrupted => {
            lines.push("The run was interrupted: it covers the arrivals due before that.".into());
        }
    }
    if let Some(warmup) = &doc.warmup {
        let (time, arrivals) =
            (format::duration(doc.plan.warmup_ns), plural(warmup.scheduled, "arrival", "arrivals"));
        lines.push(match doc.loads[0].plan.ramp_up_ns() {
            Some(ramp_up) if ramp_up == doc.plan.warmup_ns => {
                format!("The first {time}, in which the users began, were left out, with {arrivals}.")
            }
            _ => format!("The warm-up of {time}, with {arrivals}, was left out."),
        });
    }
    lines.extend(transient(doc));
    lines.extend(precision::precision(doc));
    lines
}

/// Which part of the run the document covers, unless it is the whole.
pub(crate) fn part(doc: &RunDocument) -> Option<String> {
    doc.part.as_ref().map(|part| {
        let (from, to) = (format::moment(part.from_ns), format::moment(part.to_ns));
        format!("Part from {from} to {to}, whole intervals")
    })
}

/// The line that goes with every closed-loop output.
pub(crate) fn closed_note(doc: &RunDocument) -> Option<String> {
    (doc.model() == LoadModel::Closed).then(|| {
        let users = match doc.users() {
            Some(1) => "1 user who waits".to_string(),
            Some(n) => format!("{} users who each wait", format::count(u64::from(n))),
            None => "Users who each wait".into(),
        };
        format!(
            "Closed loop: {users} for an answer before asking again. This tail is not what an open \
             population feels: while the target stalls, requests that others would have made are missing."
        )
    })
}

/// Whose response time it is.
pub(crate) fn felt_by(doc: &RunDocument) -> &'static str {
    match doc.model() {
        _ if wrong_client(doc).is_some() => "as it counts",
        LoadModel::Open => "what users feel",
        LoadModel::Closed => "what these users see",
    }
}

/// It rests on few samples. A bound is a bound, however few lie above it.
pub(crate) fn is_few(quantile: &Quantile) -> bool {
    quantile.few_samples && !quantile.censored
}

/// A quantile as it must be printed: `10.1 ms`, `> 5 s`, `~12 ms` where it rests on few samples. Of a part of
/// a request that took no time to be measured: `–`.
pub(crate) fn marked(quantile: &Quantile, part: bool) -> String {
    if part && quantile.value <= ONE_READ_NS_MAX && !quantile.censored {
        return "–".into();
    }
    let mark = if is_few(quantile) { "~" } else { "" };
    format!("{mark}{}", value(quantile))
}

/// The maximum of a part of a request.
pub(crate) fn part_max(d: &Distribution) -> String {
    if d.max.is_some_and(|max| max <= ONE_READ_NS_MAX) { "–".into() } else { max(d) }
}

/// A quantile as it must be printed: `10.1 ms`, `> 5 s`.
pub(crate) fn value(quantile: &Quantile) -> String {
    if quantile.censored { format::above(quantile.value) } else { format::duration(quantile.value) }
}

/// The maximum: `1.01 s`; where something is censored `> 5 s`, or `≥ 5 s` while every printed percentile is known.
pub(crate) fn max(d: &Distribution) -> String {
    let Some(max) = d.max else { return "–".into() };
    match d.max_censored {
        false => format::duration(max),
        true if d.quantiles.iter().any(|quantile| quantile.censored) => format::above(max),
        true => format::above(max).replacen('>', "≥", 1),
    }
}

/// The mean, or `–` where it can't be known.
pub(crate) fn mean(d: &Distribution) -> String {
    d.mean.filter(|mean| mean.is_finite()).map_or("–".into(), |mean| format::duration(mean.round() as u64))
}

/// The quantile at `q`, if the document has it.
pub(crate) fn quantile(d: &Distribution, q: f64) -> Option<&Quantile> {
    d.quantiles.iter().find(|quantile| quantile.q == q)
}

/// The parts of a request's time that were measured: (name, what it is, distribution).
pub(crate) fn parts(doc: &RunDocument) -> Vec<(&'static str, &'static str, &Distribution)> {
    let p = &doc.phases;
    [
        ("connect", "per connection", &p.connect),
        ("TLS", "per connection", &p.tls),
        ("first byte", "from the send", &p.first_byte),
        ("transfer", "first to last byte", &p.transfer),
    ]
    .into_iter()
    .filter(|(_, _, d)| d.count > 0)
    .collect()
}

/// Some transfers took no time to be measured.
pub(crate) fn in_one_read(doc: &RunDocument) -> bool {
    let at = |q| quantile(&doc.phases.transfer, q);
    [0.5, 0.99].into_iter().filter_map(at).any(|at| at.value <= ONE_READ_NS_MAX)
}

/// The length of most rows; the last one may be far shorter.
pub(crate) fn usual_row_ns(doc: &RunDocument) -> u64 {
    let mut lengths: Vec<u64> = doc.series.rows.iter().map(|row| row.length_ns).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(0)
}

/// How many of a distribution's quantiles are worth a row: up to the first that rests on few samples. Then
/// the rest that would say the same.
pub(crate) fn shown(d: &Distribution) -> (usize, usize) {
    let first_few = d.quantiles.iter().position(is_few);
    let shown = first_few.map_or(d.quantiles.len(), |few| few + 1);
    (shown, d.quantiles.len() - shown)
}

/// The percentiles that have a row in the table of times, and how many more would say the same.
pub(crate) fn rows(doc: &RunDocument) -> (&[Quantile], usize) {
    let all = [&doc.response_time, &doc.service_time, &doc.send_lag];
    let known = all.into_iter().find(|d| !d.quantiles.is_empty()).unwrap_or(&doc.response_time);
    let (shown, more) = shown(known);
    (&known.quantiles[..shown], more)
}

/// The quantile at `q`, if it is worth a row: where others before it rest on few samples already, it says nothing more.
pub(crate) fn listed(d: &Distribution, q: f64) -> Option<&Quantile> {
    d.quantiles[..shown(d).0].iter().find(|quantile| quantile.q == q)
}

/// The line in the place of these.
pub(crate) fn unshown(more: usize) -> Option<String> {
    match more {
        0 => None,
        1 => Some("1 more percentile needs more samples".into()),
        n => Some(format!("{n} more percentiles need more samples")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use unblink_artifact::document::Database;

    #[test]
    fn percentiles_without_samples_are_not_listed() {
        assert_eq!(shown(&fixture::one_arrival().response_time), (1, 7));
        assert_eq!(shown(&fixture::one_row().response_time), (3, 5));
        assert_eq!(shown(&fixture::stall().response_time), (8, 0));
        assert_eq!(shown(&fixture::unanswered().response_time), (8, 0), "bounds are bounds");
    }

    #[test]
    fn a_quantile_that_is_not_listed_stands_nowhere_else() {
        let d = &fixture::one_arrival().response_time;
        assert!(listed(d, 0.5).is_some() && listed(d, 0.99).is_none() && quantile(d, 0.99).is_some());
    }

    #[test]
    fn a_maximum_beyond_the_known_is_a_bound() {
        assert_eq!(format::plain(&max(&fixture::saturated().response_time)), "> 5 s");
        let mut few = fixture::saturated().response_time;
        few.quantiles.iter_mut().for_each(|quantile| quantile.censored = false);
        few.max = Some(5_000_900_000);
        assert_eq!(format::plain(&max(&few)), "≥ 5 s", "no percentile is one of them");
        assert_eq!(max(&fixture::empty().response_time), "–");
    }

    #[test]
    fn one_is_not_many() {
        let mut doc = fixture::one_arrival();
        doc.origins[0].connections.mode = ConnectionMode::Fixed;
        doc.origins[0].connections.limit = 1;
        assert!(means(&doc).starts_with("1 connection ·"), "{}", means(&doc));
        doc.origins[0].connections.by_default = Some(Database::PostgreSql);
        doc.origins[0].connections.limit = 20;
        let line = format::plain(&means(&doc));
        assert!(
            line.starts_with("20 connections (the default for PostgreSQL; -c changes it) · 1 thread"),
            "{line}"
        );
        doc.origins[0].connections.mode = ConnectionMode::Auto;
        doc.origins[0].connections.limit = 12_690;
        doc.origins[0].connections.limited_by = Some(MachineLimit::LocalPorts);
        let line = format::plain(&means(&doc));
        assert!(
            line.starts_with("connections as needed (at most 12 690, by local ports) · 1 thread"),
            "{line}"
        );
        doc.origins[0].connections.streams = Some(100);
        let line = format::plain(&means(&doc));
        assert!(line.starts_with("HTTP/2, 100 streams a connection · connections as needed"), "{line}");
    }
}
