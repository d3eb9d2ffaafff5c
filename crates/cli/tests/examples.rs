//! Examples of realistic workloads, on the lab's server and in the virtual world: the same arrivals, each with one outcome.

use crate::support::lab::Lab;
use crate::support::{Place, Run};
use serde_json::Value;

/// The example, shortened by `flags`: live, simulated, and what its simulation wrote to standard error.
fn played(name: &str, flags: &[&str]) -> (Run, Run, String) {
    let example = format!("{}/../../examples/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy", "--answer-json"]);
    let live = place.measure(&[&[&*example, &lab.url], flags].concat());
    let said = place.call(&[&["sim", &*example], flags, &["--json", "-o", "sim"]].concat());
    let (told, simulated) = (said.stderr.clone(), said.run());
    for run in [&live, &simulated] {
        run.assert_all("ok");
        let operations = run.at("/operations").as_array().expect("a list");
        let by_operation = operations.iter().map(|of| of["arrivals"]["ok"].as_u64().expect("a count"));
        assert_eq!(by_operation.sum::<u64>(), run.arrivals("ok"));
    }
    // What is asked, and how often, follows from the seed.
    assert_eq!(live.arrivals("scheduled"), simulated.arrivals("scheduled"));
    let counts = |run: &Run| -> Vec<Value> {
        let operations = run.at("/operations").as_array().expect("a list").iter();
        operations.map(|of| of["arrivals"]["scheduled"].clone()).collect()
    };
    assert_eq!(counts(&live), counts(&simulated));
    (live, simulated, told)
}

/// How often each operation was asked for.
fn shares(run: &Run) -> Vec<u64> {
    let operations = run.at("/operations").as_array().expect("a list").iter();
    operations.map(|of| of["arrivals"]["ok"].as_u64().expect("a count")).collect()
}

#[test]
fn the_worked_example() {
    let (live, simulated, _) = played("worked", &["-R", "100", "-d", "2s", "--warmup", "0s"]);
    assert_eq!(shares(&live), [160, 40]);
    // Keys drawn beside keys sent.
    assert_eq!(live.at("/values_sent"), simulated.at("/values_sent"));
}

#[test]
fn a_mix() {
    let (live, simulated, _) = played("mix", &["-R", "150", "-d", "2s"]);
    let [items, search, order] = shares(&live)[..] else { panic!("{live:?}") };
    // Of so few arrivals a block of each stream is not full: five standard deviations.
    let n = live.arrivals("ok") as f64;
    for (count, share) in [(items, 0.8), (search, 0.15), (order, 0.05)] {
        let deviation = (n * share * (1.0 - share)).sqrt();
        assert!((count as f64 - n * share).abs() < 5.0 * deviation, "{count} of {n}");
    }
    let slos = simulated.at("/verdict/slos").as_array().expect("a list");
    assert!(slos.iter().all(|slo| slo["slo"].as_str().is_some()) && slos.len() == 2, "{slos:?}");
}

#[test]
fn a_day() {
    let (live, _, _) = played("day", &["-d", "4s"]);
    // A sine from 20 to 200 a second has a mean of 110; bursts of 200 ms in 4 s are few.
    assert!((100..1_400).contains(&live.arrivals("scheduled")), "{}", live.arrivals("scheduled"));
}

#[test]
fn a_script() {
    let (live, simulated, told) = played("script", &["-R", "100", "-d", "2s"]);
    assert!(told.contains("200 answers, p99"), "{told}");
    assert!(live.stderr.contains("200 answers, p99"), "{live:?}");
    assert_eq!(live.at("/plan/values"), simulated.at("/plan/values"));
}

/// Every step of every buyer is accounted for.
#[test]
fn a_shop() {
    let (live, simulated, _) = played("shop", &["-R", "60", "-d", "2s"]);
    let of = |of: &Value, name: &str| of[name].as_u64().unwrap_or(0);
    for run in [&live, &simulated] {
        let buy = run.at("/journeys/0");
        let account = &buy["account"];
        let ended =
            ["completed", "failed", "timed_out", "unfinished", "unsent"].map(|name| of(account, name));
        assert_eq!(ended.iter().sum::<u64>(), of(account, "scheduled"), "{account}");
        assert_eq!(of(account, "completed"), of(account, "scheduled"), "{account}");
        assert!(of(account, "completed") > 1, "{account}");
        let steps = buy["steps"].as_array().expect("a list");
        assert_eq!(of(&steps[0], "entered"), of(account, "scheduled"));
        for (step, next) in steps.iter().zip(&steps[1..]) {
            let goes_on = of(step, "passed") + of(step, "skipped") - of(step, "exited");
            assert_eq!(of(next, "entered"), goes_on, "{step} {next}");
        }
        let operations = run.at("/operations").as_array().expect("a list");
        for step in steps {
            let operation = operations.iter().find(|one| one["name"] == step["operation"]).expect("a step");
            assert_eq!(operation["arrivals"]["scheduled"], step["requests"], "{step}");
        }
    }
    let counts = |run: &Run| -> Vec<Value> {
        let steps = run.at("/journeys/0/steps").as_array().expect("a list").iter();
        steps
            .map(|step| {
                serde_json::json!([step["entered"], step["passed"], step["exited"], step["requests"]])
            })
            .collect()
    };
    assert_eq!(counts(&live), counts(&simulated));
}
