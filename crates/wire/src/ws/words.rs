//! What WebSocket says to people.

use super::connection::Ws;
use super::fault::Fault;
use crate::protocol::{Protocol, Reply, Violation};
use crate::words::{Words, first_line};

impl Words for Ws {
    const NAME: &'static str = "WebSocket";

    const SCHEMES: [&'static str; 2] = ["ws", "wss"];

    fn explain(&self, violation: Violation) -> String {
        match violation {
            Violation::ClosedEarly if self.upgrade.is_some() => {
                "the connection was closed before the target had answered the upgrade".into()
            }
            Violation::ClosedEarly if self.is_answering() => {
                "the connection was closed inside a message".into()
            }
            Violation::ClosedEarly => "the connection was closed before any byte of an answer".into(),
            Violation::TooLarge => "the message is larger than its limit".into(),
            Violation::Malformed(number) => {
                let fault = Fault::ALL.get(usize::from(number)).copied().unwrap_or(Fault::NotHttp);
                match self.upgrade.as_ref().and_then(|upgrade| body_of(&upgrade.received)) {
                    Some(said) => format!("{fault}, and says: {said}"),
                    None => fault.to_string(),
                }
            }
        }
    }

    fn quote(reply: &Reply, _: &[u8]) -> String {
        match reply.body_bytes {
            1 => "a message of 1 byte".to_string(),
            n => format!("a message of {n} bytes"),
        }
    }

    /// Behind the handshake, frames are no text.
    fn first_line(received: &[u8]) -> Option<String> {
        first_line(received).filter(|line| !line.contains(" 101"))
    }
}

/// The first line of what follows the head of an answer, markup left out.
pub(super) fn body_of(received: &[u8]) -> Option<String> {
    let at = received.windows(4).position(|window| window == b"\r\n\r\n")?;
    first_line(&received[at + 4..]).filter(|line| !line.starts_with('<'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_quotes_what_it_says() {
        assert_eq!(body_of(b"HTTP/1.1 403 No\r\nA: b\r\n\r\nbad origin\r\n").as_deref(), Some("bad origin"));
        assert_eq!(body_of(b"HTTP/1.1 403 No\r\n\r\n<html>"), None);
        assert_eq!(body_of(b"HTTP/1.1 403 No\r\n"), None);
        assert_eq!(Ws::first_line(b"HTTP/1.1 403 No\r\n").as_deref(), Some("HTTP/1.1 403 No"));
        assert_eq!(Ws::first_line(b"HTTP/1.1 101 Switching\r\n"), None);
    }
}
