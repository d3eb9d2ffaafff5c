//! Agents of this machine: the bus that is started for them, and what they record of failures.

use crate::support::bus::server;
use crate::support::hostile::{Act, Hostile, answer, healthy, ok};
use crate::support::{Place, finish};
use std::os::unix::fs::symlink;

/// The bus is the first nats-server of `PATH`, or else the one that the set-up has built. Where there is none, the error says what helps.
#[test]
fn a_bus_is_found_or_it_is_said_what_helps() {
    let (target, place) = (healthy(), Place::new());
    let (nowhere, url) = (place.path().join("bin"), target.url());
    std::fs::create_dir(&nowhere).expect("a folder");
    let run = || {
        let args = ["run", &url, "-R", "50", "-d", "1s", "--no-preflight", "--agents", "local:1"];
        let args = [&args[..], &["--json", "-o", "out"]].concat();
        finish(place.command(&args).env("PATH", &nowhere))
    };
    run().refused(&[
        "there is no nats-server in PATH or target/tools",
        "install it (github.com/nats-io/nats-server",
        "name it with --nats-server",
    ]);
    assert!(target.seen().is_empty());
    assert_eq!(place.list("."), ["bin"], "nothing is left behind");

    std::fs::create_dir_all(place.path().join("target/tools")).expect("a folder");
    symlink(server(), place.path().join("target/tools/nats-server")).expect("a link");
    // The bus is started by a shell.
    for tool in ["sh", "cat"] {
        symlink(format!("/bin/{tool}"), nowhere.join(tool)).expect("a link");
    }
    run().run().assert_all("ok");

    std::fs::remove_dir_all(place.path().join("target")).expect("it is there");
    std::fs::remove_dir_all(place.path().join("out")).expect("it is there");
    std::fs::remove_dir_all(place.path().join("out.agents")).expect("it is there");
    symlink(server(), nowhere.join("nats-server")).expect("a link");
    run().run().assert_all("ok");
    assert_eq!(target.seen().len(), 100);
}

/// What failed is kept by each agent, and all of it by the folder of all, as `unblink merge` puts it together.
#[test]
fn kept_failures_of_agents_are_merged_as_records_are() {
    let target = Hostile::start(|seen| match seen.number % 5 {
        3 => Act::Answer(answer("503 No", "no")),
        _ => Act::Answer(ok()),
    });
    let (place, nats) = (Place::new(), server().display().to_string());
    let args = [&target.url(), "-R", "100", "-d", "2s", "--no-preflight", "--keep-failures", "20"];
    let agents = ["-c", "2", "--agents", "local:2", "--nats-server", &nats];
    let merged = place.measure(&[&args[..], &agents].concat());
    assert!(merged.arrivals("failed") > 0, "{merged:?}");
    let parts: Vec<String> =
        place.list("out.agents").iter().map(|name| format!("out.agents/{name}")).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    finish(&mut place.command(&[&["merge"], &parts[..], &["-o", "again", "--json", "--no-store"]].concat()))
        .run();
    for file in ["run.json", "intervals.jsonl", "intervals.hlog", "failures.jsonl"] {
        assert!(place.text(&format!("out/{file}")) == place.text(&format!("again/{file}")), "{file}");
    }
    let kept = |folder: &str| place.text(&format!("{folder}/failures.jsonl")).matches("503").count();
    assert!(kept("out") > 0 && parts.iter().all(|part| kept(part) > 0), "of both");
}
