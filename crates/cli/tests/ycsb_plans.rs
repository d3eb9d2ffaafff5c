//! YCSB's workloads in plans: checked, run, searched, compared, signed off and simulated.

use crate::stores::{PASSWORD, Redis};
use crate::support::{self, Place, Run, Said};
use serde_json::Value;

fn call(place: &Place, args: &[&str]) -> Said {
    let mut command = place.command(args);
    command.env("PGPASSWORD", PASSWORD);
    support::finish(&mut command)
}

#[track_caller]
fn filled(url: &str, records: &str, more: &[&str]) {
    let records = format!("recordcount={records}");
    let args = ["fill", url, "--workload", "ycsb-a", "--set", &records];
    let said = call(&Place::new(), &[&args[..], more].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
}

/// A plan of the workload with this letter at `target`; `more` stands in `[request]` and behind it.
fn plan(target: &str, letter: &str, more: &str) -> String {
    format!(
        "target = \"{target}\"\n[load]\nrate = 200\nduration = \"1s\"\n[connections]\nconnections = 4\n\
         [objectives]\nslo = \"READ: p90 < 10s\"\n[request]\nworkload = \"ycsb-{letter}\"\n{more}"
    )
}

#[track_caller]
fn run(place: &Place, args: &[&str]) -> Run {
    let run = call(place, &[&["run"], args, &["--json"]].concat()).run();
    run.assert_all("ok");
    run
}

/// How often each operation was due.
fn operations(run: &Run) -> Vec<(String, u64)> {
    let all = run.at("/operations").as_array().expect("operations");
    let due = |one: &Value| one["arrivals"]["scheduled"].as_u64().expect("a number");
    all.iter().map(|one| (one["name"].as_str().expect("a name").to_string(), due(one))).collect()
}

fn document(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).unwrap_or_else(|error| panic!("{error}: {said:?}"))
}

#[test]
fn a_plan_has_a_workload_and_flags_stand_over_it() {
    let (redis, place) = (Redis::start(&[]), Place::new());
    filled(&redis.url(), "120", &["--set", "fieldcount=3"]);
    // Its files lie beside it.
    place.file("plans/own.properties", "# ours\nfieldcount=3\nrecordcount=5\n");
    let more = "properties = [\"own.properties\"]\nset = { recordcount = 120, exponential.frac = 0.5 }\n";
    place.file("plans/a.toml", plan(&redis.url(), "a", more));
    let run = |more: &[&str]| run(&place, &[&["plans/a.toml"], more].concat());
    let plain = run(&["--ycsb-output", "ycsb.txt"]);
    let half = [("READ".to_string(), 100), ("UPDATE".to_string(), 100)];
    assert_eq!(operations(&plain), half);
    let values = plain.at("/plan/values").to_string();
    assert!(
        values.contains("scrambled zipfian over 120 keys") && values.contains("uniform from 0 to 2"),
        "{values}"
    );
    assert!(place.text("ycsb.txt").contains("[Intended-READ], Operations, 100"));
    // Other properties of the plan stay as they are.
    let values = run(&["--set", "requestdistribution=uniform"]).at("/plan/values").to_string();
    assert!(values.contains("uniform from 0 to 119") && values.contains("uniform from 0 to 2"), "{values}");
    assert_eq!(operations(&run(&["--workload", "ycsb-c"])), [("READ".to_string(), 200)]);
    // A plan without one takes it from the command line.
    place.file("load.toml", "[load]\nrate = 100\nrequests = 50\n");
    let url = redis.url();
    let flags = ["load.toml", &url, "--workload", "ycsb-c", "--set", "fieldcount=3"];
    let taken = self::run(&place, &flags);
    assert!(
        taken.at("/plan/values").to_string().contains("scrambled zipfian over 120 keys"),
        "as many as there are"
    );
    let tried = call(&place, &["try", "plans/a.toml", "--json"]);
    assert!(tried.code() == Some(0) && tried.stdout.contains("READ"), "{tried:?}");

    let refused = |args: &[&str], parts: &[&str]| call(&place, args).refused(parts);
    let run = ["run", "plans/a.toml"];
    refused(&[&run[..], &["--set", "recordcount=300"]].concat(), &["has 120 records", "asks for 300"]);
    let agents = ["run", "load.toml", &url, "--workload", "ycsb-c", "--agents", "local:2"];
    refused(&agents, &["add --set recordcount=120"]);
}

#[test]
fn a_plan_with_a_workload_is_checked_and_shown() {
    let place = Place::new();
    let url = "redis://127.0.0.1:9/0";
    let set = "set = { recordcount = \"1k\", \"exponential.frac\" = 0.5 }\n";
    place.file("a.toml", plan(url, "a", set));
    let said = call(&place, &["plan", "check", "a.toml"]);
    assert!(said.code() == Some(0) && said.stdout.contains("a.toml is in order"), "{said:?}");
    let shown = call(&place, &["plan", "show", "a.toml"]).stdout;
    for line in
        ["workload = \"ycsb-a\"", "set = { \"exponential.frac\" = \"0.5\", \"recordcount\" = \"1k\" }"]
    {
        assert!(shown.lines().any(|one| one == line), "{line}: {shown}");
    }
    // Written down again it is the same.
    for (name, form) in [("b.yaml", "yaml"), ("b.toml", "toml")] {
        place.file(name, call(&place, &["plan", "show", "a.toml", "--as", form]).stdout);
        let again = document(&call(&place, &["plan", "show", name, "--json"]));
        assert_eq!(again["request"]["set"]["recordcount"], "1k", "{form}: {again}");
        assert_eq!(again, document(&call(&place, &["plan", "show", "a.toml", "--json"])), "{form}");
    }
    // What it is asked of may be in the environment of whoever runs it.
    place.file("env.toml", plan("${STORE}", "a", set));
    assert_eq!(call(&place, &["plan", "check", "env.toml"]).code(), Some(0));

    let wrong = |more: &str, parts: &[&str]| {
        place.file("w.toml", plan(url, "a", more));
        call(&place, &["plan", "check", "w.toml"]).refused(parts);
    };
    wrong("set = { recordcount = \"x\" }\n", &["w.toml:11:23", "recordcount=x", "whole number"]);
    wrong("set = [\"fieldcount=2\", \"recordcont=1\"]\n", &["w.toml:11:24", "unknown property"]);
    wrong("command = \"GET k\"\n", &["w.toml:11:11", "--command and --workload exclude"]);
    wrong("[[requests]]\nurl = \"/\"\ncommand = \"GET k\"\n", &["w.toml:11:", "[[requests]] and a workload"]);
    wrong("[let]\nkey = \"uniform(5)\"\n", &["w.toml:12:1", "[let] and a workload"]);
    place.file("http.toml", plan("http://127.0.0.1:9/", "a", set));
    call(&place, &["plan", "check", "http.toml"])
        .refused(&["http.toml", "write redis://, postgres:// or cql://"]);
    place.file("z.toml", plan(url, "z", set));
    call(&place, &["plan", "check", "z.toml"]).refused(&["z.toml:10:12", "ycsb-z", "ycsb-a"]);
}

/// One rate, once more, and for twice as long.
#[test]
fn a_workload_is_searched() {
    let (redis, place) = (Redis::start(&[]), Place::new());
    filled(&redis.url(), "80", &[]);
    let times = "[search]\nsettle = \"0s\"\nmeasure = \"4s\"\nrest = \"0s\"\nstart = 50\nmax = 50\n";
    place.file("a.toml", plan(&redis.url(), "a", times));
    let said = call(&place, &["knee", "a.toml", "--json", "-o", "out"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let found = document(&said);
    assert_eq!(
        (&found["status"], &found["question"]["operation"]),
        (&"at_least".into(), &"READ".into()),
        "{found}"
    );
    let trial: Value = serde_json::from_str(&place.text("out/trial-03/run.json")).expect("JSON");
    let values = trial["plan"]["values"].to_string();
    assert!(values.contains("scrambled zipfian over 80 keys"), "as many records as there are: {values}");
    assert_eq!(trial["arrivals"]["ok"], trial["arrivals"]["scheduled"], "{}", trial["arrivals"]);
    // What it asks for is part of what it asked: it goes on with nothing else.
    for other in ["requestdistribution=uniform", "fieldlength=500"] {
        let args = ["knee", "a.toml", "--resume", "out", "--set", other];
        call(&place, &args).refused(&["begun with other flags"]);
    }
    let inserting = ["knee", "a.toml", "--workload", "ycsb-d", "-o", "d"];
    call(&place, &inserting).refused(&["inserts records", "a search"]);
    place.file("e.toml", plan(&redis.url(), "e", times));
    call(&place, &["plan", "check", "e.toml"]).refused(&["e.toml:10:12", "inserts records", "a search"]);
    let empty = Redis::start(&[]);
    call(&place, &["knee", "a.toml", &empty.url(), "-o", "e"]).refused(&["has no records of this workload"]);
}

#[test]
fn two_stores_are_compared_under_one_workload() {
    let (baseline, candidate, place) = (Redis::start(&[]), Redis::start(&[]), Place::new());
    let (left, right) = (baseline.url(), candidate.url());
    filled(&left, "90", &[]);
    filled(&right, "60", &[]);
    let more = "[comparison]\nruns = 1\npercentile = \"p90\"\n";
    // A comparison has no objectives.
    let load = plan(&left, "a", more).replace("[objectives]\nslo = \"READ: p90 < 10s\"\n", "");
    place.file("a.toml", format!("candidate = \"{right}\"\n{load}"));
    call(&place, &["compare", "a.toml", "-o", "x"])
        .refused(&["have 90 and 60 records", "say --set recordcount=60"]);
    let flags = ["compare", &left, &right, "--workload", "ycsb-b", "-R", "100", "-d", "500ms", "--runs", "1"];
    let set = ["--set", "recordcount=60", "--json"];
    for (args, folder, letter) in [(&["compare", "a.toml"][..], "plan", "a"), (&flags, "flags", "b")] {
        let said = call(&place, &[args, &set, &["-o", folder]].concat());
        said.assert_ran();
        for side in ["baseline", "candidate"] {
            let name = format!("{folder}/{side}/1/run.json");
            let run: Value = serde_json::from_str(&place.text(&name)).expect("JSON");
            assert_eq!(run["arrivals"]["ok"], run["arrivals"]["scheduled"], "{}", run["arrivals"]);
            assert_eq!(
                (&run["operations"][0]["name"], &run["operations"][1]["name"]),
                (&"READ".into(), &"UPDATE".into()),
                "{letter}"
            );
            assert!(
                run["plan"]["values"].to_string().contains("scrambled zipfian over 60 keys"),
                "{}",
                run["plan"]["values"]
            );
        }
    }
    let inserting = ["compare", &left, &right, "--workload", "ycsb-d", "-R", "9", "-o", "d"];
    call(&place, &inserting).refused(&["inserts records", "a comparison"]);
    call(
        &place,
        &["compare", &left, &right, "--workload", "ycsb-a", "-R", "9", "--set", "recordcount=70", "-o", "y"],
    )
    .refused(&["the candidate", "has 60 records", "asks for 70"]);
    call(&place, &["compare", "plan/baseline", "plan/candidate", "--workload", "ycsb-a"])
        .refused(&["recorded already", "--workload"]);
    // One store with itself.
    let itself =
        ["compare", "--a-a", &left, "--workload", "ycsb-c", "-R", "100", "-d", "300ms", "--runs", "1"];
    call(&place, &[&itself[..], &["-o", "itself", "--json"]].concat()).assert_ran();
}

#[test]
fn stages_of_a_sign_off_run_a_workload() {
    let (redis, place) = (Redis::start(&[]), Place::new());
    filled(&redis.url(), "70", &[]);
    let stage = |name: &str| {
        format!("[[stages]]\nkind = \"hold\"\nname = \"{name}\"\nrate = \"100\"\nduration = \"1s\"\n")
    };
    let plan = |letter: &str, stages: &[&str]| {
        let stages: String = stages.iter().map(|name| stage(name)).collect();
        plan(&redis.url(), letter, &stages).replace("rate = 200\nduration = \"1s\"\n", "")
    };
    place.file("a.toml", plan("a", &["low", "high"]));
    let said = call(&place, &["signoff", "a.toml", "--json", "-o", "out"]);
    said.assert_ran();
    for folder in ["out/01-low", "out/02-high"] {
        let run: Value = serde_json::from_str(&place.text(&format!("{folder}/run.json"))).expect("JSON");
        assert_eq!(run["arrivals"]["ok"], 100, "{}", run["arrivals"]);
        assert!(
            run["plan"]["values"].to_string().contains("scrambled zipfian over 70 keys"),
            "{}",
            run["plan"]["values"]
        );
    }
    place.file("d.toml", plan("d", &["low", "high"]));
    for args in [&["signoff", "d.toml", "-o", "d"][..], &["plan", "check", "d.toml"]] {
        call(&place, args).refused(&["d.toml:8:12", "inserts records", "a single stage"]);
    }
    place.file("one.toml", plan("d", &["low"]));
    call(&place, &["signoff", "one.toml", "--json", "-o", "one"]).assert_ran();
    assert_eq!(redis.ask("ZCARD _indices\r\n", "\r\n"), ":75\r\n", "a twentieth of 100 are inserts");
    let empty = Redis::start(&[]);
    place.file(
        "empty.toml",
        self::plan(&empty.url(), "a", &stage("low")).replace("rate = 200\nduration = \"1s\"\n", ""),
    );
    call(&place, &["signoff", "empty.toml", "--quiet", "-o", "none"])
        .refused(&["has no records of this workload"]);
    assert!(!place.path().join("none").exists(), "nothing was begun");
}

#[test]
fn a_simulation_has_the_operations_of_a_workload() {
    let place = Place::new();
    let world = "[world]\nserver = \"service=1ms\"\nservice = [\"UPDATE=9ms\"]\n";
    place.file("a.toml", plan("postgres://bench@${HOST}/shop", "a", world));
    place.file("bare.toml", plan("x", "a", world).replace("target = \"x\"\n", ""));
    for name in ["a.toml", "bare.toml"] {
        let run = call(&place, &["sim", name, "--json"]).run();
        run.assert_all("ok");
        assert!(!run.stderr.contains("left out"), "an operation has a name: {}", run.stderr);
        assert_eq!(operations(&run), [("READ".to_string(), 100), ("UPDATE".to_string(), 100)], "{name}");
        let median =
            |place: usize| run.number(&format!("/operations/{place}/response_time/quantiles/0/value"));
        assert!(median(0) < 2e6 && median(1) > 8e6, "{name}: {} and {}", median(0), median(1));
    }
    let flags =
        ["sim", "--server", "service=1ms", "-R", "100", "-n", "200", "--workload", "ycsb-e", "--json"];
    let run = call(&place, &flags).run();
    assert_eq!(operations(&run), [("INSERT".to_string(), 10), ("SCAN".to_string(), 190)]);
    let search = ["knee", "--server", "slots=1 service=1ms", "--workload", "ycsb-f"];
    let said = call(
        &place,
        &[&search[..], &["--slo", "READ: p90 < 50ms", "--max", "200", "--json", "-o", "out"]].concat(),
    );
    assert_eq!((said.code(), &document(&said)["status"]), (Some(0), &"at_least".into()), "{said:?}");
    call(&place, &["sim", "a.toml", "--replay", "x.trace"]).refused(&["--replay and --workload"]);
}
