//! `--warmup auto` and `--precision`: what they refuse, and a run of each.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile, ok};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

const URL: &str = "http://127.0.0.1:9/";

/// Nothing is connected to: the refusal comes first.
#[track_caller]
fn refused(args: &[&str], parts: &[&str]) {
    let place = Place::new();
    place.call(&[&["run", URL], args].concat()).refused(parts);
    assert_eq!(place.list("."), [""; 0], "a refused run leaves nothing behind");
}

#[test]
fn warm_ups_that_can_not_be() {
    refused(&["-R", "10", "--warmup", "soon"], &["\"soon\"", "500us", "or auto"]);
    refused(&["-R", "10", "--warmup", "auto", "-d", "19s"], &["at least 20 s", "19 s", "-d"]);
    refused(&["-R", "10", "--warmup", "auto", "-n", "50"], &["at least 20 s"]);
    refused(&["-R", "10..20", "--warmup", "auto"], &["one constant rate", "ramp"]);
    refused(&["-R", "10,20", "--warmup", "auto"], &["one constant rate", "steps"]);
}

#[test]
fn precisions_that_can_not_be() {
    let with = |args: &[&str], parts: &[&str]| refused(&[&["-R", "10"], args].concat(), parts);
    with(&["--precision", "0%"], &["\"0%\"", "more than 0% and less than 100%"]);
    with(&["--precision", "100%"], &["\"100%\"", "less than 100%"]);
    with(&["--precision", "-5%"], &["\"-5%\"", "more than 0%"]);
    with(&["--precision", "high"], &["\"high\"", "such as 5%"]);
    with(&["--precision", "5%", "--precision-of", "max"], &["\"max\"", "p50, p75"]);
    with(&["--precision-of", "p99"], &["--precision"]);
    with(&["--max-duration", "60s"], &["--precision"]);
    with(&["--precision", "5%", "-n", "100"], &["--precision", "--requests"]);
    with(&["--precision", "5%", "-d", "60s"], &["--precision", "--duration"]);
    with(
        &["--precision", "5%", "--max-duration", "30s"],
        &["--max-duration is 30 s", "30 s for the first time"],
    );
    with(&["--precision", "5%", "--warmup", "auto"], &["--warmup auto", "exclude each other"]);
    refused(&["--closed", "3", "--precision", "5%"], &["--precision", "--closed"]);
    refused(&["-R", "10..20", "--precision", "5%"], &["one constant rate", "ramp"]);
}

/// A target that needs 7 s to warm up.
#[test]
fn a_cold_start_is_left_out_and_the_folder_agrees() {
    let first: OnceLock<Instant> = OnceLock::new();
    let server = Hostile::start(move |_| {
        let cold = first.get_or_init(Instant::now).elapsed() < Duration::from_secs(7);
        std::thread::sleep(Duration::from_millis(if cold { 200 } else { 20 }));
        Act::Answer(ok())
    });
    let place = Place::new();
    let run = place.measure(&[&server.url(), "-R", "20", "-d", "32s", "--warmup", "auto", "--no-preflight"]);
    assert_eq!(run.at("/plan/warmup_auto"), true);
    let status = run.at("/transient/status").as_str().expect("a status").to_string();
    let report = place.call(&["report", "out", "--json"]).run();
    assert!(report.document == run.document, "the report says something else: {report:?} {run:?}");
    // A machine that stands still for a moment may make an event of it: then nothing is left out, and said so.
    let counted = run.at("/response_time/count").as_u64().expect("a count");
    if status == "left_out" {
        let left_out = run.at("/transient/arrivals/ok").as_u64().expect("a count");
        assert_eq!(counted + left_out, 640);
        assert!(run.at("/transient/response_time/max").as_u64() >= Some(200_000_000));
        assert_eq!(run.at("/series/load_from_ns"), run.at("/transient/to_ns"));
        let text = place.call(&["report", "out"]);
        assert!(text.stdout.contains("are left out as a transient"), "{text:?}");
    } else {
        assert_eq!(counted, 640);
    }
}

/// The goal is so wide that it is reached as soon as may be: found at 30 s, confirmed at a minute.
#[test]
fn a_run_ends_when_the_percentile_is_known() {
    let server = Hostile::start(|_| Act::Answer(ok()));
    let place = Place::new();
    let goal = ["--precision", "90%", "--precision-of", "p50", "--max-duration", "75s"];
    let started = place.start(&[&[server.url().as_str(), "-R", "50"][..], &goal].concat());
    // The patience with a command is a minute, and this one takes longer.
    std::thread::sleep(Duration::from_secs(25));
    let run = started.wait().run();
    run.assert_accounts();
    assert_eq!(run.at("/status"), "complete");
    assert_eq!(run.at("/plan/precision/minimum_ns"), 30_000_000_000_u64);
    let after = run.at("/precision/after_ns").as_u64().expect("a time");
    // On a machine that stands still for long the interval may be too wide all the way.
    if run.at("/precision/reached") == true {
        assert!((60_000_000_000..75_000_000_000).contains(&after), "{after}");
        assert!(run.at("/precision/share_found").as_f64() <= Some(0.9));
    } else {
        assert_eq!(after, 75_000_000_000);
    }
    let report = place.call(&["report", "out", "--json"]).run();
    assert!(report.document == run.document, "the report says something else: {report:?} {run:?}");
    let said = place.call(&["report", "out"]).stdout;
    assert!(said.contains("p50 was ") || said.contains("confirm that p50 is known"), "{said}");
}
