//! Wall-clock time, for names and time stamps only.

use jiff::Timestamp;
use std::time::SystemTime;

/// RFC 3339 in UTC, to the millisecond.
pub(crate) fn rfc3339(at: SystemTime) -> String {
    let at = Timestamp::try_from(at).unwrap_or(Timestamp::UNIX_EPOCH);
    at.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
}

/// Now, RFC 3339 in UTC.
pub(crate) fn now() -> String {
    rfc3339(SystemTime::now())
}

/// Now, as the name of a folder: sortable and without a colon.
pub(crate) fn folder_name() -> String {
    Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ").to_string()
}
