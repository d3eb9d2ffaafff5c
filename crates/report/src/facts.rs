//! Sentences about a run, chosen by plain rules from the document's figures. Terminal and page share them.

mod arrivals;
mod connections;
#[cfg(test)]
mod denied;
mod drift;
mod harm;
mod intervals;
mod moments;
mod outcome;
mod percentiles;
mod precision;
mod shape;
mod simulated;
mod soak;
mod targets;
mod titles;
mod transient;
mod verdict;

pub(crate) use arrivals::arrivals;
pub(crate) use connections::{addresses, connections};
pub(crate) use harm::whose;
pub(crate) use intervals::{extremes, interval, without_interval};
pub(crate) use moments::{Moment, moments, rates as rate_moments, timeline};
pub(crate) use outcome::{
    account_finding, answered_within, generator, is_censored, never_asked, none_ok, not_sent, nothing,
    of_answered,
};
pub(crate) use percentiles::{RowPercentile, counted_by, folded, p50_over_time, p99_over_time};
pub(crate) use shape::{Line, shape, shape_figures};
pub(crate) use simulated::{fanout, simulated, wrong_client};
pub(crate) use soak::name as soak_name;
pub(crate) use targets::{first_and_more, first_targets, operations, target};
pub(crate) use titles::{Title, close, flight, heat, lateness, phases, rates, spectrum, timed};
pub(crate) use transient::{left_out_name, measured_from_ns, transient};
pub(crate) use verdict::{aborted, slo_line, slo_mark, verdict_sentence, verdict_word};

use crate::format::{self, plural};
use unblink_artifact::document::{
    Distribution, LoadModel, MachineLimit, Quantile, RunDocument, RunStatus, Severity, ValidityStatus,
    Verdict, VerdictStatus, WorkerPriority,
};

/// Below this, response and service time are the same to a reader.
const DIFFERENCE_NS_MIN: u64 = 1_000_000;

/// A transfer that took no longer came in one read: it was not measured.
pub(crate) const ONE_READ_NS_MAX: u64 = 1;

/// How the load was offered, in one line: connections, threads, timeout.
pub(crate) fn means(doc: &RunDocument) -> String {
    let pool = &doc.connections;
    let limit = format::count(pool.limit);
    let connections = match (pool.mode.as_str(), pool.limited_by) {
        ("fixed", _) => plural(pool.limit, "connection", "connections"),
        (_, None) => format!("connections as needed (at most {limit})"),
        (_, Some(MachineLimit::FileDescriptors)) => {
            format!("connections as needed (at most {limit}, by ulimit\u{a0}-n)")
        }
        (_, Some(MachineLimit::LocalPorts)) => {
            format!("connections as needed (at most {limit}, by local ports)")
        }
    };
    let threads = match doc.load.threads {
        1 => "1\u{a0}thread".to_string(),
        n => format!("{n}\u{a0}threads"),
    };
    let pacing = pacing(doc).map(|pacing| format!(" · {pacing}")).unwrap_or_default();
    format!("{connections} · {threads}{pacing} · timeout\u{a0}{}", format::duration(doc.load.timeout_ns))
}

/// How arrivals were paced, unless as usual.
fn pacing(doc: &RunDocument) -> Option<String> {
    let mode = doc.load.pacing.as_deref().filter(|&mode| mode != "balanced")?;
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

/// `VALID`, `DEGRADED` or `INVALID`.
pub(crate) fn validity_word(doc: &RunDocument) -> &'static str {
    match doc.validity.status {
        ValidityStatus::Valid => "VALID",
        ValidityStatus::Degraded => "DEGRADED",
        ValidityStatus::Invalid => "INVALID",
    }
}

/// What the status means for the reader.
pub(crate) fn validity_sentence(doc: &RunDocument) -> String {
    let against = doc.validity.findings.iter().filter(|f| f.severity != Severity::Note).count();
    let findings = match against {
        1 => "the finding".to_string(),
        n => format!("the {n} findings"),
    };
    let ended = match doc.status {
        RunStatus::Interrupted | RunStatus::Aborted => " The run was ended early.",
        RunStatus::Running | RunStatus::Complete => "",
    };
    match doc.validity.status {
        ValidityStatus::Valid if doc.arrivals.scheduled == 0 => {
            "Nothing was scheduled, so nothing is said.".into()
        }
        ValidityStatus::Valid if !adds_up(doc) => "But the account of arrivals does not add up.".into(),
        ValidityStatus::Valid if doc.validity.findings.is_empty() => {
            format!("Every arrival is accounted for, and no check found anything against this run.{ended}")
        }
        ValidityStatus::Valid => format!(
            "Every arrival is accounted for, and nothing was found that takes from these figures.{ended}"
        ),
        ValidityStatus::Degraded => format!("Read {findings} before the figures."),
        ValidityStatus::Invalid if is_told(doc) => {
            format!(
                "Read {findings} before the figures: what is said of the objectives, they can't have reversed."
            )
        }
        ValidityStatus::Invalid => "No verdict can rest on this run.".into(),
    }
}

/// An objective is met or missed for certain.
fn is_told(doc: &RunDocument) -> bool {
    let told = |verdict: &Verdict| verdict.slos.iter().any(|slo| slo.status != VerdictStatus::Inconclusive);
    doc.verdict.as_ref().is_some_and(told)
}

/// `note`, `degrades` or `invalidates`.
pub(crate) fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Degrades => "degrades",
        Severity::Invalidates => "invalidates",
    }
}

/// A number behind a finding, read by the unit in its name: (name without the unit, figure).
pub(crate) fn evidence(name: &str, value: f64) -> (String, String) {
    let words = |name: &str| name.replace('_', " ");
    if let Some(what) = name.strip_suffix("_ns").filter(|_| value >= 0.0) {
        (words(what), format::duration(value.round() as u64))
    } else if name.ends_with("share") {
        (words(name), format::percent(value))
    } else if name.ends_with("quantile") {
        (words(name), format::quantile_label(value))
    } else if name.contains("_per_s") {
        (words(&name.replace("_per_s", "")), format::rate(value))
    } else if let Some(what) = name.strip_suffix("_s") {
        (words(what), format!("{}\u{a0}s", format::number(value)))
    } else {
        (words(name), format::number(value))
    }
}

/// How far the document goes, when that is less than the planned run.
pub(crate) fn extent(doc: &RunDocument) -> Vec<String> {
    let mut lines = Vec::new();
    match doc.status {
        RunStatus::Complete => {}
        RunStatus::Aborted => lines.extend(aborted(doc)),
        RunStatus::Running => lines.push("The run has not ended, or was killed: figures so far.".into()),
        RunStatus::Interrupted => {
            lines.push("The run was interrupted: it covers the arrivals due before that.".into());
        }
    }
    if let Some(warmup) = &doc.warmup {
        let (time, arrivals) =
            (format::duration(doc.load.warmup_ns), plural(warmup.scheduled, "arrival", "arrivals"));
        lines.push(match doc.load.ramp_up_ns {
            Some(ramp_up) if ramp_up == doc.load.warmup_ns => {
                format!("The first {time}, in which the users began, with {arrivals} left out.")
            }
            _ => format!("Warm-up of {time} with {arrivals} left out."),
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

/// The line that goes with every percentile table of an invalid run.
pub(crate) fn invalid_note(doc: &RunDocument) -> Option<&'static str> {
    (doc.validity.status == ValidityStatus::Invalid)
        .then_some("The run is invalid: these figures must not be quoted.")
}

/// The line that goes with every closed-loop output.
pub(crate) fn closed_note(doc: &RunDocument) -> Option<String> {
    (doc.load.model == LoadModel::Closed).then(|| {
        let users = match doc.load.users {
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

/// Why response and service time differ, or that they don't.
pub(crate) fn difference(doc: &RunDocument) -> String {
    if let Some(client) = wrong_client(doc) {
        return format!("What the client {client:?} would report, not what users feel.");
    }
    let (response, service) = (&doc.response_time, &doc.service_time);
    if let Some(why) = none_ok(doc) {
        return format!("{why}. There is no response time.");
    }
    if response.count == 0 {
        return "Nothing was answered: there is no response time.".into();
    }
    let pairs = || {
        // What the table does not show is not spoken of.
        response.quantiles[..shown(response).0]
            .iter()
            .filter_map(|r| service.quantiles.iter().find(|s| s.q == r.q).map(|s| (r, s)))
    };
    if let Some((r, s)) = pairs().find(|(r, s)| r.censored && !s.censored) {
        return format!(
            "At {} users waited longer than {}; the service time shows {}: {}.",
            format::quantile_label(r.q),
            format::duration(r.value),
            format::duration(s.value),
            cause(doc)
        );
    }
    let known = pairs().filter(|(r, s)| !r.censored && !s.censored);
    // Each by itself: a gap that is little of the highest percentile may be most of another.
    let (mut widest, mut compared): (Option<(String, u64)>, bool) = (None, false);
    let mut consider = |label: String, r: u64, s: u64| {
        compared = true;
        let gap = r.saturating_sub(s);
        let differs = gap >= DIFFERENCE_NS_MIN && gap >= r / 20;
        if differs && widest.as_ref().is_none_or(|(_, widest)| gap > *widest) {
            widest = Some((label, gap));
        }
    };
    for (r, s) in known {
        consider(format!("At {}", format::quantile_label(r.q)), r.value, s.value);
    }
    if let (0, Some(r), Some(s)) = (response.censored, response.max, service.max) {
        consider("In the worst case".into(), r, s);
    }
    let of_part = if doc.part.is_some() { " of this part" } else { "" };
    match (widest, doc.send_lag.max) {
        (None, _) if !compared => {
            "How response and service time differ is not known: too much is beyond the timeout.".into()
        }
        (Some((label, gap)), _) => format!(
            "{label} users waited {} longer than the service time shows: {}.",
            format::duration(gap),
            cause(doc)
        ),
        (_, Some(lag)) if lag < DIFFERENCE_NS_MIN => {
            format!(
                "Response and service time agree: every request{of_part} was sent within {} of its time.",
                format::duration(lag)
            )
        }
        _ => "Response and service time are within 1 ms or 5 % of each other in every percentile that is shown.".into(),
    }
}

/// Which part of the send lag is the largest, in words.
fn cause(doc: &RunDocument) -> &'static str {
    let lag = &doc.lag_causes;
    let largest = lag.no_connection_ns.max(lag.connecting_ns).max(lag.generator_ns);
    if largest == 0 {
        "arrivals waited to be sent"
    } else if largest == lag.no_connection_ns {
        "arrivals queued for a connection"
    } else if largest == lag.connecting_ns {
        "arrivals waited for connections to be opened"
    } else {
        "the load generator was late"
    }
}

/// Whether any arrival waited to be sent. The one that is just being sent counts as waiting in every run, also in a
/// simulated one in which no time passes between.
pub(crate) fn waited(doc: &RunDocument) -> bool {
    doc.send_lag.max.is_none_or(|max| max > 0)
        || doc.arrivals.unsent > 0
        || doc.arrivals.timed_out_never_sent > 0
}

/// How many arrivals waited to be sent, for what, and how long.
pub(crate) fn waits(doc: &RunDocument) -> Vec<String> {
    let lag = &doc.lag_causes;
    [
        (lag.no_connection, lag.no_connection_ns, "because every connection was in use"),
        (lag.connecting, lag.connecting_ns, "for a connection to be opened"),
    ]
    .into_iter()
    .filter_map(|(n, ns, why)| {
        let each = format::duration(ns.checked_div(n)?);
        Some(match n {
            1 => format!("1 arrival waited {why}: {each}."),
            n => format!("{} arrivals waited {why}, {each} on average.", format::count(n)),
        })
    })
    .collect()
}

/// Where the arrivals of an account ended: (class of colour, name, count). Their sum is `scheduled`.
pub(crate) fn account(doc: &RunDocument) -> [(&'static str, &'static str, u64); 5] {
    let a = &doc.arrivals;
    [
        ("ok", "ok", a.ok),
        ("failed", "failed", a.failed),
        ("timed-out", "timed out", a.timed_out),
        ("unfinished", "unfinished", a.unfinished),
        ("unsent", "unsent", a.unsent),
    ]
}

/// Whether every arrival ended in exactly one outcome.
pub(crate) fn adds_up(doc: &RunDocument) -> bool {
    account(doc).iter().map(|(_, _, n)| u128::from(*n)).sum::<u128>() == u128::from(doc.arrivals.scheduled)
}

/// The share of arrivals that failed or timed out.
pub(crate) fn errors(doc: &RunDocument) -> String {
    let a = &doc.arrivals;
    match a.scheduled {
        0 => "–".into(),
        scheduled => format::share(a.failed.saturating_add(a.timed_out), scheduled),
    }
}

/// Where the number scheduled comes from, or that the outcomes don't sum to it.
pub(crate) fn scheduled_meaning(doc: &RunDocument) -> &'static str {
    match doc.load.model {
        _ if !adds_up(doc) => "the sum is not what was scheduled",
        _ if wrong_client(doc).is_some() => "that this client knows of",
        // What crosses a border is counted where it ended.
        _ if doc.part.is_some() => "ended in this part of the run",
        _ if doc.transient.as_ref().is_some_and(|transient| transient.to_ns > 0) => {
            "ended after the transient"
        }
        LoadModel::Open => "counted from the schedule",
        LoadModel::Closed => "came due",
    }
}

/// Whose response time it is.
pub(crate) fn felt_by(doc: &RunDocument) -> &'static str {
    match doc.load.model {
        _ if wrong_client(doc).is_some() => "as it counts",
        LoadModel::Open => "what users feel",
        LoadModel::Closed => "what these users see",
    }
}

/// What an outcome means, for the account.
pub(crate) fn outcome_meaning(doc: &RunDocument, name: &str) -> String {
    match name {
        "ok" => "whole answers, as expected".into(),
        "failed" => "wrong answer, or none".into(),
        "timed out" if doc.arrivals.timed_out_never_sent > 0 => format!(
            "longer than {}; {} of them never sent",
            format::duration(doc.load.timeout_ns),
            format::count(doc.arrivals.timed_out_never_sent)
        ),
        "timed out" => format!("longer than {}", format::duration(doc.load.timeout_ns)),
        "unfinished" => "in flight when the run ended".into(),
        _ => "waiting when the run ended".into(),
    }
}

/// A quantile as it must be printed: `10.1 ms`, `> 5 s`, `~12 ms` where it rests on few samples. Of a part of
/// a request that took no time to be measured: `–`.
pub(crate) fn marked(quantile: &Quantile, part: bool) -> String {
    if part && quantile.value <= ONE_READ_NS_MAX && !quantile.censored {
        return "–".into();
    }
    let mark = if quantile.few_samples && !quantile.censored { "~" } else { "" };
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
    let in_one_read =
        [0.5, 0.99].iter().any(|q| quantile(&p.transfer, *q).is_some_and(|q| q.value <= ONE_READ_NS_MAX));
    let transfer = if in_one_read { "first to last byte; – is in one read" } else { "first to last byte" };
    [
        ("connect", "per connection", &p.connect),
        ("TLS", "per connection", &p.tls),
        ("first byte", "from the send", &p.first_byte),
        ("transfer", transfer, &p.transfer),
    ]
    .into_iter()
    .filter(|(_, _, d)| d.count > 0)
    .collect()
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
    let first_few = d.quantiles.iter().position(|q| q.few_samples && !q.censored);
    let shown = first_few.map_or(d.quantiles.len(), |few| few + 1);
    (shown, d.quantiles.len() - shown)
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

    #[test]
    fn evidence_is_read_by_its_unit() {
        for (name, value, expected) in [
            ("late_ns", 1_240_000.0, ("late", "1.24 ms")),
            ("sent_share", 0.973, ("sent share", "97.3 %")),
            ("first_quantile", 0.999, ("first quantile", "p99.9")),
            ("answered_per_s_best", 512.0, ("answered best", "512/s")),
            ("load_s", 20.0, ("load", "20 s")),
            ("missing", 3.0, ("missing", "3")),
        ] {
            let (name, value) = evidence(name, value);
            assert_eq!((name.as_str(), format::plain(&value).as_str()), expected);
        }
    }

    #[test]
    fn why_response_and_service_time_differ() {
        assert_eq!(
            format::plain(&difference(&fixture::pool())),
            "At p99.9 users waited 950 ms longer than the service time shows: arrivals queued for a connection."
        );
        assert!(difference(&fixture::stall()).starts_with("Response and service time agree"));
        // The widest gap is little of its own percentile, the other one most of it.
        let mut doc = fixture::stall();
        doc.send_lag.max = Some(20_000_000);
        for (r, s) in doc.response_time.quantiles.iter_mut().zip(&mut doc.service_time.quantiles) {
            (r.value, s.value) =
                if r.q > 0.99 { (1_000_000_000, 990_000_000) } else { (3_000_000, 1_000_000) };
        }
        let said = format::plain(&difference(&doc));
        assert!(said.starts_with("At p50 users waited 2 ms longer than the service time shows"), "{said}");
        // A percentile that is not shown is not named.
        for r in &mut doc.response_time.quantiles {
            (r.value, r.few_samples) =
                if r.q > 0.9 { (9_000_000_000, r.q > 0.95) } else { (1_000_000, false) };
        }
        doc.response_time.max = None;
        let last = doc.response_time.quantiles[shown(&doc.response_time).0 - 1].q;
        let said = format::plain(&difference(&doc));
        let named = said.split(' ').nth(1).expect("a percentile");
        assert!(
            doc.response_time.quantiles.iter().any(|r| r.q <= last && format::quantile_label(r.q) == named),
            "{said}"
        );
        for r in &mut doc.response_time.quantiles {
            r.value = if r.few_samples && r.q > last { 9_000_000_000 } else { 1_000_000 };
        }
        assert_eq!(
            difference(&doc),
            "Response and service time are within 1 ms or 5 % of each other in every percentile that is shown."
        );
        let mut censored = fixture::saturated();
        censored.service_time = fixture::stall().service_time;
        censored.lag_causes.connecting_ns = u64::MAX;
        assert_eq!(
            format::plain(&difference(&censored)),
            "At p50 users waited longer than 5 s; the service time shows 10.1 ms: arrivals waited for connections \
             to be opened."
        );
    }

    #[test]
    fn a_part_does_not_speak_for_the_whole_run() {
        let mut doc = fixture::stall();
        assert_eq!(scheduled_meaning(&doc), "counted from the schedule");
        doc.part = Some(unblink_artifact::document::Part { from_ns: 0, to_ns: 1 });
        assert_eq!(scheduled_meaning(&doc), "ended in this part of the run");
        assert!(difference(&doc).contains("every request of this part was sent"), "{}", difference(&doc));
    }

    #[test]
    fn notes_take_nothing_from_a_valid_run() {
        let mut doc = fixture::stall();
        assert!(validity_sentence(&doc).ends_with("no check found anything against this run."));
        doc.validity.findings = fixture::one_arrival().validity.findings;
        doc.status = RunStatus::Interrupted;
        assert_eq!(
            validity_sentence(&doc),
            "Every arrival is accounted for, and nothing was found that takes from these figures. The run was \
             ended early."
        );
    }

    #[test]
    fn one_is_not_many() {
        let mut doc = fixture::one_arrival();
        assert_eq!(
            waits(&doc).iter().map(|wait| format::plain(wait)).collect::<Vec<_>>(),
            ["1 arrival waited for a connection to be opened: 210 µs."]
        );
        doc.connections.mode = "fixed".into();
        doc.connections.limit = 1;
        assert!(means(&doc).starts_with("1 connection ·"), "{}", means(&doc));
        doc.connections.mode = "auto".into();
        doc.connections.limit = 12_690;
        doc.connections.limited_by = Some(MachineLimit::LocalPorts);
        let line = format::plain(&means(&doc));
        assert!(
            line.starts_with("connections as needed (at most 12 690, by local ports) · 1 thread"),
            "{line}"
        );
    }

    #[test]
    fn percentiles_without_samples_are_not_listed() {
        assert_eq!(shown(&fixture::one_arrival().response_time), (1, 7));
        assert_eq!(shown(&fixture::one_row().response_time), (3, 5));
        assert_eq!(shown(&fixture::stall().response_time), (8, 0));
        assert_eq!(shown(&fixture::unanswered().response_time), (8, 0), "bounds are bounds");
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
}
