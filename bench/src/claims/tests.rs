use super::*;
use crate::deviation::Deviation;
use crate::results::Machine;

fn run(tool: &str, round: u32, answers_per_s: f64, cpu_s: f64) -> Run {
    Run {
        tool: tool.into(),
        round,
        requests: 1_000_000,
        answers_per_s: Some(answers_per_s),
        client_cpu_ns: (cpu_s * 1e9) as u64,
        memory_bytes_max: 20_000_000,
        ..Run::default()
    }
}

fn results(part: Part, runs: Vec<Run>) -> Vec<Results> {
    let mut results = Results::new(part, Machine::default(), 3, 1);
    results.runs = runs;
    vec![results]
}

#[test]
fn claims_hold_at_their_bounds_and_not_beyond() {
    let holds = |bound: Bound, value| bound.holds(value);
    assert!(holds(Bound::AtLeast(1.25), 1.25) && !holds(Bound::AtLeast(1.25), 1.249));
    assert!(holds(Bound::AtMost(1.1), 1.1) && !holds(Bound::AtMost(1.1), 1.101));
    assert!(holds(Bound::Within(3.0), -3.0) && !holds(Bound::Within(3.0), -3.1));
}

#[test]
fn what_was_not_measured_is_not_claimed_to_hold() {
    let text =
        table(&results(Part::Throughput, vec![run("unblink", 0, 200.0, 4.0), run("wrk", 0, 100.0, 8.0)]));
    assert!(text.contains("requests/s ÷ wrk's | ≥ 1.25 | 2.00 | holds |"), "{text}");
    assert!(text.contains("÷ the raw loop's | ≤ 1.1 | – | not measured |"), "{text}");
    let text = table(&results(Part::Tls, vec![run("unblink", 0, 1.0, 9.0), run("wrk", 0, 1.0, 10.0)]));
    assert!(text.contains("| ≤ 0.85 | 0.900 | **does not hold** |"), "{text}");
    assert_eq!(table(&[]), "");
}

#[test]
fn the_bound_of_the_tail_is_the_larger_of_two_of_the_same_round() {
    let paced = |tool: &str, round, p99_us: u64| Run {
        rate_per_s: Some(1),
        deviation: Some(Deviation { p50_ns: 1, p99_ns: p99_us * 1000, p99_9_ns: 1, max_ns: 1, arrivals: 1 }),
        ..run(tool, round, 1.0, 1.0)
    };
    // Round 0: 90 of 2 × 50. Round 1: the machine paused for both; 600 of 2 × 500. Peer: 400 / 5 = 80.
    let runs = [
        paced("unblink", 0, 90),
        paced("sleep and spin", 0, 50),
        paced("unblink", 1, 600),
        paced("sleep and spin", 1, 500),
        paced("wrk2", 0, 4000),
        paced("oha", 0, 400),
    ];
    let found = p99_against_references(&runs.iter().collect::<Vec<_>>(), "unblink").unwrap();
    assert_eq!((found.min, found.max), (0.6, 0.9));
    // A calm reference: the best peer's fifth decides.
    let calm = [paced("unblink", 0, 40), paced("sleep and spin", 0, 1), paced("oha", 0, 400)];
    let found = p99_against_references(&calm.iter().collect::<Vec<_>>(), "unblink").unwrap();
    assert_eq!(found.median, 0.5);
}

#[test]
fn who_does_not_hold_the_rate_is_not_compared() {
    let paced =
        |tool: &str, answers: f64, cpu_s| Run { rate_per_s: Some(50_000), ..run(tool, 0, answers, cpu_s) };
    let claim = |wrk2: f64| {
        let runs = vec![paced("unblink frugal", 49_900.0, 5.0), paced("wrk2", wrk2, 10.0)];
        table(&results(Part::Pacing, runs))
            .lines()
            .find(|line| line.contains("50,000/s, frugal"))
            .map(str::to_string)
    };
    assert!(claim(49_500.0).unwrap().ends_with("| 0.500 | holds |"));
    assert!(claim(30_000.0).unwrap().ends_with("| – | not measured |"));
}

#[test]
fn who_is_better_is_named_and_references_are_no_peers() {
    let runs = vec![
        run("unblink", 0, 100.0, 5.0),
        run("raw loop", 0, 500.0, 1.0),
        run("ab", 0, 120.0, 6.0),
        run("wrk", 0, 90.0, 4.0),
    ];
    let text = better_elsewhere(&results(Part::Throughput, runs));
    assert_eq!(text, "- `throughput`, requests/s: ab 1.20\n- `throughput`, CPU per request: wrk 0.800\n");
}
