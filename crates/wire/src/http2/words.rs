//! What HTTP/2 says to people.

use super::connection::Http2;
use super::fault::Fault;
use crate::protocol::{Protocol, Reply, Violation};
use crate::words::{Words, first_line};

impl Words for Http2 {
    const NAME: &'static str = "HTTP/2";

    const SCHEMES: [&'static str; 2] = ["http", "https"];

    fn explain(&self, violation: Violation) -> String {
        match violation {
            Violation::ClosedEarly if self.is_answering() => {
                "the connection was closed inside the answer".into()
            }
            Violation::ClosedEarly if !self.is_ready => {
                "the connection was closed before the server said anything in HTTP/2; if it speaks HTTP/1.1 only, \
                 measure it with --http 1.1"
                    .into()
            }
            Violation::ClosedEarly => "the connection was closed before any byte of the answer".into(),
            Violation::TooLarge => "the answer is larger than its limit".into(),
            Violation::Malformed(number) => {
                let fault = Fault::ALL.get(usize::from(number)).copied().unwrap_or(Fault::NotHttp2);
                match fault {
                    Fault::NotHttp2 | Fault::AnsweredInHttp1 | Fault::NotNegotiated => {
                        format!("{fault}; if it speaks HTTP/1.1, measure it with --http 1.1")
                    }
                    fault => fault.to_string(),
                }
            }
        }
    }

    fn quote(reply: &Reply, _: &[u8]) -> String {
        format!("HTTP/2 {}", reply.code)
    }

    fn first_line(received: &[u8]) -> Option<String> {
        // Frames are no text.
        received.starts_with(b"HTTP/").then(|| first_line(received)).flatten()
    }

    fn objection(reply: &Reply) -> Option<&'static str> {
        crate::http1::Http1::objection(reply)
    }
}
