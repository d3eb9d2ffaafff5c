//! One of two agents is cut off from the bus while both offer load: its connection is open, and nothing gets through.

use crate::agents_faults::{assert_merged, assert_ran, own};
use crate::support::bus::Bus;
use crate::support::hostile::{Hostile, healthy};
use crate::support::relay::Relay;
use crate::support::{Place, Run, Started};
use std::time::Duration;

/// Within the lease, which is 5 s.
const BRIEFLY: Duration = Duration::from_secs(3);
/// Longer than a lease, and than the 6 s after which an agent counts as lost.
const TOO_LONG: Duration = Duration::from_secs(8);
/// Of both agents together.
const PER_S: u64 = 100;

/// Both under load, and the way of the first to the bus.
struct Fleet {
    place: Place,
    target: Hostile,
    bus: Bus,
    relay: Relay,
    agents: [Started; 2],
    run: Started,
}

/// What came of it, once all have ended.
struct Outcome {
    place: Place,
    /// How many requests the target has seen.
    seen: u64,
    stderr: String,
    whole: Run,
    codes: [Option<i32>; 2],
}

impl Fleet {
    /// The load has gone on for a second or two.
    fn under_way(seconds: u64) -> Fleet {
        let (target, place) = (healthy(), Place::new());
        let bus = Bus::start(&place);
        let relay = bus.relay();
        let agents = [bus.agent_behind(&relay, &place, "one"), bus.agent(&place, "two", &[])];
        let (rate, length) = (PER_S.to_string(), format!("{seconds}s"));
        let run = bus.run(&place, "2", &[&target.url(), "-R", &rate, "-d", &length, "--no-preflight"]);
        target.wait_for(PER_S as usize * 3 / 2);
        Fleet { place, target, bus, relay, agents, run }
    }

    fn cut_for(&self, time: Duration) {
        self.relay.cut();
        std::thread::sleep(time);
        self.relay.heal();
    }

    fn ended(self) -> Outcome {
        let Fleet { place, target, bus, relay, agents, run } = self;
        let said = run.wait();
        let codes = agents.map(|agent| agent.wait().code());
        drop((relay, bus));
        let stderr = said.stderr.clone();
        Outcome { place, seen: target.seen().len() as u64, stderr, whole: said.run(), codes }
    }
}

/// Its load goes on, and its record comes late.
#[test]
fn an_agent_that_is_cut_off_for_a_moment_goes_on() {
    let fleet = Fleet::under_way(10);
    fleet.cut_for(BRIEFLY);
    let Outcome { place, seen, stderr, whole, codes } = fleet.ended();
    assert_ran(whole.code, &whole);
    assert_eq!((whole.arrivals("scheduled"), seen), (10 * PER_S, 10 * PER_S), "{stderr}");
    whole.assert_all("ok");
    assert_eq!(whole.withheld(), 0);
    assert!(!whole.has_finding("agents_lost") && !stderr.contains("is lost"), "{stderr}");
    assert_eq!(codes, [Some(0), Some(0)], "{stderr}");
    assert_merged(&place);
}

/// Its load ends by itself and that of the other one goes on. What it had offered counts, once it is heard again, and the whole is not
/// the load that was asked for.
#[test]
fn an_agent_that_is_cut_off_for_longer_than_its_lease_ends_its_load() {
    let fleet = Fleet::under_way(20);
    fleet.cut_for(TOO_LONG);
    let Outcome { place, seen, stderr, whole, codes } = fleet.ended();
    for part in ["is lost: nothing was heard of it for 6 s", "is heard again"] {
        assert!(stderr.contains(part), "{part}: {stderr}");
    }
    assert_eq!(whole.arrivals("scheduled"), 20 * PER_S);
    whole.assert_accounts();
    assert_eq!(whole.document["arrivals"]["lost"].as_u64().unwrap_or(0), 0, "{}", whole.document["arrivals"]);
    let sent: u64 = ["ok", "timed_out", "unfinished"].iter().map(|outcome| whole.arrivals(outcome)).sum();
    assert_eq!(seen, sent, "{}", whole.document["arrivals"]);
    let [one, two] = ["one", "two"].map(|folder| own(&place, folder));
    assert_eq!(one["aborted"]["guard"], "lease", "{one}");
    // After a second or two of load and a lease of five.
    let ended_at_ns = one["aborted"]["at_ns"].as_u64().expect("a time");
    assert!((5_000_000_000..15_000_000_000).contains(&ended_at_ns), "{ended_at_ns}");
    assert_eq!((&two["status"], &two["aborted"]), (&"complete".into(), &serde_json::Value::Null), "{two}");
    let withheld = one["arrivals"]["withheld"].as_u64().expect("a count");
    assert_eq!(whole.withheld(), withheld, "all of it is its own");
    assert!((PER_S..10 * PER_S).contains(&withheld), "{}", one["arrivals"]);
    assert!(whole.has_finding("agents_lost"), "{}", whole.document["validity"]);
    assert_ne!(whole.at("/validity/status"), "valid", "{}", whole.document["validity"]);
    assert_eq!((whole.code, codes), (Some(3), [Some(3), Some(0)]), "{stderr}");
    assert_merged(&place);
}
