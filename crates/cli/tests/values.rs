//! What is drawn for each request, through the binary.

use crate::support::hostile::{Act, Hostile, answer, healthy, ok};
use crate::support::{Place, finish};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

const USERS: &str = "id,word\n1,a b\n2,\"c&d\"\n3,\"say \"\"hi\"\"\"\n";

const SHOP: &str = r#"
[load]
rate = 300
duration = "1s"
seed = 7

[let]
item = "zipf(1M)"
user = "csv(users.csv, shuffled)"
size = "lognormal(20, 1, max=60)"

[[requests]]
share = "80%"
url = "/items/{{item}}?q={{user.word}}"
header = ["X-Id: {{uuid}}", "X-User: {{user.id}}"]

[[requests]]
share = "20%"
url = "/orders"
json = { who = "{{user.word}}", n = "{{number(item)}}", note = "{{bytes(size)}}", at = "{{now}}" }
"#;

/// What a server was asked, each request in a line, and how often.
fn asked(server: &Hostile) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for seen in server.seen() {
        let headers = ["x-id", "x-user"].map(|name| seen.header(name).unwrap_or_default().to_string());
        let body = String::from_utf8(seen.body.clone()).expect("text");
        *all.entry(format!("{} {headers:?} {body}", seen.target)).or_default() += 1;
    }
    all
}

fn shop(threads: &str) -> (BTreeMap<String, u64>, Value, Place) {
    let (server, place) = (healthy(), Place::new());
    place.file("users.csv", USERS);
    place.file("shop.toml", SHOP);
    let run = place.measure(&["shop.toml", &server.url(), "-t", threads, "-c", "8", "--no-preflight"]);
    run.assert_all("ok");
    (asked(&server), run.document.clone(), place)
}

#[test]
fn the_same_seed_sends_the_same_bytes_over_any_number_of_threads() {
    let (one, document, place) = shop("1");
    assert_eq!(one.values().sum::<u64>(), 300);
    let sent = &document["values_sent"];
    for threads in ["2", "3", "7"] {
        let (more, document, _) = shop(threads);
        assert!(more == one, "{threads} threads");
        assert_eq!(document["values_sent"], *sent, "{threads} threads");
    }
    let said = place.call(&["sim", "shop.toml", "--server", "slots=4 service=1ms", "-o", "sim", "--json"]);
    let simulated: Value = serde_json::from_str(&said.stdout).expect("JSON");
    assert_eq!(simulated["values_sent"], *sent, "what is simulated");
    assert_eq!(simulated["plan"]["values"], document["plan"]["values"]);
    assert_eq!(
        (&sent[0]["name"], &sent[0]["draws"], sent[1]["draws"].as_u64()),
        (&json!("item"), &json!(300), Some(300))
    );
    assert_eq!(sent[0]["popularity"][0]["keys"], json!(1), "the most popular one");
    let size = &sent[2]["size"];
    assert!(sent[2]["draws"] == json!(60) && size["sent"]["p99"].as_u64() <= Some(60), "{size}");
    let orders: Vec<Value> = one
        .keys()
        .filter_map(|line| Some(serde_json::from_str(&line[line.find('{')?..]).expect("JSON")))
        .collect();
    assert_eq!(orders.len(), 60, "one in five");
    for order in &orders {
        assert!(order["n"].as_u64().is_some_and(|n| n < 1_000_000), "{order}");
        assert!(order["note"].as_str().is_some_and(|note| note.len() <= 60), "{order}");
        assert!(order["at"].as_str().is_some_and(|at| at.starts_with("2026-01-01T00:00:0")), "{order}");
    }
    let words: BTreeSet<&str> = orders.iter().map(|order| order["who"].as_str().unwrap()).collect();
    assert_eq!(words, BTreeSet::from(["a b", "c&d", "say \"hi\""]), "each row as it is in the file");
    let paths: BTreeSet<&str> =
        one.keys().filter_map(|line| Some(line.split(' ').next()?.split_once("?q=")?.1)).collect();
    assert_eq!(paths, BTreeSet::from(["a%20b", "c%26d", "say%20%22hi%22"]));
    // Each row is had equally often.
    let by_row = |id: &str| -> u64 {
        one.iter().filter(|(line, _)| line.contains(&format!(", \"{id}\"]"))).map(|(_, n)| n).sum()
    };
    assert_eq!([by_row("1"), by_row("2"), by_row("3")].iter().sum::<u64>(), 240);
    let laws = document["plan"]["values"].as_array().expect("values");
    assert_eq!(laws[0]["name"], json!("item"));
    assert!(laws[0]["law"].as_str().unwrap().contains("zipf"), "{laws:?}");
    let report = place.text("out/run.json");
    assert!(report.contains("/items/{{item}}") && !report.contains("say %22hi"), "names, not what was drawn");
}

#[test]
fn a_command_line_names_values_too() {
    let (server, place) = (healthy(), Place::new());
    place.file("order.json", r#"{"n": {{item}}, "s": "{{'{{'}}"}"#);
    let run = place.measure(&[
        &server.url(),
        "-R",
        "200",
        "-n",
        "50",
        "--no-preflight",
        "--let",
        "item=uniform(10, 19)",
        "--request",
        "80% GET /items/{{ item }}/{{int(3, 4)}}",
        "--request",
        "20% POST /orders/{{index}} @order.json",
    ]);
    run.assert_all("ok");
    let seen = server.seen();
    let gets: Vec<&str> =
        seen.iter().filter(|one| one.body.is_empty()).map(|one| one.target.as_str()).collect();
    assert_eq!(gets.len(), 40);
    for path in gets {
        let [item, drawn]: [&str; 2] =
            path["/items/".len()..].split('/').collect::<Vec<_>>().try_into().unwrap();
        assert!((10..20).contains(&item.parse::<u32>().unwrap()) && ["3", "4"].contains(&drawn), "{path}");
    }
    for order in seen.iter().filter(|one| !one.body.is_empty()) {
        let body: Value = serde_json::from_slice(&order.body).expect("JSON");
        assert_eq!(body["s"], json!("{{"));
        assert_eq!(order.header("content-length"), Some(order.body.len().to_string().as_str()));
    }
}

#[test]
fn identifiers_are_of_one_run_unless_it_has_a_seed() {
    let ids = |seed: &[&str]| -> BTreeSet<String> {
        let server = healthy();
        let url = format!("{}{{{{uuid}}}}", server.url());
        let run = Place::new().measure(&[&[&url, "-R", "100", "-n", "5", "--no-preflight"], seed].concat());
        run.assert_all("ok");
        server.seen().into_iter().map(|one| one.target).collect()
    };
    assert!(ids(&[]).is_disjoint(&ids(&[])));
    assert_eq!(ids(&["--seed", "4"]), ids(&["--seed=4"]));
}

#[test]
fn rows_that_are_had_once_run_out() {
    let (server, place) = (healthy(), Place::new());
    place.file("users.csv", "id\n1\n2\n3\n");
    let url = format!("{}u/{{{{user}}}}", server.url());
    let run = place.measure(&[&url, "-R", "100", "-n", "10", "--let", "user=csv(users.csv, once)"]);
    assert_eq!((run.arrivals("ok"), run.failures("no_row")), (3, 7));
    assert!(run.has_finding("rows_ran_out"), "{run:?}");
    assert_eq!(run.code, Some(3), "the target was asked for less than the plan says");
    let asked: BTreeSet<String> = server.seen().into_iter().map(|one| one.target).collect();
    assert_eq!(
        asked,
        BTreeSet::from(["/u/1", "/u/2", "/u/3"].map(String::from)),
        "no row for the pre-flight"
    );
}

const LOGIN: &str = r#"
[load]
rate = 50
duration = "1s"

[[setup]]
name = "login"
url = "/login"
json = { user = "me", password = "${PASSWORD}" }
capture = { token = "json $.access_token" }
every = "300ms"

[[requests]]
url = "/items"
header = ["Authorization: Bearer {{token}}"]
"#;

/// A server that gives another token at each login.
fn with_login() -> Hostile {
    let logins = std::sync::atomic::AtomicU32::new(0);
    Hostile::start(move |seen| match seen.target.as_str() {
        "/login" => {
            let n = logins.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Act::Answer(answer("200 OK", &format!("{{\"access_token\": \"t0ken-{n}\"}}")))
        }
        _ => Act::Answer(ok()),
    })
}

#[test]
fn setup_brings_a_token_to_every_request() {
    let server = with_login();
    let place = Place::new();
    place.file("plan.toml", LOGIN);
    let said = finish(
        place.command(&["run", "plan.toml", &server.url(), "-o", "out", "--json"]).env("PASSWORD", "s3cret"),
    );
    let run = said.run();
    run.assert_all("ok");
    assert_eq!(run.arrivals("scheduled"), 50, "setup is in no account");
    let seen = server.seen();
    let tokens: Vec<&str> = seen.iter().filter_map(|one| one.header("authorization")).collect();
    assert_eq!(tokens.len(), 51, "and the request before the run");
    assert!(tokens.iter().all(|token| token.starts_with("Bearer t0ken-")), "{tokens:?}");
    let different: BTreeSet<&&str> = tokens.iter().collect();
    assert!(different.len() > 1, "asked again while the load went on");
    assert!(seen.iter().any(|one| one.body == br#"{"user":"me","password":"s3cret"}"#));
    for file in place.list("out") {
        let text = String::from_utf8_lossy(&std::fs::read(place.path().join("out").join(&file)).unwrap())
            .into_owned();
        assert!(!text.contains("s3cret") && !text.contains("t0ken"), "{file}");
    }
}

#[test]
fn a_token_of_setup_reaches_every_thread() {
    let server = with_login();
    let place = Place::new();
    // Rows of threads lie apart, so what is asked says which thread asks: each takes one of three that follow each other.
    let plan =
        LOGIN.replace("url = \"/items\"", "url = \"/items/{{index}}\"").replace("rate = 50", "rate = 60");
    place.file("plan.toml", plan);
    let args = ["run", "plan.toml", &server.url(), "-t", "3", "--no-preflight", "-o", "out", "--json"];
    let run = finish(place.command(&args).env("PASSWORD", "s3cret")).run();
    run.assert_all("ok");
    assert_eq!(run.count("/plan/threads"), 3);
    let seen = server.seen();
    let items: Vec<_> = seen.iter().filter(|one| one.target.starts_with("/items/")).collect();
    assert_eq!(items.len(), 60);
    let number =
        |token: &str| token.strip_prefix("Bearer t0ken-").expect("a token").parse::<u32>().expect("a number");
    let tokens: Vec<u32> =
        items.iter().map(|one| number(one.header("authorization").expect("a token"))).collect();
    // The first one and those of later, whoever of the three sends the last ones.
    assert!(tokens.contains(&0) && tokens[57..].iter().all(|token| *token > 0), "{tokens:?}");
}

#[test]
fn setup_that_fails_later_is_found() {
    let logins = std::sync::atomic::AtomicU32::new(0);
    let server = Hostile::start(move |seen| match seen.target.as_str() {
        "/login" => match logins.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Act::Answer(answer("200 OK", "{\"access_token\": \"t0ken-0\"}")),
            _ => Act::Answer(answer("503 Service Unavailable", "")),
        },
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    place.file("plan.toml", LOGIN.replace("duration = \"1s\"", "duration = \"2s\""));
    let said = finish(
        place.command(&["run", "plan.toml", &server.url(), "-o", "out", "--json"]).env("PASSWORD", "s3cret"),
    );
    let run = said.run();
    run.assert_all("ok");
    let findings = run.at("/validity/findings").as_array().expect("a list");
    let found = findings.iter().find(|finding| finding["code"] == "setup_failed").expect("a finding");
    assert_eq!(found["severity"], "degrades", "{found}");
    assert!(found["message"].as_str().expect("a text").starts_with("[[setup]] login failed "), "{found}");
    let seen = server.seen();
    let tokens: Vec<&str> = seen.iter().filter_map(|one| one.header("authorization")).collect();
    assert!(tokens.iter().all(|token| *token == "Bearer t0ken-0"), "older values are used: {tokens:?}");
}

#[test]
fn setup_that_brings_nothing_stops_the_run() {
    for (body, why) in [("{}", "does not have token"), ("no JSON", "does not have token")] {
        let server = Hostile::start(move |_| Act::Answer(answer("200 OK", body)));
        let place = Place::new();
        place.file("plan.toml", LOGIN);
        let said =
            finish(place.command(&["run", "plan.toml", &server.url(), "-o", "out"]).env("PASSWORD", "x"));
        assert_eq!(said.code(), Some(1), "{said:?}");
        assert!(said.stderr.contains("[[setup]] login") && said.stderr.contains(why), "{said:?}");
        assert!(server.seen().iter().all(|one| one.target == "/login"), "no load");
    }
}

#[test]
fn what_can_not_be_drawn_is_said_before_the_run() {
    let place = Place::new();
    place.file("users.csv", USERS);
    let run = |args: &[&str]| {
        place.call(&[&["run", "http://127.0.0.1:9/", "-R", "10", "--no-preflight"], args].concat())
    };
    for (args, parts) in [
        (&["--request", "GET /{{item}}"][..], &["no value \"item\"", "index"][..]),
        (&["--request", "GET /{{item"], &["never closed"]),
        (&["--let", "item"], &["has no ="]),
        (&["--let", "item=zipf(0)", "--request", "/{{item}}"], &["item", "no keys"]),
        (&["--let", "9x=zipf(9)"], &["not a valid name"]),
        (&["--let", "index=zipf(9)"], &["means something"]),
        (&["--let", "u=csv(none.csv)"], &["none.csv"]),
        (&["--let", "u=csv(users.csv)", "--request", "/{{u}}"], &["which column", "id, word"]),
        (&["--let", "u=csv(users.csv)", "--request", "/{{u.nmae}}"], &["nmae", "word"]),
        (
            &[
                "--let",
                "u=csv(users.csv, once)",
                "--order",
                "random",
                "--request",
                "50% /{{u.id}}",
                "--request",
                "50% /",
            ],
            &["--order shuffled"],
        ),
        (&["--let", "a=uniform(9)", "--let", "a=uniform(8)"], &["twice"]),
        (
            &["--let", "a=uniform(b)", "--let", "b=zipf(a)"],
            &["in a circle: a is drawn from b, which is drawn from a"],
        ),
        (&["--let", "a=uniform(b)", "--let", "b=zipf(9)"], &["`b` is another value"]),
    ] {
        run(args).refused(parts);
    }
    place.call(&["run", "http://{{host}}/", "-R", "10"]).refused(&["path and the query"]);
    place.file("plan.toml", "target = \"http://127.0.0.1:9/\"\n[let]\nitem = \"zipf(1M, z=3)\"\n[[requests]]\nurl = \"/{{item}}\"\n");
    place.call(&["plan", "check", "plan.toml"]).refused(&["plan.toml:3:18"]);
    place.file("circle.toml", "[let]\na = \"uniform(b)\"\nb = \"{{a}}\"\n[[request]]\nurl = \"/{{a}}\"\n");
    let said = place.call(&["plan", "check", "circle.toml"]);
    said.refused(&["[request] is a section", "[[requests]] for a list"]);
    place.file(
        "circle.toml",
        "[let]\na = \"uniform(b)\"\nb = \"{{a}}\"\n[[requests]]\nurl = \"http://127.0.0.1:9/{{a}}\"\n",
    );
    place
        .call(&["plan", "check", "circle.toml"])
        .refused(&["circle.toml:2", "in a circle: a is drawn from b"]);
}

/// A journey draws once for all of its requests, and what all requests have in common is drawn, too.
#[test]
fn a_simulated_journey_draws_what_a_real_one_draws() {
    let (server, place) = (healthy(), Place::new());
    place.file("users.csv", USERS);
    place.file(
        "buy.toml",
        "[load]\nrate = 100\nduration = \"1s\"\nseed = 7\n[world]\nserver = \"service=1ms\"\n[let]\nitem = \"zipf(100)\"\n\
         user = \"csv(users.csv, shuffled)\"\n[request]\nheader = [\"X-User: {{user.id}}\"]\n[[journeys]]\nname = \"buy\"\n\
         share = \"50%\"\n[[journeys.steps]]\nurl = \"/items/{{item}}\"\nrepeat = \"2\"\n[[requests]]\nshare = \"50%\"\nurl = \"/\"\n",
    );
    let run = place.measure(&["buy.toml", &server.url(), "--no-preflight"]);
    let said = place.call(&["sim", "buy.toml", "-o", "sim", "--json"]);
    let simulated: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let sent = &run.document["values_sent"];
    assert_eq!((&sent[0]["draws"], &sent[1]["draws"]), (&json!(100), &json!(150)), "{sent}");
    assert_eq!(simulated["values_sent"], *sent);
}

const ORDERS: &str = "[load]\nrate = 20\nduration = \"500ms\"\n[[journeys]]\n[[journeys.steps]]\nurl = \"/a\"\n\
                      capture = { n = \"json $.n\" }\n[[journeys.steps]]\nurl = \"/b/{{n}}\"\nuntil = \"status=200\"\n\
                      every = \"100ms\"\nwithin = \"1s\"\nredirects = 0\n[[journeys.steps]]\nurl = \"/c\"\nredirects = 1\n";

#[test]
fn what_follows_from_answers_is_named() {
    let server = Hostile::start(|_| Act::Answer(answer("200 OK", "{\"n\":1}")));
    let (url, place) = (server.url(), Place::new());
    place.file("orders.toml", ORDERS);
    let of = |more: &[&str]| {
        let run = Place::new().measure(&[&[url.as_str(), "--no-preflight"], more].concat());
        run.document["plan"].get("by_answers").cloned()
    };
    assert_eq!(of(&["-R", "20", "-n", "5"]), None);
    let closed = ["--closed", "2", "-d", "300ms", "--attempts", "2"];
    assert_eq!(of(&closed), Some(json!(["closed_load", "retries"])));
    let run = place.measure(&["orders.toml", &url, "--no-preflight"]);
    assert_eq!(run.at("/plan/by_answers"), &json!(["captures", "until", "redirects"]));
    let said = place.call(&["report", "out"]).stdout;
    for part in ["By answers", "captures: ", "until: how often", "redirects: "] {
        assert!(said.contains(part), "{part:?} is missing in {said}");
    }
    // What is simulated is answered by the seed.
    let args = ["sim", "orders.toml", "--server", "service=1ms", "--json", "-o", "sim"];
    assert!(place.call(&args).run().document["plan"].get("by_answers").is_none());
}
