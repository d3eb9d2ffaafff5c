//! What is wrong with a script, in a line.

use mlua::Error;

/// Why a script can't be used.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ScriptError {
    /// Lua's own words, with file and line.
    #[error("{0}")]
    Lua(String),
    /// It has a function that only a load that waits for answers can call.
    #[error(
        "{name} has a function delay(), which says when the next request is sent: in an open load the schedule says it (-R and \
         --arrivals), and nothing may move it; take the function out, or let users wait for their answers, as wrk does (--closed)"
    )]
    Delay {
        /// The script.
        name: String,
    },
}

impl ScriptError {
    pub(super) fn of(error: &Error) -> ScriptError {
        ScriptError::Lua(words(error))
    }
}

/// The first line of what Lua says: what follows is its stack.
pub(super) fn words(error: &Error) -> String {
    let text = match error {
        Error::SyntaxError { message, .. } => message.clone(),
        Error::RuntimeError(message) | Error::MemoryError(message) => message.clone(),
        Error::CallbackError { cause, .. } => return words(cause),
        other => other.to_string(),
    };
    text.lines().next().unwrap_or_default().to_string()
}
