//! One agent of several is told to end by its own user: before the start, under load, and when its load is over.

use crate::support::bus::Bus;
use crate::support::hostile::{Act, Hostile, healthy, ok};
use crate::support::{Place, Started};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

/// It has offered all that it was to offer, and what is under way ends as it would.
#[test]
fn an_agent_whose_load_is_over_waits_for_answers_and_takes_nothing_from_the_run() {
    let target = Hostile::start(|_| Act::AnswerAfter(5_000 * MS, ok()));
    let place = Place::new();
    let bus = Bus::start(&place);
    let mut agent = bus.agent(&place, "own", &[]);
    let args = [&target.url(), "-R", "20", "-d", "1s", "--no-preflight", "--agents-stay"];
    let run = bus.run(&place, "1", &args);
    target.wait_for(20);
    std::thread::sleep(500 * MS);
    agent.signal(Signal::TERM);
    std::thread::sleep(500 * MS);
    assert!(agent.is_running(), "answers are under way");
    let said = agent.wait();
    assert_eq!(said.code(), Some(0), "it waits for no other run: {said:?}");
    let merged = run.wait().run();
    assert_eq!((merged.at("/status"), merged.arrivals("ok")), (&"complete".into(), 20), "{}", merged.stderr);
    let own: Value = serde_json::from_str(&place.text("own/run.json")).expect("a document");
    assert_eq!(own["status"], "complete");
}

/// The others counted on it. Without it they would offer another load than what was asked for.
#[test]
fn an_agent_that_is_ended_before_the_start_calls_the_others_off() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let (goes, stays) = (bus.agent(&place, "goes", &[]), bus.agent(&place, "stays", &[]));
    let run = bus.run(&place, "2", &[&target.url(), "-R", "100", "-d", "40s", "--no-preflight"]);
    // Begun some 2.4 s before the start; by the time of the signal the other one has confirmed it, too.
    while !place.path().join("goes/run.json").exists() {
        std::thread::sleep(10 * MS);
    }
    std::thread::sleep(600 * MS);
    goes.signal(Signal::TERM);
    assert_eq!(goes.wait().code(), Some(130));
    let said = run.wait();
    assert_eq!(said.code(), Some(3), "{said:?}");
    assert!(said.stderr.contains("a machine was told to end before the start"), "{said:?}");
    assert_eq!(stays.wait().code(), Some(0));
    let of = |folder: &str| -> Value {
        serde_json::from_str(&place.text(&format!("{folder}/run.json"))).expect("a document")
    };
    for (folder, is_whole) in [("goes", true), ("stays", false)] {
        let own = of(folder);
        assert_eq!(own["aborted"]["guard"], "late_start", "{folder}: {}", own["aborted"]);
        let withheld = own["arrivals"]["withheld"].as_u64().unwrap_or(0);
        assert!(withheld == 2_000 || !is_whole && withheld > 0, "{folder}: {}", own["arrivals"]);
    }
    let merged = said.run();
    assert_eq!(merged.at("/aborted/guard"), "late_start");
    let arrivals = &merged.document["arrivals"];
    assert!(arrivals["lost"].is_null() && merged.withheld() >= 2_000, "{arrivals}");
}

/// What its own user ended of one agent is no interruption of the command: it says which one, and goes on later.
#[test]
fn a_search_and_a_comparison_name_the_agent_that_was_ended() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let (url, other) = (target.url(), format!("{}other", target.url()));
    let led = ["--agents", "2", "--bus", &bus.url, "--nkey", "operator.nk", "--no-store"];
    let search = ["knee", &url, "--slo", "p99 < 5s", "--start", "50", "--settle", "1s", "--rest", "0s"];
    let brief = ["--measure", "9s", "--measure-max", "9s", "--within", "30s", "-o", "search"];
    let sides = ["compare", &url, &other, "-R", "50", "-d", "9s", "--runs", "1", "-o", "sides"];
    for (command, folder) in [([&search[..], &brief].concat(), "search"), (sides.to_vec(), "sides")] {
        let [goes, stays] = ["goes", "stays"].map(|name| bus.agent(&place, name, &[]));
        let before = target.seen().len();
        let run = Started::spawn(&mut place.command(&[&command[..], &led].concat()));
        target.wait_for(before + 100);
        goes.signal(Signal::TERM);
        assert_eq!(goes.wait().code(), Some(130), "{folder}");
        let said = run.wait();
        assert_eq!(said.code(), Some(3), "{said:?}");
        assert!(!said.stderr.contains("interrupted in"), "{said:?}");
        let why = match folder {
            "search" => place.text("search/knee.json"),
            _ => said.stderr.clone(),
        };
        assert!(why.contains("an agent was stopped (share "), "{why}");
        assert_eq!(stays.wait().code(), Some(0), "{folder}");
    }
    let found: Value = serde_json::from_str(&place.text("search/knee.json")).expect("a document");
    assert_eq!(found["refused"]["code"], "agents", "{}", found["refused"]);
    assert!(place.path().join("sides/baseline/1/run.json").exists(), "it is kept");
}
