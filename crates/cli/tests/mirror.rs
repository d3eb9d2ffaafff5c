//! `unblink mirror`: real copies by a real nginx, real targets, and what is compared.

use crate::mirrors::{Mirror, Nginx, ask, origin};
use crate::support::Place;
use crate::support::lab::Lab;
use std::io::{Read, Write};
use std::net::TcpStream;

#[test]
fn copies_that_nginx_makes_are_compared_and_secrets_are_kept_nowhere() {
    let place = Place::new();
    let labs: Vec<Lab> = (0..4).map(|_| Lab::serve(&place, &[])).collect();
    let noise = ["--noise", origin(&labs[2]), "-H", "X-Mirror: 1"];
    let mirror = Mirror::start(&place, origin(&labs[0]), origin(&labs[1]), &noise);
    let nginx = Nginx::start(labs[3].url.trim_start_matches("http://").trim_end_matches('/'), mirror.port);
    let url = format!("http://127.0.0.1:{}/items/90471147114709?token=geheim", nginx.port);
    let run = [
        "run",
        &url,
        "-n",
        "400",
        "-R",
        "400",
        "--no-store",
        "-q",
        "--no-preflight",
        "-H",
        "Authorization: Bearer geheim",
    ];
    assert_eq!(place.call(&run).code(), Some(0));
    let (_, document) = mirror.end();
    let account = &document["account"];
    assert_eq!(
        (account["offered"].as_u64(), account["compared"].as_u64()),
        (Some(400), Some(400)),
        "{account}"
    );
    assert_eq!(document["bodies"]["compared"].as_u64(), Some(400));
    let operation = &document["operations"][0];
    assert_eq!(operation["name"], "GET /items/{id}");
    assert_eq!(operation["statuses"]["200/200"].as_u64(), Some(400));
    for file in ["m/mirror.json", "m/report.html"] {
        let text = place.text(file);
        assert!(!text.contains("geheim") && !text.contains("90471147114709"), "{file}");
    }
}

#[test]
fn what_is_not_mirrored_is_answered_and_counted_by_cause() {
    let place = Place::new();
    let lab = Lab::serve(&place, &[]);
    let mirror = Mirror::start(&place, origin(&lab), origin(&lab), &["--body-max", "10"]);
    let large = "x".repeat(11);
    let requests = format!(
        "GET /a HTTP/1.1\r\nHost: a\r\n\r\nPOST /b HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nab\
         GET /c HTTP/1.1\r\nHost: a\r\nContent-Length: 11\r\n\r\n{large}\
         GET /d HTTP/1.1\r\nHost: a\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n\
         GET /e HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    );
    let first = ask(mirror.port, &requests, 5);
    assert_eq!(first[..4], ["HTTP/1.1 204 No Content"; 4]);
    assert_eq!(first[4], "HTTP/1.1 400 Bad Request");
    let (_, document) = mirror.end();
    let skipped = &document["account"]["skipped"];
    for cause in ["mutating", "body_above_bound", "upgrade", "unreadable"] {
        assert_eq!(skipped[cause].as_u64(), Some(1), "{cause}: {skipped}");
    }
    assert_eq!(document["account"]["compared"].as_u64(), Some(1));
}

/// The candidate's first answer waits behind nothing but its own connections: with one connection and a server that takes a
/// while, the last of ten waits ten times as long as the first, since its clock starts when the baseline is asked.
#[test]
fn the_candidates_queue_is_part_of_its_time() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--baseline", "20ms"]);
    let mirror = Mirror::start(&place, origin(&lab), origin(&lab), &["-c", "1"]);
    let first = ask(mirror.port, &"GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(10), 10);
    assert_eq!(first.len(), 10);
    let (_, document) = mirror.end();
    let all = document["quantiles"].as_array().expect("percentiles");
    let last = all.last().expect("one");
    assert!(last["candidate_ns"].as_u64() >= Some(180_000_000), "{last}");
}

#[test]
fn what_can_not_be_mirrored_is_refused_before_anything_listens() {
    let place = Place::new();
    let own = ["mirror", "--listen", "127.0.0.1:0", "--candidate", "http://127.0.0.1:1"];
    for (more, said) in [
        (&["--baseline", "http://127.0.0.1:1/path"][..], "scheme, host and port alone"),
        (&["--baseline", "http://192.0.2.1"], "unblink allow"),
        (&["--baseline", "http://127.0.0.1:1", "-H", "nonsense"], "Name: value"),
        (&["--baseline", "http://127.0.0.1:1", "-k"], "no target uses TLS"),
        (&["--baseline", "https://127.0.0.1:1", "--cert", "a.pem"], "--key"),
        (&["--baseline", "http://127.0.0.1:1", "--kill-file", "."], "remove it first"),
        (&["--baseline", "http://127.0.0.1:1", "--listen", "0.0.0.0:9"], "--listen-anywhere"),
    ] {
        let own: Vec<&str> =
            if more.contains(&"--listen") { [&own[..1], &own[3..]].concat() } else { own.to_vec() };
        let refused = place.call(&[&own[..], more].concat());
        assert_eq!(refused.code(), Some(2), "{more:?}");
        assert!(refused.stderr.contains(said), "{more:?}: {}", refused.stderr);
    }
}

#[test]
fn a_silent_client_costs_nobody_anything() {
    let place = Place::new();
    let lab = Lab::serve(&place, &[]);
    let mirror = Mirror::start(&place, origin(&lab), origin(&lab), &[]);
    let mut half = TcpStream::connect(("127.0.0.1", mirror.port)).expect("it listens");
    half.write_all(b"GET / HTTP/1.1\r\nHo").expect("it reads");
    assert_eq!(ask(mirror.port, "GET / HTTP/1.0\r\n\r\n", 1), ["HTTP/1.1 204 No Content"]);
    let (_, document) = mirror.end();
    // The half of a request is none.
    assert_eq!(document["account"]["offered"].as_u64(), Some(1));
    let mut rest = Vec::new();
    let _ = half.read_to_end(&mut rest);
    assert!(rest.is_empty());
}

#[test]
fn targets_are_trusted_as_the_flags_say() {
    let lab_place = Place::new();
    let lab = Lab::serve(&lab_place, &["--baseline", "0", "--tls", "--write-cert", "lab.pem"]);
    let url = format!("https://localhost:{}", lab.port());
    for (flags, compared) in [(&["--cacert", "ca.pem"][..], 1), (&["-k"], 1), (&[], 0)] {
        let place = Place::new();
        place.file("ca.pem", lab_place.text("lab.pem"));
        let mirror = Mirror::start(&place, &url, &url, flags);
        ask(mirror.port, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", 1);
        let (_, document) = mirror.end();
        let account = &document["account"];
        assert_eq!(account["compared"].as_u64(), Some(compared), "{flags:?}: {account}");
        let failed = account["censored"]["baseline_failed"].as_u64();
        assert_eq!(failed, (compared == 0).then_some(1), "{flags:?}: {account}");
    }
}
