//! A plan simulated as it would be run: its journeys at several origins, its retries, its order and its loads, and what may end
//! its load; and the same in searches and comparisons.

use crate::support::Place;
use serde_json::Value;

const WORLD: &str = "[world]\nserver = \"slots=1 service=1ms\"\nservice = [\"slow=20ms\"]\n";
const MIX: &str = "[[requests]]\nname = \"fast\"\nurl = \"/a\"\nshare = \"50%\"\n\
                   [[requests]]\nname = \"slow\"\nurl = \"/b\"\nshare = \"50%\"\n";
const TANDEM: &str = "[[journeys]]\nname = \"t\"\n[[journeys.steps]]\nname = \"one\"\nurl = \"http://a.test/x\"\n\
                      [[journeys.steps]]\nname = \"two\"\nurl = \"http://b.test/y\"\n";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

fn operation<'a>(run: &'a Value, name: &str) -> &'a Value {
    let all = run["operations"].as_array().expect("a list");
    all.iter().find(|one| one["name"] == name).unwrap_or_else(|| panic!("no {name}: {all:#?}"))
}

fn knee_per_s(place: &Place, args: &[&str]) -> f64 {
    let said =
        place.call(&[&["knee", "plan.toml", "--simulate", "-q", "--json", "-o", "knee"], args].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    json(&said.stdout)["answer"]["rate_per_s"].as_f64().expect("a rate")
}

/// Two servers with exponential service times, both half busy: 2 ms in each, by theory.
#[test]
fn each_origin_of_a_journey_is_a_server_of_its_own() {
    let place = Place::new();
    let load = "[load]\nrate = 500\nduration = \"200s\"\narrivals = \"poisson\"\n";
    place.file("plan.toml", format!("{load}[world]\nserver = \"slots=1 service=exp(1ms)\"\n{TANDEM}"));
    let said = place.call(&["sim", "plan.toml", "--json", "-o", "out"]);
    let run = json(&said.stdout);
    let mean_ms = run["journeys"][0]["time"]["mean"].as_f64().expect("ns") / 1e6;
    assert!((3.8..4.2).contains(&mean_ms), "{mean_ms} ms");
    assert_eq!(
        (&run["origins"][1]["host"], &operation(&run, "t: two")["origin"]),
        (&"b.test".into(), &1.into())
    );
    // A step may have a service time of its own, by its name.
    let slow = place.call(&["sim", "plan.toml", "--service", "t: two=1us", "--json", "-o", "fast"]);
    let mean_ms = json(&slow.stdout)["journeys"][0]["time"]["mean"].as_f64().expect("ns") / 1e6;
    assert!((1.9..2.1).contains(&mean_ms), "{mean_ms} ms");
}

/// One server of 1 ms would carry 500 journeys of two requests; two carry 1,000.
#[test]
fn a_search_has_a_server_for_each_origin() {
    let place = Place::new();
    let search = "[search]\nstart = 400\nsettle = \"1s\"\n[objectives]\nslo = [\"p99 < 50ms\"]\n";
    place.file("plan.toml", format!("[world]\nserver = \"slots=1 service=1ms\"\n{search}{TANDEM}"));
    let rate = knee_per_s(&place, &["--resolution", "10%"]);
    assert!((800.0..=1_000.0).contains(&rate), "{rate}");
}

/// Half of the requests take 1 ms and half 20 ms, one at a time: 95 a second.
#[test]
fn a_search_asks_for_the_mix_with_its_service_times() {
    let place = Place::new();
    let search = "[search]\nstart = 20\n[objectives]\nslo = [\"p99 < 200ms\"]\n";
    place.file("plan.toml", format!("{search}{WORLD}{MIX}"));
    let rate = knee_per_s(&place, &["--resolution", "10%"]);
    assert!((60.0..=95.3).contains(&rate), "{rate}");
    let checked = place.call(&["plan", "check", "plan.toml"]);
    assert_eq!(checked.code(), Some(0), "{checked:?}");
    place.file("plan.toml", format!("{search}{}{MIX}", WORLD.replace("slow=", "slower=")));
    for args in [&["plan", "check", "plan.toml"][..], &["knee", "plan.toml", "--simulate", "-o", "no"]] {
        place.call(args).refused(&["no request is called \"slower\"; there are fast, slow"]);
    }
    let alone = ["knee", "--server", "service=1ms", "--slo", "p99 < 1s", "--service", "slow=1ms"];
    place.call(&alone).refused(&["--service", "there is no plan that lists [[requests]]"]);
    let real = ["knee", "http://127.0.0.1:9/", "--slo", "p99 < 1s", "--service", "slow=1ms"];
    place.call(&real).refused(&["--service is about a simulated server"]);
    let real = ["compare", "http://127.0.0.1:9/a", "http://127.0.0.1:9/b", "--service", "slow=1ms"];
    place.call(&real).refused(&["--service is about a simulated server"]);
}

/// A search judges one request of the mix by its name.
#[test]
fn a_search_judges_one_request_of_a_simulated_mix() {
    let place = Place::new();
    let plan = |name: &str| {
        let search =
            format!("[search]\nstart = 20\nmax = 40\n[objectives]\nslo = [\"{name}: p99 < 15ms\"]\n");
        let world = WORLD.replace("slots=1 ", "");
        place.file("plan.toml", format!("{search}{world}{MIX}"));
        place.call(&["knee", "plan.toml", "--simulate", "-q", "--json", "-o", name])
    };
    let (fast, slow) = (plan("fast"), plan("slow"));
    assert_eq!(fast.code(), Some(0), "{fast:?}");
    assert_eq!(json(&fast.stdout)["status"], "at_least");
    assert_eq!(slow.code(), Some(3), "{slow:?}");
    plan("nobody").refused(&["no request or journey is called \"nobody\"; there are fast, slow"]);
}

#[test]
fn a_comparison_asks_for_the_mix_with_its_service_times() {
    let place = Place::new();
    let load = "[load]\nrate = 20\nduration = \"5s\"\n";
    let world = WORLD.replace("[world]\n", "[world]\ncandidate-server = \"slots=1 service=2ms\"\n");
    place.file("plan.toml", format!("{load}{world}{MIX}"));
    let said = place.call(&["compare", "plan.toml", "--simulate", "--runs", "5", "--json", "-o", "out"]);
    assert!(said.code().is_some_and(|code| code != 2), "{said:?}");
    for (side, fast_ms) in [("baseline", 1.0), ("candidate", 2.0)] {
        let run = json(&place.text(&format!("out/{side}/1/run.json")));
        let mean_ms = |name: &str| operation(&run, name)["service_time"]["mean"].as_f64().expect("ns") / 1e6;
        assert!((mean_ms("fast") / fast_ms - 1.0).abs() < 0.01, "{side}: {}", mean_ms("fast"));
        assert!((mean_ms("slow") / 20.0 - 1.0).abs() < 0.01, "{side}: {}", mean_ms("slow"));
    }
}

/// A POST may not be sent twice, whoever sends it.
#[test]
fn what_is_not_safe_to_send_twice_is_not_retried() {
    let place = Place::new();
    let head = "[load]\nrate = 20\nduration = \"5s\"\n[retry]\nattempts = 3\non = \"500\"\nwait = \"1ms\"\n\
                [world]\nserver = \"service=1ms error=1/1\"\n";
    let journeys = "[[requests]]\nname = \"get\"\nurl = \"/a\"\nweight = 1\n\
                    [[journeys]]\nname = \"j\"\nweight = 1\n[[journeys.steps]]\nname = \"post\"\nurl = \"/b\"\nmethod = \"POST\"\n";
    let tries = |unsafe_too: &str| {
        place.file(
            "plan.toml",
            format!("{}{journeys}", head.replace("wait =", &format!("{unsafe_too}wait ="))),
        );
        let folder = if unsafe_too.is_empty() { "safe" } else { "unsafe" };
        let run = json(&place.call(&["sim", "plan.toml", "--json", "-o", folder]).stdout);
        run["retries"]["attempts"].as_u64().unwrap_or_else(|| panic!("{}", run["retries"]))
    };
    // 50 arrivals of each, and two further attempts of those that may be sent again.
    assert_eq!(tries(""), 50 + 3 * 50);
    assert_eq!(tries("unsafe = true\n"), 3 * 100);
}

#[test]
fn rows_that_are_taken_once_have_no_random_order_in_a_simulation_either() {
    let place = Place::new();
    place.file("users.csv", "id\n1\n2\n3\n");
    let head = "target = \"http://a.test\"\n[load]\nrate = 2\nduration = \"1s\"\n[request]\norder = \"random\"\n\
                [world]\nserver = \"service=1ms\"\n[let]\nuser = \"csv(users.csv, once)\"\n";
    let all = "[[requests]]\nurl = \"/{{user.id}}\"\nweight = 1\n\
               [[journeys]]\nname = \"j\"\nweight = 1\n[[journeys.steps]]\nname = \"s\"\nurl = \"/b\"\n";
    place.file("plan.toml", format!("{head}{all}"));
    let [run, sim] = ["run", "sim"].map(|command| place.call(&[command, "plan.toml", "-o", command]));
    assert_eq!((run.code(), sim.code()), (Some(2), Some(2)), "{run:?} {sim:?}");
    assert_eq!(run.stderr, sim.stderr);
}

#[test]
fn a_load_of_a_plan_with_journeys_asks_for_its_own_in_a_simulation_too() {
    let place = Place::new();
    let loads = "[[loads]]\nname = \"base\"\nrate = 10\nduration = \"10s\"\nonly = [\"items\"]\n\
                 [[loads]]\nname = \"all\"\nrate = 10\nduration = \"10s\"\n";
    let all = "[[requests]]\nname = \"items\"\nurl = \"/items\"\nweight = 1\n\
               [[journeys]]\nname = \"j\"\nweight = 1\n[[journeys.steps]]\nname = \"s\"\nurl = \"/b\"\n";
    let head = "target = \"http://127.0.0.1:9\"\n[world]\nserver = \"service=1ms\"\n";
    place.file("plan.toml", format!("{head}{loads}{all}"));
    let checked = place.call(&["plan", "check", "plan.toml"]);
    assert_eq!(checked.code(), Some(0), "{checked:?}");
    let run = json(&place.call(&["sim", "plan.toml", "--json", "-o", "out"]).stdout);
    assert_eq!(operation(&run, "items")["arrivals"]["ok"], 150, "{}", run["operations"]);
    assert_eq!(run["journeys"][0]["account"]["completed"], 50);
}

/// A rule ends the simulated load, and the account is that of a run which was stopped.
#[test]
fn a_rule_stops_a_simulation() {
    let place = Place::new();
    let head = "target = \"http://127.0.0.1:9/\"\n[load]\nrate = 100\nduration = \"60s\"\n\
                [world]\nserver = \"service=10ms pause=20s@5s\"\n";
    let rules = "abort-on = [\"p99 > 1s for 2s\", \"prom(open_fds) > 9 for 1s\"]\n";
    let objectives = format!("[objectives]\nslo = [\"p99 < 100ms\"]\n{rules}");
    place.file("plan.toml", format!("{head}{objectives}"));
    let said = place.call(&["sim", "plan.toml", "--json", "-o", "out"]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(said.stderr.contains("has no metrics of its own"), "{said:?}");
    let run = said.run();
    assert_eq!((run.at("/status"), run.at("/aborted/rule")), (&"aborted".into(), &"p99 > 1s for 2s".into()));
    let at_s = run.at("/aborted/at_ns").as_u64().expect("ns") / 1_000_000_000;
    assert!((7..=9).contains(&at_s), "{at_s} s");
    assert_eq!(run.arrivals("ok") + run.arrivals("withheld"), 6_000, "{}", run.at("/arrivals"));
    assert_eq!(run.arrivals("scheduled") - run.arrivals("ok"), run.arrivals("withheld"));
    let again = place.call(&["report", "out", "--json"]).run();
    assert_eq!((again.at("/status"), again.at("/arrivals")), (run.at("/status"), run.at("/arrivals")));
    let flag = place.call(&["sim", "-R", "5", "--server", "service=1ms", "--abort-on", "prom(x) > 1 for 1s"]);
    flag.refused(&["--abort-on", "has no metrics of its own"]);
    let tool = place.call(&["sim", "plan.toml", "--client", "k6", "-o", "k6"]);
    assert!(tool.stderr.contains("is not ended early, so no rule stops it"), "{tool:?}");
}
