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
    #[error(
        "no run {id:?} in {place}: unblink history lists those that there are, and unblink index DIR takes more in"
    )]
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
    /// The database says no.
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    /// Its tables can't be brought up to date.
    #[error(transparent)]
    Migration(#[from] sqlx::migrate::MigrateError),
    /// It did not answer.
    #[error("no answer in {} s", crate::PATIENCE.as_secs())]
    Timeout,
}

impl Failure {
    pub(crate) fn at(self, location: &Location) -> StoreError {
        StoreError::Failed { place: location.to_string(), source: self }
    }
}
