//! What replies are called: whether there was something, and of an error its first word.

/// The reply is a value.
pub const OK: u16 = 0;
/// The reply is nothing at all (nil): of a lookup, a miss.
pub const NIL: u16 = 1;
/// A command that must find something did not.
pub(super) const NOT_FOUND: u16 = NAMES.len() as u16 - 2;
/// A transaction was given up, since one of its commands could not be queued.
pub(super) const EXEC_ABORT: u16 = 22;
/// So many of the names are no failures.
pub(super) const SUCCESSES: u16 = 2;

/// The names of all codes. Errors that are not listed share the last one.
pub(super) const NAMES: &[&str] = &[
    "ok",
    "nil",
    "ERR",
    "WRONGTYPE",
    "OOM",
    "MOVED",
    "ASK",
    "LOADING",
    "NOAUTH",
    "NOPERM",
    "WRONGPASS",
    "BUSY",
    "BUSYKEY",
    "BUSYGROUP",
    "NOGROUP",
    "READONLY",
    "CLUSTERDOWN",
    "CROSSSLOT",
    "TRYAGAIN",
    "MASTERDOWN",
    "NOREPLICAS",
    "MISCONF",
    "EXECABORT",
    "NOSCRIPT",
    "UNKILLABLE",
    "NOTBUSY",
    "NOPROTO",
    "DENIED",
    "MAXCLIENTS",
    // No error says this: small letters tell it from one.
    "not_found",
    "OTHER",
];

/// How much of an error is looked at: more than its first word for the one below.
pub(super) const ERROR_BYTES: usize = 32;

/// Redis gives this error no word of its own, and it says more than any other `ERR`.
const MAX_CLIENTS: &[u8] = b"ERR max number of clients";

/// The code of an error, of which `text` is the beginning.
pub(super) fn of_error(text: &[u8]) -> u16 {
    let word = match text.starts_with(MAX_CLIENTS) {
        true => b"MAXCLIENTS",
        false => text.split(|&byte| byte == b' ').next().unwrap_or_default(),
    };
    let named = NAMES.iter().skip(usize::from(SUCCESSES)).position(|name| name.as_bytes() == word);
    named.map_or(NAMES.len() as u16 - 1, |place| place as u16 + SUCCESSES)
}

/// What the code of a reply is called.
pub fn name(code: u16) -> &'static str {
    NAMES.get(usize::from(code)).unwrap_or(&"OTHER")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_called_by_its_first_word() {
        for (text, called) in [
            (&b"ERR unknown command 'x'"[..], "ERR"),
            (b"WRONGTYPE Operation against a key", "WRONGTYPE"),
            (b"MOVED 3999 127.0.0.1:6381", "MOVED"),
            (b"LOADING", "LOADING"),
            (b"ERR max number of clients reached", "MAXCLIENTS"),
            (b"ERR max number of clients + cluster", "MAXCLIENTS"),
            (b"ok", "OTHER"),
            (b"nil", "OTHER"),
            (b"MYERROR of a module", "OTHER"),
            (b"", "OTHER"),
        ] {
            assert_eq!(name(of_error(text)), called, "{}", String::from_utf8_lossy(text));
        }
        assert_eq!((name(OK), name(NIL), name(NOT_FOUND)), ("ok", "nil", "not_found"));
        assert!(MAX_CLIENTS.len() <= ERROR_BYTES && NAMES.iter().all(|name| name.len() < ERROR_BYTES));
    }
}
