//! `labels.json` in a run folder: what the user has said of the run since. It lies beside the record, so that an index
//! made again from the folders knows it, too.

use crate::bounded::{self, SMALL_BYTES_MAX};
use crate::harmless;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the file.
pub const LABELS_FILE: &str = "labels.json";
const SCHEMA: &str = "unblink.labels/1";

/// Tags and baselines of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunLabels {
    /// Always `unblink.labels/1`.
    pub schema: String,
    /// What the user calls it, by key.
    #[serde(default)]
    pub tags: BTreeMap<String, String>,
    /// The baselines that it belongs to, each with when it was set (RFC 3339 in UTC). Of two runs that claim a
    /// baseline the later one has it.
    #[serde(default)]
    pub baselines: BTreeMap<String, String>,
}

/// Why labels can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum LabelError {
    /// The system said no.
    #[error("can't {action} {path:?}: {source}")]
    Io {
        /// What was tried.
        action: &'static str,
        /// On which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file is not what it should be.
    #[error("can't understand {path:?}: {source}; repair it or remove it")]
    Corrupt {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: serde_json::Error,
    },
}

impl RunLabels {
    /// Those of the run in `folder`; none when there is no such file.
    pub fn read(folder: &Path) -> Result<RunLabels, LabelError> {
        let path = folder.join(LABELS_FILE);
        match bounded::read_text(&path, SMALL_BYTES_MAX) {
            Ok(text) => {
                let labels = serde_json::from_str(&text).map(RunLabels::harmless);
                labels.map_err(|source| LabelError::Corrupt { path, source })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(RunLabels::default()),
            Err(source) => Err(LabelError::Io { action: "read", path, source }),
        }
    }

    /// Anyone may have written the file, and what it says goes into an index and onto screens.
    fn harmless(self) -> RunLabels {
        let both = |of: BTreeMap<String, String>| {
            of.iter().map(|(key, value)| (harmless::replaced(key), harmless::replaced(value))).collect()
        };
        RunLabels { schema: self.schema, tags: both(self.tags), baselines: both(self.baselines) }
    }

    /// Changes those of the run in `folder`. A reader sees the old file or the new one.
    pub fn change(folder: &Path, change: impl FnOnce(&mut RunLabels)) -> Result<(), LabelError> {
        let mut labels = RunLabels::read(folder)?;
        change(&mut labels);
        labels.schema = SCHEMA.into();
        let path = folder.join(LABELS_FILE);
        let corrupt = |source| LabelError::Corrupt { path: path.clone(), source };
        let text = harmless::json_pretty(&labels).map_err(corrupt)? + "\n";
        let new = folder.join(format!("{LABELS_FILE}.{}", std::process::id()));
        std::fs::write(&new, text).and_then(|()| std::fs::rename(&new, &path)).map_err(|source| {
            let _ = std::fs::remove_file(&new);
            LabelError::Io { action: "write", path: path.clone(), source }
        })
    }
}
