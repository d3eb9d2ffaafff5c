//! Objectives through the binary: verdicts, exit codes, and files for build servers.

use crate::support::lab::Lab;
use crate::support::{Place, finish};
use serde_json::Value;

/// `unblink sim` of a lab scenario with these flags; gives the exit code and the document.
fn sim(place: &Place, args: &[&str]) -> (Option<i32>, Value) {
    let said = place.call(&[&["sim", "--json", "-o", "out"], args].concat());
    let document = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    (said.code(), document)
}

fn statuses(document: &Value) -> Vec<&str> {
    let slos = document["verdict"]["slos"].as_array().expect("objectives");
    slos.iter().map(|slo| slo["status"].as_str().expect("a status")).collect()
}

const STALL: [&str; 2] = ["--scenario", "stall"];

#[test]
fn the_exit_code_is_the_verdict() {
    let with = |flags: &[&str]| {
        let place = Place::new();
        let (code, document) = sim(&place, &[&STALL[..], flags].concat());
        let report = place.call(&["report", "out"]).code();
        assert_eq!(code, report, "the report says what the run said: {flags:?}");
        (code, document["verdict"]["status"].as_str().map(String::from))
    };
    let said = |code, status: &str| (Some(code), Some(status.to_string()));
    assert_eq!(with(&[]), (Some(0), None));
    assert_eq!(with(&["--slo", "p90 < 50ms"]), said(0, "pass"));
    assert_eq!(with(&["--slo", "p90 < 50ms", "--slo", "p99 < 200ms"]), said(1, "fail"));
    // None of 60,000 failed: the true share may be 0.0064 %.
    let open = ["--slo", "p90 < 50ms", "--slo", "errors < 0.005%"];
    assert_eq!(with(&open), said(3, "inconclusive"));
    assert_eq!(with(&[&open[..], &["--on-inconclusive", "pass"]].concat()), said(0, "inconclusive"));
    assert_eq!(with(&[&open[..], &["--on-inconclusive", "fail"]].concat()), said(1, "inconclusive"));
    // What is missed outweighs what can't be told.
    assert_eq!(with(&[&open[..], &["--slo", "max < 1s"]].concat()), said(1, "fail"));
}

#[test]
fn a_low_rate_is_not_rounded_to_none() {
    let place = Place::new();
    let load = ["--server", "service=1ms", "-R", "100.5", "-d", "12s", "--slo", "achieved > 0.4/s"];
    let said = place.call(&[&["sim", "-o", "out"], &load[..]].concat());
    assert!(
        said.stdout.contains("open, 100.5/s, even") && said.stdout.contains("achieved is 100."),
        "{said:?}"
    );
}

#[test]
fn a_saved_run_is_judged_by_other_objectives() {
    let place = Place::new();
    assert_eq!(sim(&place, &[&STALL[..], &["--slo", "p90 < 50ms"]].concat()).0, Some(0));
    let report = |flags: &[&str]| {
        let said = place.call(&[&["report", "out", "--json"], flags].concat());
        let document: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
        (said.code(), document)
    };
    assert_eq!(report(&[]).0, Some(0));
    let (code, judged) = report(&["--slo", "p99 < 200ms"]);
    assert_eq!((code, statuses(&judged)), (Some(1), vec!["fail"]));
    assert_eq!(judged["verdict"]["slos"][0]["slo"], "p99 < 200ms");
    assert_eq!(report(&["--slo", "p99 < 2s"]).0, Some(0));
    let open = ["--slo", "errors < 0.005%"];
    assert_eq!(report(&open).0, Some(3));
    assert_eq!(report(&[&open[..], &["--on-inconclusive", "pass"]].concat()).0, Some(0));
    assert_eq!(report(&["--slo", "p99 < 200ms", "--to", "20s"]).0, Some(0), "before the stall");
    place.call(&["report", "out", "--slo", "cart: p99 < 1s"]).refused(&["no request is called \"cart\""]);
    // What the run was asked for stays.
    assert_eq!(report(&[]).1["verdict"]["slos"][0]["slo"], "p90 < 50ms");
}

#[test]
fn an_invalid_run_is_told_where_what_makes_it_invalid_can_not_decide_it() {
    let place = Place::new();
    let saturated = ["--scenario", "saturation", "--slo", "p99 < 200ms"];
    let (code, document) = sim(&place, &saturated);
    assert_eq!((code, &document["validity"]["status"]), (Some(1), &"invalid".into()));
    let slo = &document["verdict"]["slos"][0];
    assert_eq!(slo["status"], "fail");
    assert!(slo["value"].as_f64() > Some(1e9), "{slo}");
    // A longer run would have made them wait for longer.
    let place = Place::new();
    let met = ["--scenario", "saturation", "--slo", "p50 < 1h", "--on-inconclusive", "pass"];
    let (code, document) = sim(&place, &met);
    let slo = &document["verdict"]["slos"][0];
    assert_eq!((code, &slo["status"]), (Some(3), &"inconclusive".into()), "{slo}");
    let saturated = &document["validity"]["findings"][0];
    assert_eq!(saturated["may_have_moved"]["response_time"], "better", "{saturated}");
}

#[test]
fn windows_and_censored_values_through_the_folder() {
    let place = Place::new();
    let asked = ["p99 < 200ms in 80% of 10s", "p99 < 200ms in 90% of 10s", "p99 < 200ms in 100% of 20s"];
    let flags: Vec<&str> = asked.iter().flat_map(|slo| ["--slo", slo]).collect();
    let (code, document) = sim(&place, &[&STALL[..], &flags].concat());
    assert_eq!((code, statuses(&document)), (Some(1), vec!["pass", "fail", "fail"]));
    let windows = &document["verdict"]["slos"][0]["windows"];
    assert_eq!((&windows["good"], &windows["bad"], &windows["unknown"]), (&5.into(), &1.into(), &0.into()));

    // In the stall's second 500 arrivals time out at 500 ms: more than 500 ms is known, no more.
    let place = Place::new();
    let flags = ["--timeout", "500ms", "--slo", "max < 200ms", "--slo", "max < 10s", "--slo", "errors < 2%"];
    let (_, document) = sim(&place, &[&STALL[..], &flags].concat());
    assert_eq!(statuses(&document), ["fail", "inconclusive", "inconclusive"]);
    let max = &document["verdict"]["slos"][1];
    assert_eq!((&max["reason"], &max["is_lower_bound"]), (&"censored".into(), &true.into()));
    let again = place.call(&["report", "out", "--json"]);
    let again: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(again["verdict"], document["verdict"]);
}

#[test]
fn the_first_lines_say_it() {
    let place = Place::new();
    let said = place.call(&[&["sim", "-o", "out", "--slo", "p99 < 200ms"], &STALL[..]].concat());
    let lines: Vec<&str> = said.stdout.lines().collect();
    let at = |start: &str| lines.iter().position(|line| line.starts_with(start)).unwrap_or(usize::MAX);
    assert!(at("VALID") < at("FAIL") && at("FAIL") < at("Arrivals"), "{said:?}");
    assert!(said.stdout.contains("p99 < 200ms missed. p99 is 410 ms"), "{said:?}");
    let page = place.text("out/report.html");
    assert!(page.contains("class=\"objectives missed\""));
}

#[test]
fn build_servers_get_what_they_read() {
    let place = Place::new();
    let summary = place.file("step-summary", "before\n");
    let flags = ["--slo", "p99 < 200ms", "--slo", "p50 < 1s", "--junit", "junit.xml", "--summary", "github"];
    let args = [&["sim", "-o", "out"], &STALL[..], &flags].concat();
    let said = finish(place.command(&args).env("GITHUB_STEP_SUMMARY", &summary));
    assert_eq!(said.code(), Some(1));
    assert!(said.stderr.contains("::error title=unblink%3A p99 < 200ms::p99 is 410"), "{said:?}");
    let written = place.text("step-summary");
    assert!(
        written.starts_with("before\n### ") && written.contains("**FAIL** 1 of 2 objectives met"),
        "{written}"
    );
    let junit = place.text("junit.xml");
    assert!(junit.contains("tests=\"3\" failures=\"1\" errors=\"0\""), "{junit}");
    assert_eq!((junit.matches("<testcase ").count(), junit.matches("</testcase>").count()), (3, 3));

    let mut outside = place.command(&["report", "out", "--summary", "github"]);
    finish(outside.env_remove("GITHUB_STEP_SUMMARY")).refused(&["GITHUB_STEP_SUMMARY"]);
    place.call(&["report", "out", "--summary", "s.md", "--junit", "-"]);
    assert!(place.text("s.md").starts_with("### "));
    place.call(&["report", "out", "--json", "--junit", "-"]).refused(&["standard output"]);
}

#[test]
fn what_is_not_understood_is_refused_where_it_is_wrong() {
    let place = Place::new();
    let run = |flags: &[&str]| place.call(&[&["run", "http://127.0.0.1:9/", "-R", "10"], flags].concat());
    run(&["--slo", "p99 < 200"]).refused(&["at character 7", "no unit"]);
    run(&["--slo", "p99 > 200ms"]).refused(&["write `p99 <= 200ms`"]);
    run(&["--abort-on", "p99 > 2s"]).refused(&["how long must it hurt"]);
    run(&["--slo", "cart: p99 < 1s"]).refused(&["no request is called \"cart\"", "GET /"]);
    place.call(&["sim", "--scenario", "stall", "--slo", "a: p99 < 1s"]).refused(&["leave the name out"]);
}

/// Each answer takes 300 ms, so that what hurts does so in every second.
#[test]
fn a_run_that_hurts_is_stopped_and_what_was_measured_is_kept() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy", "--baseline", "300ms"]);
    let rule = "p50 > 100ms for 1s";
    let flags = ["-R", "50", "-d", "30s", "--abort-on", rule, "--slo", "p50 < 10s"];
    let run = place.measure(&[&[lab.url.as_str()], &flags[..]].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(run.at("/status"), "aborted");
    assert_eq!(run.at("/aborted/rule"), rule);
    assert!(run.has_finding("aborted"));
    run.assert_accounts();
    assert_eq!(run.arrivals("scheduled"), 1_500, "to the planned end");
    assert!(run.arrivals("ok") >= 50 && run.withheld() > 500, "{run:?}");
    assert_eq!(run.at("/verdict/slos/0/reason"), "withheld", "no objective is met by what was not finished");
    let report = place.call(&["report", "out"]);
    assert_eq!(report.code(), run.code);
    assert!(report.stdout.contains("because it hurt: p50 > 100ms for 1s"), "{report:?}");
}

/// A target that answers nothing has no response times yet, and hurts all the same.
#[test]
fn a_target_that_hangs_is_seen_to_hurt() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "stall", "--stall-at", "0s", "--stall-for", "6s"]);
    let flags = ["-R", "50", "-d", "30s", "--abort-on", "p99 > 500ms for 1s", "--drain", "20s"];
    let run = place.measure(&[&[lab.url.as_str()], &flags[..]].concat());
    assert_eq!((run.at("/status"), run.code), (&"aborted".into(), Some(1)), "{run:?}");
    assert!(run.number("/aborted/at_ns") < 6e9, "before the first answer: {run:?}");
}
