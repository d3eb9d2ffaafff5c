//! Disks that are full while agents offer a load: that of an agent, and that of who leads them. A limit on the size of files stands
//! for them.

use crate::support::bus::Bus;
use crate::support::hostile::healthy;
use crate::support::{Place, Started, finish};
use rustix::process::Signal;
use serde_json::Value;
use unblink_cluster::signed::KeyPair;

/// An agent that hears of a full disk as an error.
fn agent(bus: &Bus, place: &Place, setup: &str, folder: &str) -> Started {
    let key = bus.operator.public_key();
    let args = ["agent", "--bus", &bus.url, "--accept-from", &key, "-o", folder, "--shares", "1"];
    Started::spawn(&mut place.shell(&format!("trap '' XFSZ; {setup}"), &args))
}

/// Nobody knows what comes of load that is not recorded, so none is offered: neither by this agent nor by the others.
#[test]
fn an_agent_whose_disk_is_full_ends_the_load_of_all() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let (full, stays) = (agent(&bus, &place, "true", "full"), bus.agent(&place, "stays", &[]));
    let run = bus.run(&place, "2", &[&target.url(), "-R", "100", "-d", "40s", "--no-preflight"]);
    target.wait_for(250);
    full.fill_disk();
    let said = run.wait();
    assert_eq!(said.code(), Some(3), "{said:?}");
    let why = "the record can't be written any more: File too large";
    for part in ["stopping all agents: the agent on ", why] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    assert_eq!(full.wait().code(), Some(3), "it has not done its part");
    assert_eq!(stays.wait().code(), Some(0));
    let merged = said.run();
    assert_eq!(merged.at("/aborted/guard"), "record", "{}", merged.document["aborted"]);
    assert!(merged.has_finding("agents_lost"));
    let arrivals = &merged.document["arrivals"];
    assert!(merged.arrivals("lost") > 0 && merged.withheld() > 0 && merged.arrivals("ok") > 0, "{arrivals}");
    let own: Value = serde_json::from_str(&place.text("stays/run.json")).expect("a document");
    assert_eq!(own["aborted"]["guard"], "record", "{}", own["aborted"]);
    assert!(place.text("out/cluster.jsonl").contains(why));
}

/// Load of which no rule hears anything any more is not offered either. The records are whole where they were written.
#[test]
fn a_bus_whose_disk_is_full_ends_the_load_of_all() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::for_those(&place, KeyPair::new_user(), "jetstream { max_file_store: 60KB }");
    let agents = ["one", "other"].map(|folder| bus.agent(&place, folder, &[]));
    let load = ["-R", "200", "-d", "120s", "--timeout", "2s", "--no-preflight"];
    let run = bus.run(&place, "2", &[&[&*target.url()], &load[..]].concat());
    let said = run.wait_for(std::time::Duration::from_secs(110));
    assert_eq!(said.code(), Some(3), "{said:?}");
    for part in ["stopping all agents: the agent on ", "the bus has kept nothing of the record for 10 s: "] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    let merged = said.run();
    assert!(merged.has_finding("agents_lost"), "{}", merged.stderr);
    for (agent, folder) in agents.into_iter().zip(["one", "other"]) {
        // It waits for a bus that keeps the end of its record.
        agent.signal(Signal::KILL);
        agent.wait();
        let own: Value =
            serde_json::from_str(&place.text(&format!("{folder}/run.json"))).expect("a document");
        assert_eq!(own["aborted"]["guard"], "record", "{}", own["aborted"]);
    }
    let whole = place.call(&["merge", "one", "other", "-o", "whole", "--json"]).run();
    assert_eq!(whole.arrivals("scheduled"), 24_000, "{}", whole.stderr);
    assert!(whole.withheld() > 0 && whole.document["arrivals"]["lost"].is_null());
}

/// One that can't write the first byte says so, and nobody begins.
#[test]
fn an_agent_whose_disk_was_full_before_keeps_all_from_beginning() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let (full, stays) = (agent(&bus, &place, "ulimit -f 0", "full"), bus.agent(&place, "stays", &[]));
    let said = bus.run(&place, "2", &[&target.url(), "-R", "100", "-d", "20s", "--no-preflight"]).wait();
    assert_eq!(said.code(), Some(3), "{said:?}");
    assert!(said.stderr.contains("File too large"), "{said:?}");
    assert_eq!(full.wait().code(), Some(3));
    // It was called off, or stopped before its first arrival if all had confirmed the start by then.
    assert!(matches!(stays.wait().code(), Some(0 | 3)));
    assert!(target.seen().len() < 500, "no load without a record");
}

/// A service manager starts it again as it was: what is there from before is nobody's any more, and in nobody's way.
#[test]
fn an_agent_that_is_started_again_takes_the_next_name() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    place.file("kept/run.json", "{}");
    // As one leaves it that is killed while it makes ready.
    place.file("killed.files/plan.toml", "");
    let agents = ["kept", "killed"].map(|folder| bus.agent(&place, folder, &[]));
    let run = bus.run(&place, "2", &[&target.url(), "-R", "100", "-d", "1s", "--no-preflight"]);
    let said = run.wait();
    said.run().assert_all("ok");
    for (agent, folder) in agents.into_iter().zip(["kept-2", "killed-2"]) {
        let said = agent.wait();
        assert_eq!(said.code(), Some(0), "{said:?}");
        assert!(said.stderr.contains(&format!("; its record goes to {folder}")), "{said:?}");
        let own: Value =
            serde_json::from_str(&place.text(&format!("{folder}/run.json"))).expect("a document");
        assert_eq!(own["status"], "complete");
    }
    assert_eq!(place.text("kept/run.json"), "{}");
}

/// What is in the way of the run of all, as a disk is that is full, costs none of the records.
#[test]
fn records_are_named_where_the_run_of_all_can_not_be_made() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let agent = bus.agent(&place, "own", &[]);
    let run = bus.run(&place, "1", &[&target.url(), "-R", "100", "-d", "2s", "--no-preflight"]);
    target.wait_for(50);
    place.file("out/in-the-way", "");
    let said = run.wait();
    assert_eq!(said.code(), Some(2), "{said:?}");
    for part in ["the agents' records are in out.agents", "out is not empty"] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    assert_eq!(agent.wait().code(), Some(0));
    // As it was told to, by a shell.
    assert!(said.stderr.contains("`unblink merge out.agents/* -o DIR`"), "{said:?}");
    let merge = "exec \"$0\" merge out.agents/* -o whole --json --no-store";
    finish(&mut place.shell(merge, &[])).run().assert_all("ok");
}
