//! A coordinator dies, and the same command takes its run up.

use crate::support::bus::Bus;
use crate::support::hostile::{Hostile, healthy};
use crate::support::{Place, Said, Started};
use rustix::process::Signal;
use std::time::Duration;

/// Two agents that were given a load of 8 s, and whose coordinator has died in it.
fn abandoned(bus: &Bus, place: &Place, target: &Hostile) -> [Started; 2] {
    let agents = [bus.agent(place, "one", &[]), bus.agent(place, "two", &[])];
    let run = bus.run(place, "2", &load(&target.url()));
    target.wait_for(150);
    run.signal(Signal::KILL);
    run.wait();
    agents
}

fn load(url: &str) -> [&str; 6] {
    [url, "-R", "100", "-d", "8s", "--no-preflight"]
}

fn taken_up(bus: &Bus, place: &Place, target: &Hostile) -> Said {
    bus.run(place, "2", &[&load(&target.url())[..], &["--agents-resume"]].concat()).wait()
}

/// All of the load, by both agents.
#[track_caller]
fn assert_whole(said: Said, agents: [Started; 2]) {
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(said.stderr.contains("going on with the run whose coordinator has died"), "{}", said.stderr);
    let whole = said.run();
    assert_eq!(whole.arrivals("scheduled"), 800);
    whole.assert_all("ok");
    for agent in agents {
        assert_eq!(agent.wait().code(), Some(0));
    }
}

/// Before their leases end, agents are told to go on, and nobody sees that anything was.
#[test]
fn a_coordinator_that_comes_back_at_once_goes_on() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let agents = abandoned(&bus, &place, &target);
    let said = taken_up(&bus, &place, &target);
    assert_whole(said, agents);
    assert!(!place.list("out.agents").iter().any(|name| name.starts_with("coordinator")), "it is over");
    // The folder of all is what the agents' own come to.
    place.call(&["merge", "one", "two", "-o", "again", "--json"]).run();
    for file in ["run.json", "intervals.jsonl", "intervals.hlog"] {
        assert!(place.text(&format!("out/{file}")) == place.text(&format!("again/{file}")), "{file}");
    }
}

/// The bus's disk has gone with it: agents send what the one before had got.
#[test]
fn a_coordinator_that_finds_another_bus_has_all_records() {
    let (target, place) = (healthy(), Place::new());
    let mut bus = Bus::start(&place);
    let agents = abandoned(&bus, &place, &target);
    bus.gone_with_its_disk_for(Duration::ZERO);
    let said = taken_up(&bus, &place, &target);
    assert!(said.stderr.contains("the bus has lost what it kept"), "{}", said.stderr);
    assert_whole(said, agents);
}

/// When it comes too late, load has ended, and what was recorded until then still comes in.
#[test]
fn a_coordinator_that_comes_back_late_gathers_what_there_is() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let agents = abandoned(&bus, &place, &target);
    let other =
        bus.run(&place, "2", &[&target.url(), "-R", "99", "-d", "8s", "--no-preflight", "--agents-resume"]);
    other.wait().refused(&["belongs to another command"]);
    std::thread::sleep(Duration::from_secs(6));
    let said = taken_up(&bus, &place, &target);
    assert_eq!(said.code(), Some(3), "{said:?}");
    let whole = said.run();
    let (ok, withheld) = (whole.arrivals("ok"), whole.withheld());
    assert!(ok >= 150 && withheld > 0 && ok + withheld == 800, "{}", whole.document["arrivals"]);
    for agent in agents {
        agent.wait();
    }
}

#[test]
fn what_can_not_be_taken_up_is_refused() {
    let place = Place::new();
    let url = "http://127.0.0.1:1/";
    let elsewhere = ["--agents", "2", "--bus", "nats://127.0.0.1:1", "--nkey", "no.nk", "--agents-resume"];
    let refused = |words: &[&str], why: &str| place.call(words).refused(&[why]);
    refused(&[&["run", url, "-R", "9"], &elsewhere[..]].concat(), "needs the folder of the run");
    refused(&[&["knee", url, "--slo", "p99 < 1s"], &elsewhere[..]].concat(), "is for unblink run");
    let here = ["run", url, "-R", "9", "--agents", "local:2", "--agents-resume", "-o", "out"];
    refused(&here, "is for agents elsewhere");
    refused(&["run", url, "-R", "9", "--agents-resume"], "--agents");
}

/// What the bus has handed to a coordinator that stood still comes again soon.
#[test]
fn a_coordinator_that_stands_still_for_a_moment_has_all_records() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let agents = [bus.agent(&place, "one", &[]), bus.agent(&place, "two", &[])];
    let run = bus.run(&place, "2", &load(&target.url()));
    target.wait_for(150);
    run.signal(Signal::STOP);
    std::thread::sleep(Duration::from_millis(2_300));
    run.signal(Signal::CONT);
    let said = run.wait();
    assert_eq!(said.code(), Some(0), "{said:?}");
    assert!(!said.stderr.contains("can't keep a record"), "{}", said.stderr);
    let whole = said.run();
    assert_eq!(whole.arrivals("scheduled"), 800);
    whole.assert_all("ok");
    for agent in agents {
        assert_eq!(agent.wait().code(), Some(0));
    }
}
