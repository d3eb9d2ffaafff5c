//! The run document's figures as CSV (RFC 4180 with `\n`): a header line, units in the names, an empty field
//! for what is not known.

use std::fmt::Write;
use unblink_artifact::document::{Distribution, IntervalKind, RunDocument};
use unblink_artifact::harmless;

/// Figures over time, one line for each row of the document's series.
pub fn series(doc: &RunDocument) -> String {
    let mut out = String::from(
        "start_ns,length_ns,warmup,due,sent,ok,failed,timed_out,in_flight,backlog,connections,\
         response_p50_ns,response_p99_ns,response_max_ns,service_p99_ns,generator_late_p99_ns,busy_share\n",
    );
    for row in &doc.series.rows {
        let _ = writeln!(
            out,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}",
            row.start_ns,
            row.length_ns,
            row.warmup,
            row.due,
            row.sent,
            row.ok,
            row.failed,
            row.timed_out,
            row.in_flight,
            row.backlog,
            row.connections,
            known(row.response_p50_ns),
            known(row.response_p99_ns),
            known(row.response_max_ns),
            known(row.service_p99_ns),
            known(row.generator_late_p99_ns),
            row.busy_share,
        );
    }
    out
}

/// Quantiles of every distribution of the run, one line each. `value_ns` is a lower bound when `censored`; `low_ns` and
/// `high_ns` are the ends of the 95 % interval, empty where there is none, and `interval` says how they were
/// found or why there is none, as in the document; it is empty where none is looked for.
pub fn percentiles(doc: &RunDocument) -> String {
    let mut out =
        String::from("distribution,q,value_ns,low_ns,high_ns,censored,few_samples,count,interval\n");
    let fixed = [
        ("response_time", &doc.response_time),
        ("service_time", &doc.service_time),
        ("send_lag", &doc.send_lag),
        ("generator_late", &doc.generator_late),
        ("failed_response_time", &doc.failed_response_time),
        ("phase:connect", &doc.phases.connect),
        ("phase:tls", &doc.phases.tls),
        ("phase:first_byte", &doc.phases.first_byte),
        ("phase:transfer", &doc.phases.transfer),
    ];
    for (name, distribution) in fixed {
        quantiles(&mut out, name, distribution);
    }
    if let Some(events) = &doc.events {
        let times = [
            ("first_event", &events.first),
            ("first_event_service", &events.first_service),
            ("event_gap", &events.gap),
        ];
        times.into_iter().for_each(|(name, time)| quantiles(&mut out, name, time));
    }
    for operation in doc.operations.iter().filter(|_| doc.operations.len() > 1) {
        let name = &operation.plan.name;
        quantiles(&mut out, &format!("operation:{name}"), &operation.response_time);
        if let Some(service_time) = &operation.service_time {
            quantiles(&mut out, &format!("operation_service_time:{name}"), service_time);
        }
    }
    for load in doc.loads.iter().filter(|_| doc.loads.len() > 1) {
        let name = load.plan.name.as_deref().unwrap_or_default();
        let times = [("load", &load.response_time), ("load_service_time", &load.service_time)];
        for (kind, time) in times {
            time.iter().for_each(|time| quantiles(&mut out, &format!("{kind}:{name}"), time));
        }
    }
    out
}

fn quantiles(out: &mut String, name: &str, distribution: &Distribution) {
    let name = field(name);
    for quantile in &distribution.quantiles {
        let _ = writeln!(
            out,
            "{name},{},{},{},{},{},{},{},{}",
            quantile.q,
            quantile.value,
            known(quantile.low),
            known(quantile.high),
            quantile.censored,
            quantile.few_samples,
            distribution.count,
            quantile.interval.map(IntervalKind::name).unwrap_or_default()
        );
    }
}

fn known(value: Option<u64>) -> String {
    value.map(|v| v.to_string()).unwrap_or_default()
}

/// Harmless, and quoted where needed. A leading `=`, `+`, `-` or `@` would run as a formula in a spreadsheet: it is
/// preceded by an apostrophe, as OWASP advises.
fn field(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = format!("{}{}", if is_formula { "'" } else { "" }, harmless::replaced(text));
    if text.contains([',', '"', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn intervals_have_their_ends_and_other_percentiles_empty_fields() {
        let doc = fixture::intervals();
        let text = percentiles(&doc);
        let line = |q: &str| text.lines().find(|line| line.starts_with(&format!("response_time,{q},")));
        let of = |q: f64| doc.response_time.quantiles.iter().find(|quantile| quantile.q == q).expect("known");
        let (p50, p99) = (of(0.5), of(0.99));
        let (low, high) = (p50.low.expect("an end"), p50.high.expect("an end"));
        let count = doc.response_time.count;
        assert_eq!(
            line("0.5"),
            Some(
                format!("response_time,0.5,{},{low},{high},false,false,{count},block_bootstrap", p50.value)
                    .as_str()
            )
        );
        assert_eq!(
            line("0.99"),
            Some(format!("response_time,0.99,{},,,false,false,{count},one_event", p99.value).as_str())
        );
        let columns = |line: &str| line.split(',').count();
        assert!(text.lines().all(|line| columns(line) == 9), "{text}");
    }

    #[test]
    fn names_are_quoted_and_formulas_disarmed() {
        assert_eq!(field("GET /a"), "GET /a");
        assert_eq!(field("a,\"b\""), "\"a,\"\"b\"\"\"");
        assert_eq!(field("=cmd()"), "'=cmd()");
    }
}
