//! What stands before the rows of an answer, and in the answers to statements that are prepared (native_protocol_v4.spec, §4.2.5).

use super::fault::Fault;
use super::fields::{Fields, Stop};
use super::frame::flag;
use super::types::Type;

/// What kind of result it is.
pub(super) mod kind {
    pub(in super::super) const VOID: i32 = 1;
    pub(in super::super) const ROWS: i32 = 2;
    pub(in super::super) const SET_KEYSPACE: i32 = 3;
    pub(in super::super) const PREPARED: i32 = 4;
    pub(in super::super) const SCHEMA_CHANGE: i32 = 5;
}

/// Of a result, what it says of itself before its columns.
mod of_metadata {
    pub(super) const GLOBAL: i32 = 0x01;
    pub(super) const MORE_PAGES: i32 = 0x02;
    pub(super) const NO_METADATA: i32 = 0x04;
}

/// What is said of columns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Described {
    pub(super) columns: usize,
    /// Their types are said, too.
    pub(super) has_types: bool,
    /// The first one says whether the condition of the statement held.
    pub(super) is_conditional: bool,
}

/// Passes what the flags of a frame put before its own fields (§2.2), in the order in which Cassandra writes it.
pub(super) fn pass_flagged(flags: u8, fields: &mut Fields<'_>) -> Result<(), Stop> {
    if flags & flag::TRACING != 0 {
        fields.take(16)?;
    }
    if flags & flag::WARNING != 0 {
        for _ in 0..fields.short()? {
            fields.string()?;
        }
    }
    if flags & flag::PAYLOAD != 0 {
        for _ in 0..fields.short()? {
            fields.string()?;
            fields.pass_bytes()?;
        }
    }
    Ok(())
}

/// Where the name of a column stands: how many bytes are left of the fields behind it, and how many it has.
pub(super) type Name = (usize, usize);

/// Reads what is said of the columns of rows. Their types are appended to `types`, and where their names stand to `names`.
pub(super) fn columns(
    fields: &mut Fields<'_>,
    types: &mut Vec<Type>,
    names: &mut Vec<Name>,
) -> Result<Described, Stop> {
    let (flags, columns) = (fields.int()?, fields.count()?);
    described((flags, columns), fields, types, names)
}

/// The same of the values of a prepared statement. Those that make up the partition key, by number and in its order, are appended to
/// `key`.
pub(super) fn parameters(
    fields: &mut Fields<'_>,
    types: &mut Vec<Type>,
    key: &mut Vec<u16>,
) -> Result<(), Stop> {
    let (flags, columns) = (fields.int()?, fields.count()?);
    for _ in 0..fields.count()? {
        key.push(fields.short()?);
    }
    if key.iter().any(|&value| usize::from(value) >= columns) {
        return Err(Fault::BadMessage.into());
    }
    described((flags, columns), fields, types, &mut Vec::new()).map(|_| ())
}

fn described(
    (flags, columns): (i32, usize),
    fields: &mut Fields<'_>,
    types: &mut Vec<Type>,
    names: &mut Vec<Name>,
) -> Result<Described, Stop> {
    if flags & of_metadata::MORE_PAGES != 0 {
        fields.pass_bytes()?;
    }
    // Cassandra numbers them with 16 bits.
    if columns > usize::from(u16::MAX) {
        return Err(Fault::BadMessage.into());
    }
    let has_types = flags & of_metadata::NO_METADATA == 0;
    let mut described = Described { columns, has_types, is_conditional: false };
    if !has_types || columns == 0 {
        return Ok(described);
    }
    let is_global = flags & of_metadata::GLOBAL != 0;
    let pass_table = |fields: &mut Fields<'_>| fields.string().and_then(|_| fields.string()).map(|_| ());
    if is_global {
        pass_table(fields)?;
    }
    // Each takes bytes, so that no more are read than have come.
    for column in 0..columns {
        if !is_global {
            pass_table(fields)?;
        }
        let name = fields.string()?;
        names.push((fields.0.len(), name.len()));
        described.is_conditional |= column == 0 && name == b"[applied]";
        types.push(Type::read(fields)?);
    }
    Ok(described)
}

/// Rows that are to come: how many, and what is said of their columns.
pub(super) fn rows(
    fields: &mut Fields<'_>,
    types: &mut Vec<Type>,
    names: &mut Vec<Name>,
) -> Result<(Described, u32), Stop> {
    let described = columns(fields, types, names)?;
    let rows = fields.count()? as u32;
    // Rows without values would be any number of rows of no bytes.
    if described.columns == 0 && rows > 0 {
        return Err(Fault::BadRow.into());
    }
    Ok((described, rows))
}
