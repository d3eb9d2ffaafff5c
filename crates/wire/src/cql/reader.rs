//! Frames of a server, found as their bytes pass by.

use super::fault::Fault;
use super::fields::{Fields, Stop};
use super::frame::{HEADER_BYTES, Header, LENGTH_MAX, RESPONSE, flag, opcode};
use super::result::{self, Described, Name, kind, pass_flagged};
use super::rows::{Piece, Rows};
use super::types::Type;
use crate::protocol::Violation;

/// How much of a frame is kept at first: what most results say before their rows.
const KEPT_FIRST: usize = 16;
/// How much at the most: what is said of columns, or all that is said of a prepared statement.
const KEPT_MAX: usize = 1 << 20;
/// A frame that needed more does not leave it to the next.
const KEPT_ROOM: usize = 4 << 10;

/// What has come.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event<'a> {
    /// A frame begins.
    Begins(Header),
    /// On this stream rows come that do not say the types of their columns: [`Reader::set_columns`] is to be called.
    Untyped(i16),
    /// A piece of rows as text.
    Piece(i16, &'a [u8]),
    /// A value of the first row by itself, where values are told: its column's number and name, and its text.
    Value(i16, (usize, &'a [u8]), &'a [u8]),
    /// A frame is whole.
    Ends(i16, Answer<'a>),
}

/// What a whole frame says.
#[derive(Clone, Copy, Debug)]
pub(super) enum Answer<'a> {
    /// Nothing is left to be asked before requests.
    Ready,
    /// A password is wanted.
    Authenticate,
    /// More than a password is.
    Challenge,
    Authenticated,
    /// By its code.
    Error(i32),
    /// The statement is done, and has nothing to say.
    Void,
    Rows {
        are_some: bool,
        /// The condition of the statement did not hold.
        is_refused: bool,
    },
    /// With what is said of the statement.
    Prepared(Fields<'a>),
    /// What answers nothing.
    Event,
}

/// The same while the frame is not whole.
#[derive(Clone, Copy, Debug)]
enum Known {
    Ready,
    Authenticate,
    Challenge,
    Authenticated,
    Error(i32),
    Void,
    Rows {
        are_some: bool,
    },
    /// Its fields begin at this byte of what is kept.
    Prepared(usize),
    Event,
}

#[derive(Clone, Copy, Debug)]
enum At {
    /// So many bytes of a header have come.
    Header(usize),
    /// What is kept is looked at again once it has so many bytes.
    Kept(usize),
    /// Rows, from this byte of what is kept on.
    Rows(usize),
    /// Nothing more is looked at.
    Rest,
}

/// A reader.
#[derive(Debug)]
pub(super) struct Reader {
    at: At,
    head: [u8; HEADER_BYTES],
    header: Header,
    /// Bytes of the body that are still to come.
    left: usize,
    /// The body as far as it is looked at as a whole.
    kept: Vec<u8>,
    known: Known,
    rows: Rows,
    /// Where the names of its columns stand in what is kept, as far as they are said.
    names: Vec<Name>,
    tells_values: bool,
}

impl Reader {
    pub(super) fn new() -> Reader {
        Reader {
            at: At::Header(0),
            head: [0; HEADER_BYTES],
            header: Header::read([0; HEADER_BYTES]),
            left: 0,
            kept: Vec::with_capacity(4 * KEPT_FIRST),
            known: Known::Void,
            rows: Rows::new(),
            names: Vec::new(),
            tells_values: false,
        }
    }

    /// The stream of the frame that has begun and is not whole.
    pub(super) fn inside(&self) -> Option<i16> {
        (!matches!(self.at, At::Header(_))).then_some(self.header.stream)
    }

    /// Values of the first row of the frame that has begun are told by themselves, or not.
    pub(super) fn tell_values(&mut self, tells_values: bool) {
        self.tells_values = tells_values;
    }

    /// The types of the columns of rows that do not say them, as far as they are known.
    pub(super) fn set_columns(&mut self, columns: &[Type]) {
        let asked = self.rows.columns.len();
        if columns.len() == asked {
            self.rows.columns.copy_from_slice(columns);
        }
    }

    /// Takes of `bytes` up to the next event; nothing once all are taken.
    pub(super) fn next<'a, 'b: 'a>(
        &'a mut self,
        bytes: &mut &'b [u8],
    ) -> Result<Option<Event<'a>>, Violation> {
        loop {
            match self.at {
                At::Header(length) => {
                    let n = bytes.len().min(HEADER_BYTES - length);
                    self.head[length..length + n].copy_from_slice(&bytes[..n]);
                    *bytes = &bytes[n..];
                    self.at = At::Header(length + n);
                    check_version(self.head[0], length + n)?;
                    if length + n < HEADER_BYTES {
                        return Ok(None);
                    }
                    return Ok(Some(Event::Begins(self.begin()?)));
                }
                At::Kept(goal) => {
                    let n = bytes.len().min(goal - self.kept.len());
                    self.kept.extend_from_slice(&bytes[..n]);
                    *bytes = &bytes[n..];
                    self.left -= n;
                    if self.kept.len() < goal {
                        return Ok(None);
                    }
                    if self.look()? {
                        return Ok(Some(Event::Untyped(self.header.stream)));
                    }
                }
                At::Rows(from) => {
                    let (is_kept, stream) = (from < self.kept.len(), self.header.stream);
                    let whole = *bytes;
                    let source =
                        if is_kept { &self.kept[from..] } else { &whole[..whole.len().min(self.left)] };
                    let (taken, piece) = self.rows.step(source)?;
                    if is_kept {
                        self.at = At::Rows(from + taken);
                    } else {
                        self.left -= taken;
                        *bytes = &whole[taken..];
                    }
                    match piece {
                        Piece::Own => return Ok(Some(Event::Piece(stream, self.rows.own()))),
                        Piece::Taken(n) if is_kept => {
                            let end = from + taken;
                            return Ok(Some(Event::Piece(stream, &self.kept[end - n..end])));
                        }
                        Piece::Taken(n) => return Ok(Some(Event::Piece(stream, &whole[taken - n..taken]))),
                        Piece::Value(column) => {
                            let kept = self.kept.len();
                            let name = self
                                .names
                                .get(column)
                                .map(|&(left, length)| kept - left - length..kept - left);
                            // Of columns without names nothing can be asked for.
                            let Some(name) = name else { continue };
                            let column = (column, &self.kept[name]);
                            return Ok(Some(Event::Value(stream, column, self.rows.value())));
                        }
                        Piece::Nothing if taken > 0 => {}
                        Piece::Nothing if self.rows.is_whole() => {
                            if from < self.kept.len() || self.left > 0 {
                                return Err(Fault::BadRow.into());
                            }
                            return Ok(Some(self.end()));
                        }
                        Piece::Nothing if self.left == 0 => return Err(Fault::BadRow.into()),
                        Piece::Nothing => return Ok(None),
                    }
                }
                At::Rest => {
                    let n = bytes.len().min(self.left);
                    *bytes = &bytes[n..];
                    self.left -= n;
                    return Ok(if self.left == 0 { Some(self.end()) } else { None });
                }
            }
        }
    }

    /// A header is whole.
    fn begin(&mut self) -> Result<Header, Fault> {
        let header = Header::read(self.head);
        if header.length > LENGTH_MAX {
            return Err(Fault::BadLength);
        }
        if header.flags & flag::COMPRESSED != 0 {
            return Err(Fault::CompressedUnasked);
        }
        let (header_length, capacity) = (header.length as usize, self.kept.capacity());
        self.kept.clear();
        if capacity > KEPT_ROOM {
            self.kept.shrink_to(KEPT_ROOM);
        }
        (self.header, self.left) = (header, header_length);
        self.tells_values = false;
        self.at = At::Kept(header_length.min(KEPT_FIRST));
        Ok(header)
    }

    /// Looks at what is kept. True if the columns of its rows are to be told by somebody else.
    fn look(&mut self) -> Result<bool, Violation> {
        let mut fields = Fields(&self.kept);
        self.rows.columns.clear();
        self.names.clear();
        let (types, names) = (&mut self.rows.columns, &mut self.names);
        let found = read(&self.header, &mut fields, self.left == 0, (types, names));
        let from = self.kept.len() - fields.0.len();
        match found {
            Ok(Found::Rows(described, rows)) => {
                if !described.has_types {
                    self.rows.columns.resize(described.columns, Type::Other);
                }
                self.rows.begin(rows, described.is_conditional, self.tells_values);
                (self.known, self.at) = (Known::Rows { are_some: rows > 0 }, At::Rows(from));
                return Ok(!described.has_types && rows > 0);
            }
            Ok(Found::Prepared) => (self.known, self.at) = (Known::Prepared(from), At::Rest),
            Ok(Found::Known(known)) => (self.known, self.at) = (known, At::Rest),
            Err(Stop::Wrong(fault)) => return Err(fault.into()),
            Err(Stop::Lacking) if self.left == 0 => return Err(Fault::BadMessage.into()),
            Err(Stop::Lacking) if self.kept.len() == KEPT_MAX => return Err(Violation::TooLarge),
            Err(Stop::Lacking) => {
                let length = self.kept.len();
                self.at = At::Kept((4 * length).min(length + self.left).min(KEPT_MAX));
            }
        }
        Ok(false)
    }

    /// The frame is whole.
    fn end(&mut self) -> Event<'_> {
        self.at = At::Header(0);
        let answer = match self.known {
            Known::Ready => Answer::Ready,
            Known::Authenticate => Answer::Authenticate,
            Known::Challenge => Answer::Challenge,
            Known::Authenticated => Answer::Authenticated,
            Known::Error(code) => Answer::Error(code),
            Known::Void => Answer::Void,
            Known::Rows { are_some } => Answer::Rows { are_some, is_refused: self.rows.is_refused() },
            Known::Prepared(from) => Answer::Prepared(Fields(&self.kept[from..])),
            Known::Event => Answer::Event,
        };
        Event::Ends(self.header.stream, answer)
    }
}

/// The first byte of a frame, once it has come.
fn check_version(byte: u8, length: usize) -> Result<(), Fault> {
    match byte {
        _ if length == 0 => Ok(()),
        RESPONSE => Ok(()),
        // So begins an answer of HTTP.
        b'H' => Err(Fault::HttpAnswer),
        0x81..=0x8f => Err(Fault::VersionUnsupported),
        _ => Err(Fault::NotCql),
    }
}

/// What the beginning of a body says.
enum Found {
    Rows(Described, u32),
    Prepared,
    Known(Known),
}

/// Reads what a body begins with. Types of columns are appended to `types`, and where their names stand to `names`.
fn read(
    header: &Header,
    fields: &mut Fields<'_>,
    is_whole: bool,
    (types, names): (&mut Vec<Type>, &mut Vec<Name>),
) -> Result<Found, Stop> {
    pass_flagged(header.flags, fields)?;
    Ok(Found::Known(match header.opcode {
        opcode::READY => Known::Ready,
        opcode::AUTHENTICATE => Known::Authenticate,
        opcode::AUTH_CHALLENGE => Known::Challenge,
        opcode::AUTH_SUCCESS => Known::Authenticated,
        opcode::EVENT => Known::Event,
        opcode::ERROR => Known::Error(fields.int()?),
        opcode::RESULT => match fields.int()? {
            kind::VOID | kind::SET_KEYSPACE | kind::SCHEMA_CHANGE => Known::Void,
            kind::ROWS => {
                let (described, rows) = result::rows(fields, types, names)?;
                return Ok(Found::Rows(described, rows));
            }
            kind::PREPARED if is_whole => return Ok(Found::Prepared),
            kind::PREPARED => return Err(Stop::Lacking),
            _ => return Err(Fault::BadMessage.into()),
        },
        _ => return Err(Fault::UnknownMessage.into()),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cql::frame::put;

    fn frame(flags: u8, stream: i16, opcode: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        put(stream, opcode, &mut out, |out| out.extend_from_slice(body));
        (out[0], out[1]) = (RESPONSE, flags);
        out
    }

    fn read(bytes: &[u8], each: usize, columns: &[Type]) -> Result<String, Violation> {
        let (mut reader, mut said) = (Reader::new(), String::new());
        for mut piece in bytes.chunks(each) {
            loop {
                match reader.next(&mut piece)? {
                    None => break,
                    Some(Event::Begins(header)) => said += &format!("<{}:{} ", header.stream, header.opcode),
                    Some(Event::Piece(_, piece)) => said += &String::from_utf8_lossy(piece),
                    Some(Event::Ends(stream, answer)) => {
                        let answer = format!("{answer:?}");
                        said += &format!("{} {stream}>", answer.split(['(', ' ']).next().unwrap());
                    }
                    Some(Event::Untyped(_)) => reader.set_columns(columns),
                    Some(Event::Value(..)) => unreachable!("nobody asks"),
                }
            }
        }
        Ok(said)
    }

    /// What flags put before the rest.
    const FLAGGED: &[u8] = b"0123456789abcdef\0\x01\0\x03hey\0\x01\0\x01k\xff\xff\xff\xff";

    #[test]
    fn frames_are_the_same_however_they_are_cut() {
        let typed = b"\0\0\0\x02\0\0\0\x03\0\0\0\x01\0\0\0\x02\x07\x07\0\x02ks\0\x01t\0\x02id\0\x09\0\0\0\x02\0\0\0\x04\0\0\0\x05\xff\xff\xff\xff";
        let untyped = b"\0\0\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01\0\0\0\x04\0\0\0\x05";
        let bytes = [
            frame(0, 0, opcode::READY, b""),
            frame(0x0e, 3, opcode::RESULT, &[FLAGGED, b"\0\0\0\x01"].concat()),
            frame(0, 4, opcode::RESULT, typed),
            frame(8, 5, opcode::RESULT, &[b"\0\x01\0\x02hm", &untyped[..]].concat()),
            frame(0, -1, opcode::EVENT, b"\0\x0dSCHEMA_CHANGE"),
            frame(0, 6, opcode::ERROR, &[b"\0\0\x10\x01\0\xff", &[b'x'; 255][..]].concat()),
        ]
        .concat();
        let whole =
            "<0:2 Ready 0><3:8 Void 3><4:8 5\n\\N\nRows 4><5:8 5\nRows 5><-1:12 Event -1><6:0 Error 6>";
        for each in 1..=bytes.len() {
            assert_eq!(read(&bytes, each, &[Type::Int]).as_deref(), Ok(whole), "cut every {each}");
        }
        let unknown = read(&frame(0, 5, opcode::RESULT, untyped), 3, &[]).unwrap();
        assert_eq!(unknown, "<5:8 0x00000005\nRows 5>");
    }

    #[test]
    fn what_does_not_fit_is_a_fault() {
        let long = |length: u32| [&b"\x84\0\0\0\x08"[..], &length.to_be_bytes()].concat();
        let result = |body: &[u8]| frame(0, 0, opcode::RESULT, body);
        for (bytes, fault) in [
            (b"HTTP/1.1 400".to_vec(), Fault::HttpAnswer),
            (b"SSH".to_vec(), Fault::NotCql),
            (b"\x85\0\0\0\x00".to_vec(), Fault::VersionUnsupported),
            (long(1 << 31), Fault::BadLength),
            (long(u32::MAX), Fault::BadLength),
            (long(LENGTH_MAX + 1), Fault::BadLength),
            (frame(1, 0, opcode::RESULT, b""), Fault::CompressedUnasked),
            (frame(0, 0, 0x06, b""), Fault::UnknownMessage),
            (result(b""), Fault::BadMessage),
            (result(b"\0\0\0\x09"), Fault::BadMessage),
            (result(b"\0\0\0\x02\0\0\0\x04\xff\xff\xff\xff\0\0\0\0"), Fault::BadMessage),
            (result(b"\0\0\0\x02\0\0\0\x04\0\0\0\0\0\0\0\x01"), Fault::BadRow),
            (result(b"\0\0\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01\0\0\0\x05abcd"), Fault::BadRow),
            (result(b"\0\0\0\x02\0\0\0\x04\0\0\0\x01\0\0\0\x01\0\0\0\x01abcd"), Fault::BadRow),
            (result(b"\0\0\0\x02\0\0\0\x04\x7f\xff\xff\xff\0\0\0\x01"), Fault::BadMessage),
        ] {
            for each in [1, 3, bytes.len()] {
                assert_eq!(read(&bytes, each, &[Type::Text]), Err(fault.into()), "{bytes:?}");
            }
        }
        // 65,535 warnings before all else.
        let mut endless = long(LENGTH_MAX);
        endless[1] = flag::WARNING;
        endless.extend(b"\xff\xff");
        endless.extend(b"\0\x20careful careful careful careful!".repeat(KEPT_MAX / 32));
        assert_eq!(read(&endless, 8_000, &[]), Err(Violation::TooLarge));
    }
}
