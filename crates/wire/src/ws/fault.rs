//! Every way in which a server can refuse a WebSocket, break its rules or close it, each with a stable code.

use crate::protocol::Violation;
use crate::violations::violations;

violations! {
    /// What is wrong with what a server sent.
    Fault;
    NotHttp, "not_http", "the target does not answer the upgrade in HTTP/1.1";
    HandshakeTooLarge, "handshake_too_large", "the answer to the upgrade has a larger head than its limit";
    RefusedRedirect, "refused_3xx", "the target redirects instead of switching to WebSocket";
    RefusedClient, "refused_4xx", "the target refuses to switch to WebSocket with a status 400 to 499";
    RefusedServer, "refused_5xx", "the target refuses to switch to WebSocket with a status 500 to 599";
    NotSwitched, "not_switched", "the target answers the upgrade without switching to WebSocket";
    WrongUpgrade, "wrong_upgrade", "the target switches protocols (101) but does not say that it switches to WebSocket";
    WrongAccept, "wrong_accept", "Sec-WebSocket-Accept is missing or does not belong to the key that was sent";
    ExtensionUnasked, "extension_unasked", "the target chooses an extension, and none was offered";
    SubprotocolUnasked, "subprotocol_unasked", "the target chooses a subprotocol that was not offered";
    ReservedBits, "reserved_bits", "a frame has a reserved bit set, which belongs to an extension";
    UnknownOpcode, "unknown_opcode", "a frame has an opcode that WebSocket does not define";
    Masked, "masked", "a frame is masked, which only a client's may be";
    LengthTopBit, "length_top_bit", "a frame's length has its highest bit set";
    ControlFragmented, "control_fragmented", "a ping, pong or close is fragmented";
    ControlTooLong, "control_too_long", "a ping, pong or close is longer than 125 bytes";
    ContinuationUnexpected, "continuation_unexpected", "a fragment continues a message that has not begun";
    ContinuationExpected, "continuation_expected", "a message begins before the last fragment of the one before it";
    InvalidUtf8, "invalid_utf8", "a text, or the reason of a close, is not UTF-8";
    CloseTruncated, "close_truncated", "a close has half a status code";
    CloseCode, "close_code", "a close has a status code that may not be sent";
    Flood, "flood", "the target sends pings and does not read the pongs";
    UnawaitedOverflow, "unawaited_overflow", "more messages came than are kept for the steps that await one";
    MessageUnchecked, "message_unchecked", "a message is longer than the 16 MiB that are looked at";
    ClosedNormal, "closed_normal", "the target closes the socket (1000, normal)";
    ClosedGoingAway, "closed_going_away", "the target closes the socket (1001, going away)";
    ClosedProtocolError, "closed_protocol_error", "the target closes the socket (1002, protocol error)";
    ClosedUnsupported, "closed_unsupported", "the target closes the socket (1003, it does not take such messages)";
    ClosedInvalidData, "closed_invalid_data", "the target closes the socket (1007, inconsistent data)";
    ClosedPolicy, "closed_policy", "the target closes the socket (1008, its policy)";
    ClosedTooBig, "closed_too_big", "the target closes the socket (1009, the message is too big)";
    ClosedInternalError, "closed_internal_error", "the target closes the socket (1011, an error of its own)";
    ClosedRestart, "closed_restart", "the target closes the socket (1012, it restarts)";
    ClosedTryLater, "closed_try_later", "the target closes the socket (1013, try again later)";
    ClosedWithoutCode, "closed_without_code", "the target closes the socket and gives no status code";
    ClosedOther, "closed_other", "the target closes the socket with another status code";
}

impl Fault {
    /// A close that may be sent (RFC 6455 §7.4).
    pub(super) fn of_close(code: Option<u16>) -> Fault {
        match code {
            None => Fault::ClosedWithoutCode,
            Some(1000) => Fault::ClosedNormal,
            Some(1001) => Fault::ClosedGoingAway,
            Some(1002) => Fault::ClosedProtocolError,
            Some(1003) => Fault::ClosedUnsupported,
            Some(1007) => Fault::ClosedInvalidData,
            Some(1008) => Fault::ClosedPolicy,
            Some(1009) => Fault::ClosedTooBig,
            Some(1011) => Fault::ClosedInternalError,
            Some(1012) => Fault::ClosedRestart,
            Some(1013) => Fault::ClosedTryLater,
            Some(_) => Fault::ClosedOther,
        }
    }

    /// The target closes the socket as it may.
    pub(super) fn is_close(violation: Violation) -> bool {
        matches!(violation, Violation::Malformed(number) if number >= Fault::ClosedNormal.number())
    }

    /// An answer to the upgrade that does not switch.
    pub(super) fn of_status(status: u16) -> Fault {
        match status {
            300..=399 => Fault::RefusedRedirect,
            400..=499 => Fault::RefusedClient,
            500..=599 => Fault::RefusedServer,
            _ => Fault::NotSwitched,
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

    #[test]
    fn closes_are_those_that_begin_so() {
        for fault in Fault::ALL {
            assert_eq!(Fault::is_close((*fault).into()), fault.code().starts_with("closed_"), "{fault}");
        }
        assert!(!Fault::is_close(Violation::ClosedEarly));
    }
}
