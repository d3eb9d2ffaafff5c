//! What agents measure together may end their load: rules, and guards of who leads them.

use crate::support;
use crate::support::bus::{Bus, server};
use crate::support::hostile::{Act, Hostile, Seen, ok};
use crate::support::{Place, Run, Started};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

/// Two machines that fill in what is their own.
const PLAN: &str = r#"
[load]
rate = 200
duration = "20s"

[[requests]]
url = "/"
header = ["X-Who: ${WHO}"]
"#;

/// Fails all requests of one of two agents. Gives what the run came to.
fn one_of_two_fails(rule: &str) -> Run {
    let who = |seen: &Seen| seen.header("x-who").map(str::to_string);
    let target = Hostile::start(move |seen| match who(seen).as_deref() {
        Some("b") => Act::Close,
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    let bus = Bus::start(&place);
    let agents = ["a", "b"].map(|who| {
        let key = bus.operator.public_key();
        let args = ["agent", "--bus", &bus.url, "--accept-from", &key, "-o", who, "--shares", "1"];
        Started::spawn(place.command(&args).env("WHO", who))
    });
    place.file("plan.toml", PLAN);
    let (url, led) = (target.url(), ["--agents", "2", "--bus", &bus.url, "--nkey", "operator.nk"]);
    let args = ["run", "plan.toml", &url, "--no-preflight", "--json", "-o", "out", "--abort-on", rule];
    let short = if rule.contains("60%") { &["-d", "4s"][..] } else { &[] };
    let run = Started::spawn(place.command(&[&args[..], &led, short].concat()).env("WHO", "nobody"));
    let run = run.wait().run();
    agents.into_iter().for_each(|agent| drop(agent.wait()));
    run
}

/// Half of all requests fail: all of one machine's, and none of the other's.
#[test]
fn a_rule_is_held_against_the_figures_of_all() {
    let run = one_of_two_fails("errors > 60% for 1s");
    assert_eq!((run.at("/status"), run.arrivals("scheduled")), (&"complete".into(), 800), "{run:?}");
    assert_eq!(run.arrivals("ok"), 400);

    let rule = "errors > 40% for 1s";
    let run = one_of_two_fails(rule);
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!((run.at("/status"), run.at("/aborted/rule")), (&"aborted".into(), &rule.into()));
    assert!(run.document["aborted"]["guard"].is_null() && !run.has_finding("agents_lost"), "{run:?}");
    assert_eq!(run.arrivals("scheduled"), 4_000);
    assert!(run.withheld() > 0 && run.arrivals("ok") > 0, "{run:?}");
    run.assert_accounts();
}

/// Nothing is ever answered: those who wait are all that is known, and they are enough.
#[test]
fn a_rule_sees_those_who_wait() {
    let target = Hostile::start(|_| Act::AnswerAfter(Duration::from_secs(300), ok()));
    let nats = server().display().to_string();
    let rule = "p99 > 500ms for 1s";
    let args = [&target.url(), "-R", "100", "-d", "50s", "-c", "100", "--timeout", "60s", "--drain", "1s"];
    let agents = ["--no-preflight", "--agents", "local:2", "--nats-server", &nats, "--abort-on", rule];
    let run = Place::new().measure(&[&args[..], &agents].concat());
    assert_eq!((run.at("/status"), run.at("/aborted/rule")), (&"aborted".into(), &rule.into()), "{run:?}");
    assert_eq!((run.arrivals("scheduled"), run.arrivals("ok")), (5_000, 0));
    assert!(run.withheld() > 2_500, "{run:?}");
}

/// Agents have no such file; who leads them has.
#[test]
fn a_kill_file_of_who_leads_stops_all() {
    let target = support::hostile::healthy();
    let place = Place::new();
    let bus = Bus::start(&place);
    let away = Place::new();
    let agents = [bus.agent(&away, "one", &[]), bus.agent(&away, "two", &[])];
    let args = [&target.url(), "-R", "100", "-d", "40s", "--kill-file", "kill", "--slo", "p50 < 10s"];
    let run = bus.run(&place, "2", &args);
    while target.seen().len() < 150 {
        std::thread::sleep(Duration::from_millis(25));
    }
    place.file("kill", "");
    let run = run.wait().run();
    assert_eq!((run.code, run.at("/aborted/guard")), (Some(3), &"kill_file".into()), "{run:?}");
    assert!(run.withheld() > 2_000, "{run:?}");
    run.assert_accounts();
    agents.into_iter().for_each(|agent| drop(agent.wait()));
    place
        .call(&["run", "--agents", "local:1", &target.url(), "-R", "1", "-d", "1s", "--kill-file", "kill"])
        .refused(&["remove it first"]);
}

/// Agents stay for all runs of a command, and leave when it is over.
#[test]
fn agents_are_there_for_each_trial_and_each_side() {
    let (target, place) = (support::hostile::healthy(), Place::new());
    let bus = Bus::start(&place);
    let started = || ["one", "two"].map(|name| bus.agent(&place, name, &[]));
    let led = ["--agents", "2", "--bus", &bus.url, "--nkey", "operator.nk"];
    let url = target.url();
    let left = |agents: [Started; 2]| {
        for agent in agents {
            let said = agent.wait();
            assert_eq!(said.code(), Some(0), "{said:?}");
        }
    };

    let agents = started();
    let search =
        ["--slo", "p99 < 5s", "--start", "50", "--within", "11s", "--settle", "1s", "--measure", "4s"];
    let brief = ["--measure-max", "4s", "--rest", "0s", "--json", "-o", "search"];
    let said = place.call(&[&["knee", &url][..], &search, &brief, &led].concat());
    let found: serde_json::Value = serde_json::from_str(&said.stdout).expect("a document");
    left(agents);
    let trials = found["trials"].as_array().expect("a list").len();
    // On a busy machine the first may show that the generator is the limit.
    assert!(trials >= 1, "{said:?}");
    let folders = place.list("search");
    assert!(folders.iter().filter(|name| name.ends_with(".agents")).count() >= trials, "{folders:?}");
    let first: serde_json::Value =
        serde_json::from_str(&place.text("search/trial-01/run.json")).expect("a document");
    assert_eq!(first["agents"].as_array().map(Vec::len), Some(2), "both of them");
    assert!(trials == 1 || place.list(".").contains(&format!("one-{trials}")), "a record for each");

    for name in place.list(".").into_iter().filter(|name| name.starts_with("one") || name.starts_with("two"))
    {
        std::fs::remove_dir_all(place.path().join(name)).expect("it is there");
    }
    let agents = started();
    let sides = ["compare", &url, &format!("{url}other"), "-R", "50", "-d", "2s", "--runs", "1"];
    let said = place.call(&[&sides[..], &["--json", "-o", "sides"], &led].concat());
    assert!(matches!(said.code(), Some(0 | 3)), "{said:?}");
    left(agents);
    let asked = |path: &str| target.seen().iter().filter(|seen| seen.target == path).count();
    assert!(asked("/other") >= 100, "{}", asked("/other"));
    // A run that does not count is done again.
    let both = place.list("sides/candidate");
    assert!(both.contains(&"1".to_string()) && both.contains(&"1.agents".to_string()), "{both:?}");
}

/// A sign-off has its agents for all stages, and lets them go.
#[test]
fn agents_are_there_for_all_stages() {
    let (target, place) = (support::hostile::healthy(), Place::new());
    let bus = Bus::start(&place);
    let agents = ["one", "two"].map(|name| bus.agent(&place, name, &[]));
    let stage = |name: &str, rate| {
        format!("[[stages]]\nkind = \"hold\"\nname = \"{name}\"\nrate = \"{rate}\"\nduration = \"2s\"\n")
    };
    let objectives = "[objectives]\nslo = [\"errors < 50%\"]\n";
    let plan =
        format!("target = \"{}\"\n{objectives}{}{}", target.url(), stage("low", 50), stage("high", 100));
    place.file("plan.toml", plan);
    let led = ["--agents", "2", "--bus", &bus.url, "--nkey", "operator.nk", "--json", "-o", "out"];
    let said = place.call(&[&["signoff", "plan.toml"], &led[..]].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    let document: serde_json::Value = serde_json::from_str(&said.stdout).expect("a document");
    assert_eq!(
        (&document["status"], &document["stages"][1]["status"]),
        (&"complete".into(), &"ended".into())
    );
    for agent in agents {
        let said = agent.wait();
        assert_eq!(said.code(), Some(0), "{said:?}");
    }
    let last: serde_json::Value =
        serde_json::from_str(&place.text("out/02-high/run.json")).expect("a document");
    assert_eq!(last["arrivals"]["ok"], 200, "{last}");
}

/// What has come of it counts, and the own record of the one that is dead is read before it is taken away.
#[test]
fn a_local_agent_that_dies_is_lost() {
    let (target, place) = (support::hostile::healthy(), Place::new());
    let nats = server().display().to_string();
    let args = [&target.url(), "-R", "100", "-d", "6s", "--no-preflight", "--agents", "local:2"];
    let run = place.start(&[&args[..], &["--nats-server", &nats]].concat());
    target.wait_for(250);
    kill_the_first_agent(&place);
    let run = run.wait().run();
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.has_finding("agents_lost") && run.arrivals("ok") >= 250, "{run:?}");
    assert_eq!(run.arrivals("scheduled"), 600);
    assert!(!place.list(".").contains(&"out.local".to_string()));
}

/// Without it all of them send less, and the target is not to blame for that.
#[test]
fn a_rule_on_a_rate_does_not_blame_the_target_for_a_lost_agent() {
    let (target, place) = (support::hostile::healthy(), Place::new());
    let nats = server().display().to_string();
    let args = [&target.url(), "-R", "200", "-d", "14s", "--no-preflight", "--agents", "local:2"];
    let rule = "achieved < 150/s for 2s";
    let more = ["--nats-server", &nats, "--tolerate-lost", "1", "--abort-on", rule];
    let run = place.start(&[&args[..], &more].concat());
    target.wait_for(300);
    kill_the_first_agent(&place);
    let said = run.wait();
    let told = said.stderr.clone();
    assert_eq!(told.matches("has held and stops nothing: from").count(), 1, "{told}");
    let run = said.run();
    assert_ne!(run.code, Some(1), "{run:?}");
    assert_eq!(run.at("/status"), "complete", "{run:?}");
    assert!(run.document["aborted"].is_null(), "{run:?}");
    assert!(run.has_finding("agents_lost") && run.arrivals("lost") > 400, "{run:?}");
    assert_eq!((run.arrivals("scheduled"), run.withheld()), (2_800, 0));
}

/// As a machine dies.
fn kill_the_first_agent(place: &Place) {
    let agents =
        std::process::Command::new("pgrep").args(["-f", "out.local/agent-1 ?"]).output().expect("pgrep");
    // Other tests have agents, too.
    let is_ours = |pid: &&str| {
        std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(place.path()))
    };
    let all = String::from_utf8(agents.stdout).expect("numbers");
    let first = all.lines().find(is_ours).and_then(|pid| pid.parse().ok()).expect("an agent");
    let first = rustix::process::Pid::from_raw(first).expect("a process");
    rustix::process::kill_process(first, rustix::process::Signal::KILL).expect("it is ours");
}

/// There is nothing left to stop, and the run has not passed all the same.
#[test]
fn a_rule_that_breaks_in_the_last_second_fails_the_run() {
    let target = Hostile::start(|_| Act::Close);
    let nats = server().display().to_string();
    let rule = ["--abort-on", "errors > 50% for 3s"];
    let args = [&target.url(), "-R", "100", "-d", "3s", "--no-preflight", "--agents", "local:2"];
    let (place, exported) = (Place::new(), ["--junit", "run.xml"]);
    let run = place.measure(&[&args[..], &["--nats-server", &nats], &rule, &exported].concat());
    assert_eq!(run.code, Some(1), "{run:?}");
    assert_eq!(
        (run.at("/status"), run.at("/aborted/rule")),
        (&"complete".into(), &rule[1].into()),
        "{run:?}"
    );
    let junit = place.text("run.xml");
    assert!(junit.contains("abort on errors") && !junit.contains("failures=\"0\""), "{junit}");
    let record: serde_json::Value = serde_json::from_str(&place.text("out/run.json")).expect("JSON");
    assert!(record["aborted"].is_null(), "the record is what the agents' come to: {}", record["aborted"]);
}

/// A stall and answers that never come are to users what the lab's exact model says, also where two agents offer the load. The server
/// judges the merged figures as it judges those of one machine.
#[test]
fn two_agents_measure_what_one_machine_measures() {
    let place = Place::new();
    let nats = server().display().to_string();
    // The lab's own definition of this program, as a run of agents.
    let definition = include_str!("../../lab/tools/unblink-open.toml")
        .replace("name = \"unblink-open\"", "name = \"agents\"")
        .replace("program = \"unblink\"", &format!("program = {:?}", env!("CARGO_BIN_EXE_unblink")))
        .replace(
            "\"--pacing\", \"precise\"",
            &format!("\"--agents\", \"local:2\", \"--nats-server\", {nats:?}"),
        );
    assert!(definition.contains("local:2") && definition.contains("name = \"agents\""), "{definition}");
    place.file("agents.toml", definition);
    let measured = |scenario: &str, length: &str| -> (Value, Value, Value) {
        let args = ["lab", "run", scenario, "--tools", "agents", "--tool", "agents.toml", "--length", length];
        let said = place.call(&[&args[..], &["-o", "lab", "--json"]].concat());
        assert_eq!(said.code(), Some(0), "{said:?}");
        let lab: Value = serde_json::from_str(&said.stdout).expect("JSON");
        let text = place.text(&format!("lab/{scenario}/agents/1/stdout.txt"));
        let own: Value = serde_json::from_str(&text).expect("the merged document");
        assert_eq!(own["agents"].as_array().map(Vec::len), Some(2), "{own}");
        (lab["rows"][0].clone(), lab["cells"][0].clone(), own)
    };
    let p99 = |of: &Value| {
        let all = of["percentiles"].as_array().expect("a list");
        all.iter().find(|line| line["q"] == 0.99).expect("a percentile").clone()
    };
    let (row, cell, own) = measured("stall", "3s");
    // Everything that was planned was sent, also while the server stalled.
    assert_eq!((&row["requests"], &row["planned"]), (&3_000.into(), &3_000.into()));
    assert_eq!(cell["offered"]["planned_in_events"], 50);
    assert!(cell["offered"]["seen_in_events"].as_u64().is_some_and(|seen| seen >= 30), "{cell:#}");
    // By the model: 50 ms of stall in 3 s. What is merged is at least what the server did.
    let of_stall = p99(&row);
    assert_eq!(of_stall["truth_low_ns"].as_u64().map(|ns| ns / 1_000_000), Some(28), "{of_stall:#}");
    let reported = of_stall["reported_ns"].as_u64().expect("a figure");
    let log = of_stall["log_ns"].as_u64().expect("a figure");
    assert!(reported >= log, "{of_stall:#}");
    // And no more than agents that wait for a processor may add, which they tell.
    let findings = own["validity"]["findings"].as_array().expect("a list");
    let is_starved =
        |finding: &Value| ["generator_late", "generator_paused"].iter().any(|code| finding["code"] == *code);
    let added_ms = if findings.iter().any(is_starved) { 1_000 } else { 50 };
    assert!(reported <= log + added_ms * 1_000_000, "{added_ms} ms, {of_stall:#}");
    let (_, cell, _) = measured("timeouts", "2s");
    assert_eq!((&cell["truth"]["timed_out"], &cell["offered"]["omitted"]), (&34.into(), &0.into()));
    let of_timeouts = p99(&cell);
    assert_eq!(
        (&of_timeouts["is_longer"], &of_timeouts["is_right"]),
        (&true.into(), &true.into()),
        "{cell:#}"
    );
}

/// What an agent lacks is known when it comes: it is offered nothing, and hears why.
#[test]
fn a_fleet_that_can_not_carry_a_plan_is_offered_none() {
    let place = Place::new();
    let bus = Bus::start(&place);
    let key = bus.operator.public_key();
    let agent = ["agent", "--bus", &bus.url, "--accept-from", &key, "-o", "own", "--shares", "1"];
    let agent = Started::spawn(&mut place.shell("ulimit -n 500", &agent));
    let target = support::hostile::healthy();
    let said = bus.run(&place, "1", &[&target.url(), "-R", "10", "-d", "1s", "-c", "2000000"]).wait();
    assert_eq!(said.code(), Some(3), "{said:?}");
    for part in [
        "with share 1 would open 2000000 connections",
        "(500 in all) suffice for 436",
        "ulimit -Hn",
        "lower -c",
    ] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    // It waits for another run.
    agent.signal(Signal::KILL);
    let said = agent.wait();
    assert!(!said.stderr.contains("taking part in a run"), "{said:?}");
    assert!(target.asked().is_empty());
}
