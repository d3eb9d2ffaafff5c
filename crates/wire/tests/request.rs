//! Requests as they go out, and what is refused.

use unblink_wire::{RenderError, RequestBuilder, RequestKind, parse_header};

const AGENT: &str = concat!("User-Agent: unblink/", env!("CARGO_PKG_VERSION"), "\r\n");

fn headers(lines: &[&str]) -> Vec<(String, String)> {
    lines.iter().map(|line| line.split_once(':').unwrap()).map(|(n, v)| (n.into(), v.into())).collect()
}

fn render(method: &str, target: &str, lines: &[&str], body: &str) -> Result<String, RenderError> {
    let headers = headers(lines);
    let request =
        RequestBuilder { method, target, host: "a.test:8080", headers: &headers, body: body.as_bytes() };
    request.render().map(|bytes| String::from_utf8(bytes).unwrap())
}

#[test]
fn adds_what_is_missing_and_keeps_what_is_given() {
    assert_eq!(
        render("GET", "/a?b=c%20d", &[], "").unwrap(),
        format!("GET /a?b=c%20d HTTP/1.1\r\nHost: a.test:8080\r\n{AGENT}Accept: */*\r\n\r\n")
    );
    assert_eq!(
        render("GET", "/", &["x-a:1", "HOST:b", "user-agent: me", "accept:", "X-A:2"], "").unwrap(),
        "GET / HTTP/1.1\r\nx-a: 1\r\nHOST: b\r\nuser-agent: me\r\naccept:\r\nX-A: 2\r\n\r\n"
    );
    assert_eq!(
        render("OPTIONS", "*", &["X: \u{fc}\t;"], "").unwrap(),
        format!("OPTIONS * HTTP/1.1\r\nHost: a.test:8080\r\n{AGENT}Accept: */*\r\nX: \u{fc}\t;\r\n\r\n")
    );
}

#[test]
fn says_the_length_of_a_body_and_of_none_where_one_is_expected() {
    let tail = |method, lines: &[&str], body| {
        let text = render(method, "/", lines, body).unwrap();
        text.split_once("Accept: */*\r\n").unwrap().1.to_owned()
    };
    assert_eq!(tail("GET", &[], "hi"), "Content-Length: 2\r\n\r\nhi");
    for method in ["POST", "PUT", "PATCH"] {
        assert_eq!(tail(method, &[], ""), "Content-Length: 0\r\n\r\n");
    }
    for method in ["GET", "HEAD", "DELETE", "OPTIONS"] {
        assert_eq!(tail(method, &[], ""), "\r\n");
    }
    assert_eq!(tail("POST", &["content-length: 2 "], "hi"), "content-length: 2\r\n\r\nhi");
    assert_eq!(
        tail("POST", &["Transfer-Encoding: Chunked"], "hello worlds, hello"),
        "Transfer-Encoding: Chunked\r\n\r\n13\r\nhello worlds, hello\r\n0\r\n\r\n"
    );
    assert_eq!(
        tail("POST", &["Transfer-Encoding: chunked"], ""),
        "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    );
}

#[test]
fn refuses_what_would_not_arrive_as_meant() {
    for (method, target, lines, expected) in [
        ("", "/", &[][..], "method \"\" is not valid"),
        ("GE T", "/", &[], "method \"GE T\" is not valid"),
        ("GET\r\n", "/", &[], "is not valid"),
        ("GET", "", &[], "the request target is empty: use / for the root"),
        ("GET", "/a b", &[], "request target \"/a b\" contains a space: percent-encode it"),
        ("GET", "/\r\nX: y", &[], "contains a carriage return (CR)"),
        ("GET", "/\u{fc}", &[], "contains a character outside ASCII"),
        ("GET", "/\x7f", &[], "contains the control character 0x7f"),
        ("GET", "/a#b", &[], "has a fragment"),
        ("GET", "/", &["A:b\r\nC: d"], "the value of header A contains a carriage return (CR)"),
        ("GET", "/", &["A:b\nC: d"], "the value of header A contains a line break (LF)"),
        ("GET", "/", &["A:b\0"], "the value of header A contains a NUL"),
        ("GET", "/", &["A:b\x01"], "the value of header A contains the control character 0x01"),
        ("GET", "/", &["A B: c"], "header name \"A B\" is not valid"),
        ("GET", "/", &["A\r\nB: c"], "header name \"A\\r\\nB\" is not valid"),
        ("GET", "/", &[": c"], "header name \"\" is not valid"),
        ("GET", "/", &["Host: a", "host: b"], "header Host is given more than once"),
        ("GET", "/", &["Content-Length: 4", "Content-Length: 4"], "Content-Length is given more than once"),
        ("GET", "/", &["Content-Length: 5"], "given as \" 5\" but the body has 4 bytes"),
        ("GET", "/", &["Content-Length: +4"], "given as \" +4\" but the body has 4 bytes"),
        ("GET", "/", &["Content-Length:"], "given as \"\" but the body has 4 bytes"),
        ("GET", "/", &["Transfer-Encoding: gzip"], "is not supported: only chunked is"),
        ("GET", "/", &["Transfer-Encoding: gzip, chunked"], "is not supported: only chunked is"),
        ("GET", "/", &["Content-Length: 4", "Transfer-Encoding: chunked"], "are both given"),
    ] {
        let error = render(method, target, lines, "body").unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    }
    for host in ["a b", "a\r\n", "a/b", "user@a", "\u{fc}.test"] {
        let request = RequestBuilder { method: "GET", target: "/", host, headers: &[], body: b"" };
        assert!(matches!(request.render(), Err(RenderError::Host { .. })), "{host:?}");
    }
}

#[test]
fn parses_headers_as_users_write_them() {
    let ok = |line: &str| parse_header(line).unwrap();
    assert_eq!(ok("Name: value"), ("Name".into(), "value".into()));
    assert_eq!(ok("Name:value:1"), ("Name".into(), "value:1".into()));
    assert_eq!(ok("Name: \t a b \t"), ("Name".into(), "a b".into()));
    assert_eq!(ok("Name:"), ("Name".into(), String::new()));
    for (line, expected) in [
        ("Name", "header \"Name\" has no colon: write it as 'Name: value'"),
        ("", "header \"\" has no colon"),
        (":path: /", "header name \"\" is not valid"),
        ("Name : value", "header name \"Name \" is not valid"),
        ("Name: a\nb", "the value of header Name contains a line break (LF)"),
    ] {
        let error = parse_header(line).unwrap_err().to_string();
        assert!(error.contains(expected), "{error:?} lacks {expected:?}");
    }
}

#[test]
fn knows_when_the_request_closes_and_what_its_answer_looks_like() {
    let closes = |lines: &[&str]| {
        let headers = headers(lines);
        RequestBuilder { method: "GET", target: "/", host: "a", headers: &headers, body: b"" }.asks_to_close()
    };
    assert!(closes(&["connection: foo, Close"]));
    assert!(closes(&["Connection: keep-alive", "Connection: close"]));
    assert!(!closes(&["Connection: keep-alive"]));
    assert!(!closes(&[]));
    assert_eq!(RequestKind::of_method("HEAD"), RequestKind::Head);
    assert_eq!(RequestKind::of_method("CONNECT"), RequestKind::Connect);
    assert_eq!(RequestKind::of_method("head"), RequestKind::Normal);
}
