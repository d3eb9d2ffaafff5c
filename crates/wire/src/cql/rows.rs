//! Rows of an answer, told as text while their bytes pass by.

use super::fault::Fault;
use super::text;
use super::types::Type;
use crate::valued::Gathered;

/// Bytes of a value that are told as hexadecimal digits at once.
const HEX_BYTES: usize = 32;
/// No number, address or time is longer.
const SHORT_MAX: usize = 16;

/// Where the next byte belongs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum At {
    /// All rows have come.
    End,
    Length,
    /// A value that is told as it is, of which so many bytes are to come.
    Text(u32),
    /// One that is told once it is whole.
    Short(u32),
    /// One of which nothing is known.
    Hex(u32),
}

/// What is to be told next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Piece {
    /// More bytes are needed, or all has been told.
    Nothing,
    /// [`Rows::own`]
    Own,
    /// The last so many of the bytes that were taken.
    Taken(usize),
    /// A value of the first row is whole, that of this column: [`Rows::value`]
    Value(usize),
}

/// Rows: values are parted by tabs, a row ends with a line feed, and nothing at all is `\N`.
#[derive(Debug)]
pub(super) struct Rows {
    /// Types of the columns.
    pub(super) columns: Vec<Type>,
    rows_left: u32,
    column: usize,
    at: At,
    /// A length or a short value, as far as it has come.
    number: [u8; SHORT_MAX],
    number_length: usize,
    own: Vec<u8>,
    /// What is its own is to be told.
    is_owing: bool,
    /// The next value says whether the condition of the statement held.
    says_applied: bool,
    /// It did not.
    is_refused: bool,
    /// Values of the row that is coming are told by themselves.
    tells_values: bool,
    value: Gathered,
    /// One is whole, and not told yet.
    told: Option<usize>,
}

impl Rows {
    pub(super) fn new() -> Rows {
        Rows {
            columns: Vec::new(),
            rows_left: 0,
            column: 0,
            at: At::End,
            number: [0; SHORT_MAX],
            number_length: 0,
            own: Vec::with_capacity(2 * HEX_BYTES + 4),
            is_owing: false,
            says_applied: false,
            is_refused: false,
            tells_values: false,
            value: Gathered::default(),
            told: None,
        }
    }

    /// So many rows are to come, whose columns are known. The values of the first are told by themselves if the reader
    /// `tells_values`.
    pub(super) fn begin(&mut self, rows: u32, is_conditional: bool, tells_values: bool) {
        self.rows_left = rows;
        self.column = 0;
        self.at = if rows == 0 { At::End } else { At::Length };
        self.number_length = 0;
        self.is_owing = false;
        self.says_applied = is_conditional && self.columns.first() == Some(&Type::Boolean);
        self.is_refused = false;
        (self.tells_values, self.told) = (tells_values, None);
    }

    /// What is told beside what is taken as it is.
    pub(super) fn own(&self) -> &[u8] {
        &self.own
    }

    /// The value that is whole.
    pub(super) fn value(&self) -> &[u8] {
        self.value.text()
    }

    /// All rows have come, and been told.
    pub(super) fn is_whole(&self) -> bool {
        self.at == At::End && !self.is_owing && self.told.is_none()
    }

    /// The condition of the statement did not hold.
    pub(super) fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Takes of `source` up to the next piece: how many bytes, and the piece.
    pub(super) fn step(&mut self, source: &[u8]) -> Result<(usize, Piece), Fault> {
        let mut taken = 0;
        loop {
            if std::mem::take(&mut self.is_owing) {
                return Ok((taken, Piece::Own));
            }
            if let Some(column) = self.told.take() {
                return Ok((taken, Piece::Value(column)));
            }
            let rest = &source[taken..];
            match self.at {
                At::End => return Ok((taken, Piece::Nothing)),
                At::Length => {
                    let (n, is_whole) = self.gather(rest, 4);
                    taken += n;
                    if !is_whole {
                        return Ok((taken, Piece::Nothing));
                    }
                    self.begin_value()?;
                }
                At::Text(left) => {
                    let n = rest.len().min(left as usize);
                    if n == 0 {
                        return Ok((taken, Piece::Nothing));
                    }
                    self.own.clear();
                    self.gather_value(&rest[..n]);
                    match left - n as u32 {
                        0 => self.end_value(false),
                        left => self.at = At::Text(left),
                    }
                    return Ok((taken + n, Piece::Taken(n)));
                }
                At::Short(length) => {
                    let (n, is_whole) = self.gather(rest, length as usize);
                    taken += n;
                    if !is_whole {
                        return Ok((taken, Piece::Nothing));
                    }
                    let from = self.own.len();
                    let (kind, bytes) = (self.columns[self.column], &self.number[..length as usize]);
                    if std::mem::take(&mut self.says_applied) {
                        self.is_refused = bytes == [0];
                    }
                    if !text::put(kind, bytes, &mut self.own) {
                        self.own.extend_from_slice(b"0x");
                        text::put_hex(bytes, &mut self.own);
                    }
                    self.gather_own(from);
                    self.end_value(false);
                }
                At::Hex(left) => {
                    let n = rest.len().min(left as usize).min(HEX_BYTES);
                    if n == 0 {
                        return Ok((taken, Piece::Nothing));
                    }
                    taken += n;
                    self.own.clear();
                    text::put_hex(&rest[..n], &mut self.own);
                    self.gather_own(0);
                    match left - n as u32 {
                        0 => self.end_value(false),
                        left => (self.at, self.is_owing) = (At::Hex(left), true),
                    }
                    self.is_owing = true;
                }
            }
        }
    }

    /// What is its own from this byte on belongs to a value.
    fn gather_own(&mut self, from: usize) {
        if self.tells_values {
            self.value.add(&self.own[from..]);
        }
    }

    /// So does a piece that is told as it is.
    fn gather_value(&mut self, piece: &[u8]) {
        if self.tells_values {
            self.value.add(piece);
        }
    }

    /// Adds to a number that has so many bytes. How many it took, and whether it is whole.
    fn gather(&mut self, bytes: &[u8], length: usize) -> (usize, bool) {
        let n = bytes.len().min(length - self.number_length);
        self.number[self.number_length..self.number_length + n].copy_from_slice(&bytes[..n]);
        self.number_length += n;
        let is_whole = self.number_length == length;
        if is_whole {
            self.number_length = 0;
        }
        (n, is_whole)
    }

    /// The length of a value is there.
    fn begin_value(&mut self) -> Result<(), Fault> {
        self.own.clear();
        self.value.clear();
        if self.column > 0 {
            self.own.push(b'\t');
        }
        let [a, b, c, d, ..] = self.number;
        let length = i32::from_be_bytes([a, b, c, d]);
        match (length, self.columns[self.column]) {
            (-1, _) => {
                self.own.extend_from_slice(b"\\N");
                self.end_value(true);
            }
            (..0, _) => return Err(Fault::BadRow),
            // Of any type a value may have no bytes.
            (0, _) => self.end_value(false),
            (_, Type::Ascii | Type::Text) => {
                (self.at, self.is_owing) = (At::Text(length as u32), !self.own.is_empty());
            }
            (length, kind) if length as usize <= SHORT_MAX && !matches!(kind, Type::Blob | Type::Other) => {
                self.at = At::Short(length as u32);
            }
            _ => {
                let from = self.own.len();
                self.own.extend_from_slice(b"0x");
                self.gather_own(from);
                (self.at, self.is_owing) = (At::Hex(length as u32), true);
            }
        }
        Ok(())
    }

    /// A value is whole. What is its own may end the row.
    fn end_value(&mut self, is_null: bool) {
        self.says_applied = false;
        self.told = (self.tells_values && !is_null).then_some(self.column);
        self.at = At::Length;
        self.column += 1;
        if self.column == self.columns.len() {
            self.own.push(b'\n');
            self.column = 0;
            self.tells_values = false;
            self.rows_left -= 1;
            if self.rows_left == 0 {
                self.at = At::End;
            }
        }
        self.is_owing = !self.own.is_empty();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(columns: &[Type], rows: u32, bytes: &[u8], each: usize) -> Result<(String, bool), Fault> {
        let (mut all, mut said) = (Rows::new(), Vec::new());
        all.columns.extend_from_slice(columns);
        all.begin(rows, false, false);
        for mut piece in bytes.chunks(each) {
            loop {
                let (taken, what) = all.step(piece)?;
                match what {
                    Piece::Nothing if taken == 0 => break,
                    Piece::Nothing => {}
                    Piece::Own => said.extend_from_slice(all.own()),
                    Piece::Value(_) => unreachable!("nobody asks"),
                    Piece::Taken(n) => said.extend_from_slice(&piece[taken - n..taken]),
                }
                piece = &piece[taken..];
            }
        }
        Ok((String::from_utf8_lossy(&said).into_owned(), all.is_whole()))
    }

    #[test]
    fn rows_are_told_the_same_however_they_are_cut() {
        let columns = [Type::Int, Type::Text, Type::Blob, Type::Boolean];
        let values: [&[u8]; 8] = [
            b"\0\0\0\x04\xff\xff\xff\xfe",
            b"\0\0\0\x03abc",
            b"\0\0\0\x02\x00\xff",
            b"\0\0\0\x01\x01",
            b"\xff\xff\xff\xff",
            b"\0\0\0\0",
            b"\0\0\0\x28\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11\x11",
            b"\0\0\0\x03abc",
        ];
        let bytes = values.concat();
        let expected = format!("-2\tabc\t0x00ff\ttrue\n\\N\t\t0x{}\t0x616263\n", "11".repeat(40));
        for each in 1..=bytes.len() {
            assert_eq!(told(&columns, 2, &bytes, each), Ok((expected.clone(), true)), "cut every {each}");
        }
        assert_eq!(told(&columns, 3, &bytes, 7), Ok((expected, false)));
        assert_eq!(told(&[Type::Int], 1, b"\xff\xff\xff\xfe", 1), Err(Fault::BadRow));
    }
}
