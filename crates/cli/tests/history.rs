//! The history of runs through the binary: kept, found, shown, labelled, rebuilt, and never in a run's way.

use crate::support;
use crate::support::{Place, Said, Started};
use serde_json::Value;

/// A run in virtual time; each seed is a run of its own.
fn simulate(place: &Place, seed: u32, more: &[&str]) -> Said {
    let seed = seed.to_string();
    let folder = format!("runs/{seed}");
    let args =
        ["sim", "-R", "200", "-d", "6s", "--arrivals", "poisson", "--server", "service=exp(5ms)", "--json"];
    let said = place.call(&[&args[..], &["--seed", &seed, "-o", &folder], more].concat());
    assert!(matches!(said.code(), Some(0 | 1)), "{said:?}");
    said
}

/// Of a command with `--json`, checked against its schema.
#[track_caller]
fn document(said: &Said) -> Value {
    assert_eq!(said.code(), Some(0), "{said:?}");
    let document: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    let schema = unblink_artifact::schema::history_schema();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    document
}

#[track_caller]
fn runs(place: &Place, args: &[&str]) -> Vec<Value> {
    let said = place.call(&[args, &["--json"]].concat());
    document(&said)["runs"].as_array().expect("a list").clone()
}

fn id(run: &Value) -> String {
    run["id"].as_str().expect("a name").to_string()
}

#[test]
fn a_run_is_kept_found_and_shown() {
    let place = Place::new();
    let empty = place.call(&["history"]);
    assert!(empty.code() == Some(0) && empty.stdout.contains("unblink index DIR"), "{empty:?}");
    assert!(!place.path().join("data").exists(), "looking leaves nothing behind");
    simulate(&place, 1, &["--slo", "p99 < 1s", "--tag", "commit=abc"]);
    let printed = simulate(&place, 2, &["--slo", "p50 < 1us"]).run();
    simulate(&place, 3, &["--no-store"]);
    assert!(place.path().join("data/unblink/history.db").is_file());

    let found = runs(&place, &["history"]);
    assert_eq!(found.len(), 2, "newest first, and none that was to be left out: {found:?}");
    assert_eq!(found[1]["tags"]["commit"], "abc");
    assert_eq!(found[0]["response_time"], *printed.at("/response_time"), "to the nanosecond");
    assert_eq!((&found[0]["series"], found[0]["simulated"].as_bool()), (&found[1]["series"], Some(true)));
    assert_eq!(runs(&place, &["history", "--verdict", "fail"]), found[..1]);
    assert_eq!(runs(&place, &["history", "--tag", "commit=abc"]), found[1..]);
    assert_eq!(runs(&place, &["history", "--target", "EXP(5ms)", "--limit", "1"]), found[..1]);
    assert_eq!(runs(&place, &["history", "--since", "2999-01-01"]), [Value::Null; 0]);

    let shown = place.call(&["show", &id(&found[1])[..10]]);
    let report = place.call(&["report", "runs/1"]);
    // Its name stands above the bottom line.
    let (figures, bottom) = report.stdout.rsplit_once("\n\n").expect("a bottom line");
    assert!(shown.stdout.starts_with(figures) && shown.stdout.ends_with(bottom), "{shown:?}");
    assert!(shown.stdout.contains("commit=abc"), "{shown:?}");
    std::fs::remove_dir_all(place.path().join("runs/1")).expect("taken away");
    let shown = place.call(&["show", &id(&found[1])]);
    assert!(shown.code() == Some(0) && shown.stdout.starts_with("INDEX ONLY"), "{shown:?}");
    assert_eq!(runs(&place, &["show", "latest"]), found[..1]);
    let text = place.call(&["history"]).stdout;
    assert!(
        text.lines().all(|line| line.chars().count() <= 80) && text.contains(&id(&found[0])[..8]),
        "{text}"
    );
}

#[test]
fn an_index_made_anew_from_folders_has_everything() {
    let place = Place::new();
    for seed in 1..=3 {
        simulate(&place, seed, &["--tag", &format!("seed={seed}")]);
    }
    let found = runs(&place, &["history"]);
    document(&place.call(&["tag", &id(&found[0]), "label=new", "seed=", "--json"]));
    document(&place.call(&["baseline", "set", &id(&found[1]), &id(&found[2]), "--name", "old", "--json"]));
    document(&place.call(&["baseline", "set", &id(&found[2]), "--json"]));
    document(&place.call(&["baseline", "set", &id(&found[0]), "--json"]));
    let before = runs(&place, &["history"]);
    assert_eq!(before[0]["tags"], serde_json::json!({"label": "new"}));
    assert_eq!(runs(&place, &["baseline", "show"]), before[..1]);
    assert_eq!(runs(&place, &["baseline", "show", "old"]), before[1..]);

    // Once more into the same, and then into another.
    assert_eq!(runs(&place, &["index", "runs"]), before);
    assert_eq!(runs(&place, &["index", "runs/2", "runs", "--store", "other/index.db"]), before);
    assert_eq!(runs(&place, &["history", "--store", "other/index.db"]), before);
    // A run that was killed has a record, too.
    std::fs::copy(place.path().join("runs/1/intervals.jsonl"), place.path().join("lines")).expect("a copy");
    let killed = place.text("runs/1/intervals.jsonl").lines().take(4).collect::<Vec<_>>().join("\n") + "\n";
    place.file("killed/intervals.jsonl", killed);
    std::fs::copy(place.path().join("runs/1/intervals.hlog"), place.path().join("killed/intervals.hlog"))
        .expect("a copy");
    let first: Value =
        serde_json::from_str(place.text("lines").lines().next().expect("a header")).expect("JSON");
    let running =
        serde_json::json!({"schema": "unblink.run/2", "status": "running", "header": first["header"]});
    place.file("killed/run.json", running.to_string());
    let killed = runs(&place, &["index", "killed", "--store", "third.db"]);
    assert_eq!((&killed[0]["status"], &killed[0]["id"]), (&"running".into(), &before[2]["id"]));
}

#[test]
fn a_baseline_is_compared_with() {
    let place = Place::new();
    for seed in 1..=10 {
        simulate(&place, seed, &[]);
    }
    let names: Vec<String> = runs(&place, &["history"]).iter().map(id).collect();
    // Newest first: the first five seeds are the last.
    let set: Vec<&str> = names[5..].iter().map(String::as_str).collect();
    document(&place.call(&[&["baseline", "set", "--json"], &set[..]].concat()));
    (1..=5).for_each(|seed| {
        std::fs::rename(
            place.path().join(format!("runs/{seed}")),
            place.path().join(format!("moved-{seed}")),
        )
        .expect("moved");
    });
    place.call(&["compare", "baseline:main", "runs"]).refused(&["is gone", "unblink index"]);
    let moved = ["moved-1", "moved-2", "moved-3", "moved-4", "moved-5"];
    document(&place.call(&[&["index", "--json"], &moved[..]].concat()));
    let said = place.call(&["compare", "baseline:main", "runs", "--json"]);
    let compared: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    assert_eq!(compared["outcome"], "no_regression", "{said:?}");
    assert!(compared["baseline"]["runs"][0]["folder"].as_str().expect("a folder").ends_with("moved-1"));
    place.call(&["compare", "baseline:none", "runs"]).refused(&["no baseline \"none\""]);
}

/// Of simulated servers each is a series of its own, so the records of one are made slower by hand.
#[test]
fn a_trend_shows_where_the_level_changed() {
    let place = Place::new();
    for seed in 1..=16 {
        simulate(&place, seed, &["--no-store", "--tag", &format!("commit=c{seed}")]);
        let name = format!("runs/{seed}/run.json");
        let mut run: Value = serde_json::from_str(&place.text(&name)).expect("JSON");
        for quantile in run["response_time"]["quantiles"].as_array_mut().expect("a list") {
            let value = quantile["value"].as_u64().expect("ns");
            quantile["value"] = (if seed > 10 { 2 * value } else { value }).into();
        }
        // In the order of the seeds.
        run["started_at"] = format!("2026-01-{seed:02}T12:00:00.000Z").into();
        place.file(&name, run.to_string());
    }
    document(&place.call(&["index", "runs", "--json"]));
    let said = place.call(&["trend", "--json"]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let found: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let schema = unblink_artifact::schema::trend_schema();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    assert!(validator.iter_errors(&found).next().is_none(), "{found:#}");
    let changes = found["changes"].as_array().expect("a list");
    assert!(changes.len() == 1 && changes[0]["at"] == 10 && changes[0]["label"] == "c11", "{changes:?}");
    let change = changes[0]["change"].as_f64().expect("a share");
    assert!((0.7..1.4).contains(&change), "twice as long: {change}");

    let text = place.call(&["trend", "latest", "--percentile", "p50", "--svg", "trend.svg"]).stdout;
    assert!(text.contains("SLOWER  p50 changed by +") && text.contains("c11"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_eq!(place.text("trend.svg").matches("<circle").count(), 16);
    let last = place.call(&["trend", "--last", "5"]).stdout;
    assert!(last.contains("TOO FEW RUNS  p99 over 5 runs") && last.contains("--last"), "{last}");
    simulate(&place, 20, &["--network", "latency=1ms"]);
    place.call(&["trend", "--target", "service"]).refused(&[
        "differ in load or target",
        "name a run",
        "arrivals, for 6 s; network: latency=1ms, service=exp(5ms)",
    ]);
    // Nothing else keeps the two series apart.
    let heads = place.call(&["history"]).stdout;
    assert_eq!(heads.matches("open, 200/s, poisson arrivals").count(), 2, "{heads}");
    assert_eq!(heads.matches("network: latency=1ms").count(), 1, "{heads}");
    simulate(&place, 21, &["--timeout", "2500ms"]);
    let heads = place.call(&["history"]).stdout;
    assert_eq!(heads.matches("timeout: 2.5 s").count(), 1, "{heads}");
    place.call(&["trend", "--target", "nowhere"]).refused(&["no run fits"]);
}

#[test]
fn a_store_that_fails_is_a_warning() {
    let place = Place::new();
    let notes = "notes of somebody, and no database ".repeat(100);
    place.file("notes.txt", &notes);
    for store in ["notes.txt", "notes.txt/history.db", "postgres://me:s3cret@127.0.0.1:1/runs"] {
        let said = place.call(&[
            "sim",
            "-R",
            "10",
            "-d",
            "1s",
            "--server",
            "service=1ms",
            "--store",
            store,
            "--json",
        ]);
        assert_eq!(said.code(), Some(0), "{said:?}");
        assert!(said.stderr.contains("warning: not in the history: "), "{said:?}");
        assert!(!said.stderr.contains("s3cret"), "{said:?}");
        said.run().assert_all("ok");
        let refused = place.call(&["show", "latest", "--store", store]);
        assert!(refused.code() == Some(2) && !refused.stderr.contains("s3cret"), "{refused:?}");
    }
    assert_eq!(place.text("notes.txt"), notes);
    let mut without = place.command(&["sim", "-R", "10", "-d", "1s", "--server", "service=1ms", "--json"]);
    let said = support::finish(without.env("UNBLINK_STORE", "none"));
    assert!(said.code() == Some(0) && !said.stderr.contains("warning"), "{said:?}");
    assert!(!place.path().join("data").exists());
}

#[test]
fn what_can_not_be_is_refused() {
    let place = Place::new();
    place.call(&["show", "abc"]).refused(&["there is no history", "unblink index DIR"]);
    simulate(&place, 1, &[]);
    place.call(&["show", "xyz"]).refused(&["no run \"xyz\"", "unblink history"]);
    place.call(&["tag", "latest", "commit"]).refused(&["KEY=VALUE"]);
    place.call(&["history", "--since", "yesterday"]).refused(&["2026-01-31"]);
    place.call(&["history", "--store", "mysql://h/d"]).refused(&["mysql://", "postgres://"]);
    place.call(&["history", "--store", "nowhere.db"]).refused(&["no history in nowhere.db"]);
    place.call(&["history", "--store", "."]).refused(&["can't be opened"]);
    place.call(&["history", "--limit", "0"]).refused(&["--limit", "a number above 0"]);
    place.file("notes.txt", "notes of somebody, and no database ".repeat(100));
    let said = place.call(&["history", "--store", "notes.txt"]);
    assert!(said.stderr.contains("not an SQLite database") && !said.stderr.contains("code"), "{said:?}");
    place.call(&["index", "data"]).refused(&["no run can be taken in"]);
    place.call(&["index", "nowhere"]).refused(&["nowhere"]);
    place.call(&["baseline", "show"]).refused(&["no baseline \"main\"", "unblink baseline set"]);
}

#[test]
fn processes_at_once_lose_nothing() {
    let place = Place::new();
    let seeds: Vec<String> = (1..=8).map(|seed: u32| seed.to_string()).collect();
    let started: Vec<Started> = seeds
        .iter()
        .map(|seed| {
            let args = ["sim", "-R", "50", "-d", "2s", "--server", "service=1ms", "--seed", seed, "-o", seed];
            Started::spawn(&mut place.command(&args))
        })
        .collect();
    for said in started.into_iter().map(Started::wait) {
        assert!(said.code() == Some(0) && !said.stderr.contains("warning"), "{said:?}");
    }
    assert_eq!(runs(&place, &["history"]).len(), seeds.len());
}

/// The remedy that the error names does what it says.
#[test]
fn a_damaged_history_is_made_anew() {
    let place = Place::new();
    for out in ["runs/a", "runs/b"] {
        let args = ["sim", "-R", "10", "-d", "1s", "--server", "service=1ms", "--store", "h.db", "-o", out];
        assert_eq!(place.call(&args).code(), Some(0));
    }
    let path = place.path().join("h.db");
    let mut bytes = std::fs::read(&path).expect("a history");
    bytes[100..].fill(0xa5);
    std::fs::write(&path, bytes).expect("a history");
    place.call(&["history", "--store", "h.db"]).refused(&["damaged", "unblink index DIR"]);
    let said = place.call(&["index", "runs", "--store", "h.db"]);
    assert!(said.code() == Some(0) && said.stderr.contains("h.db.damaged"), "{said:?}");
    assert_eq!(runs(&place, &["history", "--store", "h.db"]).len(), 2);
    assert!(place.path().join("h.db.damaged").is_file());
}

#[test]
fn secrets_stay_out() {
    let place = Place::new();
    let url = "http://me:s3cret@127.0.0.1:1/path?api_key=s3cret";
    let header = "Authorization: Bearer s3cret";
    let store = place.path().join("index.db");
    let args = ["run", url, "-H", header, "-R", "10", "-d", "1s", "--no-preflight", "--json", "-o", "out"];
    let said = place.call(&[&args[..], &["--store", store.to_str().expect("UTF-8")]].concat());
    assert_eq!(said.code(), Some(3), "nothing listens there: {said:?}");
    assert_eq!(runs(&place, &["history", "--store", "index.db"]).len(), 1);
    for file in ["index.db", "out/run.json"] {
        let bytes = std::fs::read(place.path().join(file)).expect("a file");
        assert!(!bytes.windows(6).any(|part| part == b"s3cret"), "{file}");
    }
}
