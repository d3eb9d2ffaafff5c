//! Several open loads in one run: each has an account and times of its own, by its own schedule.

use crate::support::lab::{Lab, wait_for_intervals};
use crate::support::{Place, Run};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

const WORLD: &str = "[world]\nserver = \"service=10ms pause=1s@8s\"\n";

const TWO: &str = r#"
[[loads]]
name = "base"
rate = 100
duration = "20s"
[[loads]]
name = "sale"
rate = 50
start = "5s"
duration = "10s"
"#;

/// A plan with these loads that is simulated.
fn simulated(place: &Place, text: &str) -> Run {
    place.file("plan.toml", text);
    place.call(&["sim", "plan.toml", "-o", "out", "--no-store", "--json"]).run()
}

/// Of each load: its name, and how many of its arrivals were scheduled and ok.
fn accounts(document: &Value) -> Vec<(String, u64, u64)> {
    let loads = document["loads"].as_array().expect("a list");
    let count = |load: &Value, name: &str| load["arrivals"][name].as_u64().expect("a count");
    let of = |load: &Value| {
        let name = load["name"].as_str().expect("a name").to_string();
        (name, count(load, "scheduled"), count(load, "ok"))
    };
    loads.iter().map(of).collect()
}

fn quantile_ms(load: &Value, distribution: &str, q: f64) -> f64 {
    let quantiles = load[distribution]["quantiles"].as_array().expect("a list");
    let found = quantiles.iter().find(|one| one["q"].as_f64() == Some(q)).expect("a quantile");
    found["value"].as_f64().expect("ns") / 1e6
}

#[test]
fn each_load_has_the_account_of_its_schedule_and_its_own_percentiles() {
    let place = Place::new();
    let run = simulated(&place, &format!("{TWO}{WORLD}"));
    run.assert_all("ok");
    assert_eq!(accounts(&run.document), [("base".into(), 2_000, 2_000), ("sale".into(), 500, 500)]);
    assert_eq!(run.arrivals("scheduled"), 2_500);
    // What would be answered from 8 s to 9 s is answered at 9 s. Of the base that is what comes from 7.99 s on, 10 ms apart,
    // and the percentile is the 21st slowest of 2,000; of the sale what comes from 8 s on, 20 ms apart, and it is the 6th
    // slowest of 500.
    let expected_ms = [1_010.0 - 20.0 * 10.0, 1_000.0 - 5.0 * 20.0];
    for (load, expected) in run.at("/loads").as_array().expect("a list").iter().zip(expected_ms) {
        let p99 = quantile_ms(load, "response_time", 0.99);
        assert!((p99 - expected).abs() < 0.002 * expected, "{p99} ms, expected {expected} ms");
    }
    // The rates of both, from one edge to the next.
    let rates: Vec<f64> = run.at("/plan/phases").as_array().expect("a list").iter().map(rate).collect();
    assert_eq!(rates, [100.0, 150.0, 100.0]);
    // Each lies as it should, by its own numbers.
    assert!(!run.has_finding("arrivals_not_as_claimed"), "{:#}", run.document["validity"]);
    for load in [0, 1] {
        assert!(run.count(&format!("/loads/{load}/arrival_process/intended/deviation_ns_max")) <= 1);
    }
    let again = place.call(&["report", "out", "--json"]).run();
    assert_eq!(again.at("/loads"), run.at("/loads"));
    let text = place.call(&["report", "out"]).stdout;
    for part in ["Loads", "Outcomes by load", "Times by load", "sale", "from 5 s on for 10 s"] {
        assert!(text.replace('\u{a0}', " ").contains(part), "{part:?} is missing in {text}");
    }
}

fn rate(phase: &Value) -> f64 {
    phase["from_per_s"].as_f64().expect("a rate")
}

#[test]
fn one_listed_load_is_a_load_as_any_other() {
    let place = Place::new();
    let alone = "[[loads]]\nrate = 100\nduration = \"20s\"\n";
    let run = simulated(&place, &format!("{alone}{WORLD}"));
    assert_eq!(accounts(&run.document), [("load 1".into(), 2_000, 2_000)]);
    let place = Place::new();
    let same = simulated(&place, &format!("[load]\nrate = 100\nduration = \"20s\"\n{WORLD}"));
    assert_eq!(run.at("/response_time"), same.at("/response_time"));
}

#[test]
fn shapes_and_processes_are_of_each_load() {
    let place = Place::new();
    let text = "[load]\nseed = 5\nwarmup = \"2s\"\n[[loads]]\nrate = 100\nduration = \"30s\"\n\
                [[loads]]\nrate = \"50..400\"\nshape = \"spike\"\nduration = \"30s\"\n\
                [[loads]]\nrate = 40\narrivals = \"poisson\"\nstart = \"10s\"\nduration = \"20s\"\n";
    let run = simulated(&place, &format!("{text}{WORLD}"));
    run.assert_accounts();
    let accounts = accounts(&run.document);
    assert_eq!(accounts[0], ("load 1".into(), 3_000, 3_000));
    // 50/s for 25 s, and 400/s for 5 s.
    assert_eq!(accounts[1], ("load 2".into(), 50 * 25 + 400 * 5, 50 * 25 + 400 * 5));
    // Mean 800, standard deviation 28.
    assert!((660..940).contains(&accounts[2].1), "{accounts:?}");
    // What begins with the measured part warms up before it, as far as it is even.
    assert_eq!(run.count("/warmup/scheduled"), 300);
    assert!(!run.has_finding("arrivals_not_as_claimed"), "{:#}", run.document["validity"]);
}

/// The lab answers `/healthy` at once, and everything else after its delay.
#[test]
fn a_load_asks_for_its_own_requests_only() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy", "--baseline", "40ms"]);
    let requests = "[[requests]]\nname = \"quick\"\nurl = \"/healthy\"\n\
                    [[requests]]\nname = \"slow\"\nurl = \"/\"\n[[requests]]\nname = \"never\"\nurl = \"/x\"\n";
    let loads = "[[loads]]\nname = \"base\"\nrate = 100\nduration = \"2s\"\nonly = [\"quick\"]\n\
                 [[loads]]\nname = \"sale\"\nrate = 40\nstart = \"500ms\"\nduration = \"1s\"\nonly = [\"slow\"]\n";
    place.file("plan.toml", format!("target = {:?}\n{loads}{requests}", lab.url));
    let run = place.measure(&["plan.toml", "--no-preflight", "-q"]);
    run.assert_all("ok");
    assert_eq!(accounts(&run.document), [("base".into(), 200, 200), ("sale".into(), 40, 40)]);
    let operations: Vec<(&str, u64)> = run
        .at("/operations")
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| (one["name"].as_str().expect("a name"), one["arrivals"]["ok"].as_u64().expect("a count")))
        .collect();
    assert_eq!(operations, [("quick", 200), ("slow", 40), ("never", 0)]);
    // What the server holds back, no answer of this load can undercut.
    let [base, sale] =
        [0, 1].map(|place| quantile_ms(run.at(&format!("/loads/{place}")), "response_time", 0.5));
    assert!(sale >= 40.0 && base < sale, "{base} ms and {sale} ms");
    assert_eq!(run.at("/loads/1/only")[0], "slow");
    assert_eq!(run.at("/loads/1/response_time/count"), run.at("/operations/1/response_time/count"));
}

#[test]
fn a_run_that_is_killed_keeps_the_loads_apart() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy", "--baseline", "1ms"]);
    let loads = "[[loads]]\nname = \"base\"\nrate = 100\nduration = \"60s\"\n\
                 [[loads]]\nname = \"sale\"\nrate = 50\nduration = \"60s\"\n";
    place.file("plan.toml", format!("target = {:?}\n{loads}", lab.url));
    let mut started = place.start(&["plan.toml", "-q"]);
    wait_for_intervals(&place, &mut started, 3);
    started.signal(Signal::KILL);
    std::thread::sleep(Duration::from_millis(20));
    drop(started);
    let run = place.call(&["report", "out", "--json"]).run();
    assert_eq!(run.at("/status"), "running");
    let accounts = accounts(&run.document);
    assert_eq!(accounts.iter().map(|(_, _, ok)| ok).sum::<u64>(), run.arrivals("ok"));
    let [base, sale] = [accounts[0].2, accounts[1].2];
    assert!(base >= 150 && base.abs_diff(2 * sale) <= 4, "{accounts:?}");
}

#[test]
fn a_comparison_offers_every_load_to_both() {
    let place = Place::new();
    let world = "[world]\nserver = \"service=exp(5ms)\"\ncandidate-server = \"service=exp(8ms)\"\n";
    place.file("plan.toml", format!("{TWO}{world}"));
    let said = place.call(&["compare", "plan.toml", "--simulate", "-o", "out", "--no-store"]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    let run: Value = serde_json::from_str(&place.text("out/baseline/1/run.json")).expect("JSON");
    assert_eq!(accounts(&run).len(), 2);
}

#[test]
fn runs_with_other_loads_are_another_series() {
    let place = Place::new();
    let later = TWO.replace("\"5s\"", "\"6s\"");
    let one = "[[loads]]\nrate = 100\nduration = \"20s\"\n";
    for (number, loads) in [TWO, TWO, &later, one].iter().enumerate() {
        place.file("plan.toml", format!("{loads}{WORLD}"));
        let (folder, tag) = (format!("out{number}"), format!("number={number}"));
        place.call(&["sim", "plan.toml", "-o", &folder, "--tag", &tag]).assert_ran();
    }
    let listed = place.call(&["history", "--json"]);
    let listed: Value = serde_json::from_str(&listed.stdout).unwrap_or_else(|e| panic!("{e}: {listed:?}"));
    let runs = listed["runs"].as_array().expect("a list");
    let series = |number: &str| {
        let run = runs.iter().find(|run| run["tags"]["number"] == number).expect("a run");
        run["series"].as_str().expect("a series")
    };
    assert_eq!(series("0"), series("1"));
    assert!(
        series("2") != series("1") && series("3") != series("2") && series("3") != series("1"),
        "{runs:#?}"
    );
}
