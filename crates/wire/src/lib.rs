//! Sans-IO clients of HTTP/1.1, HTTP/2, gRPC, WebSocket, Redis, PostgreSQL and CQL: bytes in, typed answers out, and no socket,
//! clock or thread. [`protocol::Protocol`] is what they have in common, with a module for each.
//!
//! HTTP/1.1 can be had without it. [`RequestBuilder`] renders a request once, ahead of its time, so that sending it is one write of
//! ready bytes. [`Parser`] reads the answers of one connection: call [`Parser::begin`] before each
//! request, [`Parser::feed`] with every piece that was read, and [`Parser::eof`] when the peer closes.
//! The result depends on the bytes alone, never on where the reads happened to cut them.
//!
//! Framing follows RFC 9112 §6.3. Where the RFC leaves a choice, an answer that two readers could
//! frame differently is an error ([`ProtocolError`] names each), because a load tester that guesses a
//! boundary would count the wrong bytes as the next answer. The lenient choices are few: a bare LF ends
//! a line of the head (RFC 9112 §2.2), obs-fold is read as white space (§5.2), the reason phrase may be
//! anything printable or missing, and a few empty lines before the status line are skipped. Lines
//! inside a chunked body are strict: CR LF only.
//!
//! ```
//! use unblink_wire::{Limits, Parser, Progress, RequestBuilder, RequestKind};
//!
//! let request = RequestBuilder { method: "GET", target: "/", host: "a.test", headers: &[], body: b"" };
//! assert!(request.render()?.starts_with(b"GET / HTTP/1.1\r\nHost: a.test\r\n"));
//!
//! let mut parser = Parser::new(Limits::default());
//! parser.begin(RequestKind::of_method(request.method));
//! let read = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
//! let mut body = Vec::new();
//! let progress = parser.feed(read, &mut |slice| body.extend_from_slice(slice))?;
//! let Progress::Done { response, consumed } = progress else { panic!("the answer is complete") };
//! assert_eq!((response.status, response.reusable, consumed), (200, true, read.len()));
//! assert_eq!(body, b"hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod blank;
mod body;
mod chunked;
pub mod cql;
mod cuts;
mod error;
#[doc(hidden)]
pub mod fuzzing;
pub mod grpc;
mod head;
pub mod http1;
pub mod http2;
pub mod incoming;
mod keyed;
mod last_head;
mod limits;
pub mod message;
mod outgoing;
mod parser;
pub mod postgres;
pub mod protocol;
pub mod redis;
mod request;
mod response;
pub mod ring;
#[cfg(test)]
mod said;
mod scan;
mod syntax;
mod valued;
mod violations;
mod whole;
pub mod words;
pub mod ws;

pub use error::ProtocolError;
pub use head::RequestKind;
pub use last_head::LastHead;
pub use limits::Limits;
pub use parser::{Parser, Parts, Progress};
pub use request::{RenderError, RequestBuilder, parse_header};
pub use response::Response;
pub use whole::{NotWhole, Whole};
