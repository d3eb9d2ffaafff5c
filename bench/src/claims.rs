//! What unblink claims of itself, held against what was measured, and where another tool is better.

use crate::figures::{Spread, three_digits};
use crate::generator::{PEERS, Tool};
use crate::part::Part;
use crate::results::{Results, Run};
use crate::rounds::{Figure, by_round, ratio, runs, spread};
use std::fmt::Write;

const OURS: &str = "unblink";
const FRUGAL: &str = "unblink frugal";
const PRECISE: &str = "unblink precise";
const ONE: &str = "unblink -t 1";
const TWO: &str = "unblink -t 2";

/// A bound that a figure keeps, or does not.
#[derive(Clone, Debug, PartialEq)]
struct Claim {
    text: String,
    bound: Bound,
    /// `None`: it was not measured.
    measured: Option<Spread>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    AtLeast(f64),
    AtMost(f64),
    /// To either side of zero.
    Within(f64),
}

impl Bound {
    fn holds(self, value: f64) -> bool {
        match self {
            Bound::AtLeast(bound) => value >= bound,
            Bound::AtMost(bound) => value <= bound,
            Bound::Within(bound) => value.abs() <= bound,
        }
    }

    fn text(self) -> String {
        match self {
            Bound::AtLeast(bound) => format!("≥ {bound}"),
            Bound::AtMost(bound) => format!("≤ {bound}"),
            Bound::Within(bound) => format!("within ±{bound}"),
        }
    }
}

const CPU: Figure = Run::cpu_s_per_million;
const ANSWERS: Figure = |run| run.answers_per_s;
/// Only of those who held their rate, and so paid for the same.
const CPU_AT_RATE: Figure = |run| run.cpu_s_per_million().filter(|_| run.holds_rate());
const OWN_OFF_P50_US: Figure = |run| Some(run.deviation?.p50_ns as f64 / 1e3);
const OWN_OFF_P99_US: Figure = |run| Some(run.deviation?.p99_ns as f64 / 1e3);
const OFF_P50_US: Figure = |run| Some(run.deviation.filter(|_| run.holds_rate())?.p50_ns as f64 / 1e3);
const OFF_P99_US: Figure = |run| Some(run.deviation.filter(|_| run.holds_rate())?.p99_ns as f64 / 1e3);
const MEMORY_MB: Figure = |run| Some(run.memory_bytes_max as f64 / 1e6);

/// A table of all claims about the parts that were measured; empty when none was.
pub(crate) fn table(all: &[Results]) -> String {
    let claims = claims(all);
    let mut text = String::new();
    if claims.is_empty() {
        return text;
    }
    text += "| claimed of the median | bound | measured | |\n|---|---|---|---|\n";
    for claim in claims {
        let (measured, holds) = match claim.measured {
            Some(spread) if claim.bound.holds(spread.median) => (spread.text(), "holds"),
            Some(spread) => (spread.text(), "**does not hold**"),
            None => ("–".to_string(), "not measured"),
        };
        let _ = writeln!(text, "| {} | {} | {measured} | {holds} |", claim.text, claim.bound.text());
    }
    text
}

fn claims(all: &[Results]) -> Vec<Claim> {
    let was_measured = |part: Part| all.iter().any(|results| results.part == part);
    let mut claims = Vec::new();
    if was_measured(Part::Throughput) {
        claims.extend(closed_loop(&runs(all, Part::Throughput, None)));
    }
    if was_measured(Part::Pacing) {
        for rate in Part::Pacing.rates().into_iter().flatten() {
            claims.extend(pacing(&runs(all, Part::Pacing, Some(rate)), rate));
        }
    }
    if was_measured(Part::Stall) {
        claims.extend(stall(&runs(all, Part::Stall, Some(10_000))));
    }
    if was_measured(Part::Tls) {
        let runs = runs(all, Part::Tls, None);
        for (tool, name) in [(OURS, "balanced"), (FRUGAL, "frugal")] {
            let measured = ratio(&runs, tool, "wrk", CPU);
            let text = format!("TLS kept alive, {name}: CPU per request ÷ wrk's");
            claims.push(Claim { text, bound: Bound::AtMost(0.85), measured });
        }
    }
    if was_measured(Part::Threads) {
        for rate in Part::Threads.rates().into_iter().flatten() {
            let measured = ratio(&runs(all, Part::Threads, Some(rate)), TWO, ONE, CPU_AT_RATE);
            let text = format!("{}/s: CPU per request of two threads ÷ one's", three_digits(rate as f64));
            claims.push(Claim { text, bound: Bound::AtMost(1.05), measured });
        }
    }
    claims
}

fn closed_loop(runs: &[&Run]) -> Vec<Claim> {
    vec![
        Claim {
            text: "closed loop: requests/s ÷ wrk's".into(),
            bound: Bound::AtLeast(1.25),
            measured: ratio(runs, OURS, "wrk", ANSWERS),
        },
        Claim {
            text: "closed loop: CPU per request ÷ the raw loop's".into(),
            bound: Bound::AtMost(1.1),
            measured: ratio(runs, OURS, "raw loop", CPU),
        },
    ]
}

fn pacing(runs: &[&Run], rate: u64) -> Vec<Claim> {
    let mut claims = Vec::new();
    let at = three_digits(rate as f64);
    if rate >= 10_000 {
        claims.push(Claim {
            text: format!("{at}/s, frugal: CPU per request ÷ wrk2's"),
            bound: Bound::AtMost(1.0),
            measured: ratio(runs, FRUGAL, "wrk2", CPU_AT_RATE),
        });
    }
    if rate <= 10_000 {
        for (tool, mode, bound) in [(OURS, "balanced", 25.0), (PRECISE, "precise", 3.0)] {
            claims.push(Claim {
                text: format!("{at}/s, {mode}: arrivals off by, p50, µs"),
                bound: Bound::AtMost(bound),
                measured: spread(runs, tool, OWN_OFF_P50_US),
            });
            claims.push(Claim {
                text: format!(
                    "{at}/s, {mode}: p99 ÷ the larger of 2 × sleep and spin's and 1/5 of the best peer's"
                ),
                bound: Bound::AtMost(1.0),
                measured: p99_against_references(runs, tool),
            });
        }
    }
    claims
}

/// The machine adds pauses of its own, to the reference too: so the bound is of the same round.
fn p99_against_references(runs: &[&Run], tool: &str) -> Option<Spread> {
    let medians = PEERS.iter().filter_map(|(peer, _)| Some(spread(runs, &peer.name(), OFF_P99_US)?.median));
    let best_peer = medians.min_by(f64::total_cmp).unwrap_or(0.0);
    let reference = by_round(runs, &Tool::Pace.name(), OWN_OFF_P99_US);
    let shares = by_round(runs, tool, OWN_OFF_P99_US).into_iter().filter_map(|(round, p99)| {
        let (_, spun) = reference.iter().find(|(of, _)| *of == round)?;
        Some(p99 / (2.0 * spun).max(best_peer / 5.0))
    });
    Spread::of(shares)
}

fn stall(runs: &[&Run]) -> Vec<Claim> {
    let claims: [(&str, Bound, Figure); 7] = [
        ("p99, % off the exact one", Bound::Within(3.0), |run| {
            percent_off(run.reported?.p99_ns?, run.exact?.p99_ns)
        }),
        ("p99.9, % off the exact one", Bound::Within(3.0), |run| {
            percent_off(run.reported?.p99_9_ns?, run.exact?.p99_9_ns)
        }),
        ("p99, % off the server's clock", Bound::Within(1.0), |run| {
            percent_off(run.reported?.p99_ns?, run.by_server?.p99_ns)
        }),
        ("p99.9, % off the server's clock", Bound::Within(1.0), |run| {
            percent_off(run.reported?.p99_9_ns?, run.by_server?.p99_9_ns)
        }),
        ("scheduled arrivals that are not ok", Bound::AtMost(0.0), |run| {
            Some(run.exact?.arrivals as f64 - run.reported?.ok? as f64)
        }),
        ("own lateness, p99, µs", Bound::AtMost(1000.0), |run| {
            Some(run.reported?.late_p99_ns? as f64 / 1e3)
        }),
        ("peak memory, MB", Bound::AtMost(100.0), MEMORY_MB),
    ];
    let claim = |(text, bound, figure): (&str, Bound, Figure)| Claim {
        text: format!("a stall of 1 s at 10,000/s: {text}"),
        bound,
        measured: spread(runs, OURS, figure),
    };
    claims.map(claim).to_vec()
}

/// How much larger what is reported is than what is true, in %.
pub(crate) fn percent_off(reported_ns: u64, true_ns: u64) -> Option<f64> {
    (true_ns > 0).then(|| (reported_ns as f64 / true_ns as f64 - 1.0) * 100.0)
}

/// Where another tool is better than unblink as it is by default: a line for each figure that it wins.
pub(crate) fn better_elsewhere(all: &[Results]) -> String {
    let mut text = String::new();
    for results in all {
        for rate in results.part.rates() {
            let runs = runs(all, results.part, rate);
            let at = rate.map_or(String::new(), |rate| format!(" at {}/s", three_digits(rate as f64)));
            for (what, figure, more_is_better) in figures(results.part) {
                let winners = winners(&runs, figure, more_is_better);
                if !winners.is_empty() {
                    let _ = writeln!(text, "- `{}`{at}, {what}: {}", results.part.name(), winners.join(", "));
                }
            }
        }
    }
    text
}

/// What is compared in a part, and whether more is better.
fn figures(part: Part) -> Vec<(&'static str, Figure, bool)> {
    let memory = ("memory", MEMORY_MB, false);
    match part {
        Part::Pacing => vec![
            ("arrivals off by, p50", OFF_P50_US, false),
            ("arrivals off by, p99", OFF_P99_US, false),
            ("CPU per request", CPU_AT_RATE, false),
        ],
        Part::Stall => vec![memory],
        Part::Threads => vec![],
        Part::Throughput => vec![("requests/s", ANSWERS, true), ("CPU per request", CPU, false), memory],
        _ => vec![("requests/s", ANSWERS, true), ("CPU per request", CPU, false)],
    }
}

/// `ab 1.08 (1.05–1.11)`: the peer's figure divided by unblink's, in the same rounds.
fn winners(runs: &[&Run], figure: Figure, more_is_better: bool) -> Vec<String> {
    let line = |(peer, _): &(Tool, &str)| {
        let ratio = ratio(runs, &peer.name(), OURS, figure)?;
        let wins = if more_is_better { ratio.median > 1.0 } else { ratio.median < 1.0 };
        wins.then(|| format!("{} {}", peer.name(), ratio.text()))
    };
    PEERS.iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests;
