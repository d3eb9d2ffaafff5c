//! Opening, and the tables.

use crate::Location;
use crate::error::{Failure, HELD};
use crate::location::Access;
use sqlx::AnyConnection;
use sqlx::migrate::{Migration, MigrationType, Migrator};
use sqlx::{Connection as _, SqlSafeStr as _};
use std::time::Duration;

/// How long a statement waits for another writer.
const BUSY_MS: u32 = 4_000;
/// Between two attempts at opening.
const PAUSE: Duration = Duration::from_millis(20);
/// Attempts at opening. Two processes may find the same file without tables: one makes them, and the other is told
/// that they are locked, or that they are there.
const ATTEMPTS: u32 = 100;

pub(crate) async fn open(location: &Location, access: Access) -> Result<AnyConnection, Failure> {
    let mut attempt = 1;
    loop {
        match once(location, access).await {
            Ok(connection) => return Ok(connection),
            Err(failure) if attempt < ATTEMPTS && is_contention(&failure) => attempt += 1,
            Err(failure) => return Err(failure),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn once(location: &Location, access: Access) -> Result<AnyConnection, Failure> {
    let mut connection = AnyConnection::connect(&location.url(access)).await?;
    if access == Access::Read {
        return Ok(connection);
    }
    if matches!(location, Location::File(_)) {
        // Readers and a writer at the same time; a write that is reported survives a crash of the process, and one of
        // the machine costs the last writes at most: the run folders have them.
        let pragmas = format!(
            "PRAGMA busy_timeout = {BUSY_MS}; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; \
             PRAGMA foreign_keys = ON;"
        );
        sqlx::raw_sql(sqlx::AssertSqlSafe(pragmas)).execute(&mut connection).await?;
    }
    migrator().run(&mut connection).await?;
    Ok(connection)
}

/// Every change of the tables, oldest first; one that was released is never edited.
fn migrator() -> Migrator {
    let sql = include_str!("../migrations/0001_runs.sql").into_sql_str();
    Migrator::with_migrations(vec![Migration::new(1, "runs".into(), MigrationType::Simple, sql, false)])
}

/// Another process is at the same.
fn is_contention(failure: &Failure) -> bool {
    let text = failure.to_string();
    [HELD, "locked", "busy", "already exists", "UNIQUE constraint", "duplicate key"]
        .iter()
        .any(|part| text.contains(part))
}
