//! Journeys are judged as such: a run in which they fail does not pass because their requests are fine.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile, Seen, answer};
use serde_json::{Value, json};

/// An order that is paid only where the path says so.
fn shop() -> Hostile {
    Hostile::start(|seen: &Seen| {
        let state = if seen.target == "/paid" { "paid" } else { "open" };
        Act::Answer(answer("200 OK", &format!(r#"{{"state":"{state}"}}"#)))
    })
}

fn plan(path: &str) -> String {
    format!(
        r#"
[load]
rate = 200
duration = "1s"
[[requests]]
name = "items"
url = "/items"
weight = 3
[[journeys]]
name = "buy"
weight = 1
[[journeys.steps]]
name = "order"
url = "/orders"
[[journeys.steps]]
name = "paid"
url = "{path}"
until = "json $.state == 'paid'"
every = "400ms"
within = "1s"
[[journeys.steps]]
name = "receipt"
url = "/receipt"
"#
    )
}

/// The verdict of each of `slos`, by its text, and the exit code.
fn judged(place: &Place, command: &[&str], slos: &[&str]) -> (Option<i32>, Vec<(String, String)>, Value) {
    let mut args = command.to_vec();
    slos.iter().for_each(|slo| args.extend(["--slo", slo]));
    args.push("--json");
    let said = place.call(&args);
    let run: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|_| panic!("{said:?}"));
    let of = |slo: &Value| {
        let text = |name: &str| slo[name].as_str().expect("a text").to_string();
        (text("slo"), text("status"))
    };
    let slos = run["verdict"]["slos"].as_array().map(|slos| slos.iter().map(of).collect());
    (said.code(), slos.unwrap_or_default(), run)
}

fn statuses(slos: &[(String, String)]) -> Vec<&str> {
    slos.iter().map(|(_, status)| status.as_str()).collect()
}

#[test]
fn a_run_whose_journeys_wait_in_vain_does_not_pass() {
    let server = shop();
    let place = Place::new();
    place.file("plan.toml", plan("/open"));
    let url = server.url();
    // Every request is fine.
    let run = ["run", "plan.toml", &url, "-o", "out"];
    let (code, slos, run) = judged(&place, &run, &["errors < 5%", "p50 < 5s"]);
    assert_eq!(run["arrivals"]["failed"], 0, "{}", run["arrivals"]);
    assert_eq!(run["journeys"][0]["account"]["timed_out"], 50, "{}", run["journeys"]);
    assert_eq!((code, statuses(&slos)), (Some(3), vec!["inconclusive", "inconclusive"]), "{slos:?}");
    let findings = run["validity"]["findings"].as_array().expect("a list");
    let found = findings.iter().find(|finding| finding["code"] == "journeys_failed").expect("found");
    assert_eq!(found["severity"], "invalidates", "{found}");
    let message = found["message"].as_str().expect("a text");
    assert!(message.contains("50 of 50") && message.contains("buy: paid"), "{message}");
    // Objectives that name the journey, or its step, of the same record.
    let asked = [
        "buy: errors < 1%",
        "buy: p50 < 10s",
        "buy: achieved >= 99%",
        "buy: paid: errors < 1%",
        "items: p50 < 5s",
    ];
    let (code, slos, run) = judged(&place, &["report", "out"], &asked);
    // Missed, or not told where a busy machine may have added as much; never met.
    assert!(slos.iter().all(|(_, status)| status != "pass") && code != Some(0), "{}", run["verdict"]);
    let undecided = [&slos[1].1, &slos[4].1];
    assert_eq!(undecided, ["inconclusive"; 2], "{}", run["verdict"]);
    let errors = &run["verdict"]["slos"][0];
    assert_eq!((&errors["value"], &errors["samples"]), (&json!(1.0), &json!(50)), "{errors}");
    let waits = &run["verdict"]["slos"][3];
    assert_eq!((&waits["value"], &waits["samples"]), (&json!(1.0), &json!(50)), "{waits}");
    // How long they took is known as a lower bound.
    let (_, _, run) = judged(&place, &["report", "out"], &["buy: paid: p50 < 90ms", "buy: p50 < 90ms"]);
    for slo in run["verdict"]["slos"].as_array().expect("a list") {
        assert!(slo["is_lower_bound"] == true && slo["value"].as_f64() >= Some(990e6), "{slo}");
        assert_ne!(slo["status"], "pass", "{slo}");
    }
    let files = ["report", "out", "--slo", "buy: errors < 1%", "--junit", "j.xml", "--summary", "s.md"];
    assert!(matches!(place.call(&files).code(), Some(1 | 3)));
    assert!(place.text("j.xml").contains("buy: errors &lt; 1%"), "{}", place.text("j.xml"));
    assert!(place.text("s.md").contains("buy: errors"), "{}", place.text("s.md"));
}

#[test]
fn journeys_that_come_to_their_end_are_judged_by_their_own_times() {
    let server = shop();
    let place = Place::new();
    place.file("plan.toml", plan("/paid"));
    let slos = [
        "buy: p50 < 10s",
        "buy: errors < 10%",
        "buy: achieved > 50%",
        "buy: achieved < 1/s",
        "buy: paid: p50 < 10s",
        "journey buy: max < 1us",
    ];
    let url = server.url();
    let refused = place.call(&["run", "plan.toml", &url, "--slo", slos[3]]);
    refused.refused(&["an SLO says what is good"]);
    let slos: Vec<&str> = slos.into_iter().filter(|slo| !slo.contains("1/s")).collect();
    let (code, judged, run) = judged(&place, &["run", "plan.toml", &url, "-o", "out"], &slos);
    assert_eq!(run["journeys"][0]["account"]["completed"], 50, "{}", run["journeys"]);
    assert_eq!(statuses(&judged)[..4], ["pass"; 4], "{}", run["verdict"]);
    // Missed, unless a busy machine may have added all of that.
    assert!(statuses(&judged)[4] != "pass" && code != Some(0), "{}", run["verdict"]);
    let of = &run["verdict"]["slos"][2];
    assert_eq!((&of["unit"], &of["name"]), (&json!("share"), &json!("buy")), "{of}");
    assert!(of["low"].as_f64() > Some(0.5) && of["high"].as_f64() <= Some(1.0), "{of}");
}

#[test]
fn so_it_is_in_a_simulation() {
    let place = Place::new();
    let world = "[world]\nserver = \"service=10ms\"\n";
    place.file(
        "plan.toml",
        format!("{}{world}", plan("/paid").replace("\"1s\"\n[[requests]]", "\"60s\"\n[[requests]]")),
    );
    let slos =
        ["buy: p99 < 31ms", "buy: p99 < 29ms", "buy: paid: p99 < 11ms", "buy: paid: p99 < 9ms", "p99 < 11ms"];
    let (code, judged, run) = judged(&place, &["sim", "plan.toml"], &slos);
    assert_eq!(statuses(&judged), ["pass", "fail", "pass", "fail", "pass"], "{}", run["verdict"]);
    assert_eq!(code, Some(1));
    place
        .call(&["sim", "plan.toml", "--slo", "buy: p99 < 1s in 90% of 10s"])
        .refused(&["over the whole run"]);
}

#[test]
fn what_can_not_be_told_is_refused() {
    let place = Place::new();
    let target = "target = \"http://127.0.0.1:9/\"\n";
    let refused = |text: String, objective: &str, part: &str| {
        place.file("plan.toml", format!("{target}{text}\n[objectives]\n{objective}\n"));
        place.call(&["plan", "check", "plan.toml"]).refused(&[part]);
    };
    let whole = plan("/paid");
    refused(whole.clone(), "slo = \"buy: p99 < 1s in 90% of 1s\"", "over the whole run");
    refused(whole.clone(), "abort-on = \"buy: p99 > 1s for 2s\"", "over the whole run");
    refused(whole.clone(), "abort-on = \"buy: paid: errors > 1% for 2s\"", "over the whole run");
    refused(whole.clone(), "slo = \"buy: paid: achieved >= 1%\"", "not of their steps");
    refused(whole.clone(), "slo = \"items: achieved >= 1%\"", "leave the name out");
    refused(whole.clone(), "slo = \"sell: p99 < 1s\"", "buy: order, buy: paid");
    refused(whole.replace("name = \"items\"", "name = \"buy\""), "slo = \"buy: p99 < 1s\"", "journey buy");
    place.file("plan.toml", format!("{target}{whole}"));
    place.file(
        "both.toml",
        format!(
            "{target}{}[objectives]\nslo = \"journey buy: p99 < 1s\"\n",
            whole.replace("\"items\"", "\"buy\"")
        ),
    );
    let said = place.call(&["plan", "check", "both.toml"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
}

#[test]
fn a_name_that_is_no_journey_is_told_from_those_there_are() {
    let place = Place::new();
    place.file("plan.toml", plan("/paid"));
    let refused = |slo: &str, parts: &[&str]| {
        place.call(&["run", "plan.toml", "http://127.0.0.1:9", "--slo", slo]).refused(parts);
    };
    refused("bye: p95 < 20s", &["no request and no journey is called \"bye\"", "there are buy, items"]);
    refused(
        "byu: p95 < 20s",
        &["no request and no journey is called \"byu\"", "did you mean \"buy\"", "there are buy"],
    );
    refused("itms: p95 < 20s", &["did you mean \"items\""]);
    refused("buy: p95th < 20s", &["first", "gap"]);
}

/// The clock of a journey's throughput ends with its own last completion, not with that of others: half of the load begins
/// journeys that are over at once, and half of it those that think for ten seconds.
#[test]
fn the_throughput_of_a_journey_ends_with_its_own_last_completion() {
    let place = Place::new();
    place.file(
        "plan.toml",
        "[load]\nrate = 20\nduration = \"2s\"\n[world]\nserver = \"slots=100 service=10ms\"\n\
         [[journeys]]\nname = \"quick\"\n[[journeys.steps]]\nurl = \"/a\"\n\
         [[journeys]]\nname = \"slow\"\nthink = \"10s\"\n[[journeys.steps]]\nurl = \"/b\"\n[[journeys.steps]]\nurl = \"/c\"\n",
    );
    let asked = [
        // 20 of each: quick ones within 3 s, slow ones within 13 s, and all of them of a load of 2 s.
        "quick: achieved >= 6.6/s",
        "quick: achieved >= 10.1/s",
        "slow: achieved >= 1.5/s",
        "slow: achieved >= 2/s",
        "slow: achieved >= 10.1/s",
        "quick: achieved >= 66%",
        "slow: achieved >= 66%",
    ];
    let (_, slos, run) = judged(&place, &["sim", "plan.toml"], &asked);
    let expected = ["pass", "fail", "pass", "inconclusive", "fail", "pass", "inconclusive"];
    assert_eq!(statuses(&slos), expected, "{slos:?} {}", run["verdict"]);
}
