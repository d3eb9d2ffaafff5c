//! Inputs of any size: what has no end is refused before it fills the memory, what is asked for often is kept once, and a
//! document lists no more than somebody reads.

use crate::support::hostile::{Act, Hostile, ok};
use crate::support::{Place, Said, finish};
use std::fmt::Write as _;

/// Of address space, in kB: enough to start, and far less than what has no end.
const SPACE_KB: u32 = 4_000_000;

fn in_little_memory(place: &Place, args: &[&str]) -> Said {
    finish(&mut place.shell(&format!("ulimit -v {SPACE_KB}"), args))
}

#[test]
fn what_has_no_end_is_refused() {
    let place = Place::new();
    for name in ["plan.toml", "body", "cert.pem"] {
        std::os::unix::fs::symlink("/dev/zero", place.path().join(name)).expect("a link");
    }
    place.file("t.txt", "POST http://127.0.0.1:9/\n@body\n");
    place.file(
        "b.toml",
        "target = \"http://h/\"\n[load]\nrate = 5\n[[requests]]\nurl = \"/\"\nbody-file = \"body\"\n",
    );
    let tls = ["run", "https://127.0.0.1:9/", "-R", "1"];
    let plain = ["run", "http://127.0.0.1:9/", "-R", "1"];
    for (args, parts) in [
        (vec!["run", "plan.toml"], ["can't read the plan", "more than 1048576 bytes"]),
        (vec!["plan", "check", "plan.toml"], ["can't read the plan", "more than 1048576 bytes"]),
        (vec!["plan", "check", "b.toml"], ["b.toml:6:", "more than 268435456 bytes"]),
        (vec!["run", "--targets", "body", "-R", "1"], ["body:1:", "more than 1048576 bytes"]),
        (vec!["run", "--targets", "t.txt", "-R", "1"], ["t.txt:2", "more than 268435456 bytes"]),
        ([&plain[..], &["--body-file", "body"]].concat(), ["the body file", "more than 268435456 bytes"]),
        ([&tls[..], &["--cacert", "cert.pem"]].concat(), ["cert.pem", "more than 16777216 bytes"]),
        (
            [&tls[..], &["--cert", "cert.pem", "--key", "cert.pem"]].concat(),
            ["cert.pem", "more than 16777216 bytes"],
        ),
    ] {
        in_little_memory(&place, &args).refused(&parts);
    }
}

/// A folder may come from anybody.
#[test]
fn what_has_no_end_in_a_folder_is_refused() {
    let place = Place::new();
    let run = ["sim", "-R", "100", "-d", "5s", "--server", "service=1ms", "-o"];
    for folder in ["run", "labels", "intervals"] {
        place.call(&[&run[..], &[folder]].concat()).assert_ran();
    }
    let knee = ["knee", "--server", "slots=1 service=exp(1ms)", "--slo", "p99 < 50ms"];
    let compare = ["compare", "--server", "service=1ms", "--a-a", "-R", "100", "-d", "5s", "--runs", "1"];
    let zero = |name: &str| {
        let path = place.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink("/dev/zero", path).expect("a link");
    };
    for name in ["run/run.json", "labels/labels.json", "intervals/intervals.jsonl", "search/knee.jsonl"] {
        zero(name);
    }
    for name in ["compare/begun.json", "unblink/config.toml"] {
        zero(name);
    }
    for (args, parts) in [
        (vec!["report", "run"], ["run/run.json", "more than 268435456 bytes"]),
        (vec!["report", "intervals"], ["intervals.jsonl", "more than 67108864 bytes"]),
        ([&knee[..], &["--resume", "search"]].concat(), ["knee.jsonl", "more than 67108864 bytes"]),
        ([&compare[..], &["--resume", "compare"]].concat(), ["begun.json", "more than 1048576 bytes"]),
        (vec!["run", "http://127.0.0.1:9/", "-R", "1"], ["config.toml", "more than 1048576 bytes"]),
    ] {
        in_little_memory(&place, &args).refused(&parts);
    }
    let said = in_little_memory(&place, &["index", "labels"]);
    assert!(said.code() == Some(2) && said.stderr.contains("more than 1048576 bytes"), "{said:?}");
}

/// Two hundred requests with one body of 32 MB: kept for each, it would take 6.4 GB.
#[test]
fn a_body_is_kept_once() {
    let server = Hostile::start(|_| Act::AnswerBeforeBody(ok()));
    let place = Place::new();
    place.file("body", vec![b'x'; 32 << 20]);
    let targets = format!("POST {}a\n@body\n", server.url()).repeat(200);
    place.file("t.txt", targets);
    let args = ["run", "--targets", "t.txt", "-R", "5", "-n", "1", "--no-preflight", "-o", "out"];
    let said = in_little_memory(&place, &args);
    assert_ne!(said.code(), Some(2), "{said:?}");
    assert_eq!(place.run_json()["targets"].as_array().map(Vec::len), Some(200));
}

#[test]
fn of_very_many_targets_the_first_are_listed() {
    let server = Hostile::start(|_| Act::Answer(ok()));
    let place = Place::new();
    let targets = |count: u32, last: &str| {
        let mut text = String::new();
        (1..count).for_each(|n| writeln!(text, "GET {}item/{n}", server.url()).expect("a text"));
        text + &format!("GET {}{last}\n", server.url())
    };
    let mut series = Vec::new();
    for (i, (count, last)) in
        [(1_500, "end"), (1_500, "end"), (1_500, "other"), (900, "end")].into_iter().enumerate()
    {
        place.file("t.txt", targets(count, last));
        let out = format!("out{i}");
        let args = ["run", "--targets", "t.txt", "-R", "4000", "-n", "1500", "-c", "8", "--no-preflight"];
        let said = place.call(&[&args[..], &["-o", &out, "--store", "history.db"]].concat());
        said.assert_ran();
        let run: serde_json::Value =
            serde_json::from_str(&place.text(&format!("{out}/run.json"))).expect("JSON");
        let listed = run["targets"].as_array().map(Vec::len).expect("a list");
        let beyond = run["targets_beyond"]["count"].as_u64().unwrap_or(0);
        assert_eq!(
            (listed, beyond),
            (usize::min(count as usize, 1_000), u64::from(count.saturating_sub(1_000)))
        );
        // Every target has its arrival, and the row of those that are not kept apart says how many they are.
        let more = if count == 900 { "899" } else { "1 499" };
        let others = if count == 900 { "(645 others)" } else { "(1 245 others)" };
        for part in [format!(" and {more} more"), others.to_string()] {
            assert!(said.stdout.contains(&part), "{part:?} is missing: {}", said.stdout);
        }
        let slowest = run["slowest"].as_array().expect("a list");
        assert!(slowest.iter().all(|slow| {
            let (index, name) =
                (slow["index"].as_u64().expect("a number"), slow["operation"].as_str().expect("a name"));
            let n = index % u64::from(count) + 1;
            name == format!("GET /item/{n}")
                || n > 1_000 && name == format!("target {n}")
                || name == "GET /end"
        }));
        let page = place.text(&format!("{out}/report.html"));
        assert!(
            page.contains(&others.replace(' ', "\u{202f}").replace("\u{202f}others", " others")),
            "{out}"
        );
        let show = place.call(&["show", "latest", "--store", "history.db", "--json"]);
        let shown: serde_json::Value = serde_json::from_str(&show.stdout).expect("JSON");
        series.push(shown["runs"][0]["series"].as_str().expect("a series").to_string());
    }
    assert_eq!(series[0], series[1], "the same requests");
    assert!(
        series[1] != series[2] && series[2] != series[3],
        "others, though the document does not list them"
    );
}

/// What is masked tells requests apart no more: their names still do.
#[test]
fn names_stay_distinguishable() {
    let server = Hostile::start(|_| Act::Answer(ok()));
    let place = Place::new();
    let urls =
        ["?page=1", "?page=2", "?limit=5", "?limit=6"].map(|query| format!("{}list{query}", server.url()));
    let mut args: Vec<&str> = urls.iter().map(String::as_str).collect();
    args.extend(["-R", "100", "-n", "8"]);
    let run = place.measure(&args);
    let names: Vec<_> =
        run.at("/operations").as_array().expect("a list").iter().map(|one| &one["name"]).collect();
    assert_eq!(
        names,
        ["GET /list?page=***", "GET /list?page=*** (2)", "GET /list?limit=5", "GET /list?limit=6"]
    );
}
