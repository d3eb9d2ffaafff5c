//! What is requested: targets, methods, headers, bodies, and which answers are expected.

use crate::support::hostile::{Act, Hostile, Seen, answer, healthy, ok};
use crate::support::{Place, finish};
use serde_json::json;
use std::collections::BTreeMap;

#[test]
fn targets_in_turn() {
    let server = Hostile::start(|seen: &Seen| match seen.target.as_str() {
        "/b" => Act::Answer(answer("404 Not Found", "no")),
        _ => Act::Answer(ok()),
    });
    let urls: Vec<String> = ["a", "b", "c"].iter().map(|path| server.url() + path).collect();
    let args = [urls[0].as_str(), &urls[1], &urls[2], "-R", "300", "-n", "31", "--no-preflight", "-t", "2"];
    let run = Place::new().measure(&args);
    run.assert_accounts();
    assert_eq!((run.arrivals("ok"), run.failures("status_4xx")), (21, 10));
    let operations = run.at("/operations").as_array().expect("a list");
    let counts: Vec<_> = operations
        .iter()
        .map(|o| {
            let arrivals = ["scheduled", "ok", "failed", "timed_out", "unfinished", "unsent"]
                .map(|outcome| o["arrivals"][outcome].as_u64().expect("a count"));
            let times =
                ["response_time", "service_time"].map(|time| o[time]["count"].as_u64().expect("a count"));
            (o["name"].as_str().expect("a name"), arrivals, times, o["codes"].clone(), o["failures"].clone())
        })
        .collect();
    let none = serde_json::Value::Null;
    let expected = [
        ("GET /a", [11, 11, 0, 0, 0, 0], [11, 11], json!({"200": 11}), none.clone()),
        ("GET /b", [10, 0, 10, 0, 0, 0], [0, 0], json!({"404": 10}), json!({"status_4xx": 10})),
        ("GET /c", [10, 10, 0, 0, 0, 0], [10, 10], json!({"200": 10}), none),
    ];
    assert_eq!(counts, expected);
    assert!(operations.iter().all(|o| o["protocol"] == "http/1.1"), "{operations:#?}");
    let mut seen = BTreeMap::new();
    for request in server.seen() {
        *seen.entry(request.target).or_insert(0) += 1;
    }
    assert_eq!(
        seen.into_iter().collect::<Vec<_>>(),
        [("/a".into(), 11), ("/b".into(), 10), ("/c".into(), 10)]
    );
}

#[test]
fn a_target_file_with_bodies() {
    let (server, place) = (healthy(), Place::new());
    place.file("targets/bodies/one.json", b"{\"one\":\r\n1}\x00\xff");
    let url = server.url();
    place.file(
        "targets/all.txt",
        format!(
            "# three\nPOST {url}one?x=1\nContent-Type: application/json\nX-Own: own\n@bodies/one.json\n\n\
             PUT {url}two\n\nGET {url}three\n"
        ),
    );
    let args =
        ["--targets", "targets/all.txt", "-R", "100", "-n", "6", "-H", "X-Own: all", "-H", "X-All: all"];
    let run = place.measure(&args);
    run.assert_all("ok");
    // One pre-flight request each, then two rounds.
    let mut seen = server.seen();
    seen.sort_by(|a, b| a.target.cmp(&b.target));
    assert_eq!(seen.len(), 9);
    let (one, three, two) = (&seen[0], &seen[3], &seen[6]);
    assert_eq!((one.method.as_str(), one.target.as_str()), ("POST", "/one?x=1"));
    assert_eq!(one.body, b"{\"one\":\r\n1}\x00\xff");
    assert_eq!((one.header("x-own"), one.header("x-all")), (Some("own"), Some("all")));
    assert_eq!(one.header("content-type"), Some("application/json"));
    assert_eq!((two.method.as_str(), two.header("content-length")), ("PUT", Some("0")));
    assert_eq!((three.method.as_str(), three.header("x-own")), ("GET", Some("all")));
}

#[test]
fn many_targets_share_the_last_place() {
    let server = healthy();
    let place = Place::new();
    let targets: String = (0..300).map(|n| format!("GET {}{n}\n", server.url())).collect();
    place.file("all.txt", targets);
    let run = place.measure(&["--targets", "all.txt", "-R", "1200", "-n", "600", "--no-preflight"]);
    run.assert_all("ok");
    let operations = run.at("/operations").as_array().expect("a list");
    assert_eq!((operations.len(), &operations[255]["name"]), (256, &"(others)".into()));
    for time in ["response_time", "service_time"] {
        let count = |o: &serde_json::Value| o[time]["count"].as_u64().expect("a count");
        assert!(operations[..255].iter().all(|o| count(o) == 2), "{operations:#?}");
        assert_eq!(count(&operations[255]), 90);
    }
    assert_eq!(operations[255]["arrivals"]["scheduled"], 90);
    assert!(run.document.get("spilled").is_none(), "there is room for all");
    assert_eq!(run.at("/targets").as_array().map(Vec::len), Some(300));
    let said = place.call(&["report", "out", "--json"]).run();
    assert_eq!(said.at("/operations"), run.at("/operations"), "the folder has them all");
}

#[test]
fn targets_from_standard_input() {
    let (server, place) = (healthy(), Place::new());
    let targets = std::fs::File::open(place.file("t", format!("GET {}a\nPUT {0}b\n", server.url())));
    let mut command =
        place.command(&["run", "--targets", "-", "-R", "100", "-n", "4", "--json", "-o", "out"]);
    let run = finish(command.stdin(targets.expect("a file"))).run();
    run.assert_all("ok");
    assert_eq!(server.seen().iter().filter(|seen| seen.method == "PUT" && seen.target == "/b").count(), 3);
}

#[test]
fn methods_headers_and_bodies_arrive_as_asked() {
    let answer_head = b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n".to_vec();
    let server = Hostile::start(move |seen: &Seen| match seen.method.as_str() {
        // The length of a body that is not sent.
        "HEAD" => Act::Answer(answer_head.clone()),
        _ => Act::Answer(ok()),
    });
    let place = Place::new();
    place.file("body.bin", [0u8, 13, 10, 255, 7]);
    let load = ["-R", "200", "-n", "4", "--no-preflight"];
    for (args, method, body) in [
        (&[][..], "GET", &b""[..]),
        (&["-X", "HEAD"], "HEAD", b""),
        (&["--body", "a=1&b=2"], "POST", b"a=1&b=2"),
        (&["-m", "PUT", "--body", "x"], "PUT", b"x"),
        (&["--method", "DELETE"], "DELETE", b""),
        (&["-X", "PATCH", "--body-file", "body.bin"], "PATCH", &[0, 13, 10, 255, 7]),
        (&["-X", "M-SEARCH"], "M-SEARCH", b""),
    ] {
        let before = server.seen().len();
        let run = place.measure(&[&[server.url().as_str()], &load[..], args].concat());
        run.assert_all("ok");
        std::fs::remove_dir_all(place.path().join("out")).expect("removed");
        let seen = &server.seen()[before..];
        assert_eq!(seen.len(), 4);
        assert!(seen.iter().all(|r| r.method == method && r.body == body && r.target == "/"), "{seen:?}");
        assert!(seen.iter().all(|r| r.header("host") == Some(&server.address.to_string())));
    }
    let url = format!("http://user:pass@{}/deep?q=a%20b#fragment", server.address);
    let args = [&url, "-H", "x-one: 1", "-H", "X-Two:two ", "--header", "User-Agent: me", "-n", "1"];
    place.measure(&[&args[..], &["-R", "10", "--no-preflight"]].concat()).assert_all("ok");
    let last = server.seen().pop().expect("a request");
    assert_eq!(last.target, "/deep?q=a%20b");
    assert_eq!(last.header("authorization"), Some("Basic dXNlcjpwYXNz"));
    assert_eq!((last.header("x-one"), last.header("x-two")), (Some("1"), Some("two")));
    assert_eq!(last.headers.iter().filter(|(name, _)| name == "user-agent").count(), 1);
}

#[test]
fn what_is_expected() {
    let script = |seen: &Seen| match seen.target.as_str() {
        "/404" => Act::Answer(answer("404 Not Found", "")),
        "/302" => Act::Answer(answer("302 Found", "")),
        // The words are split between two writes and two chunks.
        _ => Act::Answer(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhell\r\n7\r\no world\r\n0\r\n\r\n"
                .to_vec(),
        ),
    };
    let server = Hostile::start(script);
    for (path, conditions, failed) in [
        ("", &["status=200"][..], None),
        ("", &["status=2xx"], None),
        ("", &["status=201"], Some("unexpected_status")),
        ("404", &["status=404"], None),
        ("404", &["status=4xx,5xx"], None),
        ("404", &["status=200"], Some("status_4xx")),
        ("302", &["status=200"], Some("unexpected_status")),
        ("302", &["status=302"], None),
        ("", &["size=11"], None),
        ("", &["size=12.."], Some("unexpected_body")),
        ("", &["size=..11"], None),
        ("", &["contains=hello world"], None),
        ("", &["contains=Hello"], Some("unexpected_body")),
        ("", &["status=200", "size=5..20", "contains=o w"], None),
        ("", &["status=200", "size=5..20", "contains=bye"], Some("unexpected_body")),
    ] {
        let url = server.url() + path;
        let mut args = vec![url.as_str(), "-R", "200", "-n", "4", "--no-preflight"];
        args.extend(conditions.iter().flat_map(|condition| ["--expect", condition]));
        let run = Place::new().measure(&args);
        match failed {
            None => run.assert_all("ok"),
            Some(kind) => run.assert_all_failed(kind),
        }
    }
}
