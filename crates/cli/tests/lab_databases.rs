//! The lab with databases: a real one that stalls for a second, and what tools say of it beside the packets on the loopback.

use crate::support::{Place, Said};
use serde_json::Value;

const MS: u64 = 1_000_000;

/// A lab of 4 s at 1,000/s, with a stall of a second in it; `None` where the loopback may not be watched, and that is said.
#[track_caller]
fn lab(place: &Place, scenario: &str, tools: &str) -> Option<Value> {
    let said =
        place.call(&["lab", "run", scenario, "--tools", tools, "--length", "4s", "-o", "lab", "--json"]);
    if said.stderr.contains("can't watch the loopback") {
        assert_ne!(said.code(), Some(0), "{said:?}");
        assert!(["CAP_NET_RAW", "root", "setcap"].iter().all(|part| said.stderr.contains(part)), "{said:?}");
        return None;
    }
    assert_eq!(said.code(), Some(0), "{said:?}");
    Some(document(&said))
}

/// JSON that keeps its schema.
#[track_caller]
fn document(said: &Said) -> Value {
    let document: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    let schema = unblink_artifact::schema::lab_schema();
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let complaints: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    document
}

#[track_caller]
fn cell<'a>(lab: &'a Value, tool: &str) -> &'a Value {
    let cells = lab["cells"].as_array().expect("cells");
    cells.iter().find(|cell| cell["tool"]["name"] == tool).unwrap_or_else(|| panic!("{tool}: {lab:#}"))
}

/// A figure of a percentile.
#[track_caller]
fn at(cell: &Value, q: f64, figure: &str) -> u64 {
    let lines = cell["percentiles"].as_array().expect("a list");
    let line = lines.iter().find(|line| line["q"].as_f64() == Some(q)).expect("a percentile");
    line[figure].as_u64().unwrap_or_else(|| panic!("{figure}: {line:#}"))
}

/// Every arrival was on the wire, and p99 and p99.9 are within 1 % or 2 ms of what was seen there.
#[track_caller]
fn is_right(place: &Place, lab: &Value, scenario: &str, tool: &str) {
    let cell = cell(lab, tool);
    assert_eq!(cell["observed"]["truth_from"], "arrivals", "{cell:#}");
    assert_eq!(cell["observed"]["lost"], 0);
    assert_eq!([&cell["offered"]["planned"], &cell["offered"]["requests"]], [4000, 4000]);
    assert_eq!([&cell["log"]["requests"], &cell["log"]["lost"]], [4000, 0]);
    assert_eq!(cell["offered"]["connections"], 50);
    // On a busy machine the client reads answers late, and says so.
    let run: Value =
        serde_json::from_str(&place.text(&format!("lab/{scenario}/{tool}/1/stdout.txt"))).expect("JSON");
    let paused_ns = run["generator"]["pause_max_ns"].as_u64().expect("a figure");
    for q in [0.99, 0.999] {
        let [low_ns, high_ns, reported_ns] =
            ["truth_low_ns", "truth_high_ns", "reported_ns"].map(|figure| at(cell, q, figure));
        let near_ns = (2 * MS).max(low_ns / 100);
        let all = [low_ns, high_ns, reported_ns, paused_ns];
        assert!(low_ns > 900 * MS, "the stall is in it: {all:?}");
        assert!(reported_ns + near_ns >= low_ns && reported_ns <= high_ns + near_ns + paused_ns, "{all:?}");
    }
}

#[test]
fn a_frozen_redis() {
    let place = Place::new();
    let Some(lab) = lab(&place, "redis-stall", "unblink-redis,redis-benchmark") else { return };
    is_right(&place, &lab, "redis-stall", "unblink-redis");
    // One client that waits: one request in ten thousands felt it.
    let closed = cell(&lab, "redis-benchmark");
    assert_eq!(closed["observed"]["truth_from"], "silence", "{closed:#}");
    assert_eq!(closed["offered"]["requests"], 40_000);
    assert!(at(closed, 0.99, "truth_low_ns") > 900 * MS, "{closed:#}");
    assert!(at(closed, 0.99, "reported_ns") < 500 * MS, "{closed:#}");
    let points = closed["reported"]["points"].as_array().expect("points");
    assert!(points.last().and_then(|point| point["value_ns"].as_u64()) > Some(900 * MS), "{points:?}");
    let results = place.text("lab/results.md");
    assert!(results.contains("| true p99 |") && results.contains("| Redis "), "{results}");
}

#[test]
fn a_locked_table_in_postgres() {
    let place = Place::new();
    let Some(lab) = lab(&place, "postgres-stall", "unblink-postgres,pgbench") else { return };
    is_right(&place, &lab, "postgres-stall", "unblink-postgres");
    // It counts its Poisson arrivals from when they were due; chance moves its p99.
    let open = cell(&lab, "pgbench-rate");
    assert_eq!(open["observed"]["truth_from"], "silence", "{open:#}");
    assert!(at(open, 0.99, "reported_ns").abs_diff(at(open, 0.99, "truth_low_ns")) < 150 * MS, "{open:#}");
    let closed = cell(&lab, "pgbench");
    assert!(at(closed, 0.99, "truth_low_ns") > 900 * MS, "{closed:#}");
    assert!(at(closed, 0.99, "reported_ns") < 500 * MS, "{closed:#}");
    assert!(at(closed, 0.99, "log_ns") < 500 * MS, "{closed:#}");
}

#[test]
fn what_speaks_something_else_has_no_part_in_it() {
    let place = Place::new();
    let run = |args: &[&str]| place.call(&[&["lab", "run"][..], args].concat());
    run(&["redis-stall", "--tools", "unblink-open,pgbench"]).refused(&["unblink-open", "databases"]);
    run(&["stall", "--tools", "redis-benchmark"]).refused(&["redis-benchmark", "databases"]);
    run(&["cassandra-stall"]).refused(&["redis-stall", "postgres-stall"]);
    let both = "name = \"x\"\nprogram = \"x\"\nabout = \"\"\nmodel = \"open\"\ndatabase = \"redis\"\ntls = true\n\
                command = [\"{port}\"]\n[version]\n[output]\nformat = \"hgrm\"\nunit = \"ms\"\n";
    let path = place.file("x.toml", both);
    run(&["redis-stall", "--tool", path.to_str().expect("a path")]).refused(&["database", "tls"]);
}
