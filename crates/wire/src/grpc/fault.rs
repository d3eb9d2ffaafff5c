//! Every way in which an answer can break gRPC, beside those in which it can break HTTP/2.

use crate::http2;
use crate::protocol::Violation;
use crate::violations::violations;

violations! {
    /// What is wrong with an answer of a gRPC server.
    Fault;
    HttpStatus, "grpc_http_status", "the answer's HTTP status is not 200, so that it does not come from a gRPC server";
    NotGrpc, "grpc_content_type", "the answer's content-type is not application/grpc: a proxy or another server answers";
    NoStatus, "grpc_no_status", "the answer ends without grpc-status in its trailers";
    BadStatus, "grpc_bad_status", "grpc-status is not a number";
    BadMessage, "grpc_bad_message", "grpc-message is not percent-encoded as it must be";
    Compressed, "grpc_compressed", "a message is compressed, which nobody asked for";
    BadFlag, "grpc_bad_flag", "a message begins with a byte that is neither 0 nor 1";
    Truncated, "grpc_truncated", "a message is longer than the answer";
    NoMessage, "grpc_no_message", "the status is OK, and there is no message";
    SeveralMessages, "grpc_several_messages", "a unary method answers with more than one message";
}

/// Codes of both.
const COUNT: usize = http2::Fault::CODES.len() + Fault::CODES.len();

const fn both() -> [&'static str; COUNT] {
    let mut all = [""; COUNT];
    let mut i = 0;
    while i < COUNT {
        let of_http2 = http2::Fault::CODES.len();
        all[i] = if i < of_http2 { http2::Fault::CODES[i] } else { Fault::CODES[i - of_http2] };
        i += 1;
    }
    all
}

/// What can be wrong with an answer: HTTP/2's violations, and behind them those of gRPC.
pub(super) const VIOLATIONS: &[&str] = &both();

impl Fault {
    /// The one with this number among all violations.
    pub(super) fn at(number: u16) -> Option<Fault> {
        Fault::ALL.get(usize::from(number).checked_sub(http2::Fault::CODES.len())?).copied()
    }
}

impl From<Fault> for Violation {
    fn from(fault: Fault) -> Violation {
        Violation::Malformed(http2::Fault::CODES.len() as u16 + fault.number())
    }
}
