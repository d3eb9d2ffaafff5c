//! What a protocol says to people: words for a target that does not answer as it should.

use crate::protocol::{Protocol, Reply, Violation};
use crate::syntax::trim;

/// Bytes of a first line that are worth quoting in a message.
const LINE_BYTES_MAX: usize = 200;

/// The words of a protocol. None of them is asked for while load is offered.
pub trait Words: Protocol {
    /// Its name, as in "does not answer in well-formed HTTP/1.1".
    const NAME: &'static str;

    /// How its URLs begin: without TLS, and with it.
    const SCHEMES: [&'static str; 2];

    /// What is wrong with this connection, for which `violation` was returned: a sentence without a full stop.
    fn explain(&self, violation: Violation) -> String {
        match violation {
            Violation::ClosedEarly if self.is_answering() => {
                "the connection was closed inside the answer".into()
            }
            Violation::ClosedEarly => "the connection was closed before any byte of the answer".into(),
            Violation::TooLarge => "the answer is larger than its limit".into(),
            Violation::Malformed(number) => {
                Self::VIOLATIONS.get(usize::from(number)).unwrap_or(&"malformed").replace('_', " ")
            }
        }
    }

    /// What to call a whole answer; `received` is what the target sent first, a part of the answer if it is long.
    fn quote(reply: &Reply, _received: &[u8]) -> String {
        reply.code.to_string()
    }

    /// What the target says of why it answers so; `head` are the lines of the answer's head and of what follows its body.
    fn reason(_head: &[u8]) -> Option<String> {
        None
    }

    /// The first line of what a target sent, where that is a text that says something.
    fn first_line(received: &[u8]) -> Option<String> {
        first_line(received)
    }

    /// The target speaks the protocol, and refuses this connection.
    fn is_refusal(_violation: Violation) -> bool {
        false
    }

    /// Why an answer that no rule calls failed is still not what the user wants to measure.
    fn objection(_reply: &Reply) -> Option<&'static str> {
        None
    }
}

/// The first line of what a target sent, for a message to the user: leading empty lines are skipped, control and
/// non-UTF-8 bytes escaped, and the text is cut after 200 bytes. `None` if there is nothing to quote.
pub fn first_line(bytes: &[u8]) -> Option<String> {
    let line = bytes.split(|&byte| byte == b'\n').map(trim).find(|line| !line.is_empty())?;
    let cut = &line[..line.len().min(LINE_BYTES_MAX)];
    let mut quoted = String::with_capacity(cut.len());
    for part in cut.utf8_chunks() {
        for character in part.valid().chars() {
            if character.is_control() {
                quoted.extend(character.escape_default());
            } else {
                quoted.push(character);
            }
        }
        for byte in part.invalid() {
            quoted.extend(byte.escape_ascii().map(char::from));
        }
    }
    if cut.len() < line.len() {
        quoted.push('…');
    }
    Some(quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_line_quotes_what_there_is() {
        assert_eq!(first_line(b"HTTP/1.1 502 Bad\r\nA: b"), Some("HTTP/1.1 502 Bad".into()));
        assert_eq!(first_line(b"\r\n\nSSH-2.0-x"), Some("SSH-2.0-x".into()));
        assert_eq!(first_line(b"\x15\x03\x01\xff\xc3\xbc"), Some("\\u{15}\\u{3}\\u{1}\\xffü".into()));
        assert_eq!(first_line(b"\r\n"), None);
        assert_eq!(first_line(&[b'x'; 300]).map(|line| line.chars().count()), Some(201));
    }
}
