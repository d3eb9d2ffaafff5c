//! What the build before left behind is still read, with every figure in it as it was (`fixtures/README.md`).

use crate::support::{Place, Said};
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Folders whose run came to an end, in order of time.
const ENDED: [&str; 9] =
    ["even", "again", "poisson", "closed", "refused", "failing", "aborted", "targets", "tool"];

/// What has the same place in both documents.
const UNMOVED: [&str; 27] = [
    "status",
    "tool",
    "started_at",
    "command",
    "environment",
    "targets",
    "simulated",
    "part",
    "validity",
    "verdict",
    "aborted",
    "arrivals",
    "warmup",
    "rate",
    "failures",
    "bytes_received",
    "response_time",
    "service_time",
    "send_lag",
    "generator_late",
    "failed_response_time",
    "lag_causes",
    "generator",
    "spectrum",
    "series",
    "heatmap",
    "slowest",
];

/// What has another place now: there, and here.
const MOVED: [(&str, &str); 7] = [
    ("/connections", "/origins/0/connections"),
    ("/statuses", "/codes"),
    ("/load/summary", "/plan/summary"),
    ("/load/phases", "/plan/phases"),
    ("/load/timeout_ns", "/plan/timeout_ns"),
    ("/load/model", "/loads/0/model"),
    ("/arrivals", "/loads/0/arrivals"),
];

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/run-1").join(name)
}

/// A place with copies: whoever reads them may leave a page.
fn place() -> Place {
    let place = Place::new();
    for folder in ENDED.iter().chain(&["killed"]) {
        for entry in std::fs::read_dir(fixture(folder)).expect("a folder") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            place.file(&format!("{folder}/{name}"), std::fs::read(&path).expect("a file"));
        }
    }
    place.file("history.db", std::fs::read(fixture("history.db")).expect("a file"));
    place
}

fn json(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

fn recorded(folder: &str) -> Value {
    serde_json::from_slice(&std::fs::read(fixture(folder).join("run.json")).expect("a file")).expect("JSON")
}

/// Everything that was said is said; there may be more.
#[track_caller]
fn assert_holds(now: &Value, then: &Value, place: &str) {
    match (now, then) {
        (Value::Object(now), Value::Object(then)) => {
            for (name, then) in then {
                assert_holds(now.get(name).unwrap_or(&Value::Null), then, &format!("{place}/{name}"));
            }
        }
        (Value::Array(now), Value::Array(then)) => {
            assert_eq!(now.len(), then.len(), "{place}");
            now.iter().zip(then).for_each(|(now, then)| assert_holds(now, then, place));
        }
        _ => assert_eq!(now, then, "{place}"),
    }
}

#[test]
fn a_report_of_an_earlier_run_has_its_figures() {
    let place = place();
    for folder in ENDED {
        let then = recorded(folder);
        let now = json(&place.call(&["report", folder, "--json"]));
        for field in UNMOVED {
            assert_holds(&now[field], &then[field], &format!("{folder}: {field}"));
        }
        for (there, here) in MOVED {
            let (now, then) = (now.pointer(here).expect(here), then.pointer(there).expect(there));
            assert_holds(now, then, &format!("{folder}: {there}"));
        }
        let text = place.call(&["report", folder]).stdout;
        let summary = then["load"]["summary"].as_str().expect("a text");
        let in_one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(in_one_line(&text).contains(&in_one_line(summary)), "{folder}: {text}");
        for more in [&["--csv", "x.csv"][..], &["--junit", "x.xml"], &["--hgrm", "x.hgrm"]] {
            let said = place.call(&[&["report", folder][..], more].concat());
            assert!(matches!(said.code(), Some(0 | 1 | 3)), "{folder}: {said:?}");
        }
    }
}

#[test]
fn requests_of_an_earlier_run_are_told_apart() {
    let place = place();
    let then = recorded("targets");
    let now = json(&place.call(&["report", "targets", "--json", "--slo", "search: p50 < 1s"]));
    let names = |document: &Value| -> Vec<Value> {
        document["operations"].as_array().expect("a list").iter().map(|o| o["name"].clone()).collect()
    };
    assert_eq!(names(&now), names(&then));
    for number in 0..3 {
        let of = |document: &Value| document["operations"][number]["response_time"]["count"].clone();
        assert_eq!(of(&now), of(&then));
    }
    assert_eq!(now["verdict"]["status"], "pass");
}

#[test]
fn a_run_that_was_killed_is_read_to_its_last_interval() {
    let now = json(&place().call(&["report", "killed", "--json"]));
    let arrivals = &now["arrivals"];
    assert_eq!((&now["status"], &arrivals["scheduled"]), (&"running".into(), &100.into()), "{arrivals}");
    assert_eq!((&arrivals["ok"], &arrivals["unfinished"]), (&100.into(), &0.into()), "{arrivals}");
    assert_eq!(now["validity"]["findings"][0]["code"], "killed");
}

#[test]
fn a_part_of_an_earlier_run_is_cut() {
    let place = place();
    let [first, second] = [["--to", "2s"], ["--from", "2s"]].map(|part| {
        let part = json(&place.call(&[&["report", "even", "--json"][..], &part].concat()));
        part["arrivals"]["ok"].as_u64().expect("a count")
    });
    assert_eq!(Some(first + second), recorded("even")["arrivals"]["ok"].as_u64());
}

#[test]
fn earlier_runs_are_compared() {
    let place = place();
    let found = json(&place.call(&["compare", "even", "again", "--json"]));
    assert_eq!(found["outcome"], "no_verdict", "one run each decides nothing: {found}");
    assert_eq!(found["baseline"]["runs"][0]["achieved_per_s"], recorded("even")["rate"]["achieved"]);
    assert_eq!(found["candidate"]["runs"][0]["achieved_per_s"], recorded("again")["rate"]["achieved"]);
    place.call(&["compare", "even", "closed"]).refused(&["has a load that is open"]);
}

/// A run keeps its name and its series, so that a trend goes on over the change.
#[test]
fn an_earlier_history_is_read_and_can_be_made_anew() {
    let place = place();
    let runs = |said: &Said| json(said)["runs"].as_array().expect("a list").clone();
    let then = runs(&place.call(&["history", "--store", "history.db", "--json"]));
    assert_eq!(then.len(), 10);
    let folders = [&ENDED[..], &["killed"]].concat();
    let made = place.call(&[&["index"][..], &folders, &["--store", "new.db"]].concat());
    assert_eq!(made.code(), Some(0), "{made:?}");
    let now = runs(&place.call(&["history", "--store", "new.db", "--json"]));
    let without_folder = |runs: Vec<Value>| -> Vec<Value> {
        let strip = |mut run: Value| {
            run.as_object_mut().expect("an object").remove("folder");
            run
        };
        runs.into_iter().map(strip).collect()
    };
    assert_eq!(without_folder(now), without_folder(then.clone()));
    // Into the same index it goes as the same runs.
    let again = place.call(&[&["index"][..], &folders, &["--store", "history.db"]].concat());
    assert_eq!(again.code(), Some(0), "{again:?}");
    assert_eq!(runs(&place.call(&["history", "--store", "history.db", "--json"])).len(), then.len());
    let shown = place.call(&["show", then[0]["id"].as_str().expect("a name"), "--store", "history.db"]);
    assert_eq!(shown.code(), Some(0), "{shown:?}");
}
