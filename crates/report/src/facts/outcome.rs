//! What became of arrivals that were not answered as expected, and why, in words.

use crate::format::{self, plural};
use unblink_artifact::document::{RunDocument, Severity};

/// Why there is no response time though something was tried: no answer was ok. `None` where one was, or
/// where nothing failed.
pub(crate) fn none_ok(doc: &RunDocument) -> Option<String> {
    let a = &doc.arrivals;
    if a.ok > 0 || a.failed == 0 {
        return None;
    }
    let failed = format::count(a.failed);
    let how = match commonest(doc) {
        Some((kind, n)) if n == a.failed => match n {
            1 => format!("it failed with {kind}"),
            _ => format!("all {failed} failed with {kind}"),
        },
        Some((kind, n)) => format!("{failed} failed, most often with {kind} ({})", format::count(n)),
        None => format!("{failed} failed"),
    };
    let late = a.timed_out.saturating_add(a.unfinished).saturating_add(a.unsent);
    let how = if late > 0 {
        format!("{}, {} not answered in time", how.replacen("all ", "", 1), format::count(late))
    } else {
        how
    };
    Some(format!("{}: {how}", if answered(doc) { "No answer was ok" } else { "No answer came" }))
}

/// Whether anything came back, whatever it was.
fn answered(doc: &RunDocument) -> bool {
    doc.codes.values().any(|n| *n > 0)
}

/// The commonest kind of failure, in words.
pub(super) fn commonest(doc: &RunDocument) -> Option<(String, u64)> {
    let most = doc.failures.values().copied().max().filter(|n| *n > 0)?;
    doc.failures.iter().find(|(_, n)| **n == most).map(|(kind, n)| (in_words(kind), *n))
}

/// A kind of failure as what an arrival failed with.
fn in_words(kind: &str) -> String {
    let words = match kind {
        "status_4xx" => "a 4xx status",
        "shed" => "a 429 or 503 status",
        "status_5xx" => "a 5xx status",
        "status_other" => "a status outside 100 to 599",
        // Of runs by versions that did not tell them apart.
        "expectation" => "an answer that was not the expected one",
        "unexpected_status" => "a status that was not the expected one",
        "unexpected_header" => "a header that was not the expected one",
        "unexpected_body" => "a body that was not the expected one",
        "undecodable" => "a body that could not be decoded",
        "unchecked" => "a body that was too large to be checked",
        "not_captured" => "an answer without a value that later steps need",
        "captured_too_long" => "a value that was too long to be kept",
        "connect_refused" => "a refused connection",
        "connect_timeout" => "a connection that did not open in time",
        "connect_failed" => "a connection that could not be opened",
        "no_local_port" => "no local port left",
        "no_file_descriptor" => "no file descriptor left",
        "tls" => "a TLS error",
        "reset" => "a reset connection",
        "closed_early" => "a connection that was closed too early",
        "too_large" => "an answer above the limit of size",
        "socket" => "a socket error",
        other => return other.replace('_', " "),
    };
    words.into()
}

/// Of all arrivals, including failed ones, how many were answered `ok` within the percentile that people quote: percentiles
/// speak of those that did not fail.
pub(super) fn answered_within(doc: &RunDocument) -> Option<String> {
    let d = &doc.response_time;
    let shown = &d.quantiles[..super::shown(d).0];
    // The highest known one up to p99.
    let quantile = shown.iter().rfind(|quantile| quantile.q <= 0.99 && quantile.answered_within.is_some())?;
    let share = quantile.answered_within.filter(|share| share.is_finite())?;
    Some(format!(
        "of all arrivals, including failed ones, {} were ok within the {} of {}",
        format::percent(share),
        format::quantile_label(quantile.q),
        format::duration(quantile.value)
    ))
}

/// Why something can't be drawn, as the end of a sentence.
pub(crate) fn nothing(doc: &RunDocument) -> &'static str {
    let a = &doc.arrivals;
    if a.due() == 0 {
        "nothing was measured"
    } else if a.ok > 0 {
        "nothing of it was recorded"
    } else if a.failed > 0 && answered(doc) {
        "no answer was ok"
    } else if a.failed > 0 {
        "no answer came"
    } else {
        "nothing was answered in time"
    }
}

/// What became of the arrivals as a whole, as a heading.
pub(crate) fn account_finding(doc: &RunDocument) -> String {
    let finding = of_those_due(doc);
    let left_out = [(doc.arrivals.withheld, "withheld"), (doc.arrivals.lost, "lost")];
    left_out
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .fold(finding, |finding, (n, what)| format!("{finding}; {} {what}", format::count(n)))
}

fn of_those_due(doc: &RunDocument) -> String {
    let a = &doc.arrivals;
    let scheduled = plural(a.due(), "arrival", "arrivals");
    if a.due() == 0 {
        let what = if a.withheld > 0 { "fell due" } else { "was scheduled" };
        format!("No arrival {what}")
    } else if !super::adds_up(doc) {
        format!("The account of {scheduled} does not add up")
    } else if let (true, Some((omitted, planned))) = (a.ok == a.due(), never_asked(doc)) {
        let were = if omitted == 1 { "was" } else { "were" };
        format!(
            "{} of {} planned arrivals were asked and answered; {} {were} never asked",
            format::count(a.ok),
            format::count(planned),
            format::count(omitted)
        )
    } else if a.ok == a.due() {
        if a.ok == 1 {
            "The one arrival was answered".into()
        } else {
            format!("All {scheduled} were answered")
        }
    } else if let Some(why) = none_ok(doc) {
        why
    } else if a.ok == 0 {
        match a.due() {
            1 => "The one arrival was not answered in time".into(),
            _ => format!("None of {scheduled} was answered in time"),
        }
    } else {
        format!("{} of {scheduled} were answered as expected", format::share(a.ok, a.due()))
    }
}

/// Planned arrivals that a simulated client left out, and how many were planned.
pub(crate) fn never_asked(doc: &RunDocument) -> Option<(u64, u64)> {
    let (omitted, _) = super::simulated::omitted(doc)?;
    let planned = doc.simulated.as_ref()?.world.planned?;
    (doc.arrivals.scheduled.checked_add(omitted)? == planned).then_some((omitted, planned))
}

/// Why less was sent than offered, as far as the document tells.
pub(crate) fn not_sent(doc: &RunDocument) -> Option<String> {
    let a = &doc.arrivals;
    let pools = || doc.origins.iter().map(|origin| &origin.connections);
    let failed_to_open = pools().any(|c| c.failed > 0);
    let full = pools().find(|c| c.limit > 0 && c.peak >= c.limit);
    let failed = |kind: &str| doc.failures.get(kind).copied().unwrap_or(0);
    let tls = if failed_to_open { failed("tls") } else { 0 };
    let waited = a.timed_out_never_sent.saturating_add(a.unsent);
    let to = full.filter(|_| doc.origins.len() > 1).map_or("", |_| " to an origin");
    let wait = match full.map(|c| c.limit) {
        None => "no connection was free in time".to_string(),
        Some(1) => format!("the one connection{to} was in use"),
        Some(n) => format!("all {} connections{to} were in use", format::count(n)),
    };
    let causes = [
        (failed("connect_refused"), "connections were refused".to_string()),
        (failed("connect_timeout"), "connections could not be opened in time".into()),
        (failed("connect_failed"), "connections could not be opened".into()),
        (tls, "TLS handshakes failed".into()),
        (
            failed("no_local_port").saturating_add(failed("no_file_descriptor")),
            "this machine had no port or descriptor left".into(),
        ),
        (waited, wait),
    ];
    let largest = causes.iter().map(|cause| cause.0).max().filter(|n| *n > 0);
    if let Some(largest) = largest {
        return causes.into_iter().find(|cause| cause.0 == largest).map(|cause| cause.1);
    }
    if pools().any(|c| c.refused > 0) {
        Some("connections were refused".into())
    } else if failed_to_open {
        Some("connections could not be opened".into())
    } else {
        generator(doc)
            .or(against(doc, "sent_below_offered").then_some("was late"))
            .map(|was| format!("the generator {was}"))
    }
}

/// What a finding says against the generator's timing: `was late`.
pub(crate) fn generator(doc: &RunDocument) -> Option<&'static str> {
    [("generator_late", "was late"), ("generator_paused", "was away in between")]
        .into_iter()
        .find(|(code, _)| against(doc, code))
        .map(|(_, was)| was)
}

fn against(doc: &RunDocument, code: &str) -> bool {
    doc.validity.findings.iter().any(|f| f.code == code && f.severity != Severity::Note)
}

/// `of the 1 320 answered`, where figures are those of answered arrivals only and others waited longer or failed.
pub(crate) fn of_answered(doc: &RunDocument) -> Option<String> {
    let answered = doc.phases.first_byte.count;
    let many_failed =
        doc.arrivals.failed.saturating_mul(100) >= doc.arrivals.due() && doc.arrivals.failed > 0;
    let were = if many_failed { "ok" } else { "answered" };
    ((doc.response_time.censored > 0 || many_failed) && answered > 0)
        .then(|| format!("of the {} {were}", format::count(answered)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn an_answer_that_is_not_ok_is_an_answer() {
        let mut doc = fixture::all_failed();
        assert_eq!(none_ok(&doc).as_deref(), Some("No answer was ok: all 300 failed with a 4xx status"));
        assert_eq!(account_finding(&doc), "No answer was ok: all 300 failed with a 4xx status");
        doc.failures.insert("status_4xx".into(), 290);
        doc.failures.insert("reset".into(), 10);
        let most = "No answer was ok: 300 failed, most often with a 4xx status (290)";
        assert_eq!(none_ok(&doc).as_deref(), Some(most));
        doc.codes.clear();
        doc.failures = [("connect_refused".to_string(), 200)].into();
        doc.arrivals.failed = 200;
        doc.arrivals.unsent = 100;
        let both = "No answer came: 200 failed with a refused connection, 100 not answered in time";
        assert_eq!(none_ok(&doc).as_deref(), Some(both));
        assert_eq!(none_ok(&fixture::unanswered()), None);
        assert_eq!(none_ok(&fixture::stall()), None);
    }

    #[test]
    fn one_arrival_is_one() {
        let mut doc = fixture::one_arrival();
        assert_eq!(account_finding(&doc), "The one arrival was answered");
        doc.arrivals.ok = 0;
        doc.arrivals.timed_out = 1;
        assert_eq!(account_finding(&doc), "The one arrival was not answered in time");
    }

    #[test]
    fn less_was_sent_for_the_reason_in_the_document() {
        let mut doc = fixture::all_failed();
        assert_eq!(not_sent(&doc), None);
        doc.validity.findings[0].code = "sent_below_offered".into();
        assert_eq!(not_sent(&doc).as_deref(), Some("the generator was late"));
        doc.arrivals.unsent = 7;
        assert_eq!(not_sent(&doc).as_deref(), Some("no connection was free in time"));
        doc.origins[0].connections.limit = doc.origin().connections.peak;
        assert_eq!(format::plain(&not_sent(&doc).unwrap_or_default()), "all 1 002 connections were in use");
        doc.failures.insert("connect_refused".into(), 8);
        assert_eq!(not_sent(&doc).as_deref(), Some("connections were refused"));
    }
}
