//! The lab over HTTP/2, whose server is the `h2` crate's and shares nothing with the client: what is reported agrees with what
//! the server did.

use crate::support::Place;
use crate::support::lab::Lab;

/// Beside the lab's own, which speak HTTP/1.1.
const OVER_HTTP_2: &str = include_str!("../../lab/tools/http2/unblink-open-http2.toml");

fn nanoseconds(row: &serde_json::Value, q: f64, of: &str) -> u64 {
    let all = row["percentiles"].as_array().expect("a list");
    let line = all.iter().find(|line| line["q"].as_f64() == Some(q)).expect("a percentile");
    line[of].as_u64().unwrap_or_else(|| panic!("{of} of {line:#}"))
}

#[test]
fn what_is_reported_of_a_stall_is_what_the_server_did() {
    let place = Place::new();
    place.file("over-http2.toml", OVER_HTTP_2);
    let args = ["lab", "run", "stall", "--tool", "over-http2.toml", "--tools", "unblink-open-http2"];
    let run = place.call(&[&args[..], &["--length", "3s", "-o", "lab", "--json"]].concat()).run();
    let cell = run.at("/cells/0");
    assert!(cell["problem"].is_null(), "{cell:#}");
    assert_eq!(
        (run.count("/cells/0/offered/requests"), run.count("/cells/0/offered/planned")),
        (3_000, 3_000)
    );
    // Many requests at once on few connections, and the stall did not keep them from being sent.
    assert!(run.count("/cells/0/offered/connections") <= 100, "{cell:#}");
    assert!(run.count("/cells/0/offered/seen_in_events") >= 30, "{cell:#}");
    let row = run.at("/rows/0");
    for q in [0.5, 0.99] {
        let [reported, log] = ["reported_ns", "log_ns"].map(|of| nanoseconds(row, q, of));
        assert!(reported >= log, "{reported} {log}: {row:#}");
    }
    assert_eq!(nanoseconds(row, 0.99, "truth_low_ns") / 1_000_000, 28);
    // For documentation it is said what the tool speaks.
    assert_eq!(cell["tool"]["protocol"], "http/2");
    let results = place.text("lab/results.md");
    assert!(results.contains("| HTTP/2 | unblink-open-http2 |"), "{results}");
}

#[test]
fn http_2_over_tls_and_without() {
    let slow = ["--http", "2", "--scenario", "healthy", "--baseline", "100ms", "--truth", "truth.csv"];
    let with_tls = [&slow[..], &["--tls", "--write-cert", "lab.pem"]].concat();
    for (flags, client) in [(&slow[..], &[][..]), (&with_tls, &["--cacert", "lab.pem"])] {
        let place = Place::new();
        let lab = Lab::serve(&place, flags);
        let args = [&lab.url, "-R", "100", "-n", "50", "-c", "1", "--http", "2", "--body", "x"];
        let run = place.measure(&[&args[..], client].concat());
        run.assert_all("ok");
        assert_eq!(run.connections("opened"), 1);
        // One connection, and nobody waited behind another request.
        assert!(run.count("/origins/0/connections/spread/at_once_max") > 5);
        assert!(run.quantile("response_time", 0.5).0 >= 100_000_000);
    }
    // A client of HTTP/1.1 is told so by TLS, and gets nothing without.
    let place = Place::new();
    let lab = Lab::serve(&place, &slow);
    let said = place.call(&["run", &lab.url, "-R", "10", "-n", "1", "-o", "one"]);
    assert_eq!(said.code(), Some(1), "{said:?}");
}

#[test]
fn a_target_that_chooses_http_2_is_measured_in_it() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--http", "2", "--tls", "--write-cert", "lab.pem"]);
    let load = [&lab.url, "-R", "100", "-n", "20", "--http", "auto", "--cacert", "lab.pem"];
    let run = place.measure(&load);
    run.assert_all("ok");
    assert_eq!(run.at("/operations/0/protocol"), "http/2");
    // The first of its addresses takes no connections: the next one is asked.
    let port = lab.url.trim_end_matches('/').rsplit(':').next().expect("a port");
    let there = format!("::127.0.0.1:{port}");
    let ways = ["--connect-to", "::127.0.0.1:1", "--connect-to", &there];
    let run = Place::new().measure(&[&load[..7], &["-k"], &ways].concat());
    assert_eq!(run.at("/operations/0/protocol"), "http/2");
}

/// Four places, each taken for 50 ms: the others wait for one, in the run as in its simulation.
#[test]
fn a_simulation_of_full_connections_agrees_with_a_run() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--http", "2", "--scenario", "healthy", "--baseline", "50ms"]);
    let load =
        ["--http", "2", "--streams", "4", "-c", "1", "-R", "50", "--arrivals", "poisson", "--seed", "2"];
    let rest = ["-d", "8s", "--timeout", "10s", "--no-store", "--json", "-o"];
    let live = place.call(&[&["run", &lab.url], &load[..], &rest, &["live"]].concat()).run();
    live.assert_all("ok");
    let simulated =
        place.call(&[&["sim", "--server", "service=50ms"], &load[..], &rest, &["simulated"]].concat()).run();
    let [of_run, of_sim] = [&live, &simulated].map(|run| run.quantile("response_time", 0.99).0 as f64);
    assert!(of_sim > 80e6, "{of_sim}: some wait");
    assert!((of_run / of_sim - 1.0).abs() < 0.05, "{of_run} ns in the run, {of_sim} ns simulated");
}

#[test]
fn a_scenario_that_ends_connections_is_refused() {
    let place = Place::new();
    let args = ["lab", "serve", "--listen", "127.0.0.1:0", "--http", "2", "--scenario", "accept"];
    place.call(&args).refused(&["accept", "HTTP/1.1"]);
}
