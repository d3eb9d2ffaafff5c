//! `unblink compare`: saved runs of simulated servers, and the real binary against real servers.

use crate::support::hostile::{Act, Hostile, answer, ok};
use crate::support::lab::Lab;
use crate::support::{Place, Said, Started};
use rustix::process::Signal;
use serde_json::Value;

/// Records runs `from..to` of a simulated server below `side`.
fn simulate(place: &Place, side: &str, runs: std::ops::Range<u64>, server: &str, load: &[&str]) {
    for run in runs {
        let (seed, folder) = (run.to_string(), format!("{side}/{run}"));
        let args = [&["sim", "--seed", &seed, "--server", server, "-o", &folder, "--json"], load].concat();
        let said = place.call(&args);
        assert!(matches!(said.code(), Some(0 | 3)), "{said:?}");
    }
}

const LOAD: [&str; 6] = ["-R", "200", "-d", "6s", "--arrivals", "poisson"];

#[track_caller]
fn document(said: &Said) -> Value {
    let document: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    let schema = unblink_artifact::schema::compare_schema();
    let validator = jsonschema::validator_for(&schema).expect("a schema");
    let errors: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(errors.is_empty(), "{errors:?}");
    document
}

#[test]
fn saved_runs_are_compared() {
    let place = Place::new();
    simulate(&place, "a", 1..6, "service=lognormal(5ms,0.5)", &LOAD);
    simulate(&place, "b", 11..16, "service=lognormal(7ms,0.5)", &LOAD);
    simulate(&place, "c", 21..26, "service=lognormal(5ms,0.5)", &LOAD);

    let slower = place.call(&["compare", "a", "b", "--json"]);
    let found = document(&slower);
    assert_eq!((slower.code(), &found["outcome"]), (Some(1), &"regression".into()), "{slower:?}");
    assert!((found["p_value"].as_f64().expect("a test") - 2.0 / 252.0).abs() < 1e-12);
    let decides =
        found["lines"].as_array().expect("lines").iter().find(|l| l["decides"] == true).expect("p99");
    let change = decides["change"].as_f64().expect("known");
    assert!((0.2..0.6).contains(&change), "7 of 5 ms is 40 % more: {decides}");
    assert!(found["smallest_findable"].as_f64().expect("known") > 0.05);
    assert_eq!(found["one_after_the_other"], false, "simulated runs don't care");

    let faster = place.call(&["compare", "b", "a", "--json"]);
    assert_eq!((faster.code(), &document(&faster)["outcome"]), (Some(0), &"improvement".into()));
    let same = place.call(&["compare", "a", "c", "-o", "out"]);
    assert_eq!(same.code(), Some(0), "{same:?}");
    assert!(same.stdout.starts_with("SIMULATED") && same.stdout.contains("\nNO REGRESSION\n"), "{same:?}");
    assert!(same.stdout.lines().all(|line| line.chars().count() <= 80), "{same:?}");
    assert!(place.text("out/compare.html").starts_with("<!doctype html>"));
    let kept: Value = serde_json::from_str(&place.text("out/compare.json")).expect("JSON");
    assert_eq!(kept["outcome"], "no_regression");
    // A least effect above what was found.
    assert_eq!(place.call(&["compare", "a", "b", "--min-effect", "100%"]).code(), Some(0));
}

#[test]
fn too_little_gives_no_verdict() {
    let place = Place::new();
    simulate(&place, "a", 1..6, "service=5ms", &LOAD);
    simulate(&place, "b", 11..15, "service=9ms", &LOAD);
    let said = place.call(&["compare", "a", "b", "--json"]);
    let found = document(&said);
    assert_eq!(
        (said.code(), &found["outcome"], &found["reason"]),
        (Some(3), &"no_verdict".into(), &"too_few_runs".into())
    );
    // 1,200 arrivals a run: one lies above p99.9.
    let unsupported: Vec<f64> = serde_json::from_value(found["unsupported"].clone()).expect("percentiles");
    assert_eq!(unsupported, [0.999, 0.9999]);
    assert!((10..15).contains(&found["baseline"]["runs"][0]["samples_above"].as_u64().expect("known")));
    let text = place.call(&["compare", "a", "b"]).stdout;
    assert!(text.contains("NO VERDICT\n5 + 4 runs"), "{text}");
    // A run in which the baseline fails can't be believed: no candidate is measured by it.
    simulate(&place, "c", 21..26, "service=9ms error=1/1", &LOAD);
    let failing = place.call(&["compare", "c", "a", "--json"]);
    let found = document(&failing);
    assert_eq!((failing.code(), &found["reason"]), (Some(3), &"too_few_runs".into()));
    let why = found["baseline"]["runs"][4]["left_out"].as_str().expect("left out");
    assert!(why.starts_with("invalid: "), "{why}");
    let both = place.call(&["compare", "c", "c/21", "--json"]);
    assert_eq!(both.code(), Some(2), "the same run: {both:?}");

    let one = place.call(&["compare", "a/1", "b/11", "--json"]);
    let found = document(&one);
    assert_eq!((one.code(), &found["reason"]), (Some(0), &"within_run_only".into()));
    let floor = place.call(&["compare", "--a-a", "a", "--json"]);
    assert_eq!((floor.code(), &document(&floor)["a_a"]), (Some(3), &true.into()), "3 + 2 are too few");
}

/// The worst regressions have no latency to compare: what the baseline carried, the candidate does not.
#[test]
fn a_candidate_that_fails_is_worse() {
    let place = Place::new();
    simulate(&place, "a", 1..6, "service=4ms", &LOAD);
    // 200/s need 1,600 ms of work each second of its one place: it saturates.
    let worlds =
        [("errs", "service=4ms error=1/1"), ("saturates", "service=8ms slots=1"), ("mostly", "service=5ms")];
    for (n, (name, server)) in worlds.into_iter().enumerate() {
        let first = 11 + 10 * n as u64;
        simulate(&place, name, first..first + 4, server, &LOAD);
        simulate(&place, name, first + 4..first + 5, "service=8ms slots=1", &LOAD);
        let said = place.call(&["compare", "a", name, "--json"]);
        let found = document(&said);
        assert_eq!((said.code(), &found["outcome"]), (Some(1), &"regression".into()), "{name}: {said:?}");
        assert!((found["p_value"].as_f64().expect("a test") - 2.0 / 252.0).abs() < 1e-12, "{name}");
        assert!(found["candidate"]["runs"][4]["target_failed"].is_string(), "{name}: {found}");
        assert!(found["baseline"]["runs"][4]["target_failed"].is_null());
    }
    let text = place.call(&["compare", "a", "saturates"]).stdout;
    assert!(text.contains("REGRESSION\nThe candidate fails in 5 of 5 runs"), "{text}");
    // One failure beside runs that are not slower may be chance.
    simulate(&place, "once", 51..55, "service=4ms", &LOAD);
    simulate(&place, "once", 55..56, "service=8ms slots=1", &LOAD);
    let said = place.call(&["compare", "a", "once", "--json"]);
    assert_eq!((said.code(), &document(&said)["reason"]), (Some(3), &"candidate_fails".into()), "{said:?}");
}

#[test]
fn a_rate_that_changes_is_a_doubt() {
    let place = Place::new();
    let load = ["-R", "100..300", "-d", "6s"];
    simulate(&place, "a", 1..2, "service=5ms", &load);
    simulate(&place, "b", 11..12, "service=5ms", &load);
    let text = place.call(&["compare", "a", "b"]).stdout.replace('\n', " ");
    assert!(text.contains("The rate changes in each run"), "{text}");
}

#[test]
fn what_can_not_be_compared_is_refused() {
    let place = Place::new();
    simulate(&place, "a", 1..3, "service=5ms", &LOAD);
    simulate(&place, "other", 1..2, "service=5ms", &["-R", "300", "-d", "6s", "--arrivals", "poisson"]);
    place.file("empty/note.txt", "");
    place.call(&["compare", "a", "other"]).refused(&["200/s poisson", "300/s poisson", "same load"]);
    place.call(&["compare", "a", "a/1"]).refused(&["stands on both sides"]);
    place.call(&["compare", "a", "empty"]).refused(&["holds no run"]);
    place.call(&["compare", "a", "nowhere"]).refused(&["neither a URL"]);
    place.call(&["compare", "a", "http://127.0.0.1:1/"]).refused(&["one side is a URL"]);
    place.call(&["compare", "a", "other", "-R", "10"]).refused(&["recorded already", "--rate"]);
    for flags in [
        &["--warmup", "1s"][..],
        &["--arrivals", "even"],
        &["--timeout", "30s"],
        &["-H", "A: b"],
        &["--runs", "5"],
    ] {
        place
            .call(&[&["compare", "a", "other"], flags].concat())
            .refused(&["recorded already", "leave it out"]);
    }
    simulate(&place, "third", 1..2, "service=5ms", &["-R", "100/3s", "-d", "6s", "--arrivals", "poisson"]);
    place.call(&["compare", "a", "third"]).refused(&["33.33/s"]);
    place.call(&["compare", "http://127.0.0.1:1/", "http://127.0.0.1:1/"]).refused(&["how much load?"]);
    let few =
        place.call(&["compare", "http://127.0.0.1:1/", "http://127.0.0.1:1/", "-R", "1", "--runs", "4"]);
    assert!(few.code() == Some(2) && few.stderr.contains("2 of 70"), "{few:?}");
}

#[test]
fn a_copy_is_no_run_of_its_own() {
    let place = Place::new();
    simulate(&place, "a", 1..3, "service=5ms", &LOAD);
    simulate(&place, "b", 11..12, "service=5ms", &LOAD);
    let copy = |from: &str, to: &str| {
        for file in place.list(from) {
            place.file(&format!("{to}/{file}"), place.text(&format!("{from}/{file}")));
        }
    };
    copy("a/1", "b/12");
    let refused = place.call(&["compare", "a", "b"]);
    refused.refused(&["a/1 and b/12 are the same run", "stands on both sides"]);
    assert_eq!(refused.code(), Some(2));
    copy("a/2", "a/3");
    place.call(&["compare", "a", "b/11"]).refused(&["a/2 and a/3 are the same run", "twice on one side"]);
}

#[test]
fn two_targets_are_measured_in_turn() {
    let place = Place::new();
    let (fast, slow) =
        (Lab::serve(&place, &["--baseline", "20ms"]), Lab::serve(&place, &["--baseline", "220ms"]));
    let load = ["-R", "50", "-d", "300ms", "--percentile", "p50"];
    let all = [&["compare", &fast.url, &slow.url, "--json", "-o", "out"], &load[..]].concat();
    let said = place.call(&all);
    let found = document(&said);
    let mut order: Vec<(String, char)> = Vec::new();
    for side in ["baseline", "candidate"] {
        let runs = found[side]["runs"].as_array().expect("runs");
        assert_eq!(runs.len(), 5, "{said:?}");
        let began = |run: &Value| {
            (
                run["started_at"].as_str().expect("a time").to_string(),
                if side == "baseline" { 'A' } else { 'B' },
            )
        };
        order.extend(runs.iter().map(began));
    }
    order.sort();
    assert_eq!(order.iter().map(|(_, side)| side).collect::<String>(), "ABBAABBAAB");
    // The candidate works ten times as long. Only runs that can't be believed can hide that.
    match found["outcome"].as_str() {
        Some("regression") => assert_eq!(said.code(), Some(1)),
        _ => assert_eq!((said.code(), &found["reason"]), (Some(3), &"too_few_runs".into()), "{said:?}"),
    }
    assert!(place.text("out/compare.html").contains("Is the candidate slower"));
    assert!(place.path().join("out/baseline/1/report.html").is_file());
}

#[test]
fn an_interrupted_comparison_goes_on() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--baseline", "200ms"]);
    let args = ["compare", &lab.url, &lab.url, "--runs", "1", "-R", "20", "-d", "2s", "--json"];
    let mut first = Started::spawn(&mut place.command(&[&args[..], &["-o", "out"]].concat()));
    let record = place.path().join("out/candidate/1/intervals.jsonl");
    for _ in 0..4_000 {
        if record.exists() || !first.is_running() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    first.signal(Signal::INT);
    let said = first.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    assert!(said.stderr.contains("--resume out"), "{said:?}");
    let found = document(&said);
    assert_eq!((&found["outcome"], &found["reason"]), (&"no_verdict".into(), &"interrupted".into()));
    place.call(&[&args[..5], &["-R", "30", "-d", "3s", "--resume", "out"]].concat()).refused(&[
        "another load: the first was offered 20/s",
        "; the first was measured for 2 s, the other was measured for 3 s",
    ]);
    place.call(&[&args[..], &["--percentile", "p50", "-H", "X-A: 1", "--resume", "out"]].concat()).refused(
        &["begun with --percentile p99 --min-effect ", ", and with something else asked of the targets"],
    );
    let said = place.call(&[&args[..], &["--resume", "out"]].concat());
    let found = document(&said);
    // Whether the runs can be believed is up to the machine; what can't is repeated, too.
    assert!(matches!(said.code(), Some(0 | 3)), "{said:?}");
    let runs = |side: &str| found[side]["runs"].as_array().expect("runs").clone();
    assert_eq!(runs("candidate").len(), 2, "{said:?}");
    assert_eq!(runs("candidate")[0]["left_out"], "it was interrupted");
    assert!(runs("baseline").len() == 1 || !runs("baseline")[0]["left_out"].is_null(), "{said:?}");
}

#[test]
fn servers_in_words_are_compared_in_virtual_time() {
    let place = Place::new();
    let words = |base: &str, candidate: &str, folder: &str| {
        let servers = ["--server", base, "--candidate-server", candidate];
        place.call(&[&["compare"], &servers[..], &LOAD, &["--json", "-o", folder]].concat())
    };
    let slower = words("service=lognormal(5ms,0.5)", "service=lognormal(7ms,0.5)", "slower");
    assert_eq!((slower.code(), &document(&slower)["outcome"]), (Some(1), &"regression".into()), "{slower:?}");
    assert_eq!(slower.stderr.matches(" of 10, ").count(), 10, "{slower:?}");
    assert!(place.text("slower/candidate/5/run.json").contains("lognormal(7ms"));
    // A server that can't carry the load gives no run that counts: three of them are enough to know.
    let lost = words("slots=1 service=10ms", "service=5ms", "lost");
    assert_eq!((lost.code(), &document(&lost)["outcome"]), (Some(3), &"no_verdict".into()), "{lost:?}");
    assert!(lost.stderr.contains("3 runs of the baseline did not count"), "{lost:?}");

    let a_a =
        place.call(&[&["compare", "--a-a", "--server", "service=exp(5ms)", "-o", "aa"], &LOAD[..]].concat());
    assert!(matches!(a_a.code(), Some(0 | 3)), "{a_a:?}");
    place.call(&["compare", "--server", "service=5ms", "-R", "5"]).refused(&["--candidate-server"]);
    place.call(&["compare", "--candidate-server", "service=5ms"]).refused(&["--server"]);
    place.call(&["compare", "http://127.0.0.1:9/", "--server", "service=5ms"]).refused(&["exclude"]);
    place.call(&["compare"]).refused(&["compare what?"]);
}

/// Slots of 10 ms under even arrivals carry 100/s each, to the request.
#[test]
fn searches_are_held_against_each_other() {
    let place = Place::new();
    let search = |slots: u32, seed: &str, folder: &str| {
        let server = format!("slots={slots} service=10ms");
        let asked = ["--slo", "p99 < 50ms", "--arrivals", "even", "--settle", "1s", "-q", "--seed", seed];
        let run = place.call(&[&["knee", "--server", &server], &asked[..], &["-o", folder]].concat());
        assert_eq!(run.code(), Some(0), "{run:?}");
    };
    search(5, "1", "main");
    search(4, "1", "slower");
    search(5, "2", "again");
    let compare = |a: &str, b: &str| place.call(&["compare", a, b]);
    let slower = compare("main", "slower");
    assert!(slower.code() == Some(1) && slower.stdout.contains("\nREGRESSION\n"), "{slower:?}");
    assert!(compare("slower", "main").stdout.contains("\nHIGHER\n"));
    let again = compare("main", "again");
    assert!(again.code() == Some(0) && again.stdout.contains("\nNO REGRESSION\n"), "{again:?}");
    let json = place.call(&["compare", "main", "slower", "--json"]);
    let document: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    let schema = unblink_artifact::schema::compare_knees_schema();
    assert!(jsonschema::validator_for(&schema).expect("a valid schema").is_valid(&document), "{document}");
    let ratio = document["ratio"].as_f64().expect("a ratio");
    assert!((ratio - 0.8).abs() < 0.01, "{ratio}");
    // The same ratio from another machine is no verdict.
    let elsewhere = place.text("slower/knee.json").replacen("\"cores\": ", "\"cores\": 9", 1);
    place.file("elsewhere/knee.json", &elsewhere);
    let elsewhere = compare("main", "elsewhere");
    assert!(elsewhere.code() == Some(0) && elsewhere.stdout.contains("\nRATIO\n"), "{elsewhere:?}");
    for (a, b, part) in [("main", "main", "the same search"), ("main", "http://127.0.0.1:1/", "one side")] {
        let refused = compare(a, b);
        assert!(refused.code() == Some(2) && refused.stderr.contains(part), "{refused:?}");
    }
    let flags = place.call(&["compare", "main", "slower", "-R", "5"]);
    assert!(flags.code() == Some(2) && flags.stderr.contains("recorded already"), "{flags:?}");
}

/// A candidate that does not answer is a regression; without a baseline nothing is.
#[test]
fn a_side_that_fails_the_first_request_is_named() {
    let broken = Hostile::start(|_| Act::Answer(answer("500 Internal Server Error", "")));
    let fine = Hostile::start(|_| Act::Answer(ok()));
    let place = Place::new();
    let (broken, fine) = (broken.url(), fine.url());
    for (sides, code, name) in
        [([&broken, &fine], 3, "the baseline: "), ([&fine, &broken], 1, "the candidate: ")]
    {
        let said = place.call(&["compare", sides[0], sides[1], "-R", "50", "-d", "2s", "--json"]);
        assert_eq!((said.code(), said.stdout.as_str()), (Some(code), ""), "{said:?}");
        for part in [name, "the request before the run failed"] {
            assert_eq!(said.stderr.matches(part).count(), 1, "{said:?}");
        }
    }
}

/// One request of several: the other's times, and its failures, do not enter.
#[test]
fn one_request_is_compared_alone() {
    let place = Place::new();
    for (side, took_ms) in [("one", 20), ("two", 60)] {
        let server = Hostile::start(move |seen| match seen.target.as_str() {
            "/slow" => Act::AnswerAfter(std::time::Duration::from_millis(took_ms), ok()),
            _ => Act::Answer(answer("500 Oops", "")),
        });
        let [fails, slow] = ["fails", "slow"].map(|path| server.url() + path);
        let load = ["-R", "100", "-n", "100", "--no-preflight", "--no-store", "--json", "-o", side];
        place.call(&[&["run", &fails, &slow][..], &load[..]].concat());
    }
    let args = ["compare", "one", "two", "--percentile", "p50", "--json"];
    // Half of each run failed, which invalidates it: what counts is what is read of the request.
    let found = document(&place.call(&[&args[..], &["--request", "GET /slow"]].concat()));
    assert_eq!(found["rule"]["request"], "GET /slow");
    let of = |side: &str| found[side]["runs"][0]["value_ns"].as_u64().expect("a value") / 1_000_000;
    assert!((20..60).contains(&of("baseline")) && of("candidate") >= 60, "{found:#}");
    place
        .call(&[&args[..], &["--request", "GET /none"]].concat())
        .refused(&["GET /none", "GET /fails, GET /slow"]);
}

/// Of several requests of one name the first would be no better than any other.
#[test]
fn a_name_of_several_requests_is_no_name() {
    let place = Place::new();
    let server = Hostile::start(|_| Act::Answer(ok()));
    let url = server.url() + "same";
    for folder in ["one", "two"] {
        place.call(&["run", &url, &url, "-R", "100", "-n", "10", "--no-store", "-o", folder]);
    }
    let args = ["compare", "one", "two", "--request", "GET /same"];
    place.call(&args).refused(&["2 requests", "GET /same", "names of their own"]);
}
