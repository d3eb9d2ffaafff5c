//! What answers are called: what a statement brought, and of an error its code (native_protocol_v4.spec, §9).

/// There are rows.
pub const ROWS: u16 = 0;
/// There could be rows, and are none.
pub const NO_ROWS: u16 = 1;
/// The statement is done, and has nothing to say.
pub const VOID: u16 = 2;
/// The condition of a statement (`IF …`) did not hold, so that nothing was changed.
pub const NOT_APPLIED: u16 = 3;
/// So many of the names are no failures.
pub(super) const SUCCESSES: u16 = 4;
/// A value does not fit the type that its statement asks for: it was not sent.
pub(super) const VALUE_UNFIT: u16 = NAMES.len() as u16 - 2;
/// A statement that must find a row did not.
pub(super) const NOT_FOUND: u16 = NAMES.len() as u16 - 3;
/// The target does not know the statement, and did not after it was prepared again.
pub(super) const UNPREPARED: u16 = NAMES.len() as u16 - 4;

/// The names of all codes. Errors that are not listed share the last one.
pub(super) const NAMES: &[&str] = &[
    "rows",
    "no_rows",
    "void",
    "not_applied",
    "server_error",
    "protocol_error",
    "bad_credentials",
    "unavailable",
    "overloaded",
    "is_bootstrapping",
    "truncate_error",
    "write_timeout",
    "read_timeout",
    "read_failure",
    "function_failure",
    "write_failure",
    "syntax_error",
    "unauthorized",
    "invalid",
    "config_error",
    "already_exists",
    "unprepared",
    "not_found",
    "value_unfit",
    "other_error",
];

/// Codes of errors by the names above, from `server_error` on.
const ERRORS: [i32; 18] = [
    0x0000, 0x000a, 0x0100, 0x1000, 0x1001, 0x1002, 0x1003, 0x1100, 0x1200, 0x1300, 0x1400, 0x1500, 0x2000,
    0x2100, 0x2200, 0x2300, 0x2400, 0x2500,
];

/// What an error with this code is called, by number.
pub(super) fn of_error(code: i32) -> u16 {
    let place = ERRORS.iter().position(|&error| error == code);
    place.map_or(NAMES.len() as u16 - 1, |place| place as u16 + SUCCESSES)
}

/// What the code of an answer is called.
pub fn name(code: u16) -> &'static str {
    NAMES.get(usize::from(code)).unwrap_or(&"other_error")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_called_by_its_code() {
        for (code, called) in [
            (0x0000, "server_error"),
            (0x0100, "bad_credentials"),
            (0x1000, "unavailable"),
            (0x1001, "overloaded"),
            (0x1003, "truncate_error"),
            (0x1100, "write_timeout"),
            (0x1200, "read_timeout"),
            (0x1500, "write_failure"),
            (0x2000, "syntax_error"),
            (0x2200, "invalid"),
            (0x2400, "already_exists"),
            (0x2500, "unprepared"),
            (0x1600, "other_error"),
            (-1, "other_error"),
        ] {
            assert_eq!(name(of_error(code)), called, "{code:#x}");
        }
        let all = [ROWS, NO_ROWS, VOID, NOT_APPLIED, VALUE_UNFIT, UNPREPARED, NOT_FOUND].map(name);
        let expected = ["rows", "no_rows", "void", "not_applied", "value_unfit", "unprepared", "not_found"];
        assert_eq!(all, expected);
    }
}
