//! Results as Markdown.

use crate::claims::{self, percent_off};
use crate::figures::{Spread, three_digits, whole};
use crate::part::Part;
use crate::results::{Results, Run};
use crate::rounds::{Figure, ratio, runs, spread, tools};
use std::fmt::Write;

/// Whom the others are compared with.
const OURS: &str = "unblink";

/// A figure of a run, and how a table shows it.
struct Column {
    title: &'static str,
    value: Figure,
    /// How it is written.
    write: fn(f64) -> String,
    /// Followed by a column with unblink's figure divided by this one, both from the same round.
    compared: bool,
}

const ANSWERS: Column =
    Column { title: "requests/s", value: |run| run.answers_per_s, write: three_digits, compared: true };
const CPU: Column =
    Column { title: "CPU s per million", value: Run::cpu_s_per_million, write: three_digits, compared: true };
/// Without a ratio, where unblink is not beside others.
const CPU_ALONE: Column = Column { compared: false, ..CPU };
const MEMORY: Column = Column {
    title: "memory, MB",
    value: |run| Some(run.memory_bytes_max as f64 / 1e6),
    write: three_digits,
    compared: false,
};
const RATE: Column = Column { compared: false, ..ANSWERS };
const SERVER: Column = Column {
    title: "server busy, %",
    value: |run| Some(run.server_busy_share? * 100.0),
    write: three_digits,
    compared: false,
};
const OFF_P50: Column = Column {
    title: "off by, p50, µs",
    value: |run| us(run.deviation?.p50_ns),
    write: three_digits,
    compared: false,
};
const OFF_P99: Column =
    Column {
        title: "p99, µs", value: |run| us(run.deviation?.p99_ns), write: three_digits, compared: false
    };
const OFF_P99_9: Column = Column {
    title: "p99.9, µs",
    value: |run| us(run.deviation?.p99_9_ns),
    write: three_digits,
    compared: false,
};
const ANSWERED: Column =
    Column { title: "answered", value: |run| Some(run.requests as f64), write: whole, compared: false };
const P95: Column =
    Column { title: "p95, ms", value: |run| ms(run.reported?.p95_ns?), write: three_digits, compared: false };
const P99: Column =
    Column { title: "p99, ms", value: |run| ms(run.reported?.p99_ns?), write: three_digits, compared: false };
const P99_9: Column = Column {
    title: "p99.9, ms",
    value: |run| ms(run.reported?.p99_9_ns?),
    write: three_digits,
    compared: false,
};
const P99_OFF: Column = Column {
    title: "p99 off the exact one, %",
    value: |run| percent_off(run.reported?.p99_ns?, run.exact?.p99_ns),
    write: three_digits,
    compared: false,
};
const P99_9_OFF: Column = Column {
    title: "p99.9 off, %",
    value: |run| percent_off(run.reported?.p99_9_ns?, run.exact?.p99_9_ns),
    write: three_digits,
    compared: false,
};
const P99_OFF_SERVER: Column = Column {
    title: "p99 off the server's clock, %",
    value: |run| percent_off(run.reported?.p99_ns?, run.by_server?.p99_ns),
    write: three_digits,
    compared: false,
};
const P99_9_OFF_SERVER: Column = Column {
    title: "p99.9 off it, %",
    value: |run| percent_off(run.reported?.p99_9_ns?, run.by_server?.p99_9_ns),
    write: three_digits,
    compared: false,
};

fn us(ns: u64) -> Option<f64> {
    Some(ns as f64 / 1e3)
}

fn ms(ns: u64) -> Option<f64> {
    Some(ns as f64 / 1e6)
}

fn columns(part: Part) -> &'static [Column] {
    match part {
        Part::Throughput => &[ANSWERS, CPU, MEMORY, SERVER],
        Part::Connect | Part::Large => &[ANSWERS, CPU, MEMORY, SERVER],
        Part::Tls | Part::Handshake => &[ANSWERS, CPU, MEMORY],
        Part::Threads => &[CPU_ALONE, RATE, MEMORY],
        Part::Pacing => &[OFF_P50, OFF_P99, OFF_P99_9, CPU, RATE, MEMORY],
        Part::Stall => {
            &[ANSWERED, P95, P99, P99_9, P99_OFF, P99_9_OFF, P99_OFF_SERVER, P99_9_OFF_SERVER, MEMORY]
        }
    }
}

fn heading(part: Part) -> &'static str {
    match part {
        Part::Throughput => "Closed loop, 64 connections kept alive",
        Part::Pacing => "Where arrivals lie",
        Part::Stall => "The server answers nothing for a second",
        Part::Connect => "Closed loop, a connection for each request",
        Part::Tls => "TLS, 64 connections kept alive, nginx",
        Part::Handshake => "TLS, a handshake for each request, nginx",
        Part::Large => "Closed loop, answers of 1 MB",
        Part::Threads => "A second worker thread at the same rate",
    }
}

/// Everything, part by part.
pub(crate) fn full(all: &[Results]) -> String {
    let mut text = String::new();
    if let Some(first) = all.first() {
        let machine = &first.machine;
        let _ = writeln!(text, "{}, {} processors, {}.", machine.cpu, machine.cores, machine.kernel);
        let _ = writeln!(text, "Versions: {}.", versions(all).join(", "));
    }
    let claims = claims::table(all);
    if !claims.is_empty() {
        let _ = write!(text, "\n### What unblink claims\n\n{claims}");
    }
    let better = claims::better_elsewhere(all);
    if !better.is_empty() {
        let _ = write!(
            text,
            "\n### Where another tool is better\n\nIts figure divided by unblink's.\n\n{better}"
        );
    }
    for results in all {
        let _ = write!(text, "\n### {}\n\n", heading(results.part));
        let _ = writeln!(text, "{}", how(results));
        for rate in results.part.rates() {
            let runs: Vec<&Run> = results.runs.iter().filter(|run| run.rate_per_s == rate).collect();
            text.push('\n');
            if let Some(rate) = rate {
                let _ = writeln!(text, "{}/s{}:\n", three_digits(rate as f64), exact(&runs));
            }
            text += &table(columns(results.part), &runs);
        }
        for missing in &results.missing {
            let _ = write!(text, "\n{} is missing ({}).", missing.tool, missing.install);
        }
        if !results.missing.is_empty() {
            text.push('\n');
        }
    }
    text
}

/// The command that measures it again, and how much of it was done.
fn how(results: &Results) -> String {
    let part = results.part;
    let mut arguments = part.name().to_string();
    if results.rounds != part.rounds() {
        let _ = write!(arguments, " --rounds {}", results.rounds);
    }
    if results.seconds != part.seconds() {
        let _ = write!(arguments, " --seconds {}", results.seconds);
    }
    let early = if results.rounds_done < results.rounds { ", stopped early" } else { "" };
    let rounds =
        if results.rounds_done == 1 { "1 round" } else { &format!("{} rounds", results.rounds_done) };
    format!("`make bench BENCH='{arguments}'`: {rounds} of {} s for each{early}.", results.seconds)
}

/// ` (exact p95 1.2, …)`, where there is an exact value.
fn exact(runs: &[&Run]) -> String {
    let Some(exact) = runs.iter().find_map(|run| run.exact) else { return String::new() };
    let [p95, p99, p99_9] =
        [exact.p95_ns, exact.p99_ns, exact.p99_9_ns].map(|ns| three_digits(ns as f64 / 1e6));
    format!(", {} arrivals, exact p95 {p95}, p99 {p99}, p99.9 {p99_9} ms", whole(exact.arrivals as f64))
}

fn versions(all: &[Results]) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for version in all.iter().flat_map(|results| &results.tools).filter(|v| !v.version.is_empty()) {
        let text = format!("{} {}", version.tool.split(' ').next().unwrap_or_default(), version.version);
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}

fn table(columns: &[Column], runs: &[&Run]) -> String {
    let titles = columns.iter().flat_map(|column| {
        let ratio = column.compared.then(|| format!("{OURS} ÷ it"));
        std::iter::once(column.title.to_string()).chain(ratio)
    });
    let titles: Vec<String> = std::iter::once(String::new()).chain(titles).collect();
    let mut text = format!("| {} |\n|{}\n", titles.join(" | "), "---|".repeat(titles.len()));
    for tool in tools(runs) {
        let mut cells = vec![tool.to_string()];
        for column in columns {
            cells.push(cell(spread(runs, tool, column.value), column.write));
            if column.compared {
                let ratio = if tool == OURS { None } else { ratio(runs, OURS, tool, column.value) };
                cells.push(cell(ratio, three_digits));
            }
        }
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    for tool in tools(runs) {
        let failures: Vec<_> = runs.iter().filter(|run| run.tool == tool && run.failure.is_some()).collect();
        if let Some(reason) = failures.first().and_then(|run| run.failure.as_deref()) {
            let of = runs.iter().filter(|run| run.tool == tool).count();
            let _ = writeln!(text, "\n{tool} failed in {} of {of} rounds: {reason}", failures.len());
        }
    }
    text
}

fn cell(spread: Option<Spread>, write: fn(f64) -> String) -> String {
    spread.map_or("–".to_string(), |spread| spread.text_with(write))
}

/// The figures that most people ask for first, one line for each tool.
pub(crate) fn short(all: &[Results]) -> String {
    let closed = runs(all, Part::Throughput, None);
    let paced = runs(all, Part::Pacing, Some(10_000));
    let stalled = runs(all, Part::Stall, Some(10_000));
    let mut text = String::from(
        "| | requests/s, closed loop | CPU s per million | arrivals at 10,000/s off by, p50, p99 | p99 in a 1 s stall at 10,000/s, off the exact one | memory in it |\n|---|---|---|---|---|---|\n",
    );
    let everybody: Vec<&Run> = [closed.as_slice(), &paced, &stalled].concat();
    for tool in tools(&everybody) {
        let median = |runs: &[&Run], column: &Column| Some(spread(runs, tool, column.value)?.median);
        let cell = |value: Option<f64>, unit: &str| value.map_or("–".into(), |v| three_digits(v) + unit);
        let (p50, p99) = (median(&paced, &OFF_P50), median(&paced, &OFF_P99));
        let off = match p50 {
            Some(p50) => format!("{}, {}", three_digits(p50), cell(p99, " µs")),
            None => "–".to_string(),
        };
        let stall = median(&stalled, &P99_OFF).map_or("–".into(), |percent| format!("{percent:+.1} %"));
        let memory = cell(median(&stalled, &MEMORY), " MB");
        let (rate, cpu) = (cell(median(&closed, &ANSWERS), ""), cell(median(&closed, &CPU), ""));
        let _ = writeln!(text, "| {tool} | {rate} | {cpu} | {off} | {stall} | {memory} |");
    }
    text
}

#[cfg(test)]
mod tests;
