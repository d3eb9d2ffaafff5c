//! The request before the run, to servers that misbehave below HTTP: each is told of in words that say what to do.

use crate::support::Place;
use crate::support::hostile::{Act, Hostile, answer};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::Duration;

/// More than the socket's buffers hold.
const LONG_BODY: usize = 16 << 20;

/// Serves each connection in a thread of its own.
fn serving(serve: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    let serve = Arc::new(serve);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        }
    });
    address
}

/// The same behind a handshake, which the first byte that is read or written begins.
fn serving_tls(
    serve: impl Fn(StreamOwned<ServerConnection, TcpStream>) + Send + Sync + 'static,
) -> SocketAddr {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .expect("a server");
    let config = Arc::new(config);
    serving(move |stream| {
        serve(StreamOwned::new(ServerConnection::new(config.clone()).expect("a session"), stream));
    })
}

/// Reads a request without a body.
fn read_head(stream: &mut impl Read) {
    let mut read = Vec::new();
    let mut byte = [0];
    while !read.ends_with(b"\r\n\r\n") && stream.read(&mut byte).is_ok_and(|n| n == 1) {
        read.push(byte[0]);
    }
}

/// Waits for the client to go.
fn outwait(stream: &mut impl Read) {
    while stream.read(&mut [0; 1024]).is_ok_and(|n| n > 0) {}
}

#[track_caller]
fn says(url: &str, args: &[&str], parts: &[&str], never: &[&str]) {
    let place = Place::new();
    let said = place.call(&[&["run", url, "-R", "10", "-n", "1", "-o", "out"], args].concat());
    assert_eq!(said.code(), Some(1), "{said:?}");
    assert!(said.stderr.contains("the request before the run failed"), "{said:?}");
    for part in parts {
        assert!(said.stderr.contains(part), "{part:?} is missing in {said:?}");
    }
    for part in never {
        assert!(!said.stderr.contains(part), "{part:?} is in {said:?}");
    }
    assert_eq!(place.run_json()["validity"]["findings"][0]["code"], "preflight_failed");
    // Nothing was measured, so that there are no tables of nothing.
    assert!(said.stdout.contains("INVALID") && !said.stdout.contains("Arrivals"), "{}", said.stdout);
}

fn http(address: SocketAddr) -> String {
    format!("http://{address}/")
}

fn https(address: SocketAddr) -> String {
    format!("https://{address}/")
}

#[test]
fn a_server_that_closes() {
    let hint = "a server that speaks TLS may do so: if it is one, write https";
    let after = serving(|mut stream| read_head(&mut stream));
    says(&http(after), &[], &["gave no whole answer", "closed before any byte", hint], &[]);
    // At once: before the request, or with it unread, which is a reset.
    says(&http(serving(drop)), &[], &[" gave no "], &["timeout"]);
    let in_head = serving(|mut stream| {
        read_head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 Fi");
    });
    says(&http(in_head), &[], &["inside the answer's head (\"HTTP/1.1 200 Fi\")"], &[hint]);
}

#[test]
fn a_server_that_talks_before_it_is_asked() {
    let smtp = serving(|mut stream| {
        let _ = stream.write_all(b"220 smtp ready\r\n");
        outwait(&mut stream);
    });
    let parts = ["does not answer in well-formed HTTP/1.1", "does not begin with HTTP/ (\"220 smtp ready\")"];
    says(&http(smtp), &[], &parts, &["timeout"]);
}

#[test]
fn a_head_that_never_ends() {
    let quick = serving(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"A: b\r\n").is_ok() {}
    });
    says(&http(quick), &[], &["head is larger than its limit (\"HTTP/1.1 200 OK\")"], &["timeout"]);
    let slow = serving(|mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n");
        while stream.write_all(b"A").is_ok() {
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let parts = ["gave no whole answer: the timeout passed (\"HTTP/1.1 200 OK\")"];
    says(&http(slow), &["--timeout", "300ms"], &parts, &[]);
}

#[test]
fn an_answer_before_a_long_body_was_read() {
    let early = b"HTTP/1.1 413 Too Much\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig";
    let place = Place::new();
    let body = place.file("body", vec![b'x'; LONG_BODY]);
    let args = ["-k", "--body-file", body.to_str().expect("UTF-8")];
    let parts = ["the target answers \"HTTP/1.1 413 Too Much\": every such answer would count as failed"];
    let plain = serving(move |mut stream| {
        read_head(&mut stream);
        let _ = stream.write_all(early);
        // Heard before the reset, which what is left unread leads to.
        std::thread::sleep(Duration::from_millis(50));
    });
    says(&http(plain), &args[1..], &parts, &[]);
    let tls = serving_tls(move |mut stream| {
        read_head(&mut stream);
        let _ = stream.write_all(early).and_then(|()| stream.flush());
        std::thread::sleep(Duration::from_millis(50));
    });
    says(&https(tls), &args, &parts, &[]);
}

#[test]
fn tls_and_plain_text_mixed_up() {
    let plain = Hostile::start(|_| Act::Answer(answer("200 OK", "")));
    let waits = serving(|mut stream| outwait(&mut stream));
    let answers = serving(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        outwait(&mut stream);
    });
    let closes = serving(|mut stream| {
        let _ = stream.read(&mut [0; 4096]);
    });
    let short = ["-k", "--timeout", "300ms"];
    says(&https(answers), &["-k"], &["does not seem to speak TLS: write http"], &["write https"]);
    says(&https(waits), &short, &["the timeout passed", "does not speak TLS waits like this"], &[]);
    says(&https(closes), &["-k"], &["closed during the TLS handshake", "if it is one, write http"], &[]);
    // A test server that waits for the end of a line.
    says(&https(plain.address), &short, &["gave no answer"], &[]);

    let stalls = serving_tls(|mut stream| {
        read_head(&mut stream);
        outwait(&mut stream);
    });
    says(&http(stalls), &[], &["it seems to speak TLS: write https"], &[]);
    // It took the handshake: that it speaks TLS is known.
    says(&https(stalls), &short, &["gave no answer: the timeout passed"], &["write http"]);
}

#[test]
fn a_body_that_tls_does_not_end() {
    let cut = serving_tls(|mut stream| {
        read_head(&mut stream);
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nall of it, or not").and_then(|()| stream.flush());
    });
    says(&https(cut), &["-k"], &["closed inside the answer's body (\"HTTP/1.1 200 OK\")"], &[]);
}

#[test]
fn the_final_answer_is_quoted() {
    let hinting = Hostile::start(|_| {
        let hint = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n".to_vec();
        Act::Answer([hint, answer("500 Broken", "")].concat())
    });
    says(&hinting.url(), &[], &["HTTP/1.1 500 Broken"], &["Early Hints"]);
}

#[test]
fn the_condition_that_does_not_hold_is_told_and_no_secret() {
    let server = Hostile::start(|_| {
        let body = r#"{"state":"pending","token":"s3cret","n":7}"#;
        let head = "HTTP/1.1 200 OK\r\nX-State: old\r\nX-Key: s3cret\r\n";
        Act::Answer(format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes())
    });
    for (condition, parts) in [
        ("header X-Id", &["(header X-Id exists): there is no such header"][..]),
        ("header X-State = new", &["(header X-State == (3 bytes)): it is \"old\""]),
        ("header X-Key = other", &["another text, of 6 characters"]),
        ("json $.state == 'done'", &["(json $.state == (4 bytes)): it is \"pending\""]),
        ("json $.token == 'other'", &["another text, of 6 characters"]),
        ("json $.n > 7", &["(json $.n > 7): it is 7"]),
        ("json $.id exists", &["(json $.id exists): there is nothing"]),
        ("regex ^x", &["does not match", "(2 bytes)"]),
        ("contains=gone", &["does not contain", "body of 42 bytes"]),
        ("size=1..5", &["the size of its body", "(size=1..5): it has 42 bytes"]),
        ("status=201", &["its status", "(status=201): it is 200"]),
    ] {
        says(&server.url(), &["--expect", condition], parts, &["s3cret"]);
    }
    for (coding, reason) in [("gzip", "not what its Content-Encoding says"), ("zz", "none of gzip")] {
        let server = Hostile::start(move |_| {
            let head = format!("HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: 3\r\n\r\n");
            Act::Answer([head.as_bytes(), b"abc"].concat())
        });
        says(&server.url(), &["--expect", "contains=hello"], &["held against --expect", reason], &[]);
    }
}

/// A column of 32 bits holds the number of the request before the run, and no arrival of the run has it.
#[test]
fn the_number_of_the_request_before_the_run_is_no_arrivals_and_fits_a_column() {
    let server = Hostile::start(|_| Act::Answer(answer("200 OK", "")));
    let place = Place::new();
    let url = format!("{}?n={{{{index}}}}", server.url());
    place.measure(&[&url, "-R", "20", "-n", "3", "-t", "1"]).assert_all("ok");
    let seen: Vec<i32> = server
        .seen()
        .iter()
        .map(|seen| seen.target.strip_prefix("/?n=").and_then(|n| n.parse().ok()).expect("32 bits"))
        .collect();
    assert_eq!(seen, [i32::MAX, 0, 1, 2]);
}
