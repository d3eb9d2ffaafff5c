//! Rows of a file in memory: one block of bytes, and where each field ends.

use crate::error::Fault;

/// The fields of all rows together have at most so many bytes: places in the block are 32 bits.
const BYTES_MAX: usize = u32::MAX as usize;

/// Fields in rows of the same width. A row takes the bytes of its fields and 4 bytes for each.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Table {
    columns: Vec<String>,
    /// Fields per row: the columns, or one where columns have no names.
    width: usize,
    bytes: Vec<u8>,
    /// The end of each field in `bytes`; it starts where the one before ends.
    ends: Vec<u32>,
}

impl Table {
    /// Without rows. Without columns it takes one nameless field per row.
    pub(crate) fn new(columns: Vec<String>) -> Table {
        Table { width: columns.len().max(1), columns, bytes: Vec::new(), ends: Vec::new() }
    }

    /// Adds a field at the end.
    pub(crate) fn push(&mut self, field: &[u8]) -> Result<(), String> {
        if field.len() > BYTES_MAX - self.bytes.len() {
            return Err("the rows take more than 4 GiB; split the file".to_string());
        }
        self.bytes.extend_from_slice(field);
        self.ends.push(self.bytes.len() as u32);
        Ok(())
    }

    /// The table with no memory to spare, and at least one row.
    pub(crate) fn finished(mut self, without_rows: &str) -> Result<Table, Fault> {
        if self.rows() == 0 {
            return Err(Fault::of_file(without_rows));
        }
        self.bytes.shrink_to_fit();
        self.ends.shrink_to_fit();
        Ok(self)
    }

    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    pub(crate) fn rows(&self) -> u64 {
        (self.ends.len() / self.width) as u64
    }

    /// The field of a row and a column, both from 0.
    #[inline]
    pub(crate) fn field(&self, row: u64, column: u32) -> &[u8] {
        let at = row as usize * self.width + column as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.bytes[start..self.ends[at] as usize]
    }
}

/// Refuses a name that two columns have.
pub(crate) fn distinct(columns: &[String], line: u64) -> Result<(), Fault> {
    for (at, column) in columns.iter().enumerate() {
        if let Some(before) = columns[..at].iter().position(|other| other == column) {
            let message = format!(
                "columns {} and {} are both called `{column}`; give each its own name",
                before + 1,
                at + 1
            );
            return Err(Fault::at(line, message));
        }
    }
    Ok(())
}

/// Column names for a message.
pub(crate) fn listed(columns: &[String]) -> String {
    columns.iter().map(|column| format!("`{column}`")).collect::<Vec<_>>().join(", ")
}
