//! Parts of one run are told from those of another, however each was started.

use crate::support::bus::{Bus, server};
use crate::support::hostile::healthy;
use crate::support::{Place, Started};
use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

/// Enough for many processes of a binary that is not optimised to be ready on a busy machine.
const AHEAD: Duration = Duration::from_secs(14);

const SHOP: &str = r#"
[load]
rate = 20
duration = "1s"

[let]
user = "csv(data/users.csv)"

[[requests]]
url = "/items?by={{user.id}}"
header = ["Authorization: Bearer ${TOKEN}", "X-A: 1"]

[[requests]]
url = "/orders"
body-file = "data/order.json"
"#;

fn start_at() -> String {
    let at = jiff::Timestamp::try_from(SystemTime::now() + AHEAD).expect("a time");
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

fn shop(order: &str) -> Place {
    let place = Place::new();
    place.file("shop.toml", SHOP);
    place.file("data/users.csv", "id\nanne\nbob\n");
    place.file("data/order.json", order);
    place
}

fn asked(place: &Place, folder: &str) -> Vec<String> {
    let document: serde_json::Value =
        serde_json::from_str(&place.text(&format!("{folder}/run.json"))).expect("a document");
    let agents = document["agents"].as_array().expect("shares");
    agents.iter().map(|agent| agent["asked_sha256"].as_str().expect("a digest").to_string()).collect()
}

/// By hand, by agents here and by agents that fetch what they read; each with a secret of its own.
#[test]
fn however_it_is_started_a_run_has_one_digest() {
    let target = healthy();
    let [here, by_hand, elsewhere, away] = ["{1}"; 4].map(shop);
    let other = shop("{2}");
    let url = target.url();
    let args = ["shop.toml", &url, "--no-preflight"];
    let at = start_at();
    let hand = |place: &Place, token: &str| {
        let own = ["--share", "2/2", "--start-at", &at, "-o", "out", "-q", "--no-store"];
        Started::spawn(place.command(&[&["run"], &args[..], &own].concat()).env("TOKEN", token))
    };
    let bus = Bus::start(&elsewhere);
    let agent = |folder: &str| {
        let key = bus.operator.public_key();
        let own = ["agent", "--bus", &bus.url, "--accept-from", &key, "-o", folder, "--shares", "1"];
        Started::spawn(away.command(&own).env("TOKEN", folder))
    };
    let nats = server().display().to_string();
    let local = ["--agents", "local:2", "--nats-server", &nats, "-o", "out"];
    let on_bus = ["--agents", "2", "--bus", &bus.url, "--nkey", "operator.nk", "-o", "out"];
    let run = |place: &Place, own: &[&str]| {
        Started::spawn(place.command(&[&["run"], &args[..], own].concat()).env("TOKEN", "led"))
    };
    let all = [hand(&by_hand, "b"), hand(&other, "c"), agent("one"), agent("two")];
    let led = [run(&elsewhere, &on_bus), run(&here, &local)];
    all.into_iter().chain(led).for_each(|one| one.wait().assert_ran());
    let digest = asked(&by_hand, "out").remove(0);
    assert_eq!(digest.len(), 64);
    assert_eq!(asked(&here, "out"), [digest.clone(), digest.clone()]);
    assert_eq!(asked(&elsewhere, "out"), [digest.clone(), digest.clone()]);
    assert_ne!(asked(&other, "out"), [digest], "another body");
}

/// Parts of one trial or run of an experiment have a digest that those of no other have.
#[test]
fn parts_of_other_trials_are_not_merged() {
    let (target, place) = (healthy(), Place::new());
    let (url, nats) = (target.url(), server().display().to_string());
    let led = ["--agents", "local:2", "--nats-server", &nats, "--no-store", "-q"];
    let start = |args: &[&str]| Started::spawn(&mut place.command(&[args, &led].concat()));
    let knee = |limit: &str, folder: &str| {
        let brief =
            ["--start", "20", "--settle", "1s", "--measure", "4s", "--measure-max", "4s", "--within", "6s"];
        start(&[&["knee", &url, "--slo", limit, "-o", folder], &brief[..]].concat())
    };
    let sides =
        ["compare", &url, &format!("{url}other"), "-R", "20", "-d", "2s", "--runs", "1", "-o", "sides"];
    // Whatever comes of so short ones.
    for one in [knee("p99 < 5s", "one"), knee("p99 < 6s", "other"), start(&sides)] {
        one.wait().assert_ran();
    }
    let trials = ["one/trial-01", "other/trial-01", "sides/baseline/1", "sides/candidate/1"];
    let digests = trials.map(|trial| {
        let both = asked(&place, trial);
        assert!(both.len() == 2 && both[0] == both[1], "{trial}: {both:?}");
        both[0].clone()
    });
    assert_eq!(BTreeSet::from(digests).len(), trials.len(), "each has its own");
    let part = |trial: usize, share: usize| {
        let folder = format!("{}.agents", trials[trial]);
        format!("{folder}/{}", place.list(&folder)[share])
    };
    for (one, other) in [(0, 1), (2, 3), (0, 2)] {
        let parts = [part(one, 0), part(other, 1)];
        let said = place.call(&["merge", &parts[0], &parts[1], "-o", "refused"]);
        said.refused(&[&parts[0], &parts[1], "are not parts of one run"]);
    }
}

/// What a header of the record does not tell is told by its digest: such a part is refused, and both folders are named.
#[test]
fn parts_of_other_runs_are_not_merged() {
    let (target, place) = (healthy(), Place::new());
    let (url, at) = (target.url(), start_at());
    let start = |share: &str, folder: &str, more: &[&str]| {
        let args = ["run", &url, "-R", "20", "-d", "1s", "--no-preflight", "--share", share];
        let own = ["--start-at", &at, "-o", folder, "-q", "--no-store"];
        Started::spawn(&mut place.command(&[&args[..], &own, more].concat()))
    };
    const BASE: [&str; 8] = ["-X", "POST", "--body", "hello", "-H", "X-A: 1", "--seed", "7"];
    let changed = |place: usize, to: &'static str| {
        let mut all = BASE.to_vec();
        all[place] = to;
        all
    };
    let runs = [
        start("1/2", "first", &BASE),
        start("2/2", "second", &BASE),
        start("2/2", "body", &changed(3, "world")),
        start("2/2", "header", &changed(5, "X-A: 2")),
        start("2/2", "seed", &changed(7, "8")),
        start("2/2", "expect", &[&BASE[..], &["--expect", "status=200"]].concat()),
        start("2/2", "both", &[&changed(7, "8")[..], &["--expect", "status=200"]].concat()),
    ];
    runs.into_iter().for_each(|run| run.wait().assert_ran());
    place.call(&["merge", "first", "second", "-o", "whole", "--json", "--no-store"]).run().assert_all("ok");
    for (other, what) in [
        ("body", "show no difference"),
        ("header", "show no difference"),
        ("seed", "differ in --seed"),
        ("expect", "differ in --expect"),
        ("both", "differ in --seed and --expect"),
    ] {
        let said = place.call(&["merge", "first", other, "-o", "refused"]);
        said.refused(&["first", other, "do not ask for the same, or judge it otherwise", what]);
    }
    assert!(!place.list(".").contains(&"refused".to_string()));
}

/// The load goes elsewhere, though the command lines are the same.
#[test]
fn another_database_of_the_environment_is_another_run() {
    let place = Place::new();
    let at = start_at();
    let runs = ["shop", "postgres", "shop"].iter().enumerate().map(|(i, database)| {
        let folder = format!("out{i}");
        let url = "postgres://bench:s3cret@127.0.0.1:9";
        let args = ["run", url, "--sql", "SELECT 1", "-R", "5", "-d", "1s", "--no-preflight"];
        let own = ["--share", "1/2", "--start-at", &at, "-o", &folder, "-q", "--no-store"];
        let started = Started::spawn(place.command(&[&args[..], &own].concat()).env("PGDATABASE", database));
        (folder, started)
    });
    let digests = runs.collect::<Vec<_>>().into_iter().map(|(folder, started)| {
        started.wait();
        asked(&place, &folder).remove(0)
    });
    let digests: Vec<String> = digests.collect();
    assert_ne!(digests[0], digests[1]);
    assert_eq!(digests[0], digests[2]);
}
