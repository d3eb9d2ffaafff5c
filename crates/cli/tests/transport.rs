//! Ways to a target: TLS, IPv6, Unix-domain sockets, other addresses; and the request before the run.

use crate::support::hostile::{Act, Hostile, Refusing, Seen, answer, ok};
use crate::support::lab::Lab;
use crate::support::{Place, Run};
use std::net::TcpListener;

const TWENTY: [&str; 4] = ["-R", "100", "-n", "20"];

/// A TLS server that answers at once, with its certificate in `lab.pem`.
fn tls_lab(place: &Place) -> Lab {
    Lab::serve(place, &["--scenario", "healthy", "--baseline", "0", "--tls", "--write-cert", "lab.pem"])
}

fn run(place: &Place, url: &str, args: &[&str]) -> Run {
    place.measure(&[&[url], &TWENTY[..], args].concat())
}

fn refused(place: &Place, url: &str, args: &[&str], parts: &[&str]) {
    place.call(&[&["run", url], &TWENTY[..], args, &["-o", "out"]].concat()).refused(parts);
    assert!(!place.path().join("out").exists());
}

/// The target failed the request before the run: exit code 1, with a record that says why.
#[track_caller]
fn failed_before(place: &Place, url: &str, args: &[&str], parts: &[&str]) {
    let said = place.call(&[&["run", url], &TWENTY[..], args, &["-o", "out"]].concat());
    assert_eq!(said.code(), Some(1), "{said:?}");
    for part in parts {
        assert!(said.stderr.contains(part), "{part:?} is missing in {said:?}");
    }
    assert_eq!(place.run_json()["validity"]["findings"][0]["code"], "preflight_failed");
    std::fs::remove_dir_all(place.path().join("out")).expect("the record");
}

#[test]
fn tls_with_and_without_trust() {
    let (lab_place, place) = (Place::new(), Place::new());
    let lab = tls_lab(&lab_place);
    let url = format!("https://localhost:{}/", lab.port());
    run(&place, &url, &["-k"]).assert_all("ok");

    let (place, certificate) = (Place::new(), lab_place.text("lab.pem"));
    place.file("ca.pem", &certificate);
    let trusted = run(&place, &url, &["--cacert", "ca.pem"]);
    trusted.assert_all("ok");
    assert!(trusted.count("/phases/tls/count") >= 1);
    assert_eq!(trusted.count("/phases/tls/count"), trusted.connections("opened"));

    // Another server's certificate vouches for nothing.
    let other_place = Place::new();
    let _other = tls_lab(&other_place);
    let place = Place::new();
    place.file("other.pem", other_place.text("lab.pem"));
    failed_before(&place, &url, &["--cacert", "other.pem"], &["before the run", "certificate"]);
    failed_before(&place, &url, &[], &["certificate"]);
    run(&place, &url, &["--cacert", "other.pem", "--no-preflight"]).assert_all_failed("tls");
}

/// Valid for localhost, marked as an authority's own, as `openssl req -x509` makes them.
fn authority(place: &Place, name: &str, not_after: i32) -> Lab {
    let mut params = rcgen::CertificateParams::new(["localhost".to_string()]).expect("a name");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.not_after = rcgen::date_time_ymd(not_after, 1, 1);
    let key = rcgen::KeyPair::generate().expect("a key");
    let certificate = params.self_signed(&key).expect("a certificate");
    let (cert, key_file) = (format!("{name}.pem"), format!("{name}.key"));
    place.file(&cert, certificate.pem());
    place.file(&key_file, key.serialize_pem());
    Lab::serve(place, &["--scenario", "healthy", "--baseline", "0", "--cert", &cert, "--key", &key_file])
}

#[test]
fn an_authority_that_serves_itself_is_trusted_when_it_is_named() {
    let place = Place::new();
    let (lab, other) = (authority(&place, "ca", 2100), authority(&place, "other", 2100));
    let expired = authority(&place, "expired", 2001);
    let url = |lab: &Lab| format!("https://localhost:{}/", lab.port());
    failed_before(&place, &url(&lab), &["--cacert", "other.pem"], &["certificate"]);
    failed_before(&place, &url(&other), &["--cacert", "ca.pem"], &["certificate"]);
    failed_before(&place, &url(&expired), &["--cacert", "expired.pem"], &["xpired"]);
    // Its name is checked as well.
    failed_before(&place, &lab.url, &["--cacert", "ca.pem"], &["another name"]);
    run(&place, &url(&lab), &["--cacert", "ca.pem"]).assert_all("ok");
}

#[test]
fn tls_by_address() {
    let (lab_place, place) = (Place::new(), Place::new());
    let lab = tls_lab(&lab_place);
    run(&place, &lab.url, &["-k", "-t", "2", "-c", "4"]).assert_all("ok");
    // Closed users over TLS.
    let place = Place::new();
    place.measure(&[&lab.url, "-k", "--closed", "3", "-n", "30"]).assert_all("ok");
}

#[test]
fn tls_to_a_server_that_speaks_none() {
    let plain = Hostile::start(|_| Act::Answer(ok()));
    let url = format!("https://{}/", plain.address);
    let place = Place::new();
    failed_before(&place, &url, &["-k"], &["gave no answer"]);
    // It waits for a line that never ends: neither side says more.
    let args = ["-k", "--no-preflight", "--timeout", "300ms"];
    let silent = run(&place, &url, &args);
    silent.assert_accounts();
    assert_eq!(silent.arrivals("failed") + silent.arrivals("timed_out"), 20, "{silent:?}");
    let closed = Refusing::new();
    let url = format!("https://{}/", closed.address);
    run(&Place::new(), &url, &["-k", "--no-preflight"]).assert_all_failed("connect_refused");
}

/// A handshake that never ends: nothing can be sent, and the run is over in time all the same.
#[test]
fn a_handshake_that_stalls() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("https://{}/", listener.local_addr().expect("an address"));
    std::thread::spawn(move || listener.incoming().collect::<Vec<_>>());
    for pool in ["auto", "auto:2", "2"] {
        let args = ["-k", "--no-preflight", "--timeout", "300ms", "-c", pool];
        let run = run(&Place::new(), &url, &args);
        run.assert_all("timed_out");
        assert_eq!(run.arrivals("timed_out_never_sent"), 20, "{run:?}");
        assert_eq!(run.connections("opened"), 0);
    }
    failed_before(
        &Place::new(),
        &url,
        &["-k", "--timeout", "300ms"],
        &["gave no answer", "the timeout passed"],
    );
}

/// A fixed pool that can't be opened beforehand.
#[test]
fn a_fixed_pool_to_nobody() {
    let nobody = Refusing::new();
    let run = run(&Place::new(), &nobody.url(), &["--no-preflight", "-c", "5"]);
    run.assert_all_failed("connect_refused");
}

#[test]
fn plain_http_to_a_tls_server() {
    let (lab_place, place) = (Place::new(), Place::new());
    let lab = tls_lab(&lab_place);
    let url = lab.url.replace("https", "http");
    failed_before(&place, &url, &[], &["before the run"]);
    let run = run(&place, &url, &["--no-preflight"]);
    run.assert_accounts();
    assert_eq!(run.arrivals("failed"), 20, "{run:?}");
}

#[test]
fn ipv6() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return; // A machine without IPv6.
    }
    let server = Hostile::on("[::1]:0", |_| Act::Answer(ok()));
    let run = run(&Place::new(), &server.url(), &[]);
    run.assert_all("ok");
    assert!(
        run.document["origins"][0]["connections"]["by_address"][server.address.to_string()].as_u64()
            > Some(0)
    );
    assert_eq!(server.seen()[0].header("host"), Some(server.address.to_string().as_str()));
}

#[test]
fn unix_sockets() {
    let place = Place::new();
    let path = place.path().join("server.sock");
    let server = Hostile::on_unix(&path, |_| Act::Answer(ok()));
    let run = run(&place, "http://service.test/x", &["--unix-socket", "server.sock", "-c", "2"]);
    run.assert_all("ok");
    assert_eq!(run.document["origins"][0]["connections"]["by_address"]["unix:server.sock"], 2);
    // Pre-flight, then twenty; the name in the URL need not exist.
    assert_eq!(server.seen().len(), 21);
    assert!(server.seen().iter().all(|r| r.header("host") == Some("service.test") && r.target == "/x"));
    let place = Place::new();
    refused(&place, "http://h/", &["--unix-socket", "none.sock"], &["can't connect to unix:none.sock"]);
    let nobody = self::run(&place, "http://h/", &["--unix-socket", "none.sock", "--no-preflight"]);
    nobody.assert_all("failed");
}

#[test]
fn connect_to_another_place() {
    let server = Hostile::start(|_| Act::Answer(ok()));
    let port = server.address.port();
    for rule in [
        format!("service.invalid:80:127.0.0.1:{port}"),
        format!("::127.0.0.1:{port}"),
        format!("Service.Invalid::127.0.0.1:{port}"),
    ] {
        let run = run(&Place::new(), "http://service.invalid/", &["--connect-to", &rule]);
        run.assert_all("ok");
    }
    assert!(server.seen().iter().all(|r| r.header("host") == Some("service.invalid")));
    // TLS still asks for the name in the URL.
    let (lab_place, place) = (Place::new(), Place::new());
    let lab = tls_lab(&lab_place);
    place.file("ca.pem", lab_place.text("lab.pem"));
    let rule = format!("localhost:443:127.0.0.1:{}", lab.port());
    run(&place, "https://localhost/", &["--cacert", "ca.pem", "--connect-to", &rule]).assert_all("ok");
    let rule = format!("service.invalid:443:127.0.0.1:{}", lab.port());
    let args = ["--cacert", "ca.pem", "--connect-to", &rule];
    refused(&Place::new(), "https://service.invalid/", &["-k", "--connect-to", "a:1:b:2"], &["apply"]);
    let place = Place::new();
    place.file("ca.pem", lab_place.text("lab.pem"));
    failed_before(&place, "https://service.invalid/", &args, &["certificate"]);
}

/// A name with several addresses uses them all, or those that answer.
/// A slice of a fleet that is drained: connections go to those that are left, in turn, and no longer than they should.
#[test]
fn connect_to_several_places_for_a_while() {
    let servers = [(); 2].map(|()| Hostile::start(|_| Act::Answer(ok())));
    let rules = servers.each_ref().map(|server| format!("::127.0.0.1:{}", server.address.port()));
    let place = Place::new();
    let url = "http://service.invalid/";
    let args = [url, "-R", "100", "-d", "2500ms", "-c", "4", "--connection-age", "1s"];
    let ways = ["--connect-to", &rules[0], "--connect-to", &rules[1]];
    let run = place.measure(&[&args[..], &ways].concat());
    run.assert_accounts();
    assert_eq!(run.arrivals("ok"), 250);
    // Pre-flight asks one of them once. The four that were opened first end within a second, one after the other.
    let opened = servers.each_ref().map(Hostile::connections);
    assert_eq!((opened[0] + opened[1]) as u64, run.connections("opened") + 1);
    assert!(opened.iter().all(|&n| n >= 3), "{opened:?}");
    assert_eq!(run.connections("closed_by_age"), run.connections("opened") - 4);
    // What each has answered; one of them was asked before the run, too.
    let answers = run.at("/origins/0/connections/arrivals_by_address");
    let answered = servers.each_ref().map(|server| answers[server.address.to_string()]["ok"].as_u64());
    for server in &servers {
        let of = &answers[server.address.to_string()];
        assert_eq!(of["response_time"]["count"], of["ok"], "{of}");
        assert!(of["response_time"]["quantiles"][0]["value"].as_u64() > Some(0), "{of}");
    }
    let seen = servers.each_ref().map(|server| server.seen().len() as u64);
    let [one, other] = answered.map(|n| n.expect("it has answered"));
    assert_eq!(one + other, 250, "{answers}");
    assert!([(one, seen[0]), (other, seen[1])].iter().all(|(n, seen)| seen - n <= 1), "{answers}, {seen:?}");
    assert!(run.connections("closed_by_age") >= 6, "{}", run.document["origins"][0]["connections"]);
    assert_eq!(run.connections("peak"), 4);
    assert_eq!(run.document["origins"][0]["connections"]["age_ns"], 1_000_000_000);
}

#[test]
fn every_address_of_a_name() {
    let server = Hostile::start(|_| Act::Answer(ok()));
    let port = server.address.port();
    let run = run(&Place::new(), &format!("http://localhost:{port}/"), &["-c", "4"]);
    run.assert_all("ok");
    let by_address = run.at("/origins/0/connections/by_address").as_object().expect("an object");
    let opened: u64 = by_address.values().map(|n| n.as_u64().expect("a count")).sum();
    assert_eq!(opened, run.connections("opened"), "{by_address:?}");
    assert!(
        run.document["origins"][0]["connections"]["by_address"][server.address.to_string()].as_u64()
            >= Some(4)
    );
    // Where the name has ::1 as well, nobody listens there.
    assert_eq!(run.has_finding("address_dead"), by_address.len() > 1, "{:#}", run.at("/validity"));
}

#[test]
fn refused_before_the_run() {
    let place = Place::new();
    let nobody = Refusing::new();
    let address = nobody.address.to_string();
    failed_before(&place, &nobody.url(), &[], &["before the run", &address, "refused", "--no-preflight"]);
    let script = |seen: &Seen| match seen.target.as_str() {
        "/404" => Act::Answer(answer("404 Not Found", "")),
        "/503" => Act::Answer(answer("503 Try Later", "")),
        "/302" => {
            Act::Answer(b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n".to_vec())
        }
        "/304" => Act::Answer(b"HTTP/1.1 304 Not Modified\r\n\r\n".to_vec()),
        "/garbage" => Act::SendThenStall(b"220 smtp ready\r\n\r\n".to_vec()),
        "/close" => Act::Close,
        "/reset" => Act::Reset,
        "/half" => Act::AnswerThenClose(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf".to_vec()),
        "/stall" => Act::SendThenStall(b"HTTP/1.1 200 OK\r\n".to_vec()),
        _ => Act::Answer(answer("200 Fine", "hello")),
    };
    let server = Hostile::start(script);
    let at = |path: &str| server.url() + path;
    for (path, args, parts) in [
        ("404", &[][..], &["HTTP/1.1 404 Not Found", "count as failed"][..]),
        ("503", &[], &["HTTP/1.1 503 Try Later", "count as failed"]),
        ("302", &[], &["HTTP/1.1 302 Found", "redirects are not followed"]),
        ("", &["--expect", "status=201"], &["HTTP/1.1 200 Fine", "--expect"]),
        ("", &["--expect", "size=6.."], &["HTTP/1.1 200 Fine", "size", "--expect"]),
        ("", &["--expect", "contains=bye"], &["HTTP/1.1 200 Fine", "contain", "--expect"]),
        ("", &["--max-body-size", "3"], &["body is larger than its limit"]),
        ("garbage", &[], &["220 smtp ready", "does not begin with HTTP/"]),
        ("close", &[], &["closed before any byte"]),
        ("reset", &[], &["reset"]),
        ("half", &[], &["closed inside the answer's body"]),
        ("stall", &["--timeout", "300ms"], &["the timeout passed"]),
    ] {
        failed_before(&place, &at(path), args, parts);
    }
    assert!(server.seen().iter().all(|seen| seen.number == 0), "one request each, no load");
    // What the run is told to expect is no reason to refuse it.
    for (path, args) in [
        ("404", &["--expect", "status=404"][..]),
        ("302", &["--expect", "status=3xx"]),
        ("304", &[]),
        ("404", &["--no-preflight"]),
    ] {
        let run = run(&Place::new(), &at(path), args);
        run.assert_accounts();
        assert_eq!(run.at("/status"), "complete");
    }
}

#[test]
fn each_target_is_tried_before_the_run() {
    let server = Hostile::start(|seen: &Seen| match seen.target.as_str() {
        "/b" => Act::Answer(answer("500 Broken", "")),
        _ => Act::Answer(ok()),
    });
    let (a, b) = (server.url() + "a", server.url() + "b");
    failed_before(&Place::new(), &a, &[&b], &["HTTP/1.1 500 Broken"]);
    assert_eq!(server.seen().len(), 2);
}
