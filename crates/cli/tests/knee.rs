//! `unblink knee` through the binary: in virtual time, against the lab, resumed, and asked wrongly.

mod support;

use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;
use support::lab::Lab;
use support::{Place, Started};

/// Five slots of 10 ms under even arrivals carry 500/s, to the request.
const CAP: [&str; 10] = [
    "--server",
    "slots=5 service=10ms",
    "--slo",
    "p99 < 50ms",
    "--arrivals",
    "even",
    "--settle",
    "1s",
    "--start",
    "100",
];

fn document(text: &str) -> Value {
    let schema = unblink_artifact::schema::knee_schema();
    let document: Value = serde_json::from_str(text).expect("JSON");
    let validator = jsonschema::validator_for(&schema).expect("a valid schema");
    let complaints: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    document
}

#[test]
fn a_cap_is_found_in_virtual_time() {
    let place = Place::new();
    let run = place.call(&[&["knee"], &CAP[..], &["--then-latency", "--json", "-o", "out"]].concat());
    assert_eq!(run.code(), Some(0), "{run:?}");
    let found = document(&run.stdout);
    let rate = found["answer"]["rate_per_s"].as_f64().expect("a rate");
    assert!((485.0..=515.0).contains(&rate), "{rate}");
    assert_eq!(found["status"], "found");
    assert!(found["latency_trial"].is_u64() && found["header"].is_null(), "{found}");
    assert_eq!(place.list("out"), ["knee.json", "knee.jsonl", "report.html"]);
    let again = place.call(&[&["knee"], &CAP[..], &["-q", "-o", "again"]].concat());
    assert!(again.stdout.starts_with("SIMULATED") && again.stderr.is_empty(), "{again:?}");
}

#[test]
fn a_search_that_was_cut_off_goes_on() {
    let place = Place::new();
    let whole = place.call(&[&["knee"], &CAP[..], &["--json", "-o", "out"]].concat());
    let journal = place.text("out/knee.jsonl");
    let cut: usize = journal.lines().take(5).map(|line| line.len() + 1).sum::<usize>() + 40;
    place.file("cut/knee.jsonl", &journal[..cut]);
    let resumed = place.call(&[&["knee"], &CAP[..], &["--json", "--resume", "cut"]].concat());
    assert_eq!(resumed.code(), Some(0), "{resumed:?}");
    assert!(resumed.stderr.contains("4 finished trials taken over"), "{resumed:?}");
    let (whole, resumed) = (document(&whole.stdout), document(&resumed.stdout));
    assert_eq!(whole["trials"][3], resumed["trials"][3]);
    assert_eq!(whole["answer"], resumed["answer"]);
    assert_eq!(whole["trials"], resumed["trials"], "the server has been through the same");
    let other = ["knee", "--server", "service=1ms", "--slo", "p99 < 50ms", "--resume", "cut"];
    let refused = place.call(&other);
    assert!(refused.code() == Some(2) && refused.stderr.contains("begun with other flags"), "{refused:?}");
}

#[test]
fn a_target_that_never_meets_it_has_no_answer() {
    let place = Place::new();
    let args = ["knee", "--server", "service=100ms", "--slo", "p99 < 50ms", "--start", "10", "-o", "out"];
    let run = place.call(&args);
    assert_eq!(run.code(), Some(3), "{run:?}");
    assert!(run.stdout.contains("NO ANSWER") && run.stdout.contains("Not even"), "{run:?}");
}

/// Pauses of 1 s that come once a minute: most windows of 20 s see none, at any rate.
#[test]
fn what_misses_at_any_rate_is_no_border() {
    let place = Place::new();
    let server = "slots=1 service=1ms pause=1s~60s";
    let run = place.call(&["knee", "--server", server, "--slo", "p99 < 50ms", "-q", "-o", "out"]);
    assert!(run.code() == Some(3) && run.stdout.contains("NO ANSWER"), "{run:?}");
}

#[test]
fn a_rate_is_kept_exactly() {
    let place = Place::new();
    let rates = ["--start", "10/m", "--max", "20/m", "--arrivals", "even", "--json", "-o", "out"];
    let run = place.call(&[&["knee", "--server", "service=1ms", "--slo", "p50 < 1s"], &rates[..]].concat());
    let found = document(&run.stdout);
    assert_eq!((run.code(), &found["status"]), (Some(0), &"at_least".into()), "{run:?}");
    let asked: Vec<&Value> =
        found["trials"].as_array().expect("trials").iter().map(|trial| &trial["rate"]).collect();
    assert_eq!(asked[0], &serde_json::json!({ "requests": 1, "seconds": 6 }));
    assert_eq!(asked[1], &serde_json::json!({ "requests": 1, "seconds": 3 }));
}

/// One rate, once more, and for twice as long: the way to a real target, its folders and its report.
#[test]
fn a_real_target_has_a_folder_for_each_trial() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy", "--baseline", "1ms"]);
    let times = ["--settle", "0s", "--measure", "4s", "--rest", "0s"];
    let one_rate = ["--slo", "p90 < 10s", "--start", "50", "--max", "50", "--json", "-o", "out"];
    let run = place.call(&[&["knee", &lab.url], &times[..], &one_rate[..]].concat());
    assert_eq!(run.code(), Some(0), "{run:?}");
    let found = document(&run.stdout);
    assert_eq!((&found["status"], found["answer"]["rate_per_s"].as_f64()), (&"at_least".into(), Some(50.0)));
    assert_eq!(
        place.list("out"),
        ["knee.json", "knee.jsonl", "report.html", "trial-01", "trial-02", "trial-03"]
    );
    assert!(place.list("out/trial-02").contains(&"report.html".to_string()));
}

/// The first trial has ended, and the next one waits for the target to come to rest.
#[test]
fn an_interruption_between_two_trials_leaves_a_report() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy", "--baseline", "1ms"]);
    let times = ["--settle", "0s", "--measure", "4s", "--rest", "1h"];
    let one_rate = ["--slo", "p90 < 10s", "--start", "50", "--max", "50", "--json", "-o", "out"];
    let args = [&["knee", &lab.url], &times[..], &one_rate[..]].concat();
    let search = Started::spawn(&mut place.command(&args));
    let journal = place.path().join("out/knee.jsonl");
    let lines = || std::fs::read_to_string(&journal).unwrap_or_default().lines().count();
    (0..2_500).take_while(|_| lines() < 2).for_each(|_| std::thread::sleep(Duration::from_millis(20)));
    search.signal(Signal::INT);
    let said = search.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    let found = document(&said.stdout);
    assert_eq!(
        (&found["status"], found["trials"].as_array().map(Vec::len)),
        (&"interrupted".into(), Some(1))
    );
    assert_eq!(place.list("out"), ["knee.json", "knee.jsonl", "report.html", "trial-01"]);
    let kept = place.call(&["history", "--json"]).stdout;
    assert_eq!(kept.matches("\"series\"").count(), 1, "its trial is in the history: {kept}");
}

#[test]
fn wrong_usage_is_named() {
    let place = Place::new();
    for (args, part) in [
        (&["--slo", "p99 < 1s"][..], "which target"),
        (&["http://127.0.0.1:1/", "--server", "service=1ms", "--slo", "p99 < 1s"], "exclude each other"),
        (&["--server", "service=1ms"], "--slo"),
        (&["--server", "service=1ms", "--slo", "errors < 1%"], "one percentile"),
        (&["--server", "service=1ms", "--slo", "p99 < 1s", "--timeout", "1s"], "--timeout"),
        (&["--server", "service=1ms", "--slo", "p99 < 1s", "--measure", "1s"], "--measure"),
        (&["--server", "service=1ms", "--slo", "p99 < 1s", "--measure-max", "5s"], "--measure-max"),
        (&["--server", "service=1ms", "--slo", "p99 < 1s", "--resolution", "2"], "--resolution"),
        (&["--server", "service=1ms", "--slo", "p99 < 1s", "--start", "2k", "--max", "1k"], "--start"),
        (&["--server", "service=1ms", "--slo", "p99 < 1s", "--resume", "nowhere"], "nowhere"),
    ] {
        let run = place.call(&[&["knee"], args].concat());
        assert!(run.code() == Some(2) && run.stderr.contains(part), "{args:?}: {run:?}");
    }
}
