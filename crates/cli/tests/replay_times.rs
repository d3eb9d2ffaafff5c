//! When a replay sends what: to the ns, whoever sends it, and in a simulation, too.

use crate::replay::{Recorded, get, replayed, trace};
use crate::support::Place;
use crate::support::hostile::healthy;
use serde_json::Value;
use std::collections::BTreeMap;

/// Recorded seconds, of which the last is not empty.
const SECONDS: u64 = 40;
const SPEED: u64 = 10;
const SECOND_NS: u64 = 1_000_000_000;

/// Busy seconds, quiet ones and empty ones, in which requests come at the first ns, at the last, and anywhere. When each was.
fn bursty() -> Vec<u64> {
    let of_second = |second: u64| {
        let count = [2, 45, 0, 7][second as usize % 4];
        let anywhere = move |k: u64| (second * 7_919 + k * 104_729) % 99_991 * 10_001;
        let at = move |k: u64| match k {
            0 => 0,
            1 => SECOND_NS - 1,
            _ => anywhere(k),
        };
        (0..count).map(move |k| second * SECOND_NS + at(k))
    };
    let mut all: Vec<u64> = (0..SECONDS).flat_map(of_second).collect();
    all.sort_unstable();
    all
}

/// The request with k others before it asks for `/items/k`.
fn recorded(at: &[u64]) -> Vec<Recorded> {
    let after = |k: usize| at[k] - k.checked_sub(1).map_or(0, |before| at[before]);
    (0..at.len()).map(|k| get(after(k), &format!("/items/{k}"), k as u64)).collect()
}

/// When arrivals were to be sent, by their numbers: those that the record of a run keeps one by one, in blocks spread over it.
fn intended(place: &Place) -> BTreeMap<u64, u64> {
    let intervals = place.text("out/intervals.jsonl");
    let rows = intervals.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let sample = |row: Value| {
        let all = row["arrivals"].as_array().cloned().unwrap_or_default().into_iter();
        all.map(|one| (one[1].as_u64().expect("a number"), one[2].as_u64().expect("ns"))).collect::<Vec<_>>()
    };
    rows.flat_map(sample).collect()
}

#[test]
fn each_request_is_due_when_it_was_for_any_number_of_threads_and_in_a_simulation() {
    let at = bursty();
    let requests = recorded(&at);
    assert_eq!(at.len(), 540);
    let expected: BTreeMap<u64, u64> = (0..)
        .zip(&at)
        // Rounded up, but for the last ns of a second.
        .map(|(k, at)| (k, at.div_ceil(SPEED).min((at / SECOND_NS + 1) * SECOND_NS / SPEED - 1)))
        .collect();
    // At this speed, a recorded second is a cell of the timeline.
    let mut in_second = vec![0; SECONDS as usize];
    at.iter().for_each(|at| in_second[(at / SECOND_NS) as usize] += 1);
    let mut paths: Vec<String> = (0..at.len()).map(|k| format!("/items/{k}")).collect();
    paths.sort_unstable();
    let to = format!("{SECONDS}s");
    let speed = SPEED.to_string();
    let flags = ["--speed", &speed, "--to", &to, "-o", "out"];
    for threads in ["1", "2", "3"] {
        let (server, place) = (healthy(), Place::new());
        place.file("t.trace", trace(&requests));
        let url = server.url();
        let own = ["--replay", "t.trace", "--no-preflight", "-t", threads];
        let run = place.measure(&[&[url.as_str()], &own[..], &flags[..4]].concat());
        run.assert_all("ok");
        assert_as_expected(&intended(&place), &expected);
        assert_eq!(cells(&run.document), in_second, "{threads} threads");
        let mut seen: Vec<String> = server.seen().into_iter().map(|one| one.target).collect();
        seen.sort_unstable();
        assert_eq!(seen, paths, "{threads} threads");
        for k in ["0", "77", "300"] {
            let shown = place.call(&["show", "out", "--arrival", k]).stdout;
            assert!(shown.contains(&format!("GET /items/{k} ")), "{threads} threads: {shown}");
        }
    }
    let place = Place::new();
    place.file("t.trace", trace(&requests));
    let own = ["sim", "--replay", "t.trace", "--server", "service=1ms", "--json"];
    let sim = place.call(&[&own[..], &flags].concat()).run();
    assert_eq!(sim.arrivals("ok"), at.len() as u64);
    assert_as_expected(&intended(&place), &expected);
    assert_eq!(cells(&sim.document), in_second, "simulated");
}

#[track_caller]
fn assert_as_expected(intended: &BTreeMap<u64, u64>, expected: &BTreeMap<u64, u64>) {
    assert!(intended.len() > 300, "{} of {}", intended.len(), expected.len());
    for (k, at) in intended {
        assert_eq!(Some(at), expected.get(k), "arrival {k}");
    }
}

/// What fell due in each cell of the timeline, up to the last in which anything did.
fn cells(document: &Value) -> Vec<u64> {
    let timeline = &document["series"]["timeline"];
    assert_eq!(timeline["cell_ns"], 100_000_000);
    let due = timeline["due"].as_array().expect("cells");
    let mut due: Vec<u64> = due.iter().map(|n| n.as_u64().expect("a count")).collect();
    due.truncate(due.iter().rposition(|n| *n > 0).map_or(0, |last| last + 1));
    due
}

/// At twice the load in the same time, each copy has every request once.
#[test]
fn copies_are_the_same_for_any_number_of_threads_and_in_a_simulation() {
    let at = bursty();
    let requests = recorded(&at);
    let flags = ["--speed", "20", "--scale", "2", "--seed", "7"];
    let place = Place::new();
    place.file("t.trace", trace(&requests));
    let own = ["sim", "--replay", "t.trace", "--server", "service=1ms", "--json", "-o", "out"];
    let sim = place.call(&[&own[..], &flags].concat()).run();
    assert_eq!(sim.arrivals("scheduled"), 2 * at.len() as u64);
    for threads in ["1", "3"] {
        let server = healthy();
        let run = replayed(&server, &requests, &[&flags[..], &["-t", threads]].concat());
        run.assert_all("ok");
        assert_eq!(run.at("/plan/replay/offsets_ns"), sim.at("/plan/replay/offsets_ns"));
        assert_eq!(cells(&run.document), cells(&sim.document), "{threads} threads");
        let mut count: BTreeMap<String, u64> = BTreeMap::new();
        server.seen().into_iter().for_each(|one| *count.entry(one.target).or_default() += 1);
        assert!(count.len() == at.len() && count.values().all(|n| *n == 2), "{threads} threads: {count:?}");
    }
}
