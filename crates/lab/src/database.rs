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
    /// Frozen by SIGSTOP.
    Cassandra,
}

impl Database {
    /// Who may do everything in ours, without a password: only the loopback reaches it.
    pub(crate) const POSTGRES_USER: &str = "postgres";
    /// Of ours.
    pub(crate) const CASSANDRA_KEYSPACE: &str = "lab";

    /// All of them.
    pub const ALL: [Database; 3] = [Database::Redis, Database::Postgres, Database::Cassandra];

    /// The scenario in which it stalls.
    pub fn scenario(self) -> &'static str {
        match self {
            Database::Redis => "redis-stall",
            Database::Postgres => "postgres-stall",
            Database::Cassandra => "cassandra-stall",
        }
    }

    /// As its makers call it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Database::Redis => "Redis",
            Database::Postgres => "PostgreSQL",
            Database::Cassandra => "Cassandra",
        }
    }

    /// As documents call what it speaks.
    pub(crate) fn protocol(self) -> document::Protocol {
        match self {
            Database::Redis => document::Protocol::Redis,
            Database::Postgres => document::Protocol::Postgres,
            Database::Cassandra => document::Protocol::Cql,
        }
    }

    /// The URL of the one that listens at an address.
    pub(crate) fn url(self, address: &str) -> String {
        match self {
            Database::Redis => format!("redis://{address}/0"),
            Database::Postgres => format!("postgres://{}@{address}/postgres", Database::POSTGRES_USER),
            Database::Cassandra => format!("cql://{address}/{}", Database::CASSANDRA_KEYSPACE),
        }
    }

    /// What it is, and what is done to it when.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Database::Redis => "a Redis with data of its own; its process is stopped (SIGSTOP)",
            Database::Postgres => "a PostgreSQL with data of its own; its table is locked (ACCESS EXCLUSIVE)",
            Database::Cassandra => "a Cassandra with data of its own; its process is stopped (SIGSTOP)",
        }
    }

    /// The one of a scenario.
    pub fn of_scenario(name: &str) -> Option<Database> {
        Self::ALL.into_iter().find(|database| database.scenario() == name)
    }
}
