//! What is wrong with the source of a value.

use std::ops::Range;

/// Why a source can't be used. Says what to do.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{}{message}", .place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default())]
pub struct SourceError {
    /// Which bytes of the expression are at fault.
    pub range: Range<usize>,
    /// In which file the fault lies, if not in the expression.
    pub place: Option<Place>,
    /// What is wrong, and what to write instead.
    pub message: String,
}

/// A place in a file that rows or weights are read from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// As the expression names it.
    pub file: String,
    /// From 1; none when the whole file is meant.
    pub line: Option<u64>,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

impl SourceError {
    /// Of the expression itself.
    pub(crate) fn at(range: Range<usize>, message: impl Into<String>) -> SourceError {
        SourceError { range, place: None, message: message.into() }
    }
}

/// What is wrong in a file, by whoever reads it and does not know the file's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    /// From 1.
    pub(crate) line: Option<u64>,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn of_file(message: impl Into<String>) -> Fault {
        Fault { line: None, message: message.into() }
    }

    pub(crate) fn at(line: u64, message: impl Into<String>) -> Fault {
        Fault { line: Some(line), message: message.into() }
    }

    /// The error of the expression that names the file at `range`.
    pub(crate) fn in_file(self, file: &str, range: Range<usize>) -> SourceError {
        let place = Place { file: file.to_string(), line: self.line };
        SourceError { range, place: Some(place), message: self.message }
    }
}

impl From<std::io::Error> for Fault {
    fn from(error: std::io::Error) -> Fault {
        Fault::of_file(format!("can't be read: {error}"))
    }
}

/// Why values can't be drawn for a plan.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ValuesError {
    /// Inserts are counted by the schedule, which closed users don't have.
    #[error(
        "{name} counts inserts by the schedule, and a closed load has none: use an open load, or another law"
    )]
    NoSchedule {
        /// The value.
        name: String,
    },
    /// All requests of a journey have the same.
    #[error(
        "{name} is one key for a whole journey, which inserts several keys: let it insert one, or let the service choose the \
         keys, without {name} in the requests that insert"
    )]
    OneKeyForMany {
        /// The value.
        name: String,
    },
    /// Inserts are numbered, and come in no order of time.
    #[error(
        "{name} numbers the records that are inserted{}, and these arrivals have no numbers in order of time: Poisson and bursty ones come \
         from 1,024 streams, and several loads and closed users take turns. Use one open load of --arrivals even",
        .follower.as_ref().map(|follower| format!(", which {follower} counts on")).unwrap_or_default()
    )]
    InsertsOutOfOrder {
        /// The value that numbers them.
        name: String,
        /// The value that counts on their order.
        follower: Option<String>,
    },
    /// Rows are taken by number, which arrivals in random order don't have.
    #[error(
        "{name} takes its rows in order, and requests in random order have none: use --order shuffled, or rows in random \
         order"
    )]
    RandomOrder {
        /// The value.
        name: String,
    },
}
