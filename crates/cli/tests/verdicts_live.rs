//! Verdicts and exit codes of real runs against targets that fail in known ways, and of a client that is stopped.

use crate::support::hostile::{Act, Hostile, answer, ok};
use crate::support::lab::{Lab, wait_for_intervals};
use crate::support::{Place, Run};
use rustix::process::Signal;
use std::net::TcpListener;
use std::time::Duration;

const LOAD: [&str; 6] = ["-R", "100", "-d", "3s", "--timeout", "500ms"];

fn run(place: &Place, url: &str, flags: &[&str]) -> Run {
    place.measure(&[&[url], &LOAD[..], flags].concat())
}

fn errors_of(share: usize) -> Hostile {
    Hostile::start(move |seen| match seen.target.len() {
        _ if share == 100 => Act::Answer(answer("500 Internal Server Error", "")),
        _ if (seen.number * 37 + seen.connection) % 100 < share => {
            Act::Answer(answer("500 Internal Server Error", ""))
        }
        _ => Act::Answer(ok()),
    })
}

#[test]
fn the_worse_the_outage_the_firmer_the_verdict() {
    for share in [33, 100] {
        let (place, server) = (Place::new(), errors_of(share));
        let asked = ["--slo", "errors < 1%", "--no-preflight"];
        let said = run(&place, &server.url(), &asked);
        assert_eq!(said.code, Some(1), "{share} %: {said:?}");
        assert_eq!(said.at("/verdict/status"), "fail");
        assert_eq!(place.call(&["report", "out"]).code(), Some(1));
    }
    let (place, server) = (Place::new(), errors_of(0));
    let said = run(&place, &server.url(), &["--slo", "errors < 5%"]);
    assert_eq!(said.code, Some(0), "{said:?}");
}

#[test]
fn a_target_that_hangs_misses_what_was_asked() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "stall", "--stall-at", "1s", "--stall-for", "20s"]);
    let said = run(&place, &lab.url, &["--slo", "errors < 5%", "--slo", "p99 < 200ms", "--no-preflight"]);
    assert_eq!(said.code, Some(1), "{said:?}");
}

#[test]
fn a_target_that_dies_misses_what_was_asked() {
    let place = Place::new();
    let lab = Lab::serve(&place, &["--scenario", "healthy"]);
    let asked = ["-R", "100", "-d", "4s", "--timeout", "500ms", "--slo", "errors < 5%"];
    let mut started = place.start(&[&[lab.url.as_str()], &asked[..]].concat());
    wait_for_intervals(&place, &mut started, 1);
    drop(lab);
    let said = started.wait().run();
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.failures("connect_refused") > 0, "{said:?}");
}

#[test]
fn a_target_that_refuses_or_never_accepts_misses_what_was_asked() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let said = run(&Place::new(), &format!("http://{free}/"), &["--slo", "errors < 5%", "--no-preflight"]);
    assert_eq!(said.code, Some(1), "{said:?}");

    // Nobody takes connections out of the queue: the kernel takes a few, and lets the rest wait.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let said = run(&Place::new(), &url, &["--slo", "errors < 5%", "--no-preflight"]);
    assert_eq!(said.code, Some(1), "{said:?}");
    assert_eq!(said.arrivals("ok"), 0);
}

#[test]
fn a_rule_that_the_target_fires_fails_it() {
    let (place, server) = (Place::new(), errors_of(100));
    let said = run(&place, &server.url(), &["--abort-on", "errors > 50% for 1s", "--no-preflight"]);
    assert_eq!((said.code, said.at("/status")), (Some(1), &"aborted".into()), "{said:?}");
}

/// The request before the run fails: exit code 1, with a finding and whole files for build servers.
#[test]
fn a_target_that_fails_before_the_run_has_failed() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address");
    let answers = |status: &'static str, more: &'static str| {
        Hostile::start(move |_| {
            Act::Answer(format!("HTTP/1.1 {status}\r\n{more}Content-Length: 0\r\n\r\n").into_bytes())
        })
    };
    let (broken, missing) = (answers("500 Oops", ""), answers("404 Not Found", ""));
    let (moved, fine) = (answers("302 Found", "Location: /login\r\n"), answers("200 OK", ""));
    let cases = [
        (format!("http://{free}/"), None, "refused"),
        (broken.url(), None, "500 Oops"),
        (missing.url(), None, "404 Not Found"),
        (moved.url(), None, "redirects are not followed"),
        (fine.url(), Some("status=201"), "--expect"),
    ];
    for (url, expect, why) in cases {
        let place = Place::new();
        let files = ["--junit", "j.xml", "--hgrm", "h.hgrm", "--slo", "p99 < 200ms"];
        let expect = expect.map_or(vec![], |condition| vec!["--expect", condition]);
        let said = run(&place, &url, &[&files[..], &expect].concat());
        assert_eq!(said.code, Some(1), "{url}: {said:?}");
        assert!(said.has_finding("preflight_failed") && said.stderr.contains(why), "{said:?}");
        assert_eq!(said.at("/verdict/slos/0/status"), "fail");
        assert_eq!(said.at("/arrivals/scheduled"), 0);
        let junit = place.text("j.xml");
        assert!(junit.contains("<testcase ") && junit.trim_end().ends_with("</testsuites>"), "{junit}");
        assert!(place.text("h.hgrm").contains("Percentile"), "{}", place.text("h.hgrm"));
        assert_eq!(place.call(&["report", "out"]).code(), Some(1), "the folder says the same");
    }
    let unknown = Place::new();
    unknown.call(&["run", "http://no-such-name.invalid/", "-R", "10", "-d", "1s"]).refused(&["no-such-name"]);
}

/// SIGSTOP for so long at 50/s, with a timeout of 100 ms: what timed out then was never sent.
fn stopped_for(length: Duration) -> Run {
    let (place, server) = (Place::new(), Hostile::start(|_| Act::Answer(ok())));
    let asked =
        ["-R", "50", "-d", "5s", "--timeout", "100ms", "--slo", "errors < 0.1%", "--slo", "max < 90ms"];
    let mut started = place.start(&[&[server.url().as_str()], &asked[..]].concat());
    wait_for_intervals(&place, &mut started, 1);
    started.signal(Signal::STOP);
    std::thread::sleep(length);
    started.signal(Signal::CONT);
    started.wait().run()
}

#[test]
fn a_client_that_was_stopped_fails_nobody() {
    for length in [Duration::from_millis(150), Duration::from_secs(2)] {
        let said = stopped_for(length);
        assert_ne!(said.code, Some(1), "stopped for {length:?}: {said:?}");
        assert_ne!(said.code, Some(0), "what timed out is not met: {said:?}");
        said.assert_accounts();
    }
}
