//! Ctrl-C while agents offer the runs of an experiment: what has ended is kept, what has not is told of, and the same command goes on.

use crate::support::bus::{Bus, server};
use crate::support::hostile::healthy;
use crate::support::{Place, Said, Started, finish};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn document(place: &Place, path: &str) -> Value {
    serde_json::from_str(&place.text(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Waits until the coordinator has a second of each of two agents of the run in `folder`. Is there one, or has the command ended?
fn is_under_way(place: &Place, command: &mut Started, folder: &str) -> bool {
    let records = [1, 2].map(|share| format!("{folder}.agents/share-000{share}/intervals.jsonl"));
    let has_interval = |record: &String| {
        let text = std::fs::read_to_string(place.path().join(record)).unwrap_or_default();
        // The first line is the header.
        text.matches('\n').count() > 1
    };
    while !records.iter().all(has_interval) {
        if !command.is_running() {
            return false;
        }
        std::thread::sleep(20 * MS);
    }
    true
}

/// All agents ended at one instant; what fell due until then is in the account, and what did not is told of.
fn assert_cut_off(place: &Place, folder: &str) {
    let run = document(place, &format!("{folder}/run.json"));
    let of = |of: &Value, outcome: &str| of["arrivals"][outcome].as_u64().unwrap_or(0);
    assert_eq!(run["aborted"]["guard"], "coordinator", "{}", run["aborted"]);
    assert!(of(&run, "withheld") > 0 && of(&run, "ok") > 0, "{}", run["arrivals"]);
    assert_eq!(of(&run, "ok") + of(&run, "withheld"), of(&run, "scheduled"), "{}", run["arrivals"]);
    let ends = [1, 2].map(|share| {
        let own = document(place, &format!("{folder}.agents/share-000{share}/run.json"));
        assert_eq!(own["aborted"]["guard"], "coordinator", "{}", own["aborted"]);
        own["aborted"]["at_ns"].as_u64().expect("an instant")
    });
    assert_eq!(ends[0], ends[1], "one instant");
}

fn assert_interrupted(said: &Said, parts: &[&str]) {
    assert_eq!(said.code(), Some(130), "{said:?}");
    for part in parts {
        assert!(said.stderr.contains(part), "{part:?} is missing: {said:?}");
    }
}

#[test]
fn a_search_keeps_its_trials_and_goes_on() {
    let (target, place) = (healthy(), Place::new());
    let (url, nats) = (target.url(), server().display().to_string());
    let brief = ["--start", "40", "--settle", "1s", "--measure", "4s", "--measure-max", "4s", "--rest", "0s"];
    let search = ["knee", &url, "--slo", "p99 < 5s", "--within", "12s"];
    let led = ["--agents", "local:2", "--nats-server", &nats, "--no-store", "--json"];
    let all = [&search[..], &brief, &led].concat();
    let start = |own: &[&str]| Started::spawn(&mut place.command(&[&all[..], own].concat()));
    // On a busy machine the first trial may show that the generator is the limit, and there is no second one.
    let cut_off = ["one", "two", "three", "four"].iter().find_map(|folder| {
        let mut run = start(&["-o", folder]);
        is_under_way(&place, &mut run, &format!("{folder}/trial-02")).then(|| {
            run.signal(Signal::INT);
            (*folder, run.wait())
        })
    });
    let (folder, said) = cut_off.expect("a second trial");
    let second = format!("{folder}/trial-02");
    assert_interrupted(&said, &["all agents end at one instant", "interrupted in trial 2", &second]);
    let found = document(&place, &format!("{folder}/knee.json"));
    assert_eq!(
        (&found["status"], found["trials"].as_array().map(Vec::len)),
        (&"interrupted".into(), Some(1))
    );
    let first = document(&place, &format!("{folder}/trial-01/run.json"));
    assert_eq!((&first["status"], &first["arrivals"]["withheld"]), (&"complete".into(), &Value::Null));
    assert_cut_off(&place, &second);
    assert!(!place.list(".").contains(&format!("{folder}.local")), "it is taken away");
    let said = start(&["--resume", folder]).wait();
    said.assert_ran();
    assert!(said.stderr.contains("1 finished trials taken over"), "{said:?}");
    let found = document(&place, &format!("{folder}/knee.json"));
    assert!(found["trials"].as_array().is_some_and(|trials| trials.len() > 1), "{found}");
    let again = document(&place, &format!("{folder}/trial-02-2/run.json"));
    assert_eq!(again["status"], "complete", "the second was run anew");
}

/// Once, and twice, when nothing is waited for any more. Both times the stage that was cut off has its turn again.
#[test]
fn a_sign_off_keeps_its_stages_and_goes_on() {
    let (target, place) = (healthy(), Place::new());
    let nats = server().display().to_string();
    let stage = |name: &str, seconds| {
        format!("[[stages]]\nkind = \"hold\"\nname = \"{name}\"\nrate = \"40\"\nduration = \"{seconds}s\"\n")
    };
    let stages = [stage("low", 1), stage("high", 5)].concat();
    place.file(
        "plan.toml",
        format!("target = \"{}\"\n[objectives]\nslo = [\"errors < 50%\"]\n{stages}", target.url()),
    );
    let all = ["signoff", "plan.toml", "--agents", "local:2", "--nats-server", &nats, "--no-store"];
    let start = |own: &[&str]| Started::spawn(&mut place.command(&[&all[..], own].concat()));
    let stage_of =
        |place: &Place, field: &str| document(place, "out/signoff.json")["stages"][1][field].clone();

    let mut run = start(&["-o", "out"]);
    assert!(is_under_way(&place, &mut run, "out/02-high"), "{:?}", run.wait());
    run.signal(Signal::INT);
    assert_interrupted(&run.wait(), &["out/02-high has what came of it", "--resume out"]);
    assert_eq!(
        (stage_of(&place, "status"), stage_of(&place, "folder")),
        ("interrupted".into(), "02-high".into())
    );
    assert_eq!(document(&place, "out/signoff.json")["stages"][0]["status"], "ended");
    assert_cut_off(&place, "out/02-high");

    let mut run = start(&["--resume", "out"]);
    assert!(is_under_way(&place, &mut run, "out/02-high-2"), "{:?}", run.wait());
    run.signal(Signal::INT);
    std::thread::sleep(100 * MS);
    run.signal(Signal::INT);
    assert_interrupted(&run.wait(), &["Ctrl-C again to quit at once"]);
    assert_eq!(stage_of(&place, "status"), "running");
    assert!(place.list("out").contains(&"02-high-2.local".to_string()), "what agents have recorded stays");

    let said = start(&["--resume", "out"]).wait();
    said.assert_ran();
    let found = document(&place, "out/signoff.json");
    assert_eq!((&found["status"], &found["stages"][0]["folder"]), (&"complete".into(), &"01-low".into()));
    assert_eq!(
        (stage_of(&place, "status"), stage_of(&place, "folder")),
        ("ended".into(), "02-high-3".into())
    );
    let last = document(&place, "out/02-high-3/run.json");
    assert_eq!((&last["arrivals"]["scheduled"], &last["arrivals"]["ok"]), (&200.into(), &200.into()));
}

/// Where agents have their own folders beside those of a search, a search goes on in spite of what a killed one has left.
#[test]
fn a_killed_search_goes_on() {
    let (target, place) = (healthy(), Place::new());
    let (url, nats) = (target.url(), server().display().to_string());
    let brief =
        ["--start", "40", "--settle", "1s", "--measure", "4s", "--measure-max", "4s", "--within", "6s"];
    let search =
        ["knee", &url, "--slo", "p99 < 5s", "--agents", "local:2", "--nats-server", &nats, "--no-store"];
    let start = |own: &[&str]| Started::spawn(&mut place.command(&[&search[..], &brief, own].concat()));
    let mut run = start(&["-o", "out"]);
    assert!(is_under_way(&place, &mut run, "out/trial-01"), "{:?}", run.wait());
    run.signal(Signal::KILL);
    run.wait();
    let said = start(&["--resume", "out"]).wait();
    said.assert_ran();
    assert!(said.stderr.contains("out.local stays"), "{said:?}");
    assert_eq!(document(&place, "out/trial-01-2/run.json")["status"], "complete");
    let left: Vec<String> = place.list(".").into_iter().filter(|name| name.contains(".local")).collect();
    assert_eq!(left, ["out.local"], "its own is taken away");
}

#[test]
fn a_comparison_keeps_its_runs() {
    let (target, place) = (healthy(), Place::new());
    let (url, nats) = (target.url(), server().display().to_string());
    let sides = ["compare", &url, &format!("{url}other"), "-R", "40", "-d", "5s", "--runs", "1", "-o", "out"];
    let led = ["--agents", "local:2", "--nats-server", &nats, "--no-store"];
    let mut run = Started::spawn(&mut place.command(&[&sides[..], &led].concat()));
    assert!(is_under_way(&place, &mut run, "out/baseline/1"), "{:?}", run.wait());
    run.signal(Signal::INT);
    let said = run.wait();
    assert_interrupted(
        &said,
        &["out/baseline/1 has what came of the run", "interrupted in run 1 of 2", "--resume out"],
    );
    assert_cut_off(&place, "out/baseline/1");
}

/// A finished run is taken over as it is; the one that was cut off is repeated, and the folder of its agents with it.
#[test]
fn a_comparison_goes_on_with_what_is_missing() {
    let (target, place) = (healthy(), Place::new());
    let (url, nats) = (target.url(), server().display().to_string());
    let led = ["--agents", "local:2", "--nats-server", &nats, "--no-store", "--json"];
    let start = |rate: &str, own: &[&str]| {
        let sides = ["compare", &url, &format!("{url}other"), "-R", rate, "-d", "3s", "--runs", "1"];
        Started::spawn(&mut place.command(&[&sides[..], &led, own].concat()))
    };
    let mut run = start("40", &["-o", "out"]);
    assert!(is_under_way(&place, &mut run, "out/candidate/1"), "{:?}", run.wait());
    run.signal(Signal::INT);
    assert_interrupted(&run.wait(), &["interrupted in run 2 of 2", "--resume out"]);
    let whole = |path: &str| document(&place, path)["status"] == "complete";
    assert!(whole("out/baseline/1/run.json") && !whole("out/candidate/1/run.json"));
    let before = place.text("out/baseline/1/run.json");
    let refused = start("50", &["--resume", "out"]).wait();
    assert!(refused.code() == Some(2) && refused.stderr.contains("another load"), "{refused:?}");

    let asked = || target.seen().iter().filter(|seen| !seen.target.ends_with("other")).count();
    let (asked_before, said) = (asked(), start("40", &["--resume", "out"]).wait());
    said.assert_ran();
    let found: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"));
    let runs = |side: &str| found[side]["runs"].as_array().expect("runs").clone();
    let counted = |side: &str| runs(side).into_iter().filter(|run| run["left_out"].is_null()).count();
    assert!(runs("candidate")[0]["left_out"].is_string(), "{found:#}");
    let repeated = document(&place, "out/candidate/2/run.json");
    assert_eq!(
        (&repeated["status"], repeated["agents"].as_array().map(Vec::len)),
        (&"complete".into(), Some(2))
    );
    // What does not count on a busy machine is measured again, on either side.
    if counted("baseline") == 1 && runs("baseline").len() == 1 {
        assert_eq!(place.text("out/baseline/1/run.json"), before, "it is as it was");
        assert_eq!(asked(), asked_before, "and nothing was sent for it again");
    }
}

/// Nothing has begun, so nothing is over: what was to be done has its turn again.
#[test]
fn while_agents_are_waited_for_nothing_is_over() {
    let (target, place) = (healthy(), Place::new());
    let bus = Bus::start(&place);
    let led = ["--agents", "1", "--bus", &bus.url, "--nkey", "operator.nk", "--no-store", "-o"];
    let hold = "[[stages]]\nkind = \"hold\"\nname = \"low\"\nrate = \"40\"\nduration = \"1s\"\n";
    place.file(
        "plan.toml",
        format!("target = \"{}\"\n[objectives]\nslo = [\"errors < 50%\"]\n{hold}", target.url()),
    );
    let (url, other) = (target.url(), format!("{}other", target.url()));
    let interrupted = |args: &[&str], folder: &str| {
        let mut run = Started::spawn(&mut place.command(&[args, &led, &[folder]].concat()));
        while !place.path().join(folder).exists() && run.is_running() {
            std::thread::sleep(20 * MS);
        }
        std::thread::sleep(1_000 * MS);
        run.signal(Signal::INT);
        run.wait()
    };
    let said = interrupted(&["signoff", "plan.toml"], "signoff");
    assert_interrupted(&said, &["--resume signoff"]);
    let found = document(&place, "signoff/signoff.json");
    assert_eq!(
        (&found["status"], &found["stages"][0]["status"]),
        (&"interrupted".into(), &"interrupted".into())
    );
    let said = interrupted(&["knee", &url, "--slo", "p99 < 5s"], "knee");
    assert_interrupted(&said, &["interrupted before trial 1"]);
    let said = interrupted(&["compare", &url, &other, "-R", "40", "-d", "2s", "--runs", "1"], "compare");
    assert_interrupted(&said, &["interrupted in run 1 of 2"]);
}

/// The processes whose command line names a folder in `place`.
fn agents_in(place: &std::path::Path) -> Vec<String> {
    let within = place.join("out.local").display().to_string();
    let entries = std::fs::read_dir("/proc").expect("a list of processes");
    let lines = entries.filter_map(|entry| std::fs::read(entry.ok()?.path().join("cmdline")).ok());
    let lines = lines.map(|line| String::from_utf8_lossy(&line).replace('\0', " "));
    lines.filter(|line| line.contains(" agent ") && line.contains(&within)).collect()
}

/// What the refusal of the same folder, and the documentation, tell to do.
#[test]
fn the_records_of_a_killed_coordinator_are_merged_by_a_shell() {
    let (target, place) = (healthy(), Place::new());
    let (url, nats) = (target.url(), server().display().to_string());
    let load = ["run", &url, "-R", "50", "-d", "60s", "--no-preflight", "--no-store", "-o", "out"];
    let args = [&load[..], &["--agents", "local:2", "--nats-server", &nats]].concat();
    let run = Started::spawn(&mut place.command(&args));
    target.wait_for(100);
    run.signal(Signal::KILL);
    run.wait();
    let ended = |agent: &str| {
        let text = std::fs::read_to_string(place.path().join(format!("out.local/{agent}/run.json")));
        let record = text.ok().and_then(|text| serde_json::from_str::<Value>(&text).ok());
        record.is_some_and(|record| record["aborted"]["guard"].is_string())
    };
    let begun = std::time::Instant::now();
    while !(ended("agent-1") && ended("agent-2")) && begun.elapsed() < 30_000 * MS {
        std::thread::sleep(50 * MS);
    }
    // They are gone once that is written: nobody is left who has such a record open.
    while !agents_in(place.path()).is_empty() {
        assert!(begun.elapsed() < 50_000 * MS, "they stay: {:?}", agents_in(place.path()));
        std::thread::sleep(50 * MS);
    }
    let merge = "exec \"$0\" merge out.local/agent-* -o whole --json --no-store";
    let merged = finish(&mut place.shell(merge, &[])).run();
    assert_eq!(merged.arrivals("scheduled"), 3_000);
    assert!(
        merged.arrivals("ok") >= 90 && merged.document["arrivals"]["lost"].is_null(),
        "{}",
        merged.document["arrivals"]
    );
}
