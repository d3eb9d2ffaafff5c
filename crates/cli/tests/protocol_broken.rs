//! Servers whose answers can't be read, or can't be matched with any request: how many connections end so is counted, by what was
//! wrong, and a finding says what that means.

use crate::cql_server;
use crate::frames;
use crate::support::hostile::{Act, Hostile, answer, ok};
use crate::support::{Place, Run};
use serde_json::json;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const FORTY: [&str; 7] = ["-R", "200", "-n", "40", "--timeout", "5s", "--no-preflight"];
const IDLE: Duration = Duration::from_millis(30);

fn run(url: &str, more: &[&str]) -> Run {
    let run = Place::new().measure(&[&[url], &FORTY[..], more].concat());
    run.assert_accounts();
    run
}

/// What the finding says, and its severity.
fn finding(run: &Run) -> Option<(String, String)> {
    let findings = run.at("/validity/findings").as_array().expect("a list");
    let found = findings.iter().find(|finding| finding["code"] == "protocol_broken")?;
    let text = |name: &str| found[name].as_str().expect("a text").to_string();
    Some((text("message"), text("severity")))
}

/// So many connections have ended because of what came on them, all in one way.
#[track_caller]
fn assert_broken(run: &Run, n: u64, code: &str, is_unasked: bool) {
    let connections = run.at("/origins/0/connections");
    assert_eq!(connections["closed_broken"], n, "{run:?}");
    assert_eq!(
        connections["closed_unasked"].as_u64().unwrap_or(0),
        if is_unasked { n } else { 0 },
        "{run:?}"
    );
    assert_eq!(connections["broken_by_code"], json!({ code: n }), "{run:?}");
    let (message, severity) = finding(run).expect("it is told");
    assert!(message.contains(&format!("{n} connections to the target ({code} {n})")), "{message}");
    assert_eq!(severity, if is_unasked { "degrades" } else { "note" });
    assert_eq!(message.contains("can't be trusted"), is_unasked, "{message}");
}

#[track_caller]
fn assert_not_broken(run: &Run) {
    let connections = run.at("/origins/0/connections");
    assert!(connections["closed_broken"].is_null() && connections["broken_by_code"].is_null(), "{run:?}");
    assert_eq!(finding(run), None);
}

/// A server to each of whose connections `serve` is given, with what counts requests over all of them.
pub(crate) fn serving(
    serve: impl Fn(TcpStream, &AtomicUsize) -> io::Result<()> + Send + Sync + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let (serve, requests) = (Arc::new(serve), Arc::new(AtomicUsize::new(0)));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (serve, requests) = (serve.clone(), requests.clone());
            std::thread::spawn(move || {
                let _ = stream.set_nodelay(true);
                serve(stream, &requests)
            });
        }
    });
    address.to_string()
}

/// Reads what is said next. False if that is nothing more.
pub(crate) fn hear(stream: &mut TcpStream) -> io::Result<bool> {
    stream.read(&mut [0; 4096]).map(|n| n > 0)
}

/// Answers `+OK`, and every tenth command with `tenth`.
fn redis(tenth: &'static [u8]) -> String {
    let address = serving(move |mut stream, requests| {
        hear(&mut stream)?;
        stream.write_all(b"+PONG\r\n")?;
        while hear(&mut stream)? {
            let number = requests.fetch_add(1, Ordering::Relaxed);
            stream.write_all(if number % 10 == 9 { tenth } else { b"+OK\r\n" })?;
        }
        Ok(())
    });
    format!("redis://{address}")
}

#[test]
fn replies_of_redis_that_no_command_has_asked_for() {
    for pool in ["1", "3"] {
        let run = run(&redis(b"+OK\r\n+OK\r\n"), &["-c", pool, "--command", "GET a"]);
        assert_eq!(run.arrivals("ok"), 40);
        assert_broken(&run, 4, "protocol_unasked", true);
        assert_eq!(run.connections("closed_by_target"), 0);
        // It is worse where the machine is busy.
        assert_ne!(run.at("/validity/status"), "valid");
    }
}

#[test]
fn replies_of_redis_that_can_not_be_read() {
    let run = run(&redis(b"?\r\n"), &["-c", "2", "--command", "GET a"]);
    assert_eq!((run.arrivals("ok"), run.failures("protocol_unknown_type")), (36, 4));
    assert_broken(&run, 4, "protocol_unknown_type", false);
    assert_eq!(run.connections("closed_by_target"), 0);
}

#[test]
fn a_reply_that_is_too_large_breaks_no_protocol() {
    let args = ["-c", "2", "--command", "GET a", "--max-body-size", "10"];
    let run = run(&redis(b"$20\r\naaaaaaaaaabbbbbbbbbb\r\n"), &args);
    assert_eq!((run.arrivals("ok"), run.failures("too_large")), (36, 4));
    assert_eq!(run.at("/origins/0/connections/broken_by_code"), &json!({ "too_large": 4 }));
    assert_eq!((run.connections("closed_broken"), finding(&run)), (4, None));
}

#[test]
fn pushes_of_redis_are_no_breach() {
    let address = serving(|mut stream, _| {
        hear(&mut stream)?;
        stream.write_all(b"%1\r\n+proto\r\n:3\r\n")?;
        while hear(&mut stream)? {
            stream.write_all(b"+OK\r\n>2\r\n+message\r\n+hello\r\n")?;
        }
        Ok(())
    });
    let run = run(&format!("redis://{address}"), &["-c", "2", "--resp", "3", "--command", "GET a"]);
    run.assert_all("ok");
    assert_eq!(run.connections("unsolicited"), 40);
    assert_not_broken(&run);
}

#[test]
fn bytes_behind_an_answer_of_http() {
    let two = Hostile::start(|seen| match seen.number % 10 {
        9 => Act::Answer([ok(), ok()].concat()),
        _ => Act::Answer(ok()),
    });
    let run = run(&two.url(), &["-c", "1"]);
    run.assert_all("ok");
    assert_broken(&run, 4, "protocol_unsolicited_data", true);
    assert_eq!((run.connections("opened"), run.connections("closed_by_target")), (4, 0), "{run:?}");
}

/// What comes while a connection is idle: an answer that nobody has asked for; or 408, by which a server says that it closes one on
/// which nothing has come.
#[test]
fn a_server_of_http_that_says_goodbye_breaks_nothing() {
    for (said, is_breach) in [(ok(), true), (answer("408 Request Timeout", ""), false)] {
        let server = Hostile::start(move |_| Act::AnswerThenSay(ok(), IDLE, said.clone()));
        let load = ["-R", "10", "-n", "8", "--timeout", "5s", "--no-preflight"];
        let run = Place::new().measure(&[&[server.url().as_str()], &load[..]].concat());
        run.assert_all("ok");
        let connections = run.at("/origins/0/connections");
        // The last may be closed with the run.
        let [broken, by_target] =
            ["closed_broken", "closed_by_target"].map(|name| connections[name].as_u64().unwrap_or(0));
        match is_breach {
            true => assert!((7..=8).contains(&broken) && by_target == 0, "{run:?}"),
            false => {
                assert!((7..=8).contains(&by_target), "{run:?}");
                assert_not_broken(&run);
            }
        }
    }
}

/// Streams have names that are never used again, so that nothing else can have been mistaken.
#[test]
fn frames_of_http_2_on_streams_that_were_never_opened() {
    let server = frames::serve(&[], |number, stream| match number % 10 {
        9 => ([frames::ok(stream), frames::frame(0, 0, 9_999, b"x")].concat(), true),
        _ => (frames::ok(stream), true),
    });
    let run = run(&format!("http://{}/", server.address), &["--http", "2", "-c", "1", "--streams", "1"]);
    assert_eq!(run.arrivals("ok"), 40);
    assert_broken(&run, 4, "protocol_idle_stream", false);
}

pub(crate) fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    [&[kind][..], &(body.len() as u32 + 4).to_be_bytes(), body].concat()
}

/// Lets everybody in, prepares whatever it is asked for, and says `tenth` behind the answer to every tenth transaction.
fn postgres(tenth: Vec<u8>) -> String {
    let address = serving(move |mut stream, requests| {
        let ready = message(b'Z', b"I");
        hear(&mut stream)?;
        stream.write_all(&[message(b'R', &[0; 4]), ready.clone()].concat())?;
        hear(&mut stream)?;
        stream.write_all(&[message(b'1', b""), ready.clone()].concat())?;
        while hear(&mut stream)? {
            let number = requests.fetch_add(1, Ordering::Relaxed);
            let mut answer = [message(b'2', b""), message(b'C', b"SELECT 1\0"), ready.clone()].concat();
            if number % 10 == 9 {
                answer.extend(&tenth);
            }
            stream.write_all(&answer)?;
        }
        Ok(())
    });
    format!("postgres://u@{address}/d")
}

#[test]
fn messages_of_postgresql_out_of_turn() {
    let error = |severity: &str, state: &str| {
        message(b'E', format!("S{severity}\0V{severity}\0C{state}\0Mwhy\0\0").as_bytes())
    };
    for said in [message(b'C', b"SELECT 1\0"), error("ERROR", "XX000")] {
        let run = run(&postgres(said), &["-c", "1", "--sql", "SELECT 1"]);
        run.assert_all("ok");
        assert_broken(&run, 4, "protocol_unasked", true);
        assert_eq!(run.connections("closed_by_target"), 0);
    }
    // Somebody has stopped the server, and it says so.
    let run = run(&postgres(error("FATAL", "57P01")), &["-c", "1", "--sql", "SELECT 1"]);
    run.assert_all("ok");
    assert_not_broken(&run);
    assert_eq!((run.connections("closed_by_target"), run.connections("opened")), (4, 4), "{run:?}");
}

#[test]
fn frames_of_cql_on_streams_on_which_nothing_is_under_way() {
    let manner = cql_server::Manner { doubles_each: Some(10), ..cql_server::Manner::default() };
    let server = cql_server::Server::start(manner);
    let args = ["--let", "id=uniform(1, 100)", "--cql", "SELECT name FROM item WHERE id = {{id}}"];
    let run = run(&server.url(), &[&["-c", "1", "--streams", "1"], &args[..]].concat());
    run.assert_all("ok");
    assert_broken(&run, 4, "protocol_unknown_stream", true);
    assert_eq!(run.connections("closed_by_target"), 0);
}
