//! Every way in which a server can refuse a connection or break the rules of RESP, each with a stable code.

use crate::protocol::Violation;
use crate::violations::violations;

violations! {
    /// What is wrong with what a server sent.
    Fault;
    HttpAnswer, "http_answer", "the target answers in HTTP, not in Redis's protocol";
    UnknownType, "unknown_type", "a reply begins with a byte that is not a type of Redis's protocol";
    Resp3Unasked, "resp3_unasked", "a reply has a type of RESP3, and RESP2 is spoken";
    LineEnd, "line_end", "a line or a text does not end in CR LF";
    LineTooLong, "line_too_long", "a line is longer than 64 KiB";
    BadInteger, "bad_integer", "an integer is not a number, or does not fit 64 bits";
    BadLength, "bad_length", "a length is not a number, is negative, or does not fit 63 bits";
    BadValue, "bad_value", "a double, a boolean or a null is not written as one";
    TooDeep, "too_deep", "a reply is nested more than 32 deep";
    PushInside, "push_inside", "a push stands inside a reply";
    Unasked, "unasked", "a reply came that no command had asked for";
    PasswordNeeded, "password_needed", "the target wants a password (NOAUTH)";
    PasswordWrong, "password_wrong", "the target refuses the user or the password";
    HelloRefused, "hello_refused", "the target refuses RESP3 (HELLO 3)";
    DatabaseRefused, "database_refused", "the target refuses the database (SELECT)";
    MaxClients, "max_clients", "the target has as many clients as it takes (maxclients)";
    ProtectedMode, "protected_mode", "the target takes connections from its own machine only (protected mode)";
}

impl Fault {
    /// The target has understood, and does not want.
    pub(super) fn is_refusal(self) -> bool {
        matches!(
            self,
            Fault::PasswordNeeded
                | Fault::PasswordWrong
                | Fault::HelloRefused
                | Fault::DatabaseRefused
                | Fault::MaxClients
                | Fault::ProtectedMode
        )
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
