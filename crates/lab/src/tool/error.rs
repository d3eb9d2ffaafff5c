//! Why a definition can't be used.

use std::path::PathBuf;

/// A definition that can't be used.
#[derive(Debug, thiserror::Error)]
pub enum DefinitionError {
    /// The file can't be read.
    #[error("can't read the tool's definition {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// It is not a definition.
    #[error("{place}: {reason}")]
    Parse {
        /// The file, or the name of one of ours.
        place: String,
        /// Where and what.
        reason: String,
    },
}
