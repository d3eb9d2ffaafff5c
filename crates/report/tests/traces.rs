//! What a trace looks like on a terminal.

use unblink_artifact::trace::{
    TRACE_SUMMARY_SCHEMA, TraceDispersion, TraceFinding, TraceRoute, TraceSpread, TraceSummary, TraceUsers,
};
use unblink_report::terminal::Style;
use unblink_report::trace::render;

fn hour() -> TraceSummary {
    let routes =
        (0..20).map(|n| TraceRoute { name: format!("GET /items/{{id}}/of-{n}"), requests: 2_000 - n * 50 });
    let cells: Vec<u64> = (0..141).map(|n| 200 + 150 * u64::from(n % 47 > 30)).collect();
    TraceSummary {
        schema: TRACE_SUMMARY_SCHEMA.into(),
        file: "hour.trace".into(),
        start: "2026-01-31T12:00:00.000000000Z".into(),
        source: vec!["nginx".into()],
        keys: vec!["0a1b2c3d".into()],
        requests: cells.iter().sum(),
        length_ns: 3_600_000_000_000,
        peak_in_a_second: 31,
        cell_ns: 25_600_000_000,
        cells,
        routes: routes.collect(),
        other_routes: 0,
        statuses: [(200, 30_000), (404, 12)].into(),
        answer_bytes: Some(TraceSpread { count: 9, p50: 512, p90: 20_000, p99: 1_000_000, max: 7_000_000 }),
        request_bytes: None,
        took_ns: Some(TraceSpread {
            count: 9,
            p50: 1_000_000,
            p90: 20_000_000,
            p99: 300_000_000,
            max: 2_000_000_000,
        }),
        users: Some(TraceUsers { count: 1_234, is_estimate: false, requests: 34_950, busiest: 350 }),
        dispersion: vec![TraceDispersion { window_ns: 1_000_000_000, windows: 3600, index: 2.5 }],
        lacking: [("body".to_string(), 17), ("query_values".to_string(), 12_000)].into(),
        findings: vec![TraceFinding {
            code: "whole_seconds".into(),
            message: "The log's times are whole seconds; within each second, requests are spread evenly."
                .into(),
        }],
    }
}

#[test]
fn an_hour_at_80_columns() {
    insta::assert_snapshot!("trace-80", render(&hour(), &Style::default()));
}

#[test]
fn no_line_is_too_wide_and_little_is_little() {
    for width in [40, 60, 80, 120] {
        let text = render(&hour(), &Style { width, color: false });
        let too_wide = text.lines().find(|line| line.chars().count() > width.into());
        assert_eq!(too_wide, None, "{width}");
    }
    let one = TraceSummary {
        requests: 1,
        length_ns: 0,
        cells: vec![1],
        routes: vec![TraceRoute { name: "GET /".into(), requests: 1 }],
        statuses: [].into(),
        answer_bytes: None,
        took_ns: None,
        users: None,
        dispersion: vec![],
        lacking: [].into(),
        findings: vec![],
        ..hour()
    };
    let text = render(&one, &Style::default());
    assert!(!text.contains("Rate") && !text.contains("Users") && text.contains("GET /"), "{text}");
}
