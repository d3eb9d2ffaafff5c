//! Messages of a server, found as their bytes pass by.

use super::fault::Fault;

/// How much of a message is kept. What is looked at stands at the beginning: of an error its state, of a command its count.
const KEPT_MAX: usize = 512;

/// Columns are looked at as a whole: the server has 1,664 at the most, each with a name of up to 63 bytes.
pub(super) const COLUMNS_BYTES_MAX: usize = 256 << 10;

/// What has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event<'a> {
    /// A message of this type, whose payload has so many bytes.
    Begins(u8, u32),
    /// A piece of a row as text: values are parted by tabs, a row ends with a line feed, and nothing at all is `\N`.
    Piece(&'a [u8]),
    /// What stands between values, or for nothing at all, as a piece of the same text.
    Between(&'a [u8]),
    /// The pieces since what stood between are all of a value, of the column with this number.
    Value(u16),
    /// A message is whole, with the beginning of its payload. Of a row nothing is kept.
    Ends(u8, &'a [u8]),
}

/// A reader.
#[derive(Debug)]
pub(super) struct Reader {
    /// Type and length, as far as they have come.
    head: [u8; 5],
    head_length: usize,
    /// Bytes of the payload that are still to come.
    left: u32,
    kept: Vec<u8>,
    row: Row,
}

/// Where in a row the next byte belongs.
#[derive(Debug)]
struct Row {
    /// A number, as far as it has come.
    number: [u8; 4],
    number_length: usize,
    /// Nothing until their number is known.
    columns_left: Option<u16>,
    is_first: bool,
    /// The number of the column whose value is coming, or has come last.
    column: u16,
    value_left: u32,
}

impl Row {
    const NEW: Row = Row {
        number: [0; 4],
        number_length: 0,
        columns_left: None,
        is_first: true,
        column: 0,
        value_left: 0,
    };
}

const ROW: u8 = b'D';
pub(super) const COLUMNS: u8 = b'T';

impl Reader {
    pub(super) fn new() -> Reader {
        Reader { head: [0; 5], head_length: 0, left: 0, kept: Vec::with_capacity(KEPT_MAX), row: Row::NEW }
    }

    /// Takes the next bytes, all of them.
    pub(super) fn take<E: From<Fault>>(
        &mut self,
        mut bytes: &[u8],
        hear: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        loop {
            if self.head_length < 5 {
                let n = bytes.len().min(5 - self.head_length);
                self.head[self.head_length..self.head_length + n].copy_from_slice(&bytes[..n]);
                self.head_length += n;
                bytes = &bytes[n..];
                if self.head_length < 5 {
                    return Ok(());
                }
                let [kind, length @ ..] = self.head;
                let length = u32::from_be_bytes(length);
                self.left =
                    length.checked_sub(4).filter(|_| length <= i32::MAX as u32).ok_or(Fault::BadLength)?;
                hear(Event::Begins(kind, self.left))?;
                self.kept.clear();
                self.row = Row::NEW;
            }
            let n = bytes.len().min(self.left as usize);
            let (payload, rest) = bytes.split_at(n);
            self.left -= n as u32;
            bytes = rest;
            if self.head[0] == ROW {
                self.row.take(payload, hear)?;
            } else {
                let max = if self.head[0] == COLUMNS { COLUMNS_BYTES_MAX } else { KEPT_MAX };
                let room = max - self.kept.len();
                self.kept.extend_from_slice(&payload[..n.min(room)]);
            }
            if self.left > 0 {
                return Ok(());
            }
            if self.head[0] == ROW {
                self.row.end(hear)?;
            }
            self.head_length = 0;
            hear(Event::Ends(self.head[0], &self.kept))?;
            if bytes.is_empty() {
                return Ok(());
            }
        }
    }
}

impl Row {
    fn take<E: From<Fault>>(
        &mut self,
        mut bytes: &[u8],
        hear: &mut impl FnMut(Event<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        while !bytes.is_empty() {
            if self.value_left > 0 {
                let n = bytes.len().min(self.value_left as usize);
                hear(Event::Piece(&bytes[..n]))?;
                self.value_left -= n as u32;
                bytes = &bytes[n..];
                if self.value_left == 0 {
                    hear(Event::Value(self.column))?;
                }
                continue;
            }
            let digits = if self.columns_left.is_none() { 2 } else { 4 };
            let n = bytes.len().min(digits - self.number_length);
            self.number[self.number_length..self.number_length + n].copy_from_slice(&bytes[..n]);
            self.number_length += n;
            bytes = &bytes[n..];
            if self.number_length < digits {
                return Ok(());
            }
            self.number_length = 0;
            let Some(left) = self.columns_left else {
                self.columns_left = Some(u16::from_be_bytes([self.number[0], self.number[1]]));
                continue;
            };
            self.columns_left = Some(left.checked_sub(1).ok_or(Fault::BadRow)?);
            if !std::mem::replace(&mut self.is_first, false) {
                self.column += 1;
                hear(Event::Between(b"\t"))?;
            }
            match i32::from_be_bytes(self.number) {
                -1 => hear(Event::Between(b"\\N"))?,
                0 => hear(Event::Value(self.column))?,
                length => self.value_left = u32::try_from(length).map_err(|_| Fault::BadRow)?,
            }
        }
        Ok(())
    }

    fn end<E: From<Fault>>(&self, hear: &mut impl FnMut(Event<'_>) -> Result<(), E>) -> Result<(), E> {
        if self.columns_left != Some(0) || self.value_left > 0 || self.number_length > 0 {
            return Err(Fault::BadRow.into());
        }
        hear(Event::Between(b"\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8], each: usize) -> Result<String, Fault> {
        let (mut reader, mut said) = (Reader::new(), String::new());
        for piece in bytes.chunks(each) {
            reader.take(piece, &mut |event| {
                match event {
                    Event::Begins(kind, length) => said += &format!("<{}{length} ", char::from(kind)),
                    Event::Piece(piece) | Event::Between(piece) => said += &String::from_utf8_lossy(piece),
                    Event::Value(column) => said += &format!("({column})"),
                    Event::Ends(kind, kept) => {
                        said += &format!("{}{}>", String::from_utf8_lossy(kept), char::from(kind));
                    }
                }
                Ok::<(), Fault>(())
            })?;
        }
        Ok(said)
    }

    #[test]
    fn messages_are_the_same_however_they_are_cut() {
        let row = b"D\0\0\0\x15\0\x03\0\0\0\x03abc\xff\xff\xff\xff\0\0\0\0";
        let bytes = [&b"2\0\0\0\x04"[..], row, b"C\0\0\0\x0dSELECT 1\0", b"Z\0\0\0\x05I"].concat();
        let whole = "<20 2><D17 abc(0)\t\\N\t(2)\nD><C9 SELECT 1\0C><Z1 IZ>";
        for each in 1..=bytes.len() {
            assert_eq!(read(&bytes, each).as_deref(), Ok(whole), "cut every {each}");
        }
    }

    #[test]
    fn lengths_that_do_not_fit_are_faults() {
        for (bytes, fault) in [
            (&b"Z\0\0\0\x03"[..], Fault::BadLength),
            (b"Z\xff\xff\xff\xff", Fault::BadLength),
            (b"Z\x80\0\0\0", Fault::BadLength),
            (b"D\0\0\0\x06\0\x01", Fault::BadRow),
            (b"D\0\0\0\x05\0", Fault::BadRow),
            (b"D\0\0\0\x04", Fault::BadRow),
            (b"D\0\0\0\x0a\0\0\0\0\0\0", Fault::BadRow),
            (b"D\0\0\0\x0b\0\x01\0\0\0\x02a", Fault::BadRow),
            (b"D\0\0\0\x0c\0\x01\0\0\0\x01ab", Fault::BadRow),
            (b"D\0\0\0\x0a\0\x01\xff\xff\xff\xfe", Fault::BadRow),
        ] {
            for each in [1, 3, bytes.len()] {
                assert_eq!(read(bytes, each), Err(fault), "{bytes:?}");
            }
        }
    }

    #[test]
    fn a_long_message_is_kept_in_part() {
        let mut bytes = b"E\0\0\x13\x8c".to_vec();
        bytes.extend([b'x'; 5_000]);
        let mut kept = 0;
        let mut reader = Reader::new();
        let mut hear = |event: Event<'_>| {
            if let Event::Ends(_, beginning) = event {
                kept = beginning.len();
            }
            Ok::<(), Fault>(())
        };
        bytes.chunks(700).for_each(|piece| reader.take(piece, &mut hear).unwrap());
        assert_eq!(kept, KEPT_MAX);
    }
}
