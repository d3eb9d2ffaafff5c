//! What answers are called: whether there were rows, and of an error its class (SQLSTATE, PostgreSQL's appendix A).

/// The transaction was done, and something was found or changed.
pub const DONE: u16 = 0;
/// It was done, and no statement returned or changed a row.
pub const EMPTY: u16 = 1;
/// A transaction that must find something did not.
pub(super) const NOT_FOUND: u16 = NAMES.len() as u16 - 2;
/// So many of the names are no failures.
pub(super) const SUCCESSES: u16 = 2;

/// The names of all codes. Errors that are not listed share the last one.
pub(super) const NAMES: &[&str] = &[
    "done",
    "empty",
    "connection_exception",
    "feature_not_supported",
    "cardinality_violation",
    "data_exception",
    "integrity_constraint_violation",
    "not_null_violation",
    "foreign_key_violation",
    "unique_violation",
    "check_violation",
    "invalid_transaction_state",
    "invalid_statement_name",
    "invalid_authorization",
    "transaction_rollback",
    "serialization_failure",
    "deadlock_detected",
    "syntax_error_or_access_rule",
    "insufficient_privilege",
    "undefined_table",
    "insufficient_resources",
    "too_many_connections",
    "program_limit_exceeded",
    "object_not_in_prerequisite_state",
    "lock_not_available",
    "operator_intervention",
    "query_canceled",
    "admin_shutdown",
    "cannot_connect_now",
    "system_error",
    "plpgsql_error",
    "internal_error",
    "not_found",
    "other",
];

/// What an error is called by its whole state, or else by the first two characters.
const STATES: &[(&[u8], &str)] = &[
    (b"23502", "not_null_violation"),
    (b"23503", "foreign_key_violation"),
    (b"23505", "unique_violation"),
    (b"23514", "check_violation"),
    (b"40001", "serialization_failure"),
    (b"40P01", "deadlock_detected"),
    (b"42501", "insufficient_privilege"),
    (b"42P01", "undefined_table"),
    (b"53300", "too_many_connections"),
    (b"55P03", "lock_not_available"),
    (b"57014", "query_canceled"),
    (b"57P01", "admin_shutdown"),
    (b"57P02", "admin_shutdown"),
    (b"57P03", "cannot_connect_now"),
    (b"08", "connection_exception"),
    (b"0A", "feature_not_supported"),
    (b"21", "cardinality_violation"),
    (b"22", "data_exception"),
    (b"23", "integrity_constraint_violation"),
    (b"25", "invalid_transaction_state"),
    (b"26", "invalid_statement_name"),
    (b"28", "invalid_authorization"),
    (b"40", "transaction_rollback"),
    (b"42", "syntax_error_or_access_rule"),
    (b"53", "insufficient_resources"),
    (b"54", "program_limit_exceeded"),
    (b"55", "object_not_in_prerequisite_state"),
    (b"57", "operator_intervention"),
    (b"58", "system_error"),
    (b"P0", "plpgsql_error"),
    (b"XX", "internal_error"),
];

/// The code of an error with this state.
pub(super) fn of_state(state: &[u8]) -> u16 {
    let called = STATES.iter().find(|(prefix, _)| state.len() == 5 && state.starts_with(prefix));
    let called = called.map_or("other", |(_, name)| name);
    NAMES.iter().position(|name| *name == called).unwrap_or(NAMES.len() - 1) as u16
}

/// The target does not know a statement by its name.
pub(super) fn is_of_lost_statement(code: u16) -> bool {
    name(code) == "invalid_statement_name"
}

/// What the code of an answer is called.
pub fn name(code: u16) -> &'static str {
    NAMES.get(usize::from(code)).unwrap_or(&"other")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_called_by_its_state() {
        for (state, called) in [
            (&b"40001"[..], "serialization_failure"),
            (b"40P01", "deadlock_detected"),
            (b"40002", "transaction_rollback"),
            (b"23505", "unique_violation"),
            (b"23P01", "integrity_constraint_violation"),
            (b"42P01", "undefined_table"),
            (b"42601", "syntax_error_or_access_rule"),
            (b"57P01", "admin_shutdown"),
            (b"P0001", "plpgsql_error"),
            (b"99999", "other"),
            (b"", "other"),
            (b"40", "other"),
        ] {
            assert_eq!(name(of_state(state)), called, "{}", String::from_utf8_lossy(state));
        }
        assert!(STATES.iter().all(|(_, called)| NAMES.contains(called)));
        assert_eq!((name(DONE), name(EMPTY), name(NOT_FOUND)), ("done", "empty", "not_found"));
    }
}
