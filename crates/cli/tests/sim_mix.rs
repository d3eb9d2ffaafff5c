//! `unblink sim` with the requests, loads and origins of a plan.

use crate::support::Place;
use serde_json::Value;

const TARGET: &str = "target = \"http://${HOST}\"\n";
const REQUESTS: &str = "[[requests]]\nname = \"front\"\nurl = \"/\"\nweight = 3\n\
     [[requests]]\nname = \"cart\"\nurl = \"http://cart.test/${TOKEN}\"\nmethod = \"PUT\"\nweight = 1\n\
     header = [\"Authorization: ${TOKEN}\"]\n";

fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let all = list.as_array().expect("a list");
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("{name} is not among {all:#?}"))
}

fn p50(of: &Value, times: &str) -> u64 {
    of[times]["quantiles"][0]["value"].as_u64().expect("ns")
}

/// Each request has its share and its service time, each origin its server; no variable needs a value.
#[test]
fn a_plan_is_simulated_as_it_would_be_run() {
    let place = Place::new();
    let world = "[world]\nserver = \"slots=1 service=1ms\"\nservice = [\"cart=20ms\"]\n";
    let objectives = "[objectives]\nslo = [\"cart: p99 < 15ms\", \"front: p99 < 15ms\", \"origin http://cart.test:80: p99 < 15ms\"]\n";
    place.file(
        "plan.toml",
        format!("{TARGET}[load]\nrate = 100\nduration = \"40s\"\n{world}{objectives}{REQUESTS}"),
    );
    let checked = place.call(&["plan", "check", "plan.toml"]);
    assert_eq!((checked.code(), checked.stderr.as_str()), (Some(0), ""), "{checked:?}");
    let said = place.call(&["sim", "plan.toml", "--json", "-o", "out"]);
    assert!(!said.stderr.contains("left out"), "{said:?}");
    let run = said.run();
    run.assert_all("ok");
    assert_eq!(run.code, Some(1));
    let (front, cart) = (named(run.at("/operations"), "front"), named(run.at("/operations"), "cart"));
    assert_eq!(
        (&front["arrivals"]["scheduled"], &cart["arrivals"]["scheduled"]),
        (&3_000.into(), &1_000.into())
    );
    assert_eq!((&front["protocol"], &cart["share"]), (&"simulated".into(), &0.25.into()));
    let near = |ns: u64, of: u64| ns.abs_diff(of) <= of / 500;
    assert!(near(p50(front, "service_time"), 1_000_000) && near(p50(cart, "service_time"), 20_000_000));
    assert_eq!(run.at("/origins/1/host"), "cart.test");
    assert_eq!(run.at("/origins/1/arrivals"), &cart["arrivals"]);
    assert_eq!(run.at("/simulated/world/services/cart"), "20ms");
    let verdicts = run.at("/verdict/slos").as_array().expect("a list");
    let status: Vec<&Value> = verdicts.iter().map(|slo| &slo["status"]).collect();
    assert_eq!(status, ["fail", "pass", "fail"], "{verdicts:#?}");
    // The record says the same.
    let again = place.call(&["report", "out", "--json"]).run();
    assert_eq!(again.at("/operations"), run.at("/operations"));
    assert_eq!(again.at("/origins"), run.at("/origins"));
}

#[test]
fn loads_ask_for_their_own_requests() {
    let place = Place::new();
    let loads = "[[loads]]\nname = \"base\"\nrate = 100\nduration = \"10s\"\nonly = [\"front\"]\n\
                 [[loads]]\nname = \"sale\"\nrate = 50\nduration = \"10s\"\narrivals = \"poisson\"\n";
    let plan = format!("[world]\nserver = \"service=1ms\"\n{loads}{REQUESTS}");
    place.file("plan.toml", plan);
    let args = ["sim", "plan.toml", "--service", "cart=exp(9ms)", "--json", "-o", "out"];
    let slos = ["--slo", "load base: p99 < 5ms", "--slo", "load sale: p99 < 5ms"];
    let run = place.call(&[&args[..], &slos].concat()).run();
    assert_eq!(run.code, Some(1));
    let (base, sale) = (named(run.at("/loads"), "base"), named(run.at("/loads"), "sale"));
    assert_eq!(
        (&base["arrivals"]["scheduled"], &base["only"]),
        (&1_000.into(), &serde_json::json!(["front"]))
    );
    let slow = sale["response_time"]["max"].as_u64().expect("ns");
    assert!(base["response_time"]["max"].as_u64() < Some(1_100_000) && slow > 5_000_000, "{slow}");
    let verdicts = run.at("/verdict/slos").as_array().expect("a list");
    assert_eq!((&verdicts[0]["status"], &verdicts[1]["status"]), (&"pass".into(), &"fail".into()));
}

#[test]
fn a_service_time_is_of_a_request_that_there_is() {
    let place = Place::new();
    place.file("plan.toml", format!("[load]\nrate = 5\n[world]\nserver = \"service=1ms\"\n{REQUESTS}"));
    for (service, why) in [
        ("pay=1ms", "no request is called \"pay\"; there are front, cart"),
        ("cart", "expected NAME=TIME"),
        ("cart=fast", "cart=fast"),
    ] {
        place.call(&["sim", "plan.toml", "--service", service]).refused(&["--service", why]);
    }
    let alone = ["sim", "-R", "5", "--server", "service=1ms", "--service", "cart=1ms"];
    place.call(&alone).refused(&["there is no plan that lists [[requests]]"]);
}

/// Tools that are simulated ask for the same.
#[test]
fn a_client_asks_for_the_mix() {
    let place = Place::new();
    let plan =
        format!("[load]\nrate = 100\nduration = \"10s\"\n[world]\nserver = \"service=1ms\"\n{REQUESTS}");
    place.file("plan.toml", plan);
    let args = ["sim", "plan.toml", "--client", "k6", "--json", "-o", "out"];
    place.call(&args).refused(&["--client", "have 2 origins"]);
    place.file("plan.toml", place.text("plan.toml").replace("http://cart.test", ""));
    let run = place.call(&args).run();
    assert_eq!(named(run.at("/operations"), "cart")["arrivals"]["ok"], 250);
}

/// Whoever only simulates needs no address.
#[test]
fn paths_need_no_target_in_a_simulation() {
    let place = Place::new();
    let requests = "[[requests]]\nurl = \"/a\"\n[[requests]]\nurl = \"/b\"\n";
    place.file("plan.toml", format!("[load]\nrate = 10\n[world]\nserver = \"service=1ms\"\n{requests}"));
    let checked = place.call(&["plan", "check", "plan.toml"]);
    assert_eq!(checked.code(), Some(0), "{checked:?}");
    let run = place.call(&["sim", "plan.toml", "--json", "-o", "out"]).run();
    assert_eq!(named(run.at("/operations"), "GET /b")["arrivals"]["ok"], 150);
    place.call(&["run", "plan.toml"]).refused(&["the plan has no target"]);
}
