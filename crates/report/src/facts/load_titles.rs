//! Titles of the pictures of the load: what was sent and answered, how much was under way, and how late.

use super::title::{Title, title};
use super::waits::cause;
use super::{Moment, generator, none_ok, not_sent, of_answered, quantile, simulated, usual_row_ns};
use crate::event;
use crate::format::{self, Bound, duration, plural};
use unblink_artifact::document::RunDocument;

/// Of the rates.
pub(crate) fn rates(doc: &RunDocument) -> Title {
    let finding = match doc.rate.offered {
        _ if doc.arrivals.due() == 0 => "Nothing was offered".into(),
        None => {
            let users = doc.users().map(|n| plural(u64::from(n), "user", "users"));
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
            Some(why) => format!("None of the offered {all} was sent: {why}"),
            None if sent > 0.0 => format!("Only {some} of the offered {all} were sent"),
            None => format!("None of the offered {all} was sent"),
        };
    }
    let late = a.timed_out.saturating_add(a.unfinished).saturating_add(a.unsent);
    if a.ok == 0 {
        let what = if a.failed > 0 { super::nothing(doc) } else { "nothing was answered in time" };
        return format!("{all} were offered and sent; {what}");
    }
    let share = |n: u64| format::share(n, a.due());
    if (a.ok as f64) < a.due() as f64 * 0.9 {
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
            let of_threads = if doc.plan.threads > 1 { ", as the sum of each thread's highest" } else { "" };
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
    // A cell is named by its start, as in the picture beside; a row's level is that at its end.
    let at = match super::timeline(doc) {
        Some(_) => place.start_ns,
        None => place.start_ns.saturating_add(place.length_ns),
    };
    let as_high = moments.iter().filter(|moment| of(moment) >= most - most / 5).count();
    let near = if as_high * 5 > moments.len() {
        String::new()
    } else {
        match event::about(doc, at) {
            0 => ", at the start".into(),
            at => format!(", near {}", format::moment(at)),
        }
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
    let lag = &doc.lag_causes;
    let finding = match (quantile(&doc.generator_late, 0.99), doc.generator_late.max) {
        (Some(late), Some(max)) => {
            let (late, longest) = (super::value(late), duration(max));
            let max = Bound::Upper.beside(max);
            let p99 = if late == longest { String::new() } else { format!(", {late} at p99") };
            match quantile(&doc.send_lag, 0.99).filter(|p99| p99.value >= 1_000_000) {
                Some(_) if lag.generator_ns < lag.no_connection_ns.max(lag.no_room_ns) => {
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
        assert_eq!(said(&failed), "None of the offered 100/s was sent: connections were refused");
    }

    #[test]
    fn levels_are_the_highest_there_were() {
        let said = |doc: &RunDocument| format::plain(&flight(doc).finding);
        let mut stall = fixture::stall();
        assert_eq!(said(&stall), "At most 1 011 requests in flight, near 31 s; at most 1 waiting to be sent");
        assert!(said(&fixture::pool()).starts_with("At most 96"), "{}", said(&fixture::pool()));
        // In a simulated run the arrival that is just being sent is not a queue.
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
}
