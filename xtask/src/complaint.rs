//! What a check has to say.

use std::fmt;

/// A place and what to do about it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Complaint {
    /// Path from the root of the repository, with `/`.
    pub file: String,
    /// Counted from 1.
    pub line: usize,
    /// What is wrong and what to do, one sentence or two.
    pub message: String,
}

impl Complaint {
    /// A complaint about `line` (from 1) of `file`.
    pub fn new(file: &str, line: usize, message: impl Into<String>) -> Complaint {
        Complaint { file: file.to_string(), line, message: message.into() }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.message)
    }
}
