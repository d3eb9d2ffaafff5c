//! A report that can't be written takes neither the record nor the verdict with it.

use crate::support::hostile::healthy;
use crate::support::{Place, Said, finish};
use serde_json::Value;

/// The command with standard output on a disk that is full.
fn on_full_disk(place: &Place, args: &[&str]) -> Said {
    let said = finish(&mut place.shell("exec >/dev/full", args));
    assert!(said.stderr.contains("error: can't write to standard output: No space left"), "{said:?}");
    said
}

/// It says that nothing is lost, and how the report is shown again.
#[track_caller]
fn assert_is_named(said: &Said, folder: &str) {
    let again = format!(
        "what was measured is not lost: its record is in {folder}, and the report can be shown again with `unblink report \
         {folder}`"
    );
    assert!(said.stderr.contains(&again), "{said:?}");
}

#[test]
fn a_run_is_kept_and_named_whatever_becomes_of_its_report() {
    let server = healthy();
    let url = server.url();
    for more in [&[][..], &["--json"], &["--csv", "-"]] {
        let place = Place::new();
        let args = [&["run", &url, "-R", "100", "-n", "20", "-o", "out"], more].concat();
        let said = on_full_disk(&place, &args);
        assert_is_named(&said, "out");
        assert!(matches!(said.code(), Some(2 | 3)), "{said:?}");
        assert_eq!(place.run_json()["arrivals"]["scheduled"], 20);
        assert!(place.text("out/report.html").starts_with("<!doctype html>"));
        assert_eq!(place.call(&["report", "out", "--json"]).run().arrivals("scheduled"), 20);
        let history = place.call(&["history", "--json"]).stdout;
        let history: Value = serde_json::from_str(&history).expect("a document");
        assert_eq!(history["runs"].as_array().map(Vec::len), Some(1), "{history}");
    }
}

#[test]
fn a_verdict_stands_and_only_a_pass_has_another_code() {
    let place = Place::new();
    let sim = |slo: &str, folder: &str| {
        let args = ["sim", "--server", "service=5ms", "-R", "100", "-d", "5s", "--slo", slo, "-o", folder];
        on_full_disk(&place, &args)
    };
    let (passed, missed) = (sim("p99 < 1s", "passed"), sim("p99 < 1ms", "missed"));
    assert_eq!((passed.code(), missed.code()), (Some(2), Some(1)), "{passed:?} {missed:?}");
    assert_is_named(&passed, "passed");
    assert_is_named(&missed, "missed");
    // What is shown again has not been shown either.
    for (folder, code) in [("passed", 2), ("missed", 1)] {
        let again = on_full_disk(&place, &["report", folder, "--json"]);
        assert_eq!(again.code(), Some(code), "{again:?}");
        assert_is_named(&again, folder);
    }
    assert_eq!(place.call(&["report", "passed"]).code(), Some(0));
    // Two that say nothing of each other; a comparison of recorded runs records nothing itself.
    let compared = on_full_disk(&place, &["compare", "passed", "missed"]);
    assert_eq!(compared.code(), Some(2), "{compared:?}");
}

#[test]
fn files_that_were_asked_for_are_written_all_the_same() {
    let place = Place::new();
    let files = ["--csv", "a.csv", "--hgrm", "a.hgrm", "--junit", "a.xml", "--svg", "pictures"];
    let sim = ["sim", "--server", "service=5ms", "-R", "100", "-d", "5s", "-o", "out", "--json"];
    on_full_disk(&place, &[&sim[..], &files].concat());
    for name in ["a.csv", "a.hgrm", "a.xml", "pictures/spectrum.svg"] {
        assert!(!place.text(name).is_empty(), "{name}");
    }
    // Each that can't be written is named.
    let said =
        finish(&mut place.command(&["report", "out", "--json", "--csv", "/dev/full", "--hgrm", "/dev/full"]));
    assert_eq!(said.stderr.matches("can't write \"/dev/full\"").count(), 2, "{said:?}");
    assert!(said.stdout.starts_with('{'), "{said:?}");
}

/// A search that is over at once in virtual time.
const CAP: [&str; 8] =
    ["knee", "--server", "slots=1 service=1ms", "--slo", "p99 < 50ms", "--max", "200", "-q"];

/// Searches, sign-offs and the lab's runs have a page, which nothing draws again.
#[test]
fn whatever_else_measures_names_its_folder_and_its_page() {
    let place = Place::new();
    let stage = "[[stages]]\nkind = \"hold\"\nrate = \"100\"\nduration = \"5s\"\n";
    place.file("plan.toml", format!("[world]\nserver = \"service=5ms\"\n{stage}"));
    let floor = ["--server", "service=5ms", "-R", "200", "-d", "6s"];
    let healthy = ["lab", "run", "healthy", "--tools", "unblink-open", "--length", "1s"];
    for (args, folder, page) in [
        (&CAP[..], "searched", "report.html"),
        (&["signoff", "plan.toml", "--simulate"], "signed", "report.html"),
        (&[&["compare", "--a-a"], &floor[..]].concat(), "compared", "compare.html"),
        (&healthy, "lab", "report.html"),
    ] {
        let said = on_full_disk(&place, &[args, &["-o", folder]].concat());
        let page = format!("{folder}/{page}");
        let named =
            format!("what was measured is not lost: its record is in {folder}, and its page is {page}");
        assert!(said.stderr.contains(&named), "{said:?}");
        assert!(matches!(said.code(), Some(2 | 3)), "{said:?}");
        assert!(place.text(&page).starts_with("<!doctype html>"), "{page}");
    }
}
