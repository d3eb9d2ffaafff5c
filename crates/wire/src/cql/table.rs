//! A table of the system's as an answer has it, with all of its values at once. It is read beside the load, never for a request.

use super::fault::Fault;
use super::fields::{Fields, Stop};
use super::result::kind;
use super::types::Type;
use core::net::IpAddr;

/// Rows with the names of their columns.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<Option<Vec<u8>>>>,
}

/// A row, whose values are found by the names of their columns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    columns: &'a [String],
    values: &'a [Option<Vec<u8>>],
}

impl Table {
    /// Of the fields of a result with rows.
    pub(super) fn read(mut fields: Fields<'_>) -> Result<Table, Fault> {
        read(&mut fields).map_err(|stop| match stop {
            Stop::Lacking => Fault::BadMessage,
            Stop::Wrong(fault) => fault,
        })
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|values| Row { columns: &self.columns, values })
    }
}

fn read(fields: &mut Fields<'_>) -> Result<Table, Stop> {
    if fields.int()? != kind::ROWS {
        return Err(Fault::UnknownMessage.into());
    }
    let (flags, count) = (fields.int()?, fields.count()?);
    // Whole tables are asked for, and what they are.
    if flags & !1 != 0 {
        return Err(Fault::BadMessage.into());
    }
    let is_global = flags & 1 != 0;
    let pass_table = |fields: &mut Fields<'_>| fields.string().and_then(|_| fields.string()).map(|_| ());
    if is_global {
        pass_table(fields)?;
    }
    let mut table = Table::default();
    for _ in 0..count {
        if !is_global {
            pass_table(fields)?;
        }
        table.columns.push(String::from_utf8_lossy(fields.string()?).into_owned());
        Type::read(fields)?;
    }
    let rows = fields.count()?;
    if count == 0 && rows > 0 {
        return Err(Fault::BadRow.into());
    }
    for _ in 0..rows {
        let row: Result<_, Stop> = (0..count).map(|_| Ok(fields.bytes()?.map(<[u8]>::to_vec))).collect();
        table.rows.push(row?);
    }
    Ok(table)
}

impl<'a> Row<'a> {
    /// Nothing where it is null or there is no such column.
    fn value(self, column: &str) -> Option<&'a [u8]> {
        let place = self.columns.iter().position(|name| name == column)?;
        self.values[place].as_deref()
    }

    /// It says something there.
    pub(super) fn has(self, column: &str) -> bool {
        self.value(column).is_some()
    }

    pub(super) fn text(self, column: &str) -> Option<&'a str> {
        self.value(column).and_then(|value| std::str::from_utf8(value).ok())
    }

    /// An address to which something may go: none of those that mean all addresses of a machine.
    pub(super) fn address(self, column: &str) -> Option<IpAddr> {
        let value = self.value(column)?;
        let address = match value.len() {
            4 => IpAddr::from(*value.first_chunk::<4>()?),
            _ => IpAddr::from(*value.first_chunk::<16>()?),
        };
        (!address.is_unspecified()).then_some(address)
    }

    pub(super) fn port(self, column: &str) -> Option<u16> {
        let value: &[u8; 4] = self.value(column)?.try_into().ok()?;
        u16::try_from(i32::from_be_bytes(*value)).ok().filter(|&port| port > 0)
    }

    pub(super) fn uuid(self, column: &str) -> Option<[u8; 16]> {
        self.value(column)?.try_into().ok()
    }

    /// The texts of a set, or the keys and values of a map in turn.
    pub(super) fn texts(self, column: &str, each: usize) -> Option<Vec<String>> {
        let mut fields = Fields(self.value(column)?);
        let count = fields.count().ok()?;
        let mut text = || Some(String::from_utf8_lossy(fields.bytes().ok()??).into_owned());
        (0..count.checked_mul(each)?).map(|_| text()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_the_names_of_their_columns() {
        let mut body = b"\0\0\0\x02\0\0\0\x01\0\0\0\x04\0\x01k\0\x01t".to_vec();
        body.extend(b"\0\x01a\0\x10\0\x01p\0\x09\0\x01s\0\x22\0\x0d\0\x01n\0\x0d\0\0\0\x01");
        body.extend(b"\0\0\0\x04\x7f\0\0\x02\0\0\0\x04\0\0\x23\x52");
        body.extend(b"\0\0\0\x10\0\0\0\x02\0\0\0\x01x\0\0\0\x03y\xc3\xa4\xff\xff\xff\xff");
        let table = Table::read(Fields(&body)).unwrap();
        let row = table.rows().next().unwrap();
        assert_eq!((row.address("a"), row.port("p")), (Some([127, 0, 0, 2].into()), Some(9042)));
        assert_eq!(row.texts("s", 1).unwrap(), ["x", "yä"]);
        assert_eq!((row.text("n"), row.text("none"), row.texts("n", 1)), (None, None, None));
        for cut in 0..body.len() {
            assert!(Table::read(Fields(&body[..cut])).is_err(), "cut at {cut}");
        }
        let many = b"\0\0\0\x02\0\0\0\0\0\0\0\0\x7f\xff\xff\xff";
        assert_eq!(Table::read(Fields(many)), Err(Fault::BadRow));
    }
}
