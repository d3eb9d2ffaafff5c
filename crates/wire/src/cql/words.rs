//! What CQL says to people.

use super::codes::{VALUE_UNFIT, name, of_error};
use super::connection::Cql;
use super::fault::Fault;
use super::fields::{Fields, Stop};
use super::frame::{HEADER_BYTES, Header, RESPONSE, opcode};
use super::result::pass_flagged;
use crate::protocol::{Protocol, Reply, Violation};
use crate::words::{Words, first_line};

impl Words for Cql {
    const NAME: &'static str = "CQL's protocol";

    const SCHEMES: [&'static str; 2] = ["cql", "cqls"];

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
                Some(Fault::PasswordNeeded) => {
                    format!(
                        "{}: write them into the URL (cql://USER:PASSWORD@HOST/KEYSPACE)",
                        Fault::PasswordNeeded
                    )
                }
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
        if reply.code == VALUE_UNFIT {
            return "a value does not fit the type that the statement asks for (unblink try says which)"
                .into();
        }
        error_of(received).unwrap_or_else(|| name(reply.code).to_string())
    }

    /// Of what is no error, nothing says what is wrong.
    fn first_line(received: &[u8]) -> Option<String> {
        let is_cql = received.first() == Some(&RESPONSE);
        if is_cql { error_of(received) } else { first_line(received) }
    }
}

/// The last error among whole frames: `unconfigured table item (invalid)`.
fn error_of(mut received: &[u8]) -> Option<String> {
    let mut found = None;
    while let Some((header, rest)) = received.split_first_chunk::<HEADER_BYTES>() {
        let header = Header::read(*header);
        let body = &rest[..(header.length as usize).min(rest.len())];
        if header.opcode == opcode::ERROR
            && let Ok((code, text)) = error(header, Fields(body))
            && let Some(text) = first_line(text)
        {
            found = Some(format!("{text} ({})", name(of_error(code))));
        }
        received = &rest[body.len()..];
    }
    found
}

/// The code of an error, and its text.
fn error(header: Header, mut fields: Fields<'_>) -> Result<(i32, &[u8]), Stop> {
    pass_flagged(header.flags, &mut fields)?;
    Ok((fields.int()?, fields.string()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_quoted_with_its_name() {
        let error = b"\x84\x08\0\x03\0\0\0\0\x1e\0\x01\0\x02hm\0\0\x22\0\0\x12unconfigured table";
        let received = [&b"\x84\0\0\0\x02\0\0\0\0"[..], error].concat();
        let reply = |code| Reply { code, body_bytes: 0, reusable: true };
        assert_eq!(Cql::quote(&reply(18), &received), "unconfigured table (invalid)");
        assert_eq!(Cql::quote(&reply(1), b"\x84\0\0\0\x02\0\0\0\0"), "no_rows");
        assert_eq!(Cql::first_line(&received).as_deref(), Some("unconfigured table (invalid)"));
        assert_eq!(Cql::first_line(b"\x84\0\0\0\x08\0\0\0\x06s3cret"), None);
        assert_eq!(Cql::first_line(b"HTTP/1.1 400 Bad\r\n").as_deref(), Some("HTTP/1.1 400 Bad"));
    }
}
