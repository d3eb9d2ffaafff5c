//! What a person sees first: the end of the report, help, completions, pages of the manual, and a locale of ASCII.

use crate::support::hostile::healthy;
use crate::support::{Place, Said, finish};

const SIM: [&str; 6] = ["sim", "-R", "1000", "-d", "60s", "--scenario"];

/// A simulated stall, in a folder with a history of its own.
fn stalled(more: &[&str]) -> (Place, Said) {
    let place = Place::new();
    let said = place.call(&[&SIM[..], &["stall", "-o", "out"], more].concat());
    (place, said)
}

/// The answer scrolled away. The last line has it, and above it stand the record and what was missed.
#[test]
fn the_report_ends_with_its_bottom_line() {
    let (_place, said) = stalled(&["--slo", "p99 < 200ms"]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    let last = said.stdout.lines().next_back().unwrap_or_default();
    assert_eq!(last, "FAIL · VALID  p50 10.0 ms · p99 410 ms · errors 0 % · achieved 1 000/s");
    let lines: Vec<&str> = said.stdout.lines().collect();
    let screen = lines[lines.len() - 24..].join("\n");
    for part in ["Record  out\n", "Report  out/report.html\n", "✗ p99 < 200ms missed."] {
        assert!(screen.contains(part), "{part:?} is missing in {screen}");
    }
    // It also says when: in the second in which the stalled requests were answered.
    assert!(said.stdout.contains("  1.01 s at 31–32 s\n"), "{said:?}");
}

/// Of what is narrower than can be laid out, the report takes the least width.
#[test]
fn the_least_width_is_40_columns() {
    let (place, _) = stalled(&["--slo", "p99 < 200ms"]);
    let at = |columns: &str| finish(place.command(&["report", "out"]).env("COLUMNS", columns)).stdout;
    assert_eq!(at("20"), at("40"));
    assert!(at("40").lines().all(|line| line.chars().count() <= 40), "{}", at("40"));
}

/// `LC_ALL=C` asks for no sign beyond ASCII.
#[test]
fn without_utf_8_everything_printed_is_ascii() {
    let place = Place::new();
    let said = |args: &[&str]| finish(place.command(args).env("LC_ALL", "C"));
    let all = [&SIM[..], &["stall", "-o", "caf\u{e9}", "--slo", "p99 < 200ms"]].concat();
    let report = said(&all);
    let commands: [&[&str]; 9] = [
        &["report", "latest", "--json"],
        &["show", "latest"],
        &["history"],
        &["run", "--help"],
        &["run", "http://127.0.0.1:9/", "-R", "\u{b5}"],
        &["explain"],
        &["report", "nowhere/\u{2192}"],
        &["lab", "tools"],
        &["plan", "schema"],
    ];
    for (said, what) in std::iter::once((report, "sim")).chain(commands.map(|args| (said(args), args[0]))) {
        assert!(said.stdout.is_ascii() && said.stderr.is_ascii(), "{what}: {said:?}");
        assert!(!said.stdout.is_empty() || !said.stderr.is_empty(), "{what}");
    }
    // A file has an encoding of its own, and the document is the same.
    let run = |args: &[&str]| said(args).run();
    let folder = "caf\u{e9}";
    let command = run(&["report", folder, "--json"]).document["command"].clone();
    assert!(command.to_string().contains(folder), "{command}");
}

#[test]
fn report_takes_a_run_by_its_name() {
    let (place, said) = stalled(&[]);
    said.assert_ran();
    let latest = place.call(&["report", "latest", "--json"]).run();
    let named = place.call(&["report", "out", "--json"]).run();
    assert_eq!(latest.document, named.document);
    let id = place.call(&["history", "--json"]).stdout;
    let history: serde_json::Value = serde_json::from_str(&id).expect("JSON");
    let id = history["runs"][0]["id"].as_str().expect("a name").to_string();
    assert_eq!(place.call(&["report", &id[..8], "--json"]).run().document, named.document);
    place.call(&["compare", "latest", "latest"]).refused(&["the same run"]);
    // A folder of that name is the one that is meant.
    std::fs::create_dir(place.path().join("latest")).expect("a folder");
    place.call(&["report", "latest"]).refused(&["latest/run.json"]);
    std::fs::remove_dir(place.path().join("latest")).expect("a folder");
    std::fs::remove_dir_all(place.path().join("out")).expect("a folder");
    place.call(&["report", "latest"]).refused(&["is gone", "unblink show"]);
}

#[test]
fn the_history_since_a_length_of_time() {
    let (place, said) = stalled(&[]);
    said.assert_ran();
    let shown = |since: &str| {
        let said = place.call(&["history", "--json", "--since", since]);
        let history: serde_json::Value = serde_json::from_str(&said.stdout).expect("JSON");
        history["runs"].as_array().expect("a list").len()
    };
    assert_eq!((shown("7d"), shown("1h"), shown("2w"), shown("0s")), (1, 1, 1, 0));
    place.call(&["history", "--since", "7"]).refused(&["7d or 12h", "2026-01-31"]);
}

#[test]
fn completions_and_pages_of_the_manual() {
    let place = Place::new();
    for (shell, part) in
        [("bash", "complete -F"), ("zsh", "#compdef unblink"), ("fish", "complete -c unblink")]
    {
        let said = place.call(&["completions", shell]);
        assert!(said.code() == Some(0) && said.stdout.contains(part), "{shell}");
        assert!(said.stdout.contains("abort-on"), "{shell}");
    }
    let page = place.call(&["man"]).stdout;
    assert!(page.contains(".TH unblink 1") && page.contains("unblink\\-run(1)"), "{page}");
    assert_eq!(place.call(&["man", "-o", "man1"]).code(), Some(0));
    let pages = place.list("man1");
    for name in ["unblink.1", "unblink-run.1", "unblink-lab-serve.1"] {
        assert!(pages.iter().any(|page| page == name), "{pages:?}");
    }
    assert!(place.text("man1/unblink-run.1").contains("\\-\\-abort\\-on"));
}

const WAITING: &str = "[load]\nrate = 20\nduration = \"500ms\"\n[connections]\ntimeout = \"2s\"\n[[journeys]]\nname = \"buy\"\n\
                       think = \"100ms\"\n[[journeys.steps]]\nurl = \"/a\"\nrepeat = \"1..3\"\n[[journeys.steps]]\n\
                       url = \"/b\"\nuntil = \"status=200\"\nevery = \"1s\"\nwithin = \"4s\"\n";

/// Whoever looks at a terminal is told before the load for how long journeys under way are waited for behind it: three times the
/// timeout and 100 ms, and once more with what `until` may take. In a file nothing of it is said.
#[test]
fn a_terminal_is_told_of_the_drain_before_the_run() {
    let (server, place) = (healthy(), Place::new());
    place.file("plan.toml", WAITING);
    let said = finish(&mut place.on_terminal(&["run", "plan.toml", &server.url(), "-o", "seen"]));
    assert_ne!(said.code(), Some(2), "{said:?}");
    let text = said.stdout.replace(['\u{202f}', '\u{a0}'], " ").replace('\r', "");
    let line = text.lines().find(|line| line.contains("under way")).unwrap_or_else(|| panic!("{text}"));
    // 3 · 2.1 s + 2.1 s + 4 s.
    let drain = "open, 20/s, even arrivals, for 500 ms, then up to 12.4 s for journeys under way";
    assert!(line.contains(server.url().trim_end_matches('/')) && line.ends_with(drain), "{line:?}");
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part:?} in {text}"));
    assert!(at("asking once before the run") < at(line) && at(line) < at("Record"), "{text}");
    let quiet = place.call(&["run", "plan.toml", &server.url(), "-o", "unseen"]);
    assert!(!quiet.stderr.contains("under way") && !quiet.stderr.contains("asking once"), "{quiet:?}");
}
