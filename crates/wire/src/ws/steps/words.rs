//! What a step says to people.

use super::{Carries, OF_HTTP, Steps};
use crate::http1::Http1;
use crate::protocol::{Protocol, Reply, Violation};
use crate::words::{Words, first_line};
use crate::ws::CODE;
use crate::ws::fault::Fault;
use crate::ws::words::body_of;

impl Words for Steps {
    const NAME: &'static str = "HTTP/1.1 and WebSocket";

    const SCHEMES: [&'static str; 2] = ["http", "https"];

    fn explain(&self, violation: Violation) -> String {
        let socket = match &self.carries {
            Carries::Http(http) => return http.explain(violation),
            Carries::Socket(socket) => socket,
        };
        match violation {
            Violation::ClosedEarly if socket.upgrade.is_some() => {
                "the connection was closed before the target had answered the upgrade".into()
            }
            Violation::ClosedEarly if self.is_answering() => {
                "the connection was closed inside a message".into()
            }
            Violation::ClosedEarly => "the connection was closed before any byte of an answer".into(),
            Violation::TooLarge => "the message is larger than its limit".into(),
            Violation::Malformed(number) => {
                let number = usize::from(number).checked_sub(OF_HTTP);
                let fault = number.and_then(|number| Fault::ALL.get(number)).copied();
                let fault = fault.unwrap_or(Fault::NotHttp);
                match socket.upgrade.as_ref().and_then(|upgrade| body_of(&upgrade.received)) {
                    Some(said) => format!("{fault}, and says: {said}"),
                    None => fault.to_string(),
                }
            }
        }
    }

    fn quote(reply: &Reply, received: &[u8]) -> String {
        match (reply.code, reply.body_bytes) {
            (CODE, 0) => Http1::quote(reply, received),
            (CODE, 1) => "a message of 1 byte".to_string(),
            (CODE, n) => format!("a message of {n} bytes"),
            _ => Http1::quote(reply, received),
        }
    }

    /// Behind the handshake, frames are no text.
    fn first_line(received: &[u8]) -> Option<String> {
        first_line(received).filter(|line| !line.contains(" 101"))
    }

    fn objection(reply: &Reply) -> Option<&'static str> {
        Http1::objection(reply)
    }
}
