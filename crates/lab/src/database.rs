//! Databases that others wrote, as the lab knows them.

use unblink_artifact::document;

/// Which one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Database {
    /// Frozen by SIGSTOP.
    Redis,
    /// Its table is held under an exclusive lock.
    Postgres,
}

impl Database {
    /// Who may do everything in ours, without a password: only the loopback reaches it.
    pub(crate) const POSTGRES_USER: &str = "postgres";

    /// All of them.
    pub const ALL: [Database; 2] = [Database::Redis, Database::Postgres];

    /// The scenario in which it stalls.
    pub fn scenario(self) -> &'static str {
        match self {
            Database::Redis => "redis-stall",
            Database::Postgres => "postgres-stall",
        }
    }

    /// As its makers call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Database::Redis => "Redis",
            Database::Postgres => "PostgreSQL",
        }
    }

    /// As documents call what it speaks.
    pub(crate) fn protocol(self) -> document::Protocol {
        match self {
            Database::Redis => document::Protocol::Redis,
            Database::Postgres => document::Protocol::Postgres,
        }
    }

    /// The URL of the one that listens at an address.
    pub(crate) fn url(self, address: &str) -> String {
        match self {
            Database::Redis => format!("redis://{address}/0"),
            Database::Postgres => format!("postgres://{}@{address}/postgres", Database::POSTGRES_USER),
        }
    }

    /// What it is, and what is done to it when.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Database::Redis => "a Redis with data of its own; its process is stopped (SIGSTOP)",
            Database::Postgres => "a PostgreSQL with data of its own; its table is locked (ACCESS EXCLUSIVE)",
        }
    }

    /// The one of a scenario.
    pub fn of_scenario(name: &str) -> Option<Database> {
        Self::ALL.into_iter().find(|database| database.scenario() == name)
    }
}
