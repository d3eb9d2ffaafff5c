//! Invariants of a connection with calls, checked for anything that a server may send. Shared by the fuzz target and the
//! replay of its corpus; not part of the API.

use super::Grpc;
use crate::http2::fuzzing::check_as;

/// Checks one input of the fuzzer, which is one of [HTTP/2](crate::http2::fuzzing::check).
///
/// # Panics
/// If the outcome depends on the cuts, or an invariant breaks.
pub fn check(data: &[u8]) {
    check_as::<Grpc>(data);
}
