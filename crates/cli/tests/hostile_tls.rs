//! A target that misbehaves below HTTP: TLS that ends wrongly, or is no TLS at all.

use crate::support::{Place, Run};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;

type Tls = StreamOwned<ServerConnection, TcpStream>;

/// Serves each connection in a thread of its own: handshake, then the script with the number of the
/// request on this connection. The connection ends when the script says false.
fn serve(script: impl Fn(&mut Tls, usize) -> bool + Send + Sync + 'static) -> SocketAddr {
    serve_choosing(&[], script)
}

/// The same; it chooses a protocol from `alpn`.
fn serve_choosing(
    alpn: &[&str],
    script: impl Fn(&mut Tls, usize) -> bool + Send + Sync + 'static,
) -> SocketAddr {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_string()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![certified.cert.der().clone()], key)
        .expect("a server");
    config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let (config, script) = (Arc::new(config), Arc::new(script));
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (config, script) = (config.clone(), script.clone());
            std::thread::spawn(move || {
                let session = ServerConnection::new(config).expect("a session");
                let mut tls = StreamOwned::new(session, stream);
                let mut number = 0;
                while read_head(&mut tls) && script(&mut tls, number) {
                    number += 1;
                }
            });
        }
    });
    address
}

fn read_head(tls: &mut Tls) -> bool {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        match tls.read(&mut byte) {
            Ok(1) => head.push(byte[0]),
            _ => return false,
        }
    }
    true
}

fn send(tls: &mut Tls, bytes: &[u8]) {
    let _ = tls.write_all(bytes).and_then(|()| tls.flush());
}

/// Says goodbye as TLS asks for it.
fn close_notify(tls: &mut Tls) {
    tls.conn.send_close_notify();
    let _ = tls.flush();
}

fn run(address: SocketAddr, load: &[&str]) -> Run {
    let url = format!("https://{address}/");
    Place::new().measure(&[&[&url, "-k", "--no-preflight", "--timeout", "5s"], load].concat())
}

const TWENTY: [&str; 4] = ["-R", "100", "-n", "20"];

#[test]
fn kept_connections() {
    let address = serve(|tls, _| {
        send(tls, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        true
    });
    let run = run(address, &TWENTY);
    run.assert_all("ok");
    assert!(run.connections("opened") < 20);
}

#[test]
fn a_body_that_ends_with_the_connection() {
    let whole = serve(|tls, _| {
        send(tls, b"HTTP/1.1 200 OK\r\n\r\nall of it");
        close_notify(tls);
        false
    });
    run(whole, &TWENTY).assert_all("ok");
    // Without a goodbye it may have been cut off by anybody (RFC 8446 §6.1).
    let cut = serve(|tls, _| {
        send(tls, b"HTTP/1.1 200 OK\r\n\r\nall of it, or not");
        false
    });
    run(cut, &TWENTY).assert_all_failed("closed_early");
}

#[test]
fn answers_and_goodbyes_together() {
    let address = serve(|tls, _| {
        send(tls, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        close_notify(tls);
        false
    });
    run(address, &TWENTY).assert_all("ok");
    let early = serve(|tls, _| {
        send(tls, b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello");
        close_notify(tls);
        false
    });
    run(early, &TWENTY).assert_all_failed("closed_early");
}

#[test]
fn a_dead_connection_is_replaced() {
    let script = |tls: &mut Tls, number: usize| {
        if number == 0 {
            send(tls, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        }
        number == 0
    };
    // With a second connection, a request might find that one dead too.
    let run = run(serve(script), &["-R", "20", "-n", "8", "-c", "1"]);
    run.assert_all("ok");
    assert_eq!(run.connections("resent"), 7, "all but the first");
}

#[test]
fn an_answer_before_the_body_was_read_counts() {
    let early = b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 3\r\n\r\nbig";
    let address = serve(move |tls, _| {
        send(tls, early);
        // Heard before the reset, which what is left unread leads to.
        std::thread::sleep(std::time::Duration::from_millis(50));
        false
    });
    let place = Place::new();
    // More than the socket's buffers hold.
    let body = place.file("body", vec![b'x'; 16 << 20]);
    let load = ["--body-file", body.to_str().expect("UTF-8"), "-R", "50", "-n", "5"];
    run(address, &load).assert_all_failed("status_4xx");
}

#[test]
fn records_that_are_none() {
    let address = serve(|tls, _| {
        send(tls, b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello");
        // Past the session, straight into the socket.
        let _ = tls.sock.write_all(b"this is no TLS record");
        let _ = tls.sock.read(&mut [0; 64]);
        false
    });
    run(address, &TWENTY).assert_all_failed("tls");
}

#[test]
fn large_bodies_and_floods() {
    let body = vec![b'x'; 1 << 20];
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
    let address = serve(move |tls, _| {
        send(tls, head.as_bytes());
        send(tls, &body);
        true
    });
    let large = run(address, &["-R", "20", "-n", "6", "--expect", "size=1m"]);
    large.assert_all("ok");
    assert!(large.count("/bytes_received") > 6 << 20);
    let flood = serve(|tls, _| {
        send(tls, b"HTTP/1.1 200 OK\r\n\r\n");
        while tls.write_all(&[b'x'; 16 * 1024]).is_ok() {}
        false
    });
    run(flood, &["-R", "50", "-n", "5", "--max-body-size", "1m"]).assert_all_failed("too_large");
}

#[test]
fn a_handshake_that_is_answered_with_nonsense() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("an address");
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    run(address, &TWENTY).assert_all_failed("tls");
}

#[test]
fn conditions_on_what_came_through_tls() {
    let body = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xcb\x48\xcd\xc9\xc9\xd7\x51\xc8\x00\x51\x00\xff\xc5\xcc\xf3\x0c\x00\x00\x00";
    let address = serve(|tls, _| {
        let lines = "X-Id: 7\r\nContent-Encoding: gzip\r\n";
        let head = format!("HTTP/1.1 200 OK\r\n{lines}Content-Length: {}\r\n\r\n", body.len());
        // The body comes in records of its own.
        send(tls, head.as_bytes());
        send(tls, &body[..9]);
        send(tls, &body[9..]);
        true
    });
    let with = |conditions: [&str; 2]| {
        let flags = conditions.map(|condition| ["--expect", condition]).concat();
        run(address, &[&TWENTY[..], &flags].concat())
    };
    with(["header X-Id = 7", "contains=lo, hello"]).assert_all("ok");
    with(["header X-Id = 7", "contains=gone"]).assert_all_failed("unexpected_body");
    with(["header X-Id = 8", "contains=hello"]).assert_all_failed("unexpected_header");
}

#[test]
fn a_target_that_offers_http_2_is_told_where_http_1_is_measured() {
    let script = |tls: &mut Tls, _| {
        send(tls, b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello");
        true
    };
    for (alpn, is_told) in [(&["h2", "http/1.1"][..], true), (&["http/1.1"], false)] {
        let url = format!("https://{}/", serve_choosing(alpn, script));
        let run = Place::new().measure(&[&[url.as_str(), "-k"], &TWENTY[..]].concat());
        run.assert_all("ok");
        let said = run.stderr.contains("offers HTTP/2, and HTTP/1.1 is measured");
        assert_eq!(said, is_told, "{}", run.stderr);
    }
}
