//! `unblink trace show`.

use super::{of_trace, open, words};
use crate::args::recorded::TraceShowArgs;
use crate::{exit, output};
use anyhow::Result;
use unblink_artifact::trace::{
    TRACE_SUMMARY_SCHEMA, TraceDispersion, TraceFinding, TraceRoute, TraceSpread, TraceSummary, TraceUsers,
};
use unblink_trace::Lacking;
use unblink_trace::summary::{Spread, Summary, summary};

pub(super) fn show(args: &TraceShowArgs) -> Result<u8> {
    let summary = summary(open(&args.trace)?).map_err(|error| of_trace(&args.trace, &error))?;
    let document = document(args.trace.display().to_string(), summary);
    match args.json {
        true => output::print_json(&document)?,
        false => output::print_report(&unblink_report::trace::render(&document, &output::style()))?,
    }
    Ok(exit::OK)
}

fn document(file: String, summary: Summary) -> TraceSummary {
    let spread = |spread: Option<Spread>| {
        spread.map(|Spread { count, p50, p90, p99, max }| TraceSpread { count, p50, p90, p99, max })
    };
    let counts = &summary.counts;
    TraceSummary {
        schema: TRACE_SUMMARY_SCHEMA.into(),
        file,
        start: summary.header.start.to_string(),
        source: summary.header.source,
        keys: summary.header.keys,
        requests: summary.requests,
        length_ns: summary.length_ns,
        peak_in_a_second: summary.peak_in_a_second,
        cell_ns: summary.cell_ns,
        cells: summary.cells,
        routes: summary
            .routes
            .into_iter()
            .map(|route| TraceRoute { name: route.name, requests: route.count })
            .collect(),
        other_routes: summary.other_routes,
        statuses: summary.statuses,
        answer_bytes: spread(summary.answer_bytes),
        request_bytes: spread(summary.request_bytes),
        took_ns: spread(summary.took_ns),
        users: summary.users.map(|users| TraceUsers {
            count: users.count,
            is_estimate: users.is_estimate,
            requests: users.requests,
            busiest: users.busiest,
        }),
        dispersion: summary
            .dispersion
            .into_iter()
            .map(|one| TraceDispersion { window_ns: one.window_ns, windows: one.windows, index: one.index })
            .collect(),
        lacking: counts.lacking.iter().map(|(what, n)| (code(*what).to_string(), *n)).collect(),
        findings: counts
            .findings
            .iter()
            .map(|finding| TraceFinding { code: finding.code().into(), message: words(*finding, counts) })
            .collect(),
    }
}

fn code(what: Lacking) -> &'static str {
    match what {
        Lacking::Body => "body",
        Lacking::Credentials => "credentials",
        Lacking::QueryValues => "query_values",
        Lacking::PathIds => "path_ids",
        Lacking::Path => "path",
    }
}
