//! What can go wrong with a store.

use crate::Location;

/// What went wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// It can't be opened, read or written.
    #[error("the history in {place}: {source} (--store or UNBLINK_STORE names another place)")]
    Failed {
        /// Where it is, passwords masked.
        place: String,
        /// What is wrong.
        source: Failure,
    },
    /// No run has this name.
    #[error("no run {id:?} in {place}: unblink history lists its runs, and unblink index DIR adds others")]
    NoRun {
        /// As it was given.
        id: String,
        /// Where it was looked for.
        place: String,
    },
    /// Several runs do.
    #[error("{count} runs begin with {id:?}: give more of its digits")]
    Ambiguous {
        /// As it was given.
        id: String,
        /// How many begin with it.
        count: usize,
    },
}

/// What is wrong.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// A folder or a thread can't be had.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It can't be read any more.
    #[error("the file is damaged: unblink index DIR puts it aside and makes a new one from run folders")]
    Damaged,
    /// The database says no.
    #[error("{0}")]
    Database(String),
    /// Its tables can't be brought up to date.
    #[error("{0}")]
    Migration(String),
    /// It did not answer.
    #[error("no answer in {} s", crate::PATIENCE.as_secs())]
    Timeout,
}

// In words alone: as a source, the driver's error would be told once more, with its numbers.
impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Failure {
        if is_damage(&error) { Failure::Damaged } else { Failure::Database(plain(&error)) }
    }
}

impl From<sqlx::migrate::MigrateError> for Failure {
    fn from(error: sqlx::migrate::MigrateError) -> Failure {
        match &error {
            sqlx::migrate::MigrateError::Execute(error)
            | sqlx::migrate::MigrateError::ExecuteMigration(error, _)
                if is_damage(error) =>
            {
                Failure::Damaged
            }
            _ => Failure::Migration(plain_migration(&error)),
        }
    }
}

/// Of a database that another process has locked.
pub(crate) const HELD: &str = "another process holds it and does not let go";

/// What a database says, in words instead of the numbers of <https://sqlite.org/rescode.html>.
fn plain(error: &sqlx::Error) -> String {
    let Some(said) = error.as_database_error() else { return error.to_string() };
    let meant = match sqlite_code(said) {
        Some(5 | 6) => HELD,
        Some(8) => "it can only be read: the file or its folder is not writable",
        Some(13) => "the disk is full",
        Some(14) => "the file can't be opened: it must be a file, and its folder there and writable",
        Some(26) => {
            "the file is something else: it is not an SQLite database (if it was the history, move it away, and \
             unblink index DIR makes a new one)"
        }
        _ => return said.message().to_string(),
    };
    meant.to_string()
}

/// Of an extended code, the lowest byte.
fn sqlite_code(error: &dyn sqlx::error::DatabaseError) -> Option<u32> {
    let code = error.code().and_then(|code| code.parse::<u32>().ok());
    code.map(|code| code & 0xff).filter(|_| is_sqlite(error))
}

fn is_damage(error: &sqlx::Error) -> bool {
    error.as_database_error().and_then(sqlite_code) == Some(11)
}

fn is_sqlite(error: &dyn sqlx::error::DatabaseError) -> bool {
    // PostgreSQL's have five characters, such as 08006.
    error.code().is_some_and(|code| code.len() < 5)
}

fn plain_migration(error: &sqlx::migrate::MigrateError) -> String {
    match error {
        sqlx::migrate::MigrateError::Execute(error)
        | sqlx::migrate::MigrateError::ExecuteMigration(error, _) => plain(error),
        sqlx::migrate::MigrateError::VersionMissing(_) => {
            "a newer unblink has made it: take that one".to_string()
        }
        other => other.to_string(),
    }
}

impl StoreError {
    /// What is in the file can't be read any more.
    pub fn is_damage(&self) -> bool {
        matches!(self, StoreError::Failed { source: Failure::Damaged, .. })
    }
}

impl Failure {
    pub(crate) fn at(self, location: &Location) -> StoreError {
        StoreError::Failed { place: location.to_string(), source: self }
    }
}
