//! The bytes of the answers, made once.

use std::fmt::Write;
use std::sync::Arc;

use crate::framer::{Reject, Request};

/// Answers that are sent again and again.
#[derive(Debug)]
pub(crate) struct Answers {
    scenario: Prepared,
    failing: Prepared,
    healthy: Prepared,
}

/// One answer in each form: with a body or for HEAD, by what it says of the connection.
#[derive(Debug)]
struct Prepared([[Arc<[u8]>; 3]; 2]);

impl Answers {
    /// `body_bytes` is the size of the body that a scenario's answers have.
    pub(crate) fn new(body_bytes: usize) -> Self {
        let body: Vec<u8> = b"unblink lab\n".iter().copied().cycle().take(body_bytes).collect();
        Self {
            scenario: Prepared::new("200 OK", &body),
            failing: Prepared::new("500 Internal Server Error", &body),
            healthy: Prepared::new("200 OK", b"healthy\n"),
        }
    }

    pub(crate) fn scenario(&self, request: Request) -> Arc<[u8]> {
        self.scenario.get(request)
    }

    pub(crate) fn failing(&self, request: Request) -> Arc<[u8]> {
        self.failing.get(request)
    }

    pub(crate) fn healthy(&self, request: Request) -> Arc<[u8]> {
        self.healthy.get(request)
    }
}

impl Prepared {
    fn new(status: &str, body: &[u8]) -> Self {
        let form = |head_only| {
            [Persistence::Default, Persistence::KeepAlive, Persistence::Close]
                .map(|persistence| message(status, "text/plain", body, head_only, persistence))
        };
        Self([form(false), form(true)])
    }

    fn get(&self, request: Request) -> Arc<[u8]> {
        self.0[usize::from(request.head_only)][Persistence::of(request) as usize].clone()
    }
}

/// What an answer says of its connection.
#[derive(Clone, Copy)]
enum Persistence {
    /// Nothing: HTTP/1.1 stays open.
    Default,
    KeepAlive,
    Close,
}

impl Persistence {
    fn of(request: Request) -> Self {
        match (request.keep_alive, request.http10) {
            (false, _) => Self::Close,
            (true, true) => Self::KeepAlive,
            (true, false) => Self::Default,
        }
    }
}

/// An answer made for one request. `status` is its code and phrase.
pub(crate) fn answer(request: Request, status: &str, content_type: &str, body: &str) -> Arc<[u8]> {
    message(status, content_type, body.as_bytes(), request.head_only, Persistence::of(request))
}

/// An answer in JSON to the request with this number: every third one says that something is paid.
pub(crate) fn numbered(request: Request, number: u64) -> Arc<[u8]> {
    let state = if number.is_multiple_of(3) { "paid" } else { "open" };
    let body = format!("{{\"id\":{number},\"token\":\"t-{number:08x}\",\"state\":\"{state}\"}}\n");
    answer(request, "200 OK", "application/json", &body)
}

/// The answer to nonsense; the connection is closed after it.
pub(crate) fn rejection(reject: Reject) -> Arc<[u8]> {
    let status = match reject {
        Reject::BadRequest => "400 Bad Request",
        Reject::ExpectationFailed => "417 Expectation Failed",
        Reject::HeadTooLarge => "431 Request Header Fields Too Large",
        Reject::UnknownTransferCoding => "501 Not Implemented",
        Reject::UnknownVersion => "505 HTTP Version Not Supported",
    };
    message(status, "text/plain", format!("{status}\n").as_bytes(), false, Persistence::Close)
}

fn message(
    status: &str,
    content_type: &str,
    body: &[u8],
    head_only: bool,
    persistence: Persistence,
) -> Arc<[u8]> {
    let mut head = format!("HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n");
    // Writing to a String cannot fail.
    let _ = write!(head, "Content-Length: {}\r\n", body.len());
    head += match persistence {
        Persistence::Default => "",
        Persistence::KeepAlive => "Connection: keep-alive\r\n",
        Persistence::Close => "Connection: close\r\n",
    };
    head += "\r\n";
    let mut bytes = head.into_bytes();
    if !head_only {
        bytes.extend_from_slice(body);
    }
    bytes.into()
}
