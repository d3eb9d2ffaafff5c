//! Several machines offer one load, and their folders are merged.

use crate::support::hostile::{Act, Hostile, answer, healthy, ok};
use crate::support::{Place, Started, finish};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// Enough for a binary that is not optimised to be ready on a busy machine.
const AHEAD: Duration = Duration::from_secs(8);

const SHOP: &str = r#"
[load]
rate = 300
arrivals = "poisson"
duration = "2s"
seed = 7

[let]
item = "zipf(1M)"

[[requests]]
share = "80%"
url = "/items/{{item}}"

[[requests]]
share = "20%"
url = "/orders"
json = { n = "{{number(item)}}" }
"#;

fn start_at() -> String {
    let at = jiff::Timestamp::try_from(SystemTime::now() + AHEAD).expect("a time");
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// One process for each of `shares`, which writes into the folder of its place in the list.
fn start(place: &Place, shares: &[&str], args: &[&str]) -> Vec<Started> {
    let at = start_at();
    let one = |(number, share): (usize, &&str)| {
        let folder = format!("part-{number}");
        let own = ["--share", share, "--start-at", &at, "--json", "-o", &folder, "--no-preflight"];
        Started::spawn(&mut place.command(&[&["run"], args, &own].concat()))
    };
    shares.iter().enumerate().map(one).collect()
}

/// Half of a load each. A machine's number is in its requests' header `X-Machine` and in the name of its folder, `part-1` or `part-2`.
fn two_machines(place: &Place, url: &str, args: &[&str]) -> [Started; 2] {
    place.file("plan.toml", "[request]\nheader = [\"X-Machine: ${MACHINE}\"]\n");
    let at = start_at();
    ["1", "2"].map(|number| {
        let (share, folder) = (format!("{number}/2"), format!("part-{number}"));
        let run = ["run", "plan.toml", url, "-R", "100", "-d", "1s"];
        let own = ["--share", &share, "--start-at", &at, "-o", &folder];
        Started::spawn(place.command(&[&run[..], args, &own].concat()).env("MACHINE", number))
    })
}

/// Four workers on three machines send what one machine sends, and account for it as one.
#[test]
fn three_machines_send_what_one_sends() {
    let (server, place) = (healthy(), Place::new());
    place.file("shop.toml", SHOP);
    let url = server.url();
    let parts = start(&place, &["4/4", "1/4", "2-3/4"], &["shop.toml", &url]);
    let said: Vec<_> = parts.into_iter().map(|part| part.wait().run()).collect();
    for one in &said {
        assert!(one.has_finding("one_share") && one.document["agents"][0]["of"] == 4, "{}", one.stderr);
        assert!(one.document["loads"][0].get("arrival_process").is_none());
        one.assert_all("ok");
    }
    let merged = place.call(&["merge", "part-0", "part-1", "part-2", "-o", "out", "--json"]).run();
    merged.assert_all("ok");
    let by_each: u64 = said.iter().map(|one| one.arrivals("ok")).sum();
    assert_eq!(merged.arrivals("ok"), by_each);
    assert_eq!(merged.at("/plan/threads"), &json!(4));
    assert_eq!(merged.at("/agents/1/first"), &json!(2));
    assert!(!merged.has_finding("agents_lost") && !merged.has_finding("one_share"), "{}", merged.stderr);
    assert!(place.text("out/report.html").contains("Machines"));
    assert_eq!(place.run_json(), merged.document);

    let (other, alone) = (healthy(), Place::new());
    alone.file("shop.toml", SHOP);
    let whole = alone.measure(&["shop.toml", &other.url(), "--no-preflight"]);
    assert_eq!(merged.arrivals("scheduled"), whole.arrivals("scheduled"));
    assert!(server.asked() == other.asked(), "the same requests");
    for operation in 0..2 {
        let scheduled = format!("/operations/{operation}/arrivals/scheduled");
        assert_eq!(merged.at(&scheduled), whole.at(&scheduled));
    }
    // The history has the whole only.
    let history: Value =
        serde_json::from_str(&place.call(&["history", "--json"]).stdout).expect("a document");
    assert_eq!(history["runs"].as_array().map(Vec::len), Some(1), "{history}");
}

/// Without one of them, what it would have sent is lost; a report of the folder says the same.
#[test]
fn a_machine_that_is_missing_is_no_pass() {
    let (server, place) = (healthy(), Place::new());
    let args = [&server.url(), "-R", "200", "-d", "1s", "--slo", "p99 < 10s"];
    let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
    for part in start(&place, &["1/3", "3/3"], &args) {
        part.wait().assert_ran();
    }
    let said = place.call(&["merge", "part-0", "part-1", "-o", "out", "--json"]);
    assert_eq!(said.code(), Some(3), "{said:?}");
    let merged = said.run();
    assert_eq!(merged.arrivals("scheduled"), 200);
    assert_eq!((merged.arrivals("lost"), merged.arrivals("ok")), (67, 133));
    assert!(merged.has_finding("agents_lost") && !merged.has_finding("accounting"));
    assert_eq!(merged.at("/verdict/status"), "inconclusive");
    let text = place.call(&["report", "out"]);
    assert_eq!(text.code(), Some(3));
    let flat = text.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for part in ["1 of 3 shares has no record here", "+ lost 67", "INVALID", "Machines"] {
        assert!(flat.contains(part), "{part:?} is missing in {}", text.stdout);
    }
}

/// The histograms of one folder were cut when it was copied, and then the first line as well.
#[test]
fn a_folder_that_was_cut_is_named_and_lost() {
    let (server, place) = (healthy(), Place::new());
    let url = server.url();
    for part in start(&place, &["1/2", "2/2"], &[&url, "-R", "200", "-d", "3s"]) {
        part.wait().assert_ran();
    }
    let hlog = place.text("part-1/intervals.hlog");
    place.file("part-1/intervals.hlog", &hlog[..hlog.len() / 2]);
    let said = place.call(&["merge", "part-0", "part-1", "-o", "out", "--json"]);
    assert_eq!(said.code(), Some(3), "{said:?}");
    let breaks_off = "warning: the record in part-1 (share 2 of 2) breaks off after ";
    assert!(said.stderr.contains(breaks_off) && !said.stderr.contains("defect"), "{said:?}");
    let merged = said.run();
    assert!(merged.has_finding("agents_lost") && !merged.has_finding("accounting"), "{}", merged.stderr);
    let known = merged.arrivals("ok") + merged.arrivals("lost");
    assert_eq!((merged.arrivals("scheduled"), known), (600, 600));
    let lines = place.text("part-1/intervals.jsonl");
    place.file("part-1/intervals.jsonl", &lines[..100]);
    let said = place.call(&["merge", "part-0", "part-1", "-o", "other", "--json"]);
    assert!(
        said.code() == Some(3) && said.stderr.contains("the record in part-1 breaks off before"),
        "{said:?}"
    );
    let merged = said.run();
    assert_eq!((merged.arrivals("ok"), merged.arrivals("lost")), (300, 300));
}

/// One folder for each of three hundred machines, in a process that may have 256 files open.
#[test]
fn more_folders_than_files_may_be_open() {
    let (server, place) = (healthy(), Place::new());
    let url = server.url();
    for part in start(&place, &["1/300"], &[&url, "-R", "600", "-d", "1s"]) {
        part.wait().assert_ran();
    }
    // Of even arrivals each has as many. The record of one does for all.
    let mut document: Value = serde_json::from_str(&place.text("part-0/run.json")).expect("a document");
    let (lines, hlog) = (place.text("part-0/intervals.jsonl"), place.text("part-0/intervals.hlog"));
    let (first, others) = lines.split_once('\n').expect("a header");
    let mut header: Value = serde_json::from_str(first).expect("a header");
    for share in 2..=300 {
        for agent in [&mut document["agents"][0], &mut header["header"]["agents"][0]] {
            (agent["first"], agent["last"]) = (json!(share), json!(share));
        }
        place.file(&format!("part-{share}/run.json"), document.to_string());
        place.file(&format!("part-{share}/intervals.jsonl"), format!("{header}\n{others}"));
        place.file(&format!("part-{share}/intervals.hlog"), &hlog);
    }
    let folders: Vec<String> =
        std::iter::once(0).chain(2..=300).map(|share| format!("part-{share}")).collect();
    let mut args = vec!["merge", "-o", "out", "--json", "--no-store"];
    args.extend(folders.iter().map(String::as_str));
    let merged = finish(&mut place.shell("ulimit -n 256", &args)).run();
    merged.assert_all("ok");
    assert_eq!((merged.arrivals("scheduled"), merged.arrivals("ok")), (600, 600));
    assert_eq!(merged.document["agents"].as_array().map(Vec::len), Some(300));
    assert!(!merged.has_finding("agents_lost"), "{}", merged.stderr);
}

/// A target that refuses one machine before the run: its part counts as lost. What a machine fills in itself may differ.
#[test]
fn a_machine_that_never_began_is_lost() {
    let server = Hostile::start(|seen| match seen.header("x-machine") {
        Some("2") => Act::Answer(answer("403 Forbidden", "no")),
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    let [first, second] = two_machines(&place, &server.url(), &["--expect", "status=200"]);
    first.wait().assert_ran();
    assert_eq!(second.wait().code(), Some(1), "not as expected");
    let merged = place.call(&["merge", "part-1", "part-2", "-o", "out", "--json"]).run();
    assert_eq!((merged.arrivals("ok"), merged.arrivals("lost")), (50, 50), "{}", merged.stderr);
    assert!(merged.has_finding("agents_lost"));
    assert_eq!(merged.at("/agents/1/result/status"), "running");
}

/// One whose target takes long to answer before the load (less than its patience of 10 s) is not ready at the start. Nothing of its part
/// was sent, so nothing is lost.
#[test]
fn a_machine_that_is_late_withholds_its_part() {
    let server = Hostile::start(|seen| match seen.header("x-machine") {
        Some("2") => Act::AnswerAfter(AHEAD + Duration::from_secs(1), ok()),
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    let [first, second] = two_machines(&place, &server.url(), &["--timeout", "30s", "--json"]);
    first.wait().run().assert_all("ok");
    let said = second.wait();
    assert_eq!(said.code(), Some(3), "{said:?}");
    let late = said.run();
    assert_eq!((late.arrivals("scheduled"), late.arrivals("withheld")), (50, 50), "{}", late.stderr);
    assert_eq!(late.at("/aborted/guard"), "late_start");
    assert_eq!(late.at("/aborted/at_ns"), 0);
    let asked = server.seen().iter().filter(|seen| seen.header("x-machine") == Some("2")).count();
    assert_eq!(asked, 1, "before the load alone");
    let said = place.call(&["merge", "part-1", "part-2", "-o", "out", "--json"]);
    assert_eq!(said.code(), Some(3), "{said:?}");
    let merged = said.run();
    assert_eq!((merged.arrivals("ok"), merged.arrivals("withheld")), (50, 50), "{}", merged.stderr);
    assert!(merged.document["arrivals"]["lost"].is_null());
    let why = merged.at("/aborted/rule").as_str().expect("a reason");
    assert!(why.starts_with("a machine was ready only ") && why.ends_with(" after the start"), "{why}");
}

/// A script finds all threads of the run on each machine, and numbers its own as they are in the whole.
#[test]
fn a_script_finds_the_threads_of_all_machines() {
    let script = "local count = 0
        function setup(thread) count = count + 1 thread:set('id', count) end
        function init() n = 0 end
        function request() n = n + 1 return wrk.format(nil, '/' .. id .. '/' .. n .. '/' .. math.random(1e9)) end";
    let load = ["-R", "100", "-d", "1s", "--script", "s.lua", "--seed", "3"];
    let (server, place) = (healthy(), Place::new());
    place.file("s.lua", script);
    let url = server.url();
    for part in start(&place, &["2-3/3", "1/3"], &[&[url.as_str()], &load[..]].concat()) {
        part.wait().run().assert_all("ok");
    }
    let merged = place.call(&["merge", "part-0", "part-1", "-o", "out", "--json"]).run();
    merged.assert_all("ok");
    assert_eq!(merged.arrivals("ok"), 100);

    let (other, alone) = (healthy(), Place::new());
    alone.file("s.lua", script);
    let url = other.url();
    alone.measure(&[&[url.as_str()], &load[..], &["-t", "3", "--no-preflight"]].concat()).assert_all("ok");
    assert!(server.asked() == other.asked(), "the same requests");
}

#[test]
fn what_can_not_be_shared_is_refused() {
    let (place, at) = (Place::new(), start_at());
    let run =
        |more: &[&str]| place.call(&[&["run", "http://127.0.0.1:9/", "-R", "10", "-d", "1s"], more].concat());
    run(&["--share", "1/2"]).refused(&["--start-at"]);
    run(&["--share", "3/2", "--start-at", &at]).refused(&["there is no share 3 of 2"]);
    run(&["--share", "1/2", "--start-at", "noon"]).refused(&["RFC 3339"]);
    run(&["--share", "1/2", "--start-at", &at, "-t", "2"]).refused(&["--share", "--threads", "exclude"]);
    run(&["--share", "1/2", "--start-at", "2020-01-01T00:00:00Z"])
        .refused(&["has passed", "at least 2 s ahead"]);
    run(&["--share", "1/2", "--start-at", &at, "-c", "1"])
        .refused(&["1 connection can't be dealt to 2 shares", "raise -c, or make fewer shares"]);
    let users = ["http://127.0.0.1:9/", "--closed", "2", "--share", "1-4/4", "--start-at", &at];
    place
        .call(&[&["run"], &users[..]].concat())
        .refused(&["2 users can't be dealt to 4 shares", "(make fewer shares)"]);
    let precise =
        ["http://127.0.0.1:9/", "-R", "10", "--share", "1/2", "--start-at", &at, "--precision", "5%"];
    place.call(&[&["run"], &precise[..]].concat()).refused(&["--precision and --share exclude each other"]);
    place.file("own.lua", "function done() end");
    run(&["--share", "1/2", "--start-at", &at, "--script", "own.lua"]).refused(&[
        "done()",
        "only the figures of its own share",
        "--agents",
    ]);
    place.file("own.lua", "function init() wrk.thread:stop() end");
    run(&["--share", "1/2", "--start-at", &at, "--script", "own.lua"])
        .refused(&["own.lua:1", "the load of this machine alone"]);
    place.call(&["try", "http://127.0.0.1:9/", "--start-at", &at]).refused(&["are about a run"]);
    // Flags of a run of agents, which neither a share nor a run at a time is.
    for of_agents in [
        &["--agents-stay"][..],
        &["--agents-within", "1m"],
        &["--agents-resume"],
        &["--nats-server", "nowhere"],
        &["--bus", "nats://127.0.0.1:1"],
    ] {
        let refusal = format!("{} is for a run of agents", of_agents[0]);
        for alone in [&["--share", "1/2", "--start-at", &at][..], &["--start-at", &at]] {
            run(&[alone, of_agents].concat()).refused(&[&refusal]);
        }
    }
    run(&["--start-at", &at, "--tolerate-lost", "1"]).refused(&["which share this one has with --share"]);
    place.call(&["merge", "nowhere"]).refused(&["nowhere"]);
    assert_eq!(place.list("."), ["own.lua"], "nothing is left behind");
}

/// Users who wait are dealt like arrivals; only all of them together are judged as the users that were asked for.
#[test]
fn users_of_two_machines_are_one_population() {
    let (server, place) = (healthy(), Place::new());
    let args = [&server.url(), "--closed", "3", "--think", "20ms", "-d", "1s"];
    let args: Vec<&str> = args.iter().map(AsRef::as_ref).collect();
    let parts: Vec<_> =
        start(&place, &["1/2", "2/2"], &args).into_iter().map(|part| part.wait().run()).collect();
    let merged = place.call(&["merge", "part-1", "part-0", "-o", "out", "--json"]).run();
    merged.assert_all("ok");
    assert_eq!(merged.arrivals("ok"), parts.iter().map(|part| part.arrivals("ok")).sum::<u64>());
    assert_eq!(merged.at("/loads/0/users"), &json!(3), "{}", merged.stderr);
    for said in parts.iter().chain([&merged]) {
        assert!(!said.has_finding("accounting"), "{}", said.stderr);
    }
}

/// A start at a time needs no share.
#[test]
fn a_run_begins_when_it_was_told_to() {
    let (server, place) = (healthy(), Place::new());
    let at = start_at();
    let said = finish(&mut place.command(&[
        "run",
        &server.url(),
        "-R",
        "50",
        "-d",
        "1s",
        "--start-at",
        &at,
        "--json",
        "-o",
        "out",
    ]));
    let run = said.run();
    run.assert_all("ok");
    assert_eq!(run.at("/started_at"), &json!(at));
    assert!(run.document.get("agents").is_none());
}
