//! What journeys take from their answers: values, cookies, and the answer that they wait for.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile, Seen, answer, ok};
use crate::support::lab::Lab;
use serde_json::{Value, json};
use std::collections::BTreeSet;

fn step<'a>(run: &'a Value, name: &str) -> &'a Value {
    let steps = run["journeys"][0]["steps"].as_array().expect("a list");
    steps.iter().find(|step| step["operation"] == name).unwrap_or_else(|| panic!("no {name}: {steps:?}"))
}

/// An answer with these header lines.
fn with(lines: &str, body: &str) -> Act {
    Act::Answer(format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: {}\r\n\r\n{body}", body.len()).into())
}

const SHOP: &str = r#"
[load]
rate = 100
duration = "1s"
[[journeys]]
name = "buy"
[[journeys.steps]]
name = "login"
url = "/login"
capture = { token = "header X-Token", sid = "cookie sid" }
[[journeys.steps]]
name = "search"
url = "/search"
header = ["Authorization: Bearer {{token}}"]
capture = { id = "json $.items[0].id", page = "regex page=([0-9]+)" }
[[journeys.steps]]
name = "order"
url = "/orders/{{id}}?page={{page}}"
method = "POST"
header = ["X-Session: {{sid}}"]
json = { id = "{{id}}", token = "{{token}}" }
"#;

#[test]
fn each_journey_goes_on_with_what_its_own_answers_brought() {
    let logins = std::sync::atomic::AtomicU32::new(0);
    let server = Hostile::start(move |seen| match seen.target.as_str() {
        "/login" => {
            let n = logins.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            with(&format!("X-Token: t{n}\r\nSet-Cookie: sid=s{n}; Path=/\r\n"), "")
        }
        "/search" => {
            // The number comes back in what is answered.
            let n =
                seen.header("authorization").and_then(|all| all.strip_prefix("Bearer t")).unwrap_or("none");
            with("", &format!(r#"{{"items":[{{"id":"{n}/\"é"}}],"next":"page={n}"}}"#))
        }
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    place.file("plan.toml", SHOP);
    let run = place.measure(&["plan.toml", &server.url(), "-t", "2"]);
    run.assert_accounts();
    assert_eq!(run.at("/journeys/0/account/completed"), &json!(100), "{}", run.at("/journeys/0"));
    assert_eq!(step(run.at(""), "buy: search")["captures"], json!(["id", "page"]));
    let seen = server.seen();
    let orders = seen.iter().filter(|seen| seen.method == "POST");
    let numbers: BTreeSet<u32> = orders
        .map(|order| {
            let n = order.header("x-session").and_then(|sid| sid.strip_prefix('s')).expect("a session");
            // Percent-encoded in the path, with escapes in JSON.
            assert_eq!(order.target, format!("/orders/{n}%2F%22%C3%A9?page={n}"));
            let body: Value = serde_json::from_slice(&order.body).expect("JSON");
            assert_eq!(body, json!({"id": format!("{n}/\"é"), "token": format!("t{n}")}));
            n.parse().expect("a number")
        })
        .collect();
    assert_eq!(numbers.len(), 100, "each journey has its own");
    // Values of answers are in no file of the run.
    for file in place.list("out") {
        assert!(!place.text(&format!("out/{file}")).contains("Bearer t"), "{file}");
    }
}

#[test]
fn a_value_that_is_not_there_ends_the_journey() {
    for (body, kind) in [
        (r#"{"items":[]}"#.to_string(), "not_captured"),
        (format!(r#"{{"items":[{{"id":"{}"}}]}}"#, "x".repeat(9_000)), "captured_too_long"),
    ] {
        let server = Hostile::start(move |seen| match seen.target.as_str() {
            "/search" => with("", &body),
            _ => Act::Answer(ok()),
        });
        let place = Place::new();
        let plan = "[load]\nrate = 50\nduration = \"1s\"\n[[journeys]]\nname = \"buy\"\n[[journeys.steps]]\nname = \"home\"\n\
                    url = \"/\"\n[[journeys.steps]]\nname = \"search\"\nurl = \"/search\"\n\
                    capture = { id = \"json $.items[0].id\" }\n[[journeys.steps]]\nname = \"order\"\nurl = \"/{{id}}\"\n";
        place.file("plan.toml", plan);
        let run = place.measure(&["plan.toml", &server.url()]);
        run.assert_accounts();
        assert_eq!(run.at("/journeys/0/failures"), &json!({kind: 50}));
        assert_eq!(step(run.at(""), "buy: search")["failed"], 50);
        assert_eq!(step(run.at(""), "buy: order")["entered"], 0);
        assert!(server.seen().iter().all(|seen| ["/", "/search"].contains(&seen.target.as_str())));
        // It is found out before the run where it is the first step that lacks it.
        place.file("first.toml", plan.replace("[[journeys.steps]]\nname = \"home\"\nurl = \"/\"\n", ""));
        let said = place.call(&["run", "first.toml", &server.url()]);
        assert_eq!(said.code(), Some(1), "{said:?}");
        assert!(said.stderr.contains("id") && said.stderr.contains("capture asks for"), "{said:?}");
    }
}

#[test]
fn what_can_not_be_used_is_refused_at_its_place() {
    let place = Place::new();
    let refused = |from: &str, to: &str, line: &str, part: &str| {
        let text = format!("target = \"http://127.0.0.1:9/\"\n{}", SHOP.trim_start().replacen(from, to, 1));
        place.file("plan.toml", &text);
        let said = place.call(&["plan", "check", "plan.toml"]);
        assert_eq!(said.code(), Some(2), "{to}: {said:?}");
        assert!(
            said.stderr.contains(part) && said.stderr.contains(line) && said.stderr.contains('^'),
            "{said:?}"
        );
    };
    let search = "url = \"/search\"";
    refused(search, "url = \"/search/{{id}}\"", "plan.toml:13:", "may not be there yet");
    refused(search, "url = \"/search\"\nchance = \"50%\"", "plan.toml:19:", "may not be there yet");
    refused(search, "url = \"/search?{{ids}}\"", "plan.toml:13:", "there is no value \"ids\"");
    refused("json $.items[0].id", "json items", "plan.toml:15:", "id: ");
    refused("json $.items[0].id", "body", "plan.toml:15:", "expected json PATH");
    refused("{ token =", "{ now =", "plan.toml:10:", "means something in templates");
    refused(
        "[[journeys]]",
        "[[requests]]\nurl = \"/{{id}}\"\n[[journeys]]",
        "plan.toml:6:",
        "may not be there yet",
    );
    refused(
        "name = \"buy\"",
        "name = \"x\"\n[[journeys.steps]]\nurl = \"/{{id}}\"\n[[journeys]]\nname = \"buy\"",
        "plan.toml:8:",
        "may not be there yet",
    );
    refused(
        search,
        "url = \"/search\"\nuntil = \"status=200\"\nwithin = \"1s\"",
        "plan.toml:14:",
        "needs every",
    );
    refused(search, "url = \"/search\"\nevery = \"1s\"", "plan.toml:14:", "belongs to until");
    let often = "url = \"/search\"\nuntil = \"status=200\"\nevery = \"1ms\"\nwithin = \"1m\"";
    refused(search, often, "plan.toml:15:", "more than 1000 requests");
    let seldom = "url = \"/search\"\nuntil = \"status=200\"\nevery = \"6s\"\nwithin = \"5s\"";
    refused(search, seldom, "plan.toml:15:", "longer than within");
    let nothing = "url = \"/search\"\nuntil = []\nevery = \"1s\"\nwithin = \"5s\"";
    refused(search, nothing, "plan.toml:14:", "wait for nothing");
    refused("method = \"POST\"", "method = \"POST\"\ncapture = {}", "plan.toml:", "nothing would be taken");
    let whole = "method = \"POST\"\ncapture = { a = \"regex x\" }";
    refused("method = \"POST\"", whole, "plan.toml:", "parentheses");
    let many = "url = \"/s\"\n[[journeys.steps]]\n".repeat(64) + search;
    refused(search, &many, "plan.toml:138:", "step 65 of 67");
    let repeated =
        "url = \"/search\"\nuntil = \"status=200\"\nevery = \"1s\"\nwithin = \"5s\"\nrepeat = \"2\"";
    refused(search, repeated, "plan.toml:17:", "leave repeat out");
    refused("method = \"POST\"", "method = \"POST\"\nexit = \"20%\"", "plan.toml:20:", "leave exit out");
    let own = "name = \"buy\"\ncookies = true\n[[journeys.steps]]\nurl = \"/\"\nheader = [\"Cookie: a=b\"]";
    refused("name = \"buy\"", own, "plan.toml:10:", "leave it out");
}

/// What is waited for may be said by the status alone; then neither head nor body is looked at.
#[test]
fn a_step_may_wait_for_a_status() {
    let asked = std::sync::atomic::AtomicU32::new(0);
    let server = Hostile::start(move |seen| {
        let is_there = seen.target != "/job" || asked.fetch_add(1, std::sync::atomic::Ordering::Relaxed) >= 2;
        Act::Answer(answer(if is_there { "200 OK" } else { "404 Not Found" }, "{}"))
    });
    let place = Place::new();
    place.file(
        "plan.toml",
        "[load]\nrate = 1\nduration = \"1s\"\n[[journeys]]\n[[journeys.steps]]\nurl = \"/begin\"\n[[journeys.steps]]\nurl = \"/job\"\n\
         expect = \"status=200,404\"\nuntil = \"status=200\"\nevery = \"50ms\"\nwithin = \"5s\"\n",
    );
    let run = place.measure(&["plan.toml", &server.url()]);
    let journey = run.at("/journeys/0");
    assert_eq!(
        (&journey["account"]["completed"], &journey["steps"][1]["requests"]),
        (&1.into(), &3.into()),
        "{journey}"
    );
}

#[test]
fn a_step_asks_until_it_has_its_answer_and_is_one() {
    // Each order is paid with the third question, but those in the path /never.
    let asked = std::sync::Mutex::new(std::collections::HashMap::<String, u32>::new());
    let ids = std::sync::atomic::AtomicU32::new(0);
    let server = Hostile::start(move |seen: &Seen| match seen.target.as_str() {
        "/orders" => {
            let id = ids.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            with("", &format!(r#"{{"id":{id}}}"#))
        }
        target if target.starts_with("/orders/") => {
            let mut asked = asked.lock().expect("a lock");
            let times = asked.entry(target.to_string()).or_default();
            *times += 1;
            let state = if *times < 3 { "open" } else { "paid" };
            with("", &format!(r#"{{"state":"{state}","receipt":"r{times}"}}"#))
        }
        "/never" => with("", r#"{"state":"open"}"#),
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    let plan = r#"
[load]
rate = 40
duration = "1s"
[[journeys]]
name = "buy"
[[journeys.steps]]
name = "order"
url = "/orders"
capture = { id = "json $.id" }
[[journeys.steps]]
name = "paid"
url = "/orders/{{id}}"
until = "json $.state == 'paid'"
every = "50ms"
within = "10s"
capture = { receipt = "json $.receipt" }
[[journeys.steps]]
name = "receipt"
url = "/receipts/{{receipt}}"
"#;
    place.file("plan.toml", plan);
    let run = place.measure(&["plan.toml", &server.url()]);
    run.assert_accounts();
    let run = run.at("");
    assert_eq!(run["journeys"][0]["account"]["completed"], 40, "{}", run["journeys"]);
    let paid = step(run, "buy: paid");
    assert_eq!((&paid["passed"], &paid["requests"]), (&json!(40), &json!(120)));
    assert_eq!(paid["until"], json!({"every_ns": 50_000_000, "within_ns": 10_000_000_000_u64}));
    // Twice 50 ms, and three answers.
    let time = &paid["time_to_done"];
    assert_eq!((&time["count"], &time["censored"]), (&json!(40), &json!(0)), "{time}");
    assert!(time["quantiles"][0]["value"].as_u64() >= Some(100_000_000), "{time}");
    // What is taken is taken from the last answer.
    assert_eq!(server.seen().iter().filter(|seen| seen.target == "/receipts/r3").count(), 40);
    let text = place.call(&["report", "out"]).stdout;
    assert!(text.contains("ime to done"), "{text}");
    let again: Value = serde_json::from_str(&place.call(&["report", "out", "--json"]).stdout).expect("JSON");
    assert_eq!(again["journeys"], run["journeys"]);

    let place = Place::new();
    place.file("never.toml", plan.replace("/orders/{{id}}", "/never").replace("10s", "120ms"));
    let run = place.measure(&["never.toml", &server.url()]);
    run.assert_accounts();
    let paid = step(run.at(""), "buy: paid");
    // At once, after 50 ms and after 100 ms, and at the end of the time.
    assert_eq!((&paid["timed_out"], &paid["requests"]), (&json!(40), &json!(160)), "{paid}");
    let time = &paid["time_to_done"];
    assert_eq!(
        (&time["censored"], &time["max"], &time["max_censored"]),
        (&json!(40), &json!(120_000_000), &json!(true))
    );
    assert_eq!(step(run.at(""), "buy: receipt")["entered"], 0);
}

#[test]
fn each_journey_keeps_its_cookies() {
    let users = std::sync::atomic::AtomicU32::new(0);
    let server = Hostile::start(move |seen| match seen.target.as_str() {
        "/login" => {
            let n = users.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            with(&format!("Set-Cookie: sid={n}; HttpOnly\r\nSet-Cookie: theme=dark\r\n"), "")
        }
        "/theme" => with("Set-Cookie: theme=light; Path=/\r\n", ""),
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    let steps: String = ["/login", "/theme", "/home"]
        .iter()
        .map(|url| format!("[[journeys.steps]]\nurl = \"{url}\"\n"))
        .collect();
    let head = "[load]\nrate = 100\nduration = \"1s\"\njourneys-max = 3\n[[journeys]]\nname = \"stay\"\n";
    place.file("plan.toml", format!("{head}cookies = true\n{steps}"));
    let run = place.measure(&["plan.toml", &server.url()]);
    run.assert_accounts();
    assert_eq!(run.at("/journeys/0/account/completed"), &json!(100), "{}", run.at("/journeys/0"));
    assert_eq!(run.at("/journeys/0/cookies"), &json!(true));
    let sent = |target: &str| -> BTreeSet<String> {
        let seen = server.seen();
        let of = seen.iter().filter(|seen| seen.target == target);
        of.map(|seen| seen.header("cookie").unwrap_or("none").to_string()).collect()
    };
    assert_eq!(sent("/login"), BTreeSet::from(["none".to_string()]));
    // The request before the run has logged in first.
    let all = |theme: &str| (1..=100).map(|n| format!("sid={n}; theme={theme}")).collect::<BTreeSet<_>>();
    assert_eq!((sent("/theme"), sent("/home")), (all("dark"), all("light")));
}

#[test]
fn who_leaves_has_completed_and_is_told_apart() {
    let server = Hostile::start(|_| Act::Answer(ok()));
    let place = Place::new();
    let steps = "[[journeys.steps]]\nname = \"a\"\nurl = \"/a\"\nexit = \"40%\"\n[[journeys.steps]]\nname = \"b\"\nurl = \"/b\"\n";
    place.file(
        "plan.toml",
        format!("[load]\nrate = 300\nduration = \"1s\"\n[[journeys]]\nname = \"look\"\n{steps}"),
    );
    let run = place.measure(&["plan.toml", &server.url()]);
    run.assert_accounts();
    let account = run.at("/journeys/0/account");
    let exited = account["exited"].as_u64().expect("a count");
    assert_eq!((&account["completed"], &account["scheduled"]), (&json!(300), &json!(300)));
    // 300 · 0.4, within 4σ.
    assert!((86..=154).contains(&exited), "{exited}");
    assert_eq!(
        (&step(run.at(""), "look: a")["exited"], &step(run.at(""), "look: b")["entered"]),
        (&json!(exited), &json!(300 - exited))
    );
    assert_eq!(server.seen().iter().filter(|seen| seen.target == "/b").count() as u64, 300 - exited);
    assert!(place.call(&["report", "out"]).stdout.contains("exited"));
}

/// In the virtual world nothing is taken, and the first answer is the one that was waited for.
#[test]
fn a_simulation_asks_once_and_takes_nothing() {
    let place = Place::new();
    let plan = SHOP.replace(
        "capture = { id =",
        "until = \"status=200\"\nevery = \"1s\"\nwithin = \"5s\"\ncapture = { id =",
    );
    place.file("plan.toml", format!("{plan}[world]\nserver = \"service=10ms\"\n"));
    let run = place.call(&["sim", "plan.toml", "-o", "out", "--json"]);
    assert_eq!(run.code(), Some(0), "{run:?}");
    let run: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(run["journeys"][0]["account"]["completed"], 100);
    let search = step(&run, "buy: search");
    assert_eq!(
        (&search["passed"], &search["requests"], &search["time_to_done"]["count"]),
        (&json!(100), &json!(100), &json!(100))
    );
}

/// 500 journeys per second that log in, look and buy, against a server that stalls: every step is accounted for, and the
/// stall shows in the requests that met it.
#[test]
fn journeys_against_the_lab() {
    let place = Place::new();
    let scenario = ["--scenario", "stall", "--stall-at", "1s", "--stall-for", "400ms", "--baseline", "1ms"];
    let lab = Lab::serve(&place, &[&scenario[..], &["--answer-json"]].concat());
    let plan = SHOP.replace("rate = 100\nduration = \"1s\"", "rate = 500\nduration = \"3s\"");
    let plan = plan.replace("header X-Token", "json $.token").replace(", sid = \"cookie sid\"", "");
    let plan = plan.replace("json $.items[0].id", "json $.id").replace("page=([0-9]+)", "t-([0-9a-f]+)");
    place.file("plan.toml", plan.replace("header = [\"X-Session: {{sid}}\"]\n", "think = \"5ms\"\n"));
    let run = place.measure(&["plan.toml", &lab.url]);
    run.assert_accounts();
    let run = run.at("");
    let account = json!({"scheduled": 1500, "completed": 1500, "failed": 0, "timed_out": 0, "unfinished": 0, "unsent": 0});
    assert_eq!(run["journeys"][0]["account"], account, "{}", run["failures"]);
    for name in ["buy: login", "buy: search", "buy: order"] {
        let of = step(run, name);
        assert_eq!(
            (&of["entered"], &of["passed"], &of["requests"]),
            (&json!(1500), &json!(1500), &json!(1500))
        );
        let all = run["operations"].as_array().expect("a list");
        let operation = all.iter().find(|one| one["name"] == name).expect("an operation");
        assert_eq!(
            (&operation["arrivals"]["scheduled"], &operation["arrivals"]["ok"]),
            (&json!(1500), &json!(1500))
        );
    }
    let max = |name: &str| {
        let all = run["operations"].as_array().expect("a list");
        let of = all.iter().find(|one| one["name"] == name).expect("an operation");
        of["response_time"]["max"].as_u64().expect("a time")
    };
    // A login is intended every 2 ms. Who had logged in before the stall met it with the next step; what is intended while
    // nobody can have come that far meets nothing.
    assert!(max("buy: login") >= 390_000_000, "{}", max("buy: login"));
    let longest = run["journeys"][0]["time"]["max"].as_u64().expect("a time");
    assert!((390_000_000..1_500_000_000).contains(&longest), "{longest}");
}

/// Logins are intended in the first 1.5 s, searches in the 1.5 s from 2 s on, orders in those from 4 s on. A stall at 2.5 s meets
/// searches alone.
#[test]
fn a_stall_shows_in_the_step_that_met_it() {
    let place = Place::new();
    let scenario =
        ["--scenario", "stall", "--stall-at", "2500ms", "--stall-for", "400ms", "--baseline", "1ms"];
    let lab = Lab::serve(&place, &[&scenario[..], &["--answer-json"]].concat());
    let steps = ["login", "search", "order"].map(|name| {
        format!("[[journeys.steps]]\nname = \"{name}\"\nurl = \"/{name}\"\ncapture = {{ of_{name} = \"json $.id\" }}\n")
    });
    let load = "[load]\nrate = 500\nduration = \"1500ms\"\n";
    let plan = format!("{load}[[journeys]]\nname = \"buy\"\nthink = \"2s\"\n{}", steps.concat());
    place.file("plan.toml", plan.replace("url = \"/order\"", "url = \"/order/{{of_login}}/{{of_search}}\""));
    let run = place.measure(&["plan.toml", &lab.url]);
    run.assert_accounts();
    let run = run.at("");
    assert_eq!(run["journeys"][0]["account"]["completed"], 750, "{}", run["failures"]);
    let operations = run["operations"].as_array().expect("a list");
    // A fourth of the searches met the stall; each of the slowest tenth of all waited for more than half of it.
    let [login, search, order] = ["buy: login", "buy: search", "buy: order"].map(|name| {
        let of = operations.iter().find(|one| one["name"] == name).expect("an operation");
        assert_eq!((&of["arrivals"]["scheduled"], &of["arrivals"]["ok"]), (&json!(750), &json!(750)));
        let quantiles = of["response_time"]["quantiles"].as_array().expect("a list");
        let p90 = quantiles.iter().find(|one| one["q"] == 0.9).expect("a quantile");
        p90["value"].as_u64().expect("a time")
    });
    assert!(search >= 200_000_000, "{search}");
    assert!(login.max(order) < 150_000_000, "{login}, {order}");
}
