//! `unblink demo`, for as short a time as it takes.

use crate::support::Place;
use serde_json::Value;

const SHORT: [&str; 5] = ["demo", "--seconds", "4", "-o", "out"];

#[test]
fn the_demo_shows_both_loops_beside_the_exact_value() {
    let place = Place::new();
    let said = place.call(&SHORT);
    assert_eq!(said.code(), Some(0), "{said:?}");
    for part in ["a closed loop reports", "what users feel", "theory", "p99", "out/demo.html"] {
        assert!(said.stdout.to_lowercase().contains(part), "{part:?} is missing in {said:?}");
    }
    for file in [
        "demo.html",
        "demo.svg",
        "closed/run.json",
        "closed/report.html",
        "open/run.json",
        "open/report.html",
    ] {
        assert!(!place.text(&format!("out/{file}")).is_empty(), "{file}");
    }
}

#[test]
fn as_json_the_demo_has_both_runs_and_the_truth() {
    let place = Place::new();
    let said = place.call(&[&SHORT[..], &["--json"]].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    let all: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(all["open"]["arrivals"]["scheduled"], 4_000);
    assert_eq!(all["closed"]["loads"][0]["model"], "closed");
    let truth = all["truth"]["quantiles"].as_array().expect("a list");
    assert_eq!(truth.last().expect("the maximum")["q"], 1.0);
    // The server stands still for a second of four: the open loop has hundreds of arrivals in it, whatever else the
    // machine does, and the closed loop ten.
    let slow = |run: &str, times: &str, q: f64| {
        let quantiles = all[run][times]["quantiles"].as_array().expect("a list");
        let at = quantiles.iter().find(|at| at["q"].as_f64() == Some(q)).expect("a quantile");
        at["value"].as_u64().expect("ns")
    };
    assert!(slow("open", "response_time", 0.95) > 500_000_000);
    assert!(slow("closed", "service_time", 0.5) < slow("open", "response_time", 0.95));
}

#[test]
fn the_demo_is_not_shorter_than_its_stall() {
    Place::new().call(&["demo", "--seconds", "1"]).refused(&["--seconds", "4"]);
    Place::new().call(&["demo", "--seconds", "5", "--full"]).refused(&["--full"]);
}
