//! The target's fault × the generator's fault × objective → verdict and exit code, in the virtual world. The
//! table in `docs/slo.md` is what comes out here.

use crate::support::Place;
use serde_json::Value;

/// What the target does, as the table calls it, and as `--server` does.
const TARGETS: [(&str, &str); 9] = [
    ("is well", "service=1ms"),
    ("500 for 1 %", "service=1ms error=1/100"),
    ("500 for 33 %", "service=1ms error=1/3"),
    ("500 for all", "service=1ms error=1/1"),
    ("dies half-way", "service=1ms down=1h@15s"),
    ("hangs half-way", "service=1ms pause=1h@15s"),
    ("refuses", "service=1ms down=1h@0s"),
    ("never accepts", "service=1ms accept-stall=1h@0s"),
    ("is slow", "service=300ms"),
];

/// What the generator's machine does. A request costs it two events, and more where they come one by one.
const GENERATORS: [(&str, &str); 5] = [
    ("is well", ""),
    ("stopped 150 ms", "pause=150ms@7s/1h"),
    ("stopped 2 s", "pause=2s@7s/1h"),
    ("1.2 × too slow", "cpu=600us"),
    ("10 × too slow", "cpu=5ms"),
];

const LOADS: [(&str, &[&str]); 3] = [
    ("hold", &["-R", "1000", "-d", "30s"]),
    ("ramp", &["-R", "100..1900", "-d", "30s"]),
    ("short", &["-R", "1000", "-d", "1s"]),
];

const OBJECTIVES: [&str; 6] = [
    "p50 < 50ms",
    "p99 < 200ms",
    "max < 900ms",
    "errors < 5%",
    "achieved >= 90%",
    "p99 < 200ms in 80% of 1s",
];

/// What one run says of each objective, and its exit code.
#[derive(Clone, PartialEq, Debug)]
struct Cell {
    statuses: Vec<String>,
    code: i32,
    is_invalid: bool,
}

impl Cell {
    fn measured(load: &[&str], server: &str, generator: &str, objectives: &[&str]) -> Cell {
        let place = Place::new();
        let mut args = vec!["sim", "--json", "-o", "out", "--timeout", "1s", "--server", server];
        args.extend(load);
        if !generator.is_empty() {
            args.extend(["--generator", generator]);
        }
        objectives.iter().for_each(|objective| args.extend(["--slo", objective]));
        let said = place.call(&args);
        let document: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
        let slos = document["verdict"]["slos"].as_array().expect("objectives");
        let code = said.code().expect("an exit code");
        assert_eq!(place.call(&["report", "out"]).code(), Some(code), "the folder says the same: {args:?}");
        Cell {
            statuses: slos.iter().map(|slo| slo["status"].as_str().expect("a status").to_string()).collect(),
            code,
            is_invalid: document["validity"]["status"] == "invalid",
        }
    }

    fn of(load: &[&str], server: &str, generator: &str) -> Cell {
        Cell::measured(load, server, generator, &OBJECTIVES)
    }

    /// As the table shows it.
    fn shown(&self) -> String {
        let sign = |status: &String| match status.as_str() {
            "pass" => "+",
            "fail" => "−",
            _ => "?",
        };
        let signs: Vec<&str> = self.statuses.iter().map(sign).collect();
        format!("`{}` {}", signs.concat(), self.code)
    }

    /// The exit code that the objectives together mean.
    fn expected_code(&self) -> i32 {
        let has = |status: &str| self.statuses.iter().any(|of| of == status);
        match (has("fail"), has("inconclusive")) {
            (true, _) => 1,
            (false, true) => 3,
            (false, false) => 0,
        }
    }
}

/// Nothing that the generator does makes the target fail, or pass, where it would not have; and the exit code is what
/// the objectives mean, whether the run is valid or not.
#[test]
fn no_fault_of_the_generator_reverses_a_verdict() {
    for (load_name, load) in LOADS {
        for (target, server) in TARGETS {
            let alone = Cell::of(load, server, "");
            for (generator, words) in GENERATORS {
                let cell = Cell::of(load, server, words);
                let what = format!("{load_name}, the target {target}, the generator {generator}");
                assert_eq!(cell.code, cell.expected_code(), "{what}: {cell:?}");
                for ((said, truth), objective) in cell.statuses.iter().zip(&alone.statuses).zip(OBJECTIVES) {
                    let reversed = [("fail", "pass"), ("pass", "fail")];
                    assert!(!reversed.contains(&(said, truth)), "{what}, {objective}: {said}, alone {truth}");
                }
            }
        }
    }
}

/// The worse the outage, the firmer the verdict.
#[test]
fn what_the_target_does_is_missed_also_in_an_invalid_run() {
    let hold = LOADS[0].1;
    for (target, server) in &TARGETS[2..8] {
        let cell = Cell::of(hold, server, "");
        assert_eq!(cell.code, 1, "{target}: {cell:?}");
        assert_eq!(cell.statuses[3], "fail", "errors < 5 %, {target}: {cell:?}");
        for objective in OBJECTIVES {
            let said = Cell::measured(hold, server, "", &[objective]);
            // Half or more was answered, and in time: that much is so.
            let is_half = ["500 for 33 %", "dies half-way", "hangs half-way"].contains(target);
            let may_hold = is_half && ["p50 < 50ms", "max < 900ms"].contains(&objective);
            assert!(said.code == 1 || may_hold, "{target}, {objective}: {said:?}");
        }
    }
    assert!(Cell::of(hold, TARGETS[6].1, "").is_invalid, "an invalid run gives a verdict");
}

/// A late generator takes nothing from what was met, and one that did not send everything does.
#[test]
fn met_stands_under_a_late_generator() {
    let hold = LOADS[0].1;
    let met = Cell::measured(hold, "service=165us", "pause=30ms@0s/100ms", &["p50 < 50ms", "errors < 5%"]);
    assert_eq!((met.statuses.concat().as_str(), met.code, met.is_invalid), ("passpass", 0, true), "{met:?}");
    let unsent = Cell::measured(hold, "service=1ms", "cpu=5ms", &["errors < 99%"]);
    assert_eq!((unsent.code, unsent.is_invalid), (3, true), "{unsent:?}");
}

/// Stopped for 150 ms, with a timeout of 100 ms: what timed out was never sent, or its answer lay unread.
#[test]
fn a_pause_longer_than_the_timeout_fails_nobody() {
    for rate in ["50", "1000"] {
        for length in ["150ms", "2s"] {
            let place = Place::new();
            let generator = format!("pause={length}@2s/1h");
            let asked = ["--slo", "errors < 0.1%", "--slo", "max < 90ms", "--slo", "p99.9 < 90ms"];
            let load = ["-R", rate, "-d", "10s", "--timeout", "100ms", "--server", "service=10ms"];
            let said = place.call(&[&["sim", "--generator", &generator], &load[..], &asked[..]].concat());
            assert_eq!(said.code(), Some(3), "{rate}/s, stopped for {length}: {said:?}");
        }
    }
}

/// Users whom a pause of the generator kept from asking: what throughput lacks is not the target's.
#[test]
fn a_pause_fails_no_throughput_of_users() {
    let place = Place::new();
    for (pause, expected) in [("pause=2s@2s/100s", "115/s"), ("pause=150ms@1s/1s", "107/s")] {
        let load = ["--closed", "5", "--think", "20ms", "-d", "6s", "--server", "service=20ms"];
        let load = [&["sim", "--json", "--generator", pause][..], &load[..]].concat();
        let (met, missed) = (format!("achieved >= {expected}"), "achieved >= 140/s");
        let said = place.call(&[&load[..], &["--slo", &met]].concat());
        assert_eq!(said.code(), Some(3), "{pause}: {said:?}");
        let run: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
        let findings = run["validity"]["findings"].as_array().expect("findings");
        let held_up = |f: &&serde_json::Value| f["evidence"]["users_held_up_share"].is_number();
        assert!(findings.iter().any(|f| held_up(&f)), "{findings:?}");
        // At most 125/s, whoever is to blame.
        let said = place.call(&[&load[..], &["--slo", missed]].concat());
        assert_eq!(said.code(), Some(1), "{pause}: {said:?}");
    }
}

/// The table in the documentation, row by row.
#[test]
fn the_documented_table_is_what_comes_out() {
    let head: Vec<&str> = GENERATORS.iter().map(|(name, _)| *name).collect();
    let mut table =
        format!("| the target ↓, the generator → | {} |\n|---|{}\n", head.join(" | "), "---|".repeat(5));
    for (target, server) in TARGETS {
        let cells: Vec<String> =
            GENERATORS.iter().map(|(_, g)| Cell::of(LOADS[0].1, server, g).shown()).collect();
        table += &format!("| {target} | {} |\n", cells.join(" | "));
    }
    let docs = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/slo.md");
    let docs = std::fs::read_to_string(docs).expect("docs/slo.md");
    assert!(docs.contains(&table), "docs/slo.md should hold\n\n{table}");
}
