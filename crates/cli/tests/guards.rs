//! Load goes only where it may, no more than it may, and stops when it must.

use crate::support::hostile::{Act, Hostile, answer, ok};
use crate::support::lab::{Lab, wait_for_intervals};
use crate::support::{Place, Run, Said, Started, finish};
use rustix::process::Signal;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Addresses that belong to nobody (RFC 5737): whoever connected to them would wait, and fail with another message.
const PUBLIC: &str = "http://192.0.2.1/";
const LOAD: [&str; 4] = ["-R", "10", "-d", "1s"];

fn allowed_by(place: &Place, allow: &str, args: &[&str]) -> Said {
    finish(place.command(args).env("UNBLINK_ALLOW", allow))
}

#[test]
fn no_load_goes_to_a_public_address_unasked() {
    let place = Place::new();
    let plan = place.file(
        "plan.toml",
        "target = \"http://127.0.0.1:9/\"\n[load]\nrate = 10\n[[setup]]\nurl = \"http://192.0.2.1/token\"\n",
    );
    let script = place.file("s.lua", "function setup(thread) thread.addr = '192.0.2.1:80' end\n");
    let (plan, script) = (plan.to_str().expect("UTF-8"), script.to_str().expect("UTF-8"));
    let here = "http://127.0.0.1:9/";
    for args in [
        &["run", PUBLIC, "-R", "10"][..],
        &["run", PUBLIC, "--closed", "1"],
        &["run", "https://192.0.2.1/", "-R", "10", "--http", "auto"],
        &["run", "http://[::ffff:192.0.2.1]/", "-R", "10"],
        &["run", "ws://192.0.2.1/", "-R", "10", "--message", "a"],
        &["run", here, "-R", "10", "--connect-to", "::192.0.2.1:"],
        &["run", here, PUBLIC, "-R", "10"],
        &["run", here, "-R", "10", "--script", script],
        &["run", plan],
        &["try", PUBLIC],
        &["knee", PUBLIC, "--slo", "p99 < 1s"],
        &["compare", here, PUBLIC, "-R", "10"],
    ] {
        let said = place.call(args);
        said.refused(&["192.0.2.1", "unblink allow 192.0.2.1", "UNBLINK_ALLOW=192.0.2.1"]);
    }
}

/// What holds for a host is looked at before the first packet, too: the rate is too high, the users are too many, the day
/// is over.
#[test]
fn a_host_that_was_allowed_has_the_limits_that_were_set() {
    let place = Place::new();
    let allow = |args: &[&str]| place.call(&[&["allow"], args].concat());
    let list = allow(&["--list"]);
    assert!(list.stdout.contains("no public host is allowed"), "{list:?}");
    let said = allow(&["192.0.2.1", "--max-rate", "5", "--until", "2999-12-31"]);
    assert_eq!(
        (said.code(), said.stdout.as_str()),
        (Some(0), "allowed: 192.0.2.1, at most 5/s, until 2999-12-31\n")
    );
    assert!(place.text("unblink/allow.toml").contains("[hosts.\"192.0.2.1\"]"));
    place.call(&["run", PUBLIC, "-R", "6"]).refused(&["6/s", "cap of 5/s", "unblink allow --list"]);
    place.call(&["run", PUBLIC, "--closed", "1"]).refused(&["cap of 5/s", "think"]);
    place.call(&["knee", PUBLIC, "--slo", "p99 < 1s", "--start", "6"]).refused(&["cap of 5/s"]);
    place
        .call(&["knee", PUBLIC, "--slo", "p99 < 1s", "--start", "1", "--max", "6"])
        .refused(&["--max 6/s", "5/s"]);
    place.call(&["compare", PUBLIC, PUBLIC, "-R", "6"]).refused(&["cap of 5/s"]);
    // The variable allows hosts, and lifts nothing.
    allowed_by(&place, "192.0.2.1", &["run", PUBLIC, "-R", "6"]).refused(&["cap of 5/s"]);
    // The load on several hosts has the lowest of their limits.
    let both = ["run", "http://127.0.0.1:9/", PUBLIC, "-R", "6"];
    place.call(&both).refused(&["cap of 5/s"]);

    assert!(allow(&["--list"]).stdout.contains("192.0.2.1, at most 5/s, until 2999-12-31"));
    assert_eq!(allow(&["--remove", "192.0.2.1"]).code(), Some(0));
    allow(&["--remove", "192.0.2.1"]).refused(&["192.0.2.1 is not in the list"]);
    place.call(&["run", PUBLIC, "-R", "1"]).refused(&["unblink allow 192.0.2.1"]);

    // The load would go on for longer than it is allowed.
    let soon =
        (jiff::Timestamp::now() + jiff::SignedDuration::from_hours(24)).strftime("%Y-%m-%d").to_string();
    allow(&["192.0.2.1", "--until", &soon]);
    let week = ["run", PUBLIC, "-R", "1/m", "-d", "7d"];
    place.call(&week).refused(&["unblink allow 192.0.2.1 allows load until", "make it shorter"]);

    place.file("unblink/allow.toml", "[hosts.\"192.0.2.1\"]\nuntil = 2020-01-31\n");
    place.call(&["run", PUBLIC, "-R", "1"]).refused(&["allowed until 2020-02-01, 00:00 UTC"]);
    place.file("unblink/allow.toml", "[hosts.\"192.0.2.1\"]\nuntil = \"soon\"\n");
    place.call(&["run", "http://127.0.0.1:9/", "-R", "1"]).refused(&["allow.toml", "soon"]);
}

#[test]
fn what_is_no_host_is_not_allowed() {
    let place = Place::new();
    for wrong in ["http://a.test/", "a.test:80", "a.test/b", "*.test", "", "a..b"] {
        place.call(&["allow", wrong]).refused(&["is not a host"]);
    }
    place.call(&["allow", "a.test", "--until", "2020-01-31"]).refused(&["this day is over"]);
    assert_eq!(place.call(&["allow"]).code(), Some(2));
    assert_eq!(allowed_by(&place, "http://a.test", &["run", PUBLIC, "-R", "1"]).code(), Some(2));
    assert!(!place.path().join("unblink/allow.toml").exists());
}

/// Private networks and hosts that the user has allowed, too.
#[test]
fn a_policy_forbids_what_a_user_allows() {
    let place = Place::new();
    let under = |policy: &str, args: &[&str]| {
        let path = place.file("policy.toml", policy);
        finish(place.command(args).env("UNBLINK_POLICY", path).env("UNBLINK_ALLOW", "192.0.2.1"))
    };
    let inside = ["run", "http://10.255.255.1/", "-R", "10"];
    under("hosts = [\"*.stage.test\"]", &inside).refused(&["10.255.255.1", "policy.toml", "*.stage.test"]);
    under("hosts = [\"10.0.0.0/8\"]\nmax-rate = 9", &inside).refused(&["cap of 9/s"]);
    under("hours = []", &inside).refused(&["no load now", "policy.toml", "at no time"]);
    under("hosts = [\"10.0.0.0/8\"]", &["run", PUBLIC, "-R", "1"]).refused(&["192.0.2.1", "policy.toml"]);
    under("host = []", &inside).refused(&["policy.toml", "host"]);
    finish(place.command(&inside).env("UNBLINK_POLICY", "none.toml"))
        .refused(&["none.toml", "does not exist"]);
    let list = under("hosts = [\"a.test\"]\nmax-rate = \"2k/s\"", &["allow", "--list"]);
    assert!(list.stdout.contains("a.test, at most 2000/s") && list.stdout.contains("192.0.2.1"), "{list:?}");
}

#[test]
fn a_policy_leaves_this_machine_alone() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy"]);
    let policy = place.file("policy.toml", "hosts = []\nmax-rate = 1\nhours = []\n");
    let run = [&["run", lab.url.as_str()], &LOAD[..]].concat();
    finish(place.command(&run).env("UNBLINK_POLICY", policy)).assert_ran();
}

/// A run of 1,500 arrivals that was stopped by `guard` before its planned end.
#[track_caller]
fn assert_stopped(run: &Run, guard: &str) {
    assert_eq!((run.at("/status"), run.at("/aborted/guard")), (&"aborted".into(), &guard.into()), "{run:?}");
    assert_eq!((run.arrivals("scheduled"), run.withheld() > 0), (1_500, true), "{run:?}");
    assert!(run.has_finding("withheld"), "{run:?}");
    run.assert_accounts();
}

const LONG: [&str; 4] = ["-R", "50", "-d", "30s"];

#[test]
fn a_kill_file_stops_the_load_and_keeps_the_next_from_beginning() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy"]);
    let args = [&[lab.url.as_str()], &LONG[..], &["--kill-file", "kill", "--slo", "p50 < 10s"]].concat();
    let mut running = place.start(&args);
    wait_for_intervals(&place, &mut running, 1);
    let file = place.file("kill", "");
    let run = running.wait().run();
    assert_stopped(&run, "kill_file");
    assert_eq!((run.code, run.at("/verdict/slos/0/reason")), (Some(3), &"withheld".into()), "{run:?}");
    let report = place.call(&["report", "out", "--junit", "j.xml", "--summary", "s.md"]);
    assert_eq!(report.code(), Some(3), "the folder says the same");
    assert!(
        report.stdout.contains("withheld") && report.stdout.contains("--kill-file kill exists"),
        "{report:?}"
    );
    assert!(place.text("j.xml").contains("guard: --kill-file kill exists"));
    assert!(place.text("s.md").contains(" withheld"), "{}", place.text("s.md"));
    place.call(&[&["run"], &args[..]].concat()).refused(&["--kill-file kill", "remove it first"]);
    std::fs::remove_file(file).expect("a file");
}

/// The answers in time are none: the target had missed what was asked of it before the load was stopped.
#[test]
fn a_target_that_had_missed_has_failed_all_the_same() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy", "--baseline", "20ms"]);
    let flags = ["--budget-requests", "100", "--slo", "p50 < 1ms"];
    let run = place.measure(&[&[lab.url.as_str()], &LONG[..], &flags].concat());
    assert_stopped(&run, "budget_requests");
    assert_eq!((run.code, run.at("/verdict/slos/0/status")), (Some(1), &"fail".into()), "{run:?}");
}

#[test]
fn budgets_end_the_load() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy"]);
    let run = |flags: &[&str]| Place::new().measure(&[&[lab.url.as_str()], &LONG[..], flags].concat());
    let requests = run(&["--budget-requests", "70"]);
    assert_stopped(&requests, "budget_requests");
    assert_eq!((requests.withheld(), requests.code), (1_430, Some(3)), "{requests:?}");
    let time = run(&["--budget-time", "1500ms"]);
    assert_stopped(&time, "budget_time");
    assert_eq!(time.withheld(), 1_425, "{time:?}");
    // Every answer is one that nobody wanted.
    let errors = run(&["--budget-errors", "20", "--expect", "status=201", "--no-preflight"]);
    assert_stopped(&errors, "budget_errors");
    assert!(errors.arrivals("failed") >= 20, "{errors:?}");
    // One that is not used up is not felt.
    let rest = place.measure(&[lab.url.as_str(), "-R", "50", "-d", "1s", "--budget-requests", "50"]);
    assert_eq!((rest.at("/status"), rest.withheld()), (&"complete".into(), 0), "{rest:?}");
}

/// Closed users have no schedule: what is withheld can't be counted, and no objective is met all the same.
/// A cap is one of all that the target gets: 4 arrivals a second stay below it, and twelve attempts of each don't.
#[test]
fn attempts_keep_to_the_cap() {
    let server = Hostile::start(|_| Act::Answer(answer("500 No", "no")));
    let load = ["-R", "4", "-d", "30s", "--max-rate", "5", "--attempts", "12", "--retry-wait", "1ms"];
    let run =
        Place::new().measure(&[&[&*server.url(), "--no-preflight", "--retry-on", "500"], &load[..]].concat());
    assert_eq!(
        (run.at("/status"), run.at("/aborted/guard")),
        (&"aborted".into(), &"max_rate".into()),
        "{run:?}"
    );
    assert!(run.arrivals("scheduled") == 120 && run.withheld() > 0, "{run:?}");
    let rule = run.at("/aborted/rule").as_str().expect("words");
    assert!(rule.starts_with("attempts have come to 4") && rule.ends_with("the cap of 5/s"), "{rule}");
    run.assert_accounts();
}

#[test]
fn a_budget_holds_for_users_who_wait() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy"]);
    let flags = ["--closed", "2", "-d", "30s", "--budget-requests", "100", "--slo", "p99 < 10s"];
    let run = place.measure(&[&[lab.url.as_str()], &flags[..]].concat());
    assert_eq!((run.at("/aborted/guard"), run.code), (&"budget_requests".into(), Some(3)), "{run:?}");
    run.assert_accounts();
}

/// Answers go on as long as asked, then `end` is done to each question.
fn switch(good: usize, end: Act) -> Hostile {
    let asked = AtomicUsize::new(0);
    Hostile::start(move |_| match asked.fetch_add(1, Ordering::Relaxed) < good {
        true => Act::Answer(ok()),
        false => end.clone(),
    })
}

#[test]
fn a_kill_url_stops_the_load_when_it_says_so_or_says_nothing() {
    let lab_place = Place::new();
    let lab = Lab::serve(&lab_place, &["--scenario", "healthy"]);
    for (end, said) in [
        (Act::Answer(answer("503 Service Unavailable", "stop")), "answers"),
        (Act::SendThenStall(Vec::new()), "does not answer"),
    ] {
        let (place, switch) = (Place::new(), switch(4, end));
        let url = switch.url();
        let run = place.measure(&[&[lab.url.as_str()], &LONG[..], &["--kill-url", &url]].concat());
        assert_stopped(&run, "kill_url");
        assert_eq!(run.code, Some(3), "{run:?}");
        assert!(run.at("/aborted/rule").as_str().is_some_and(|rule| rule.contains(said)), "{run:?}");
    }
    let off = switch(0, Act::Answer(answer("503 Service Unavailable", "stop")));
    let server = Hostile::start(|_| Act::Answer(ok()));
    let (target, url) = (server.url(), off.url());
    let run = [&["run", target.as_str()], &LOAD[..], &["--kill-url", &url]].concat();
    Place::new().call(&run).refused(&["--kill-url", "503"]);
    assert!(server.seen().is_empty(), "nothing was sent");
}

/// It is asked again before it has answered: here its answers come only once three questions are under way.
#[test]
fn a_kill_url_is_not_waited_for() {
    let lab_place = Place::new();
    let lab = Lab::serve(&lab_place, &["--scenario", "healthy"]);
    let asked = std::sync::Arc::new(AtomicUsize::new(0));
    let switch = Hostile::start(move |_| {
        if asked.fetch_add(1, Ordering::SeqCst) == 0 {
            return Act::Answer(ok());
        }
        while asked.load(Ordering::SeqCst) < 4 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Act::Answer(answer("503 Service Unavailable", "stop"))
    });
    let run =
        Place::new().measure(&[&[lab.url.as_str()], &LONG[..], &["--kill-url", &switch.url()]].concat());
    assert_stopped(&run, "kill_url");
    assert!(run.at("/aborted/rule").as_str().is_some_and(|rule| rule.contains("answers")), "{run:?}");
}

/// A rule stops a load whose journeys take more than a minute, and lets them come to their ends.
fn stopped_by_a_rule(place: &Place, more: &[&str]) -> (Hostile, Started) {
    let server =
        Hostile::start(|seen| Act::Answer(if seen.target == "/bad" { answer("500 No", "no") } else { ok() }));
    let steps = "[[journeys.steps]]\nurl = \"/step\"\n".repeat(40);
    let plan = format!(
        "[load]\nrate = 20\nduration = \"60s\"\n[[requests]]\nshare = \"50%\"\nurl = \"/bad\"\n[[journeys]]\nname = \"j\"\nshare = \"50%\"\nthink = \"2s\"\n{steps}"
    );
    place.file("plan.toml", plan);
    let rule = ["--no-preflight", "--abort-on", "errors > 5% for 1s", "--kill-file", "kill"];
    let started = place.start(&[&["plan.toml", &*server.url()], &rule[..], more].concat());
    let bad = || server.seen().iter().filter(|seen| seen.target == "/bad").count();
    for _ in 0..30 {
        let before = bad();
        std::thread::sleep(Duration::from_secs(2));
        if before > 0 && bad() == before {
            return (server, started);
        }
    }
    panic!("no rule has stopped it");
}

/// What has stopped the load stays what is told of it, whoever then ended its journeys.
fn assert_cut(run: &Run) {
    let aborted = &run.document["aborted"];
    assert!(aborted["guard"].is_null() && aborted["rule"] == "errors > 5% for 1s", "{aborted}");
    assert!(run.count("/journeys/0/account/unfinished") > 0 && run.withheld() > 0, "{run:?}");
    assert_eq!(run.count("/journeys/0/account/completed"), 0);
    run.assert_accounts();
}

#[test]
fn a_guard_ends_journeys_that_a_rule_has_let_go_on() {
    let server = crate::support::bus::server().display().to_string();
    for more in [&[][..], &["--agents", "local:2", "--nats-server", &server]] {
        let place = Place::new();
        let (_server, started) = stopped_by_a_rule(&place, more);
        place.file("kill", "");
        let run = started.wait().run();
        assert_eq!((run.at("/status"), run.code), (&"aborted".into(), Some(1)), "{more:?} {run:?}");
        assert_cut(&run);
    }
}

#[test]
fn its_user_ends_journeys_that_a_rule_has_let_go_on() {
    let place = Place::new();
    let (_server, started) = stopped_by_a_rule(&place, &[]);
    started.signal(Signal::INT);
    let run = started.wait().run();
    assert_eq!((run.at("/status"), run.code), (&"interrupted".into(), Some(130)), "{run:?}");
    assert_cut(&run);
}

/// Whoever leads agents is heard after a rule, too.
#[test]
fn the_user_of_all_agents_ends_journeys_that_a_rule_has_let_go_on() {
    let (place, server) = (Place::new(), crate::support::bus::server().display().to_string());
    let (_server, started) = stopped_by_a_rule(&place, &["--agents", "local:2", "--nats-server", &server]);
    started.signal(Signal::INT);
    assert_cut(&started.wait().run());
}

/// What would follow is load, too: no journey goes on to its second step.
#[test]
fn a_guard_ends_journeys_that_are_under_way() {
    let server = Hostile::start(|_| Act::Answer(ok()));
    let place = Place::new();
    let steps = "[[journeys.steps]]\nurl = \"/one\"\n[[journeys.steps]]\nurl = \"/two\"\n";
    let journey = format!("[[journeys]]\nname = \"j\"\nthink = \"5s\"\n{steps}");
    place.file(
        "plan.toml",
        format!("[load]\nrate = 20\nduration = \"30s\"\n[guards]\nbudget-time = \"1s\"\n{journey}"),
    );
    let run = place.measure(&["plan.toml", &server.url(), "--no-preflight"]);
    assert_eq!(
        (run.at("/status"), run.at("/aborted/guard")),
        (&"aborted".into(), &"budget_time".into()),
        "{run:?}"
    );
    assert_eq!((run.withheld(), run.arrivals("scheduled")), (580, 600), "{run:?}");
    run.assert_accounts();
    assert!(server.seen().iter().all(|seen| seen.target == "/one"), "{:?}", server.seen().len());
}

#[test]
fn a_search_that_a_guard_stops_gives_no_answer() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy"]);
    let flags = ["--slo", "p99 < 1s", "--start", "20", "--budget-requests", "10", "--json", "-o", "out"];
    let said = place.call(&[&["knee", lab.url.as_str()], &flags[..]].concat()).run();
    assert_eq!((said.code, said.at("/refused/code")), (Some(3), &"guard".into()), "{:#}", said.document);
}

#[test]
fn requests_say_who_they_are_and_slow_ones_name_their_traces() {
    let server = Hostile::start(|_| Act::Answer(ok()));
    let place = Place::new();
    let flags = [
        "--name-requests",
        "nightly-7",
        "--traceparent",
        "--trace-link",
        "https://t.test/{trace_id}",
        "--no-preflight",
    ];
    let run = place.measure(&[&[server.url().as_str()], &LOAD[..], &flags].concat());
    let seen = server.seen();
    let traces: Vec<&str> = seen.iter().filter_map(|seen| seen.header("traceparent")).collect();
    assert_eq!((seen.len(), traces.len()), (10, 10));
    assert!(seen.iter().all(|seen| seen.header("x-load-test") == Some("nightly-7")));
    assert!(
        seen.iter().all(|seen| seen.header("user-agent").is_some_and(|agent| agent.contains("(nightly-7)")))
    );
    let slow = run.at("/slowest").as_array().expect("a list");
    for one in slow {
        let id = one["trace_id"].as_str().expect("a trace");
        assert_eq!(traces.iter().filter(|trace| trace.split('-').nth(1) == Some(id)).count(), 1, "{id}");
        assert_eq!(one["trace_link"], format!("https://t.test/{id}"));
    }
    assert!(!slow.is_empty() && place.text("out/report.html").contains("https://t.test/"));
    let report = place.call(&["report", "out", "--json"]).run();
    assert_eq!(report.at("/slowest"), run.at("/slowest"), "the folder says the same");
    let link = ["--trace-link", "https://t.test/{trace_id}"];
    place
        .call(&[&["run", &server.url()], &LOAD[..], &link].concat())
        .refused(&["--trace-link", "add --traceparent"]);
}

/// It is told, and the load goes on.
#[test]
fn a_target_that_asks_to_wait_is_heard() {
    for (header, asked) in [("Retry-After: 30\r\n", 10), ("X-Retry-After: 30\r\n", 0)] {
        let busy = format!("HTTP/1.1 503 Busy\r\n{header}Content-Length: 0\r\n\r\n").into_bytes();
        let server = Hostile::start(move |_| Act::Answer(busy.clone()));
        let run = Place::new().measure(&[&[server.url().as_str()], &LOAD[..], &["--no-preflight"]].concat());
        assert_eq!(run.document["origins"][0]["connections"]["asked_to_wait"].as_u64().unwrap_or(0), asked);
        assert_eq!((run.has_finding("asked_to_wait"), run.arrivals("failed")), (asked > 0, 10), "{run:?}");
    }
}
