//! Answers that come bit by bit: events, with a gap between one and the next.

use std::fmt::Write;
use std::time::Duration;

use bytes::Bytes;

use crate::framer::Request;

/// How an answer comes bit by bit. The first event leaves when a whole answer would; a shut gate holds each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventStream {
    /// Events of each answer, at least 1.
    pub count: u32,
    /// From the time when one was due to that of the next.
    pub gap: Duration,
}

impl EventStream {
    /// The most events of an answer.
    pub const MOST: u32 = 10_000;
}

impl Default for EventStream {
    /// Ten events, 10 ms apart.
    fn default() -> Self {
        Self { count: 10, gap: Duration::from_millis(10) }
    }
}

/// One event of the answer to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// The request's number in the model.
    pub(crate) request: u64,
    /// Counted from 0.
    pub(crate) nth: u32,
    pub(crate) is_last: bool,
}

const CONTENT_TYPE: &str = "text/event-stream";

/// The head before the events, as HTTP/2 has it.
pub(crate) fn head() -> http::Response<()> {
    let mut head = http::Response::new(());
    head.headers_mut().insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(CONTENT_TYPE));
    head
}

impl Part {
    /// As a server-sent event.
    pub(crate) fn event(self) -> Bytes {
        format!("id: {}\ndata: {{\"request\":{},\"event\":{}}}\n\n", self.nth, self.request, self.nth).into()
    }

    /// Its bytes in HTTP/1.x, with the head before the first one. HTTP/1.0 knows no chunks: there the end of the connection
    /// is that of the answer.
    pub(crate) fn bytes(self, request: Request) -> Vec<u8> {
        let mut bytes = String::new();
        if self.nth == 0 {
            bytes += "HTTP/1.1 200 OK\r\nContent-Type: ";
            bytes += CONTENT_TYPE;
            bytes += if request.http10 { "\r\n" } else { "\r\nTransfer-Encoding: chunked\r\n" };
            bytes += if request.keep_alive { "\r\n" } else { "Connection: close\r\n\r\n" };
        }
        let event = String::from_utf8_lossy(&self.event()).into_owned();
        if request.http10 {
            return (bytes + &event).into();
        }
        // Writing to a String cannot fail.
        let _ = write!(bytes, "{:x}\r\n{event}\r\n", event.len());
        bytes += if self.is_last { "0\r\n\r\n" } else { "" };
        bytes.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_one_answer() {
        let [first, last] = [0, 1]
            .map(|nth| Part { request: 7, nth, is_last: nth == 1 }.bytes(Request::of_stream("GET", "/")));
        let text = String::from_utf8([first, last].concat()).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        assert!(head.contains("Transfer-Encoding: chunked") && !head.contains("close"), "{head}");
        let event = |nth: u32| format!("id: {nth}\ndata: {{\"request\":7,\"event\":{nth}}}\n\n");
        let size = event(0).len();
        assert_eq!(body, format!("{size:x}\r\n{}\r\n{size:x}\r\n{}\r\n0\r\n\r\n", event(0), event(1)));
    }

    #[test]
    fn http_1_0_ends_an_answer_with_its_connection() {
        let request = Request { http10: true, keep_alive: false, ..Request::of_stream("GET", "/") };
        let text =
            String::from_utf8(Part { request: 0, nth: 0, is_last: true }.bytes(request)).expect("text");
        assert!(text.contains("Connection: close\r\n\r\nid: 0\n") && !text.contains("chunked"), "{text}");
    }
}
