//! The arguments of a call, by position or by name.

use std::ops::Range;

use super::number;
use super::{Call, Text, Value};
use crate::error::SourceError;

/// Arguments that have found their names.
pub(crate) struct Arguments<'a> {
    call: &'a Call,
    /// How the call is written, for messages.
    usage: &'a str,
    names: &'a [&'a str],
    /// By place in `names`.
    values: Vec<Option<&'a Value>>,
}

impl<'a> Arguments<'a> {
    /// Gives each argument one of `names`: those without a name get theirs by position.
    ///
    /// # Errors
    /// A name that is unknown or comes twice, a position behind a name, or too many.
    pub(crate) fn of(call: &'a Call, names: &'a [&'a str], usage: &'a str) -> Result<Self, SourceError> {
        let mut values = vec![None; names.len()];
        let mut named = false;
        for (position, argument) in call.arguments.iter().enumerate() {
            let range = argument.value.range();
            let place = match &argument.name {
                None if named => {
                    let message = "an argument without a name follows one with a name; name it too";
                    return Err(SourceError::at(range, message));
                }
                None if position >= names.len() => {
                    let message = format!("this is one argument too many: {usage}");
                    return Err(SourceError::at(range, message));
                }
                None => position,
                Some(name) => {
                    named = true;
                    let place = names.iter().position(|known| *known == name.text);
                    place.ok_or_else(|| unknown(name, names, usage))?
                }
            };
            if values[place].is_some() {
                let range = argument.name.as_ref().map_or(range, |name| name.range.clone());
                return Err(SourceError::at(range, format!("`{}` is given twice", names[place])));
            }
            values[place] = Some(&argument.value);
        }
        Ok(Arguments { call, usage, names, values })
    }

    /// Where the argument stands, or the whole call.
    pub(crate) fn range(&self, name: &str) -> Range<usize> {
        self.value(name).map_or(self.call.range.clone(), Value::range)
    }

    /// An error at an argument.
    pub(crate) fn refused(&self, name: &str, message: impl Into<String>) -> SourceError {
        SourceError::at(self.range(name), message)
    }

    pub(crate) fn value(&self, name: &str) -> Option<&'a Value> {
        let place = self.names.iter().position(|known| *known == name);
        place.and_then(|place| self.values[place])
    }

    /// A whole number.
    pub(crate) fn whole(&self, name: &str) -> Result<Option<u64>, SourceError> {
        self.read(name, number::whole)
    }

    pub(crate) fn share(&self, name: &str) -> Result<Option<f64>, SourceError> {
        self.read(name, number::share)
    }

    pub(crate) fn real(&self, name: &str) -> Result<Option<f64>, SourceError> {
        self.read(name, number::real)
    }

    pub(crate) fn text(&self, name: &str) -> Result<Option<&'a str>, SourceError> {
        match self.value(name) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(&text.text)),
            Some(Value::List(_, range)) => {
                Err(SourceError::at(range.clone(), format!("`{name}` can't be a list: {}", self.usage)))
            }
        }
    }

    /// An argument that must be there.
    pub(crate) fn needed<T>(&self, name: &str, value: Option<T>) -> Result<T, SourceError> {
        value.ok_or_else(|| {
            let message = format!("`{name}` is missing: {}", self.usage);
            SourceError::at(self.call.range.clone(), message)
        })
    }

    fn read<T>(&self, name: &str, read: fn(&str) -> Result<T, String>) -> Result<Option<T>, SourceError> {
        let text = self.text(name)?;
        text.map(read).transpose().map_err(|message| self.refused(name, format!("`{name}`: {message}")))
    }
}

fn unknown(name: &Text, names: &[&str], usage: &str) -> SourceError {
    let hint = nearest(&name.text, names).map(|near| format!(", did you mean `{near}`?")).unwrap_or_default();
    SourceError::at(name.range.clone(), format!("there is no argument `{}`{hint} {usage}", name.text))
}

/// The one of `known` that a slip of the fingers may have meant.
pub(crate) fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let distance = |other: &str| strsim::damerau_levenshtein(&name.to_lowercase(), other);
    let near = known.iter().copied().min_by_key(|known| distance(known))?;
    (distance(near) <= 1 + near.len() / 4).then_some(near)
}
