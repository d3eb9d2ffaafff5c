//! Agents offer one load together: the real binary over a real nats-server.

use crate::support::bus::{Bus, server};
use crate::support::hostile::{Act, Hostile, answer, healthy};
use crate::support::{Place, Started, finish};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::time::{Duration, Instant};
use unblink_cluster::signed::KeyPair;

const SHOP: &str = r#"
[load]
rate = 300
arrivals = "poisson"
duration = "2s"
seed = 7

[let]
item = "zipf(1M)"
user = "csv(data/users.csv)"

[[requests]]
share = "80%"
url = "/items/{{item}}?by={{user.id}}"

[[requests]]
share = "20%"
url = "/orders"
json = { n = "{{number(item)}}" }
"#;

/// A folder with all that the shop's run reads.
fn shop() -> Place {
    let place = Place::new();
    place.file("shop.toml", SHOP);
    place.file("data/users.csv", "id\nanne\nbob\ncleo\n");
    place
}

/// `local:4` is one run of the same seed, arrival for arrival, and its folder is what `unblink merge` makes of the agents'.
#[test]
fn four_agents_here_send_what_one_machine_sends() {
    let (target, place) = (healthy(), shop());
    let nats = server().display().to_string();
    let args = ["shop.toml", &target.url(), "--no-preflight", "--agents", "local:4", "--nats-server", &nats];
    let merged = place.measure(&args);
    merged.assert_all("ok");
    assert_eq!(merged.at("/agents/3/of"), &json!(4));
    for agent in 0..4 {
        assert!(merged.at(&format!("/agents/{agent}/clock_error_ns")).as_u64().is_some_and(|ns| ns > 0));
        assert_eq!(merged.at(&format!("/agents/{agent}/start_at")), merged.at("/started_at"));
    }
    assert!(!merged.has_finding("agents_lost"), "{}", merged.stderr);

    let (other, alone) = (healthy(), shop());
    let whole = alone.measure(&["shop.toml", &other.url(), "--no-preflight"]);
    assert_eq!(merged.arrivals("scheduled"), whole.arrivals("scheduled"));
    assert!(target.asked() == other.asked(), "the same requests");
    // And as many of them fall due in the same seconds.
    let due = [due_until(&place), due_until(&alone)];
    let both = due[0].keys().filter(|end| due[1].contains_key(end)).count();
    assert!(both > 0 && due[0].iter().all(|(end, n)| due[1].get(end).is_none_or(|m| m == n)), "{due:?}");

    let parts: Vec<String> =
        place.list("out.agents").iter().map(|name| format!("out.agents/{name}")).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    assert_eq!(parts.len(), 4);
    // Many folders need more files at once than a shell allows by itself.
    let merge = |parts: &[&str], to| {
        let args = [&["merge"], parts, &["-o", to, "--json", "--no-store"]].concat();
        finish(&mut place.shell("ulimit -Sn 12", &args)).run()
    };
    merge(&parts, "again");
    // The same in two steps. Of each half, the other one is not known.
    for (half, to) in [(&parts[..2], "one"), (&parts[2..], "other")] {
        let node = merge(half, to);
        assert!(node.has_finding("agents_lost") && node.code == Some(3), "{node:?}");
    }
    merge(&["other", "one"], "by halves");
    for (file, other) in ["run.json", "intervals.jsonl", "intervals.hlog"]
        .into_iter()
        .flat_map(|file| ["again", "by halves"].map(|other| (file, other)))
    {
        assert!(
            place.text(&format!("out/{file}")) == place.text(&format!("{other}/{file}")),
            "{other}: {file}"
        );
    }
    // Nothing else is left behind.
    let all = place.list(".");
    assert!(!all.iter().any(|name| name == "out.local"), "{all:?}");
}

/// How many arrivals had fallen due, by the ends of full seconds. On a busy machine one may be missing.
fn due_until(place: &Place) -> BTreeMap<u64, u64> {
    let mut sum = 0;
    let text = place.text("out/intervals.jsonl");
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let intervals = lines.filter(|line| line["length_ns"].is_u64());
    let all = intervals.map(|line| {
        let number =
            |at: &str| line.pointer(at).and_then(Value::as_u64).unwrap_or_else(|| panic!("{at} {line}"));
        sum += number("/measured/due");
        (number("/start_ns") + number("/length_ns"), sum)
    });
    all.filter(|(end, _)| end % 1_000_000_000 == 0).collect()
}

/// Agents fetch the plan and what it names, give what they measured back, and leave.
#[test]
fn agents_elsewhere_fetch_what_the_run_reads() {
    let (target, place, away) = (healthy(), shop(), Place::new());
    let bus = Bus::start(&place);
    let agents = [
        bus.agent(&away, "one", &[]),
        bus.agent(&away, "two", &["--shares", "2", "--allow-target", "127.0.0.1"]),
    ];
    let said = bus.run(&place, "2", &["shop.toml", &target.url(), "--no-preflight"]).wait();
    let merged = said.run();
    merged.assert_all("ok");
    assert_eq!(merged.at("/plan/threads"), &json!(3));
    for agent in agents {
        let said = agent.wait();
        assert_eq!(said.code(), Some(0), "{said:?}");
    }
    let (other, alone) = (healthy(), shop());
    alone.measure(&["shop.toml", &other.url(), "--no-preflight"]);
    assert!(target.asked() == other.asked(), "the same requests");
    assert_eq!(away.list("."), ["one", "two"], "what was fetched is gone");
    // Their own folders say the same as what came over the bus.
    away.call(&["merge", "two", "one", "-o", "out", "--json"]).run();
    assert!(away.text("out/run.json") == place.text("out/run.json"));
    let log = place.text("out/cluster.jsonl");
    assert!(log.starts_with(r#"{"run":"#) && log.contains(r#""lost":false"#), "{log}");
}

/// What a dead agent has not told is lost, and the run is no pass.
#[test]
fn an_agent_that_dies_is_lost() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let (dies, stays) = (bus.agent(&place, "dies", &[]), bus.agent(&place, "stays", &[]));
    let args = [&target.url(), "-R", "100", "-d", "5s", "--no-preflight", "--slo", "p99 < 10s"];
    let run = bus.run(&place, "2", &args);
    target.wait_for(250);
    dies.signal(Signal::KILL);
    let said = run.wait();
    assert_eq!(said.code(), Some(3), "{said:?}");
    assert!(said.stderr.contains("is lost: nothing was heard of it for 6 s"), "{}", said.stderr);
    let merged = said.run();
    assert_eq!(merged.arrivals("scheduled"), 500);
    assert!(merged.arrivals("lost") > 0 && merged.arrivals("ok") >= 250, "{}", merged.document["arrivals"]);
    assert!(merged.has_finding("agents_lost"));
    assert_eq!(merged.at("/verdict/status"), "inconclusive");
    assert_eq!(stays.wait().code(), Some(0));
}

/// Who says beforehand that one may be lost gets ranges, and a verdict where they allow one.
#[test]
fn an_agent_that_may_be_lost_leaves_a_verdict() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let (dies, stays) = (bus.agent(&place, "dies", &[]), bus.agent(&place, "stays", &[]));
    let objectives = ["--slo", "p50 < 10s", "--slo", "p99.9 < 10s", "--slo", "max < 1h"];
    let args = [&target.url(), "-R", "100", "-d", "5s", "--no-preflight", "--tolerate-lost", "1"];
    let run = bus.run(&place, "2", &[&args[..], &objectives].concat());
    target.wait_for(350);
    dies.signal(Signal::KILL);
    let said = run.wait();
    let merged = said.run();
    assert_eq!(merged.at("/validity/status"), "degraded", "{}", merged.document["validity"]);
    let lost = merged.arrivals("lost");
    assert!((1..200).contains(&lost), "{lost}");
    let status = |place: usize| merged.at(&format!("/verdict/slos/{place}/status")).clone();
    // Fewer than half of all are lost. What was answered at once or never decides p99.9, and one that never came the maximum.
    assert_eq!([status(0), status(1), status(2)], ["pass", "inconclusive", "inconclusive"]);
    let quantiles = &merged.document["response_time"]["quantiles"];
    let quantile = |place: usize, end: &str| &quantiles[place][end];
    assert!(quantile(0, "if_lost_never").is_u64() && quantile(7, "if_lost_never").is_null());
    assert!(quantile(7, "if_lost_at_once").is_u64());
    let shown = place.call(&["report", "out"]).stdout;
    assert!(shown.contains(&format!("whatever became of the {lost} lost arrivals: p50 ")), "{shown}");
    assert_eq!(stays.wait().code(), Some(0));
}

/// No load goes on without somebody who leads it.
#[test]
fn without_a_coordinator_load_ends() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let agent = bus.agent(&place, "own", &[]);
    let run = bus.run(&place, "1", &[&target.url(), "-R", "100", "-d", "40s", "--no-preflight"]);
    target.wait_for(100);
    run.signal(Signal::KILL);
    run.wait();
    let killed = Instant::now();
    let (mut seen, mut last_sent) = (target.seen().len(), Duration::ZERO);
    let own = (0..1_200).find_map(|_| {
        std::thread::sleep(Duration::from_millis(25));
        let now = target.seen().len();
        if now > seen {
            (seen, last_sent) = (now, killed.elapsed());
        }
        let text = std::fs::read_to_string(place.path().join("own/run.json")).ok()?;
        let run: Value = serde_json::from_str(&text).ok()?;
        (run["status"] == "aborted").then_some(run)
    });
    let own = own.expect("its load ends");
    assert_eq!(own["aborted"]["guard"], "lease", "{own}");
    let at_s = own["aborted"]["at_ns"].as_u64().expect("a time") as f64 / 1e9;
    let arrivals = &own["arrivals"];
    assert!(at_s < 30.0 && arrivals["withheld"].as_u64().is_some_and(|n| n > 0), "{at_s} {arrivals}");
    // As the target saw it: the lease is 5 s, and the machine may be busy.
    assert!(last_sent <= Duration::from_secs(8), "{last_sent:?} after its coordinator was gone");
    assert_eq!(target.seen().len(), seen, "nothing is sent any more");
    agent.signal(Signal::KILL);
    agent.wait();
}

/// Ctrl-C stops all of them at one instant.
#[test]
fn an_interruption_stops_all_agents() {
    let (target, place) = (healthy(), Place::new());
    let nats = server().display().to_string();
    let args = [&target.url(), "-R", "100", "-d", "40s", "--agents", "local:2", "--nats-server", &nats];
    let run = place.start(&args);
    target.wait_for(150);
    run.signal(Signal::INT);
    let said = run.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    let run = said.run();
    assert_eq!(run.arrivals("scheduled"), 4_000);
    assert_eq!(run.arrivals("ok") + run.arrivals("withheld"), 4_000, "{}", run.document["arrivals"]);
    assert!(run.arrivals("withheld") > 2_000 && !run.has_finding("agents_lost"));
    assert_eq!(run.at("/aborted/guard"), "coordinator");
}

/// Who is told to go ends its load, gives its record back and does not look as if it had done all of it; the others go on.
#[test]
fn an_agent_that_is_ended_early_says_so() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let (goes, stays) = (bus.agent(&place, "goes", &[]), bus.agent(&place, "stays", &[]));
    let args = [&target.url(), "-R", "100", "-d", "8s", "--no-preflight"];
    let mut run = bus.run(&place, "2", &args);
    target.wait_for(200);
    goes.signal(Signal::TERM);
    let said = goes.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    assert!(said.stderr.contains("the record has been fetched"), "{said:?}");
    assert!(run.is_running(), "the others go on");
    assert_eq!(stays.wait().code(), Some(0));
    let merged = run.wait().run();
    let findings = merged.at("/validity/findings").as_array().expect("a list");
    let lost = findings.iter().find(|finding| finding["code"] == "agents_lost").expect("one was stopped");
    assert_eq!(lost["severity"], "degrades", "{lost}");
    assert_eq!(merged.arrivals("ok") + merged.withheld(), 800, "{}", merged.document["arrivals"]);
    assert!(merged.withheld() > 0);
}

/// Whoever is told to go while its record is still to be fetched stays for so long.
#[test]
fn a_record_is_fetched_before_an_agent_goes() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let mut agent = bus.agent(&place, "own", &[]);
    let run = bus.run(&place, "1", &[&target.url(), "-R", "100", "-d", "3s", "--no-preflight"]);
    target.wait_for(150);
    run.signal(Signal::STOP);
    target.wait_for(300);
    std::thread::sleep(Duration::from_millis(500));
    agent.signal(Signal::TERM);
    std::thread::sleep(Duration::from_secs(1));
    assert!(agent.is_running(), "its record is still to be fetched");
    run.signal(Signal::CONT);
    let said = agent.wait();
    assert_eq!(said.code(), Some(0), "its load had ended by itself: {said:?}");
    assert!(said.stderr.contains("waiting until the record is fetched"), "{said:?}");
    assert_eq!(run.wait().run().arrivals("ok"), 300);
}

/// Where all are started together, the bus may be the last.
#[test]
fn a_bus_may_come_late() {
    let (target, place) = (healthy(), Place::new());
    let operator = KeyPair::new_user();
    place.file("operator.nk", operator.seed().expect("a private key"));
    let port = TcpListener::bind("127.0.0.1:0").expect("a free port").local_addr().expect("it").port();
    let (url, key) = (format!("nats://127.0.0.1:{port}"), operator.public_key());
    let of_bus = ["--bus", &url, "--bus-within", "30s"];
    let agent = ["agent", "--accept-from", &key, "--shares", "1", "-o", "own"];
    let agent = Started::spawn(&mut place.command(&[&agent[..], &of_bus].concat()));
    let run = ["--agents", "1", "--agents-within", "5m", "--nkey", "operator.nk", "--no-preflight"];
    let run = place.start(&[&[&target.url(), "-R", "100", "-d", "1s"], &run[..], &of_bus].concat());
    std::thread::sleep(Duration::from_secs(2));
    let _bus = Bus::start_at(&place, &port.to_string(), operator);
    run.wait().run().assert_all("ok");
    assert_eq!(agent.wait().code(), Some(0));
}

/// Agents are waited for as long as was said, and no longer.
#[test]
fn agents_that_do_not_come() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let args = [&target.url(), "-R", "100", "-d", "1s", "--agents-within", "1500ms"];
    let said = bus.run(&place, "2", &args).wait();
    assert_eq!(said.code(), Some(3), "{said:?}");
    assert!(said.stderr.contains("0 of 2 agents came within 1.5 s: start the others"), "{said:?}");
}

/// A stranger's word is no order; the target's refusal is the target's.
#[test]
fn who_is_not_accepted_is_not_obeyed() {
    let (target, place) = (Hostile::start(|_| Act::Answer(answer("403 Forbidden", "no"))), Place::new());
    let bus = Bus::start(&place);
    let theirs = KeyPair::new_user().public_key();
    let mut deaf = bus.agent_for(&place, "deaf", &theirs, &[]);
    let args = [&target.url(), "-R", "100", "-d", "1s", "--expect", "status=200"];
    let said = bus.run(&place, "1", &args).wait();
    assert_eq!(said.code(), Some(3), "{said:?}");
    let own = bus.operator.public_key();
    for part in [format!("it accepts the key {theirs}"), format!("--accept-from {own}")] {
        assert!(said.stderr.contains(&part), "{part}: {}", said.stderr);
    }
    assert!(deaf.is_running() && target.seen().is_empty(), "it waits for somebody else");
    deaf.signal(Signal::KILL);
    deaf.wait();

    let agent = bus.agent(&place, "asks", &[]);
    let said = bus.run(&place, "1", &args).wait();
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(said.stderr.contains("the request before the run failed"), "{}", said.stderr);
    assert_eq!(agent.wait().code(), Some(1));
}

#[test]
fn what_can_not_be_led_is_refused() {
    let place = Place::new();
    let run =
        |more: &[&str]| place.call(&[&["run", "http://127.0.0.1:9/", "-R", "10", "-d", "1s"], more].concat());
    run(&["--agents", "0"]).refused(&["number of agents"]);
    run(&["--agents", "2"]).refused(&["operator's private nkey"]);
    run(&["--agents", "local:2", "--bus", "nats://127.0.0.1:4222"]).refused(&["has a bus of its own"]);
    run(&["--agents", "local:2", "-t", "2"]).refused(&["--threads", "exclude"]);
    run(&["--agents", "local:2", "--nats-server", "nowhere"]).refused(&["the file does not exist"]);
    place.file("operator.nk", KeyPair::new_user().seed().expect("a private key"));
    let led = ["--agents", "2", "--nkey", "operator.nk"];
    run(&led).refused(&["name the bus"]);
    run(&[&led[..], &["--bus", "nats://127.0.0.1:1"]].concat())
        .refused(&["can't connect to the bus", "wait for the bus with --bus-within"]);
    run(&[&led[..], &["--bus", "http://x"]].concat()).refused(&["nats://HOST:4222"]);
    run(&[&led[..], &["--bus", "tls://a:4222,tls://b:4222"]].concat()).refused(&["--bus takes one URL"]);
    run(&[&led[..], &["--bus", "nats://127.0.0.1:1", "--fleet", "a.b"]].concat()).refused(&["fleet"]);
    run(&[&led[..], &["--bus", "nats://127.0.0.1:1", "-H", "Authorization: Bearer x"]].concat())
        .refused(&["the value of the header Authorization may be a secret", "${NAME}"]);
    // What is harmless, and what is the coordinator's own, gets as far as the bus.
    let elsewhere = [&led[..], &["--bus", "nats://127.0.0.1:1"]].concat();
    for harmless in [
        &["-H", "X-Page: 3", "--body", "hello"][..],
        &["--store", "postgres://me@127.0.0.1:1/runs"],
        &["--csv", "-"],
    ] {
        run(&[&elsewhere[..], harmless].concat()).refused(&["can't connect to the bus"]);
    }
    run(&[&elsewhere[..], &["--bus-ca", "nowhere.pem"]].concat()).refused(&["--bus-ca needs tls://"]);
    run(&[&elsewhere[..], &["--nats-server", "nowhere"]].concat()).refused(&["--agents local:N starts"]);
    for of_a_bus in [["--fleet", "a.b"], ["--bus-ca", "nowhere.pem"], ["--bus-within", "1s"]] {
        run(&[&["--agents", "local:2"], &of_a_bus[..]].concat())
            .refused(&["has a bus of its own", of_a_bus[0]]);
    }
    run(&["--agents", "local:1", "--nats-server", "/bin/true", "-o", "none"])
        .refused(&["the bus does not start", "it has ended, and said nothing"]);
    place.file("empty.nk", "");
    run(&["--agents", "2", "--nkey", "empty.nk", "--bus", "nats://127.0.0.1:1"])
        .refused(&["no private nkey"]);
    place.call(&["agent", "--bus", "nats://127.0.0.1:1"]).refused(&["--accept-from"]);
    place
        .call(&["agent", "--bus", "nats://127.0.0.1:1", "--accept-from", "SUA"])
        .refused(&["looks like a private nkey"]);
    let accepts = KeyPair::new_user().public_key();
    place
        .call(&["agent", "--bus", "nats://127.0.0.1:1", "--accept-from", &accepts, "--bus-ca", "nowhere.pem"])
        .refused(&["--bus-ca needs tls://"]);
    run(&["--bus", "nats://127.0.0.1:1"]).refused(&["--bus is for a run of agents"]);
    run(&["--bus-within", "1m"]).refused(&["--bus-within is for a run of agents"]);
    run(&["--agents-within", "1m"]).refused(&["--agents"]);
    run(&["--agents", "local:2", "--agents-within", "0"]).refused(&["waits for no agent", "60s"]);
    run(&["--tolerate-lost", "1"]).refused(&["of several machines", "--agents", "--share"]);
    run(&["--agents", "local:2", "--tolerate-lost", "0"]).refused(&["1..=1024"]);
    // Each agent needs one, which is known before there is a bus.
    run(&["--agents", "local:4", "-c", "2", "--nats-server", "nowhere"]).refused(&[
        "2 connections can't be dealt to 4 agents",
        "raise -c",
        "--agents local:2",
    ]);
    place
        .call(&[
            "run",
            "http://127.0.0.1:9/",
            "--closed",
            "2",
            "--agents",
            "local:4",
            "--nats-server",
            "nowhere",
        ])
        .refused(&["2 users can't be dealt to 4 agents: each needs one (let", "--agents local:2"]);
    place
        .call(&["knee", "http://127.0.0.1:9/", "--slo", "p99 < 1s", "-c", "2", "--agents", "local:4"])
        .refused(&["2 connections can't be dealt to 4 agents"]);
    place
        .call(&["knee", "http://127.0.0.1:9/", "--slo", "p99 < 1s", "--tolerate-lost", "1"])
        .refused(&["for unblink run and unblink signoff"]);
    let said = place.call(&["signoff", "plan.toml", "--tolerate-lost", "1"]);
    said.refused(&["of several machines", "--agents"]);
    assert!(!said.stderr.contains("--share"), "a sign-off has none: {said:?}");
    place
        .call(&["run", "--targets", "-", "-R", "10", "--agents", "local:1"])
        .refused(&["standard input is read once"]);
    run(&[&led[..], &["--bus", "nats://127.0.0.1:1", "--cacert", "ca.pem"]].concat())
        .refused(&["are files of this machine"]);
    // Somebody's folder is nobody else's to take away.
    place.file("mine.local/thesis.txt", "precious");
    run(&["--agents", "local:1", "--nats-server", "nowhere", "-o", "mine"]).refused(&[
        "is in the way",
        "unblink merge mine.local/agent-*",
        "--agents-resume",
        "-o",
    ]);
    assert_eq!(place.text("mine.local/thesis.txt"), "precious");
    std::fs::remove_dir_all(place.path().join("mine.local")).expect("it is there");
    let mut all = place.list(".");
    all.retain(|name| !name.ends_with(".nk"));
    assert_eq!(all, Vec::<String>::new(), "nothing is left behind");
}
