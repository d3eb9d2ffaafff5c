//! Who asks Redis, and where.

use std::fmt;
use unblink_wire::redis::User;

/// What connections say before the first command, as far as the URL says it.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Login {
    pub user: Option<User>,
    pub database: u32,
}

/// Without what is secret in it.
impl fmt::Debug for Login {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Login").field("database", &self.database).finish_non_exhaustive()
    }
}
