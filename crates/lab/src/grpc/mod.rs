//! The server's side of gRPC, as far as it is not HTTP/2: messages, methods, health, reflection.
//!
//! [The protocol](https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md).

mod descriptors;
mod reflection;
mod talk;

use bytes::{BufMut, Bytes, BytesMut};
use h2::SendStream;
use h2::server::SendResponse;
use http::{HeaderMap, HeaderValue, Response};
use prost::Message;

use crate::events::Part;
use crate::framer::{Request, Route};
pub(crate) use talk::Talk;

/// The largest message that is taken, in bytes: what other servers take unless they are told otherwise.
const LARGEST_MESSAGE_BYTES: usize = 4 << 20;
/// A flag and a length, before each message.
const PREFIX_BYTES: usize = 5;

const SAY: &str = "/lab.Echo/Say";
const WATCH: &str = "/lab.Echo/Watch";
const CHECK: &str = "/grpc.health.v1.Health/Check";

/// The status of a call that is not as its method wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Refusal {
    code: Code,
    message: &'static str,
}

/// Of a call ([all of them](https://grpc.io/docs/guides/status-codes/)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Code {
    Ok = 0,
    InvalidArgument = 3,
    NotFound = 5,
    ResourceExhausted = 8,
    Unimplemented = 12,
    Internal = 13,
}

/// `lab.Word`.
#[derive(Clone, PartialEq, Message)]
struct Word {
    #[prost(string, tag = "1")]
    text: String,
    #[prost(uint64, tag = "2")]
    number: u64,
}

/// `grpc.health.v1.HealthCheckRequest`.
#[derive(Clone, PartialEq, Message)]
struct HealthAsked {
    #[prost(string, tag = "1")]
    service: String,
}

/// `grpc.health.v1.HealthCheckResponse`.
#[derive(Clone, PartialEq, Message)]
struct HealthTold {
    #[prost(int32, tag = "1")]
    status: i32,
}

/// `SERVING`.
const SERVING: i32 = 1;

/// A call whose message is coming, or has come.
#[derive(Debug)]
pub(crate) struct Call {
    path: String,
    body: BytesMut,
    /// Known once the message is whole.
    said: Result<String, Refusal>,
}

/// Whether a request is a call, and not plain HTTP/2.
pub(crate) fn is_call(head: &http::request::Parts) -> bool {
    let kind = head.headers.get(http::header::CONTENT_TYPE).map(HeaderValue::as_bytes).unwrap_or_default();
    head.method == http::Method::POST && kind.starts_with(b"application/grpc")
}

impl Call {
    pub(crate) fn new(path: &str) -> Call {
        Call { path: path.to_owned(), body: BytesMut::new(), said: Ok(String::new()) }
    }

    /// A piece of its message.
    pub(crate) fn take(&mut self, piece: &[u8]) {
        if self.body.len() + piece.len() > LARGEST_MESSAGE_BYTES + PREFIX_BYTES {
            let message = "a message has at most 4 MiB";
            self.said = Err(Refusal { code: Code::ResourceExhausted, message });
        } else if self.said.is_ok() {
            self.body.extend_from_slice(piece);
        }
    }

    /// The message is whole: what it asks for.
    pub(crate) fn finish(&mut self) -> Request {
        let body = std::mem::take(&mut self.body).freeze();
        let (route, is_stream) = match self.path.as_str() {
            SAY => (Route::Scenario, false),
            WATCH => (Route::Scenario, true),
            CHECK => (Route::Healthy, false),
            _ => (Route::Unknown, false),
        };
        if self.said.is_ok() {
            self.said = match route {
                Route::Scenario => one::<Word>(&body).map(|word| word.text),
                Route::Healthy => one::<HealthAsked>(&body).and_then(|asked| known(asked.service)),
                _ => Err(Refusal { code: Code::Unimplemented, message: "there is no such method" }),
            };
        }
        let route = if self.said.is_ok() { route } else { Route::Unknown };
        Request { route, is_stream, ..Request::SCENARIO }
    }

    /// Answers it whole. `is_ok` is what the scenario wants; `number` is the request's.
    pub(crate) fn answer(
        &self,
        respond: &mut SendResponse<Bytes>,
        request: Request,
        is_ok: bool,
        number: u64,
    ) {
        let reply = match (&self.said, request.route) {
            (Err(refusal), _) => Err(*refusal),
            (Ok(_), Route::Healthy) => Ok(framed(&HealthTold { status: SERVING })),
            (Ok(text), _) if is_ok => Ok(framed(&Word { text: text.clone(), number })),
            (Ok(_), _) => Err(Refusal { code: Code::Internal, message: "as the scenario wants it" }),
        };
        // Each fails only where the client is gone.
        match reply {
            Ok(message) => {
                if let Ok(mut stream) = respond.send_response(head(), false) {
                    let _ = stream.send_data(message, false);
                    finish(&mut stream, Code::Ok);
                }
            }
            Err(refusal) => refuse(respond, refusal),
        }
    }

    /// Sends one message of several; the first one opens `stream`.
    pub(crate) fn part(
        &self,
        respond: &mut SendResponse<Bytes>,
        stream: &mut Option<SendStream<Bytes>>,
        part: Part,
    ) {
        if part.nth == 0 {
            *stream = respond.send_response(head(), false).ok();
        }
        let Some(stream) = stream else { return };
        let text = self.said.as_deref().unwrap_or_default().to_owned();
        let _ = stream.send_data(framed(&Word { text, number: u64::from(part.nth) }), false);
        if part.is_last {
            finish(stream, Code::Ok);
        }
    }
}

/// The only message of a body.
fn one<M: Message + Default>(body: &Bytes) -> Result<M, Refusal> {
    let mut rest = BytesMut::from(&body[..]);
    let refusal = |message| Refusal { code: Code::InvalidArgument, message };
    let message = next_message(&mut rest)?.ok_or(refusal("the call has no message"))?;
    if !rest.is_empty() {
        return Err(refusal("the call has more than one message"));
    }
    M::decode(message).map_err(|_| refusal("the message is not of the method's type"))
}

/// Takes a whole message off the front.
fn next_message(from: &mut BytesMut) -> Result<Option<Bytes>, Refusal> {
    let Some(&[flag, a, b, c, d]) = from.first_chunk() else { return Ok(None) };
    let length = u32::from_be_bytes([a, b, c, d]) as usize;
    match flag {
        0 if length > LARGEST_MESSAGE_BYTES => {
            Err(Refusal { code: Code::ResourceExhausted, message: "a message has at most 4 MiB" })
        }
        0 if from.len() < PREFIX_BYTES + length => Ok(None),
        0 => Ok(Some(from.split_to(PREFIX_BYTES + length).freeze().slice(PREFIX_BYTES..))),
        _ => Err(Refusal { code: Code::Unimplemented, message: "compressed messages are not read here" }),
    }
}

/// Services whose health is known; the empty name is that of the server.
fn known(service: String) -> Result<String, Refusal> {
    let message = "there is no such service";
    match service.as_str() {
        "" | "lab.Echo" => Ok(service),
        _ => Err(Refusal { code: Code::NotFound, message }),
    }
}

fn framed(message: &impl Message) -> Bytes {
    let length = message.encoded_len();
    let mut bytes = BytesMut::with_capacity(PREFIX_BYTES + length);
    bytes.put_u8(0);
    // Below 4 MiB and a few bytes.
    bytes.put_u32(length as u32);
    bytes.put_slice(&message.encode_to_vec());
    bytes.freeze()
}

fn head() -> Response<()> {
    let mut head = Response::new(());
    head.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
    head
}

fn finish(stream: &mut SendStream<Bytes>, code: Code) {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from(code as u16));
    // Fails only where the client is gone.
    let _ = stream.send_trailers(trailers);
}

/// The status alone.
fn refuse(respond: &mut SendResponse<Bytes>, refusal: Refusal) {
    let mut head = head();
    head.headers_mut().insert("grpc-status", HeaderValue::from(refusal.code as u16));
    head.headers_mut().insert("grpc-message", HeaderValue::from_static(refusal.message));
    // Fails only where the client is gone.
    let _ = respond.send_response(head, true);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(path: &str, body: &[u8]) -> (Call, Request) {
        let mut call = Call::new(path);
        body.chunks(3).for_each(|piece| call.take(piece));
        let request = call.finish();
        (call, request)
    }

    #[test]
    fn a_call_is_read_whole() {
        let body = framed(&Word { text: "hello".into(), number: 0 });
        let (said, request) = call(SAY, &body);
        assert_eq!((said.said.as_deref(), request.is_stream), (Ok("hello"), false));
        assert_eq!(request.route, Route::Scenario);
        assert!(call(WATCH, &body).1.is_stream);
        assert_eq!(call(CHECK, &framed(&HealthAsked::default())).1.route, Route::Healthy);
    }

    #[test]
    fn what_is_no_call_of_a_method_gets_a_status() {
        let body = framed(&Word { text: "hello".into(), number: 0 });
        let code = |path: &str, body: &[u8]| {
            let (call, request) = call(path, body);
            assert_eq!(request.route, Route::Unknown);
            call.said.expect_err("refused").code
        };
        assert_eq!(code("/lab.Echo/Shout", &body), Code::Unimplemented);
        assert_eq!(code(SAY, b""), Code::InvalidArgument);
        assert_eq!(code(SAY, &[&body[..], &body].concat()), Code::InvalidArgument);
        assert_eq!(code(SAY, &body[..7]), Code::InvalidArgument);
        assert_eq!(code(SAY, b"\0\0\0\0\x01\xff"), Code::InvalidArgument);
        assert_eq!(code(SAY, b"\x01\0\0\0\0"), Code::Unimplemented);
        assert_eq!(code(SAY, b"\0\xff\xff\xff\xff"), Code::ResourceExhausted);
        assert_eq!(code(SAY, &vec![0; LARGEST_MESSAGE_BYTES + 6]), Code::ResourceExhausted);
        assert_eq!(code(CHECK, &framed(&HealthAsked { service: "other".into() })), Code::NotFound);
    }
}
