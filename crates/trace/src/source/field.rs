//! What a field of a line means, and how its text becomes a part of an entry.

use super::{Edge, Got};
use crate::Unreadable;
use crate::entry::{Entry, is_method};
use crate::time::{TimeForm, Times, Unit, digits, number, with_unit};

/// What a field of a line means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Field {
    /// Nothing that a trace has.
    Skip,
    Time(TimeForm, Edge),
    /// A duration; without a unit, its text says one.
    Took(Option<Unit>),
    /// One of several durations that follow each other.
    TookPart(Unit),
    /// `GET /path HTTP/1.1`.
    Request,
    Method,
    /// Path and query.
    Target,
    Query,
    Status,
    AnswerBytes,
    RequestBytes,
    Login,
    Address,
    /// An address and a port behind a colon.
    AddressPort,
    /// Kept if its name is.
    Header(String),
}

impl Field {
    /// Fields of which a line needs one only have the same kind.
    pub(super) fn kind(&self) -> u8 {
        match self {
            Field::Skip => 0,
            Field::Time(..) => 1,
            Field::Took(_) => 2,
            Field::TookPart(_) => 3,
            Field::Request => 4,
            Field::Method => 5,
            Field::Target => 6,
            Field::Query => 7,
            Field::Status => 8,
            Field::AnswerBytes => 9,
            Field::RequestBytes => 10,
            Field::Login => 11,
            Field::Address | Field::AddressPort => 12,
            Field::Header(_) => 13,
        }
    }

    /// Puts what `text` says into the entry.
    pub(super) fn fill(&self, text: &[u8], entry: &mut Entry, times: &mut Times) -> Result<Got, Unreadable> {
        let value = |read: Option<u64>| read.map(Some).ok_or(Unreadable::Value);
        match self {
            Field::Time(form, _) => {
                let (at, whole) = times.read(text, *form).ok_or(Unreadable::Time)?;
                (entry.stamp, entry.whole_second) = (Some(at), whole);
            }
            _ if text.is_empty() || text == b"-" => match self {
                Field::Request | Field::Method | Field::Target => return Ok(Got::NoRequest),
                _ => {}
            },
            Field::Skip => {}
            Field::Took(Some(unit)) => entry.took = value(number(text, *unit).or_else(|| with_unit(text)))?,
            Field::Took(None) => entry.took = value(with_unit(text))?,
            // -1 is that of a part that never came.
            Field::TookPart(unit) => match (number(text, *unit), entry.took) {
                (Some(part), sum) => entry.took = value(sum.unwrap_or(0).checked_add(part))?,
                (None, _) if text == b"-1" => {}
                (None, _) => return Err(Unreadable::Value),
            },
            Field::Request => {
                if !entry.request_line(text) {
                    return Ok(Got::NoRequest);
                }
            }
            Field::Method => {
                if !is_method(text) {
                    return Ok(Got::NoRequest);
                }
                entry.method.extend_from_slice(text);
            }
            Field::Target => entry.target.extend_from_slice(text),
            Field::Query => entry.query.extend_from_slice(text),
            Field::Status => {
                let status = digits(text).and_then(|status| u16::try_from(status).ok());
                entry.status = Some(status.filter(|status| *status < 1000).ok_or(Unreadable::Value)?);
            }
            Field::AnswerBytes => entry.answer_bytes = value(digits(text))?,
            Field::RequestBytes => entry.request_bytes = value(digits(text))?,
            Field::Login => entry.login.extend_from_slice(text),
            Field::Address => entry.address.extend_from_slice(text),
            Field::AddressPort => {
                let end = memchr::memrchr(b':', text).unwrap_or(text.len());
                entry.address.extend_from_slice(&text[..end]);
            }
            Field::Header(name) => {
                entry.headers.push((name.clone(), String::from_utf8_lossy(text).into_owned()))
            }
        }
        Ok(Got::Request)
    }
}
