//! The lab from end to end: the real server, the real binary as a tool, and tools that are scripts.

use crate::support::{Place, Said, Started};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;

/// JSON that keeps its schema.
#[track_caller]
fn document(said: &Said, schema: &Value) -> Value {
    let document: Value = serde_json::from_str(&said.stdout).unwrap_or_else(|e| panic!("{e}: {said:?}"));
    let validator = jsonschema::validator_for(schema).expect("a valid schema");
    let complaints: Vec<String> = validator.iter_errors(&document).map(|e| e.to_string()).collect();
    assert!(complaints.is_empty(), "{complaints:?}");
    document
}

/// A shell script as a program; `$UNBLINK` in it is the binary.
fn script(place: &Place, name: &str, text: &str) -> String {
    let text = format!("#!/bin/sh\n{}\n", text.replace("$UNBLINK", env!("CARGO_BIN_EXE_unblink")));
    let path = place.file(name, text);
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("it may be run");
    path.to_str().expect("a path").to_string()
}

fn percentile(row: &Value, q: f64) -> &Value {
    let all = row["percentiles"].as_array().expect("a list");
    all.iter().find(|line| line["q"].as_f64() == Some(q)).expect("a percentile")
}

#[test]
fn a_cell_holds_truth_log_and_report_and_is_not_run_twice() {
    let place = Place::new();
    let args = ["lab", "run", "stall", "--tools", "unblink", "--length", "3s", "-o", "lab", "--json"];
    let said = place.call(&args);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let lab = document(&said, &unblink_artifact::schema::lab_schema());
    let [open, closed] = lab["rows"].as_array().expect("rows").as_slice() else { panic!("{lab:#}") };
    assert_eq!((&open["tool"], &closed["tool"]), (&"unblink-open".into(), &"unblink-closed".into()));
    // Everything that was planned was sent, also while the server stalled; the closed loop left that out.
    assert_eq!((&open["requests"], &open["planned"]), (&3000.into(), &3000.into()));
    let cells = lab["cells"].as_array().expect("cells");
    let during = |cell: &Value| cell["offered"]["seen_in_events"].as_u64().expect("a count");
    assert_eq!(cells[0]["offered"]["planned_in_events"], 50);
    assert!(during(&cells[0]) >= 30 && during(&cells[1]) <= 15, "{cells:#?}");
    // By the model: 50 ms of stall in 3 s. What the tool says is at least what the server did.
    let p99 = percentile(open, 0.99);
    assert_eq!(p99["truth_low_ns"].as_u64().map(|ns| ns / 1_000_000), Some(28), "{p99:#}");
    let reported = p99["reported_ns"].as_u64().expect("a figure");
    assert!(reported >= p99["log_ns"].as_u64().expect("a figure"), "{p99:#}");
    assert!(place.list("lab/stall/unblink-open/1").contains(&"truth.csv".to_string()));
    let cell: Value = serde_json::from_str(&place.text("lab/stall/unblink-open/1/cell.json")).expect("JSON");
    assert_eq!(&cell, &cells[0]);

    // Both ways of one program: over time, side by side, and in the documentation.
    for name in ["latency-stall", "completions-stall"] {
        let picture = place.text(&format!("lab/{name}.svg"));
        assert!(
            ["line response tool", "line service tool", "class=\"event\""]
                .iter()
                .all(|p| picture.contains(p))
        );
    }
    let results = place.text("lab/results.md");
    assert!(
        ["](pair-unblink.svg)", "| unblink-open | open |"].iter().all(|p| results.contains(p)),
        "{results}"
    );
    let folder = place.path().to_str().expect("a path");
    assert!(!results.contains(folder) && !results.contains("-o lab"), "{results}");
    assert!(!results.contains("| protocol |"), "all speak HTTP/1.1: {results}");

    let again = place.call(&args);
    let second: Value = serde_json::from_str(&again.stdout).expect("JSON");
    assert_eq!(second["cells"], lab["cells"]);
    let text = place.call(&args[..args.len() - 1]).stdout;
    assert!(text.starts_with("stall  Users feel a p99 of "), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // Every column has its name above it.
    let ends = |start: &str| {
        text.lines().find(|line| line.trim_start().starts_with(start)).map(|l| l.chars().count())
    };
    assert_eq!(ends("tool "), ends("unblink-open "), "{text}");
}

/// A thousand answers, none of which came before its 10 ms.
#[track_caller]
fn assert_second_of_healthy(lab: &Value) {
    assert_eq!(lab["cells"][0]["reported"]["samples"], 1000);
    let median = percentile(&lab["rows"][0], 0.5)["reported_ns"].as_u64().expect("a figure");
    assert!(median >= 10_000_000, "{median}");
}

/// A tool with a definition of its own, and nothing else.
#[test]
fn another_tool_is_a_file() {
    let place = Place::new();
    let program = script(
        &place,
        "tool",
        "[ \"$1\" = --version ] && { echo 'mine 7.1'; exit; }\n\
         $UNBLINK run \"$1\" -R \"$2\" -d \"$3\" --no-preflight -q --json -o run > /dev/null || [ $? = 3 ] || exit 1\n\
         $UNBLINK report run --hgrm mine.hgrm --csv - > /dev/null || [ $? = 3 ]",
    );
    place.file(
        "mine.toml",
        format!(
            "name = \"mine\"\nprogram = \"{program}\"\nabout = \"ours\"\nmodel = \"open\"\n\
             command = [\"{{url}}\", \"{{rate}}\", \"{{duration_s}}s\"]\nhint = \"write it\"\n\
             [version]\ncommand = [\"--version\"]\npattern = 'mine (?<version>\\S+)'\n\
             [output]\nformat = \"hgrm\"\nfile = \"mine.hgrm\"\nunit = \"ms\"\n"
        ),
    );
    let said = place.call(&[
        "lab",
        "run",
        "healthy",
        "--tool",
        "mine.toml",
        "--tools",
        "mine",
        "--length",
        "1s",
        "-o",
        "lab",
        "--json",
    ]);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let lab = document(&said, &unblink_artifact::schema::lab_schema());
    let cell = &lab["cells"][0];
    assert_eq!((&cell["tool"]["version"], &cell["tool"]["command"][1]), (&"7.1".into(), &"{url}".into()));
    assert_second_of_healthy(&lab);
}

/// A folder of the user's own with a script and its definition: text for people, read by a pattern.
#[test]
fn a_folder_of_tools_is_enough() {
    let place = Place::new();
    let program = script(
        &place,
        "tools/pace",
        "[ \"$1\" = -v ] && { echo 'pace 0.3'; exit; }\n\
         $UNBLINK run \"$(cat target)\" -R \"$1\" -d \"$2s\" --no-preflight --no-store -q --json -o run > run.json\n\
         tr -d ' \\n' < run.json | grep -o '\"q\":0.5,\"value\":[0-9]*' | head -1 |\n\
         sed 's/.*:/median latency: /; s/$/ ns/'\n\
         echo '1,000 requests sent'",
    );
    let definition = r#"
name = "pace"
program = "PROGRAM"
about = "a script"
model = "open"
command = ["{rate}", "{duration_s}"]
hint = "it lies beside its definition"

[files]
target = "{url}"

[version]
command = ["-v"]
pattern = 'pace (?<version>\S+)'

[output]
format = "pattern"
percentile = '^(?<median>median) latency: (?<value>\d+) (?<unit>ns)$'
samples = '^(?<count>[\d,]+) requests sent$'
"#;
    place.file("tools/pace.toml", definition.replace("PROGRAM", &program));
    place.file("tools/notes.txt", "no definition");
    let args = ["lab", "run", "healthy", "--tool", "tools", "--tools", "pace", "--length", "1s", "--json"];
    // A pattern that does not say which percentile it is can't be used.
    place.call(&args).refused(&["pace.toml", "(?<q>"]);
    let with_q = definition.replace("(?<median>median) latency", "p(?<q>\\d+)").replace("PROGRAM", &program);
    place.file("tools/pace.toml", with_q);
    let sed = std::fs::read_to_string(&program).expect("a script").replace("median latency: ", "p50: ");
    std::fs::write(&program, sed).expect("it is written");
    let said = place.call(&args);
    assert_eq!(said.code(), Some(0), "{said:?}");
    let lab = document(&said, &unblink_artifact::schema::lab_schema());
    let cell = &lab["cells"][0];
    assert_eq!((&cell["tool"]["name"], &cell["tool"]["version"]), (&"pace".into(), &"0.3".into()));
    assert_second_of_healthy(&lab);
    let empty = ["lab", "tools", "--tool", "empty"];
    std::fs::create_dir(place.path().join("empty")).expect("a folder");
    place.call(&empty).refused(&["empty", ".toml"]);
}

/// A load of ten requests per second is no series of probes.
#[test]
fn a_slow_load_is_counted_whole() {
    let place = Place::new();
    let args = ["lab", "run", "trickle", "--tools", "unblink-open", "--length", "2s", "-o", "lab", "--json"];
    let run = place.call(&args).run();
    assert_eq!((run.count("/cells/0/offered/requests"), run.count("/cells/0/offered/planned")), (20, 20));
}

/// In the order in which they were asked for, whoever ends first.
#[test]
fn cells_may_run_at_once() {
    let place = Place::new();
    let tools = ["--tools", "unblink", "--length", "1s", "--runs", "2", "--jobs", "3", "-o", "lab", "--json"];
    let said = place.call(&[&["lab", "run", "trickle", "healthy"][..], &tools[..]].concat());
    assert_eq!(said.code(), Some(0), "{said:?}");
    let lab = document(&said, &unblink_artifact::schema::lab_schema());
    let cells = lab["cells"].as_array().expect("cells");
    let names: Vec<_> = cells
        .iter()
        .map(|cell| (cell["scenario"]["name"].as_str(), cell["tool"]["name"].as_str(), cell["run"].as_u64()))
        .collect();
    let wanted: Vec<_> = ["trickle", "healthy"]
        .into_iter()
        .flat_map(|scenario| ["unblink-open", "unblink-closed"].map(|tool| (Some(scenario), Some(tool))))
        .flat_map(|(scenario, tool)| [1, 2].map(|run| (scenario, tool, Some(run))))
        .collect();
    assert_eq!(names, wanted);
    // A cell takes a second or more: two that began within one were up at once, whichever was the first.
    let second = |nth: usize| {
        let at = cells[nth]["started_at"].as_str().expect("a time");
        at[17..23].parse::<f64>().expect("seconds")
    };
    let apart = (second(1) - second(0)).rem_euclid(60.0);
    assert!(apart.min(60.0 - apart) < 1.0, "{} {}", second(0), second(1));
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    assert_eq!(lab["apart"], processors >= 6);
    assert_eq!(cells[0]["processors"]["are_apart"], processors >= 6);
    assert!(said.stderr.contains("[8/8] "), "{said:?}");
}

/// What was finished is shown; server and tool are gone, and the same command goes on.
#[test]
fn a_lab_that_is_stopped_leaves_nothing_behind() {
    let place = Place::new();
    place.call(&["lab", "run", "healthy", "--tools", "unblink-open", "--length", "2s", "-o", "lab"]);
    // The cell of before is taken as it is; the second one is stopped.
    let args = ["lab", "run", "healthy", "--tools", "unblink", "--length", "2s", "-o", "lab", "--json"];
    let child = Started::spawn(&mut place.command(&args));
    let run = place.path().join("lab/healthy/unblink-closed/1/run/intervals.jsonl");
    assert!((0..4_000).any(|_| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        run.exists()
    }));
    child.signal(rustix::process::Signal::TERM);
    let said = child.wait();
    assert_eq!(said.code(), Some(130), "{said:?}");
    assert!(said.stderr.contains("stopped after 1 of 2 cells"), "{said:?}");
    let lab = document(&said, &unblink_artifact::schema::lab_schema());
    assert_eq!(
        (lab["cells"].as_array().map(Vec::len), &lab["rows"][0]["tool"]),
        (Some(1), &"unblink-open".into())
    );
    assert!(!place.list("lab/healthy/unblink-closed/1").contains(&"cell.json".to_string()));
    // Whoever still ran would have this folder in its command.
    let folder = place.path().to_str().expect("a path").to_string();
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let left: Vec<String> = processes
        .filter_map(|entry| std::fs::read_to_string(entry.path().join("cmdline")).ok())
        .filter(|command| command.contains(&folder))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_tool_that_fails_is_named_and_gets_no_figures() {
    let place = Place::new();
    let definition = |name: &str, program: &str| {
        let text = format!(
            "name = \"{name}\"\nprogram = \"{program}\"\nabout = \"bad\"\nmodel = \"open\"\ncommand = [\"{{url}}\"]\n\
             hint = \"none\"\n[version]\n[output]\nformat = \"csv\"\ncolumn = 1\nunit = \"ms\"\n"
        );
        place.file(&format!("{name}.toml"), text);
    };
    definition("fails", &script(&place, "fails", "echo 'no such flag' >&2; exit 9"));
    definition("silent", &script(&place, "silent", "echo 5"));
    definition("absent", "no-such-program-at-all");
    let files = ["--tool", "fails.toml", "--tool", "silent.toml", "--tool", "absent.toml"];
    let args =
        ["lab", "run", "healthy", "--tools", "fails,silent,absent", "--length", "1s", "-o", "lab", "--json"];
    let said = place.call(&[&args[..], &files].concat());
    assert_eq!(said.code(), Some(3), "{said:?}");
    let lab = document(&said, &unblink_artifact::schema::lab_schema());
    let problem = |i: usize| lab["rows"][i]["problem"].as_str().expect("a problem").to_string();
    assert!(problem(0).contains("exit status: 9") && problem(0).contains("no such flag"), "{}", problem(0));
    assert_eq!(problem(1), "it sent no request");
    assert_eq!(lab["skipped"][0]["tool"], "absent");
}

/// It sends as it should, and prints what a closed loop would have seen: its p99 is cut off.
#[test]
fn a_lying_script_is_caught() {
    let place = Place::new();
    let liar = script(
        &place,
        "liar",
        "$UNBLINK run \"$1\" -R \"$2\" -d \"$3s\" --no-preflight -q --json -o run > /dev/null\n\
         echo 'p50 10.2ms'; echo 'p99 12.0ms'",
    );
    let said = place.call(&[
        "lab",
        "audit",
        "--json",
        "--length",
        "3s",
        "--scenarios",
        "stall,trickle",
        "--percentile",
        r"^p(?<q>[\d.]+) (?<value>[\d.]+)(?<unit>ms)$",
        "--",
        &liar,
        "{url}",
        "{rate}",
        "{duration_s}",
    ]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    let audit = document(&said, &unblink_artifact::schema::audit_schema());
    // A machine that makes it late in the stall makes it look as if it counted from there.
    let (mechanism, evidence) = (&audit["mechanism"], audit["evidence"].as_str().expect("words"));
    assert!(mechanism == "unknown" || mechanism == "send_clock", "{evidence}");
    assert!(evidence.contains("it reports a p99 of 12 ms where"), "{evidence}");
    let answer = |code: &str| {
        let checks = audit["checks"].as_array().expect("a list");
        checks.iter().find(|check| check["code"] == code).expect("a check")["passed"].clone()
    };
    assert_eq!(
        (answer("keeps"), answer("p99"), answer("intended_start")),
        ("yes".into(), "no".into(), "no".into())
    );
}

/// Its users wait, whatever it was asked for.
#[test]
fn a_closed_loop_is_told_from_its_numbers() {
    let place = Place::new();
    let said = place.call(&[
        "lab",
        "audit",
        "--as",
        "unblink-closed",
        "--length",
        "3s",
        "--scenarios",
        "stall,trickle",
        "-o",
        "kept",
    ]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(said.stdout.starts_with("CLOSED LOOP  "), "{}", said.stdout);
    assert!(said.stdout.lines().all(|line| line.chars().count() <= 80), "{}", said.stdout);
    assert!(place.list("kept/stall").contains(&"cell.json".to_string()));
}

#[test]
fn what_can_not_be_audited_is_said() {
    let place = Place::new();
    place.call(&["lab", "audit", "--", "x", "{url}"]).refused(&["--percentile", "--csv", "--like"]);
    place.call(&["lab", "audit", "--csv", "1", "--", "x", "{url}"]).refused(&["--unit"]);
    place
        .call(&["lab", "audit", "--hgrm", "--unit", "ms", "--", "no-such-program", "{url}"])
        .refused(&["no-such-program"]);
    place.call(&["lab", "audit", "--hgrm", "--unit", "ms", "--", "true"]).refused(&["{url}"]);
    place.call(&["lab", "audit", "--percentile", "(", "--", "true", "{url}"]).refused(&["regex"]);
    place.call(&["lab", "run", "stal"]).refused(&["\"stal\"", "stall"]);
    place.call(&["lab", "run", "stall", "--tools", "wrk3"]).refused(&["\"wrk3\"", "wrk2"]);
    place.call(&["lab", "run", "stall", "--length", "1500ms"]).refused(&["whole seconds"]);
    place.call(&["lab", "run", "stall", "--tool", "none.toml"]).refused(&["none.toml"]);
    place.file("bad.toml", "name = \"x\"\n");
    place.call(&["lab", "tools", "--tool", "bad.toml"]).refused(&["bad.toml", "missing field"]);
}

#[test]
fn tools_are_listed_with_what_is_missing() {
    let place = Place::new();
    let said = place.call(&["lab", "tools", "--json", "--installed", "none"]);
    let all: Value = serde_json::from_str(&said.stdout).expect("JSON");
    let all = all.as_array().expect("a list");
    assert!(all.len() >= 19 && all[0]["name"] == "unblink-open" && all[0]["missing"].is_null());
    assert!(all.iter().all(|tool| tool["missing"].is_null() != tool["install"].is_string()), "{all:#?}");
}

#[test]
fn what_would_be_installed_is_said_before() {
    let place = Place::new();
    let said = place.call(&["lab", "install", "vegeta", "wrk2", "--dry-run", "--installed", "none"]);
    // wrk2 may be here; where it is not, no registry has it.
    assert!(said.stdout.contains("vegeta: "), "{said:?}");
    assert!(
        said.stdout.contains("wrk2: is here") || said.stdout.contains("github.com/giltene/wrk2"),
        "{said:?}"
    );
    assert!(!place.path().join("none").exists());
    place.call(&["lab", "install", "wrk3"]).refused(&["\"wrk3\""]);
    // What the lab built from another version than it knows is built again.
    script(&place, "old/bin/vegeta", "echo 'Version:'");
    let built = "module lab\n\nrequire github.com/tsenart/vegeta/v12 v12.0.0 // indirect\n";
    place.file("old/vegeta/go.mod", built);
    let said = place.call(&["lab", "install", "vegeta", "--dry-run", "--installed", "old"]);
    assert!(said.stdout.contains("vegeta: would be installed by"), "{said:?}");
}

/// The faults as a plain client sees them, each with its own server.
#[test]
fn faults_do_what_they_say() {
    let place = Place::new();
    let cell = |name: &str| {
        let args = ["lab", "run", name, "--tools", "unblink-open", "--length", "2s", "-o", "lab", "--json"];
        let said = place.call(&args);
        assert_eq!(said.code(), Some(0), "{name}: {said:?}");
        let lab: Value = serde_json::from_str(&said.stdout).expect("JSON");
        lab["cells"][0].clone()
    };
    let run = |name: &str| -> Value {
        let text = place.text(&format!("lab/{name}/unblink-open/1/stdout.txt"));
        serde_json::from_str(&text).expect("the run's own document")
    };
    // 33 ms of 2 s; 10 ms are in flight when it begins. A pause of the machine moves as many as it has milliseconds.
    let near = |value: &Value, expected: u64| {
        let value = value.as_u64().expect("a count");
        assert!(value.abs_diff(expected) <= 16, "{value} instead of {expected}");
    };
    cell("resets");
    near(&run("resets")["failures"]["reset"], 33);
    cell("errors");
    near(&run("errors")["failures"]["status_5xx"], 1200);
    let timeouts = cell("timeouts");
    // What was given up is in the server's log all the same, and unblink's p99 is longer than it knows: right.
    assert_eq!((&timeouts["truth"]["timed_out"], &timeouts["offered"]["omitted"]), (&34.into(), &0.into()));
    assert_eq!(percentile(&timeouts, 0.99)["is_longer"], true, "{timeouts:#}");
    assert_eq!(percentile(&timeouts, 0.99)["is_right"], true);
    for name in ["frozen", "accept"] {
        let blind = cell(name);
        assert_eq!(blind["log"]["is_blind"], true);
        let truth = percentile(&blind, 0.99)["truth_low_ns"].as_u64().expect("a time");
        let reported = percentile(&blind, 0.99)["reported_ns"].as_u64().expect("a time");
        assert!(truth > 15_000_000 && reported > 15_000_000, "{name}: {blind:#}");
    }
}
