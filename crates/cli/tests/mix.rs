//! Requests with shares of the load, through the binary.

use crate::support::hostile::{Hostile, healthy};
use crate::support::{Place, finish};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Name, planned share and scheduled arrivals of each request.
fn operations(run: &Value) -> Vec<(String, f64, u64)> {
    let operations = run["operations"].as_array().expect("a list");
    let of = |one: &Value| {
        let arrivals = &one["arrivals"];
        assert_eq!(arrivals["scheduled"], arrivals["ok"], "{run}");
        (
            one["name"].as_str().unwrap().to_string(),
            one["share"].as_f64().unwrap_or(0.0),
            arrivals["ok"].as_u64().unwrap(),
        )
    };
    operations.iter().map(of).collect()
}

#[test]
fn a_command_line_gives_requests_their_shares() {
    let (server, other) = (healthy(), healthy());
    let measure = |server: &Hostile, threads: &str| {
        let place = Place::new();
        place.file("order.json", b"{}");
        let url = server.url();
        let server = [url.as_str(), "-R", "500", "-n", "203", "-t", threads, "--no-preflight"];
        let requests = ["--request", "80% /items", "--request", "20% POST /orders @order.json"];
        place.measure(&[&server[..], &requests].concat())
    };
    let run = measure(&server, "2");
    run.assert_accounts();
    assert_eq!(run.at("/plan/order"), &json!({"name": "shuffled", "seed": 1}));
    let found = operations(run.at(""));
    // Forty blocks of five, and three more arrivals.
    assert_eq!(
        (found[0].0.as_str(), found[0].1, found[1].0.as_str(), found[1].1),
        ("GET /items", 0.8, "POST /orders", 0.2)
    );
    assert!((162..=163).contains(&found[0].2) && found[0].2 + found[1].2 == 203, "{found:?}");
    let mut seen: BTreeMap<(String, Vec<u8>), u64> = BTreeMap::new();
    for request in server.seen() {
        *seen.entry((request.target, request.body)).or_default() += 1;
    }
    let expected =
        [(("/items".into(), vec![]), found[0].2), (("/orders".into(), b"{}".to_vec()), found[1].2)];
    assert_eq!(seen, BTreeMap::from(expected));
    assert_eq!(operations(measure(&other, "3").at("")), found, "the same for any number of threads");
}

const PLAN: &str = "[load]\nrate = 400\nduration = \"1s\"\nseed = 5\n[[requests]]\nweight = 3\nname = \"a\"\nurl = \"/a\"\n\
                    [[requests]]\nweight = 1\nname = \"b\"\nurl = \"/b\"\n";

#[test]
fn a_plan_gives_requests_their_weights() {
    let (server, place) = (healthy(), Place::new());
    place.file("plan.toml", PLAN);
    let url = server.url();
    let run = place.measure(&["plan.toml", &url]);
    assert_eq!(operations(run.at("")), [("a".into(), 0.75, 300), ("b".into(), 0.25, 100)]);
    let place = Place::new();
    place.file("plan.toml", PLAN);
    let run = place.measure(&["plan.toml", &url, "--order", "random"]);
    assert_eq!(run.at("/plan/order"), &json!({"name": "random", "seed": 5}));
    let found = operations(run.at(""));
    // Four standard deviations of a binomial distribution.
    assert!(found[0].2.abs_diff(300) < 35 && found[0].2 + found[1].2 == 400, "{found:?}");
    // A folder read again says the same.
    let again: Value = serde_json::from_str(&place.call(&["report", "out", "--json"]).stdout).expect("JSON");
    assert_eq!(operations(&again), found);
    place.file("plan.toml", format!("target = \"{url}\"\n{PLAN}"));
    let shown = place.call(&["plan", "show", "plan.toml", "--as", "json"]).stdout;
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()["requests"][0]["weight"], "3");
}

#[test]
fn targets_without_shares_take_an_order() {
    let (server, place) = (healthy(), Place::new());
    let urls: Vec<String> = ["a", "b", "c"].iter().map(|path| server.url() + path).collect();
    let args = [urls[0].as_str(), &urls[1], &urls[2], "-R", "300", "-n", "30", "--no-preflight"];
    let run = place.measure(&[&args[..], &["--order", "shuffled"]].concat());
    assert_eq!(operations(run.at("")).into_iter().map(|(.., n)| n).collect::<Vec<_>>(), [10, 10, 10]);
    assert!(run.at("/operations/0").get("share").is_none());
    let targets: Vec<String> = server.seen().into_iter().map(|seen| seen.target).collect();
    assert_ne!(targets[..3], targets[3..6], "each block has an order of its own");
}

#[test]
fn shares_that_make_no_mix_are_pointed_at() {
    let place = Place::new();
    let target = "target = \"http://127.0.0.1:9/\"\n";
    for (from, to, parts) in [
        ("weight = 3", "share = \"80%\"", &["plan.toml:11:", "some a weight", "weight = 1"][..]),
        ("weight = 3\n", "", &["plan.toml:8:", "has no share"]),
        ("weight = 3", "weight = 0", &["plan.toml:7:", "never sent"]),
        ("weight = 3", "weight = 2.5", &["plan.toml:7:", "not a weight"]),
        ("weight = 3", "weight = 3\nshare = \"80%\"", &["exclude each other"]),
        ("weight = 3", "weight = 12345", &["blocks of 12346", "--order random"]),
        (
            "[[requests]]\nweight = 3",
            "[request]\norder = \"turn\"\n[[requests]]\nweight = 3",
            &["plan.toml:7:", "in turn"],
        ),
    ] {
        place.file("plan.toml", format!("{target}{}", PLAN.replacen(from, to, 1)));
        place.call(&["plan", "check", "plan.toml"]).refused(parts);
    }
    let shares = PLAN.replace("weight = 3", "share = \"80%\"").replace("weight = 1", "share = \"15.5%\"");
    place.file("plan.toml", format!("{target}{shares}"));
    place.call(&["plan", "check", "plan.toml"]).refused(&[
        "plan.toml:11:",
        "sum to 95.5%, not to 100%",
        "^^^",
    ]);
}

#[test]
fn requests_in_lines_that_make_no_mix_are_refused() {
    let place = Place::new();
    let refused = |args: &[&str], parts: &[&str]| {
        let all = [&["run", "http://127.0.0.1:9/", "-R", "10", "-n", "5"], args].concat();
        finish(&mut place.command(&all)).refused(parts);
    };
    refused(&["--request", "50% /a", "--request", "40% /b"], &["sum to 90%"]);
    refused(&["--request", "50% /a", "--request", "/b"], &["has no share"]);
    refused(&["--request", "1 /a", "--request", "1 /b", "--order", "turn"], &["in turn"]);
    refused(&["http://127.0.0.1:9/b", "--request", "/a"], &["one URL", "there are 2"]);
    refused(&["--request", "GET a"], &["--request", "must begin with /"]);
    place.file("plan.toml", PLAN);
    place.call(&["run", "plan.toml", "--request", "/a"]).refused(&["--request", "[[requests]]"]);
}

/// Another mix is another load: what the requests cost is no difference of the sides.
#[test]
fn runs_of_other_shares_are_not_compared() {
    let (place, server) = (Place::new(), healthy());
    let url = server.url();
    for (folder, shares) in [("x", ["80% /a", "20% /b"]), ("y", ["50% /a", "50% /b"])] {
        let args = [
            "run",
            &url,
            "--request",
            shares[0],
            "--request",
            shares[1],
            "-R",
            "200",
            "-n",
            "20",
            "-o",
            folder,
        ];
        place.call(&args).assert_ran();
    }
    place.call(&["compare", "x", "y"]).refused(&["asks for its requests", "80 %, 20 %", "50 %, 50 %"]);
}

/// Names are what objectives, loads and the report tell requests apart by.
#[test]
fn two_requests_of_one_name_are_refused() {
    let place = Place::new();
    let request = |path: &str| format!("[[requests]]\nname = \"cart\"\nurl = \"{path}\"\n");
    let plan =
        format!("target = \"http://127.0.0.1:9\"\n[load]\nrate = 5\n{}{}", request("/a"), request("/b"));
    place.file("plan.toml", plan);
    let parts = ["plan.toml:8:8: the request in line 4 is called \"cart\", too", "a name of its own"];
    place.call(&["plan", "check", "plan.toml"]).refused(&parts);
}

#[test]
fn two_urls_do_not_take_the_place_of_a_plans_requests() {
    let place = Place::new();
    place.file("plan.toml", "[load]\nrate = 5\n[[requests]]\nurl = \"/a\"\n");
    let urls = ["http://127.0.0.1:9/", "http://127.0.0.1:10/"];
    let said = place.call(&["run", "plan.toml", urls[0], urls[1]]);
    said.refused(&["plan.toml lists what is requested, and 2 URLs are given", "give one URL"]);
}
