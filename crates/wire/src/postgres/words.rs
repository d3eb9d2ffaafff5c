//! What PostgreSQL says to people.

use super::codes::{NOT_FOUND, SUCCESSES, name};
use super::connection::Postgres;
use super::fault::Fault;
use super::message::field;
use crate::protocol::{Protocol, Reply, Violation};
use crate::words::{Words, first_line};

impl Words for Postgres {
    const NAME: &'static str = "PostgreSQL's protocol";

    const SCHEMES: [&'static str; 2] = ["sslmode=disable", "sslmode=require"];

    fn explain(&self, violation: Violation) -> String {
        match violation {
            Violation::ClosedEarly if self.login.is_some() => {
                "the connection was closed before the target had let it in".into()
            }
            Violation::ClosedEarly if self.is_answering() => {
                "the connection was closed inside the answer".into()
            }
            Violation::ClosedEarly => "the connection was closed before any byte of the answer".into(),
            Violation::TooLarge => "the answer is larger than its limit".into(),
            Violation::Malformed(number) => match Fault::ALL.get(usize::from(number)) {
                Some(Fault::PasswordNeeded) => format!(
                    "{}: write it into the URL (postgres://USER:PASSWORD@HOST/DATABASE), or set PGPASSWORD",
                    Fault::PasswordNeeded
                ),
                Some(Fault::HttpAnswer) => format!("{}: write http, if HTTP is meant", Fault::HttpAnswer),
                fault => fault.map_or_else(String::new, ToString::to_string),
            },
        }
    }

    fn is_refusal(violation: Violation) -> bool {
        let Violation::Malformed(number) = violation else { return false };
        Fault::ALL.get(usize::from(number)).is_some_and(|fault| fault.is_refusal())
    }

    /// An error as it was written, and else its name.
    fn quote(reply: &Reply, received: &[u8]) -> String {
        // One that was sent again has an error before it.
        let error = error_of(received).filter(|_| reply.code >= SUCCESSES && reply.code != NOT_FOUND);
        error.unwrap_or_else(|| name(reply.code).to_string())
    }

    /// Of what is no error, nothing says what is wrong.
    fn first_line(received: &[u8]) -> Option<String> {
        let is_http = received.starts_with(b"HTTP/");
        if is_http { first_line(received) } else { error_of(received) }
    }
}

/// The last error among whole messages: `ERROR: relation "x" does not exist (42P01)`.
fn error_of(mut received: &[u8]) -> Option<String> {
    let mut found = None;
    while let Some((&[kind, ref length @ ..], rest)) = received.split_first_chunk::<5>() {
        let length = u32::from_be_bytes(*length).checked_sub(4)? as usize;
        let payload = &rest[..length.min(rest.len())];
        if kind == b'E' {
            let field = |letter| field(payload, letter).and_then(first_line);
            let (severity, text) = (field(b'S')?, field(b'M')?);
            let state = field(b'C').map_or(String::new(), |state| format!(" ({state})"));
            found = Some(format!("{severity}: {text}{state}"));
        }
        received = &rest[payload.len()..];
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_quoted_with_its_state() {
        let error = b"E\0\0\0\x3aSERROR\0VERROR\0C42P01\0Mrelation \"x\" does not exist\0\0";
        let received = [&b"R\0\0\0\x08\0\0\0\0"[..], error].concat();
        let reply = |code| Reply { code, body_bytes: 0, reusable: true };
        assert_eq!(Postgres::quote(&reply(9), &received), "ERROR: relation \"x\" does not exist (42P01)");
        assert_eq!(Postgres::quote(&reply(1), b"Z\0\0\0\x05I"), "empty");
        assert_eq!(Postgres::first_line(b"D\0\0\0\x12\0\x01\0\0\0\x06s3cret"), None);
        assert_eq!(Postgres::first_line(b"HTTP/1.1 400 Bad\r\n").as_deref(), Some("HTTP/1.1 400 Bad"));
    }
}
