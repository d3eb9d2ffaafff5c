//! The stages of a plan, one after the other: one document, one page, one exit code.

use crate::support::lab::Lab;
use crate::support::{Place, Started};
use rustix::process::Signal;
use serde_json::Value;

const WORLD: &str = "[world]\nserver = \"slots=5 service=10ms\"\n";
const SEARCH: &str = "[load]\narrivals = \"even\"\n[objectives]\nslo = \"p99 < 200ms\"\n[search]\nstart = 100\nmax = 800\n\
                      measure = \"4s\"\nmeasure-max = \"8s\"\nsettle = \"1s\"\n";
const KNEE: &str = "[[stages]]\nkind = \"knee\"\n";

fn hold(rate: &str) -> String {
    format!("[[stages]]\nkind = \"hold\"\nrate = \"{rate}\"\nduration = \"5s\"\n")
}

fn document(place: &Place, folder: &str) -> Value {
    let text = std::fs::read_to_string(place.path().join(folder).join("signoff.json")).expect("a document");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn later_stages_go_by_the_knee_and_the_worst_is_the_exit_code() {
    let place = Place::new();
    // 5 slots of 10 ms serve 500 a second.
    let plan = format!("{SEARCH}{WORLD}{KNEE}{}{}", hold("75% of knee"), hold("150% of knee"));
    place.file("plan.toml", plan);
    let said =
        place.call(&["signoff", "plan.toml", "--simulate", "--json", "-o", "out", "--junit", "tests.xml"]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    let found: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_eq!(found, document(&place, "out"));
    let schema = place.call(&["schema", "signoff"]).stdout;
    let schema = jsonschema::validator_for(&serde_json::from_str(&schema).expect("JSON")).expect("a schema");
    assert!(schema.is_valid(&found), "{:?}", schema.iter_errors(&found).next());
    let knee = found["stages"][0]["knee"]["knee_per_s"].as_f64().expect("a knee");
    assert!((450.0..=525.0).contains(&knee), "{knee}");
    let verdicts: Vec<&str> =
        found["stages"].as_array().unwrap().iter().filter_map(|stage| stage["verdict"].as_str()).collect();
    assert_eq!((verdicts, &found["verdict"]), (vec!["pass", "pass", "fail"], &"fail".into()));
    let offered = found["stages"][1]["run"]["offered_per_s"].as_f64().expect("a rate");
    assert!((offered - 0.75 * knee).abs() < 0.5, "{offered} of {knee}");
    // Each stage is an ordinary record, and the page holds all of them.
    for folder in ["01-knee", "02-hold", "03-hold"] {
        assert!(place.path().join("out").join(folder).join("report.html").is_file(), "{folder}");
    }
    let report = place.call(&["report", "out/02-hold"]);
    assert_eq!(report.code(), Some(0), "{report:?}");
    let command: Vec<&str> =
        found["stages"][1]["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(&command[..3], ["unblink", "sim", "plan.toml"]);
    let page = std::fs::read_to_string(place.path().join("out/report.html")).expect("a page");
    assert!(page.contains("document-stage-1") && page.contains("document-stage-3"), "embedded");
    assert!(!page.contains("http-equiv=\"refresh\"") && !page.contains("<link rel=\"stylesheet\""));
    let xml = std::fs::read_to_string(place.path().join("tests.xml")).expect("JUnit");
    assert_eq!(xml.matches("<testsuite ").count(), 3, "{xml}");
    // What has ended is not done again.
    let again = place.call(&["signoff", "plan.toml", "--simulate", "--resume", "out"]);
    assert!(again.code() == Some(1) && again.stderr.contains("3 finished stages taken over"), "{again:?}");
    assert!(!again.stderr.contains("begins"), "{again:?}");
}

#[test]
fn without_a_knee_its_stages_are_not_run() {
    let place = Place::new();
    // No rate meets an objective below the service time.
    let plan =
        format!("{}{WORLD}{KNEE}{}{}", SEARCH.replace("200ms", "5ms"), hold("75% of knee"), hold("50"));
    place.file("plan.toml", plan);
    let said = place.call(&["signoff", "plan.toml", "--simulate", "-o", "out"]);
    let found = document(&place, "out");
    assert_eq!(said.code(), Some(1), "the run at a rate of its own misses: {said:?}");
    let status = |place: usize| found["stages"][place]["status"].as_str().unwrap_or_default();
    assert_eq!([status(0), status(1), status(2)], ["ended", "not_run", "ended"]);
    assert!(said.stdout.contains("found no knee"), "{said:?}");
    let said = place.call(&["signoff", "plan.toml", "--simulate", "-o", "fast", "--fail-fast"]);
    assert!(said.code() == Some(3) && said.stdout.contains("--fail-fast"), "{said:?}");
}

#[test]
fn what_is_wrong_with_a_stage_is_shown_in_the_plan() {
    let place = Place::new();
    let refused = |stages: &str, parts: &[&str]| {
        place.file(
            "plan.toml",
            format!("target = \"http://127.0.0.1:9/\"\n[objectives]\nslo = \"p99 < 1s\"\n{stages}"),
        );
        place.call(&["signoff", "plan.toml", "-o", "out"]).refused(parts);
        let checked = place.call(&["plan", "check", "plan.toml"]);
        assert!(
            checked.code() == Some(2) && parts.iter().all(|part| checked.stderr.contains(part)),
            "{checked:?}"
        );
        assert!(!place.path().join("out").exists());
    };
    refused(&hold("75% of knee"), &["plan.toml:6:8", "no stage before this one looks for the knee"]);
    refused("[[stages]]\nkind = \"hold\"\n", &["plan.toml:4:1", "no rate"]);
    refused("[[stages]]\nkind = \"hodl\"\n", &["plan.toml:5:8", "hold"]);
    refused(
        "[[stages]]\nkind = \"knee\"\nduration = \"5s\"\n",
        &["plan.toml:6:12", "a stage of kind knee has no duration"],
    );
    refused(&format!("{KNEE}{}", hold("75% of the knee")), &["plan.toml:8:8", "not a rate of a stage"]);
    refused("[[stages]]\nrate = 5\n", &["plan.toml:4:1", "this stage has no kind"]);
    refused("[[stages]]\nkind = \"spike\"\nrate = 50\n", &["plan.toml:6:8"]);
    let shape = format!("[load]\nshape = \"soak\"\n{}", hold("5"));
    refused(&shape, &["plan.toml:5:9", "contradicts [[stages]]"]);
    place.file("none.toml", "target = \"http://127.0.0.1:9/\"\n");
    place.call(&["signoff", "none.toml"]).refused(&["no [[stages]]"]);
    place.call(&["signoff", "http://127.0.0.1:9/"]).refused(&["is not a plan"]);
}

#[test]
fn a_dry_run_says_what_would_run_and_sends_nothing() {
    let place = Place::new();
    let target = "target = \"http://127.0.0.1:9/\"\n";
    place.file("plan.toml", format!("{target}{SEARCH}within = \"2m\"\n{KNEE}{}", hold("75% of knee")));
    let said = place.call(&["signoff", "plan.toml", "--dry-run"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    for part in ["1. knee  a search", "2. hold  75% of knee for 5 s", "2 min 05 s of load in all."] {
        assert!(said.stdout.contains(part), "{part}: {said:?}");
    }
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{said:?}");
    let shown = place.call(&["plan", "show", "plan.toml"]);
    assert!(shown.stdout.contains("2. hold  75% of knee for 5 s"), "{shown:?}");
    assert!(
        shown.stdout.contains("[[stages]]\nduration = \"5s\"\nkind = \"hold\"\nrate = \"75% of knee\""),
        "{shown:?}"
    );
    assert!(!place.path().join("unblink-signoff").exists());
}

#[test]
fn an_interrupted_sign_off_goes_on() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy"]);
    let stages = format!("{}{}", hold("20"), hold("30").replace("5s", "4s"));
    place.file(
        "plan.toml",
        format!("target = \"{}\"\n[objectives]\nslo = \"errors < 5%\"\n{stages}", lab.url),
    );
    let mut run = Started::spawn(&mut place.command(&["signoff", "plan.toml", "-o", "out", "--no-store"]));
    let path = place.path().join("out/02-hold/intervals.jsonl");
    while std::fs::read_to_string(&path).unwrap_or_default().lines().count() < 2 {
        assert!(run.is_running(), "it ended before the second stage had an interval");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    run.signal(Signal::INT);
    let said = run.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    let found = document(&place, "out");
    assert_eq!(
        (&found["status"], &found["stages"][1]["status"]),
        (&"interrupted".into(), &"interrupted".into())
    );
    assert!(said.stderr.contains("--resume out"), "{said:?}");
    // Another plan is another sign-off.
    place.file(
        "other.toml",
        format!("target = \"{}\"\n[objectives]\nslo = \"errors < 6%\"\n{stages}", lab.url),
    );
    place.call(&["signoff", "other.toml", "--resume", "out"]).refused(&["another plan"]);
    let again = place.call(&["signoff", "plan.toml", "--resume", "out", "--no-store"]);
    let found = document(&place, "out");
    assert_eq!(found["status"], "complete", "{again:?}");
    assert_eq!(found["stages"][0]["folder"], "01-hold");
    assert_eq!(found["stages"][1]["folder"], "02-hold-2", "the second was run anew");
    assert!(again.code() == Some(0) || found["verdict"] == "inconclusive", "{again:?}");
}

/// What is left where the process ends during the search: a journal that is cut off, and a document that says that it runs.
#[test]
fn an_interrupted_search_goes_on_with_its_trials() {
    let place = Place::new();
    place.file("plan.toml", format!("{SEARCH}{WORLD}{KNEE}{}", hold("75% of knee")));
    let said = place.call(&["signoff", "plan.toml", "--simulate", "-o", "whole", "--no-store"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let whole = document(&place, "whole");
    let journal = place.text("whole/01-knee/knee.jsonl");
    assert!(journal.lines().count() > 5, "more than four trials: {journal}");
    let cut: usize = journal.lines().take(4).map(|line| line.len() + 1).sum::<usize>() + 40;
    place.file("cut/01-knee/knee.jsonl", &journal[..cut]);
    let mut left = whole.clone();
    left["status"] = "running".into();
    left["verdict"] = Value::Null;
    for (number, status) in [(0, "running"), (1, "planned")] {
        let stage = &mut left["stages"][number];
        stage["status"] = status.into();
        ["verdict", "exit_code", "knee", "run"].into_iter().for_each(|one| stage[one] = Value::Null);
    }
    left["stages"][1]["folder"] = Value::Null;
    place.file("cut/signoff.json", left.to_string());

    let said = place.call(&["signoff", "plan.toml", "--simulate", "--resume", "cut", "--no-store"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(said.stderr.contains("3 finished trials taken over"), "{said:?}");
    let found = document(&place, "cut");
    assert_eq!((&found["status"], &found["verdict"]), (&"complete".into(), &"pass".into()));
    assert_eq!(found["stages"][0]["folder"], "01-knee", "in its place");
    assert_eq!(found["stages"][0]["knee"], whole["stages"][0]["knee"]);
    assert_eq!(found["stages"][1]["rate"], whole["stages"][1]["rate"]);
    assert_eq!(
        place.text("cut/01-knee/knee.jsonl").lines().count(),
        journal.lines().count(),
        "no trial was made twice"
    );
}

#[test]
fn what_can_not_be_begun_is_wrong_usage() {
    let place = Place::new();
    // Public, and nobody has allowed it.
    let plan = format!("target = \"http://192.0.2.1/\"\n{}{}", hold("20"), hold("30"));
    place.file("plan.toml", plan);
    place
        .call(&["signoff", "plan.toml", "-q", "-o", "out", "--no-store"])
        .refused(&["192.0.2.1", "unblink allow"]);
    assert!(!place.path().join("out").exists());
    place.call(&["signoff", "plan.toml", "-q", "--no-store"]).refused(&["unblink allow"]);
    assert!(!place.path().join("unblink-signoff").exists());
    // What somebody else has put there stays.
    std::fs::create_dir(place.path().join("mine")).expect("a folder");
    place.call(&["signoff", "plan.toml", "-q", "-o", "mine", "--no-store"]).refused(&["unblink allow"]);
    assert!(place.path().join("mine").is_dir() && place.list("mine").is_empty());
}

#[test]
fn a_guard_stops_all_that_follow() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy"]);
    let stages = format!("{}{}", hold("20"), hold("30"));
    let plan = format!("target = \"{}\"\n[guards]\nbudget-requests = 10\n{stages}", lab.url);
    place.file("plan.toml", plan);
    let said = place.call(&["signoff", "plan.toml", "-o", "out", "--no-store"]);
    assert_eq!(said.code(), Some(3), "{said:?}");
    let found = document(&place, "out");
    assert_eq!(found["stages"][1]["status"], "not_run", "{said:?}");
    assert!(!place.path().join("out/02-hold").exists());
}
