//! PostgreSQL's servers that break off where a client waits for more: each arrival has one end, and what is said names the cause.

use crate::poolers::{error, message};
use crate::protocol_broken::{hear, serving};
use crate::support::{Place, Run};
use std::io::Write;
use std::sync::atomic::Ordering;

fn asked(url: &str, more: &[&str]) -> Run {
    let args = [&[url, "-R", "200", "-n", "40", "--no-preflight", "--sql", "SELECT 1"], more].concat();
    let run = Place::new().measure(&args);
    run.assert_accounts();
    run
}

/// Lets everybody in, and answers to every tenth transaction with an error and nothing more, so that it is never ready again.
fn falls_silent() -> String {
    let address = serving(|mut stream, requests| {
        let ready = message(b'Z', b"I");
        hear(&mut stream)?;
        stream.write_all(&[message(b'R', &[0; 4]), ready.clone()].concat())?;
        hear(&mut stream)?;
        stream.write_all(&[message(b'1', b""), ready.clone()].concat())?;
        let mut is_silent = false;
        while hear(&mut stream)? {
            let number = requests.fetch_add(1, Ordering::Relaxed);
            is_silent |= number % 10 == 9;
            if number % 10 == 9 {
                stream.write_all(&[message(b'2', b""), error("40001")].concat())?;
            } else if !is_silent {
                stream
                    .write_all(&[message(b'2', b""), message(b'C', b"SELECT 1\0"), ready.clone()].concat())?;
            }
        }
        Ok(())
    });
    format!("postgres://u@{address}/d")
}

#[test]
fn an_error_after_which_the_server_falls_silent_times_out() {
    let run = asked(&falls_silent(), &["-c", "4", "--timeout", "1s"]);
    // Whether the transaction was rolled back, nobody has said: it is no failure of that error.
    assert_eq!((run.arrivals("ok"), run.arrivals("timed_out")), (36, 4), "{run:?}");
    assert_eq!((run.arrivals("timed_out_never_sent"), run.arrivals("failed")), (0, 0), "{run:?}");
    // Each connection is stuck, and is closed for that.
    assert_eq!(run.connections("closed_on_timeout"), 4, "{run:?}");
    assert!(run.at("/origins/0/connections").get("closed_broken").is_none(), "{run:?}");
}

#[test]
fn an_error_after_which_the_server_falls_silent_is_named_by_the_check_before_the_run() {
    let address = serving(|mut stream, _| {
        let ready = message(b'Z', b"I");
        hear(&mut stream)?;
        stream.write_all(&[message(b'R', &[0; 4]), ready.clone()].concat())?;
        hear(&mut stream)?;
        stream.write_all(&[message(b'1', b""), ready].concat())?;
        hear(&mut stream)?;
        stream.write_all(&[message(b'2', b""), error("40001")].concat())?;
        hear(&mut stream).map(|_| ())
    });
    let url = format!("postgres://u@{address}/d");
    let args = ["run", &url, "-R", "10", "-n", "1", "--timeout", "300ms", "--sql", "SELECT 1"];
    let said = Place::new().call(&args);
    let stderr = said.stderr.replace("\n    ", " ");
    assert!(said.code() == Some(1) && stderr.contains("no whole answer"), "{said:?}");
    assert!(stderr.contains("a statement (40001)"), "{said:?}");
}

/// As a server does that knows nothing of TLS, or has no room for another process.
#[test]
fn an_error_in_the_place_of_the_word_on_tls_is_named() {
    let old = b"EFATAL:  sorry, too many clients already\n\0".to_vec();
    for answer in [error("53300"), old] {
        for pieces in [1, answer.len()] {
            let answer = answer.clone();
            let address = serving(move |mut stream, _| {
                hear(&mut stream)?;
                for piece in answer.chunks(answer.len().div_ceil(pieces)) {
                    stream.write_all(piece)?;
                    std::thread::yield_now();
                }
                Ok(())
            });
            let url = format!("postgres://u@{address}/d?sslmode=require");
            asked(&url, &["-c", "2"]).assert_all_failed("tls");
            let said = Place::new().call(&["run", &url, "-R", "10", "-n", "1", "--sql", "SELECT 1"]);
            let stderr = said.stderr.replace("\n    ", " ");
            assert!(said.code() == Some(1) && stderr.contains("request for TLS with an error"), "{said:?}");
            assert!(stderr.contains("sslmode=disable") && !stderr.contains("too many clients"), "{said:?}");
        }
    }
}
