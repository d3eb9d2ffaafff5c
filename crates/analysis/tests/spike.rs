//! Spikes on simulated servers, against what is exact: (λ₁ − μ)·D requests pile up, and melt at μ − λ₀.

mod shapes_support;

use shapes_support::{Recorded, run};
use unblink_analysis::shapes::Limit;
use unblink_analysis::shapes::spike::{Spike, spike};
use unblink_core::schedule::{Cursor, Process};
use unblink_core::sim::{ServerSpec, Service};
use unblink_core::time::Nanos;

/// One server of 1,000 μs: D, so that with Poisson arrivals it is M/D/1.
fn server(per_s: u64) -> ServerSpec {
    ServerSpec { slots: Some(1), ..ServerSpec::new(Service::Constant(Nanos(1_000_000_000 / per_s))) }
}

struct Case {
    capacity: u64,
    base: u64,
    peak: u64,
    seconds: [u64; 3],
}

const CASES: [Case; 3] = [
    Case { capacity: 5_000, base: 2_500, peak: 12_000, seconds: [8, 3, 17] },
    Case { capacity: 4_000, base: 800, peak: 8_000, seconds: [8, 6, 16] },
    Case { capacity: 2_000, base: 1_600, peak: 6_000, seconds: [10, 2, 48] },
];

impl Case {
    fn run(&self, process: Process) -> Recorded {
        let [before, spike, after] = self.seconds;
        let stretches =
            [(self.base, self.base, before), (self.peak, self.peak, spike), (self.base, self.base, after)];
        run(server(self.capacity), &stretches, process, 60)
    }

    /// What has no answer at the spike's end, and how long it takes to melt.
    fn theory(&self) -> (f64, f64) {
        let piled = (self.peak - self.capacity) as f64 * self.seconds[1] as f64;
        (piled, piled / (self.capacity - self.base) as f64)
    }

    /// For how long arrivals wait for longer than `wait_s`, by when they are due: W rises by (λ₁ − μ)/μ and falls by
    /// (μ − λ₀)/μ in each second.
    fn above_s(&self, wait_s: f64) -> f64 {
        let (capacity, (piled, _)) = (self.capacity as f64, self.theory());
        let most = piled / capacity;
        let (up, down) = (self.peak as f64 / capacity - 1.0, 1.0 - self.base as f64 / capacity);
        (most - wait_s) / up + (most - wait_s) / down
    }
}

fn judged(recorded: &Recorded, limit: Option<Limit>) -> Spike {
    let stretches: [_; 3] = recorded.stretches.clone().try_into().expect("three stretches");
    spike(&recorded.seen(), &stretches, limit).expect("judged")
}

fn recovery_s(spike: &Spike) -> f64 {
    (spike.recovery.expect("recovered").at - spike.spike.to).as_secs_f64()
}

#[track_caller]
fn assert_near(found: f64, exact: f64, share: f64, what: &str) {
    assert!((found / exact - 1.0).abs() <= share, "{what}: {found}, exact {exact}");
}

#[test]
fn backlog_time_above_and_recovery_of_md1_are_those_of_theory() {
    for (i, case) in CASES.iter().enumerate() {
        let (piled, melts_s) = case.theory();
        for seed in [1, 2, 3, 4] {
            let what = format!("case {i}, seed {seed}");
            let limit = Limit { ns: 500_000_000, quantile: 0.99 };
            let found = judged(&case.run(Process::Poisson { seed }), Some(limit));
            assert_near(recovery_s(&found), melts_s, 0.05, &what);
            assert_near(found.unanswered_max.0 as f64, piled, 0.05, &what);
            assert_near(found.above.as_secs_f64(), case.above_s(0.5), 0.05, &what);
            assert_eq!(found.lost, 0, "{what}");
        }
    }
}

/// The same run, arrival by arrival: the recursion of D. V. Lindley (1952) says when the server is idle again.
#[test]
fn recovery_is_that_of_the_very_run() {
    let case = &CASES[0];
    let mut off = Vec::new();
    for seed in 5..12 {
        let recorded = case.run(Process::Poisson { seed });
        let schedule = recorded.plan.schedule().expect("open");
        let (spike_end, service) = (recorded.stretches[1].to, Nanos(1_000_000_000 / case.capacity));
        let (mut free, mut cursor) = (Nanos::ZERO, Cursor::new(schedule, 0, 1));
        let mut idle = None;
        while let Some((_, due)) = cursor.next(schedule) {
            if due > spike_end && due >= free {
                idle.get_or_insert(free);
            }
            free = free.max(due) + service;
        }
        let exact = (idle.expect("idle again") - spike_end).as_secs_f64();
        let found = recovery_s(&judged(&recorded, None));
        off.push(found - exact);
    }
    // A burst of arrivals soon after may put it off.
    off.sort_by(f64::total_cmp);
    assert!(off[0] >= -0.15 && off[off.len() / 2] <= 0.15 && off[off.len() - 1] <= 1.0, "{off:?}");
}

#[test]
fn a_spike_that_the_target_carries_needs_no_recovery() {
    let stretches = [(500, 500, 10), (900, 900, 5), (500, 500, 15)];
    let found = judged(&run(server(1_000), &stretches, Process::Even, 30), None);
    assert_eq!((recovery_s(&found), found.above), (0.0, Nanos::ZERO));
    assert!(found.unanswered_max.0 <= 1);
}

#[test]
fn a_recovery_that_is_not_seen_is_none() {
    let stretches = [(800, 800, 8), (3_000, 3_000, 5), (800, 800, 12)];
    let found = judged(&run(server(1_000), &stretches, Process::Even, 60), None);
    assert_eq!((found.recovery, found.watched), (None, Nanos::from_secs(12)));
    // 10,000 pile up.
    assert_near(found.unanswered_max.0 as f64, 10_000.0, 0.01, "backlog");
}

/// A target that goes on failing is not as before, however fast it fails.
#[test]
fn failures_are_no_recovery() {
    use unblink_core::sim::Windows;
    let down = Windows::once(Nanos::from_secs(12), Nanos::from_secs(6));
    let server = ServerSpec { down: vec![down], ..server(1_000) };
    let stretches = [(300, 300, 10), (900, 900, 5), (300, 300, 15)];
    let found = judged(&run(server, &stretches, Process::Even, 30), None);
    assert!((2.9..=3.3).contains(&recovery_s(&found)), "{found:?}");
    assert!(found.lost > 2_000, "{found:?}");
}
