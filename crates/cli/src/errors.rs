//! Errors of whoever asks: which fields they are about, and several at once, since whoever mends a file wants to know
//! of all that is wrong with it.

use crate::secrets;
use anyhow::{Error, Result};
use clap::error::{ContextKind, ContextValue};
use std::fmt;
use unblink_engine::preflight::PreflightError;

/// A refusal that knows its fields, so that a plan is pointed at where it has them.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub(crate) struct Refused {
    /// Flags by their long names, which are the names of a plan's fields. The first one is the first to blame.
    pub fields: Vec<&'static str>,
    /// Which value of the field, where it has several.
    pub number: usize,
    /// The load whose fields they are, where a plan lists several; otherwise those of the sections.
    pub load: Option<usize>,
    message: String,
}

/// The target's doing: it was asked once and did not answer as expected.
#[derive(Debug, thiserror::Error)]
#[error(
    "the request before the run failed, so nothing was measured{}: {request}: {source}",
    if *is_setup { "" } else { " (--no-preflight starts anyway)" }
)]
pub(crate) struct PreflightFailed {
    /// Which origin was asked.
    pub origin: usize,
    pub request: String,
    pub source: PreflightError,
    /// The load needs what it brings.
    pub is_setup: bool,
}

impl PreflightFailed {
    /// What was asked, and what came of it.
    pub(crate) fn what(&self) -> String {
        format!("{}: {}", self.request, self.source)
    }
}

/// What is wrong with these fields.
pub(crate) fn refused(fields: &[&'static str], message: impl Into<String>) -> Error {
    Refused { fields: fields.to_vec(), number: 0, load: None, message: message.into() }.into()
}

/// What is wrong with one value of a field that may have several.
pub(crate) fn refused_value(field: &'static str, number: usize, message: String) -> Error {
    Refused { fields: vec![field], number, load: None, message }.into()
}

/// The error, as one about the load with this number of those that a plan lists.
pub(crate) fn of_load(load: usize, error: Error) -> Error {
    match error.downcast::<Refused>() {
        Ok(refused) => Refused { load: Some(load), ..refused }.into(),
        Err(error) => error,
    }
}

/// Returns with what is wrong with these fields.
macro_rules! refuse {
    ($fields:expr, $($message:tt)+) => {
        return Err($crate::errors::refused(&$fields, format!($($message)+)))
    };
}
pub(crate) use refuse;

/// More than one.
#[derive(Debug)]
pub(crate) struct Several(Vec<Error>);

impl fmt::Display for Several {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, error) in self.0.iter().enumerate() {
            write!(f, "{}{}", if i > 0 { "\nerror: " } else { "" }, crate::explain_error(error))?;
        }
        Ok(())
    }
}

impl std::error::Error for Several {}

/// One error that tells of all of these; there is at least one.
pub(crate) fn several(mut errors: Vec<Error>) -> Error {
    match errors.len() {
        1 => errors.remove(0),
        _ => Several(errors).into(),
    }
}

/// Each of those that it tells of.
pub(crate) fn each(error: Error) -> Vec<Error> {
    match error.downcast::<Several>() {
        Ok(Several(errors)) => errors.into_iter().flat_map(each).collect(),
        Err(error) => vec![error],
    }
}

/// All that went well, or all that did not.
pub(crate) fn all<T>(results: impl IntoIterator<Item = Result<T>>) -> Result<Vec<T>> {
    let (mut good, mut bad) = (Vec::new(), Vec::new());
    for result in results {
        match result {
            Ok(value) => good.push(value),
            Err(error) => bad.extend(each(error)),
        }
    }
    if bad.is_empty() { Ok(good) } else { Err(several(bad)) }
}

/// Both, or what is wrong with either.
pub(crate) fn both<A, B>(one: Result<A>, other: Result<B>) -> Result<(A, B)> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(one), Err(other)) => Err(several(each(one).into_iter().chain(each(other)).collect())),
        (Err(error), _) | (_, Err(error)) => Err(error),
    }
}

/// What is wrong with a command line, without quoting a value that may be a secret.
pub(crate) fn without_secrets(mut error: clap::Error) -> clap::Error {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => text.clone(),
        _ => String::new(),
    };
    let (flag, value) = (text(ContextKind::InvalidArg), text(ContextKind::InvalidValue));
    let masked = match flag.split(' ').next() {
        Some("--expect") => secrets::mask_expectation(&value),
        Some("--slo" | "--abort-on") => secrets::mask_objective(&value),
        _ => return error,
    };
    error.insert(ContextKind::InvalidValue, ContextValue::String(masked));
    error
}
