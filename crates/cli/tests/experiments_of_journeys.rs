//! Searches and comparisons of journeys: by their own times, in virtual time and on a real server.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile, answer, ok};
use serde_json::Value;
use std::time::Duration;

/// Two requests with a tenth of a second of thinking between them.
const BUY: &str = "[[journeys]]\nname = \"buy\"\nthink = \"100ms\"\n[[journeys.steps]]\nname = \"cart\"\nurl = \"/cart\"\n\
                   [[journeys.steps]]\nname = \"order\"\nurl = \"/order\"\n";

fn plan(place: &Place, head: &str) {
    place.file("plan.toml", format!("{head}\n{BUY}"));
}

fn document(stdout: &str, schema: &Value) -> Value {
    let document: Value = serde_json::from_str(stdout).unwrap_or_else(|_| panic!("JSON: {stdout}"));
    let validator = jsonschema::validator_for(schema).expect("a valid schema");
    let complaints: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    document
}

/// Five slots of 10 ms carry 500 requests a second, and each journey has two.
#[test]
fn a_search_finds_how_many_journeys_a_target_carries() {
    let place = Place::new();
    plan(
        &place,
        "[world]\nserver = \"slots=5 service=10ms\"\n[objectives]\nslo = [\"buy: p95 < 200ms\"]\n\
         [search]\nsettle = \"2s\"\nstart = 100\n",
    );
    let run = place.call(&["knee", "plan.toml", "--arrivals", "even", "--json", "-o", "out"]);
    assert_eq!(run.code(), Some(0), "{run:?}");
    assert!(run.stderr.contains("journeys under way are waited for, up to"), "{run:?}");
    let found = document(&run.stdout, &unblink_artifact::schema::knee_schema());
    let rate = found["answer"]["rate_per_s"].as_f64().expect("a rate");
    assert!((243.0..=255.0).contains(&rate), "{rate}");
    assert_eq!(
        (&found["question"]["operation"], &found["question"]["has_journeys"]),
        (&"buy".into(), &true.into())
    );
    for trial in found["trials"].as_array().expect("trials") {
        let of = |part: &str| trial["rate"][part].as_f64().expect("a number");
        let (rate, offered) =
            (of("requests") / of("seconds"), trial["offered_per_s"].as_f64().expect("a rate"));
        if rate > 240.0 {
            continue;
        }
        assert!((offered / rate - 2.0).abs() < 0.1, "requests are offered, and a journey has two: {trial}");
        let p95 = trial["percentile_ns"].as_u64().expect("a figure");
        assert!((120_000_000..135_000_000).contains(&p95), "{trial}");
    }
    let again = place.call(&["knee", "plan.toml", "--arrivals", "even", "--json", "--resume", "out"]);
    assert_eq!(document(&again.stdout, &unblink_artifact::schema::knee_schema())["answer"], found["answer"]);
}

#[test]
fn what_a_search_can_not_do_with_journeys_is_said() {
    let place = Place::new();
    let world = "[world]\nserver = \"slots=5 service=10ms\"\n[search]\nstart = 100\n";
    plan(&place, world);
    let refused = |args: &[&str]| {
        let run = place.call(&[&["knee", "plan.toml"], args].concat());
        assert_eq!(run.code(), Some(2), "{run:?}");
        run.stderr
    };
    let said = refused(&["--slo", "buy: p95 < 200ms", "--settle", "50ms"]);
    assert!(said.contains("thinks for 100 ms on average") && said.contains("--settle 1s"), "{said}");
    let said = refused(&["--slo", "pay: p95 < 200ms"]);
    assert!(said.contains("no request or journey is called \"pay\"") && said.contains("buy"), "{said}");
    // Two requests each: the cap is on requests, and --max on what begins.
    place.file("plan.toml", format!("[load]\nmax-rate = 100\n{world}{BUY}"));
    let said = refused(&["--slo", "buy: p95 < 200ms", "--max", "51"]);
    assert!(said.contains("above the highest rate that may be offered, 50/s"), "{said}");
}

/// What is measured ends long before the journeys do: half a second is measured of none of them.
#[test]
fn a_search_waits_for_the_journeys_that_are_under_way() {
    let server = Hostile::start(|seen| match seen.target.as_str() {
        "/order" => Act::AnswerAfter(Duration::from_millis(600), ok()),
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    plan(&place, "");
    let search = [
        "--at-least",
        "20",
        "--start",
        "20",
        "--max",
        "20",
        "--settle",
        "1s",
        "--measure",
        "4s",
        "--measure-max",
        "4s",
        "--rest",
        "0s",
        "--arrivals",
        "even",
        "--json",
    ];
    let judged = |slo: &str, folder: &str| {
        let run = place
            .call(&[&["knee", "plan.toml", &server.url(), "--slo", slo, "-o", folder], &search[..]].concat());
        (run.code(), document(&run.stdout, &unblink_artifact::schema::knee_schema()))
    };
    let (code, met) = judged("buy: p50 < 2s", "met");
    assert_eq!(code, Some(0), "{met}");
    let p50 = met["trials"][0]["percentile_ns"].as_u64().expect("a figure");
    assert!(p50 >= 700_000_000, "a journey takes its two answers and the thinking: {p50}");
    let (code, missed) = judged("buy: p50 < 500ms", "missed");
    assert_eq!(code, Some(1), "{missed}");
    // Requests themselves are fast enough for this.
    assert_eq!(missed["trials"][0]["verdict"], "percentile", "{missed}");
}

fn lines<'a>(document: &'a Value, quantity: &str) -> Vec<&'a Value> {
    let lines = document["journeys"][0]["lines"].as_array().expect("lines");
    lines.iter().filter(|line| line["quantity"] == quantity).collect()
}

#[test]
fn a_comparison_has_journeys_beside_requests() {
    let place = Place::new();
    plan(
        &place,
        "[load]\nrate = 20\nduration = \"10s\"\n[world]\nserver = \"service=exp(10ms)\"\n\
         candidate-server = \"service=exp(30ms)\"\n",
    );
    let schema = unblink_artifact::schema::compare_schema();
    let run = place.call(&["compare", "plan.toml", "--json", "-o", "out"]);
    let found = document(&run.stdout, &schema);
    assert_eq!((run.code(), &found["journeys"][0]["name"]), (Some(1), &"buy".into()), "{run:?}");
    let p50 = lines(&found, "percentile")[0];
    let of = |side: &str| p50[side].as_f64().expect("a figure");
    assert!(of("baseline") > 1.1e8 && of("candidate") > of("baseline") + 1e7, "{p50}");
    assert!(p50["low"].as_f64().expect("an end") > 0.0 && p50["high"].is_number(), "{p50}");
    assert_eq!(p50["decides"], false);
    assert_eq!(lines(&found, "errors")[0]["baseline"], 0.0);
    let shown = place.call(&["compare", "out/baseline", "out/candidate"]);
    assert!(shown.stdout.contains("by journey time, from the intended start"), "{}", shown.stdout);
    // Of the journey alone: its thinking is in it, so the change is smaller than that of the requests.
    let alone =
        ["compare", "out/baseline", "out/candidate", "--request", "buy", "--percentile", "p50", "--json"];
    let alone = document(&place.call(&alone).stdout, &schema);
    assert_eq!((&alone["outcome"], &alone["journeys"]), (&"regression".into(), &Value::Null), "{alone}");
    let decides = alone["lines"].as_array().and_then(|all| all.iter().find(|line| line["decides"] == true));
    let decides = decides.expect("a line");
    assert_eq!((&decides["baseline"], &decides["change"]), (&p50["baseline"], &p50["change"]));
    let unknown = place.call(&["compare", "out/baseline", "out/candidate", "--request", "sell"]);
    assert!(
        unknown.code() == Some(2) && unknown.stderr.contains("no request or journey called"),
        "{unknown:?}"
    );
    assert!(unknown.stderr.contains("buy: cart") && unknown.stderr.contains("order, buy"), "{unknown:?}");
}

#[test]
fn what_is_wrong_with_a_plan_is_said_once_for_both_sides() {
    let place = Place::new();
    let journey = BUY.replace("url = \"/cart\"", "url = \"/cart\"\nchance = \"50%\"");
    place.file("plan.toml", format!("[load]\nrate = 1\nduration = \"1s\"\n{journey}"));
    let said = place.call(&["compare", "plan.toml", "http://127.0.0.1:9", "http://127.0.0.1:10"]);
    assert_eq!(
        (said.code(), said.stderr.matches("begins with its first step").count()),
        (Some(2), 1),
        "{said:?}"
    );
}

#[test]
fn real_targets_are_compared_by_journeys() {
    let slow = Hostile::start(|_| Act::AnswerAfter(Duration::from_millis(100), ok()));
    let fast = Hostile::start(|_| Act::Answer(answer("200 OK", "fine")));
    let place = Place::new();
    plan(&place, "[load]\nrate = 20\nduration = \"1s\"\n");
    let run =
        place.call(&["compare", "plan.toml", &fast.url(), &slow.url(), "--runs", "1", "--json", "-o", "out"]);
    assert_eq!(run.code(), Some(0), "{run:?}");
    let found = document(&run.stdout, &unblink_artifact::schema::compare_schema());
    let p50 = lines(&found, "percentile")[0];
    assert!(p50["baseline"].as_f64().expect("a figure") >= 1e8, "{p50}");
    assert!(p50["candidate"].as_f64().expect("a figure") >= 3e8, "{p50}");
    // Each side was asked for its own steps.
    for server in [&slow, &fast] {
        let asked = |target: &str| server.seen().iter().filter(|seen| seen.target == target).count();
        assert_eq!((asked("/cart"), asked("/order")), (21, 20));
    }
}
