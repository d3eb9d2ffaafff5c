//! What is wrong with what the user says about a format.

use std::fmt;

/// What is wrong with a format, and where.
#[derive(Debug)]
pub struct FormatError {
    message: String,
    place: Option<(String, usize)>,
}

impl FormatError {
    pub(super) fn new(message: impl Into<String>) -> FormatError {
        FormatError { message: message.into(), place: None }
    }

    /// At this byte of the format's text.
    pub(super) fn at(message: impl Into<String>, text: &str, byte: usize) -> FormatError {
        FormatError { message: message.into(), place: Some((text.into(), byte)) }
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        let Some((text, byte)) = &self.place else { return Ok(()) };
        let column = text.get(..*byte).map_or(0, |before| before.chars().count());
        write!(f, "\n  | {}\n  | {}^", text.replace(char::is_control, " "), " ".repeat(column))
    }
}

impl std::error::Error for FormatError {}
