//! Bursty arrivals, a sine and a trace through the binary.

use crate::support::Place;
use serde_json::Value;

const WORLD: [&str; 2] = ["--server", "service=1ms"];

fn simulated(place: &Place, args: &[&str]) -> Value {
    let said = place.call(&[&["sim"], args, &WORLD, &["-o", "out", "--json"]].concat());
    let document = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    std::fs::remove_dir_all(place.path().join("out")).expect("the record");
    document
}

#[test]
fn bursts_are_told_and_the_process_is_tested_in_them() {
    let place = Place::new();
    let args =
        ["-R", "500", "-d", "60s", "--seed", "3", "--arrivals", "bursty(peak=4x, on=100ms, off=400ms)"];
    let run = simulated(&place, &args);
    let load = &run["loads"][0];
    let bursts = serde_json::json!({
        "name": "bursty", "seed": 3, "peak": 4.0, "on_ns": 100_000_000, "off_ns": 400_000_000,
    });
    assert_eq!(load["process"], bursts);
    let summary = run["plan"]["summary"].as_str().expect("a summary");
    assert!(
        summary.replace('\u{a0}', " ").contains("bursty arrivals (4 × for 100 ms, every 500 ms)"),
        "{summary}"
    );
    let test = &load["arrival_process"]["intended"]["exponential"];
    assert!(test["p_value"].as_f64().expect("a test") > 0.001, "{test}");
    assert_eq!(run["validity"]["status"], "valid");
    assert_eq!(simulated(&place, &args)["arrivals"], run["arrivals"]);
    // Another seed has other bursts, and so another number of arrivals.
    assert_ne!(simulated(&place, &[&args[..4], &args[6..]].concat())["arrivals"], run["arrivals"]);
}

#[test]
fn a_day_has_its_mean_and_its_name() {
    let place = Place::new();
    let run = simulated(&place, &["--shape", "sine", "-R", "100..500", "-d", "40s", "--period", "20s"]);
    assert_eq!(run["plan"]["shape"], "sine");
    assert_eq!(run["arrivals"]["scheduled"], 12_000);
    assert_eq!(run["plan"]["phases"].as_array().map(Vec::len), Some(192));
    let summary = run["plan"]["summary"].as_str().expect("a summary").replace('\u{a0}', " ");
    assert_eq!(summary, "open, sine from 100/s to 500/s and back in 20 s, even arrivals, for 40 s");
}

#[test]
fn a_trace_is_offered_as_it_is_or_scaled() {
    let place = Place::new();
    place.file("day.csv", "minute,rps\n08:00,100\n08:01,300\n08:02,0\n08:03,60/m\n");
    let trace = ["--trace", "day.csv", "--trace-column", "rps"];
    let run = |more: &[&str]| simulated(&place, &[&trace, more].concat())["arrivals"]["scheduled"].clone();
    assert_eq!(run(&["--trace-step", "2s"]), 200 + 600 + 2);
    assert_eq!(run(&["--trace-step", "2s", "-d", "3s"]), 200 + 300);
    assert_eq!(run(&["-d", "40s"]), 1_000 + 3_000 + 10);
    assert_eq!(run(&["-d", "40s", "-R", "200"]), 8_000);
}

#[test]
fn a_plan_has_them_in_each_of_its_loads() {
    let place = Place::new();
    place.file("plans/day.csv", "rate\n10\n30\n");
    let plan = "[load]\nwarmup = \"1s\"\n\
        [[loads]]\nname = \"night\"\ntrace = \"day.csv\"\nduration = \"10s\"\n\
        [[loads]]\nname = \"day\"\nrate = \"50..150\"\nshape = \"sine\"\nperiod = \"5s\"\nduration = \"10s\"\n\
        [[loads]]\nname = \"rush\"\nrate = 100\narrivals = \"bursty\"\nduration = \"10s\"\n\
        [world]\nserver = \"service=1ms\"\n";
    place.file("plans/plan.toml", plan);
    let said = place.call(&["sim", "plans/plan.toml", "-o", "out", "--json"]);
    let run: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    let scheduled = |load: usize| run["loads"][load]["arrivals"]["scheduled"].as_u64().expect("a count");
    assert_eq!((scheduled(0), scheduled(1)), (200, 1_000));
    assert_eq!(run["loads"][2]["process"]["name"], "bursty");
    let shown = place.call(&["plan", "show", "plans/plan.toml"]).stdout;
    assert!(shown.contains("bursts go up to 500/s"), "{shown}");
}

#[test]
fn what_there_can_not_be_is_refused_with_its_reason() {
    let place = Place::new();
    place.file("day.csv", "minute,rps\n08:00,100\n08:01,-3\n");
    let cases: [(&[&str], &[&str]); 11] = [
        (&["-R", "9", "--arrivals", "bursty(peak=7x)"], &["at most 6x"]),
        (&["-R", "9", "--arrivals", "bursty", "-n", "5"], &["add -d TIME"]),
        (&["--closed", "9", "--arrivals", "bursty"], &["--arrivals bursty needs a rate"]),
        (&["-R", "100", "--arrivals", "bursty", "--max-rate", "499"], &["bursts of 500/s", "cap of 499/s"]),
        (&["-R", "9", "--shape", "sine"], &["such as -R 100..800"]),
        (&["-R", "1..9", "--shape", "sine", "--period", "1s", "-d", "1h"], &["more than 42 times"]),
        (&["-R", "9", "--period", "1s"], &["add --shape sine"]),
        (&["--trace", "day.csv"], &["day.csv:1:", "minute, rps", "--trace-column"]),
        (&["--trace", "day.csv", "--trace-column", "rps"], &["day.csv:3:", "negative"]),
        (&["--trace", "day.csv", "--shape", "load"], &["--shape load and --trace"]),
        (&["-R", "9", "--trace-step", "1s"], &["add --trace FILE"]),
    ];
    for (args, parts) in cases {
        place.call(&[&["sim"], args, &WORLD].concat()).refused(parts);
    }
    let search = ["knee", "--server", "service=1ms", "--slo", "p99 < 5ms", "--arrivals", "bursty"];
    place.call(&search).refused(&["search with poisson"]);
}
