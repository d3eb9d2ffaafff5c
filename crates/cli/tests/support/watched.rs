//! The lab over a database that stalls, as tests of several programs look at it.

use crate::support::{Place, Said};
use serde_json::Value;

pub(crate) const MS: u64 = 1_000_000;

/// A lab of 4 s at 1,000/s, with a stall of a second in it; `None` where the loopback may not be watched, and that is said.
#[track_caller]
pub(crate) fn lab(place: &Place, scenario: &str, tools: &str) -> Option<Value> {
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
pub(crate) fn cell<'a>(lab: &'a Value, tool: &str) -> &'a Value {
    let cells = lab["cells"].as_array().expect("cells");
    cells.iter().find(|cell| cell["tool"]["name"] == tool).unwrap_or_else(|| panic!("{tool}: {lab:#}"))
}

/// A figure of a percentile.
#[track_caller]
pub(crate) fn at(cell: &Value, q: f64, figure: &str) -> u64 {
    let lines = cell["percentiles"].as_array().expect("a list");
    let line = lines.iter().find(|line| line["q"].as_f64() == Some(q)).expect("a percentile");
    line[figure].as_u64().unwrap_or_else(|| panic!("{figure}: {line:#}"))
}

/// Every arrival was on the wire, and p99 and p99.9 are within 1 % or 2 ms of what was seen there.
#[track_caller]
pub(crate) fn is_right(place: &Place, lab: &Value, scenario: &str, tool: &str) {
    let cell = cell(lab, tool);
    assert_eq!(cell["observed"]["truth_from"], "arrivals", "{cell:#}");
    assert_eq!(cell["observed"]["lost"], 0);
    assert_eq!([&cell["offered"]["planned"], &cell["offered"]["requests"]], [4000, 4000]);
    assert_eq!([&cell["log"]["requests"], &cell["log"]["lost"]], [4000, 0]);
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
