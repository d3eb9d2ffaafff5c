//! Journeys through the binary: on a real server, in the virtual world, and refused where they make no sense.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile, answer, healthy, ok};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

const BUY: &str = "[[journeys]]\nname = \"buy\"\nthink = \"50ms\"\n[[journeys.steps]]\nname = \"search\"\nurl = \"/search\"\n\
                   repeat = \"2\"\n[[journeys.steps]]\nname = \"cart\"\nurl = \"/cart\"\nmethod = \"POST\"\n\
                   [[journeys.steps]]\nname = \"order\"\nurl = \"/order\"\n";

fn plan(load: &str) -> String {
    format!("[load]\n{load}\n{BUY}")
}

fn step<'a>(run: &'a Value, name: &str) -> &'a Value {
    let steps = run["journeys"][0]["steps"].as_array().expect("a list");
    steps.iter().find(|step| step["operation"] == name).unwrap_or_else(|| panic!("no {name}: {steps:?}"))
}

fn operation<'a>(run: &'a Value, name: &str) -> &'a Value {
    let all = run["operations"].as_array().expect("a list");
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name}: {all:?}"))
}

fn p50_ns(of: &Value) -> u64 {
    of["response_time"]["quantiles"][0]["value"].as_u64().expect("a figure")
}

#[test]
fn every_step_is_accounted_for_and_a_stall_shows_in_the_step_that_met_it() {
    let server = Hostile::start(|seen| match seen.target.as_str() {
        "/cart" => Act::AnswerAfter(Duration::from_millis(300), ok()),
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    place.file("plan.toml", plan("rate = 20\nduration = \"2s\""));
    let run = place.measure(&["plan.toml", &server.url(), "-t", "2"]);
    run.assert_accounts();
    let run = run.at("");
    let account =
        json!({"scheduled": 40, "completed": 40, "failed": 0, "timed_out": 0, "unfinished": 0, "unsent": 0});
    assert_eq!(run["journeys"][0]["account"], account);
    for (name, requests) in [("buy: search", 80), ("buy: cart", 40), ("buy: order", 40)] {
        let of = step(run, name);
        assert_eq!(
            (&of["entered"], &of["passed"], &of["requests"]),
            (&json!(40), &json!(40), &json!(requests))
        );
        assert_eq!(operation(run, name)["arrivals"]["scheduled"], requests, "{name}");
    }
    // One request was asked before the run.
    let asked = |target: &str| server.seen().iter().filter(|seen| seen.target == target).count();
    assert_eq!((asked("/search"), asked("/cart"), asked("/order")), (81, 40, 40));
    assert!(p50_ns(operation(run, "buy: cart")) >= 300_000_000);
    assert!(p50_ns(operation(run, "buy: order")) < 200_000_000, "thinking is no response time");
    // Three times 50 ms of thinking, and the stall.
    let time = &run["journeys"][0]["time"];
    assert!(time["quantiles"][0]["value"].as_u64() >= Some(450_000_000), "{time}");
    assert_eq!(
        run["rate"]["offered"].as_f64().map(|rate| rate > 60.0 && rate <= 80.0),
        Some(true),
        "{}",
        run["rate"]
    );
    // A folder read again says the same.
    let again: Value = serde_json::from_str(&place.call(&["report", "out", "--json"]).stdout).expect("JSON");
    assert_eq!(again["journeys"], run["journeys"]);
    assert_eq!(again["arrivals"], run["arrivals"]);
}

#[test]
fn a_failed_step_ends_its_journey() {
    let server = Hostile::start(|seen| match seen.target.as_str() {
        "/cart" => Act::Answer(answer("500 Oops", "")),
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    place.file("plan.toml", plan("rate = 50\nduration = \"1s\""));
    let run = place.measure(&["plan.toml", &server.url()]);
    let run = run.at("");
    assert_eq!(run["journeys"][0]["account"]["failed"], 50, "{}", run["journeys"]);
    assert_eq!(step(run, "buy: cart")["failed"], 50);
    assert_eq!(step(run, "buy: order")["entered"], 0);
    assert_eq!(operation(run, "buy: order")["arrivals"]["scheduled"], 0);
    assert_eq!(run["journeys"][0]["failures"], json!({"status_5xx": 50}));
}

#[test]
fn requests_and_journeys_share_one_mix_in_the_virtual_world() {
    let place = Place::new();
    let load = "rate = 400\nduration = \"10s\"\nwarmup = \"1s\"";
    let shares = BUY.replace("name = \"buy\"", "name = \"buy\"\nshare = \"10%\"");
    let alone = "[[requests]]\nshare = \"90%\"\nname = \"items\"\nurl = \"/items\"\n";
    place.file("plan.toml", format!("[load]\n{load}\n{alone}{shares}[world]\nserver = \"service=10ms\"\n"));
    let run = place.call(&["sim", "plan.toml", "-o", "out", "--json"]);
    assert_eq!(run.code(), Some(0), "{run:?}");
    let run: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(run["validity"]["status"], "valid", "{}", run["validity"]);
    assert_eq!(run["journeys"][0]["account"]["scheduled"], 400);
    assert_eq!(operation(&run, "items")["arrivals"]["scheduled"], 3_600);
    let quantiles = &run["journeys"][0]["time"]["quantiles"];
    // 10 + 60 + 60 + 60 ms, within what a bin is wide.
    let p50 = quantiles[0]["value"].as_f64().expect("a figure");
    assert!((p50 / 190e6 - 1.0).abs() < 0.002, "{quantiles}");
    let text = place.call(&["report", "out"]).stdout;
    assert!(text.contains("Journeys") && text.contains("buy: cart"), "{text}");
    let page = place.text("out/report.html");
    assert!(page.contains("Journey times"));
}

#[test]
fn what_makes_no_sense_is_refused_at_its_place() {
    let place = Place::new();
    let refused = |name: &str, text: String, args: &[&str], part: &str| {
        place.file(name, text);
        let said = place.call(args);
        assert_eq!(said.code(), Some(2), "{said:?}");
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    };
    let target = "target = \"http://127.0.0.1:9/\"\n";
    let of = |load: &str| format!("{target}{}", plan(load));
    let check = ["plan", "check", "plan.toml"];
    refused("plan.toml", of("closed = 3"), &check, "can't run with --closed");
    refused("plan.toml", of("rate = 3\nprecision = \"5%\""), &check, "--precision");
    refused("plan.toml", of("rate = 3\nwarmup = \"auto\""), &check, "cut through journeys");
    refused("plan.toml", of("rate = 30\nmax-rate = 100"), &check, "120/s");
    refused("plan.toml", of("rate = 3").replace("\"50ms\"", "\"soon\""), &check, "is not a think time");
    refused("plan.toml", of("rate = 3").replace("repeat = \"2\"", "chance = \"20%\""), &check, "first step");
    refused("plan.toml", of("rate = 3").replace("\"cart\"", "\"search\""), &check, "same name");
    refused(
        "plan.toml",
        format!("{target}[load]\nrate = 3\n[[journeys]]\nname = \"x\"\n"),
        &check,
        "has no steps",
    );
    refused("plan.toml", of("rate = 3\njourneys-max = 0"), &check, "0 would do nothing");
}

#[test]
fn a_plan_with_journeys_is_shown_as_it_is_read() {
    let place = Place::new();
    place.file("plan.toml", plan("rate = 3"));
    for form in ["toml", "yaml"] {
        let shown = place.call(&["plan", "show", "plan.toml", "--as", form]).stdout;
        let name = format!("again.{form}");
        place.file(&name, &shown);
        let json = |name: &str| place.call(&["plan", "show", name, "--as", "json"]).stdout;
        assert_eq!(json(&name), json("plan.toml"), "{shown}");
    }
}

/// By journey: the keys that its two requests ask for.
fn keys_of_journeys(inserts: &str, threads: &str) -> BTreeMap<u64, Vec<u64>> {
    let (server, place) = (healthy(), Place::new());
    // Nearly always the newest key is asked for, and 15 more are inserted while a journey thinks.
    place.file(
        "plan.toml",
        format!(
            "[load]\nrate = 100\nduration = \"2s\"\nseed = 3\n\
             [let]\nkey = \"latest(10, s=10, inserts={inserts})\"\nj = \"sequential\"\n\
             [[requests]]\nweight = 1\nname = \"put\"\nurl = \"/put\"\nmethod = \"POST\"\ninserts = true\n\
             [[journeys]]\nweight = 1\nname = \"get\"\nthink = \"300ms\"\n\
             [[journeys.steps]]\nurl = \"/a/{{{{j}}}}/{{{{key}}}}\"\n\
             [[journeys.steps]]\nurl = \"/b/{{{{j}}}}/{{{{key}}}}\"\n"
        ),
    );
    let run = place.measure(&["plan.toml", &server.url(), "-t", threads, "--no-preflight"]);
    run.assert_all("ok");
    if inserts == "expected" {
        let args = ["sim", "plan.toml", "--server", "service=1ms", "--json", "-o", "simulated"];
        let simulated = place.call(&args).run();
        assert_eq!(simulated.at("/values_sent"), run.at("/values_sent"));
    }
    // What is said before a load tells how long is waited behind it.
    let summary = run.at("/plan/summary").as_str().expect("a text");
    assert!(summary.contains(", then up to ") && summary.contains(" for journeys under way"), "{summary}");
    let mut all: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for seen in server.seen().iter().filter(|seen| seen.method == "GET") {
        let parts: Vec<u64> = seen.target.split('/').filter_map(|part| part.parse().ok()).collect();
        all.entry(parts[0]).or_default().push(parts[1]);
    }
    all
}

#[test]
fn the_requests_of_a_journey_ask_for_one_newest_key() {
    let one = keys_of_journeys("expected", "1");
    let is_one_key = |all: &BTreeMap<u64, Vec<u64>>| {
        assert_eq!(all.len(), 100);
        assert!(all.values().all(|keys| keys.len() == 2 && keys[0] == keys[1]), "{all:?}");
        assert!(all.values().flatten().any(|key| *key > 50), "new keys are drawn, too: {all:?}");
    };
    is_one_key(&one);
    assert_eq!(keys_of_journeys("expected", "3"), one);
    // What has ended by then is another run's own, and still the same for both requests.
    is_one_key(&keys_of_journeys("acknowledged", "3"));
}

/// Who reads a document of a whole run relies on its accounts.
#[test]
fn a_document_whose_journeys_do_not_add_up_is_refused() {
    let server = Hostile::start(|seen| match seen.target.as_str() {
        "/b" if seen.header("x-n").is_some_and(|n| n.ends_with('3')) => {
            Act::Answer(answer("500 Internal Server Error", ""))
        }
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    place.file(
        "plan.toml",
        "[load]\nrate = 100\nduration = \"1s\"\n[let]\nn = \"sequential\"\n[[journeys]]\nname = \"j\"\n\
         [[journeys.steps]]\nname = \"a\"\nurl = \"/a\"\nrepeat = \"1..2\"\nexit = \"20%\"\n\
         [[journeys.steps]]\nname = \"b\"\nurl = \"/b\"\nheader = [\"X-N: {{n}}\"]\nredirects = 1\n\
         [[journeys.steps]]\nname = \"c\"\nurl = \"/c\"\nchance = \"50%\"\n",
    );
    let run = place.measure(&["plan.toml", &server.url(), "--no-preflight"]);
    run.assert_accounts();
    let whole: Value = run.document.clone();
    assert!(whole["journeys"][0]["account"]["failed"].as_u64() > Some(0), "{}", whole["journeys"]);
    let read = |document: &Value| {
        place.file("out/run.json", document.to_string());
        place.call(&["report", "out", "--json"])
    };
    assert_eq!(read(&whole).run().document["journeys"], whole["journeys"]);
    let step = "/journeys/0/steps";
    for (pointer, why) in [
        ("/journeys/0/account/scheduled".to_string(), "are scheduled"),
        ("/journeys/0/account/completed".to_string(), "are scheduled"),
        ("/journeys/0/account/exited".to_string(), "exited"),
        (format!("{step}/0/entered"), "came to step \"j: a\""),
        (format!("{step}/0/exited"), "came to step \"j: b\""),
        (format!("{step}/1/failed"), "came to step \"j: b\""),
        (format!("{step}/2/skipped"), "came to step \"j: c\""),
        (format!("{step}/1/thinking"), "came to step \"j: c\""),
        (format!("{step}/0/requests"), "requests at step \"j: a\""),
        (format!("{step}/1/requests"), "requests at step \"j: b\""),
        ("/operations/0/arrivals/ok".to_string(), "requests of \"j: a\" are scheduled"),
        ("/operations/1/arrivals/scheduled".to_string(), "requests of \"j: b\" are scheduled"),
        ("/operations/1/failures/status_5xx".to_string(), "requests of \"j: b\" failed"),
    ] {
        let mut other = whole.clone();
        let parent = pointer.rsplit_once('/').expect("a path");
        let parent = other.pointer_mut(parent.0).map(|of| &mut of[parent.1]).expect("a figure");
        *parent = json!(parent.as_u64().unwrap_or(0) + 1);
        read(&other).refused(&[why, "run.json"]);
    }
    // One more than there are left behind a step that nobody passed so often.
    let mut other = whole.clone();
    let passed = other.pointer(&format!("{step}/0/passed")).and_then(Value::as_u64).expect("a figure");
    *other.pointer_mut(&format!("{step}/0/exited")).expect("a figure") = json!(passed + 1);
    read(&other).refused(&["after it"]);
}
