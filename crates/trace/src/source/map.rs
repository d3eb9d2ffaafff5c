//! Which field of a log is what, as the user says it: `time=ts`, `duration=elapsed:ms`.

use super::Edge;
use super::error::FormatError;
use super::field::Field;
use crate::time::{TimeForm, Unit};

/// What can be mapped.
const ROLES: &[&str] = &[
    "time",
    "start",
    "end",
    "duration",
    "request",
    "method",
    "path",
    "query",
    "status",
    "bytes",
    "request_bytes",
    "user",
];

/// Roles and the names of fields.
#[derive(Clone, Default, Debug)]
pub struct Map(Vec<(&'static str, String)>);

impl Map {
    /// Adds `role=field`.
    ///
    /// # Errors
    /// It is written otherwise, there is no such role, or it is taken.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let (role, field) = text
            .split_once('=')
            .filter(|(_, field)| !field.is_empty())
            .ok_or_else(|| format!("{text:?} is not written as ROLE=FIELD, such as time=ts"))?;
        let Some(role) = ROLES.iter().find(|known| **known == role) else {
            return Err(format!("{role:?} is not a part of a request; expected one of {}", ROLES.join(", ")));
        };
        if self.0.iter().any(|(taken, _)| taken == role) {
            return Err(format!("{role} is given twice"));
        }
        if let Some((taken, _)) = self.0.iter().find(|(_, other)| other == field) {
            return Err(format!("the field {field:?} can't be both {taken} and {role}"));
        }
        self.0.push((role, field.into()));
        Ok(())
    }

    /// The role's field is named.
    pub(super) fn has(&self, roles: &[&str]) -> bool {
        self.0.iter().any(|(role, _)| roles.contains(role))
    }

    /// The name of each field, and what it is.
    pub(super) fn fields(&self) -> Result<Vec<(&str, Field)>, FormatError> {
        let read = |(role, field): &'_ (&'static str, String)| -> Result<Field, FormatError> {
            Ok(match *role {
                "time" => Field::Time(TimeForm::Any, Edge::Unknown),
                "start" => Field::Time(TimeForm::Any, Edge::Start),
                "end" => Field::Time(TimeForm::Any, Edge::End),
                "duration" => Field::Took(unit_of(field)?.1),
                "request" => Field::Request,
                "method" => Field::Method,
                "path" => Field::Target,
                "query" => Field::Query,
                "status" => Field::Status,
                "bytes" => Field::AnswerBytes,
                "request_bytes" => Field::RequestBytes,
                _ => Field::Address,
            })
        };
        self.0
            .iter()
            .map(|one| {
                let name = if one.0 == "duration" { unit_of(&one.1)?.0 } else { &one.1 };
                Ok((name, read(one)?))
            })
            .collect()
    }

    /// The header that tells users apart, which is all that can be mapped where requests are recorded whole.
    pub(super) fn user_header(&self) -> Result<Option<String>, FormatError> {
        match &self.0[..] {
            [] => Ok(None),
            [("user", header)] => Ok(Some(header.clone())),
            _ => Err(FormatError::new(
                "this format says what its fields are: only --map user=HEADER can be said of it",
            )),
        }
    }
}

/// `elapsed:ms` is the field `elapsed`, in ms.
fn unit_of(field: &str) -> Result<(&str, Option<Unit>), FormatError> {
    match field.rsplit_once(':') {
        None => Ok((field, None)),
        Some((name, unit)) => match Unit::named(unit) {
            Some(unit) => Ok((name, Some(unit))),
            None => Err(FormatError::new(format!(
                "--map duration={field}: {unit:?} is not a unit; expected s, ms, us or ns"
            ))),
        },
    }
}
