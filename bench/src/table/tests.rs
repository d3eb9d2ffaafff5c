use super::*;
use crate::deviation::Deviation;
use crate::generator::report::Reported;
use crate::results::{Machine, Missing, Version};
use crate::stall::Responses;

fn run(tool: &str, round: u32, answers_per_s: f64, cpu_ns: u64) -> Run {
    Run {
        tool: tool.into(),
        round,
        requests: 1_000_000,
        answers_per_s: Some(answers_per_s),
        client_cpu_ns: cpu_ns,
        memory_bytes_max: 12_300_000,
        server_busy_share: Some(0.987),
        ..Run::default()
    }
}

fn results(part: Part, runs: Vec<Run>) -> Results {
    let machine = Machine { cpu: "AMD EPYC".into(), cores: 2, kernel: "Linux 6.18".into() };
    let mut results = Results::new(part, machine, 3, 2);
    results.rounds_done = 2;
    results.runs = runs;
    results
}

#[test]
fn ratios_are_of_the_same_round() {
    // Round 1 is slower for both: the ratio of medians would be 1.2, that of the rounds is 1.5 in each.
    let runs = vec![
        run("unblink", 0, 300.0, 1_500_000_000),
        run("wrk", 0, 200.0, 3_000_000_000),
        run("unblink", 1, 150.0, 1_500_000_000),
        run("wrk", 1, 100.0, 3_000_000_000),
        run("wrk", 2, 900.0, 3_000_000_000),
    ];
    let text = full(&[results(Part::Throughput, runs)]);
    assert!(
        text.contains("| wrk | 200 (100–900) | 1.50 (1.50–1.50) | 3.00 (3.00–3.00) | 0.500 (0.500–0.500) |"),
        "{text}"
    );
    assert!(
        text.contains(
            "| unblink | 225 (150–300) | – | 1.50 (1.50–1.50) | – | 12.3 (12.3–12.3) | 98.7 (98.7–98.7) |"
        ),
        "{text}"
    );
}

#[test]
fn failures_and_missing_tools_are_named() {
    let mut broken = run("hey", 0, 0.0, 0);
    broken.failure = Some("exit code 1: no such thing".into());
    let mut results = results(Part::Throughput, vec![run("unblink", 0, 300.0, 1), broken]);
    results.missing = vec![Missing { tool: "oha".into(), install: "cargo install oha".into() }];
    results.tools = vec![Version { tool: "unblink".into(), version: "0.1.0".into() }];
    let text = full(&[results]);
    assert!(text.contains("| hey | – | – | – | – | – | – |"), "{text}");
    assert!(text.contains("hey failed in 1 of 1 rounds: exit code 1: no such thing"), "{text}");
    assert!(text.contains("oha is missing (cargo install oha)."), "{text}");
    assert!(text.contains("Versions: unblink 0.1.0."), "{text}");
}

#[test]
fn a_stall_is_held_against_the_exact_value() {
    let exact = Responses {
        p50_ns: 0,
        p95_ns: 250_000_000,
        p99_ns: 800_000_000,
        p99_9_ns: 980_000_000,
        arrivals: 150_000,
    };
    let mut stalled = run("unblink", 0, 10_000.0, 1);
    stalled.rate_per_s = Some(10_000);
    stalled.exact = Some(exact);
    stalled.reported =
        Some(Reported { p99_ns: Some(816_000_000), p99_9_ns: Some(980_000_000), ..Reported::default() });
    let text = full(&[results(Part::Stall, vec![stalled.clone()])]);
    assert!(text.contains("`make bench BENCH='stall --seconds 3'`: 2 rounds of 3 s for each."), "{text}");
    assert!(text.contains("10,000/s, 150,000 arrivals, exact p95 250, p99 800, p99.9 980 ms:"), "{text}");
    assert!(text.contains("| unblink | 1,000,000 | – | 816 | 980 | 2.00 | 0 | – | – | 12.3 |"), "{text}");
    assert!(
        short(&[results(Part::Stall, vec![stalled])]).contains("| unblink | – | – | – | +2.0 % | 12.3 MB |")
    );
}

#[test]
fn the_short_table_has_everybody_once() {
    let deviation = Deviation { p50_ns: 1_500, p99_ns: 28_000, p99_9_ns: 0, max_ns: 0, arrivals: 9 };
    let paced =
        |tool: &str| Run { deviation: Some(deviation), rate_per_s: Some(10_000), ..run(tool, 0, 1e4, 1) };
    let closed = results(Part::Throughput, vec![run("unblink", 0, 180_000.0, 5_000_000_000)]);
    let text = short(&[closed, results(Part::Pacing, vec![paced("unblink"), paced("sleep and spin")])]);
    assert_eq!(text.lines().count(), 4, "{text}");
    assert!(text.contains("| unblink | 180,000 | 5.00 | 1.50, 28.0 µs | – | – |"), "{text}");
    assert!(text.contains("| sleep and spin | – | – | 1.50, 28.0 µs | – | – |"), "{text}");
}
