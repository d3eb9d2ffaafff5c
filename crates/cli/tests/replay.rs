//! `run --replay`: what was recorded is sent, when it was recorded.

use crate::support::hostile::{Act, Hostile, answer, healthy, ok};
use crate::support::{Place, Run};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// What was recorded of one request.
pub(crate) struct Recorded {
    pub(crate) after_ns: u64,
    method: &'static str,
    path: String,
    user: u64,
}

pub(crate) fn get(after_ns: u64, path: &str, user: u64) -> Recorded {
    Recorded { after_ns, method: "GET", path: path.into(), user }
}

/// A trace as `unblink import` writes it.
pub(crate) fn trace(requests: &[Recorded]) -> Vec<u8> {
    let mut lines = vec![json!({
        "format": "unblink.trace/1", "made_by": "a test", "start": "2026-01-31T12:00:00.000000000Z",
        "source": ["nginx"], "keys": ["k"],
    })];
    lines.extend(requests.iter().map(|one| {
        json!({
            "after": one.after_ns, "method": one.method, "path": one.path, "status": 200, "answer_bytes": 10,
            "took": 2_000_000, "user": format!("{:016x}", one.user),
        })
    }));
    lines.push(json!({ "end": { "requests": requests.len(), "lacking": { "body": 3, "path_ids": 190 } } }));
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    zstd::encode_all(text.as_bytes(), 1).expect("Zstandard")
}

/// Two seconds of 300 requests, ten of which may change something, and one that can't be sent.
fn mixed() -> Vec<Recorded> {
    let one = |n: u64| {
        let path = if n.is_multiple_of(3) { "/about?page=".into() } else { format!("/items/{}", n % 7) };
        let method = if n % 30 == 29 { "POST" } else { "GET" };
        Recorded { after_ns: n * 7_919 % 13 * 1_100_000, method, path, user: n % 10 }
    };
    let mut all: Vec<Recorded> = (0..300).map(one).collect();
    all.push(Recorded { method: "CONNECT", ..get(1, "host:443", 1) });
    all
}

/// How often each request was seen, head and all.
fn seen(server: &Hostile) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for request in server.seen() {
        *all.entry(format!("{} {} {:?}", request.method, request.target, request.header("host")))
            .or_default() += 1;
    }
    all
}

/// By name of the operation, how many were due.
fn scheduled(document: &Value) -> BTreeMap<String, u64> {
    let operations = document["operations"].as_array().expect("a list");
    let of =
        |one: &Value| (one["name"].as_str().unwrap().into(), one["arrivals"]["scheduled"].as_u64().unwrap());
    operations.iter().map(of).collect()
}

pub(crate) fn replayed(server: &Hostile, requests: &[Recorded], more: &[&str]) -> Run {
    let place = Place::new();
    place.file("t.trace", trace(requests));
    let url = server.url();
    place.measure(&[&[url.as_str(), "--replay", "t.trace", "--no-preflight"], more].concat())
}

#[test]
fn any_number_of_threads_sends_what_was_recorded() {
    let mut expected = BTreeMap::new();
    for threads in ["1", "2", "3"] {
        let server = healthy();
        let run = replayed(&server, &mixed(), &["--speed", "2", "-t", threads]);
        run.assert_all("ok");
        assert_eq!(run.arrivals("scheduled"), 290);
        assert_eq!(run.at("/loads/0/process"), &json!({ "name": "recorded" }));
        for note in ["10 of 301 recorded requests", "10 POST", "1 of 301 recorded requests", "bodies (3)"] {
            assert!(run.stderr.contains(note), "{note}: {}", run.stderr);
        }
        let replay = run.at("/plan/replay");
        assert_eq!((&replay["recorded"], &replay["left_out_by_method"]["POST"]), (&json!(301), &json!(10)));
        let then = &replay["operations"][0];
        assert_eq!(
            (&then["requests"], &then["codes"], &then["answer_bytes_mean"]),
            (&json!(190), &json!({"200": 190}), &json!(10.0))
        );
        assert_eq!((&replay["left_out_by_path"], &then["took"]["count"]), (&json!(1), &json!(190)));
        let names = scheduled(&run.document);
        let shares = [("GET /items/{id}", 190), ("GET /about", 100)].map(|(name, n)| (name.into(), n));
        assert_eq!(names, BTreeMap::from(shares));
        let seen = seen(&server);
        assert_eq!(seen.values().sum::<u64>(), 290);
        let host = Some(server.url().replace("http://", "").trim_end_matches('/').to_string());
        assert_eq!(seen[&format!("GET /about?page= {host:?}")], 100);
        let without_host: BTreeMap<_, _> =
            seen.iter().map(|(key, n)| (key.split(" Some").next().unwrap().to_string(), *n)).collect();
        if expected.is_empty() {
            expected.clone_from(&without_host);
        }
        assert_eq!(without_host, expected, "{threads} threads");
    }
}

#[test]
fn a_simulation_replays_the_same() {
    let place = Place::new();
    place.file("t.trace", trace(&mixed()));
    let sim = place.call(&["sim", "--replay", "t.trace", "--server", "service=1ms", "--json"]);
    let document: Value = serde_json::from_str(&sim.stdout).unwrap_or_else(|_| panic!("{sim:?}"));
    assert_eq!(scheduled(&document), scheduled(&replayed(&healthy(), &mixed(), &["--speed", "3"]).document));
}

#[test]
fn what_may_change_something_is_sent_when_asked_for() {
    let server = healthy();
    let run = replayed(&server, &mixed(), &["--speed", "4", "--mutating", "-H", "Authorization: Bearer t"]);
    assert_eq!(run.arrivals("scheduled"), 300);
    let all = server.seen();
    assert_eq!(all.iter().filter(|request| request.method == "POST").count(), 10);
    assert!(all.iter().all(|request| request.body.is_empty()));
    assert!(all.iter().all(|request| request.header("authorization") == Some("Bearer t")));
}

#[test]
fn a_part_of_a_trace_ends_where_it_was_told_to() {
    let each: Vec<Recorded> = (0..40).map(|n| get(50_000_000, &format!("/{n}"), n)).collect();
    let server = healthy();
    // The request with the number n is at 50 (n + 1) ms.
    let run = replayed(&server, &each, &["--from", "500ms", "--to", "1500ms"]);
    assert_eq!((run.arrivals("scheduled"), run.count("/plan/duration_ns")), (20, 1_000_000_000));
    let targets: Vec<String> = server.seen().iter().map(|request| request.target.clone()).collect();
    assert_eq!(targets.first().map(String::as_str), Some("/9"));
    assert_eq!(targets.last().map(String::as_str), Some("/28"));
    let again = replayed(&healthy(), &each, &["--from", "500ms", "--to", "1s", "--loop", "3"]);
    assert_eq!((again.arrivals("scheduled"), again.count("/plan/duration_ns")), (30, 1_500_000_000));
    let shorter = replayed(&healthy(), &each, &["--loop", "10s", "-d", "2s", "-n", "35"]);
    assert_eq!(shorter.arrivals("scheduled"), 35);
}

#[test]
fn copies_are_other_moments_and_users_stay_whole() {
    let each: Vec<Recorded> =
        (0..200).map(|n| get(5_000_000, &format!("/u{}/{n}", n % 20), n % 20)).collect();
    let server = healthy();
    let run = replayed(&server, &each, &["--scale", "2.5"]);
    assert!(run.at("/plan/summary").as_str().unwrap().contains("as many (copies "), "{run:?}");
    let mut by_user: BTreeMap<String, u64> = BTreeMap::new();
    for request in server.seen() {
        let user = request.target.split('/').nth(1).unwrap().to_string();
        *by_user.entry(user).or_default() += 1;
    }
    assert!(by_user.values().all(|n| [20, 30].contains(n)), "{by_user:?}");
    let thirds = by_user.values().filter(|n| **n == 30).count();
    assert!((4..=16).contains(&thirds), "half of 20 users, within three standard deviations: {by_user:?}");
    let tenth = replayed(&healthy(), &each, &["--scale", "0.5"]);
    assert!(tenth.arrivals("scheduled").is_multiple_of(10) && tenth.arrivals("scheduled") < 170, "{tenth:?}");
}

/// Ten requests of each of two users, a request every 20 ms in all: the recorded answers took 2 ms.
fn two_users() -> Vec<Recorded> {
    (0..20).map(|n| get(20_000_000, &format!("/u{}/{}", n % 2, n / 2), n % 2)).collect()
}

#[test]
fn each_user_waits_for_its_answers() {
    for threads in ["1", "2"] {
        let server = healthy();
        let run = replayed(&server, &two_users(), &["--per-user-order", "--speed", "0.5", "-t", threads]);
        run.assert_all("ok");
        let load = run.at("/loads/0");
        assert_eq!(
            (&load["model"], &load["users"], &load["is_recorded"]),
            (&json!("closed"), &json!(2), &json!(true))
        );
        assert_eq!(run.at("/plan/replay/by_user/requests"), &json!(20));
        assert!(run.has_finding("closed_loop"), "{run:?}");
        for user in ["u0", "u1"] {
            let seen = server.seen();
            let of_user = seen.iter().filter(|request| request.target.starts_with(&format!("/{user}/")));
            let numbers: Vec<usize> = of_user.map(|one| one.target[4..].parse().unwrap()).collect();
            assert!(
                numbers.iter().copied().eq(0..numbers.len()) && numbers.len() >= 8,
                "{user}: {numbers:?}"
            );
        }
    }
}

#[test]
fn users_of_a_slow_target_ask_less() {
    let server = Hostile::start(|_| Act::AnswerAfter(std::time::Duration::from_millis(200), ok()));
    let run = replayed(&server, &two_users(), &["--per-user-order"]);
    let due = run.arrivals("scheduled");
    assert!(due < 10, "{due}");
    assert!(run.has_finding("recorded_not_reached"), "{:#}", run.at("/validity"));
    assert_eq!(run.arrivals("ok"), due);
}

#[test]
fn a_template_makes_real_keys_of_ids() {
    let server = healthy();
    let run = replayed(&server, &mixed(), &["--speed", "4"]);
    assert!(run.has_finding("recorded_ids_replaced"), "{:#}", run.at("/validity"));
    let server = healthy();
    let template = ["--path-template", "/items/{id} = /shop/{{item}}?a=b", "--let", "item = uniform(3)"];
    let run = replayed(&server, &mixed(), &[&["--speed", "4"], &template[..]].concat());
    run.assert_all("ok");
    assert!(!run.has_finding("recorded_ids_replaced"), "{:#}", run.at("/validity"));
    let all = server.seen();
    let keys: std::collections::BTreeSet<&str> =
        all.iter().map(|one| one.target.as_str()).filter(|target| target.starts_with("/shop/")).collect();
    assert_eq!(keys.into_iter().collect::<Vec<_>>(), ["/shop/0?a=b", "/shop/1?a=b", "/shop/2?a=b"]);
    assert_eq!(all.iter().filter(|one| one.target.starts_with("/shop/")).count(), 190);
    assert_eq!(all.iter().filter(|one| one.target == "/about?page=").count(), 100);
    assert_eq!(scheduled(&run.document)["GET /items/{id}"], 190, "it is called as it was recorded");
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let place = Place::new();
    place.file("t.trace", trace(&mixed()));
    place.file("posts.trace", trace(&[Recorded { method: "POST", ..get(1, "/", 1) }]));
    place.file("no.trace", "hello");
    let refused = |args: &[&str], parts: &[&str]| {
        place.call(&[&["run", "http://127.0.0.1:9/"], args].concat()).refused(parts);
    };
    refused(&["--replay", "t.trace", "-R", "5"], &["--replay and -R exclude each other"]);
    refused(&["--replay", "t.trace", "--closed", "5"], &["--replay and --closed exclude each other"]);
    refused(&["--replay", "t.trace", "--warmup", "5s"], &["--replay and --warmup exclude each other"]);
    refused(&["--replay", "t.trace", "--request", "/a"], &["a replay sends what was recorded"]);
    refused(&["--replay", "t.trace", "--precision", "5%"], &["--replay and --precision exclude each other"]);
    refused(&["--replay", "t.trace", "--max-rate", "20"], &["a second of the replay has", "--max-rate"]);
    refused(&["--replay", "t.trace", "-d", "1h"], &["less than -d", "--loop"]);
    refused(&["--replay", "t.trace", "--from", "1h"], &["t.trace: no request was recorded in this part"]);
    refused(&["--replay", "t.trace", "--from", "2s", "--to", "1s"], &["--to is not after --from"]);
    refused(&["--replay", "posts.trace"], &["posts.trace: none of its requests can be sent", "--mutating"]);
    refused(&["--replay", "no.trace"], &["no.trace: this is not a trace of unblink"]);
    refused(&["--replay", "absent.trace"], &["absent.trace: can't read it"]);
    refused(
        &["--replay", "t.trace", "--per-user-order", "--loop", "2"],
        &["--per-user-order and --loop exclude"],
    );
    refused(&["--replay", "t.trace", "--per-user-order", "-n", "5"], &["--replay and -n exclude each other"]);
    refused(&["--per-user-order", "-R", "5"], &["--per-user-order is about a replay"]);
    refused(&["--path-template", "/a = /b", "-R", "5"], &["--path-template is about the paths of a replay"]);
    refused(
        &["--replay", "t.trace", "--path-template", "/a = /b"],
        &["the trace has no path /a", "/items/{id}"],
    );
    refused(&["--replay", "t.trace", "--path-template", "/a"], &["has no ="]);
    refused(&["--speed", "2", "-R", "5"], &["--speed is about a replay"]);
    refused(&["--replay", "t.trace", "--scale", "0"], &["is not a factor"]);
    place.call(&["run", "--replay", "t.trace"]).refused(&["a replay goes to one place"]);
    place.call(&["run", "http://127.0.0.1:9/?a=1", "--replay", "t.trace"]).refused(&["without a query"]);
}

#[test]
fn a_plan_says_what_is_replayed() {
    let (server, place) = (healthy(), Place::new());
    place.file("t.trace", trace(&mixed()));
    let plan = format!("target = \"{}base\"\n[load]\nreplay = \"t.trace\"\nspeed = 4\n", server.url());
    place.file("plan.toml", plan);
    let checked = place.call(&["plan", "check", "plan.toml"]);
    assert!(checked.stdout.contains("290 recorded requests, 4 × as fast"), "{checked:?}");
    let run = place.measure(&["plan.toml"]);
    run.assert_all("ok");
    assert!(server.seen().iter().all(|request| request.target.starts_with("/base/")), "{run:?}");
}

#[test]
fn a_request_of_a_record_is_found_again() {
    let place = Place::new();
    place.file("t.trace", trace(&mixed()));
    let server = Hostile::start(|_| Act::Answer(answer("200 OK", "hello")));
    let url = server.url();
    place.measure(&[&url, "--replay", "t.trace", "--speed", "4", "--no-preflight"]).assert_all("ok");
    let shown = place.call(&["show", "latest", "--arrival", "4"]);
    assert!(shown.stdout.contains("GET /items/4 "), "{shown:?}");
}

/// 200 requests in 4 s: as they were recorded, and twice as many.
fn searched(by: &str) -> (Place, Value) {
    let place = Place::new();
    let one = |n: u64| get(n.min(1) * 20_000_000, &format!("/items/{}", n % 7), n % 50);
    place.file("t.trace", trace(&(0..200).map(one).collect::<Vec<_>>()));
    let server = healthy();
    let slo = ["--slo", "GET /items/{id}: p90 < 10s", "--replay", "t.trace", "--no-preflight", "--max", "2x"];
    let times = ["--settle", "1s", "--measure", "4s", "--measure-max", "4s", "--rest", "0s"];
    let args = ["knee", &server.url(), "--json", "-q", "--by", by, "-o", "out"];
    let run = place.call(&[&args[..], &slo, &times].concat());
    assert_eq!(run.code(), Some(0), "{run:?}");
    let found: Value = serde_json::from_str(&run.stdout).expect("JSON");
    let question = &found["question"];
    assert_eq!((&question["process"], &question["replay"]["by"]), (&json!("recorded"), &json!(by)));
    assert_eq!(question["replay"]["mean_per_s"], 50.0);
    (place, found)
}

/// The first trial is what was recorded, the second one twice as much, each with a second of its end before it.
fn assert_first_two(place: &Place, found: &Value) {
    let trials = found["trials"].as_array().expect("trials");
    let rates: Vec<&Value> = trials.iter().map(|trial| &trial["rate"]["requests"]).collect();
    assert_eq!(rates[..2], [&json!(50), &json!(100)], "{found}");
    for (trial, measured) in [("trial-01", 200), ("trial-02", 400)] {
        let run: Value = serde_json::from_str(&place.text(&format!("out/{trial}/run.json"))).expect("JSON");
        let arrivals = &run["arrivals"];
        assert_eq!(
            (&arrivals["scheduled"], &arrivals["ok"]),
            (&json!(measured), &json!(measured)),
            "{trial}"
        );
        // One may fall on the edge.
        let warm = run["warmup"]["scheduled"].as_u64().expect("a warm-up");
        assert!(warm.abs_diff(measured / 4) <= 1, "{trial}: {warm}");
    }
}

#[test]
fn a_search_sends_copies_of_what_was_recorded() {
    let (place, found) = searched("scale");
    assert_first_two(&place, &found);
    let page = place.text("out/report.html");
    assert!(
        page.contains("AT LEAST 2\u{a0}×")
            && page.contains("Up to 2\u{a0}× what was recorded (100/s on average)")
    );
}

#[test]
fn a_search_sends_what_was_recorded_faster() {
    let (place, found) = searched("speed");
    assert_first_two(&place, &found);
}

#[test]
fn a_search_that_can_not_replay_says_why() {
    let place = Place::new();
    let one = |n: u64| get(n.min(1) * 20_000_000, "/", n);
    place.file("t.trace", trace(&(0..200).map(one).collect::<Vec<_>>()));
    let url = "http://127.0.0.1:1/";
    for (args, part) in [
        (&[url, "--by", "speed"][..], "--by is about a replay"),
        (&[url, "--start", "2x"], "add --replay"),
        (
            &[url, "--replay", "t.trace", "--measure", "4s", "--start", "0.5x", "--by", "speed"],
            "give --measure 8s",
        ),
        (&[url, "--replay", "t.trace", "--arrivals", "even"], "exclude each other"),
        (&[url, "--replay", "t.trace", "--max", "0.5x"], "--start is above --max"),
        (&["--server", "service=1ms", "--replay", "t.trace"], "arrivals of its own"),
        (&[url, "--replay", "t.trace", "--start", "x"], "is not a factor"),
    ] {
        let run = place.call(&[&["knee", "--slo", "p99 < 1s"], args].concat());
        assert!(run.code() == Some(2) && run.stderr.contains(part), "{args:?}: {run:?}");
    }
}
