//! `unblink sim` with what the answers to steps say: how often a step with `until` asks, and how often a request is redirected.

use crate::support::hostile::{Act, Hostile, answer};
use crate::support::{Place, Run};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Mutex;

const BUY: &str = r#"
[load]
rate = 40
duration = "1s"
seed = 3
[let]
order = "sequential"
[[journeys]]
name = "buy"
[[journeys.steps]]
name = "login"
url = "/login"
method = "POST"
redirects = 2
capture = { token = "json $.token" }
[[journeys.steps]]
name = "paid"
url = "/paid/{{order}}?token={{token}}"
until = "json $.state == 'paid'"
every = "50ms"
within = "5s"
"#;
const WORLD: &str = "[world]\nserver = \"service=2ms\"\n\
                     answer = [\"buy: paid=holds(3)\", \"buy: login = redirects(1)\"]\n";

/// What was counted of each step, and of the requests that followed redirects.
fn counted(run: &Run) -> (Vec<Value>, Value) {
    let steps = run.at("/journeys/0/steps").as_array().expect("a list");
    let counts = ["entered", "passed", "failed", "timed_out", "requests"];
    let of = |step: &Value| counts.iter().map(|name| step[name].clone()).collect();
    let operations = run.at("/operations").as_array().expect("a list");
    let followed = operations.iter().find(|one| one["name"] == "buy: login redirected with GET");
    (steps.iter().map(of).collect(), followed.expect("an operation")["arrivals"]["ok"].clone())
}

/// An order is paid at the third look at it, and a login leads to a welcome.
#[test]
fn a_simulation_counts_polls_and_redirects_as_a_run_does() {
    let looks: Mutex<HashMap<String, u32>> = Mutex::default();
    let server = Hostile::start(move |seen| {
        if seen.target == "/login" {
            let head = "HTTP/1.1 302 Found\r\nLocation: /welcome\r\nContent-Length: 0\r\n\r\n";
            return Act::Answer(head.into());
        }
        let mut looks = looks.lock().expect("not poisoned");
        let look = looks.entry(seen.target.clone()).or_default();
        *look += 1;
        let state = if *look < 3 { "open" } else { "paid" };
        Act::Answer(answer("200 OK", &format!(r#"{{"token":"t","state":"{state}"}}"#)))
    });
    let place = Place::new();
    place.file("plan.toml", format!("{BUY}{WORLD}"));
    let checked = place.call(&["plan", "check", "plan.toml"]);
    assert_eq!((checked.code(), checked.stderr.as_str()), (Some(0), ""), "{checked:?}");
    let live = place.measure(&["plan.toml", &server.url(), "--no-preflight"]);
    let simulated = place.call(&["sim", "plan.toml", "--json", "-o", "sim"]).run();
    for run in [&live, &simulated] {
        run.assert_accounts();
        assert_eq!(run.at("/journeys/0/account/completed"), 40, "{:#}", run.at("/journeys"));
        let (steps, followed) = counted(run);
        let [login, paid] = [json!([40, 40, 0, 0, 80]), json!([40, 40, 0, 0, 120])];
        assert_eq!((steps, followed), (vec![login, paid], json!(40)));
        assert_eq!(run.arrivals("ok"), 200);
    }
    // Three answers of 2 ms, and 50 ms between them.
    let wait = simulated.at("/journeys/0/steps/1/time_to_done");
    let p50 = wait["quantiles"][0]["value"].as_f64().expect("a time");
    assert!((p50 / 106e6 - 1.0).abs() < 0.002, "{wait}");
    assert_eq!(simulated.at("/codes/302"), 40);
    let said = json!({"buy: login": "redirects(1)", "buy: paid": "holds(3)"});
    assert_eq!(simulated.at("/simulated/world/answers"), &said);
    assert!(place.call(&["report", "sim"]).stdout.contains("answers of buy: paid: holds(3)"));
    let again = place.call(&["report", "sim", "--json"]).run();
    assert_eq!(again.at("/journeys"), simulated.at("/journeys"));
}

#[test]
fn without_a_word_the_first_answer_is_the_last() {
    let place = Place::new();
    place.file("plan.toml", BUY);
    let run = place.call(&["sim", "plan.toml", "--server", "service=2ms", "--json", "-o", "sim"]).run();
    assert_eq!(run.arrivals("ok"), 80);
    assert_eq!(run.at("/journeys/0/account/completed"), 40);
}

/// What is waited for comes after an exponential time, for some too late.
#[test]
fn a_time_is_drawn_for_each_journey() {
    let place = Place::new();
    place.file("plan.toml", BUY.replace("5s", "200ms"));
    let sim = |server: &str, folder: &str| {
        let args = ["sim", "plan.toml", "--server", server, "--answer", "buy: paid=holds(exp(100ms))"];
        place.call(&[&args[..], &["--json", "-o", folder]].concat()).run()
    };
    let run = sim("service=2ms", "a");
    run.assert_accounts();
    let account = run.at("/journeys/0/account");
    let [completed, timed_out] =
        ["completed", "timed_out"].map(|name| account[name].as_u64().expect("a count"));
    assert_eq!(completed + timed_out, 40, "{account}");
    // exp(-2) = 14 % are later than 200 ms.
    assert!((1..15).contains(&timed_out), "{account}");
    // Whatever else the server draws, each journey waits for the same.
    let other = sim("service=2ms slow=3ms/5", "b");
    assert_eq!(other.at("/journeys/0/account"), account);
}

#[test]
fn a_search_hears_the_same_answers() {
    let place = Place::new();
    let search = "[search]\nstart = 20\nsettle = \"1s\"\n[objectives]\nslo = [\"buy: p99 < 150ms\"]\n";
    let plan = BUY.replace("[load]\nrate = 40\nduration = \"1s\"\nseed = 3\n", search);
    let found = |world: &str, folder: &str| {
        place.file("plan.toml", format!("{plan}{world}").replace("service=2ms", "slots=1 service=2ms"));
        let args = ["knee", "plan.toml", "--simulate", "-q", "--json", "--resolution", "10%", "-o", folder];
        let said = place.call(&args);
        assert_eq!(said.code(), Some(0), "{said:?}");
        let found: Value = serde_json::from_str(&said.stdout).expect("JSON");
        found["answer"]["rate_per_s"].as_f64().expect("a rate")
    };
    // Five requests of each journey, 2 ms each, one at a time: at most 100 journeys a second. Two requests of each: 250.
    let (rate, alone) = (found(WORLD, "knee"), found("[world]\nserver = \"service=2ms\"\n", "alone"));
    assert!((40.0..=100.0).contains(&rate), "{rate}");
    assert!((120.0..=250.0).contains(&alone), "{alone}");
}

#[test]
fn what_a_step_can_not_hear_is_refused() {
    let place = Place::new();
    place.file("plan.toml", BUY);
    for (answer, why) in [
        ("paid=holds(3)", "no step is called \"paid\"; there are buy: login, buy: paid"),
        ("buy: paid=3", "expected NAME=WHAT"),
        ("holds(3)", "expected NAME=WHAT"),
        ("buy: paid=holds(0)", "0"),
        ("buy: paid=holds()", "expected"),
        ("buy: paid=holds(5 apples)", "5apples"),
        ("buy: paid=holds(1.5)", "without a unit"),
        ("buy: paid=redirects(1)", "follows no redirects"),
        ("buy: login=holds(2)", "has no until"),
        ("buy: login=redirects(4)", "follows at most 2 redirects"),
        ("buy: login=redirects(x)", "x"),
    ] {
        let args = ["sim", "plan.toml", "--server", "service=1ms", "--answer", answer];
        place.call(&args).refused(&["--answer", answer, why]);
    }
    let alone = ["sim", "-R", "5", "--server", "service=1ms", "--answer", "a=holds(2)"];
    place.call(&alone).refused(&["there is no plan that lists [[journeys]]"]);
    let real = ["knee", "http://127.0.0.1:9/", "--slo", "p99 < 1s", "--answer", "a=holds(2)"];
    place.call(&real).refused(&["--answer is about a simulated server"]);
    // In a plan the error points at its place.
    place.file(
        "bad.toml",
        format!("target = \"http://127.0.0.1:9\"\n{BUY}{}", WORLD.replace("holds(3)", "holds(x)")),
    );
    let bad = place.call(&["plan", "check", "bad.toml"]);
    assert_eq!(bad.code(), Some(2), "{bad:?}");
    assert!(bad.stderr.contains("bad.toml:") && bad.stderr.contains('^'), "{bad:?}");
}
