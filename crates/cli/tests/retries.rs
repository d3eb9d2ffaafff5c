//! Retries of real runs, against a server whose every answer is scripted.

use crate::support::hostile::{Act, Hostile, Refusing, Seen, answer, ok};
use crate::support::{Place, Run};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Ten arrivals, far enough apart that each has ended before the next one.
const TEN: [&str; 8] = ["-R", "10", "-n", "10", "--no-preflight", "--timeout", "5s", "--retry-wait=5ms"];

/// The first, the third and so on of the requests of either method, in their order of arrival, meet this.
fn every_other(act: Act) -> Hostile {
    let (gets, posts) = (AtomicUsize::new(0), AtomicUsize::new(0));
    Hostile::start(move |seen: &Seen| {
        let count = if seen.method == "POST" { &posts } else { &gets };
        if count.fetch_add(1, Ordering::SeqCst).is_multiple_of(2) { act.clone() } else { Act::Answer(ok()) }
    })
}

fn run(url: &str, more: &[&str]) -> Run {
    Place::new().measure(&[&[url], &TEN[..], more].concat())
}

fn retries(run: &Run, name: &str) -> u64 {
    run.count(&format!("/retries/{name}"))
}

#[test]
fn a_failed_attempt_is_not_the_end() {
    let busy = Act::Answer(answer("503 Busy", "later"));
    for (act, cause, resent) in [(busy, "shed", 0), (Act::SendThenReset(b"HTTP".to_vec()), "reset", 0)] {
        let server = every_other(act);
        let run = run(&server.url(), &["--attempts", "3"]);
        run.assert_all("ok");
        assert_eq!(server.seen().len(), 20, "{cause}");
        assert_eq!((retries(&run, "attempts"), retries(&run, "retried")), (20, 10), "{run:?}");
        assert_eq!((retries(&run, "recovered"), retries(&run, "exhausted")), (10, 0));
        assert_eq!(run.number("/retries/amplification"), 2.0);
        assert_eq!(retries(&run, &format!("causes/{cause}")), 10);
        assert_eq!(run.connections("resent"), resent);
        // An arrival counts with its last answer, and its response time covers the wait that its service time leaves out.
        assert_eq!(run.at("/codes"), &serde_json::json!({"200": 10}));
        assert_eq!(run.count("/service_time/count"), 10);
        let (response, service) = (run.quantile("response_time", 0.5).0, run.quantile("service_time", 0.5).0);
        assert!(response >= service + 5_000_000, "{response} and {service}");
        assert_eq!(run.count("/send_lag/count"), 10);
        assert!(!run.has_finding("retries_amplified"));
    }
}

#[test]
fn attempts_end() {
    let server = Hostile::start(|_| Act::Answer(answer("503 Busy", "later")));
    let failing = run(&server.url(), &["--attempts", "3"]);
    failing.assert_all_failed("shed");
    assert_eq!((server.seen().len(), retries(&failing, "exhausted")), (30, 10));
    assert!(failing.has_finding("retries_amplified"), "{failing:?}");
    assert_eq!(failing.at("/codes"), &serde_json::json!({"503": 10}));

    let other = run(&server.url(), &["--attempts", "3", "--retry-on", "500,reset"]);
    other.assert_all_failed("shed");
    assert_eq!((retries(&other, "attempts"), retries(&other, "retried")), (10, 0));

    let poor = run(&server.url(), &["--attempts", "3", "--retry-budget", "20%"]);
    assert_eq!((retries(&poor, "attempts"), poor.arrivals("failed")), (12, 10));
    assert!(retries(&poor, "refused_by_budget") >= 8, "{poor:?}");

    let target = Refusing::new();
    let refused = run(&target.url(), &["--attempts", "2"]);
    refused.assert_all_failed("connect_refused");
    assert_eq!((retries(&refused, "attempts"), retries(&refused, "exhausted")), (0, 10));
    assert_eq!(retries(&refused, "causes/connect_refused"), 10);
}

/// An attempt that hangs is given up, its connection closed, and the arrival tried again on another.
#[test]
fn an_attempt_that_hangs_is_given_up() {
    let server = every_other(Act::SendThenStall(b"HTTP/1.1 200 OK\r\n".to_vec()));
    let run = run(&server.url(), &["--attempts", "2", "--try-timeout", "50ms"]);
    run.assert_all("ok");
    assert_eq!((retries(&run, "attempts"), retries(&run, "causes/try_timeout")), (20, 10), "{run:?}");
    assert_eq!(run.connections("closed_on_timeout"), 10);
    // The attempts that were given up took longer than 50 ms; nobody knows by how much.
    assert_eq!((run.count("/service_time/count"), run.count("/service_time/censored")), (20, 10));
    assert_eq!((run.count("/response_time/count"), run.count("/response_time/censored")), (10, 0));
    assert!(run.quantile("response_time", 0.5).0 >= 55_000_000);
}

#[test]
fn what_is_not_safe_to_send_twice_is_sent_once() {
    let server = every_other(Act::Answer(answer("503 Busy", "later")));
    let both = ["--request", "GET /a", "--request", "POST /b", "--attempts", "2"];
    let once = run(&server.url(), &both);
    assert_eq!((once.arrivals("ok"), once.arrivals("failed")), (7, 3), "{once:?}");
    assert_eq!(once.count("/operations/0/retries/retried"), 5);
    assert_eq!(once.count("/operations/1/retries/retried"), 0);
    assert!(once.at("/plan/summary").as_str().expect("text").contains("POST /b only once"), "{once:?}");

    let server = every_other(Act::Answer(answer("503 Busy", "later")));
    let twice = run(&server.url(), &[&both[..], &["--retry-unsafe"]].concat());
    twice.assert_all("ok");
    assert_eq!(twice.count("/operations/1/retries/retried"), 5);
}

#[test]
fn retries_that_make_no_sense_are_refused() {
    let place = Place::new();
    let call = |args: &[&str]| place.call(&[&["run", "http://127.0.0.1:9/", "-R", "1"], args].concat());
    call(&["--try-timeout", "1s"]).refused(&["--try-timeout", "--attempts 3"]);
    call(&["--retry-budget", "20"]).refused(&["20%"]);
    call(&["--attempts", "2", "--body", "x"]).refused(&["--retry-unsafe"]);
    call(&["--attempts", "2", "--try-timeout", "30s"]).refused(&["--try-timeout", "timed out by then"]);
    call(&["--attempts", "2", "--retry-on", "timeout"]).refused(&["5xx"]);
    let server = ["sim", "-R", "1", "--server", "service=1ms", "--client", "wrk", "--attempts", "2"];
    place.call(&server).refused(&["--client 'retry attempts=3'"]);
    place.file("plan.toml", "target = \"http://127.0.0.1:9/\"\n[load]\nrate = 1\n[retry]\nattempts = 1000\n");
    place.call(&["plan", "check", "plan.toml"]).refused(&["plan.toml:5"]);
}

/// The same words in a plan, for a simulation: a quarter of the attempts fail, and what they come to is known.
#[test]
fn a_plan_has_its_retries_and_a_simulation_keeps_them() {
    let place = Place::new();
    place.file(
        "plan.toml",
        "target = \"http://127.0.0.1:9/\"\n[load]\nrate = 1000\nduration = \"20s\"\n\
         [retry]\nattempts = 3\non = \"500\"\nwait = \"10ms\"\njitter = \"full\"\n\
         [world]\nserver = \"service=10ms error=1/4\"\n",
    );
    let said = place.call(&["plan", "show", "plan.toml"]);
    assert!(said.stdout.contains("up to 3 attempts each"), "{said:?}");
    let run = place.call(&["sim", "plan.toml", "-o", "out", "--json"]).run();
    // 1 + 1/4 + 1/16 attempts on average, with a standard error of 0.004.
    let amplification = run.number("/retries/amplification");
    assert!((amplification - 1.3125).abs() < 0.016, "{amplification}");
    assert_eq!(run.number("/simulated/requests_per_arrival"), amplification);
    assert_eq!(run.count("/retries/exhausted"), run.arrivals("failed"));
    assert_eq!(run.at("/plan/retry/jitter"), "full");
    // A report from the folder says the same.
    let again = place.call(&["report", "out", "--json"]).run();
    assert_eq!(again.at("/retries"), run.at("/retries"));
    assert_eq!(again.at("/operations"), run.at("/operations"));
    let text = place.call(&["report", "out"]).stdout;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("out of attempts") && text.contains("tried again after: status_5xx"), "{text}");
}
