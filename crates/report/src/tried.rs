//! What was asked once, as text: requests as they were sent, answers as they came.

use crate::format;
use std::fmt::Write;
use unblink_artifact::document::Protocol;
use unblink_artifact::tried::{
    FailuresDocument, KeptFailure, TriedBody, TriedMessage, TriedOutcome, TriedRequest, TryDocument,
};

/// Each request with its answer. Lines are as long as what was sent: they are there to be copied.
pub fn render(document: &TryDocument) -> String {
    let mut out = String::new();
    if document.protocol == Protocol::Http2 {
        out.push_str("HTTP/2 (requests are shown as HTTP/1.1 writes them)\n\n");
    }
    if document.protocol == Protocol::Grpc {
        out.push_str("gRPC (messages are shown as JSON, in the words of HTTP/1.1)\n\n");
    }
    if document.protocol == Protocol::Redis {
        out.push_str("Redis\n\n");
    }
    if document.protocol == Protocol::Postgres {
        out.push_str(
            "PostgreSQL (values are shown in their places; they are sent apart from the statement)\n\n",
        );
    }
    if document.protocol == Protocol::Cql {
        out.push_str("CQL (values are shown in their places; they are sent apart from the statement)\n\n");
    }
    if document.protocol == Protocol::WebSocket {
        out.push_str("WebSocket (messages are shown without their frames)\n\n");
    }
    for one in &document.setup {
        request(&mut out, &format!("[[setup]] {}", one.name), one);
    }
    for one in &document.requests {
        request(&mut out, &one.name, one);
    }
    for journey in &document.journeys {
        for step in &journey.steps {
            request(&mut out, &step.name, step);
        }
    }
    if document.left_out > 0 {
        let requests = format::plural(document.left_out, "more request", "more requests");
        let _ = writeln!(out, "{requests} left out: --arrival N sends what arrival N of the run sends\n");
    }
    let all = || {
        let steps = document.journeys.iter().flat_map(|journey| &journey.steps);
        document.setup.iter().chain(&document.requests).chain(steps)
    };
    let count = |outcome| all().filter(|one| one.outcome == outcome).count() as u64;
    let parts = [
        (TriedOutcome::AsExpected, "as expected"),
        (TriedOutcome::Unexpected, "not as expected"),
        (TriedOutcome::NoAnswer, "without an answer"),
        (TriedOutcome::NotSent, "not sent"),
        (TriedOutcome::DrawnAgain, "drawn again as the run sent it"),
    ];
    let parts = parts.into_iter().map(|(outcome, name)| (count(outcome), name)).filter(|(n, _)| *n > 0);
    let parts: Vec<String> = parts.map(|(n, name)| format!("{} {name}", format::count(n))).collect();
    let asked = format::plural(all().count() as u64, "request", "requests");
    let _ = writeln!(out, "{asked}: {}", parts.join(", "));
    format::plain(&out)
}

/// Each failed request with its answer.
pub fn failures(document: &FailuresDocument) -> String {
    let mut out = String::new();
    if document.protocol == Protocol::Http2 {
        out.push_str("HTTP/2 (requests are shown as HTTP/1.1 writes them)\n\n");
    }
    document.failures.iter().for_each(|one| out.push_str(&failure(one)));
    let requests = format::plural(document.failures.len() as u64, "failed request", "failed requests");
    let _ = writeln!(out, "{requests} kept: the first of each kind");
    format::plain(&out)
}

/// A failed request with its answer.
pub(crate) fn failure(one: &KeptFailure) -> String {
    let mut out = String::new();
    let attempts = match one.attempts {
        0 => ", never sent".to_string(),
        1 => String::new(),
        n => format!(", attempt {n}"),
    };
    let _ = writeln!(
        out,
        "{} at {}, after {}{attempts}",
        one.kind,
        format::moment(one.at_ns),
        format::duration(one.response_ns)
    );
    request(&mut out, &one.request.name, &one.request);
    out
}

/// One request and what came of it.
fn request(out: &mut String, name: &str, one: &TriedRequest) {
    let arrival = one.arrival.map(|number| format!(" (arrival {number})")).unwrap_or_default();
    let came = match one.outcome {
        TriedOutcome::AsExpected => "as expected",
        TriedOutcome::Unexpected => "NOT AS EXPECTED",
        TriedOutcome::NoAnswer => "NO ANSWER",
        TriedOutcome::NotSent => "NOT SENT",
        TriedOutcome::DrawnAgain => "drawn again as the run sent it",
    };
    let took = one.took_ns.map(|ns| format!(", {}", format::duration(ns))).unwrap_or_default();
    let why = one.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
    let _ = writeln!(out, "{name}{arrival}\n  {came}{took}{why}");
    for note in &one.notes {
        let _ = writeln!(out, "  note: {note}");
    }
    for value in &one.drawn {
        let _ = writeln!(out, "  drawn: {} = {}", value.name, value.value.replace('\n', "\\n"));
    }
    one.sent.iter().for_each(|sent| message(out, '>', sent));
    one.answer.iter().for_each(|answer| message(out, '<', answer));
    for condition in &one.expected {
        let (verdict, found) = match (condition.holds, &condition.found) {
            (Some(true), _) => ("holds", String::new()),
            (Some(false), Some(found)) => ("DOES NOT HOLD", format!(" ({found})")),
            (Some(false), None) => ("DOES NOT HOLD", String::new()),
            (None, Some(found)) => ("can't be told", format!(" ({found})")),
            (None, None) => ("can't be told", String::new()),
        };
        let _ = writeln!(out, "  expect {}: {verdict}{found}", condition.condition);
    }
    for capture in &one.captures {
        let came = match (capture.bytes, &capture.why) {
            (Some(bytes), _) if capture.is_taken => {
                format!("taken, {}", format::plural(bytes, "byte", "bytes"))
            }
            (Some(_), why) => format!("there, and not used: {}", why.as_deref().unwrap_or_default()),
            (None, why) => format!("NOT TAKEN: {}", why.as_deref().unwrap_or("there was no such answer")),
        };
        let _ = writeln!(out, "  capture {}: {came}", capture.name);
    }
    out.push('\n');
}

fn message(out: &mut String, side: char, message: &TriedMessage) {
    let _ = writeln!(out, "  {side} {}", message.line);
    for header in &message.headers {
        let _ = writeln!(out, "  {side} {}: {}", header.name, header.value);
    }
    let Some(body) = &message.body else { return };
    let _ = writeln!(out, "  {side}");
    for line in body.text.iter().flat_map(|text| text.lines()) {
        let _ = writeln!(out, "  {side} {line}");
    }
    let what = about(body);
    if !what.is_empty() {
        let _ = writeln!(out, "  {side} [{}]", what.join("; "));
    }
}

/// What its text alone does not say.
fn about(body: &TriedBody) -> Vec<String> {
    let bytes = |n| format::plural(n, "byte", "bytes");
    let mut all = Vec::new();
    if let Some(hex) = &body.hex {
        all.push(format!("no text: {hex}{}", if body.is_cut { " …" } else { "" }));
    }
    if body.is_cut || body.text.is_none() || body.decoded_bytes.is_some() {
        let cut = if body.is_cut && body.text.is_some() { "cut here, of " } else { "" };
        all.push(match body.decoded_bytes {
            Some(decoded) => format!("{cut}{} decoded, sent as {}", bytes(decoded), bytes(body.bytes)),
            None => format!("{cut}{}", bytes(body.bytes)),
        });
    }
    all.extend(body.undecoded.as_ref().map(|why| format!("not decoded: {why}")));
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use unblink_artifact::tried::{NamedValue, TRY_SCHEMA, TriedCapture, TriedCondition};

    fn named(name: &str, value: &str) -> NamedValue {
        NamedValue { name: name.into(), value: value.into() }
    }

    #[test]
    fn all_of_a_request_is_told() {
        let body = |text: Option<&str>, hex: Option<&str>, bytes, is_cut| {
            let (text, hex) = (text.map(String::from), hex.map(String::from));
            Some(TriedBody { bytes, decoded_bytes: None, text, hex, is_cut, undecoded: None })
        };
        let one = TriedRequest {
            name: "cart".into(),
            arrival: Some(7),
            outcome: TriedOutcome::Unexpected,
            why: Some("a value is missing".into()),
            notes: vec!["known".into()],
            drawn: vec![named("item", "815")],
            sent: Some(TriedMessage {
                line: "POST /cart HTTP/1.1".into(),
                headers: vec![named("Host", "h")],
                body: body(Some("a\nb"), None, 3, false),
            }),
            answer: Some(TriedMessage {
                line: "HTTP/1.1 200 OK".into(),
                headers: vec![named("Set-Cookie", "***")],
                body: body(None, Some("00 ff"), 9_000, true),
            }),
            took_ns: Some(3_200_000),
            expected: vec![
                TriedCondition { condition: "status=200".into(), holds: Some(true), found: None },
                TriedCondition {
                    condition: "json $.n".into(),
                    holds: Some(false),
                    found: Some("nothing".into()),
                },
            ],
            captures: vec![
                TriedCapture { name: "id".into(), is_taken: true, bytes: Some(12), why: None },
                TriedCapture { name: "a".into(), is_taken: false, bytes: Some(1), why: Some("so".into()) },
            ],
        };
        let document = TryDocument {
            schema: TRY_SCHEMA.into(),
            protocol: Protocol::Http2,
            as_expected: false,
            setup: Vec::new(),
            requests: vec![one],
            journeys: Vec::new(),
            left_out: 2,
        };
        assert_eq!(
            render(&document),
            "HTTP/2 (requests are shown as HTTP/1.1 writes them)\n\ncart (arrival 7)\n  NOT AS EXPECTED, 3.20 ms: a value is missing\n  note: known\n  drawn: item = 815\n  \
             > POST /cart HTTP/1.1\n  > Host: h\n  >\n  > a\n  > b\n  < HTTP/1.1 200 OK\n  < Set-Cookie: ***\n  <\n  \
             < [no text: 00 ff …; 9 000 bytes]\n  expect status=200: holds\n  expect json $.n: DOES NOT HOLD (nothing)\n  \
             capture id: taken, 12 bytes\n  capture a: there, and not used: so\n\n2 more requests left out: --arrival N sends what arrival N of the run sends\n\n\
             1 request: 1 not as expected\n"
        );
    }
}
