//! What gRPC says to people.

use super::call::fields;
use super::fault::Fault;
use super::{CODES, Grpc};
use crate::http2::Http2;
use crate::protocol::{Protocol, Reply, Violation};
use crate::words::{Words, first_line};

impl Words for Grpc {
    const NAME: &'static str = "gRPC";

    const SCHEMES: [&'static str; 2] = ["grpc", "grpcs"];

    fn explain(&self, violation: Violation) -> String {
        let fault = match violation {
            Violation::Malformed(number) => Fault::at(number),
            _ => None,
        };
        match (fault, self.refused) {
            (Some(Fault::HttpStatus), Some(status)) => {
                format!("the answer's HTTP status is {status}, so that it does not come from a gRPC server")
            }
            (Some(fault), _) => fault.to_string(),
            (None, _) if violation == Violation::ClosedEarly && !self.is_answering() => {
                "the connection was closed before any byte of the answer; gRPC goes over HTTP/2, which the target may not \
                 speak here"
                    .into()
            }
            (None, _) => without_flags(self.http2.explain(violation)),
        }
    }

    fn quote(reply: &Reply, _: &[u8]) -> String {
        let name = CODES.get(usize::from(reply.code)).copied().unwrap_or("an unknown status");
        format!("gRPC {name}")
    }

    fn reason(head: &[u8]) -> Option<String> {
        let message = fields(head).filter(|(name, _)| *name == b"grpc-message").last()?.1;
        first_line(&percent_decoded(message))
    }

    fn first_line(received: &[u8]) -> Option<String> {
        Http2::first_line(received)
    }
}

/// What HTTP/2 says to people, without the flag that is for HTTP.
fn without_flags(text: String) -> String {
    match text.split_once("; if it speaks HTTP/1.1") {
        Some((what, _)) => format!("{what}; gRPC goes over HTTP/2 alone"),
        None => text,
    }
}

fn percent_decoded(text: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some((&byte, after)) = rest.split_first() {
        let hex = after.get(..2).filter(|_| byte == b'%').and_then(|two| std::str::from_utf8(two).ok());
        match hex.and_then(|two| u8::from_str_radix(two, 16).ok()) {
            Some(decoded) => {
                out.push(decoded);
                rest = &after[2..];
            }
            None => {
                out.push(byte);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_decoded() {
        let head = b"HTTP/2 200\r\ncontent-type: application/grpc\r\n\r\ngrpc-status: 5\r\ngrpc-message: no%20%C3%A4%\r\n";
        assert_eq!(Grpc::reason(head), Some("no ä%".into()));
        assert_eq!(Grpc::reason(b"HTTP/2 200\r\n\r\n"), None);
    }
}
