//! The lab with Cassandra: one that it starts itself, with the program that `tools/test-cassandra` puts on the PATH.

use super::address;
use super::support::Place;
use super::watched::{MS, at, cell, is_right, lab};

#[test]
fn a_frozen_cassandra() {
    if address().is_none() {
        return;
    }
    let place = Place::new();
    let Some(lab) = lab(&place, "cassandra-stall", "unblink-cassandra") else { return };
    is_right(&place, &lab, "cassandra-stall", "unblink-cassandra");
    let cell = cell(&lab, "unblink-cassandra");
    assert!(at(cell, 0.5, "truth_high_ns") < 500 * MS, "{cell:#}");
    assert!(place.text("lab/results.md").contains("| Cassandra 5."));
}
