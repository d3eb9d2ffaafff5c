//! What is answered. The bytes of HTTP/1.x are made once, where the same is sent again and again.

use std::fmt::Write;
use std::sync::Arc;

use bytes::Bytes;

use crate::framer::{Reject, Request};

/// Answers that are sent again and again.
#[derive(Debug)]
pub(crate) struct Answers {
    pub(crate) scenario: Answer,
    pub(crate) failing: Answer,
    pub(crate) healthy: Answer,
}

impl Answers {
    /// `body_bytes` is the size of the body that a scenario's answers have.
    pub(crate) fn new(body_bytes: usize) -> Self {
        let body: Bytes = b"unblink lab\n".iter().copied().cycle().take(body_bytes).collect();
        Self {
            scenario: Answer::new("200 OK", "text/plain", body.clone()).prepared(),
            failing: Answer::new("500 Internal Server Error", "text/plain", body).prepared(),
            healthy: Answer::text("200 OK", "healthy\n").prepared(),
        }
    }
}

/// An answer, whatever the protocol.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// Its code and phrase.
    status: &'static str,
    content_type: &'static str,
    body: Bytes,
    /// Its bytes in HTTP/1.x, if they were made beforehand.
    forms: Option<Forms>,
}

/// In each form: with a body or for HEAD, by what it says of the connection.
type Forms = [[Arc<[u8]>; 3]; 2];

impl Answer {
    /// `status` is its code and phrase.
    pub(crate) fn new(status: &'static str, content_type: &'static str, body: impl Into<Bytes>) -> Self {
        Self { status, content_type, body: body.into(), forms: None }
    }

    pub(crate) fn text(status: &'static str, body: &'static str) -> Self {
        Self::new(status, "text/plain", body)
    }

    /// In JSON to the request with this number: every third one says that something is paid.
    pub(crate) fn numbered(number: u64) -> Self {
        let state = if number.is_multiple_of(3) { "paid" } else { "open" };
        let body = format!("{{\"id\":{number},\"token\":\"t-{number:08x}\",\"state\":\"{state}\"}}\n");
        Self::new("200 OK", "application/json", body)
    }

    /// To nonsense; the connection is closed after it.
    pub(crate) fn rejection(reject: Reject) -> Self {
        let (status, body) = match reject {
            Reject::BadRequest => ("400 Bad Request", "400 Bad Request\n"),
            Reject::ExpectationFailed => ("417 Expectation Failed", "417 Expectation Failed\n"),
            Reject::HeadTooLarge => {
                ("431 Request Header Fields Too Large", "431 Request Header Fields Too Large\n")
            }
            Reject::UnknownTransferCoding => ("501 Not Implemented", "501 Not Implemented\n"),
            Reject::UnknownVersion => ("505 HTTP Version Not Supported", "505 HTTP Version Not Supported\n"),
        };
        Self::text(status, body)
    }

    fn prepared(mut self) -> Self {
        let form = |head_only| {
            [Persistence::Default, Persistence::KeepAlive, Persistence::Close]
                .map(|persistence| self.message(head_only, persistence))
        };
        self.forms = Some([form(false), form(true)]);
        self
    }

    /// All of it, as HTTP/1.x has it.
    pub(crate) fn bytes(&self, request: Request) -> Arc<[u8]> {
        let persistence = Persistence::of(request);
        match &self.forms {
            Some(forms) => forms[usize::from(request.head_only)][persistence as usize].clone(),
            None => self.message(request.head_only, persistence),
        }
    }

    /// Its head, as HTTP/2 has it.
    pub(crate) fn head(&self) -> http::Response<()> {
        let code = self.status.split(' ').next().and_then(|code| code.parse().ok());
        let mut head = http::Response::new(());
        *head.status_mut() = code.unwrap_or_default();
        let headers = head.headers_mut();
        headers.insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(self.content_type));
        headers.insert(http::header::CONTENT_LENGTH, self.body.len().into());
        head
    }

    /// A status of success.
    pub(crate) fn is_ok(&self) -> bool {
        self.status.starts_with('2')
    }

    pub(crate) fn body(&self) -> Bytes {
        self.body.clone()
    }

    fn message(&self, head_only: bool, persistence: Persistence) -> Arc<[u8]> {
        let mut head = format!("HTTP/1.1 {}\r\nContent-Type: {}\r\n", self.status, self.content_type);
        // Writing to a String cannot fail.
        let _ = write!(head, "Content-Length: {}\r\n", self.body.len());
        head += match persistence {
            Persistence::Default => "",
            Persistence::KeepAlive => "Connection: keep-alive\r\n",
            Persistence::Close => "Connection: close\r\n",
        };
        head += "\r\n";
        let mut bytes = head.into_bytes();
        if !head_only {
            bytes.extend_from_slice(&self.body);
        }
        bytes.into()
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
