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
    // Each waits for a bus that keeps the end of its record.
    assert_ended_unseen(&place, agents);
    let whole = place.call(&["merge", "one", "other", "-o", "whole", "--json"]).run();
    assert_eq!(whole.arrivals("scheduled"), 24_000, "{}", whole.stderr);
    assert!(whole.withheld() > 0 && whole.document["arrivals"]["lost"].is_null());
}

/// Load of these was ended since nobody saw what became of it. They would be there still.
#[track_caller]
fn assert_ended_unseen(place: &Place, agents: [Started; 2]) {
    for (agent, folder) in agents.into_iter().zip(["one", "other"]) {
        agent.signal(Signal::KILL);
        agent.wait();
        let own: Value =
            serde_json::from_str(&place.text(&format!("{folder}/run.json"))).expect("a document");
        assert_eq!(own["aborted"]["guard"], "record", "{}", own["aborted"]);
    }
}

/// What comes of the load is kept nowhere here, so that no rule sees it.
#[test]
fn load_that_its_coordinator_can_not_see_is_ended() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let agents = ["one", "other"].map(|folder| bus.agent(&place, folder, &[]));
    let (url, timeout) = (target.url(), ["--timeout", "2s", "--no-preflight", "--json", "-o", "out"]);
    let load =
        ["run", &url, "-R", "200", "-d", "300s", "--agents", "2", "--bus", &bus.url, "--nkey", "operator.nk"];
    // What it says is kept by somebody else.
    let setup = "trap '' XFSZ; mkfifo said; cat said >&2 & exec 2>said";
    let run = Started::spawn(&mut place.shell(setup, &[&load[..], &timeout].concat()));
    target.wait_for(600);
    run.fill_disk();
    let said = run.wait_for(std::time::Duration::from_secs(110));
    for part in ["sees the load: can't keep a record in ", "File too large", "its record does not come"] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    assert_eq!(said.code(), Some(3), "{said:?}");
    assert!(said.stderr.matches("can't keep a record").count() < 5, "once for each agent: {said:?}");
    // Each waits for its record to be fetched.
    assert_ended_unseen(&place, agents);
}

/// One plan, and another target on each machine: that is no run, and no rule would see what becomes of it.
#[test]
fn load_that_is_no_run_is_ended_at_once() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let port = target.url().trim_end_matches('/').rsplit(':').next().expect("a port").to_string();
    let plan = format!(
        "[load]\nrate = 100\nduration = \"120s\"\n[[requests]]\nurl = \"http://${{HERE}}:{port}/\"\n"
    );
    place.file("plan.toml", &plan);
    let key = bus.operator.public_key();
    let agents = [("one", "127.0.0.1"), ("other", "localhost")].map(|(folder, here)| {
        let args = ["agent", "--bus", &bus.url, "--accept-from", &key, "-o", folder, "--shares", "1"];
        Started::spawn(place.command(&args).env("HERE", here))
    });
    let mut run = place.command(&[
        "run",
        "plan.toml",
        "--no-preflight",
        "--agents",
        "2",
        "--bus",
        &bus.url,
        "--nkey",
        "operator.nk",
        "--json",
        "-o",
        "out",
    ]);
    let said = Started::spawn(run.env("HERE", "127.0.0.1")).wait();
    for part in [
        "what agents record can't be followed",
        "not parts of one run",
        "the agents' records are in out.agents",
    ] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    assert_eq!(said.code(), Some(2), "{said:?}");
    agents.into_iter().for_each(|agent| drop(agent.wait()));
    for folder in ["one", "other"] {
        let own: Value =
            serde_json::from_str(&place.text(&format!("{folder}/run.json"))).expect("a document");
        assert_eq!(own["aborted"]["guard"], "record", "{}", own["aborted"]);
    }
    assert!(target.seen().len() < 6_000, "of 12,000 in two minutes");
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
    // The disk is found out once the start is told, so the other agent's word that it begins may come before that or after it. If it was
    // there first, the run has begun and is stopped: that agent has done its part, and its record is fetched. Otherwise no run has begun,
    // and it is called off. The coordinator says which it was.
    let has_begun = said.stderr.contains("stopping all agents: the agent on ");
    let stays = stays.wait();
    assert_eq!(stays.code(), Some(if has_begun { 0 } else { 3 }), "{stays:?} {said:?}");
    assert_eq!(stays.stderr.contains("the record has been fetched"), has_begun, "{stays:?} {said:?}");
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
