//! Files that runs read, on their way to agents.

use crate::support::bus::{Bus, server};
use crate::support::hostile::healthy;
use crate::support::{Place, Started};

/// Each stage of a sign-off is a run of its own, and what all of them read travels once.
#[test]
fn a_file_of_all_stages_is_fetched_once() {
    let (target, place, away) = (healthy(), Place::new(), Place::new());
    let rows: String = (0..40_000).map(|number| format!("{:0>50}\n", number * 7_919)).collect();
    // In base64, of four letters for three bytes.
    let travels_bytes = rows.len() as u64 * 4 / 3;
    place.file("data/users.csv", format!("id\n{rows}"));
    let stage = |name: &str| {
        format!("[[stages]]\nkind = \"hold\"\nname = \"{name}\"\nrate = \"50\"\nduration = \"1s\"\n")
    };
    let requests = "[let]\nuser = \"csv(data/users.csv)\"\n[[requests]]\nurl = \"/?by={{user.id}}\"\n";
    let objectives = "[objectives]\nslo = [\"errors < 50%\"]\n";
    let stages = [stage("low"), stage("again")].concat();
    place.file("plan.toml", format!("target = \"{}\"\n{requests}{objectives}{stages}", target.url()));
    let bus = Bus::start(&place);
    let relay = bus.relay();
    let agent = bus.agent_behind(&relay, &away, "own");
    let led = ["--agents", "1", "--bus", &bus.url, "--nkey", "operator.nk", "--json", "-o", "out"];
    let said = place.call(&[&["signoff", "plan.toml"], &led[..]].concat());
    assert!(matches!(said.code(), Some(0 | 3)), "{said:?}");
    let agent = agent.wait();
    assert_eq!(agent.code(), Some(0), "{agent:?}");
    let came_bytes = relay.brought_bytes();
    assert!((travels_bytes..travels_bytes * 3 / 2).contains(&came_bytes), "{came_bytes} of {travels_bytes}");
    // Both stages had it, and it is gone.
    let asked = target.asked();
    assert!(asked.keys().filter(|asked| asked.starts_with("/?by=000")).count() > 1, "{asked:?}");
    for stage in ["01-low", "02-again"] {
        let run: serde_json::Value =
            serde_json::from_str(&place.text(&format!("out/{stage}/run.json"))).expect("a document");
        assert_eq!(run["arrivals"]["ok"], 50, "{stage}: {}", run["arrivals"]);
    }
    assert_eq!(away.list("."), ["own", "own-2"]);
}

/// Agents on this machine read the plan where it is, for each trial of a search anew.
#[test]
fn a_plan_that_is_changed_while_a_search_goes_on_ends_it() {
    let (target, place, nats) = (healthy(), Place::new(), server().display().to_string());
    let plan = |path: &str| {
        place.file("plan.toml", format!("[[requests]]\nurl = \"{}{path}\"\n", target.url()));
    };
    plan("before");
    let search = [
        "--slo",
        "p99 < 1s",
        "--start",
        "20",
        "--max",
        "80",
        "--settle",
        "1s",
        "--measure",
        "4s",
        "--rest",
        "1s",
    ];
    let agents = ["--agents", "local:2", "--nats-server", &nats, "-o", "out"];
    let started =
        Started::spawn(&mut place.command(&[&["knee", "plan.toml"], &search[..], &agents].concat()));
    target.wait_for(30);
    plan("after");
    let said = started.wait();
    assert_eq!(said.code(), Some(2), "{said:?}");
    for part in ["plan.toml", "was changed while the command went on"] {
        assert!(said.stderr.contains(part), "{part}: {said:?}");
    }
    assert!(target.seen().iter().all(|seen| seen.target == "/before"), "two loads in one search");
}
