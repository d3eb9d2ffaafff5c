//! Rows of a CSV file (RFC 4180), whose first line names the columns.

use std::io::Read;

use super::table::{Table, distinct};
use crate::balanced::{Balanced, Unbalanced};
use crate::error::Fault;
use crate::lines::NOT_UTF8;

/// Reads all rows. Fields may be quoted, and hold commas and line breaks then; blank lines are left out.
///
/// # Errors
/// An empty file, no rows, two columns of the same name, a row with another number of fields, a quote that is
/// never closed, bytes that are not UTF-8.
/// The line is that where the row starts, or the first of the blank lines before it.
pub(super) fn read(reader: Box<dyn Read + '_>) -> Result<Table, Fault> {
    let mut csv = csv::ReaderBuilder::new().buffer_capacity(1 << 16).from_reader(Balanced::new(reader));
    let headers = csv.byte_headers().map_err(fault)?.clone();
    if headers.is_empty() {
        return Err(Fault::of_file("is empty; its first line names the columns"));
    }
    let line = headers.position().map_or(1, csv::Position::line);
    let columns = headers
        .iter()
        .map(|name| std::str::from_utf8(name).map(|name| name.trim().to_string()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| Fault::at(line, NOT_UTF8))?;
    distinct(&columns, line)?;
    let mut table = Table::new(columns);
    let mut row = csv::ByteRecord::new();
    while csv.read_byte_record(&mut row).map_err(fault)? {
        let line = row.position().map_or(0, csv::Position::line);
        for (field, column) in row.iter().zip(0..) {
            if std::str::from_utf8(field).is_err() {
                let message = format!("column `{}`: {NOT_UTF8}", table.columns()[column]);
                return Err(Fault::at(line, message));
            }
            table.push(field).map_err(|message| Fault::at(line, message))?;
        }
    }
    table.finished("has a line with the names of columns, and no rows")
}

fn fault(error: csv::Error) -> Fault {
    let line = error.position().map(csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::UnequalLengths { expected_len, len, .. } => Fault {
            line,
            message: format!(
                "this row has {len} field{}, the first line has {expected_len}; quote fields that hold commas",
                if len == 1 { "" } else { "s" }
            ),
        },
        csv::ErrorKind::Io(error) => match Unbalanced::in_error(&error) {
            Some(unbalanced) => Fault::at(unbalanced.line, unbalanced.to_string()),
            None => error.into(),
        },
        other => Fault { line, message: format!("{other:?}") },
    }
}
