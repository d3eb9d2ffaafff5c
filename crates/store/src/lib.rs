//! The index of runs: an embedded SQLite database, or PostgreSQL for teams; the same queries serve both.
//!
//! Calls block: the asynchronous runtime that the database's driver wants lives in here and goes no further. A store is
//! opened when a run has ended, never while something is measured.

mod error;
mod filter;
mod location;
mod migrate;
mod write;

pub use error::StoreError;
pub use filter::Filter;
pub use location::Location;

use error::Failure;
use location::Access;
use sqlx::any::{Any, AnyArguments};
use sqlx::query::Query;
use sqlx::{AnyConnection, AssertSqlSafe, Connection as _, Row as _};
use std::time::Duration;
use tokio::runtime::Runtime;
use unblink_artifact::history::IndexedRun;

/// How long one call may take, waiting for other writers included.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long closing may take.
const PARTING: Duration = Duration::from_secs(1);

/// An open index.
pub struct Store {
    runtime: Runtime,
    // Taken when it is closed.
    connection: Option<AnyConnection>,
    location: Location,
}

impl Store {
    /// Opens the index, makes it where there is none, and brings its tables up to date.
    pub fn open(location: &Location) -> Result<Store, StoreError> {
        location.make_folder().map_err(|error| Failure::from(error).at(location))?;
        Store::open_for(location, Access::Write)
    }

    /// Opens what is there to be read, also where it can't be written: on a medium or in a folder of somebody else's.
    pub fn open_to_read(location: &Location) -> Result<Store, StoreError> {
        let opened = Store::open_for(location, Access::Write);
        match (opened, location) {
            (Err(failed), Location::File(_)) => {
                let read = Store::open_for(location, Access::Read).and_then(Store::tried);
                read.map_err(|_| failed)
            }
            (opened, _) => opened,
        }
    }

    /// A file is opened before it is read.
    fn tried(mut self) -> Result<Store, StoreError> {
        self.runs(&Filter { limit: Some(1), ..Filter::default() })?;
        Ok(self)
    }

    fn open_for(location: &Location, access: Access) -> Result<Store, StoreError> {
        sqlx::any::install_default_drivers();
        let wrong = |failure: Failure| failure.at(location);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| wrong(error.into()))?;
        let opened = migrate::open(location, access);
        let opened = runtime.block_on(async { tokio::time::timeout(PATIENCE, opened).await });
        let connection = opened.map_err(|_| wrong(Failure::Timeout)).and_then(|done| done.map_err(wrong))?;
        Ok(Store { runtime, connection: Some(connection), location: location.clone() })
    }

    /// Where it is, passwords masked.
    pub fn place(&self) -> String {
        self.location.to_string()
    }

    /// Takes runs in, or what is new of them. Tags and baselines that are known already stay as they are.
    pub fn put(&mut self, runs: &[IndexedRun]) -> Result<(), StoreError> {
        self.call(async |connection| write::put(connection, runs).await)
    }

    /// The runs that fit, newest first, and whether there are more than its limit.
    pub fn runs(&mut self, filter: &Filter) -> Result<(Vec<IndexedRun>, bool), StoreError> {
        let mut runs = self.call(async |connection| runs(connection, filter).await)?;
        let limit = filter.limit.map_or(usize::MAX, |limit| limit as usize);
        let more = runs.len() > limit;
        runs.truncate(limit);
        Ok((runs, more))
    }

    /// The run with this name or the beginning of it; `latest` is the newest.
    pub fn find(&mut self, id: &str) -> Result<IndexedRun, StoreError> {
        let filter = match id {
            "latest" => Filter { limit: Some(1), ..Filter::default() },
            _ => Filter { id: Some(id.to_lowercase()), ..Filter::default() },
        };
        let (mut runs, _) = self.runs(&filter)?;
        match runs.len() {
            1 => Ok(runs.remove(0)),
            0 => Err(StoreError::NoRun { id: id.into(), place: self.place() }),
            count => Err(StoreError::Ambiguous { id: id.into(), count }),
        }
    }

    /// Sets a tag of a run, or with an empty value takes it away.
    pub fn tag(&mut self, run_id: &str, tag: &str, value: &str) -> Result<(), StoreError> {
        self.call(async |connection| write::tag(connection, run_id, tag, value).await)
    }

    /// Makes these runs the baseline of this name, in the place of those that were.
    pub fn set_baseline(&mut self, name: &str, run_ids: &[String], set_at: &str) -> Result<(), StoreError> {
        self.call(async |connection| write::set_baseline(connection, name, run_ids, set_at).await)
    }

    /// Runs `work`; none takes longer than [`PATIENCE`].
    fn call<T>(
        &mut self,
        work: impl AsyncFnOnce(&mut AnyConnection) -> Result<T, sqlx::Error>,
    ) -> Result<T, StoreError> {
        let Some(connection) = self.connection.as_mut() else {
            return Err(Failure::Timeout.at(&self.location));
        };
        let done = self.runtime.block_on(async { tokio::time::timeout(PATIENCE, work(connection)).await });
        match done {
            Ok(done) => done.map_err(|error| Failure::from(error).at(&self.location)),
            Err(_) => Err(Failure::Timeout.at(&self.location)),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // So that SQLite folds its log into the file. What is written is written either way.
        if let Some(connection) = self.connection.take() {
            let _ = self.runtime.block_on(async { tokio::time::timeout(PARTING, connection.close()).await });
        }
    }
}

async fn runs(connection: &mut AnyConnection, filter: &Filter) -> Result<Vec<IndexedRun>, sqlx::Error> {
    let (sql, values) = filter.query("run");
    let mut found = Vec::new();
    for row in bound(sql, &values).fetch_all(&mut *connection).await? {
        let text: String = row.try_get(0)?;
        let run: IndexedRun =
            serde_json::from_str(&text).map_err(|error| sqlx::Error::Decode(Box::new(error)))?;
        found.push(run);
    }
    let (which, _) = filter.query("id");
    for (column, table) in [("tag, value", "tags"), ("name, set_at", "baselines")] {
        let sql = format!("SELECT run_id, {column} FROM {table} WHERE run_id IN ({which})");
        for row in bound(sql, &values).fetch_all(&mut *connection).await? {
            let (run_id, key, value): (String, String, String) =
                (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
            let Some(run) = found.iter_mut().find(|run| run.id == run_id) else { continue };
            let pairs = if table == "tags" { &mut run.tags } else { &mut run.baselines };
            pairs.insert(key, value);
        }
    }
    Ok(found)
}

/// The text holds constants and numbered places only; what the user gave is bound.
fn bound(sql: String, values: &[String]) -> Query<'static, Any, AnyArguments> {
    values.iter().fold(sqlx::query(AssertSqlSafe(sql)), |query, value| query.bind(value.clone()))
}
