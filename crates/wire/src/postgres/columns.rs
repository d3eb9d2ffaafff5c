//! Values of rows by the names of their columns, for requests that ask for them.

use super::fault::Fault;
use crate::protocol::{Sink, Tag, Value};
use crate::valued::Gathered;

/// Bytes of what is said of a column behind its name.
const BEHIND_NAME: usize = 18;

/// The columns of the rows that come, and the value that is coming. Their memory is used again.
#[derive(Debug, Default)]
pub(super) struct Columns {
    names: Vec<u8>,
    /// Where each of them ends.
    ends: Vec<usize>,
    value: Gathered,
    /// The first row has come.
    is_over: bool,
}

impl Columns {
    /// An answer begins, of whose columns nothing is known.
    pub(super) fn forget(&mut self) {
        self.names.clear();
        self.ends.clear();
        self.value.clear();
        self.is_over = false;
    }

    /// Reads the columns of the rows that follow.
    pub(super) fn read(&mut self, message: &[u8]) -> Result<(), Fault> {
        self.forget();
        let (count, mut rest) = message.split_first_chunk().ok_or(Fault::BadMessage)?;
        for _ in 0..u16::from_be_bytes(*count) {
            let end = rest.iter().position(|&byte| byte == 0).ok_or(Fault::BadMessage)?;
            self.names.extend_from_slice(&rest[..end]);
            self.ends.push(self.names.len());
            rest = rest.get(end + 1 + BEHIND_NAME..).ok_or(Fault::BadMessage)?;
        }
        if rest.is_empty() { Ok(()) } else { Err(Fault::BadMessage) }
    }

    pub(super) fn add(&mut self, piece: &[u8]) {
        if !self.is_over {
            self.value.add(piece);
        }
    }

    /// The value of this column is whole.
    pub(super) fn tell(&mut self, column: u16, tag: Tag, sink: &mut impl Sink) {
        let number = usize::from(column);
        if let Some(&end) = self.ends.get(number).filter(|_| !self.is_over) {
            let from = number.checked_sub(1).map_or(0, |before| self.ends[before]);
            let name = Some(&self.names[from..end]);
            sink.value(tag, Value { place: Some(column.into()), name, text: self.value.text() });
        }
        self.value.clear();
    }

    /// A row is whole.
    pub(super) fn row_ends(&mut self) {
        self.is_over = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_columns_must_be_all_there() {
        let column = |name: &str| [name.as_bytes(), &[0; 1 + BEHIND_NAME]].concat();
        let whole = [&[0, 2][..], &column("id"), &column("")].concat();
        let mut columns = Columns::default();
        assert_eq!(columns.read(&whole), Ok(()));
        assert_eq!((&columns.names[..], &columns.ends[..]), (&b"id"[..], &[2, 2][..]));
        for end in 0..whole.len() {
            assert_eq!(columns.read(&whole[..end]), Err(Fault::BadMessage), "{end} bytes");
        }
        assert_eq!(columns.read(&[&whole[..], b"x"].concat()), Err(Fault::BadMessage));
        assert_eq!(columns.read(&[0xff; 40]), Err(Fault::BadMessage));
    }
}
