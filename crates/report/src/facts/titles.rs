//! Titles of pictures: each says its finding, never its type, and claims nothing that the document doesn't
//! bear out.

use super::harm::{self, Kind, TAIL_RATIO};
use super::{Moment, cause, generator, none_ok, not_sent, of_answered, quantile, simulated, usual_row_ns};
use crate::event::{self, Tail};
use crate::format::{self, duration, plural};
use unblink_artifact::document::{LoadModel, Quantile, RunDocument, ShapeResult};

/// What a picture says and what it shows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Title {
    /// The finding.
    pub(crate) finding: String,
    /// What is plotted.
    pub(crate) plotted: String,
}

fn title(finding: String, plotted: &str) -> Title {
    Title { finding, plotted: plotted.into() }
}

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
        format!("No arrival was answered in time; the median is above {}", duration(p50.value))
    } else if p50.censored {
        format!("More than half of the users waited longer than {}", duration(p50.value))
    } else if p99.censored {
        format!("More than 1 in 100 users waited longer than {}", duration(p99.value))
    } else if p99.few_samples {
        format!("The median is {}; there are too few samples for p99", duration(p50.value))
    } else if doc.load.model == LoadModel::Closed {
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
                    duration(p99.value),
                    duration(s.value)
                )
            }
            // The median of several rates is that of none of them.
            _ if doc.validity.findings.iter().any(|f| f.code == "rate_changed") => {
                format!("Over all rates, 1 in 100 users waited {} or longer", duration(p99.value))
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
    let p99 = duration(p99);
    match further {
        _ if times >= TAIL_RATIO as f64 => {
            format!("1 in 100 users waited {p99} or longer, {times:.0} times the median")
        }
        Some(far) => {
            format!("p99 is {p99}, but 1 in 1\u{202f}000 users waited {} or longer", duration(far.value))
        }
        None if times >= 1.25 => format!("p99 is {p99}, {times:.1} times the median"),
        None => format!("p99 is {p99}, close to the median of {}", duration(p50)),
    }
}

/// Of the heat map.
pub(crate) fn heat(doc: &RunDocument) -> Title {
    let plotted = format!(
        "Each cell: arrivals by the time they were due and how long they took; stronger is more. Lines: percentiles of \
         what ended in {}.",
        super::counted_by(doc)
    );
    title(heat_finding(doc), &plotted)
}

fn heat_finding(doc: &RunDocument) -> String {
    // What the load does on purpose is no event, and its percentiles mix all rates.
    if let Some(ShapeResult::Spike(_) | ShapeResult::Stress(_)) = &doc.shape
        && let Some(shape) = super::shape(doc)
    {
        return shape.finding.trim_end_matches('.').into();
    }
    let Some(p50) = quantile(&doc.response_time, 0.5) else { return no_times(doc) };
    if let Some(worst) = harm::title(&harm::harms(doc)) {
        return worst;
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
                "{is}, but the slowest arrival, due at {}, took {}",
                format::moment(event::about(doc, slow.intended_ns)),
                duration(max)
            ),
            _ => format!("{is}, but the slowest arrival took {}", duration(max)),
        },
        None => format!("No event stands out: the median is {}, {is}", duration(p50.value)),
    }
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

/// Of the rates.
pub(crate) fn rates(doc: &RunDocument) -> Title {
    let finding = match doc.rate.offered {
        _ if doc.arrivals.scheduled == 0 => "Nothing was offered".into(),
        None => {
            let users = doc.load.users.map(|n| plural(u64::from(n), "user", "users"));
            let achieved = format::rate(doc.rate.achieved);
            match (none_ok(doc), users) {
                (Some(why), _) => why,
                (None, Some(users)) => format!("{users} achieved {achieved}"),
                (None, None) => format!("Achieved {achieved}"),
            }
        }
        Some(offered) => open_rates(doc, offered),
    };
    title(finding, "Arrivals due, requests sent and answers received, per second.")
}

fn open_rates(doc: &RunDocument, offered: f64) -> String {
    let a = &doc.arrivals;
    let (sent, all) = (doc.rate.sent, format::rate(offered));
    if let Some((omitted, claimed)) = simulated::omitted(doc) {
        // What a client does not send it does not offer either, and then holds a schedule of its own.
        let arrivals = plural(omitted, "arrival was", "arrivals were");
        return format!("{} were claimed and {all} offered: {arrivals} never sent", format::rate(claimed));
    }
    if sent < offered * 0.99 {
        let some = format::rate(sent);
        return match not_sent(doc) {
            Some(why) if sent > 0.0 => format!("{some} of the offered {all} were sent: {why}"),
            Some(why) => format!("Nothing of the offered {all} was sent: {why}"),
            None if sent > 0.0 => format!("Only {some} of the offered {all} were sent"),
            None => format!("Nothing of the offered {all} was sent"),
        };
    }
    let late = a.timed_out.saturating_add(a.unfinished).saturating_add(a.unsent);
    if a.ok == 0 {
        let what = if a.failed > 0 { super::nothing(doc) } else { "nothing was answered in time" };
        return format!("{all} were offered and sent; {what}");
    }
    let share = |n: u64| format::share(n, a.scheduled);
    if (a.ok as f64) < a.scheduled as f64 * 0.9 {
        let ok = over_the_load(doc, a.ok);
        return if a.failed > late {
            format!("{all} were offered and sent: {ok} ok, {} failed", over_the_load(doc, a.failed))
        } else {
            format!("{all} were offered and sent, {ok} answered in time")
        };
    }
    if doc.rate.achieved < offered * 0.95 {
        // All came in the end, and later than they were asked for.
        return format!("{all} were offered and sent, {} answered", format::rate(doc.rate.achieved));
    }
    let held = if let Some(was) = generator(doc) {
        format!("All of {all} were sent, but not on schedule: the generator {was}")
    } else if simulated::moves_schedule(doc) {
        format!("All of {all} were sent, by a client that moves its schedule when it is late")
    } else {
        format!("The schedule was held: {} of {all} sent", format::rate(sent))
    };
    match (a.failed, late) {
        (0, 0) => held,
        (failed, 0) => format!("{held}; {} failed", share(failed)),
        (0, late) => format!("{held}; {} not answered in time", share(late)),
        (failed, late) => format!("{held}; {} failed, {} not answered in time", share(failed), share(late)),
    }
}

/// A number of arrivals per second of the load's time, as `offered` and `sent` are.
fn over_the_load(doc: &RunDocument, n: u64) -> String {
    match doc.series.load_to_ns.saturating_sub(doc.series.load_from_ns) {
        0 => format::rate(doc.rate.achieved),
        ns => format::rate(n as f64 * 1e9 / ns as f64),
    }
}

/// Of in-flight requests, backlog and connections: the highest levels, or, without a timeline, those at the ends of rows.
pub(crate) fn flight(doc: &RunDocument) -> Title {
    let row_ns = usual_row_ns(doc);
    let ends = match doc.series.rows.len() {
        _ if super::timeline(doc).is_some() => String::new(),
        1 => " at the end".to_string(),
        _ if (900_000_000..1_100_000_000).contains(&row_ns) => " at the end of a second".into(),
        _ => format!(" at the end of a stretch of {}", duration(row_ns)),
    };
    let moments = super::moments(doc);
    let finding = match (peak(doc, &moments, |m| m.backlog), peak(doc, &moments, |m| m.in_flight)) {
        (Some((backlog, near)), _) if backlog >= 10 && super::waited(doc) => {
            format!("At most {} waited to be sent{ends}{near}", plural(backlog, "arrival", "arrivals"))
        }
        (_, Some((0, _))) => "Nothing was in flight when counted".into(),
        (Some((backlog, _)), Some((flight, near))) => {
            let flight = plural(flight, "request", "requests");
            let waiting = match backlog {
                _ if !super::waited(doc) => "none waited to be sent".into(),
                0 => "none waiting to be sent".into(),
                backlog => format!("at most {backlog} waiting to be sent"),
            };
            format!("At most {flight} in flight{ends}{near}; {waiting}")
        }
        _ => "Nothing was in flight".into(),
    };
    let plotted = match super::timeline(doc) {
        Some(timeline) => {
            let of_threads = if doc.load.threads > 1 { ", as the sum of each thread's highest" } else { "" };
            format!(
                "The highest number in each {}{of_threads}; connections at the end of each interval. The logarithmic axis \
                 starts with 0.",
                duration(timeline.cell_ns)
            )
        }
        None => "Counted at the end of each interval; the logarithmic axis starts with 0.".into(),
    };
    title(finding, &plotted)
}

/// The most that was counted, and when, in words; no time where it was about as much for long.
fn peak(doc: &RunDocument, moments: &[Moment], of: fn(&Moment) -> u64) -> Option<(u64, String)> {
    let most = moments.iter().map(of).max()?;
    let place = moments.iter().find(|moment| of(moment) == most)?;
    let at = place.start_ns.saturating_add(place.length_ns);
    let as_high = moments.iter().filter(|moment| of(moment) >= most - most / 5).count();
    let near = if as_high * 5 > moments.len() {
        String::new()
    } else {
        format!(", near {}", format::moment(event::about(doc, at)))
    };
    Some((most, near))
}

/// Of the parts of a request's time.
pub(crate) fn phases(doc: &RunDocument) -> Title {
    let p99 = |d| quantile(d, 0.99);
    let finding = match (p99(&doc.phases.first_byte), p99(&doc.phases.transfer)) {
        (Some(first), _) if first.few_samples && !first.censored => {
            let p50 = quantile(&doc.phases.first_byte, 0.5).map_or("–".into(), super::value);
            format!("Waiting for the first byte took {p50} at the median; there are too few samples for p99")
        }
        (Some(first), transfer) => {
            let first = super::value(first);
            let took = match of_answered(doc) {
                Some(of) => format!("O{}, 99 % had the first byte within {first}", &of[1..]),
                None => format!("Waiting for the first byte took {first} at p99"),
            };
            match transfer.filter(|transfer| transfer.value > super::ONE_READ_NS_MAX) {
                Some(rest) if of_answered(doc).is_some() => {
                    format!("{took} and read the rest within {}", super::value(rest))
                }
                Some(rest) => format!("{took}, reading the rest {}", super::value(rest)),
                None => took,
            }
        }
        _ => none_ok(doc).unwrap_or_else(|| "No request was answered".into()),
    };
    title(finding, "Each bar from p50 to p99; the tick is the maximum.")
}

/// Of the generator's lateness.
pub(crate) fn lateness(doc: &RunDocument) -> Title {
    let finding = match (quantile(&doc.generator_late, 0.99), doc.generator_late.max) {
        (Some(late), Some(max)) => {
            let (late, max) = (super::value(late), duration(max));
            let p99 = if late == max { String::new() } else { format!(", {late} at p99") };
            match quantile(&doc.send_lag, 0.99).filter(|lag| lag.value >= 1_000_000) {
                Some(_) if doc.lag_causes.generator_ns < doc.lag_causes.no_connection_ns => {
                    format!("The generator was at most {max} late; {}", cause(doc))
                }
                _ => format!("The generator was at most {max} late{p99}"),
            }
        }
        (Some(late), None) => format!("The generator was {} late at p99", super::value(late)),
        _ if doc.rate.sent > 0.0 => "How late the generator was is not known".into(),
        _ => "Nothing was sent".into(),
    };
    title(finding, "How late the generator itself sent, apart from waiting for a connection.")
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
            (fixture::pool(), "1 in 100 users waited 527 ms or longer; the service time shows 10.1 ms"),
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
    fn rates_blame_whom_the_document_blames() {
        let said = |doc: &RunDocument| format::plain(&rates(doc).finding);
        let mut doc = fixture::stall();
        assert_eq!(said(&doc), "The schedule was held: 1 000/s of 1 000/s sent");
        let mut paused = fixture::pool().validity;
        paused.findings[0].code = "generator_paused".into();
        doc.validity = paused;
        let paused = "All of 1 000/s were sent, but not on schedule: the generator was away in between";
        assert_eq!(said(&doc), paused);
        doc.validity.findings[0].severity = unblink_artifact::document::Severity::Note;
        assert!(said(&doc).starts_with("The schedule was held"));

        // A client that drops or moves what it is late with has held no schedule, whatever it sent of its own.
        let mut simulated = fixture::simulated().simulated.expect("it is simulated");
        doc.rate.offered = Some(984.0);
        doc.rate.sent = 984.0;
        simulated.omitted = Some(960);
        doc.simulated = Some(simulated.clone());
        assert_eq!(said(&doc), "1 000/s were claimed and 984/s offered: 960 arrivals were never sent");
        simulated.omitted = Some(0);
        doc.simulated = Some(simulated.clone());
        assert!(said(&doc).starts_with("The schedule was held"));
        simulated.world.moves_schedule = true;
        doc.simulated = Some(simulated);
        let moved = "All of 984/s were sent, by a client that moves its schedule when it is late";
        assert_eq!(said(&doc), moved);

        assert_eq!(said(&fixture::saturated()), "1 000/s were offered and sent, 249/s answered in time");
        assert_eq!(said(&fixture::unanswered()), "100/s were offered and sent; nothing was answered in time");
        let mut failed = fixture::all_failed();
        assert_eq!(said(&failed), "100/s were offered and sent; no answer was ok");
        failed.failures = [("connect_refused".to_string(), 200)].into();
        failed.rate.sent = 33.3;
        assert_eq!(said(&failed), "33.3/s of the offered 100/s were sent: connections were refused");
        failed.rate.sent = 0.0;
        assert_eq!(said(&failed), "Nothing of the offered 100/s was sent: connections were refused");
    }

    #[test]
    fn levels_are_the_highest_there_were() {
        let said = |doc: &RunDocument| format::plain(&flight(doc).finding);
        let mut stall = fixture::stall();
        assert_eq!(said(&stall), "At most 1 011 requests in flight, near 31 s; at most 1 waiting to be sent");
        assert!(said(&fixture::pool()).starts_with("At most 96"), "{}", said(&fixture::pool()));
        // In a simulated run the arrival that is just being sent is no queue.
        let mut at_once = stall.clone();
        at_once.send_lag.max = Some(0);
        assert_eq!(said(&at_once), "At most 1 011 requests in flight, near 31 s; none waited to be sent");
        let drawn = |doc| crate::svg::pictures(doc, "", None).iter().any(|p| p.file().contains("backlog\""));
        assert_eq!((drawn(&stall), drawn(&at_once)), (true, false));
        stall.series.timeline = None;
        assert_eq!(
            said(&stall),
            "At most 1 010 requests in flight at the end of a second, near 31 s; none waiting to be sent"
        );
        let mut one = fixture::one_arrival();
        one.series.timeline = None;
        assert_eq!(said(&one), "Nothing was in flight when counted");
    }

    #[test]
    fn parts_are_those_of_answered_requests() {
        let said = |doc: &RunDocument| format::plain(&phases(doc).finding);
        assert_eq!(
            said(&fixture::stall()),
            "Waiting for the first byte took 410 ms at p99, reading the rest 15.9 µs"
        );
        let censored = said(&fixture::saturated());
        assert!(censored.starts_with("Of the 4 989 answered, 99 % had the first byte within "), "{censored}");
        let mut in_one_read = fixture::stall();
        in_one_read.phases.transfer = fixture::one_arrival().phases.transfer;
        assert_eq!(said(&in_one_read), "Waiting for the first byte took 410 ms at p99");
        let one = said(&fixture::one_arrival());
        assert!(
            one.starts_with("Waiting for the first byte took 10.1 ms at the median") && !one.contains("rest"),
            "{one}"
        );
        assert!(said(&fixture::all_failed()).starts_with("No answer was ok"));
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
