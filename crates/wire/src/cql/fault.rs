//! Every way in which a server can refuse a connection or break the rules of the protocol, each with a stable code.

use crate::protocol::Violation;
use crate::violations::violations;

violations! {
    /// What is wrong with what a server sent.
    Fault;
    HttpAnswer, "http_answer", "the target answers in HTTP, not in CQL's protocol";
    NotCql, "not_cql", "the target does not answer in CQL's protocol";
    VersionUnsupported, "version_unsupported", "the target does not speak version 4 of CQL's protocol";
    BadLength, "bad_length", "a frame announces more than 256 MiB";
    CompressedUnasked, "compressed_unasked", "a frame is compressed, which nobody asked for";
    UnknownMessage, "unknown_message", "a frame has a type that is not expected here";
    UnknownStream, "unknown_stream", "an answer came for a stream on which nothing is under way";
    BadMessage, "bad_message", "a frame does not have the fields of its type";
    BadRow, "bad_row", "the values of its rows are longer or shorter than a frame";
    PasswordNeeded, "password_needed", "the target wants a user and a password";
    PasswordWrong, "password_wrong", "the target refuses the user or the password";
    MethodUnsupported, "method_unsupported", "the target wants a way to log in that is not offered: a plain password (SASL PLAIN) is";
    KeyspaceRefused, "keyspace_refused", "the target has no such keyspace, or does not let this user in";
    NotReady, "not_ready", "the target is starting up or has too much to do";
    LoginRefused, "login_refused", "the target refuses the connection";
    StatementRefused, "statement_refused", "the target can't prepare a statement";
    ValuesOther, "values_other", "the target counts other values in a statement than those in its places";
    TypeUnsupported, "type_unsupported", "a value stands where the target wants a type that can't be bound (a collection, a tuple, a type of its own, decimal, time or duration): write it into the statement";
}

impl Fault {
    /// The target has understood, and does not want.
    pub(super) fn is_refusal(self) -> bool {
        matches!(
            self,
            Fault::PasswordNeeded
                | Fault::PasswordWrong
                | Fault::MethodUnsupported
                | Fault::KeyspaceRefused
                | Fault::NotReady
                | Fault::LoginRefused
                | Fault::StatementRefused
                | Fault::ValuesOther
                | Fault::TypeUnsupported
        )
    }

    /// What an error with this code means while a connection logs in.
    pub(super) fn of_login(code: i32) -> Fault {
        match code {
            0x000a => Fault::VersionUnsupported,
            0x0100 => Fault::PasswordWrong,
            0x1001 | 0x1002 => Fault::NotReady,
            _ => Fault::LoginRefused,
        }
    }
}

impl From<Fault> for Violation {
    fn from(fault: Fault) -> Violation {
        Violation::Malformed(fault.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::violations::assert_plain;

    #[test]
    fn codes_are_distinct_snake_case_and_sentences_are_plain() {
        assert_plain(Fault::CODES, Fault::ALL);
    }
}
