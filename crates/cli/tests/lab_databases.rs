//! The lab with databases: a real one that stalls for a second, and what tools say of it beside the packets on the loopback.

use crate::support::Place;
use crate::watched::{MS, at, cell, is_right, lab};

#[test]
fn a_frozen_redis() {
    let place = Place::new();
    let Some(lab) = lab(&place, "redis-stall", "unblink-redis,redis-benchmark") else { return };
    is_right(&place, &lab, "redis-stall", "unblink-redis");
    assert_eq!(cell(&lab, "unblink-redis")["offered"]["connections"], 50);
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
    assert_eq!(cell(&lab, "unblink-postgres")["offered"]["connections"], 50);
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
    run(&["mongo-stall"]).refused(&["redis-stall", "postgres-stall"]);
    let both = "name = \"x\"\nprogram = \"x\"\nabout = \"\"\nmodel = \"open\"\ndatabase = \"redis\"\ntls = true\n\
                command = [\"{port}\"]\n[version]\n[output]\nformat = \"hgrm\"\nunit = \"ms\"\n";
    let path = place.file("x.toml", both);
    run(&["redis-stall", "--tool", path.to_str().expect("a path")]).refused(&["database", "tls"]);
}
