//! Statuses of gRPC ([statuscodes](https://github.com/grpc/grpc/blob/master/doc/statuscodes.md)).

/// Success.
pub(super) const OK: u16 = 0;
/// Of a number that nobody knows.
pub(super) const UNKNOWN: u16 = 2;
/// The deadline that was sent has passed.
pub(super) const DEADLINE_EXCEEDED: u16 = 4;

/// Their names, by number.
pub const CODES: &[&str] = &[
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];
