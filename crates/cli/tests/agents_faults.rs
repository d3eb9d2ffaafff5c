//! Processes that stand still or die while agents offer load: the bus, the coordinator, an agent. Whatever it is, no load goes on
//! without somebody who leads it, and each arrival stands in the account.

use crate::support::bus::Bus;
use crate::support::hostile::{Hostile, healthy};
use crate::support::{Place, Run, Said, Started};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

/// Nothing is noticed.
const BRIEFLY: Duration = Duration::from_secs(3);
/// The same of a bus that must start again and be found by all, which takes its time on a busy machine.
const GONE: Duration = Duration::from_millis(1_500);
/// Longer than a lease, which is 5 s.
const TOO_LONG: Duration = Duration::from_secs(7);
/// Nearly all of a load's length.
const HALF_A_MINUTE: Duration = Duration::from_secs(30);
/// What the user is told of a bus that has nothing any more.
const FORGOTTEN: &str = "the bus has lost what it kept; agents send their records again";
/// How long the load is to last.
const SECONDS: u64 = 7;
/// Of both agents together.
const PER_S: u64 = 200;
const ALL: u64 = PER_S * SECONDS;

/// Two agents under load.
struct Fleet {
    place: Place,
    target: Hostile,
    bus: Bus,
    agents: [Started; 2],
    run: Started,
}

impl Fleet {
    /// The load has gone on for a second or two.
    fn under_way() -> Fleet {
        Fleet::under_way_for(SECONDS)
    }

    /// The same of a load that is to last so long.
    fn under_way_for(seconds: u64) -> Fleet {
        let (target, place) = (healthy(), Place::new());
        let bus = Bus::start(&place);
        let agents = [bus.agent(&place, "one", &[]), bus.agent(&place, "two", &[])];
        let (rate, length) = (PER_S.to_string(), format!("{seconds}s"));
        let run = bus.run(&place, "2", &[&target.url(), "-R", &rate, "-d", &length, "--no-preflight"]);
        target.wait_for(PER_S as usize * 3 / 2);
        Fleet { place, target, bus, agents, run }
    }

    /// What came of it for the coordinator, once all have ended.
    fn ended(self) -> (Place, Hostile, Said, [Said; 2]) {
        let Fleet { place, target, bus, agents, run } = self;
        let said = run.wait();
        let agents = agents.map(Started::wait);
        drop(bus);
        (place, target, said, agents)
    }
}

/// The folder of all is what the agents' own come to.
#[track_caller]
pub(crate) fn assert_merged(place: &Place) {
    place.call(&["merge", "one", "two", "-o", "again", "--json"]).run();
    for file in ["run.json", "intervals.jsonl", "intervals.hlog"] {
        assert!(place.text(&format!("out/{file}")) == place.text(&format!("again/{file}")), "{file}");
    }
}

/// All is well, but that on a busy machine an agent may wait for a processor for so long that nothing it has measured counts.
#[track_caller]
pub(crate) fn assert_ran(code: Option<i32>, whole: &Run) {
    let is_starved = whole.has_finding("generator_late") || whole.has_finding("generator_paused");
    assert!(code == Some(0) || code == Some(3) && is_starved, "{code:?} {}", whole.document["validity"]);
}

/// As if nothing had been. With what the user was told meanwhile.
#[track_caller]
fn assert_nothing_happened(fleet: Fleet) -> String {
    let (place, target, said, agents) = fleet.ended();
    let (code, told, whole) = (said.code(), said.stderr.clone(), said.run());
    assert_eq!(whole.arrivals("scheduled"), ALL);
    whole.assert_all("ok");
    assert_ran(code, &whole);
    assert_eq!(target.seen().len() as u64, ALL);
    for agent in agents {
        assert_eq!(agent.code(), Some(0), "{agent:?}");
    }
    assert_merged(&place);
    told
}

pub(crate) fn own(place: &Place, folder: &str) -> Value {
    let text = place.text(&format!("{folder}/run.json"));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{folder}: {error}"))
}

/// Load of these ended by itself, and what was sent until then is what the target saw. What was due later is withheld.
#[track_caller]
fn assert_ended_by_lease(place: &Place, target: &Hostile, said: Said, folders: &[&str]) -> Run {
    assert_ended_by_lease_of(ALL, place, target, said, folders)
}

/// The same of so many arrivals.
#[track_caller]
fn assert_ended_by_lease_of(all: u64, place: &Place, target: &Hostile, said: Said, folders: &[&str]) -> Run {
    assert_eq!(said.code(), Some(3), "{said:?}");
    let whole = said.run();
    assert_eq!(whole.arrivals("scheduled"), all);
    whole.assert_accounts();
    for folder in folders {
        let own = own(place, folder);
        assert_eq!(own["aborted"]["guard"], "lease", "{own}");
        assert!(own["arrivals"]["withheld"].as_u64().is_some_and(|n| n > 0), "{}", own["arrivals"]);
    }
    let sent: u64 = ["ok", "timed_out", "unfinished"].iter().map(|outcome| whole.arrivals(outcome)).sum();
    assert_eq!(target.seen().len() as u64, sent, "{}", whole.document["arrivals"]);
    assert_merged(place);
    whole
}

#[test]
fn a_bus_that_stands_still_for_a_moment_changes_nothing() {
    let fleet = Fleet::under_way();
    fleet.bus.signal(Signal::STOP);
    std::thread::sleep(BRIEFLY);
    fleet.bus.signal(Signal::CONT);
    let told = assert_nothing_happened(fleet);
    assert!(!told.contains(FORGOTTEN), "{told}");
}

#[test]
fn a_bus_that_dies_and_is_started_again_changes_nothing() {
    let mut fleet = Fleet::under_way();
    fleet.bus.gone_for(GONE);
    let told = assert_nothing_happened(fleet);
    assert!(!told.contains(FORGOTTEN), "{told}");
}

/// Such as a pod that is put on another machine: what it had kept is sent again, and what it is told meanwhile as well.
#[test]
fn a_bus_that_comes_back_without_its_disk_changes_nothing() {
    let mut fleet = Fleet::under_way();
    fleet.bus.gone_with_its_disk_for(GONE);
    let told = assert_nothing_happened(fleet);
    assert_eq!(told.matches(FORGOTTEN).count(), 1, "{told}");
}

/// Nor does it matter how often.
#[test]
fn a_bus_that_loses_its_disk_twice_changes_nothing() {
    let mut fleet = Fleet::under_way();
    fleet.bus.gone_with_its_disk_for(Duration::ZERO);
    std::thread::sleep(BRIEFLY);
    fleet.bus.gone_with_its_disk_for(GONE);
    let told = assert_nothing_happened(fleet);
    assert_eq!(told.matches(FORGOTTEN).count(), 2, "{told}");
}

#[test]
fn a_bus_that_stands_still_for_longer_than_a_lease_ends_the_load() {
    let fleet = Fleet::under_way();
    fleet.bus.signal(Signal::STOP);
    std::thread::sleep(TOO_LONG);
    let seen = fleet.target.seen().len();
    fleet.bus.signal(Signal::CONT);
    let (place, target, said, _) = fleet.ended();
    let whole = assert_ended_by_lease(&place, &target, said, &["one", "two"]);
    assert_eq!(target.seen().len(), seen, "nothing was sent any more");
    // What was recorded meanwhile came when the bus went on.
    assert!(whole.has_finding("bus_behind"), "{}", whole.document["validity"]);
}

/// Half a minute, while the load was to go on: it ends with its lease, and all that was recorded comes once the bus goes on.
#[test]
fn a_bus_that_stands_still_for_half_a_minute_loses_nothing_that_was_recorded() {
    let seconds = 36;
    let fleet = Fleet::under_way_for(seconds);
    fleet.bus.signal(Signal::STOP);
    std::thread::sleep(HALF_A_MINUTE);
    let seen = fleet.target.seen().len();
    fleet.bus.signal(Signal::CONT);
    let (place, target, said, _) = fleet.ended();
    let all = PER_S * seconds;
    let whole = assert_ended_by_lease_of(all, &place, &target, said, &["one", "two"]);
    assert_eq!(target.seen().len(), seen, "nothing was sent any more");
    // The lease is 5 s, and the bus stood still from the second or third second on: what came after that is here as well.
    let withheld = whole.withheld();
    assert!((all - withheld) >= 5 * PER_S && withheld > 15 * PER_S, "{withheld} of {all}");
    assert_eq!(
        (whole.arrivals("ok") + withheld, whole.document["arrivals"]["lost"].as_u64().unwrap_or(0)),
        (all, 0),
        "{}",
        whole.document["arrivals"]
    );
    assert!(whole.has_finding("bus_behind"), "{}", whole.document["validity"]);
}

#[test]
fn a_coordinator_that_stands_still_for_longer_than_a_lease_finds_the_load_ended() {
    let fleet = Fleet::under_way();
    fleet.run.signal(Signal::STOP);
    std::thread::sleep(TOO_LONG);
    let seen = fleet.target.seen().len();
    fleet.run.signal(Signal::CONT);
    let (place, target, said, _) = fleet.ended();
    assert_ended_by_lease(&place, &target, said, &["one", "two"]);
    assert_eq!(target.seen().len(), seen, "nothing was sent any more");
}

/// What fell due while it stood still is not sent when it goes on: its lease ended meanwhile.
#[test]
fn an_agent_that_stood_still_for_longer_than_its_lease_sends_nothing() {
    let fleet = Fleet::under_way();
    fleet.agents[0].signal(Signal::STOP);
    // By then the other one has sent all of its own.
    std::thread::sleep(TOO_LONG);
    let seen = fleet.target.seen().len();
    fleet.agents[0].signal(Signal::CONT);
    let (place, target, said, [stopped, other]) = fleet.ended();
    let whole = assert_ended_by_lease(&place, &target, said, &["one"]);
    // A request may have been on its way into the socket.
    assert!(target.seen().len() <= seen + 1, "{} were sent, {seen} before", target.seen().len());
    // What fell due while it stood still is withheld like what fell due later.
    let (stopped_at_s, withheld) = (
        own(&place, "one")["aborted"]["at_ns"].as_u64().expect("a time") as f64 / 1e9,
        own(&place, "one")["arrivals"]["withheld"].as_u64().expect("a count"),
    );
    assert!(stopped_at_s < SECONDS as f64 - 3.0 && withheld > PER_S, "{stopped_at_s} {withheld}");
    // Whether it was lost before it spoke again is a matter of half a second.
    assert_ne!(whole.at("/validity/status"), "valid");
    assert_eq!((stopped.code(), other.code()), (Some(3), Some(0)), "{stopped:?} {other:?}");
}

/// One that is told to end before there is a load says so: another one has its place at once.
#[test]
fn an_agent_that_leaves_while_agents_gather_makes_room() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let run = bus.run(&place, "2", &[&target.url(), "-R", "100", "-d", "1s", "--no-preflight"]);
    let goes = bus.agent(&place, "goes", &[]);
    // For it to be counted.
    std::thread::sleep(Duration::from_secs(3));
    goes.signal(Signal::TERM);
    let gone = goes.wait();
    assert_eq!(gone.code(), Some(130), "{gone:?}");
    let agents = [bus.agent(&place, "one", &[]), bus.agent(&place, "two", &[])];
    let said = run.wait();
    assert!(said.stderr.contains("has left (SIGTERM)"), "{said:?}");
    said.run().assert_all("ok");
    assert_eq!(agents.map(|agent| agent.wait().code()), [Some(0); 2]);
}
