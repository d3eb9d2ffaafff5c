//! What the service's own metrics say beside ours, in words.

use super::title::{Title, title};
use super::{none_ok, quantile};
use crate::format::{self, Bound};
use unblink_artifact::document::{CrossCheck, MetricsSource, RunDocument, ServiceQuantile, WatchedSeries};

/// Below this, what users feel and what the service counts are the same to a reader.
const GAP_NS_MIN: u64 = 1_000_000;

/// In which bucket it lies: `2.5–5 ms`, `≤ 1 ms`, `> 10 s`.
pub(crate) fn bucket(of: &ServiceQuantile) -> String {
    match (of.lower_ns, of.upper_ns) {
        (lower, None) => format::above(lower),
        (0, Some(upper)) => format!("≤\u{a0}{}", Bound::Upper.duration(upper)),
        (lower, Some(upper)) => format::between(lower, upper),
    }
}

/// Who was asked, and what that covers.
pub(crate) fn source(check: &CrossCheck) -> String {
    let who = match check.source {
        MetricsSource::Prometheus => "from a Prometheus server",
        MetricsSource::Scrape => "as it says itself",
    };
    format!("{who}; the warm-up included")
}

/// What the difference between its times and ours is; nothing where either is not known.
pub(crate) fn its_clock(doc: &RunDocument) -> Option<String> {
    let latency = doc.cross_check.as_ref()?.latency.as_ref()?;
    if none_ok(doc).is_some() {
        return None;
    }
    let pairs = || {
        let shown = super::shown(&doc.response_time).0;
        let ours = doc.response_time.quantiles[..shown]
            .iter()
            .filter(|quantile| !quantile.few_samples || quantile.censored);
        ours.filter_map(|ours| Some((ours, latency.quantiles.iter().find(|theirs| theirs.q == ours.q)?)))
    };
    let above = pairs().filter_map(|(ours, theirs)| Some((ours, ours.value.checked_sub(theirs.upper_ns?)?)));
    let differs = |value: u64, gap: u64| gap >= GAP_NS_MIN && gap >= value / 20;
    if let Some((ours, gap)) =
        above.filter(|(ours, gap)| differs(ours.value, *gap)).max_by_key(|(_, gap)| *gap)
    {
        return Some(format!(
            "At {} its clock shows at least {} less than users wait: it starts when the service takes a request up. What comes \
             before that, and the way back, is in none of its figures.{}",
            format::quantile_label(ours.q),
            format::least(gap),
            also_there(doc)
        ));
    }
    let mut below = pairs().filter(|(ours, theirs)| {
        !ours.censored && differs(theirs.lower_ns, theirs.lower_ns.saturating_sub(ours.value))
    });
    if let Some((ours, theirs)) = below.next_back() {
        return Some(format!(
            "At {} its clock shows at least {} more than our users wait: it counts the warm-up and what others ask, too, or times \
             more than the answer.",
            format::quantile_label(ours.q),
            format::least(theirs.lower_ns - ours.value)
        ));
    }
    pairs().next()?;
    Some("Its clock and that of our users agree, as far as its buckets tell.".into())
}

/// What its times have in them that ours leave out: some of the difference may be due to it.
fn also_there(doc: &RunDocument) -> String {
    let requests = doc.cross_check.as_ref().and_then(|check| check.requests.as_ref());
    let others = [
        (doc.warmup.as_ref().is_some_and(|warmup| warmup.scheduled > 0), "the warm-up"),
        (doc.arrivals.failed > 0, "requests that failed here"),
        (requests.is_some_and(|of| of.there > of.here_max), "what others asked"),
    ];
    let others: Vec<&str> =
        others.into_iter().filter(|(is_there, _)| *is_there).map(|(_, what)| what).collect();
    match others[..] {
        [] => String::new(),
        _ => format!(
            " They have {} in them, too, which may make up a part of the difference.",
            others.join(" and ")
        ),
    }
}

/// Ours at this quantile, as it must be printed.
pub(crate) fn ours(doc: &RunDocument, q: f64) -> Option<String> {
    Some(super::marked(quantile(&doc.response_time, q)?, false))
}

/// Of a metric over time.
pub(crate) fn watched(series: &WatchedSeries) -> Title {
    let value = |value: f64| watched_value(series, value);
    let points = &series.points;
    let highest = points.iter().copied().reduce(|a, b| if b.1 > a.1 { b } else { a });
    let finding = match (points.first(), points.last(), highest) {
        (Some(first), Some(last), Some(highest)) if highest.1 > first.1.max(last.1) => format!(
            "{} to {}, at most {} at {}",
            value(first.1),
            value(last.1),
            value(highest.1),
            format::moment(highest.0)
        ),
        (Some(first), Some(last), _) => format!("{} to {}", value(first.1), value(last.1)),
        _ => "Nothing was seen of it".into(),
    };
    let source = match series.of.is_local {
        true => "As this machine says of the process, its cgroup or its files.",
        false => "As the service says itself, all series together.",
    };
    title(format!("{}: {finding}", series.of.metric), source)
}

/// What the line is.
pub(crate) fn watched_unit(series: &WatchedSeries) -> String {
    let per = if series.of.per_second { ", growth per second" } else { "" };
    format!("{}{per}", series.of.metric)
}

/// A value of it, in the unit that its name ends in.
pub(crate) fn watched_value(series: &WatchedSeries, value: f64) -> String {
    let name = series.of.metric.split('{').next().unwrap_or_default();
    match series.of.per_second {
        true if name.contains("_bytes") && value >= 0.0 => {
            format!("{}/s", format::bytes(value.round() as u64))
        }
        // Of a processor's seconds, say.
        true if name.contains("_seconds") => format!("{}\u{a0}s/s", format::number(value)),
        true => format!("{}/s", format::number(value)),
        false if name.ends_with("_bytes") && value >= 0.0 => format::bytes(value.round() as u64),
        false => format::number(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_artifact::document::WatchedMetric;

    #[test]
    fn a_watched_value_has_its_unit() {
        for (metric, per_second, value, expected) in [
            ("process_cpu_seconds_total{pid=\"1\"}", true, 0.04, "0.04 s/s"),
            ("http_requests_total", true, 12.0, "12/s"),
            ("sent_bytes_total", true, 1_500.0, "1.5 kB/s"),
            ("process_resident_memory_bytes", false, 1_500.0, "1.5 kB"),
            ("process_open_fds", false, 7.0, "7"),
        ] {
            let of = WatchedMetric { metric: metric.into(), per_second, is_local: true };
            let series = WatchedSeries { of, points: Vec::new() };
            assert_eq!(format::plain(&watched_value(&series, value)), expected);
        }
    }
}
