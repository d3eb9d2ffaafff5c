use super::*;
use crate::Whole;
use crate::cuts::Cuts;
use proptest::prelude::*;

const KEPT_MAX: usize = 64;

/// What a connection brought: each request in short, and how it ended.
fn read(bytes: &[u8], mut next_len: impl FnMut() -> usize) -> (Vec<String>, Option<Unreadable>) {
    let mut requests = Requests::new(Limits { head_bytes_max: 512, ..Limits::default() }, KEPT_MAX);
    let mut all = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let mut piece = &rest[..next_len().min(rest.len())];
        rest = &rest[piece.len()..];
        while !piece.is_empty() {
            match requests.feed(piece) {
                Ok((taken, event)) => {
                    assert!(taken > 0 || event.is_some(), "it stands still");
                    assert!(requests.held_of_head() <= 512, "it holds more than it may");
                    assert!(requests.held_of_body() <= KEPT_MAX, "it holds more than it may");
                    piece = &piece[taken..];
                    all.extend(event.map(|event| in_short(&event)));
                }
                Err(fault) => {
                    assert!(requests.feed(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").is_err(), "it goes on");
                    return (all, Some(fault));
                }
            }
        }
    }
    (all, None)
}

fn in_short(event: &Event) -> String {
    match event {
        Event::Continue => "continue".into(),
        Event::Request(request) if request.missing == Some(Missing::TooLarge) => {
            format!("{} too large", request.method())
        }
        Event::Request(request) => String::from_utf8_lossy(&request.copy(&[], "old.test").bytes).into_owned(),
    }
}

fn whole(text: &str) -> (Vec<String>, Option<Unreadable>) {
    read(text.as_bytes(), || usize::MAX)
}

fn fault(text: &str) -> Option<Unreadable> {
    whole(text).1
}

#[test]
fn a_copy_says_the_same_without_what_held_for_the_connection() {
    let (all, fault) = whole(
        "POST /a?b=c HTTP/1.1\r\nhost: shop.test-shadow:8080\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nTE: gzip\r\n\
         Cookie: d=e\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\nTrailer: f\r\n\r\n",
    );
    let copy =
        "POST /a?b=c HTTP/1.1\r\nhost: shop.test:8080\r\nCookie: d=e\r\nContent-Length: 5\r\n\r\nabcde";
    assert_eq!((all, fault), (vec![copy.to_string()], None));
}

#[test]
fn a_copy_is_one_request_for_whoever_reads_it() {
    let text = "PUT /x HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\nabc";
    let mut requests = Requests::new(Limits::default(), KEPT_MAX);
    let (head, leave) = requests.feed(text.as_bytes()).unwrap();
    assert!(matches!(leave, Some(Event::Continue)));
    let (_, event) = requests.feed(&text.as_bytes()[head..]).unwrap();
    let Some(Event::Request(request)) = event else { panic!("a request") };
    let copied = request.copy(&[("X-Own".into(), "1".into()), ("hOST".into(), "b".into())], "c");
    assert_eq!(Whole::read(&copied.bytes).unwrap(), copied.whole);
    let text = String::from_utf8_lossy(&copied.bytes);
    assert!(
        text.contains("\r\nhOST: b\r\n") && !text.contains("Host: a") && !text.contains("Expect"),
        "{text}"
    );
    assert!(
        copied.bytes.len()
            <= request.copy_bytes_max(&[("X-Own".into(), "1".into()), ("hOST".into(), "b".into())])
    );
}

#[test]
fn an_old_proxy_is_understood() {
    // nginx's default: HTTP/1.0, the connection closed behind each request.
    let mut requests = Requests::new(Limits::default(), KEPT_MAX);
    let of = |requests: &mut Requests, text: &str| match requests.feed(text.as_bytes()).unwrap() {
        (n, Some(Event::Request(request))) if n == text.len() => request,
        other => panic!("{other:?}"),
    };
    let request = of(&mut requests, "GET / HTTP/1.0\r\nConnection: close\r\n\r\n");
    assert!(request.is_http_1_0() && !request.keeps_connection());
    assert_eq!(&*request.copy(&[], "old.test").bytes, b"GET / HTTP/1.1\r\nHost: old.test\r\n\r\n");
    assert!(of(&mut requests, "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n").keeps_connection());
    let upgrade = "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    assert!(of(&mut requests, upgrade).is_upgrade());
}

#[test]
fn a_body_above_the_bound_is_read_to_its_end_and_not_kept() {
    let large = "x".repeat(KEPT_MAX + 1);
    let chunked = format!("{:x}\r\n{large}\r\n0\r\n\r\n", large.len());
    let text = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{large}\
         PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{chunked}\
         GET /next HTTP/1.1\r\nHost: a\r\n\r\n",
        large.len()
    );
    let (all, fault) = whole(&text);
    assert_eq!(fault, None);
    assert_eq!(all[..2], ["POST too large", "PUT too large"]);
    assert!(all[2].starts_with("GET /next "), "{all:?}");
}

#[test]
fn what_two_readers_could_end_differently_is_refused() {
    let with = |lines: &str| fault(&format!("POST / HTTP/1.1\r\nHost: a\r\n{lines}\r\n\r\n0\r\n\r\n"));
    for (lines, want) in [
        ("Content-Length: 3\r\nTransfer-Encoding: chunked", Unreadable::TwoFramings),
        ("Content-Length: 0\r\nTransfer-Encoding: chunked", Unreadable::TwoFramings),
        ("Content-Length: 3\r\nContent-Length: 3", Unreadable::Length),
        ("Content-Length: 3, 3", Unreadable::Length),
        ("Content-Length: +3", Unreadable::Length),
        ("Content-Length: 0x3", Unreadable::Length),
        ("Content-Length: -1", Unreadable::Length),
        ("Content-Length:", Unreadable::Length),
        ("Content-Length: 18446744073709551616", Unreadable::Length),
        ("Transfer-Encoding: gzip, chunked", Unreadable::Coding),
        ("Transfer-Encoding: xchunked", Unreadable::Coding),
        ("Transfer-Encoding: identity", Unreadable::Coding),
        ("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", Unreadable::Coding),
        ("Transfer-Encoding : chunked", Unreadable::HeaderName),
        ("Transfer-Encoding\t: chunked", Unreadable::HeaderName),
        (" Transfer-Encoding: chunked", Unreadable::HeaderName),
        ("X: a\r\n folded", Unreadable::HeaderName),
        ("X", Unreadable::HeaderName),
        (": x", Unreadable::HeaderName),
        ("Host: b", Unreadable::Host),
        ("X: a\nTransfer-Encoding: chunked", Unreadable::Line),
        ("X: a\rTransfer-Encoding: chunked", Unreadable::Line),
        ("X: \0", Unreadable::Line),
    ] {
        assert_eq!(with(lines), Some(want), "{lines:?}");
    }
    let first = |line: &str| fault(&format!("{line}\r\nHost: a\r\n\r\n"));
    for (line, want) in [
        ("GET / HTTP/2.0", Unreadable::Version),
        ("GET / HTTP/1.1 ", Unreadable::Version),
        ("GET  / HTTP/1.1", Unreadable::RequestLine),
        ("GET / x HTTP/1.1", Unreadable::RequestLine),
        ("GET /", Unreadable::RequestLine),
        ("G(T / HTTP/1.1", Unreadable::RequestLine),
        (" GET / HTTP/1.1", Unreadable::RequestLine),
        ("", Unreadable::RequestLine),
        ("GET /\ta HTTP/1.1", Unreadable::Target),
        ("GET http://a/ HTTP/1.1", Unreadable::Target),
        ("CONNECT a:443 HTTP/1.1", Unreadable::Target),
        ("GET * HTTP/1.1", Unreadable::Target),
    ] {
        assert_eq!(first(line), Some(want), "{line:?}");
    }
    assert_eq!(fault("GET / HTTP/1.1\r\n\r\n"), Some(Unreadable::Host));
    let old = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(fault(old), Some(Unreadable::Coding));
    let chunks = |body: &str| {
        fault(&format!("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{body}"))
    };
    for body in ["3\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n", "\r\n", "g\r\n", "11111111111111111\r\n"] {
        assert_eq!(chunks(body), Some(Unreadable::Chunked), "{body:?}");
    }
}

#[test]
fn a_head_without_an_end_ends() {
    let long = format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}", "x".repeat(600));
    assert_eq!(fault(&long), Some(Unreadable::HeadTooLarge));
    assert_eq!(fault("GET / HTTP/1.1\n\n"), Some(Unreadable::Line));
    let many = format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", "a:\r\n".repeat(200));
    let mut requests = Requests::new(Limits::default(), KEPT_MAX);
    assert_eq!(requests.feed(many.as_bytes()).err(), Some(Unreadable::TooManyHeaders));
}

/// A request as a client may write it, and what must come of it.
fn one() -> impl Strategy<Value = (String, Vec<String>)> {
    let method = prop_oneof![Just("GET"), Just("POST"), Just("OPTIONS")];
    (method, "/[a-z0-9?=%]{0,12}", prop::collection::vec("[ -~]{0,20}", 0..5), "[a-z\r\n]{0,90}", any::<u8>())
        .prop_map(|(method, target, values, body, framing)| {
            let lines: String =
                values.iter().enumerate().map(|(i, value)| format!("X-{i}: {value}\r\n")).collect();
            let kept: String =
                values.iter().enumerate().map(|(i, value)| format!("X-{i}: {}\r\n", value.trim())).collect();
            let head = format!("{method} {target} HTTP/1.1\r\nHost: a\r\n");
            let (own, has_body) = match framing % 3 {
                0 => (format!("{head}{lines}\r\n"), false),
                1 => (format!("{head}{lines}Content-Length: {}\r\n\r\n{body}", body.len()), !body.is_empty()),
                _ => {
                    let (first, second) = body.split_at(body.len() / 2);
                    let chunk = |piece: &str| match piece.is_empty() {
                        true => String::new(),
                        false => format!("{:X}\r\n{piece}\r\n", piece.len()),
                    };
                    let chunks = format!("{}{}0\r\n\r\n", chunk(first), chunk(second));
                    (format!("{head}{lines}Transfer-Encoding: chunked\r\n\r\n{chunks}"), true)
                }
            };
            let read = match has_body {
                true if body.len() > KEPT_MAX => format!("{method} too large"),
                true => format!("{head}{kept}Content-Length: {}\r\n\r\n{body}", body.len()),
                false => format!("{head}{kept}\r\n"),
            };
            (own, vec![read])
        })
}

proptest! {
    #[test]
    fn pipelined_requests_come_out_as_they_went_in_wherever_they_are_cut(
        all in prop::collection::vec(one(), 1..6), seed: u8
    ) {
        let text: String = all.iter().map(|(text, _)| text.as_str()).collect();
        let want: Vec<String> = all.into_iter().flat_map(|(_, read)| read).collect();
        let mut cuts = Cuts::new(seed);
        prop_assert_eq!(&read(text.as_bytes(), || cuts.next_len()), &(want.clone(), None));
        prop_assert_eq!(&read(text.as_bytes(), || usize::MAX), &(want, None));
    }

    #[test]
    fn whatever_comes_is_the_same_wherever_it_is_cut(
        all in prop::collection::vec(one(), 1..3), change in any::<(u16, u8)>(), seed: u8
    ) {
        let mut bytes: Vec<u8> = all.iter().flat_map(|(text, _)| text.bytes()).collect();
        let place = usize::from(change.0) % bytes.len();
        bytes[place] = change.1;
        let mut cuts = Cuts::new(seed);
        prop_assert_eq!(read(&bytes, || cuts.next_len()), read(&bytes, || usize::MAX));
        prop_assert_eq!(read(&bytes, || 1), read(&bytes, || usize::MAX));
    }
}

#[test]
fn a_body_that_is_given_up_is_read_to_its_end_and_the_next_request_is_kept() {
    let mut requests = Requests::new(Limits::default(), KEPT_MAX);
    let head = b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n";
    assert!(requests.is_between() && matches!(requests.feed(head), Ok((taken, None)) if taken == head.len()));
    assert!(matches!(requests.feed(b"abc"), Ok((3, None))));
    assert_eq!((requests.held_of_head(), requests.held_of_body()), (head.len(), 3));
    requests.give_up_body();
    assert_eq!((requests.held_of_body(), requests.is_between()), (0, false));
    let Ok((3, Some(Event::Request(first)))) = requests.feed(b"defGET") else { panic!("it is whole") };
    assert_eq!((first.method(), first.missing), ("POST", Some(Missing::NoRoom)));
    let rest = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    let Ok((_, Some(Event::Request(second)))) = requests.feed(rest) else { panic!("it is whole") };
    assert!(second.missing.is_none() && requests.is_between());
}
