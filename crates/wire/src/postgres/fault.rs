//! Every way in which a server can refuse a connection or break the rules of the protocol, each with a stable code.

use crate::protocol::Violation;
use crate::violations::violations;

violations! {
    /// What is wrong with what a server sent.
    Fault;
    HttpAnswer, "http_answer", "the target answers in HTTP, not in PostgreSQL's protocol";
    UnknownMessage, "unknown_message", "a message has a type that is not expected here";
    BadLength, "bad_length", "a message's length does not fit its type";
    BadRow, "bad_row", "the columns of a row are longer or shorter than the row";
    BadMessage, "bad_message", "a message does not have the fields of its type";
    Unasked, "unasked", "an answer came that no request had asked for";
    CopyUnasked, "copy_unasked", "the target wants to copy (COPY), which is not offered";
    PasswordNeeded, "password_needed", "the target wants a password";
    PasswordWrong, "password_wrong", "the target refuses the user or the password";
    MethodUnsupported, "method_unsupported", "the target wants a way to log in that is not offered: SCRAM-SHA-256, MD5 and plain passwords are";
    ScramMalformed, "scram_malformed", "a message of SCRAM is not well-formed";
    ScramNonce, "scram_nonce", "the target answers with a nonce that does not begin with ours";
    ScramIterations, "scram_iterations", "the target asks for more than 1,000,000 iterations of SCRAM, or for none";
    ScramSignature, "scram_signature", "the target does not know the password itself: its signature is wrong";
    DatabaseRefused, "database_refused", "the target has no such database, or does not let this user in";
    TooManyConnections, "too_many_connections", "the target has as many connections as it takes (max_connections)";
    NotReady, "not_ready", "the target is starting up, shutting down or recovering";
    LoginRefused, "login_refused", "the target refuses the connection";
    StatementRefused, "statement_refused", "the target can't prepare a statement";
}

impl Fault {
    /// The target has understood, and does not want.
    pub(super) fn is_refusal(self) -> bool {
        matches!(
            self,
            Fault::PasswordNeeded
                | Fault::PasswordWrong
                | Fault::MethodUnsupported
                | Fault::DatabaseRefused
                | Fault::TooManyConnections
                | Fault::NotReady
                | Fault::LoginRefused
                | Fault::StatementRefused
        )
    }

    /// What an error with this state means while a connection logs in.
    pub(super) fn of_login(state: &[u8]) -> Fault {
        match state {
            b"28P01" => Fault::PasswordWrong,
            b"28000" | b"3D000" | b"42501" => Fault::DatabaseRefused,
            b"53300" => Fault::TooManyConnections,
            b"57P01" | b"57P02" | b"57P03" => Fault::NotReady,
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
