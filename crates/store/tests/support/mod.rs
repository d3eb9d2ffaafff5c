//! Runs to put into a store.

use std::collections::BTreeMap;
use unblink_artifact::document::{
    Arrivals, Distribution, LoadModel, Quantile, Rate, Requested, RunStatus, Validity, ValidityStatus,
};
use unblink_artifact::history::IndexedRun;

fn distribution(p99: u64) -> Distribution {
    Distribution {
        unit: "ns".into(),
        count: 100,
        censored: 0,
        mean: Some(p99 as f64 / 2.0),
        max: Some(p99),
        max_censored: false,
        quantiles: vec![Quantile { q: 0.99, value: p99, ..Quantile::default() }],
    }
}

/// The run with this number; each starts a second after the one before.
pub(crate) fn run(number: u32) -> IndexedRun {
    IndexedRun {
        id: format!("{number:04x}{:012x}", number * 7),
        series: format!("{}", number % 2),
        started_at: format!("2026-01-31T12:{:02}:{:02}.{:03}Z", number / 60, number % 60, number % 7),
        folder: format!("/runs/{number}"),
        status: RunStatus::Complete,
        validity: Validity { status: ValidityStatus::Valid, findings: Vec::new() },
        verdict: None,
        simulated: false,
        model: LoadModel::Open,
        load: "open, 100/s".into(),
        targets_beyond: None,
        targets: vec![Requested {
            name: "all".into(),
            method: "GET".into(),
            url: format!("http://Host-{number}/a_b"),
        }],
        command: vec!["unblink".into()],
        version: "0.1.0".into(),
        rate: Rate { offered: Some(100.0), sent: 100.0, achieved: 99.123_456_789 },
        arrivals: Arrivals { scheduled: 100, ok: 99, failed: 1, ..Arrivals::default() },
        response_time: distribution(u64::from(number) * 1_000_003),
        service_time: distribution(1),
        tags: BTreeMap::from([("commit".into(), format!("c{number}"))]),
        baselines: BTreeMap::new(),
    }
}
