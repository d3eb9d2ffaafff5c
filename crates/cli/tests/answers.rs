//! What answers must be like: headers, patterns, JSON, and bodies that are sent in another form or in many pieces.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

/// `{"id":7,"state":"done","items":[{"n":"a\u0062c"}]}` by gzip, deflate, brotli and zstd of other programs.
const CODED: [(&str, &str); 4] = [
    (
        "gzip",
        "1f8b0800000000000203ab56ca4c51b232d7512a2e492c4955b2524ac9cf4b55d251ca2c49cd2d56b28aae56ca030a26c6941a189819252bd5c6d60200e0e3023f32000000",
    ),
    (
        "deflate",
        "789cab56ca4c51b232d7512a2e492c4955b2524ac9cf4b55d251ca2c49cd2d56b28aae56ca030a26c6941a189819252bd5c6d6020082070f39",
    ),
    (
        "br",
        "8b18807b226964223a372c227374617465223a22646f6e65222c226974656d73223a5b7b226e223a22615c753030363263227d5d7d03",
    ),
    (
        "zstd",
        "28b52ffd24329101007b226964223a372c227374617465223a22646f6e65222c226974656d73223a5b7b226e223a22615c753030363263227d5d7d37a66487",
    ),
];
/// 64 MiB of zeros by brotli.
const BOMB: &str = "cbffff3ff82700e2b14020f7fe8fffff7ff04f00c4611180eefd1fffffffe09f0088c30200ddfb3ffeffffc13f0110870500baf77ffcffff837f02200e0b0074effff8ffff07ff04401c1600e8defff1ffff0ffe0980382c00d0bdffcbffff3ffc1300715800a07bff07";

fn bytes(hex: &str) -> Vec<u8> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).expect("hex"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hex")).collect()
}

/// A 200 with these header lines and this body.
fn answer(lines: &str, body: &[u8]) -> Vec<u8> {
    let head = format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: {}\r\n\r\n", body.len());
    [head.as_bytes(), body].concat()
}

/// Asks `url` a few times. `failed` is the kind that all must fail by.
#[track_caller]
fn ends(url: &str, conditions: &[&str], failed: Option<&str>) {
    let mut args = vec![url, "-R", "200", "-n", "4", "--no-preflight"];
    args.extend(conditions.iter().flat_map(|condition| ["--expect", condition]));
    let run = Place::new().measure(&args);
    match failed {
        None => run.assert_all("ok"),
        Some(kind) => run.assert_all_failed(kind),
    }
}

#[test]
fn each_kind_of_condition_has_its_kind_of_failure() {
    let server = Hostile::start(|_| {
        Act::Answer(answer("X-Id: 7\r\nx-id: 8\r\n", br#"{"id":7,"state":"done","items":[{"n":"abc"}]}"#))
    });
    let (header, body) = (Some("unexpected_header"), Some("unexpected_body"));
    for (conditions, failed) in [
        (&["header X-ID", "header x-id ~ ^[78]$", "regex \"st.te\"", "json $.items[0].n == 'abc'"][..], None),
        (&["header X-Id = 7"], header),
        (&["header X-Other"], header),
        (&["json $.id > 6", "json $.id != '7'", "json $.items[*].n exists", "contains=done"], None),
        (&["json $.id > 7"], body),
        (&["json $.missing exists"], body),
        (&["regex ^state"], body),
        // The first that does not hold.
        (&["json $.id > 7", "header X-Other"], header),
        (&["json $.id > 7", "header X-Other", "status=201"], Some("unexpected_status")),
    ] {
        ends(&server.url(), conditions, failed);
    }
}

#[test]
fn what_is_no_json_has_no_values() {
    for body in [&b""[..], b"<html>", br#"{"id":7"#, b"{\"id\":7}x", b"\xff"] {
        let server = Hostile::start(move |_| Act::Answer(answer("", body)));
        ends(&server.url(), &["json $.id exists"], Some("unexpected_body"));
    }
}

#[test]
fn bodies_are_decoded_where_they_are_looked_at() {
    let conditions = ["contains=done", "json $.items[0].n == 'abc'", "regex ^\\{"];
    for (coding, hex) in CODED {
        let lines = format!("Content-Encoding: {coding}\r\n");
        let body = bytes(hex);
        let (whole, cut) = (answer(&lines, &body), answer(&lines, &body[..body.len() - 5]));
        let whole = Hostile::start(move |_| Act::Answer(whole.clone()));
        ends(&whole.url(), &conditions, None);
        ends(&whole.url(), &["contains=done"], None);
        ends(&whole.url(), &["contains=gone"], Some("unexpected_body"));
        // The size is that of what is sent.
        ends(&whole.url(), &[&format!("size={}", body.len())], None);
        let cut = Hostile::start(move |_| Act::Answer(cut.clone()));
        ends(&cut.url(), &["contains=done"], Some("undecodable"));
        // Nobody looks at it.
        ends(&cut.url(), &["header Content-Encoding", "status=200"], None);
    }
    // Nothing is asked for that the user does not ask for.
    let plain = Hostile::start(|_| Act::Answer(answer("", b"done")));
    ends(&plain.url(), &["contains=done"], None);
    assert!(plain.seen().iter().all(|seen| seen.header("accept-encoding").is_none()));
    for coding in ["compress", "gzip, gzip"] {
        let other = answer(&format!("Content-Encoding: {coding}\r\n"), b"done");
        let other = Hostile::start(move |_| Act::Answer(other.clone()));
        ends(&other.url(), &["contains=done"], Some("undecodable"));
    }
}

#[test]
fn a_bomb_is_not_unfolded() {
    let bomb = answer("Content-Encoding: br\r\n", &bytes(BOMB));
    let server = Hostile::start(move |_| Act::Answer(bomb.clone()));
    ends(&server.url(), &["contains=done"], Some("unchecked"));
}

#[test]
fn large_bodies_are_looked_at_up_to_a_limit() {
    let long = |filling: usize| {
        let text = "x".repeat(filling);
        answer("", format!(r#"{{"a":"{text}","id":7}}"#).as_bytes())
    };
    let (two, beyond) = (long(2 << 20), long(16 << 20));
    let two = Hostile::start(move |_| Act::Answer(two.clone()));
    ends(&two.url(), &["json $.id == 7", "regex 7}$"], None);
    let beyond = Hostile::start(move |_| Act::Answer(beyond.clone()));
    ends(&beyond.url(), &["json $.id == 7"], Some("unchecked"));
    // A search needs no more than what passes by.
    ends(&beyond.url(), &["contains=\"id\":7"], None);
}

/// Serves the first request of each connection with `answer`, in pieces of `length`, each in its own segment.
fn dripping(answer: Vec<u8>, length: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("an address"));
    let serve = move |mut stream: TcpStream| {
        stream.set_nodelay(true).expect("an option");
        let _ = stream.read(&mut [0; 4096]);
        for piece in answer.chunks(length) {
            let _ = stream.write_all(piece);
            std::thread::sleep(Duration::from_micros(200));
        }
    };
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    url
}

#[test]
fn pieces_may_be_cut_anywhere() {
    let (_, hex) = CODED[0];
    let chunks: Vec<u8> = bytes(hex)
        .chunks(3)
        .flat_map(|chunk| [format!("{:x}\r\n", chunk.len()).as_bytes(), chunk, b"\r\n"].concat())
        .collect();
    let head = "HTTP/1.1 103 Early Hints\r\nX-Id: 8\r\n\r\nHTTP/1.1 200 OK\r\nX-Id: 7\r\nConnection: close\r\n\
        Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n";
    let answer = [head.as_bytes(), &chunks, b"0\r\n\r\n"].concat();
    for length in [1, 2, 5, 17] {
        let url = dripping(answer.clone(), length);
        ends(&url, &["header X-Id = 7", "json $.state == 'done'"], None);
        ends(&url, &["header X-Id = 8"], Some("unexpected_header"));
        ends(&url, &["json $.state == 'new'"], Some("unexpected_body"));
    }
}

/// The answer to one request is not held against the conditions of another, nor against what came before.
#[test]
fn each_request_has_its_own_conditions() {
    let server = Hostile::start(|seen| match seen.target.as_str() {
        "/missing" => Act::Answer(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec()),
        path => Act::Answer(answer("X-Id: 7\r\n", format!(r#"{{"path":"{path}"}}"#).as_bytes())),
    });
    let plan = |own: &str| {
        format!(
            "target = \"{}\"\n[load]\nrate = 200\nrequests = 30\n[request]\nexpect = [\"status=200\", \"header X-Id = 7\"]\n\
             [[requests]]\nurl = \"/a\"\nexpect = [\"json $.path == '/a'\"]\n\
             [[requests]]\nurl = \"/b\"\nexpect = \"json $.path == '/b'\"\n\
             [[requests]]\nurl = \"/missing\"\nexpect = [{own}]\n",
            server.url()
        )
    };
    let run = |own: &str| {
        let place = Place::new();
        let plan = place.file("plan.toml", plan(own));
        place.measure(&[plan.to_str().expect("a path"), "--no-preflight"])
    };
    // A condition of its own takes the place of one about the same; the header of another is still asked for.
    let header = run("\"status=404\"");
    assert_eq!((header.failures("unexpected_header"), header.arrivals("ok")), (10, 20), "{header:?}");
    let status = run("\"header X-Id != 7\"");
    assert_eq!((status.failures("status_4xx"), status.arrivals("ok")), (10, 20), "{status:?}");
    let place = Place::new();
    let path = place.file("plan.toml", plan("\"status=404\"").replace(", \"header X-Id = 7\"", ""));
    place.measure(&[path.to_str().expect("a path")]).assert_all("ok");
}
