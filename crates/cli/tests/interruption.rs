//! Runs that end before their time: Ctrl-C, a kill, a full disk. What was recorded is never lost.

use crate::support::hostile::{Act, Hostile, ok};
use crate::support::lab::wait_for_intervals;
use crate::support::{Place, Run, finish};
use rustix::process::Signal;
use serde_json::Value;
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn slow(ms: u32) -> Hostile {
    Hostile::start(move |_| Act::AnswerAfter(ms * MS, ok()))
}

fn assert_interrupted(place: &Place, run: &Run) {
    run.assert_accounts();
    assert_eq!(place.run_json(), run.document);
    assert!(place.call(&["report", "out", "--json"]).run().document == run.document);
    assert_eq!((run.code, run.at("/status")), (Some(130), &Value::from("interrupted")), "{run:?}");
}

/// What fell due before the interruption is waited for; the rest was never scheduled.
fn assert_ends_early(signal: Signal) {
    let (server, place) = (slow(300), Place::new());
    let mut child = place.start(&[&server.url(), "-R", "100", "-d", "30s", "--no-preflight"]);
    wait_for_intervals(&place, &mut child, 1);
    child.signal(signal);
    let run = child.wait().run();
    assert_interrupted(&place, &run);
    let scheduled = run.arrivals("scheduled");
    assert!((100..3000).contains(&scheduled), "{run:?}");
    assert_eq!((run.arrivals("ok"), server.seen().len() as u64), (scheduled, scheduled), "drained");
    let ended = run.count("/series/load_to_ns");
    assert_eq!(scheduled, ended.div_ceil(10_000_000), "one arrival each 10 ms until {ended} ns");
    assert!(run.stderr.contains("Ctrl-C again"), "{}", run.stderr);
}

#[test]
fn ctrl_c_ends_early_and_drains() {
    assert_ends_early(Signal::INT);
}

#[test]
fn sigterm_does_the_same() {
    assert_ends_early(Signal::TERM);
}

#[test]
fn a_second_ctrl_c_quits_at_once_and_still_reports() {
    let server = Hostile::start(|_| Act::SendThenStall(Vec::new()));
    let place = Place::new();
    let args = [server.url(), "-R".into(), "100".into(), "-c".into(), "auto:50".into()];
    let mut child = place.start(
        &args.each_ref().map(String::as_str).iter().copied().chain(["--no-preflight"]).collect::<Vec<_>>(),
    );
    wait_for_intervals(&place, &mut child, 1);
    child.signal(Signal::INT);
    std::thread::sleep(100 * MS);
    assert!(child.is_running(), "it waits for answers");
    child.signal(Signal::INT);
    let run = child.wait().run();
    assert_interrupted(&place, &run);
    assert_eq!(run.arrivals("unfinished"), 50, "{run:?}");
    assert!(run.arrivals("unsent") >= 50, "{run:?}");
}

/// Both signals within the 20 ms that the first one takes to reach every worker.
#[test]
fn two_ctrl_c_in_a_row_lose_no_arrival() {
    for threads in ["1", "2"] {
        let (server, place) = (slow(1), Place::new());
        let url = server.url();
        let mut child = place.start(&[&url, "-R", "2000", "-c", "8", "-t", threads, "--no-preflight"]);
        wait_for_intervals(&place, &mut child, 1);
        child.signal(Signal::INT);
        child.signal(Signal::INT);
        assert_interrupted(&place, &child.wait().run());
    }
}

#[test]
fn ctrl_c_of_a_closed_load() {
    let (server, place) = (slow(20), Place::new());
    let url = server.url();
    let mut child =
        place.start(&[&url, "--closed", "5", "--think", "10ms", "--ramp-up", "0s", "--no-preflight"]);
    wait_for_intervals(&place, &mut child, 1);
    child.signal(Signal::INT);
    let run = child.wait().run();
    assert_interrupted(&place, &run);
    assert_eq!(run.arrivals("ok"), run.arrivals("scheduled"));
    assert_eq!(server.seen().len() as u64, run.arrivals("scheduled"));
}

#[test]
fn ctrl_c_during_warm_up() {
    let (server, place) = (slow(1), Place::new());
    let args = [&server.url(), "-R", "100", "-d", "30s", "--warmup", "30s", "--no-preflight"];
    let mut child = place.start(&args);
    wait_for_intervals(&place, &mut child, 1);
    child.signal(Signal::INT);
    let run = child.wait().run();
    assert_interrupted(&place, &run);
    assert_eq!((run.arrivals("scheduled"), run.arrivals("ok")), (0, 0));
    let warm = run.count("/warmup/scheduled");
    assert!((100..3000).contains(&warm), "{warm}");
    assert_eq!((run.count("/warmup/ok"), server.seen().len() as u64), (warm, warm));
}

/// Connections of a fixed pool are opened before anything is measured; nothing is lost by leaving then.
#[test]
fn ctrl_c_while_the_pool_is_opened() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("https://{}/", listener.local_addr().expect("an address"));
    let place = Place::new();
    let child = place.start(&[&url, "-k", "-R", "100", "-c", "1", "--no-preflight"]);
    let _silent = listener.accept().expect("a connection");
    child.signal(Signal::INT);
    let said = child.wait();
    assert_eq!((said.code(), said.stdout.as_str()), (Some(130), ""), "{said:?}");
}

#[test]
fn ctrl_c_during_pre_flight() {
    let server = Hostile::start(|_| Act::SendThenStall(Vec::new()));
    let place = Place::new();
    let child = place.start(&[&server.url(), "-R", "100"]);
    while server.seen().is_empty() {
        std::thread::sleep(MS);
    }
    child.signal(Signal::INT);
    let said = child.wait();
    assert_eq!((said.code(), said.stdout.as_str()), (Some(130), ""), "{said:?}");
    assert!(!place.path().join("out").exists());
}

/// A server that drips bytes keeps every read busy, but not the pre-flight for ever.
#[test]
fn a_pre_flight_that_never_ends_is_given_up() {
    let head = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    let server = Hostile::start(move |_| Act::Endless(head.clone(), b"x".to_vec(), 50 * MS));
    let said = Place::new().call(&["run", &server.url(), "-R", "1", "--timeout", "500ms"]);
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(said.stderr.contains("before the run") && said.stderr.contains("timeout"), "{said:?}");
}

#[test]
fn a_kill_loses_at_most_the_interval_under_way() {
    let (server, place) = (slow(1), Place::new());
    let mut child = place.start(&[&server.url(), "-R", "200", "-d", "60s", "--no-preflight"]);
    wait_for_intervals(&place, &mut child, 2);
    child.signal(Signal::KILL);
    assert_eq!(child.wait().code(), None);
    let running = place.run_json();
    assert_eq!(running["status"], "running");
    let schema = serde_json::from_str(&place.call(&["schema"]).stdout).expect("JSON");
    assert!(jsonschema::is_valid(&schema, &running), "{running}");
    let seen = server.seen().len() as u64;
    let run = place.call(&["report", "out", "--json"]).run();
    run.assert_accounts();
    assert_eq!(run.at("/status"), "running");
    // Two whole seconds at the least, and what came after the last of them is at most a second's.
    let (scheduled, ok) = (run.arrivals("scheduled"), run.arrivals("ok"));
    assert!(scheduled >= 400 && ok + 20 >= scheduled, "{run:?}");
    assert!(seen <= scheduled + 400, "{seen} were sent, {scheduled} are recorded");
    // One that was under way is known to have taken longer than its age.
    assert_eq!(run.count("/response_time/count"), scheduled);
    // The text and the page come of it too.
    let said = place.call(&["report", "out", "--html", "page.html"]);
    assert!(said.stdout.contains("running") || said.stdout.contains("killed"), "{said:?}");
    assert!(place.text("page.html").contains("</html>"));
}

/// What was drawn is known up to a second or two before.
#[test]
fn what_a_killed_run_has_drawn_is_known() {
    let (server, place) = (slow(1), Place::new());
    let args = ["-R", "200", "-d", "60s", "--no-preflight", "-t", "2", "--let", "size=lognormal(100, 1)"];
    let url = format!("{}{{{{bytes(size)}}}}", server.url());
    let mut child = place.start(&[&[url.as_str()][..], &args].concat());
    wait_for_intervals(&place, &mut child, 3);
    child.signal(Signal::KILL);
    child.wait();
    let run = place.call(&["report", "out", "--json"]).run();
    let (sent, scheduled) = (run.at("/values_sent/0"), run.arrivals("scheduled"));
    assert_eq!(sent["name"], "size");
    let draws = sent["draws"].as_u64().expect("a number");
    assert!(draws >= 200 && draws <= scheduled + 400, "{draws} of {scheduled}: {sent}");
    let mean = sent["size"]["sent"]["mean"].as_f64().expect("a figure");
    assert!((100.0..300.0).contains(&mean), "{sent}");
    let said = place.call(&["report", "out"]).stdout;
    assert!(said.contains("size: mean") && said.contains("drawn "), "{said}");
    // Nothing of it is known of a part.
    let part = place.call(&["report", "out", "--json", "--from", "1s"]).run();
    assert!(part.document.get("values_sent").is_none());
    // The document of a run that has ended has it itself.
    let ended = place
        .call(&["run", &url, "-R", "50", "-n", "5", "--let", "size=constant(3)", "-o", "ended", "--json"])
        .run();
    assert_eq!(ended.at("/values_sent/0/draws"), 5);
    assert!(!place.list("ended").contains(&"values.json".to_string()));
}

/// Between their steps, no request of them is open. They are under way all the same.
#[test]
fn journeys_that_think_when_the_run_is_killed_are_unfinished() {
    let (server, place) = (slow(1), Place::new());
    let plan = "[load]\nrate = 50\nduration = \"60s\"\n[[journeys]]\nname = \"j\"\nthink = \"1h\"\n\
                [[journeys.steps]]\nname = \"a\"\nurl = \"/a\"\n[[journeys.steps]]\nname = \"b\"\nurl = \"/b\"\n";
    place.file("plan.toml", plan);
    let mut child = place.start(&["plan.toml", &server.url(), "--no-preflight"]);
    wait_for_intervals(&place, &mut child, 2);
    child.signal(Signal::KILL);
    child.wait();
    let run = place.call(&["report", "out", "--json"]).run();
    let of = |path: &str| run.count(&format!("/journeys/0/{path}"));
    let scheduled = of("account/scheduled");
    assert!(scheduled >= 100, "{scheduled}");
    assert_eq!((of("account/unfinished"), of("account/completed")), (scheduled, 0));
    assert_eq!((of("time/count"), of("time/censored")), (scheduled, scheduled));
    assert_eq!(of("steps/0/thinking"), of("steps/0/passed"));
}

/// What there is so far is not the run's page, and says what it is; the run's own page takes its place.
#[test]
fn a_report_of_a_run_that_goes_on_is_no_final_one() {
    let (server, place) = (slow(5), Place::new());
    let mut run = place.start(&[&server.url(), "-R", "100", "-d", "4s", "--no-preflight"]);
    wait_for_intervals(&place, &mut run, 1);
    let said = place.call(&["report", "out"]);
    assert!(said.stderr.contains("out/report-so-far.html"), "{said:?}");
    assert!(place.text("out/report-so-far.html").contains("figures so far"));
    assert!(!place.list("out").contains(&"report.html".to_string()));
    run.wait().run().assert_all("ok");
    assert_eq!(place.list("out"), ["intervals.hlog", "intervals.jsonl", "report.html", "run.json"]);
    assert!(!place.text("out/report.html").contains("figures so far"));
}

/// A killed run is degraded or, with more under way than lies above p99, invalid; `report` says so by its exit code.
#[test]
fn the_exit_code_of_a_report_is_that_of_what_is_left() {
    let place = Place::new();
    let sim = ["sim", "-R", "100", "-d", "20s", "--server", "service=2s", "-o", "out"];
    assert_eq!(place.call(&sim).code(), Some(0));
    let lines = place.text("out/intervals.jsonl");
    let first: Value = serde_json::from_str(lines.lines().next().expect("a header")).expect("JSON");
    let running =
        serde_json::json!({ "schema": "unblink.run/2", "status": "running", "header": first["header"] });
    place.file("out/run.json", running.to_string());
    let report = |kept: usize| {
        let text: String = lines.split_inclusive('\n').take(kept).collect();
        place.file("out/intervals.jsonl", text);
        let said = place.call(&["report", "out", "--json"]);
        let document: Value = serde_json::from_str(&said.stdout).expect("JSON");
        (said.code(), document)
    };
    let (code, whole) = report(usize::MAX);
    assert_eq!((code, &whole["validity"]["status"]), (Some(0), &"degraded".into()));
    let (code, killed) = report(4);
    assert_eq!((code, &killed["validity"]["status"]), (Some(3), &"invalid".into()));
    let quantiles = killed["response_time"]["quantiles"].as_array().expect("a list");
    assert!(quantiles.iter().all(|quantile| quantile["interval"] == "killed"), "{quantiles:?}");
}

/// Whatever stands at the end of the files: the whole intervals before it are read.
#[test]
fn torn_files_are_read_up_to_the_tear() {
    let (server, place) = (slow(1), Place::new());
    place.measure(&[&server.url(), "-R", "100", "-d", "2500ms", "--no-preflight"]).assert_all("ok");
    let running = serde_json::json!({ "keep": place.run_json() });
    assert_eq!(running["keep"]["status"], "complete");
    let lines = place.text("out/intervals.jsonl");
    let torn: String = lines.split_inclusive('\n').take(3).collect::<String>() + "{\"half\": ";
    std::fs::write(place.path().join("out/intervals.jsonl"), torn).expect("written");
    let run = place.call(&["report", "out", "--json", "--to", "2s"]).run();
    assert_eq!(run.count("/part/to_ns"), 2_000_000_000);
    run.assert_accounts();
    assert!(run.arrivals("scheduled") >= 190, "{run:?}");
}

#[test]
fn the_report_of_a_whole_run_is_the_runs_own() {
    let (server, place) = (slow(5), Place::new());
    let load = ["-R", "100", "--warmup", "500ms", "-d", "2200ms", "-t", "2"];
    let run = place.measure(&[&[server.url().as_str()], &load[..]].concat());
    run.assert_all("ok");
    let report = |args: &[&str]| place.call(&[&["report", "out", "--json"], args].concat()).run();
    let whole = report(&[]);
    assert_eq!(whole.document, run.document);
    assert_eq!(whole.document, place.run_json());
    // Parts consist of whole intervals.
    let part = report(&["--from", "1s", "--to", "2s"]);
    part.assert_accounts();
    assert_eq!(part.at("/part"), &serde_json::json!({ "from_ns": 1_000_000_000, "to_ns": 2_000_000_000 }));
    assert!((90..=110).contains(&part.arrivals("ok")), "{part:?}");
    let (early, late) = (report(&["--to", "1s"]), report(&["--from", "1s"]));
    assert_eq!(early.arrivals("ok") + late.arrivals("ok"), run.arrivals("ok"));
    place.call(&["report", "out", "--json", "--from", "1h"]).refused(&["nothing was recorded", "3600"]);
}

/// A limit on the size of files stands for a disk that is full.
#[test]
fn a_full_disk_does_not_end_the_run() {
    for blocks in ["8", "24"] {
        let (server, place) = (slow(1), Place::new());
        let setup = format!("trap '' XFSZ; ulimit -f {blocks}");
        let url = server.url();
        let args =
            ["run", &url, "-R", "100", "-d", "2100ms", "-o", "out", "--no-preflight", "--csv", "s.csv"];
        let said = finish(&mut place.shell(&setup, &args));
        assert!(said.stderr.contains("warning: can't write"), "{blocks}: {said:?}");
        assert!(said.stderr.contains("File too large"), "{blocks}: {said:?}");
        assert!(said.stdout.contains("210"), "{blocks}: {said:?}");
    }
}

/// Where not even the first byte can be written the run does not begin.
#[test]
fn a_disk_that_was_full_before() {
    let (server, place) = (slow(1), Place::new());
    let url = server.url();
    let args = ["run", &url, "-R", "100", "-d", "5s", "-o", "out", "--no-preflight"];
    let said = finish(&mut place.shell("trap '' XFSZ; ulimit -f 0", &args));
    // Standard error is a file here too: only the code and what was sent can tell.
    assert_eq!((said.code(), said.stdout.as_str()), (Some(2), ""), "{said:?}");
    assert!(server.seen().len() < 100, "no load without a record");
}

/// The same with the document on a pipe, which no limit meets.
#[test]
fn a_full_disk_leaves_the_document_on_stdout() {
    let (server, place) = (slow(1), Place::new());
    let url = server.url();
    let run = "run \"$1\" -R 100 -d 1500ms -o out --no-preflight --json";
    let setup = format!("(trap '' XFSZ; ulimit -f 8; \"$0\" {run}; echo $? >&2) | cat; exit");
    let said = finish(&mut place.shell(&setup, &[&url]));
    let run = said.run();
    run.assert_all("ok");
    assert_eq!(run.arrivals("scheduled"), 150);
    assert!(run.stderr.contains("warning: can't write"), "{run:?}");
    // What is left in the folder can still be read, or says why not.
    let report = place.call(&["report", "out", "--json"]);
    assert!([Some(0), Some(2), Some(3)].contains(&report.code()), "{report:?}");
}

/// The reader of a pipe may go away.
#[test]
fn a_closed_stdout_is_no_error() {
    let (server, place) = (slow(1), Place::new());
    let url = server.url();
    let setup = "(\"$0\" run \"$1\" -R 100 -n 10 -o out --json; echo \"code $?\" >&2) | true; exit";
    let said = finish(&mut place.shell(setup, &[&url]));
    assert!(said.stderr.contains("code 0"), "{said:?}");
    assert_eq!(place.run_json()["status"], "complete");
}

/// Nobody may be there to read a warning; that ends no run.
#[test]
fn a_full_or_closed_stderr_ends_no_run() {
    for stderr in ["2>/dev/full", "2>&-"] {
        let (server, place) = (slow(1), Place::new());
        let url = server.url();
        let run = "run \"$1\" -R 100 -d 1100ms -o out --no-preflight --json";
        // The intervals can't be written either, so that there is a warning to give.
        let setup = format!("(trap '' XFSZ; ulimit -f 8; \"$0\" {run} {stderr}) | cat; exit");
        let run = finish(&mut place.shell(&setup, &[&url])).run();
        run.assert_all("ok");
        assert_eq!(run.arrivals("scheduled"), 110);
    }
}
