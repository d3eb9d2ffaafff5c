//! `--warmup auto`: what it refuses, and a run.

mod support;

use std::sync::OnceLock;
use std::time::{Duration, Instant};
use support::Place;
use support::hostile::{Act, Hostile, ok};

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
    assert_eq!(run.at("/load/warmup_auto"), true);
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
