//! What a server says of a statement that it has prepared.

use super::fault::Fault;
use super::fields::{Fields, Stop};
use super::result::{columns, parameters};
use super::types::Type;

/// A statement that is known to the server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Prepared {
    /// By which it is executed.
    pub(super) id: Box<[u8]>,
    /// Types of its values.
    pub(super) parameters: Box<[Type]>,
    /// The values that are its partition key, in the key's order; none where it has not all of it.
    pub(super) key: Box<[u16]>,
    /// Types of the columns that it brings; none where they are not known beforehand.
    pub(super) columns: Box<[Type]>,
}

impl Prepared {
    /// Of the fields behind the kind of the result.
    pub(super) fn read(mut fields: Fields<'_>) -> Result<Prepared, Fault> {
        Prepared::fields(&mut fields).map_err(|stop| match stop {
            Stop::Lacking => Fault::BadMessage,
            Stop::Wrong(fault) => fault,
        })
    }

    fn fields(fields: &mut Fields<'_>) -> Result<Prepared, Stop> {
        let id = fields.string()?;
        let (mut of_values, mut key, mut of_columns) = (Vec::new(), Vec::new(), Vec::new());
        parameters(fields, &mut of_values, &mut key)?;
        columns(fields, &mut of_columns, &mut Vec::new())?;
        let (parameters, columns) = (of_values.into(), of_columns.into());
        Ok(Prepared { id: id.into(), parameters, key: key.into(), columns })
    }

    /// It takes as many values as its text has places, of types that can be bound.
    pub(super) fn check(&self, values: usize) -> Result<(), Fault> {
        if self.parameters.len() != values {
            return Err(Fault::ValuesOther);
        }
        match self.parameters.iter().all(|parameter| parameter.can_be_bound()) {
            true => Ok(()),
            false => Err(Fault::TypeUnsupported),
        }
    }
}
