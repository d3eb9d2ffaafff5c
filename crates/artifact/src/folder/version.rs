//! Which version wrote a file, and what it says in the present one.

use super::{FolderError, LINES_SCHEMA, RunningDocument, v1};
use crate::document::{RunDocument, RunStatus, SCHEMA};
use crate::header::RunHeader;
use serde::Deserialize;
use serde_json::{Map, Value};
use std::path::Path;

/// The version of `intervals.jsonl` whose headers are those of [`v1`].
const LINES_SCHEMA_1: &str = "unblink.intervals/1";

/// What `run.json` holds.
pub(super) enum RunFile {
    /// The run document.
    Ended(Box<RunDocument>),
    /// The run goes on, or was killed.
    Running(Box<RunHeader>),
}

/// Why a text can't be read.
pub(super) enum Unread {
    /// Of a version that this one does not know.
    OtherVersion { found: String, expected: &'static str },
    /// It is not what it should be; lines count from 1.
    Corrupt { line: u64, what: String },
}

impl From<serde_json::Error> for Unread {
    fn from(error: serde_json::Error) -> Unread {
        Unread::Corrupt { line: (error.line() as u64).max(1), what: error.to_string() }
    }
}

impl Unread {
    /// Of a text that begins in this line of `path`.
    pub(super) fn in_file(self, path: &Path, first_line: u64) -> FolderError {
        let path = path.to_path_buf();
        match self {
            Unread::OtherVersion { found, expected } => FolderError::OtherVersion { path, found, expected },
            Unread::Corrupt { line, what } => {
                FolderError::Corrupt { path, line: first_line + line - 1, what }
            }
        }
    }
}

/// Reads `run.json`.
pub(super) fn run(text: &str) -> Result<RunFile, Unread> {
    #[derive(Deserialize)]
    struct Begin {
        schema: String,
        status: RunStatus,
    }
    #[derive(Deserialize)]
    struct Running1 {
        header: Map<String, Value>,
    }
    let Begin { schema, status } = serde_json::from_str(text)?;
    let header = match (schema.as_str(), status) {
        (SCHEMA, RunStatus::Running) => serde_json::from_str::<RunningDocument>(text)?.header,
        (v1::SCHEMA, RunStatus::Running) => v1::header(serde_json::from_str::<Running1>(text)?.header)?,
        (SCHEMA, _) => return ended(serde_json::from_str(text)?),
        (v1::SCHEMA, _) => return ended(v1::document(serde_json::from_str(text)?)?),
        _ => return Err(Unread::OtherVersion { found: schema, expected: SCHEMA }),
    };
    Ok(RunFile::Running(Box::new(checked(header)?)))
}

/// Reads the first line of `intervals.jsonl`.
pub(super) fn lines_header(text: &str) -> Result<RunHeader, Unread> {
    #[derive(Deserialize)]
    struct First {
        schema: String,
        header: Map<String, Value>,
    }
    let First { schema, header } = serde_json::from_str(text)?;
    match schema.as_str() {
        LINES_SCHEMA => checked(serde_json::from_value(Value::Object(header))?),
        LINES_SCHEMA_1 => checked(v1::header(header)?),
        _ => Err(Unread::OtherVersion { found: schema, expected: LINES_SCHEMA }),
    }
}

fn ended(document: RunDocument) -> Result<RunFile, Unread> {
    let checked = document.check().map_err(|what| Unread::Corrupt { line: 1, what })?;
    Ok(RunFile::Ended(Box::new(checked)))
}

fn checked(header: RunHeader) -> Result<RunHeader, Unread> {
    header.check().map_err(|what| Unread::Corrupt { line: 1, what })
}
