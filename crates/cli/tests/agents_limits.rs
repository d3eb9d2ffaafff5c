//! What a run is given beside its load, where agents offer it: how precise it must be, what each asks beforehand, and how many errors
//! it may have.

use crate::support::bus::{Bus, server};
use crate::support::hostile::{Act, Hostile, Seen, answer, ok};
use crate::support::{Place, Run};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use unblink_cluster::signed::KeyPair;

/// What came of it for each of the two agents by its own record.
fn own(place: &Place) -> [Value; 2] {
    let names = place.list("out.agents");
    assert_eq!(names.len(), 2, "{names:?}");
    [0, 1].map(|agent: usize| {
        let text = place.text(&format!("out.agents/{}/run.json", names[agent]));
        serde_json::from_str(&text).expect("JSON")
    })
}

/// A run of two agents here.
fn of_two(place: &Place, args: &[&str]) -> Run {
    let nats = server().display().to_string();
    place.measure(&[args, &["--agents", "local:2", "--nats-server", &nats]].concat())
}

/// The percentile of all is what must be known, and all end at one instant. It is looked at after 30 s, and once more after 60 s.
#[test]
fn a_load_ends_when_enough_is_known_of_all() {
    // Answers differ, and not with the machine's mood: how well their median is known then depends on nothing else.
    let asked = AtomicUsize::new(0);
    let target = Hostile::start(move |_| {
        let ms = 1 + asked.fetch_add(1, Ordering::Relaxed) as u64 * 7 % 19;
        Act::AnswerAfter(Duration::from_millis(ms), ok())
    });
    let place = Place::new();
    let nats = server().display().to_string();
    let goal = ["--precision", "50%", "--precision-of", "p50", "--max-duration", "5m", "--agents", "local:2"];
    let url = target.url();
    let load = [url.as_str(), "-R", "50", "--no-preflight", "--nats-server", &nats];
    let mut started = place.start(&[&load[..], &goal[..]].concat());
    let begun = Instant::now();
    while started.is_running() && begun.elapsed() < Duration::from_secs(360) {
        std::thread::sleep(Duration::from_millis(100));
    }
    let run = started.wait().run();
    assert_eq!(
        (run.at("/status"), run.at("/precision/reached")),
        (&json!("complete"), &json!(true)),
        "{run:?}"
    );
    let after_s = run.count("/precision/after_ns") as f64 / 1e9;
    assert!((60.0..295.0).contains(&after_s), "{after_s}");
    run.assert_accounts();
    // One instant, as well as each knew it at the start and knows it then: clocks are compared again after a minute.
    let ends = own(&place).map(|run| run["series"]["load_to_ns"].as_u64().expect("an end"));
    let errors = ["0/clock_error_ns", "1/clock_error_ns", "0/clock_last/error_ns", "1/clock_last/error_ns"];
    let error_ns: u64 = errors.iter().map(|error| run.count(&format!("/agents/{error}"))).sum();
    assert!(ends[0].abs_diff(ends[1]) <= error_ns, "{ends:?} by {error_ns}");
}

const SETUP: &str = r#"
[load]
rate = 100
duration = "2s"

[[setup]]
url = "/login"
capture = { token = "json $.token" }

[[requests]]
url = "/items"
header = ["X-Token: {{token}}"]
"#;

/// Each agent logs in for itself, and sends what it was given.
#[test]
fn each_agent_asks_what_it_needs_beforehand() {
    let logins = AtomicUsize::new(0);
    let target = Hostile::start(move |seen| match seen.target.as_str() {
        "/login" => {
            let number = logins.fetch_add(1, Ordering::Relaxed);
            Act::Answer(answer("200 OK", &format!(r#"{{"token":"t{number}"}}"#)))
        }
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    place.file("plan.toml", SETUP);
    let run = of_two(&place, &["plan.toml", &target.url(), "--no-preflight"]);
    run.assert_all("ok");
    assert_eq!(run.arrivals("scheduled"), 200);
    let seen = target.seen();
    assert_eq!(seen.iter().filter(|seen| seen.target == "/login").count(), 2, "one for each agent");
    let with = |token: &str| {
        let is_with = |seen: &&Seen| seen.target == "/items" && seen.header("x-token") == Some(token);
        seen.iter().filter(is_with).count() as u64
    };
    let mut sent = own(&place).map(|own| own["arrivals"]["ok"].as_u64().expect("a count"));
    let mut tokens = [with("t0"), with("t1")];
    tokens.sort_unstable();
    sent.sort_unstable();
    assert_eq!(tokens, sent, "each its own");
}

/// Errors of all agents use up one budget, and all end at one instant. Neither agent comes to it alone.
#[test]
fn errors_of_all_agents_are_one_budget() {
    let target = Hostile::start(|_| Act::Answer(answer("500 Internal Server Error", "no")));
    let place = Place::new();
    let budget = ["--budget-errors", "150", "--no-preflight"];
    let run = of_two(&place, &[&[target.url().as_str(), "-R", "50", "-d", "40s"], &budget[..]].concat());
    assert_eq!((run.at("/status"), run.at("/aborted/guard")), (&json!("aborted"), &json!("budget_errors")));
    assert_eq!(run.arrivals("scheduled"), 2_000);
    let failed = run.arrivals("failed");
    // Looked at each second, of which the last one comes half a second later; the stop is a second ahead of that.
    assert!((150..1_000).contains(&failed) && run.withheld() == 2_000 - failed, "{failed} {run:?}");
    run.assert_accounts();
    let [one, other] = own(&place);
    assert_eq!(one["series"]["load_to_ns"], other["series"]["load_to_ns"]);
    assert_eq!(target.seen().len() as u64, failed);
}

/// Each agent sends 12 requests a second and three attempts more of each: less than both caps together, and more than its own.
#[test]
fn an_agents_own_cap_holds_for_what_it_sends_alone() {
    let target = Hostile::start(|_| Act::Answer(answer("503 No", "no")));
    let place = Place::new();
    let bus = Bus::start(&place);
    let agents = ["one", "other"].map(|folder| bus.agent(&place, folder, &["--max-rate", "25"]));
    let load = [
        "-R",
        "24",
        "-d",
        "60s",
        "--attempts",
        "4",
        "--retry-wait",
        "1ms",
        "--retry-on",
        "503",
        "--no-preflight",
    ];
    let run = bus.run(&place, "2", &[&[&*target.url()], &load[..]].concat()).wait().run();
    agents.into_iter().for_each(|agent| drop(agent.wait()));
    assert_eq!(
        (run.at("/status"), run.at("/aborted/guard")),
        (&json!("aborted"), &json!("max_rate")),
        "{run:?}"
    );
    let rule = run.at("/aborted/rule").as_str().expect("words");
    assert!(rule.starts_with("attempts have come to ") && rule.ends_with("the cap of 25/s"), "{rule}");
    run.assert_accounts();
}

/// Nobody leads the load any more: what is asked beside it ends with its lease, however long answers that are under way are waited for.
#[test]
fn what_is_asked_beside_the_load_ends_with_its_lease() {
    let target = Hostile::start(|seen| match seen.target.as_str() {
        "/login" => Act::Answer(answer("200 OK", r#"{"token":"t"}"#)),
        _ => Act::SendThenStall(Vec::new()),
    });
    let place = Place::new();
    let plan = SETUP.replace("rate = 100\nduration = \"2s\"", "rate = 2\nduration = \"60s\"");
    place.file("plan.toml", plan.replace("\n\n[[requests]]", "\nevery = \"100ms\"\n\n[[requests]]"));
    let bus = Bus::start(&place);
    let mut agent = bus.agent(&place, "own", &[]);
    let load = ["plan.toml", &*target.url(), "--no-preflight", "--timeout", "60s"].map(String::from);
    let run = bus.run(&place, "1", &load.each_ref().map(String::as_str));
    let asked = |what: &str| target.seen().iter().filter(|seen| seen.target == what).count();
    while asked("/items") == 0 || asked("/login") < 10 {
        std::thread::sleep(Duration::from_millis(50));
    }
    run.signal(Signal::KILL);
    run.wait();
    let killed = Instant::now();
    let (mut count, mut last_asked) = (asked("/login"), Duration::ZERO);
    // Until nothing was asked for two seconds.
    while killed.elapsed() < last_asked + Duration::from_secs(2) && killed.elapsed() < Duration::from_secs(20)
    {
        std::thread::sleep(Duration::from_millis(50));
        let now = asked("/login");
        if now > count {
            (count, last_asked) = (now, killed.elapsed());
        }
    }
    // The lease is 5 s, and the machine may be busy.
    assert!(
        last_asked <= Duration::from_secs(8),
        "{last_asked:?} after its coordinator was gone: {count} times"
    );
    assert!(agent.is_running(), "it still waits for answers");
    agent.signal(Signal::KILL);
    agent.wait();
}

/// What is no certificate is said before the bus is asked, which is not there.
#[test]
fn what_is_no_certificate_of_a_bus_is_refused_before_it_is_asked() {
    let place = Place::new();
    let key = KeyPair::new_user();
    place.file("operator.nk", key.seed().expect("a private key"));
    place.file("empty.pem", "");
    place.file("torn.pem", "-----BEGIN CERTIFICATE-----\nMIIB");
    let (url, accepts) = ("http://127.0.0.1:9/", key.public_key());
    for file in ["nowhere.pem", "empty.pem", "operator.nk", "torn.pem"] {
        let bus = ["--bus", "tls://127.0.0.1:1", "--bus-ca", file];
        let led = [&bus[..], &["--agents", "2", "--nkey", "operator.nk"]].concat();
        let named = format!("--bus-ca {file:?}: ");
        let refused = |begin: &[&str], rest: &[&str]| {
            place.call(&[begin, rest].concat()).refused(&[&named, "certificates (PEM)"]);
        };
        refused(&["run", url, "-R", "9", "-d", "1s"], &led);
        refused(&["agent", "--accept-from", &accepts], &bus);
        refused(&["knee", url, "--slo", "p99 < 1s"], &led);
        refused(&["compare", url, url, "-R", "9", "-d", "1s"], &led);
        let render = ["k8s", "render", url, "-R", "9", "-d", "1s", "--agents", "2", "--secret", "keys"];
        refused(&render, &bus);
    }
}
