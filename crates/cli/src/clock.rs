//! Wall-clock time, for names, time stamps and the days and hours of guards only.

use jiff::Timestamp;
use std::time::{Duration, SystemTime};
use unblink_core::time::Nanos;

/// RFC 3339 in UTC, to the millisecond.
pub(crate) fn rfc3339(at: SystemTime) -> String {
    let at = Timestamp::try_from(at).unwrap_or(Timestamp::UNIX_EPOCH);
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Now, RFC 3339 in UTC.
pub(crate) fn now() -> String {
    rfc3339(SystemTime::now())
}

/// Now.
pub(crate) fn timestamp() -> Timestamp {
    Timestamp::now()
}

/// Now, as the name of a folder: sortable and without a colon.
pub(crate) fn folder_name() -> String {
    timestamp().strftime("%Y-%m-%dT%H-%M-%SZ").to_string()
}

/// So long ago; before 1970 nothing was measured.
pub(crate) fn before(length: Nanos) -> Timestamp {
    let ago = timestamp().checked_sub(Duration::from_nanos(length.0));
    ago.ok().filter(|&at| at > Timestamp::UNIX_EPOCH).unwrap_or(Timestamp::UNIX_EPOCH)
}
