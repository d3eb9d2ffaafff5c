//! Titles of pictures: each says its finding, never its type, and claims nothing that the document doesn't
//! bear out.

use super::harm::{self, Kind, TAIL_RATIO};
use super::title::{Title, title};
use super::{none_ok, quantile};
use crate::event::{self, Tail};
use crate::format::{self, Bound, duration, least};
use unblink_artifact::document::{IntervalKind, LoadModel, Quantile, RunDocument, ShapeResult};

/// Of the percentile spectrum.
pub(crate) fn spectrum(doc: &RunDocument) -> Title {
    let ends = if doc.response_time.censored > 0 {
        ". Hatched: beyond what is known."
    } else {
        "; it ends where the data end."
    };
    let of = super::timed(doc);
    let plotted = &format!("Share of {of} (the tail stretched) against the time they took{ends}");
    let response = |q| quantile(&doc.response_time, q);
    let (Some(p50), Some(p99)) = (response(0.5), response(0.99)) else {
        return title(no_times(doc), plotted);
    };
    let failed = harm::harms(doc).into_iter().find(|harm| harm.kind == Kind::Failures);
    let finding = if let Some(why) = none_ok(doc) {
        why
    } else if let Some(failed) = failed.filter(|_| !harm::whose(doc, 0.99).is_empty()) {
        // Percentiles are those of the others, and so say less.
        let is = if p50.censored { harm::is(doc, p50) } else { harm::is(doc, p99) };
        format!("{}; {is}", failed.beside)
    } else if let Some(client) = super::wrong_client(doc).filter(|_| !p99.censored) {
        format!("The client {client:?} would report a p99 of {}", duration(p99.value))
    } else if doc.arrivals.ok == 0 {
        format!("No arrival was answered in time; the median is above {}", least(p50.value))
    } else if p50.censored {
        format!("More than half of the users waited longer than {}", least(p50.value))
    } else if p99.censored {
        format!("More than 1 in 100 users waited longer than {}", least(p99.value))
    } else if p99.few_samples {
        format!("The median is {}; there are too few samples for p99", duration(p50.value))
    } else if doc.model() == LoadModel::Closed {
        format!("p99 is {} for users who wait for each answer, and for nobody else", duration(p99.value))
    } else {
        match quantile(&doc.service_time, 0.99) {
            Some(s)
                if !s.censored
                    && p99.value >= s.value.saturating_add(1_000_000)
                    && p99.value / 2 >= s.value =>
            {
                format!(
                    "1 in 100 users waited {} or longer; the service time shows {}",
                    Bound::Lower.beside(p99.value),
                    duration(s.value)
                )
            }
            // The median of several rates is that of none of them.
            _ if doc.validity.findings.iter().any(|f| f.code == "rate_changed") => {
                format!("Over all rates, 1 in 100 users waited {} or longer", Bound::Lower.beside(p99.value))
            }
            _ => open_finding(p50.value, p99.value, response(0.999)),
        }
    };
    title(finding, plotted)
}

/// Whose times are known or bounded: all arrivals, unless some failed.
pub(crate) fn timed(doc: &RunDocument) -> &'static str {
    match (doc.arrivals.failed, doc.response_time.censored) {
        (0, _) => "arrivals",
        (_, 0) => "the ok answers",
        _ => "the arrivals that did not fail",
    }
}

fn no_times(doc: &RunDocument) -> String {
    none_ok(doc).unwrap_or_else(|| "No response times to show".into())
}

fn open_finding(p50: u64, p99: u64, p999: Option<&Quantile>) -> String {
    let times = p99 as f64 / p50.max(1) as f64;
    let further = p999.filter(|q| !q.few_samples && !q.censored && q.value / TAIL_RATIO >= p99);
    let (p99, p99_least) = (duration(p99), Bound::Lower.beside(p99));
    match further {
        _ if times >= TAIL_RATIO as f64 => {
            format!("1 in 100 users waited {p99_least} or longer, {times:.0} times the median")
        }
        Some(far) => {
            format!(
                "p99 is {p99}, but 1 in 1\u{202f}000 users waited {} or longer",
                Bound::Lower.beside(far.value)
            )
        }
        None if times >= 1.25 => format!("p99 is {p99}, {times:.1} times the median"),
        None => format!("p99 is {p99}, close to the median of {}", duration(p50)),
    }
}

/// Of the heat map.
pub(crate) fn heat(doc: &RunDocument) -> Title {
    let has_cells = doc.heatmap.columns.iter().any(|column| !column.cells.is_empty());
    let plotted = match has_cells {
        true => format!(
            "Each cell: arrivals by the time they were due and how long they took; stronger is more. Lines: percentiles of \
             what ended in {}.",
            super::counted_by(doc)
        ),
        false => "What became of arrivals, by the time they were due.".into(),
    };
    title(heat_finding(doc), &plotted)
}

fn heat_finding(doc: &RunDocument) -> String {
    // What the load does on purpose is not an event, and its percentiles mix all rates.
    if let Some(ShapeResult::Spike(_) | ShapeResult::Stress(_)) = &doc.shape
        && let Some(shape) = super::shape(doc)
    {
        return shape.finding.trim_end_matches('.').into();
    }
    let Some(p50) = quantile(&doc.response_time, 0.5) else { return no_times(doc) };
    if let Some(worst) = harm::title(&harm::harms(doc)) {
        return worst;
    }
    if doc.validity.findings.iter().any(|finding| finding.code == "saturated") {
        return format!("The load was not carried; the median is {}", super::value(p50));
    }
    if let Some(decided) = by_one_event(doc) {
        return decided;
    }
    let known = [0.999, 0.99]
        .iter()
        .find_map(|q| quantile(&doc.response_time, *q).filter(|high| !high.few_samples && !high.censored));
    let Some(high) = known else {
        return format!("The median is {}; the run is too short to judge its tail", super::value(p50));
    };
    let is = harm::is(doc, high);
    let slowest = doc.response_time.max.filter(|max| *max / (3 * TAIL_RATIO) >= p50.value);
    match slowest {
        Some(max) => match doc.slowest.first() {
            Some(slow) if slow.outcome == "ok" => format!(
                "{is}, but the slowest arrival, due at {}{}, took {}",
                format::moment(event::about(doc, slow.intended_ns)),
                slow.machine(&doc.agents).map_or(String::new(), |plan| format!(" in {}", plan.name())),
                duration(max)
            ),
            _ => format!("{is}, but the slowest arrival took {}", duration(max)),
        },
        None => format!("No event stands out: the median is {}, {is}", duration(p50.value)),
    }
}

/// The highest percentile of which its interval says that one event decides it.
fn by_one_event(doc: &RunDocument) -> Option<String> {
    let is_one =
        |of: &&Quantile| of.interval == Some(IntervalKind::OneEvent) && !of.censored && !of.few_samples;
    let decided = [0.99, 0.98, 0.95].iter().find_map(|q| quantile(&doc.response_time, *q).filter(is_one))?;
    let at = decided
        .event_at_ns
        .map_or(String::new(), |at| format!(" at {}", format::moment(event::about(doc, at))));
    Some(format!("{}, and one event{at} decides it", harm::is(doc, decided)))
}

/// Of the event that makes p99 or p99.9, seen closer: its title and its stretch of time. `None` where there
/// is no such event or where the whole run already shows it.
pub(crate) fn close(doc: &RunDocument) -> Option<(Title, u64, u64)> {
    let heat = &doc.heatmap;
    let column_ns = heat.column_ns.max(1);
    let span = heat.columns.last()?.start_ns.saturating_sub(heat.columns.first()?.start_ns);
    let p50 = quantile(&doc.response_time, 0.5)?.value;
    let high = [0.99, 0.999].iter().find_map(|q| {
        quantile(&doc.response_time, *q)
            .filter(|high| !high.few_samples && !high.censored && high.value / TAIL_RATIO >= p50)
    })?;
    let Tail::Event { from_ns, to_ns } = event::tail(doc, high.value) else { return None };
    // The event goes on below that percentile: as far down as all that is slower is still one event.
    let lower = [p50.saturating_add(p50 / 5), p50.saturating_mul(2), p50.saturating_mul(TAIL_RATIO)];
    let whole = lower.into_iter().filter(|lower| *lower < high.value).find_map(|lower| {
        match event::tail(doc, lower) {
            Tail::Event { from_ns: from, to_ns: to } if from <= from_ns && to >= to_ns => Some((from, to)),
            _ => None,
        }
    });
    let (first_ns, last_ns) = whole.unwrap_or((from_ns, to_ns));
    let length = last_ns.saturating_sub(first_ns).max(column_ns.saturating_mul(4));
    let (from, to) = (first_ns.saturating_sub(length / 2), last_ns.saturating_add(length / 2));
    let from = from / column_ns * column_ns;
    let to = to.div_ceil(column_ns).saturating_mul(column_ns);
    if to.saturating_sub(from) > span / 4 {
        return None;
    }
    let at = format::moment(event::moment(doc, from_ns, to_ns));
    let longest = doc.response_time.max.filter(|_| doc.response_time.censored == 0);
    let finding = match longest {
        Some(max) if slowest_due(doc).is_some_and(|due| (from..to).contains(&due)) => {
            format!("The event at {at}, closer: who came first waited longest, {}", duration(max))
        }
        _ => format!("The event at {at}, closer"),
    };
    let plotted =
        "The same cells, stretched: the earlier an arrival was due in the event, the longer it waited.";
    let plotted = if finding.contains("first") { plotted } else { "The same cells, stretched." };
    Some((title(finding, plotted), from, to))
}

/// When the slowest arrival was due, if it came before the other slow ones.
fn slowest_due(doc: &RunDocument) -> Option<u64> {
    let first = doc.slowest.first()?;
    // As in a queue that stands still: the earlier due, the slower. Checked, not assumed.
    let ordered = doc.slowest.iter().take(5).all(|slow| slow.intended_ns >= first.intended_ns);
    ordered.then_some(first.intended_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn titles_say_what_the_run_bears_out() {
        let mut said = Vec::new();
        for (doc, expected) in [
            (fixture::stall(), "p99 is 410 ms because of one event at 30 s"),
            (fixture::stall_closed(), "p99.9 is 10.2 ms, but the slowest arrival, due at 30 s, took 1.01 s"),
            (fixture::two_hours(), "The median rose from 13.7 ms to 99.4 ms over the run"),
            (fixture::saturated(), "75.1 % of the arrivals had no answer within 5 s, due from 4.9 s to 20 s"),
            (
                fixture::failures(),
                "2.84 % of the arrivals failed, most often with a 5xx status, in one event at 25 s",
            ),
            (fixture::one_row(), "The median is 10.1 ms; the run is too short to judge its tail"),
            (fixture::empty(), "No response times to show"),
            (fixture::two_pauses(), "p99 is 310 ms because of 2 events, the first at 3.8 s"),
            (fixture::all_failed(), "No answer was ok: all 300 failed with a 4xx status"),
        ] {
            said.push((format::plain(&heat(&doc).finding), expected));
        }
        let wrong: Vec<_> = said.iter().filter(|(said, expected)| said != expected).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn the_spectrum_says_what_users_felt() {
        for (doc, expected) in [
            (fixture::stall(), "1 in 100 users waited 410 ms or longer, 41 times the median"),
            (fixture::pool(), "1 in 100 users waited 526.5 ms or longer; the service time shows 10.1 ms"),
            (
                fixture::stall_closed(),
                "p99 is 10.2 ms for users who wait for each answer, and for nobody else",
            ),
            (fixture::saturated(), "More than half of the users waited longer than 5 s"),
            (fixture::one_row(), "The median is 10.1 ms; there are too few samples for p99"),
        ] {
            assert_eq!(format::plain(&spectrum(&doc).finding), expected);
        }
    }

    #[test]
    fn of_a_killed_run_no_slow_arrivals_are_claimed_where_none_are_drawn() {
        let mut doc = fixture::stall();
        doc.status = unblink_artifact::document::RunStatus::Running;
        doc.arrivals.unfinished = 700;
        for quantile in doc.response_time.quantiles.iter_mut().filter(|quantile| quantile.q >= 0.99) {
            (quantile.value, quantile.censored) = (10_100_000, true);
        }
        let said = format::plain(&heat(&doc).finding);
        assert_eq!(said, "p99 is above 10.1 ms: 700 arrivals had no answer yet when the record ends");
    }

    #[test]
    fn what_an_interval_knows_of_an_event_is_not_denied() {
        let mut doc = fixture::stall();
        doc.response_time.max = Some(20_000_000);
        for quantile in &mut doc.response_time.quantiles {
            quantile.value = 10_000_000;
            if quantile.q == 0.99 {
                quantile.interval = Some(IntervalKind::OneEvent);
                quantile.event_at_ns = Some(30_000_000_000);
            }
        }
        let said = |doc: &RunDocument| format::plain(&heat(doc).finding);
        assert_eq!(said(&doc), "p99 is 10 ms, and one event at 30 s decides it");
        doc.validity.findings = fixture::saturated().validity.findings;
        assert_eq!(said(&doc), "The load was not carried; the median is 10 ms");
    }

    #[test]
    fn only_one_event_is_shown_closer() {
        assert!(
            close(&fixture::stall())
                .is_some_and(|(_, from, to)| from < 30_000_000_000 && to > 31_000_000_000)
        );
        for doc in [fixture::stall_closed(), fixture::two_hours(), fixture::saturated(), fixture::empty()] {
            assert_eq!(close(&doc), None);
        }
    }
}
