//! Run documents for tests and for the gallery, computed from simulated arrivals.
//!
//! Everything here is deterministic. The builder below stands in for the crates that fill real documents, so
//! it favours few lines over speed; nothing else in this crate computes a statistic.

mod build;
pub mod compare;
mod cross_check;
mod distribution;
mod failures;
mod fleet;
mod harm;
mod journeys;
mod knee;
mod loads;
mod operations;
mod origins;
mod shape;
mod simulated;

use crate::demo::Demo;
use build::{End, Run, Sample};
pub use cross_check::cross_checked;
pub use failures::failures;
pub use fleet::fleet;
pub use harm::{failing, hanging, overloaded, pausing, rising};
pub use journeys::journeys;
pub use knee::knee;
pub use loads::loads;
use operations::operations;
pub use origins::origins;
pub use shape::{soak, spike, stress};
pub use simulated::{explain, simulated};
use std::collections::BTreeMap;
use unblink_artifact::document::*;

const MS: u64 = 1_000_000;
const S: u64 = 1_000_000_000;

/// 1 000/s for 60 s; the server answers in 10 ms and stands still from 30 s to 31 s.
pub fn stall() -> RunDocument {
    let samples = (0..60_000).map(|k| open_arrival(k, k * MS, &stalled)).collect();
    Run::new("open, 1,000/s, even, for 60 s", 60 * S, samples).document()
}

/// The same server, asked by ten users who each wait for their answer.
pub fn stall_closed() -> RunDocument {
    let mut samples = Vec::new();
    let mut free: Vec<u64> = (0..10).map(|user| user * MS).collect();
    loop {
        let (user, &at) = free.iter().enumerate().min_by_key(|&(_, at)| at).expect("ten users");
        if at >= 60 * S {
            break;
        }
        let mut sample = open_arrival(samples.len() as u64, at, &stalled);
        sample.connection = user as u32;
        let End::Ok(done) = sample.end else { unreachable!("the stalled server answers") };
        free[user] = done + 60_000;
        samples.push(sample);
    }
    let mut doc = Run::new("closed, 10 users, no think time, for 60 s", 60 * S, samples).document();
    doc.loads[0].plan.kind =
        LoadKind::Closed { users: Some(10), think_ns: 0, ramp_up_ns: None, is_recorded: false };
    doc.plan.phases.clear();
    doc.rate.offered = None;
    doc.origins[0].connections.mode = ConnectionMode::Fixed;
    doc.origins[0].connections.limit = 10;
    doc.origins[0].connections.opened = 10;
    doc.series.rows.iter_mut().for_each(|row| row.connections = 10);
    doc.origins[0].connections.peak = 10;
    doc
}

/// The stall seen through a pool of 50 connections: requests wait inside the client.
pub fn pool() -> RunDocument {
    let mut samples = Vec::new();
    let mut free = vec![0u64; 50];
    for k in 0..60_000 {
        let due = k * MS;
        let (slot, &at) = free.iter().enumerate().min_by_key(|&(_, at)| at).expect("a pool");
        let mut sample = open_arrival(k, due.max(at), &stalled);
        sample.intended = due;
        sample.connection = slot as u32;
        if let End::Ok(done) = sample.end {
            free[slot] = done + 15_000;
        }
        samples.push(sample);
    }
    let mut doc = Run::new("open, 1,000/s, even, for 60 s", 60 * S, samples).document();
    doc.origins[0].connections.mode = ConnectionMode::Fixed;
    doc.origins[0].connections.limit = 50;
    doc.origins[0].connections.opened = 50;
    doc.series.rows.iter_mut().for_each(|row| row.connections = 50);
    doc.origins[0].connections.peak = 50;
    let waited = doc.series.rows.iter().map(|row| row.backlog).sum::<u64>().max(1) * 3;
    doc.lag_causes.no_connection = waited;
    doc.lag_causes.no_connection_ns = waited * 480 * MS;
    doc.validity = Validity {
        status: ValidityStatus::Degraded,
        findings: vec![finding(
            "pool_limit_reached",
            Severity::Degrades,
            "All 50 connections were in use while arrivals were due: 2 870 of them (4.78 %) waited for one.",
            "Raise -c, or leave it out to open connections as users would, if the pool is not what you test.",
            &[("connections", 50.0), ("waited_share", 0.0478)],
        )],
    };
    doc
}

/// Twice as much as the server can do, with a timeout of 5 s.
pub fn saturated() -> RunDocument {
    let samples = (0..20_000u64)
        .map(|k| {
            let due = k * MS;
            let response = k * MS + 10 * MS + noise(k, 2 * MS);
            let end = if response > 5 * S { End::TimedOut } else { End::Ok(due + response) };
            Sample { intended: due, sent: Some(due + 20_000), end, connection: k as u32 % 5_000 }
        })
        .collect();
    let mut run = Run::new("open, 1,000/s, even, for 20 s", 20 * S, samples);
    run.timeout = 5 * S;
    let mut doc = run.document();
    doc.validity = Validity {
        status: ValidityStatus::Invalid,
        findings: vec![
            finding(
                "saturated",
                Severity::Invalidates,
                "The target answered 200 of 1 000 offered requests per second in time and the backlog grew to \
                 the end: latency measures only how long we waited.",
                "Offer less than 500/s, or look for the capacity with --closed.",
                &[("offered_per_s", 1_000.0), ("achieved_per_s", 199.6), ("backlog_growth_per_s", 499.8)],
            ),
            finding(
                "timeouts_shape_percentiles",
                Severity::Degrades,
                "75 % of the arrivals timed out: percentiles from p25 on are only known to be above 5 s.",
                "Raise --timeout to see further.",
                &[("timed_out_share", 0.75)],
            ),
        ],
    };
    doc
}

/// Nothing answered in time: every arrival is censored.
pub fn unanswered() -> RunDocument {
    let late = |k: u64| Sample {
        intended: k * 10 * MS,
        sent: Some(k * 10 * MS + 30_000),
        end: End::TimedOut,
        connection: 0,
    };
    let mut run = Run::new("open, 100/s, even, for 10 s", 10 * S, (0..1_000).map(late).collect());
    run.timeout = 2 * S;
    let mut doc = run.document();
    doc.validity = Validity {
        status: ValidityStatus::Invalid,
        findings: vec![finding(
            "no_answers",
            Severity::Invalidates,
            "None of 1 000 arrivals was answered within 2 s.",
            "Look at the target: it accepts connections but does not answer.",
            &[("timed_out", 1_000.0), ("bound_ns", 2e9)],
        )],
    };
    doc
}

/// The stall with three objectives: one missed, one met, one that can't be told.
pub fn objectives() -> RunDocument {
    let mut doc = stall();
    let slo = |slo: &str, status, reason, message: &str| SloResult {
        slo: slo.into(),
        status,
        reason,
        message: message.into(),
        name: None,
        figure: slo.split(' ').next().unwrap_or_default().into(),
        unit: if slo.contains("ms") { FigureUnit::Ns } else { FigureUnit::Share },
        relation: "<".into(),
        limit: if slo.contains("ms") { 200e6 } else { 0.001 },
        value: Some(0.0),
        is_lower_bound: false,
        low: None,
        high: None,
        samples: doc.arrivals.scheduled,
        windows: None,
    };
    let slos = vec![
        slo(
            "p99 < 200ms",
            VerdictStatus::Fail,
            VerdictReason::ThisRun,
            "p99 is 410\u{a0}ms in this run alone: it has no 95\u{a0}% interval.",
        ),
        SloResult {
            value: None,
            windows: Some(WindowResult { length_ns: 10 * S, share_needed: 0.8, good: 5, bad: 1, unknown: 0 }),
            ..slo(
                "p99 < 200ms in 80% of 10s",
                VerdictStatus::Pass,
                VerdictReason::Windows,
                "It held in 5 of 6 windows.",
            )
        },
        slo(
            "errors < 0.1%",
            VerdictStatus::Inconclusive,
            VerdictReason::Straddles,
            "errors are 0.08\u{a0}%, with 95\u{a0}% between 0.04\u{a0}% and 0.12\u{a0}%: the limit lies between.",
        ),
    ];
    doc.verdict = Some(Verdict { status: VerdictStatus::Fail, on_inconclusive: None, slos });
    doc
}

/// Nothing was scheduled, nothing is known.
pub fn empty() -> RunDocument {
    Run::new("open, 1,000/s, even, for 60 s", 60 * S, Vec::new()).document()
}

/// Killed after one second.
pub fn one_row() -> RunDocument {
    let samples = (0..50).map(|k| open_arrival(k, k * 20 * MS, &stalled)).collect();
    let mut doc = Run::new("open, 50/s, even, for 60 s", S, samples).document();
    doc.status = RunStatus::Interrupted;
    doc.plan.duration_ns = 60 * S;
    doc
}

/// Every request gets an answer, and none the one that was expected.
pub fn all_failed() -> RunDocument {
    let failed = |k: u64| Sample {
        intended: k * 10 * MS,
        sent: Some(k * 10 * MS + 30_000),
        end: End::Failed(k * 10 * MS + MS + noise(k, MS), "status_4xx"),
        connection: 0,
    };
    let mut doc = Run::new("open, 100/s, even, for 3 s", 3 * S, (0..300).map(failed).collect()).document();
    doc.codes = BTreeMap::from([("404".into(), 300)]);
    doc.origins[0].connections.by_address = BTreeMap::from([("127.0.0.1:8080".into(), 1_002)]);
    for slow in &mut doc.slowest {
        slow.status = Some(404);
    }
    doc.validity = Validity {
        status: ValidityStatus::Invalid,
        findings: vec![finding(
            "no_answers",
            Severity::Invalidates,
            "None of 300 arrivals got the answer that was expected (300 failed).",
            "See the failures by kind, try one request by hand, and check the URL.",
            &[("failed", 300.0)],
        )],
    };
    doc
}

/// A single request, over a socket of this machine.
pub fn one_arrival() -> RunDocument {
    let mut doc =
        Run::new("open, 100/s, even, for 1 request", 10 * MS, vec![open_arrival(0, 0, &stalled)]).document();
    doc.plan.requests_max = Some(1);
    doc.origins[0].connections =
        Connections { peak: 1, attempted: 1, opened: 1, ..doc.origins[0].connections.clone() };
    doc.origins[0].connections.by_address = BTreeMap::from([("unix:/run/x.sock".into(), 1)]);
    doc.series.rows.iter_mut().for_each(|row| row.connections = 1);
    doc.lag_causes.connecting = 1;
    doc.lag_causes.connecting_ns = 210_000;
    let transfer = &mut doc.phases.transfer;
    transfer.max = Some(1);
    transfer.mean = Some(1.0);
    transfer.quantiles.iter_mut().for_each(|quantile| quantile.value = 1);
    doc.validity.findings = vec![finding(
        "few_samples",
        Severity::Note,
        "p50 rests on fewer than ten samples.",
        "Run for longer.",
        &[("samples", 1.0)],
    )];
    doc
}

/// Two pauses, close to each other, seen in a part of the run.
pub fn two_pauses() -> RunDocument {
    let server = |at: u64| match at + 10 * MS {
        done if (3_800 * MS..4_200 * MS).contains(&done) => 4_200 * MS,
        done if (4_400 * MS..4_700 * MS).contains(&done) => 4_700 * MS,
        done => done,
    };
    let samples = (0..10_000).map(|k| open_arrival(k, k * MS, &server)).collect();
    let mut doc = Run::new("open, 1,000/s, even, for 20 s", 10 * S, samples).document();
    doc.plan.duration_ns = 20 * S;
    doc.part = Some(Part { from_ns: 0, to_ns: 10 * S });
    doc.origins[0].connections.by_address =
        BTreeMap::from([("127.0.0.1:8080".into(), 1_002), ("[::1]:8080".into(), 0)]);
    doc
}

/// Two hours with a slow ramp of latency and a pause every ten minutes.
pub fn two_hours() -> RunDocument {
    let samples = (0..144_000u64)
        .map(|k| {
            let due = k * 50 * MS;
            let slow = 10 * MS + due / 7_200 / 1_000 * 90 + noise(k, 4 * MS) * (1 + (due / S % 97) / 40);
            let in_pause = due % (600 * S);
            let gate = if in_pause > 590 * S && in_pause < 592 * S { 592 * S - in_pause } else { 0 };
            let end = End::Ok(due + slow.max(gate));
            Sample { intended: due, sent: Some(due + 25_000), end, connection: k as u32 % 9 }
        })
        .collect();
    let mut run = Run::new("open, 20/s, even, for 2 h", 7_200 * S, samples);
    run.row = 12 * S;
    run.column = 12_800 * MS;
    run.document()
}

/// Hostile names, thirty operations, and a URL that tries to leave its element.
pub fn hostile() -> RunDocument {
    let mut doc = failures();
    let evil = "\"><script>alert('x')</script>&amp;</script>\u{1b}[31mred\u{202e}";
    doc.targets = (0..30)
        .map(|i| Requested {
            name: format!("operation-with-a-rather-long-name-{i}-{evil}"),
            method: "GET".into(),
            url: format!("http://host.example/{i}?{evil}&path={}", "x".repeat(120)),
        })
        .collect();
    operations(&mut doc);
    doc.command.push(evil.into());
    doc.failures.insert(format!("protocol({evil})"), 3);
    doc.environment.cpu = evil.into();
    doc.validity.findings[0].message.push_str(evil);
    for slow in &mut doc.slowest {
        slow.operation = evil.into();
    }
    doc
}

/// Both loops on the stall, with what theory says.
pub fn demo() -> Demo {
    let at = |q: f64| {
        // Of 60 000 arrivals those due from 29.99 s on meet the gate; the i-th of them waits 1.01 s − i ms.
        let above = (1.0 - q) * 60_000.0;
        if above >= 1_000.0 { 10 * MS } else { ((1_010.0 - above) * MS as f64).round() as u64 }
    };
    let mut truth: Vec<(f64, u64)> = [0.0, 0.5, 0.9, 0.95, 0.98, 0.99, 0.999].map(|q| (q, at(q))).to_vec();
    truth.extend((0..200).map(|i| {
        let q = 1.0 - 10f64.powf(-(f64::from(i) + 1.0) / 42.0);
        (q, at(q))
    }));
    truth.push((1.0, 1_010 * MS));
    truth.sort_by(|a, b| a.0.total_cmp(&b.0));
    Demo {
        closed: stall_closed(),
        open: stall(),
        truth,
        stall_ns: (30 * S, 31 * S),
        scenario: "The server answers in 10 ms and stands still once, for 1 s, after 30 s.".into(),
    }
}

/// The stall again, with an interval for each percentile that has one.
pub fn intervals() -> RunDocument {
    let mut doc = stall();
    for d in [&mut doc.response_time, &mut doc.service_time] {
        for quantile in &mut d.quantiles {
            let is_event = quantile.q > 0.96 && quantile.value > 100 * MS;
            quantile.interval = Some(match is_event {
                true => IntervalKind::OneEvent,
                false => IntervalKind::BlockBootstrap,
            });
            quantile.event_at_ns = is_event.then_some(30 * S);
            quantile.low = (!is_event).then_some(quantile.value - quantile.value / 100);
            quantile.high = (!is_event).then_some(quantile.value + quantile.value / 80);
        }
    }
    for quantile in doc.response_time.quantiles.iter_mut().filter(|quantile| quantile.q > 0.999) {
        (quantile.interval, quantile.event_at_ns) = (Some(IntervalKind::NotEnoughData), None);
    }
    doc
}

/// Every fixture by name.
pub fn all() -> Vec<(&'static str, RunDocument)> {
    vec![
        ("stall", stall()),
        ("cross-checked", cross_checked()),
        ("simulated", simulated()),
        ("intervals", intervals()),
        ("objectives", objectives()),
        ("closed", stall_closed()),
        ("pool", pool()),
        ("saturated", saturated()),
        ("unanswered", unanswered()),
        ("failures", failures()),
        ("loads", loads()),
        ("origins", origins()),
        ("fleet", fleet()),
        ("empty", empty()),
        ("one-row", one_row()),
        ("all-failed", all_failed()),
        ("one-arrival", one_arrival()),
        ("two-pauses", two_pauses()),
        ("two-hours", two_hours()),
        ("hostile", hostile()),
        ("spike", spike()),
        ("stress", stress()),
        ("soak", soak()),
    ]
}

fn finding(code: &str, severity: Severity, message: &str, remedy: &str, evidence: &[(&str, f64)]) -> Finding {
    Finding {
        code: code.into(),
        severity,
        message: message.into(),
        remedy: remedy.into(),
        may_have_moved: None,
        evidence: evidence.iter().map(|(name, value)| (name.to_string(), *value)).collect(),
    }
}

/// The server of the stall: 10 ms, then a gate that is shut from 30 s to 31 s.
fn stalled(at: u64) -> u64 {
    let done = at + 10 * MS;
    if (30 * S..31 * S).contains(&done) { 31 * S } else { done }
}

fn open_arrival(k: u64, at: u64, server: &dyn Fn(u64) -> u64) -> Sample {
    let sent = at + 8_000 + noise(k, 30_000);
    let done = server(sent) + 60_000 + noise(k + 1, 90_000);
    Sample { intended: at, sent: Some(sent), end: End::Ok(done), connection: k as u32 % 1_000 }
}

/// 0..`size`, the same for the same `k`; skewed to small values.
fn noise(k: u64, size: u64) -> u64 {
    (unit(k).powi(2) * size as f64) as u64
}

/// (0, 1), the same for the same `k` (SplitMix64).
fn unit(k: u64) -> f64 {
    let mut z = k.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (((z ^ (z >> 31)) >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}
