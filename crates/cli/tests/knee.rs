//! `unblink knee` through the binary: in virtual time, against the lab, resumed, and asked wrongly.

use crate::support::hostile::{Act, Hostile, answer};
use crate::support::lab::Lab;
use crate::support::{Place, Started};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

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

/// Exactly 875/s; the whole search takes more than twenty minutes of load.
const FOUR: [&str; 5] = ["knee", "--server", "slots=4 service=exp(4ms)", "--slo", "p99 < 40ms"];

#[test]
fn when_the_time_is_up_the_bracket_is_the_answer_and_more_time_goes_on() {
    let place = Place::new();
    let run = place.call(&[&FOUR[..], &["--within", "5m", "--json", "-q", "-o", "out"]].concat());
    assert_eq!(run.code(), Some(0), "{run:?}");
    let found = document(&run.stdout);
    let end = |name: &str| found["bracket"][name].as_f64().expect("an end");
    assert!(end("good_per_s") <= 875.0 && 875.0 <= end("missed_from_per_s"), "{}", found["bracket"]);
    assert_eq!((&found["status"], &found["answer"]), (&"bracketed".into(), &Value::Null));
    let trials = found["trials"].as_array().map(Vec::len);
    let more = [&FOUR[..], &["--within", "6m", "--json", "-q", "--resume", "out"]].concat();
    let more = document(&place.call(&more).stdout);
    assert!(more["trials"].as_array().map(Vec::len) > trials, "{more}");
}

#[test]
fn a_rate_that_is_asked_for_has_its_exit_code() {
    let place = Place::new();
    for (rate, code, word) in
        [("700", 0, "REACHED  "), ("1000/s", 1, "NOT REACHED  "), ("875", 3, "NOT TOLD  ")]
    {
        let run = place.call(&[&FOUR[..], &["--at-least", rate, "--within", "3m", "-q"]].concat());
        let verdict = run.stdout.lines().nth(1).unwrap_or_default();
        assert!(run.code() == Some(code) && verdict.starts_with(word), "{rate}: {run:?}");
    }
}

/// That the other requests don't count is tested where trials are added up.
#[test]
fn one_request_is_judged_by_its_name() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy", "--baseline", "1ms"]);
    let other = format!("{}other", lab.url);
    let times = ["--settle", "0s", "--measure", "4s", "--rest", "0s", "--start", "50", "--max", "50"];
    let search = |slo: &str| {
        place.call(
            &[&["knee", "-q", "--json", &lab.url, &other, "--slo", slo, "-o", "out"], &times[..]].concat(),
        )
    };
    let refused = search("GET /nowhere: p90 < 10s");
    assert!(refused.code() == Some(2) && refused.stderr.contains("no request is called"), "{refused:?}");
    let named = search("GET /other: p90 < 10s");
    assert_eq!(named.code(), Some(0), "{named:?}");
    let named = document(&named.stdout);
    assert_eq!(
        (&named["status"], &named["question"]["operation"]),
        (&"at_least".into(), &"GET /other".into())
    );
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
        (&["--server", "service=1ms", "--slo", "p99 < 1s", "--within", "20s"], "--within"),
        (&["--server", "service=1ms", "--slo", "p99 < 1s", "--max", "1k", "--at-least", "2k"], "--at-least"),
        (&["--server", "service=1ms", "--slo", "GET /: p99 < 1s"], "leave the name out"),
    ] {
        let run = place.call(&[&["knee"], args].concat());
        assert!(run.code() == Some(2) && run.stderr.contains(part), "{args:?}: {run:?}");
    }
}

/// Sixteen nights, the last six of them slower by a quarter.
#[test]
fn a_trend_goes_over_searches() {
    let place = Place::new();
    let said = place.call(&[&["knee"], &CAP[..], &["--json", "-o", "one"]].concat());
    let found = document(&said.stdout);
    let rate = found["answer"]["rate_per_s"].as_f64().expect("a rate");
    for night in 1..=16 {
        let mut knee: Value = serde_json::from_str(&place.text("one/knee.json")).expect("JSON");
        let share = if night > 10 { 0.75 } else { 1.0 } * (1.0 + f64::from(night % 3) / 100.0);
        knee["answer"]["rate_per_s"] = (rate * share).into();
        knee["started_at"] = format!("2026-01-{night:02}T12:00:00.000Z").into();
        place.file(&format!("nightly/n{night}/knee.json"), knee.to_string());
    }
    let json = place.call(&["trend", "nightly", "--json"]);
    assert_eq!(json.code(), Some(0), "{json:?}");
    let trend: Value = serde_json::from_str(&json.stdout).expect("JSON");
    let schema = unblink_artifact::schema::trend_knees_schema();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.iter_errors(&trend).next().is_none(), "{trend:#}");
    let changes = trend["changes"].as_array().expect("a list");
    assert!(changes.len() == 1 && changes[0]["at"] == 10, "{changes:?}");
    let change = changes[0]["change"].as_f64().expect("a share");
    assert!((-0.27..-0.23).contains(&change), "a quarter less: {change}");
    let text = place.call(&["trend", "nightly", "--svg", "trend.svg"]).stdout;
    assert!(text.contains("LOWER  The highest rate changed by −2") && text.contains("n11"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(place.text("trend.svg").matches("<circle").count(), 16);
    let few = place.call(&["trend", "nightly/n1", "nightly/n2"]).stdout;
    assert!(few.contains("TOO FEW SEARCHES"), "{few}");
    place.call(&["trend", "nightly", "--percentile", "p50"]).refused(&["--percentile", "leave it out"]);
    place.call(&["trend", "nightly", "latest"]).refused(&["\"latest\" holds no search"]);
    place.call(&["trend", "a", "b"]).refused(&["one series"]);
}

/// Nothing was measured, which is no answer; but that a rate is met there, a target that does not answer surely fails.
#[test]
fn a_target_that_fails_the_first_request_is_not_searched() {
    let server = Hostile::start(|_| Act::Answer(answer("500 Internal Server Error", "")));
    let place = Place::new();
    let url = server.url();
    for (out, more, code) in [("asked", &[][..], 3), ("at-least", &["--at-least", "50"], 1)] {
        let args = ["knee", &url, "--slo", "p99 < 50ms", "--json", "-o", out];
        let said = place.call(&[&args[..], more].concat());
        assert_eq!(said.code(), Some(code), "{said:?}");
        assert!(said.stderr.contains("the request before the run failed"), "{said:?}");
        let found = document(&said.stdout);
        assert_eq!((&found["status"], &found["refused"]["code"]), (&"refused".into(), &"preflight".into()));
    }
    let said = place.call(&["knee", &url, "--slo", "p99 < 50ms", "-o", "text"]);
    assert!(said.stdout.contains("did not answer the request before the first trial"), "{said:?}");
}
