//! What a run leaves behind: a valid document, exports, and no secret.

use crate::support;
use crate::support::hostile::{Act, Hostile, Seen, healthy, ok};
use crate::support::{Place, Said};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::time::Duration;

fn committed_schema() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../artifact/schema/unblink.run-2.schema.json");
    serde_json::from_str(&fs::read_to_string(path).expect("the schema")).expect("JSON")
}

#[track_caller]
fn assert_valid(document: &Value) {
    let validator = jsonschema::validator_for(&committed_schema()).expect("a schema");
    let errors: Vec<String> =
        validator.iter_errors(document).map(|e| format!("{}: {e}", e.instance_path())).collect();
    assert!(errors.is_empty(), "{errors:#?}");
}

#[test]
fn the_schema_is_the_committed_one() {
    let said = Place::new().call(&["schema"]);
    assert_eq!(said.code(), Some(0));
    assert_eq!(serde_json::from_str::<Value>(&said.stdout).expect("JSON"), committed_schema());
}

#[test]
fn documents_are_valid_whatever_happened() {
    let script = |seen: &Seen| match seen.target.as_str() {
        "/reset" => Act::Reset,
        "/stall" => Act::SendThenStall(Vec::new()),
        _ => Act::Answer(ok()),
    };
    let server = Hostile::start(script);
    let urls = ["", "reset", "stall"].map(|path| server.url() + path);
    let [good, reset, stall] = urls.each_ref().map(String::as_str);
    let common = ["--no-preflight", "--timeout", "300ms"];
    for args in [
        &[good, "-R", "100", "-d", "1100ms", "--warmup", "100ms"][..],
        &[good, reset, stall, "-R", "100", "-n", "30", "--arrivals", "poisson"],
        &[stall, "-R", "100", "-n", "10"],
        &[reset, "-R", "100", "-n", "10"],
        &[good, "-R", "0.1", "-d", "100ms"],
        &[good, "--closed", "2", "--think", "5ms", "-n", "10", "-c", "2", "-t", "2"],
        &[good, "-R", "10,20,30", "-d", "300ms"],
    ] {
        let place = Place::new();
        let run = place.measure(&[args, &common].concat());
        run.assert_accounts();
        assert_valid(&run.document);
        assert_eq!(place.run_json(), run.document, "the folder holds the same");
        let report = place.call(&["report", "out", "--json"]).run();
        assert!(report.document == run.document, "the report says something else: {report:?} {run:?}");
        assert_eq!(place.list("out"), ["intervals.hlog", "intervals.jsonl", "report.html", "run.json"]);
    }
}

/// In the folder, on the page and in the text, and again from the folder alone.
#[test]
fn pages_of_several_requests_are_in_every_form() {
    let (server, place) = (healthy(), Place::new());
    let run = place.measure(&[&server.url(), "-R", "200", "-d", "1100ms", "--fanout", "10"]);
    assert_eq!(run.count("/fanout/requests"), 10);
    assert_eq!(place.run_json(), run.document);
    let words = |n: u32| format!("Half of the pages that need {n} requests");
    assert!(place.text("out/report.html").contains(&words(10)));
    assert!(place.call(&["report", "out"]).stdout.contains(&words(10)));
    assert!(place.call(&["report", "out", "--fanout", "20"]).stdout.contains(&words(20)));
}

#[test]
fn the_fields_that_were_promised() {
    let (server, place) = (healthy(), Place::new());
    let run = place.measure(&[&server.url(), "-R", "200", "-d", "1100ms"]);
    run.assert_all("ok");
    assert_eq!(run.at("/schema"), "unblink.run/2");
    // A busy machine may make it any.
    assert!(
        ["valid", "degraded", "invalid"].contains(&run.at("/validity/status").as_str().expect("a status"))
    );
    for name in ["response_time", "service_time", "send_lag"] {
        let distribution = run.at(&format!("/{name}"));
        assert_eq!(distribution["unit"], "ns");
        assert_eq!(distribution["count"], 220);
        assert!(distribution["mean"].as_f64() > Some(0.0));
        assert!(distribution["max"].as_u64() > Some(0));
        let quantiles = distribution["quantiles"].as_array().expect("a list");
        let q: Vec<f64> = quantiles.iter().map(|q| q["q"].as_f64().expect("a number")).collect();
        assert_eq!(q, [0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.999, 0.9999]);
        let values: Vec<u64> = quantiles.iter().map(|q| q["value"].as_u64().expect("ns")).collect();
        assert!(values.is_sorted() && values[7] <= distribution["max"].as_u64().expect("ns"));
        assert!(quantiles.iter().all(|q| q["censored"] == false));
    }
    for name in ["offered", "sent", "achieved"] {
        assert!(run.number(&format!("/rate/{name}")) > 0.0);
    }
    for (name, more_than) in [("cores", 0), ("file_descriptors_max", 63), ("local_ports", 0)] {
        assert!(run.count(&format!("/environment/{name}")) > more_than);
    }
    assert!(run.at("/environment/kernel").as_str().expect("text").contains(' '));
    assert_eq!(run.at("/tool/version"), env!("CARGO_PKG_VERSION"));
    // The commit stands beside the version, here and in --version, where it is known.
    let commit = run.document["tool"]["commit"].as_str().map(|commit| format!(" ({commit})"));
    let version = format!("unblink {}{}\n", env!("CARGO_PKG_VERSION"), commit.unwrap_or_default());
    assert_eq!(place.call(&["--version"]).stdout, version);
    let command: Vec<&str> =
        run.at("/command").as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(command[1..6], ["run", &server.url(), "-R", "200", "-d"]);
    let service = run.quantile("service_time", 0.5).0;
    assert!(run.quantile("response_time", 0.5).0 >= service, "a user waits at least that long");
}

#[test]
fn exports() {
    let (server, place) = (healthy(), Place::new());
    let exports = ["--csv", "s.csv", "--hgrm", "p.hgrm", "--svg", "pictures"];
    let run = place.measure(&[&[&server.url() as &str, "-R", "100", "-d", "1200ms"], &exports[..]].concat());
    run.assert_all("ok");
    assert_exported(&place, "s.csv", "p.hgrm", "pictures");
    let report = ["report", "out", "--csv", "s2.csv", "--hgrm", "p2.hgrm", "--svg", "pictures2"];
    let said = place.call(&[&report[..], &["--html", "page.html"]].concat());
    // What is printed again has the run's own exit code, and a busy machine may have made it invalid.
    assert!([Some(0), Some(3)].contains(&said.code()), "{said:?}");
    assert_exported(&place, "s2.csv", "p2.hgrm", "pictures2");
    place.call(&["report", "out", "--csv-percentiles", "q.csv"]);
    let percentiles = place.text("q.csv");
    assert!(percentiles.starts_with("distribution,q,value_ns,low_ns,high_ns,"), "{percentiles}");
    assert!(percentiles.contains("\nresponse_time,0.99,"), "{percentiles}");
    for (one, other) in [("s.csv", "s2.csv"), ("p.hgrm", "p2.hgrm"), ("out/report.html", "page.html")] {
        assert!(place.text(one) == place.text(other), "{one} and {other} differ");
    }
    for picture in place.list("pictures") {
        let [one, other] = ["pictures", "pictures2"].map(|folder| place.text(&format!("{folder}/{picture}")));
        assert!(one == other, "{picture} differs");
    }
}

fn assert_exported(place: &Place, csv: &str, hgrm: &str, svg: &str) {
    let csv = place.text(csv);
    let columns = csv.lines().next().expect("a heading").split(',').count();
    assert!(columns > 5 && csv.lines().count() >= 3, "{csv}");
    assert!(csv.lines().all(|line| line.split(',').count() == columns), "{csv}");
    assert!(place.text(hgrm).contains("Percentile"));
    let pictures = place.list(svg);
    assert!(pictures.len() >= 4, "{pictures:?}");
    for picture in pictures {
        let text = place.text(&format!("{svg}/{picture}"));
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{picture}");
    }
}

/// The page uses nothing from outside.
#[test]
fn the_page_is_whole() {
    let (server, place) = (healthy(), Place::new());
    place.measure(&[&server.url(), "-R", "100", "-n", "50"]).assert_all("ok");
    let page = place.text("out/report.html");
    assert!(page.contains("<!doctype html>") || page.contains("<!DOCTYPE html>"));
    for foreign in ["src=\"http", "href=\"http", "@import", "url(http", "fetch("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

#[test]
fn text_for_people() {
    let (server, place) = (healthy(), Place::new());
    let said = place.call(&["run", &server.url(), "-R", "100", "-n", "50", "-o", "out"]);
    said.assert_ran();
    assert_eq!(said.stderr, "", "no live line for a pipe");
    assert!(!said.stdout.contains('\x1b'), "no colours for a pipe");
    for part in ["p50", "p99", "Record  out", "Report  out/report.html"] {
        assert!(said.stdout.contains(part), "{part} is missing in {}", said.stdout);
    }
    let wide = said.stdout.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None);
    let again = place.call(&["report", "out"]);
    let (before, _) = said.stdout.split_once("Record  out").expect("where it is");
    assert!(again.stdout.starts_with(before.trim_end()), "{}", again.stdout);
    assert_eq!(said.stdout.lines().last(), again.stdout.lines().last(), "the bottom line");
}

/// Without -o the folder is named by the time, and runs do not overwrite each other.
#[test]
fn folders_by_time() {
    let (server, place) = (healthy(), Place::new());
    for _ in 0..2 {
        place.call(&["run", &server.url(), "-R", "100", "-n", "5"]).assert_ran();
        // Names tell seconds apart.
        std::thread::sleep(Duration::from_millis(1100));
    }
    assert_eq!(place.list("unblink-runs").len(), 2);
}

/// A folder that somebody has deleted meanwhile is not named as the record.
#[test]
fn a_folder_that_is_gone_is_not_named_as_the_record() {
    let (server, place) = (healthy(), Place::new());
    let mut run = place.command(&["run", &server.url(), "-R", "50", "-d", "2s", "-o", "out"]);
    let run = support::Started::spawn(&mut run);
    while server.seen().len() < 10 {
        std::thread::sleep(Duration::from_millis(10));
    }
    fs::remove_dir_all(place.path().join("out")).expect("removed");
    let said = run.wait();
    assert!(!said.stdout.contains("Record") && !said.stdout.contains("Report  "), "{said:?}");
    assert!(said.stderr.contains("the folder \"out\" is not there any more"), "{said:?}");
}

/// What can't be decoded can't be searched, and whoever asked is told.
#[test]
fn a_text_in_a_body_that_is_not_decoded_gets_its_reason() {
    let encoded = support::hostile::answer("200 OK\r\nContent-Encoding: gzip", "\u{1f}packed");
    let server = support::hostile::Hostile::start(move |_| support::hostile::Act::Answer(encoded.clone()));
    let place = Place::new();
    let args = ["run", &server.url(), "-R", "10", "-n", "1", "--expect", "contains=hello"];
    let said = place.call(&args);
    assert_eq!(said.code(), Some(1), "{said:?}");
    let words = said.stderr.split_whitespace().collect::<Vec<_>>().join(" ");
    let reason = "its body can't be held against --expect: it is not what its Content-Encoding says";
    assert!(words.contains(reason), "{said:?}");
}

const SECRET: &str = "s3cr3t";

#[test]
fn secrets_stay_out_of_everything_that_is_written() {
    let (server, place) = (healthy(), Place::new());
    place.file("body.txt", format!("body={SECRET}"));
    let url = format!("http://user:{SECRET}@{}/p?access_token={SECRET}&limit=7", server.address);
    let authorization = format!("Authorization: Bearer {SECRET}");
    let cookie = format!("Cookie: session={SECRET}");
    let own = format!("-HX-Api-Key: {SECRET}");
    let long = format!("--header=X-Token: {SECRET}");
    let body = format!("password={SECRET}");
    let equals = format!("--body={SECRET}");
    for (n, more) in [
        &["-H", &authorization, "-H", &cookie, &own, &long, "--body", &body][..],
        &[&equals],
        &["--body-file", "body.txt"],
        &["-qH", &authorization],
        &[],
    ]
    .into_iter()
    .enumerate()
    {
        let out = format!("out{n}");
        let outputs = ["--csv", "s.csv", "--hgrm", "p.hgrm", "--svg", "svg", "-o", &out];
        let load = ["run", &url, "-R", "100", "-n", "10"];
        let said = place.call(&[&load[..], more, &outputs].concat());
        said.assert_ran();
        assert_clean(&said);
        assert_clean(&place.call(&["report", &out, "--json"]));
    }
    std::fs::remove_file(place.path().join("body.txt")).expect("removed");
    assert!(server.seen().iter().any(|seen| seen.header("cookie").is_some()), "they are sent");
    assert_no_secret_below(place.path());
}

/// Failures quote what was asked for, without its secrets.
#[test]
fn secrets_stay_out_of_error_messages() {
    let place = Place::new();
    let secret = |text: &str| text.replace('$', SECRET);
    for args in [
        &["http://u:$@127.0.0.1:9/?token=$", "-R", "1"][..],
        &["http://u:$@127.0.0.1:99999/?token=$", "-R", "1"],
        &["http://127.0.0.1:9/", "-R", "1", "-H", "Bearer $"],
        &["http://127.0.0.1:9/", "-R", "1", "-H", "Authorization: $\n$"],
        &["http://127.0.0.1:9/?token=$", "http://u:$@127.0.0.1:8/", "-R", "1"],
        &["http://127.0.0.1:9/?token=$", "-X", "G(T", "-R", "1"],
    ] {
        let args: Vec<String> = args.iter().map(|arg| secret(arg)).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let said = place.call(&[&["run"], &args[..]].concat());
        // 1: nobody answers the request before the run.
        assert!(matches!(said.code(), Some(1 | 2)), "{said:?}");
        assert_clean(&said);
    }
    place.file("t.txt", secret("GET http://u:$@127.0.0.1:9/\nAuthorization $\n"));
    let said = place.call(&["run", "--targets", "t.txt", "-R", "1"]);
    said.refused(&["t.txt:2"]);
    assert_clean(&said);
}

#[track_caller]
fn assert_clean(said: &Said) {
    assert!(!said.stdout.contains(SECRET), "{said:?}");
    assert!(!said.stderr.contains(SECRET), "{said:?}");
}

fn assert_no_secret_below(folder: &Path) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            assert_no_secret_below(&path);
            continue;
        }
        let bytes = fs::read(&path).expect("a file");
        let found = bytes.windows(SECRET.len()).any(|window| window == SECRET.as_bytes());
        assert!(!found, "{path:?} holds a secret");
    }
}
