//! What the server speaks, over real sockets.

mod support;

use std::io::Write;
use std::net::Shutdown;
use std::time::Duration;

use support::{GET, config, connect, constant, exchange, expect_end, receive, receive_head, send, serve};
use unblink_lab::spawn;

#[test]
fn a_connection_is_kept_alive() {
    let server = serve(constant(1));
    let mut stream = connect(server.local_addr());
    for _ in 0..3 {
        let answer = exchange(&mut stream, GET);
        assert_eq!((answer.status, answer.body.len()), (200, 16));
        assert!(!answer.head.contains("Connection:"));
    }
    let summary = server.stop().expect("a summary");
    assert_eq!((summary.requests, summary.served, summary.connections, summary.abandoned), (3, 3, 1, 0));
}

#[test]
fn close_and_http_1_0_end_the_connection() {
    let server = serve(constant(0));
    for request in ["GET / HTTP/1.1\r\nHost: lab\r\nConnection: close\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"] {
        let mut stream = connect(server.local_addr());
        let answer = exchange(&mut stream, request);
        assert!(answer.head.contains("Connection: close\r\n"));
        expect_end(&mut stream);
    }
    let mut stream = connect(server.local_addr());
    for _ in 0..2 {
        let answer = exchange(&mut stream, "GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
        assert!(answer.head.contains("Connection: keep-alive\r\n"));
    }
}

#[test]
fn pipelined_requests_are_answered_one_after_the_other() {
    let server = serve(constant(5));
    let mut stream = connect(server.local_addr());
    let healthy = "GET /healthy HTTP/1.1\r\nHost: lab\r\n\r\n";
    send(
        &mut stream,
        [GET, healthy, GET, "POST / HTTP/1.1\r\nHost: lab\r\nContent-Length: 3\r\n\r\nabc", GET].concat(),
    );
    let bodies: Vec<_> = (0..5).map(|_| receive(&mut stream).body.len()).collect();
    assert_eq!(bodies, [16, 8, 16, 16, 16]);
    assert_eq!(server.stop().expect("a summary").served, 4);
}

#[test]
fn more_pipelined_requests_than_one_turn_takes() {
    let server = serve(constant(0));
    let mut stream = connect(server.local_addr());
    let mut writer = stream.try_clone().expect("a clone");
    let request = "GET /healthy HTTP/1.1\r\nHost: lab\r\n\r\n";
    let sender = std::thread::spawn(move || send(&mut writer, request.repeat(5_000)));
    for _ in 0..5_000 {
        assert_eq!(receive(&mut stream).status, 200);
    }
    sender.join().expect("sent");
}

#[test]
fn head_has_no_body() {
    let server = serve(constant(0));
    let mut stream = connect(server.local_addr());
    send(&mut stream, "HEAD / HTTP/1.1\r\nHost: lab\r\n\r\n");
    assert!(receive_head(&mut stream).head.contains("Content-Length: 16\r\n"));
    assert_eq!(exchange(&mut stream, GET).body.len(), 16);
}

#[test]
fn request_bodies_are_read_and_thrown_away() {
    let server = serve(constant(0));
    let mut stream = connect(server.local_addr());
    let chunked = "POST / HTTP/1.1\r\nHost: lab\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(exchange(&mut stream, format!("{chunked}4\r\nGET \r\n0\r\n\r\n")).status, 200);
    // Larger than all buffers on the way.
    let large = vec![b'x'; 8 << 20];
    send(&mut stream, format!("PUT / HTTP/1.1\r\nHost: lab\r\nContent-Length: {}\r\n\r\n", large.len()));
    assert_eq!(exchange(&mut stream, &large).status, 200);
    assert_eq!(exchange(&mut stream, GET).status, 200);
    assert_eq!(server.stop().expect("a summary").bad_requests, 0);
}

#[test]
fn a_head_may_come_in_pieces() {
    let server = serve(constant(0));
    let mut stream = connect(server.local_addr());
    for piece in GET.as_bytes().chunks(5) {
        stream.write_all(piece).expect("sent");
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(receive(&mut stream).status, 200);
}

#[test]
fn continue_is_sent_when_asked_for() {
    let server = serve(constant(0));
    let mut stream = connect(server.local_addr());
    send(&mut stream, "POST / HTTP/1.1\r\nHost: lab\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n");
    assert_eq!(receive_head(&mut stream).status, 100);
    assert_eq!(exchange(&mut stream, "ab").status, 200);
}

#[test]
fn nonsense_is_rejected_and_the_connection_closed() {
    let server = serve(constant(0));
    let long = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", "a".repeat(20_000));
    let cases = [
        ("nonsense\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\n\r\n", 400),
        ("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", 417),
        (&long, 431),
        ("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501),
        ("GET / HTTP/3.0\r\n\r\n", 505),
    ];
    for (request, status) in cases {
        let mut stream = connect(server.local_addr());
        // What follows a rejected request must not destroy the answer on its way.
        let answer = exchange(&mut stream, [request, &"x".repeat(100_000)].concat());
        assert_eq!(answer.status, status, "{request:.60}");
        expect_end(&mut stream);
    }
    let summary = server.stop().expect("a summary");
    assert_eq!((summary.bad_requests, summary.requests), (7, 0));
}

#[test]
fn an_end_amid_a_request_is_no_request() {
    let server = serve(constant(0));
    let mut stream = connect(server.local_addr());
    send(&mut stream, "POST / HTTP/1.1\r\nHost: lab\r\nContent-Length: 9\r\n\r\nabc");
    stream.shutdown(Shutdown::Write).expect("shut");
    expect_end(&mut stream);
    assert_eq!(server.stop().expect("a summary").requests, 0);
}

#[test]
fn large_answers_arrive_whole() {
    let mut config = config(constant(0));
    config.body_bytes = 8 << 20;
    let server = spawn(config).expect("a server");
    let mut stream = connect(server.local_addr());
    send(&mut stream, [GET, GET].concat());
    // Long enough for the server to fill the socket.
    std::thread::sleep(Duration::from_millis(50));
    for _ in 0..2 {
        let body = receive(&mut stream).body;
        assert_eq!(body.len(), 8 << 20);
        assert!(body.chunks(12).all(|part| b"unblink lab\n".starts_with(part)));
    }
}
