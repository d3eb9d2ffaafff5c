//! HTTP/2 and gRPC against servers that others wrote: a load, bodies beyond the windows, connections that retire during the run,
//! and fewer streams than were asked for.

use crate::servers;
use crate::servers::{LARGE, Server, Want, go_grpc, go_http, go_https, hyper, nghttpd, tonic};
use crate::support::{Place, Run};

/// Fewer than are asked for below.
const EIGHT: Want = Want { streams: 8, retires: false };
const RETIRING: Want = Want { streams: 100, retires: true };
const LOAD: [&str; 8] = ["-R", "1000", "-n", "3000", "-c", "2", "--streams", "20"];
const STREAMED: [&str; 8] = ["--stream", "messages", "-R", "100", "-n", "200", "-c", "2"];

fn ask(server: &Server, path: &str, more: &[&str]) -> Run {
    let (url, place) = (server.url("http", path), Place::new());
    place.file("body", vec![b'b'; LARGE]);
    place.measure(&[&[url.as_str(), "--http", "2"], server.trust(), more].concat())
}

fn call(server: &Server, method: &str, message: &str, more: &[&str]) -> Run {
    let (url, place) = (server.url("grpc", method), Place::new());
    place.file("echo.proto", servers::ECHO);
    place.file("message", message);
    place.measure(&[&[url.as_str(), "--proto", "echo.proto", "--body-file", "message"], more].concat())
}

#[track_caller]
fn assert_limited(server: &Server, run: &Run) {
    run.assert_all("ok");
    assert_eq!(run.arrivals("ok"), 3000, "{}", server.name);
    let told = "20 streams a connection were asked for; the target allows 8";
    assert!(run.stderr.contains(told), "{}: {}", server.name, run.stderr);
}

/// However many connections ended, what was answered was served once. One that two connections in a row did not look at has failed,
/// which is rare.
#[track_caller]
fn assert_retired(server: Server, run: &Run) {
    let name = server.name;
    run.assert_accounts();
    assert!(run.connections("opened") >= 6, "{name}: {run:?}");
    let (ok, failed) = (run.arrivals("ok"), run.failures("protocol_goaway"));
    assert!(ok + failed == 3000 && failed <= 30, "{name}: {run:?}");
    assert_eq!(server.served(), Some(ok), "{name}");
}

#[test]
fn requests_where_fewer_streams_are_allowed() {
    for serve in [nghttpd, go_http, go_https, hyper] {
        let server = serve(EIGHT);
        let run = ask(&server, "/", &[&LOAD[..], &["--expect", "contains=hello"]].concat());
        assert_limited(&server, &run);
        // One was the check before the run.
        let name = server.name;
        assert!(server.served().is_none_or(|n| n == 3001), "{name}");
    }
}

#[test]
fn bodies_beyond_the_windows() {
    for serve in [nghttpd, go_http, go_https, hyper] {
        let server = serve(EIGHT);
        let large = format!("size={LARGE}");
        let load = ["-R", "100", "-n", "100", "-c", "2", "--streams", "8", "--expect"];
        ask(&server, "/large", &[&load[..], &[&large]].concat()).assert_all("ok");
        // nghttpd says all of it again.
        let said = if server.name == "nghttpd" { large } else { format!("contains=after {LARGE} bytes") };
        ask(&server, "/", &[&load[..], &[&said, "--body-file", "body"]].concat()).assert_all("ok");
    }
}

#[test]
fn connections_that_retire_under_requests() {
    for serve in [go_http, go_https, hyper] {
        let server = serve(RETIRING);
        let run = ask(&server, "/", &[&LOAD[..], &["--no-preflight"]].concat());
        assert_retired(server, &run);
    }
}

#[test]
fn calls_where_fewer_streams_are_allowed() {
    for serve in [go_grpc, tonic] {
        let server = serve(EIGHT);
        let run = call(&server, "/echo.Echo/Say", r#"{"text": "{{index}}"}"#, &LOAD);
        assert_limited(&server, &run);
        let name = server.name;
        assert_eq!(server.served(), Some(3001), "{name}");
    }
}

#[test]
fn messages_beyond_the_windows() {
    // Base64 of a million bytes.
    let message = format!(r#"{{"text": "{}"}}"#, "AAAA".repeat(LARGE / 3));
    for serve in [go_grpc, tonic] {
        let server = serve(EIGHT);
        let size = format!("size={}", LARGE / 3 * 3 + 4);
        let load = ["-R", "50", "-n", "100", "-c", "2", "--expect", &size];
        let run = call(&server, "/echo.Echo/Say", &message, &load);
        run.assert_all("ok");
    }
}

#[test]
fn streams_of_messages() {
    for serve in [go_grpc, tonic] {
        let run = call(&serve(EIGHT), "/echo.Echo/Count", r#"{"value": 50}"#, &STREAMED);
        run.assert_all("ok");
        assert_eq!(run.count("/events/events"), 200 * 50, "{run:?}");
    }
}

#[test]
fn connections_that_retire_under_calls() {
    for serve in [go_grpc, tonic] {
        let server = serve(RETIRING);
        let run = call(
            &server,
            "/echo.Echo/Say",
            r#"{"text": "{{index}}"}"#,
            &[&LOAD[..], &["--no-preflight"]].concat(),
        );
        assert_retired(server, &run);
    }
}

#[test]
fn types_by_reflection_of_grpc_go() {
    let (server, place) = (go_grpc(EIGHT), Place::new());
    let url = server.url("grpc", "/grpc.health.v1.Health/Check");
    let run = place.measure(&[
        &url,
        "--data",
        "{}",
        "--expect",
        "json $.status == \"SERVING\"",
        "-R",
        "500",
        "-n",
        "500",
    ]);
    run.assert_all("ok");
    // A service without generated code: grpc-go names it, and has no types of it.
    let said =
        place.call(&["run", &server.url("grpc", "/echo.Echo/Say"), "--data", "{}", "-R", "1", "-n", "1"]);
    said.refused(&["there is a service echo.Echo", "does not tell its types", "--proto FILE"]);
}
