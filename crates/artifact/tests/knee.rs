//! What the document of a search says follows from its trials, and its journal gives back what was written.

use unblink_analysis::experiment::knee::{Knee, Settings};
use unblink_analysis::experiment::{Experiment, Step};
use unblink_artifact::document::{Environment, Tool};
use unblink_artifact::knee::*;
use unblink_core::schedule::Rate;
use unblink_core::time::Nanos;

fn header() -> KneeHeader {
    KneeHeader {
        tool: Tool { name: "unblink".into(), version: "0.1.0".into(), commit: None },
        started_at: "2026-01-31T12:00:00Z".into(),
        command: vec!["unblink".into()],
        environment: Environment {
            kernel: "Linux".into(),
            cpu: "cpu".into(),
            cores: 2,
            file_descriptors_max: 1_024,
            local_ports: 28_232,
        },
        question: KneeQuestion {
            asked: None,
            target: "GET http://127.0.0.1/".into(),
            simulated: false,
            objective: "p99 < 50ms".into(),
            quantile: 0.99,
            limit_ns: 50_000_000,
            process: "poisson".into(),
            start_per_s: 100.0,
            max_per_s: 1e6,
            resolution: 0.02,
            settle_ns: 1,
            measure_ns: 2,
            measure_max_ns: 3,
            rest_ns: 4,
            timeout_ns: 5,
            seed: 6,
            has_journeys: false,
            operation: None,
            at_least_per_s: None,
            within_ns: None,
            replay: None,
        },
    }
}

fn trial(number: u32, verdict: TrialVerdict) -> KneeTrial {
    KneeTrial {
        number,
        purpose: Purpose::Bracket,
        rate: ExactRate { requests: 1, seconds: 6 },
        settle_ns: 1,
        measure_ns: 2,
        measure_max_ns: 3,
        measured_ns: 2,
        scheduled: 10,
        ok: 7,
        failed: 1,
        timed_out: 1,
        unanswered: 1,
        offered_per_s: 100.1,
        delivered_per_s: 70.000_000_1,
        percentile_ns: Some(49),
        percentile_censored: false,
        percentile_low_ns: Some(48),
        percentile_high_ns: None,
        above_share: Some(0.3),
        above_error: Some(1.0 / 3.0),
        p50_ns: Some(7),
        mean_ns: Some(0.1),
        in_flight_mean: Some(1e-9),
        in_flight_end: 3,
        is_growing: false,
        generator: None,
        verdict,
        theory_mean_ns: None,
    }
}

/// Every rate up to `border_per_s` is good; beyond, the target falls behind.
fn search(max_per_s: u64, border_per_s: u64, trials_max: usize) -> Knee {
    let mut knee = Knee::new(Settings {
        quantile: 0.99,
        limit: Nanos::from_millis(50),
        start: Rate::per_second(100),
        max: Rate::per_second(max_per_s),
        resolution: 0.02,
        settle: Nanos(1),
        measure: Nanos(2),
        measure_max: Nanos(3),
        seed: 1,
        then_latency: false,
        within: None,
        at_least: None,
    });
    while let Some(next) = knee.next_trial().filter(|_| knee.steps().len() < trials_max) {
        let is_good = next.rate <= Rate::per_second(border_per_s);
        let verdict = if is_good { TrialVerdict::Met } else { TrialVerdict::Growing };
        let per_s = next.rate.as_per_s();
        let outcome = KneeTrial {
            offered_per_s: per_s,
            delivered_per_s: per_s.min(border_per_s as f64),
            is_growing: !is_good,
            above_share: Some(0.0),
            ..trial(next.number, verdict)
        };
        knee.observe(Step { trial: next, outcome: Step::from(&outcome).outcome });
    }
    knee
}

#[test]
fn a_safe_band_needs_a_border_and_theory_an_overload() {
    let told = |found: &KneeDocument| {
        let theory = found.trials.iter().any(|trial| trial.theory_mean_ns.is_some());
        (found.status, found.safe_band_per_s.is_some(), theory)
    };
    let found = document(header(), &search(1_000_000, 1_000, usize::MAX), None);
    assert_eq!(told(&found), (KneeStatus::Found, true, true));
    let at_least = document(header(), &search(400, 1_000, usize::MAX), None);
    assert_eq!(told(&at_least), (KneeStatus::AtLeast, false, false));
    let interrupted = document(header(), &search(1_000_000, 1_000, 3), Some(None));
    assert_eq!(told(&interrupted), (KneeStatus::Interrupted, false, false));
}

#[test]
fn every_verdict_comes_back_from_a_step() {
    use TrialVerdict::*;
    for verdict in [Met, NoAnswers, Growing, Delivered, Percentile, Undecided, Generator] {
        let before = trial(1, verdict);
        assert_eq!(KneeTrial::from(&Step::from(&before)), before);
    }
}

#[test]
fn a_journal_is_read_up_to_where_it_was_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let mut journal = Journal::create(folder.path(), &header()).unwrap();
    for number in 1..=3 {
        journal.append(&trial(number, TrialVerdict::Met)).unwrap();
    }
    assert!(Journal::create(folder.path(), &header()).is_err(), "a journal is never overwritten");
    let path = folder.path().join("knee.jsonl");
    let whole = std::fs::read(&path).unwrap();
    std::fs::write(&path, &whole[..whole.len() - 10]).unwrap();
    let (mut journal, found, trials) = Journal::resume(folder.path()).unwrap();
    assert_eq!((found, trials.len()), (header(), 2));
    journal.append(&trial(3, TrialVerdict::Growing)).unwrap();
    let (_, _, trials) = Journal::resume(folder.path()).unwrap();
    assert_eq!(trials.iter().map(|t| t.number).collect::<Vec<_>>(), [1, 2, 3]);
    std::fs::write(&path, "no search\n").unwrap();
    let error = Journal::resume(folder.path()).unwrap_err().to_string();
    assert!(error.contains("line 1"), "{error}");
}
