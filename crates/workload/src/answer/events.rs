//! Answers that come event by event: where one event ends, found as the pieces pass by. Nothing of them is kept.

use std::fmt;

/// What an event is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventFormat {
    /// A block of an event stream (WHATWG HTML, "Server-sent events") that has data.
    Sse,
    /// A line that is not blank, as in JSON Lines.
    Lines,
    /// A message, where the protocol tells when one is whole.
    Messages,
}

/// What a piece has brought to its end.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Found {
    /// Events.
    pub events: u32,
    /// Blocks of an event stream without data, such as comments that keep a connection open. A browser passes over them.
    pub keep_alives: u32,
}

impl Found {
    /// It is nothing.
    pub fn is_nothing(self) -> bool {
        self == Found::default()
    }
}

impl fmt::Display for EventFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            EventFormat::Sse => "sse",
            EventFormat::Lines => "lines",
            EventFormat::Messages => "messages",
        })
    }
}

/// How much of a line is known.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
enum Line {
    /// It has no byte yet; of a line of JSON, no byte that is not blank.
    #[default]
    Empty,
    /// So many bytes of `data`, up to all four.
    Name(u8),
    /// The field is `data`.
    Data,
    /// It is something else, or its beginning is all that matters.
    Other,
}

const DATA: &[u8; 4] = b"data";
/// A byte order mark, which may stand before everything else.
const MARK: &[u8; 3] = b"\xEF\xBB\xBF";

/// Where a reader of one body stands.
#[derive(Clone, Copy, Default, Debug)]
pub struct EventReader {
    line: Line,
    /// The block so far has lines, and among them data.
    has_lines: bool,
    has_data: bool,
    /// The last byte was CR: an LF behind it ends no other line.
    after_cr: bool,
    /// So many bytes of the byte order mark have passed; beyond its end nothing can be one any more.
    mark: u8,
}

impl EventReader {
    /// Takes the next piece of a body.
    pub fn read(&mut self, format: EventFormat, piece: &[u8]) -> Found {
        match format {
            EventFormat::Sse => self.read_blocks(piece),
            EventFormat::Lines => self.read_lines(piece),
            EventFormat::Messages => Found::default(),
        }
    }

    /// The body has ended. A last line of JSON needs no end of line; a last block without an empty line is no event.
    pub fn end(&mut self, format: EventFormat) -> Found {
        let is_event = format == EventFormat::Lines && self.line == Line::Other;
        self.line = Line::Empty;
        Found { events: u32::from(is_event), keep_alives: 0 }
    }

    fn read_lines(&mut self, piece: &[u8]) -> Found {
        let mut found = Found::default();
        for &byte in piece {
            match byte {
                b'\n' => {
                    found.events += u32::from(self.line == Line::Other);
                    self.line = Line::Empty;
                }
                b' ' | b'\t' | b'\r' => {}
                _ => self.line = Line::Other,
            }
        }
        found
    }

    fn read_blocks(&mut self, piece: &[u8]) -> Found {
        let mut found = Found::default();
        let mut rest = self.without_mark(piece);
        while let Some((&byte, after)) = rest.split_first() {
            rest = after;
            let after_cr = std::mem::replace(&mut self.after_cr, byte == b'\r');
            match (byte, self.line) {
                (b'\n', _) if after_cr => {}
                (b'\n' | b'\r', _) => self.end_line(&mut found),
                (_, Line::Empty) => self.line = if byte == DATA[0] { Line::Name(1) } else { Line::Other },
                (b':', Line::Name(4)) => self.line = Line::Data,
                (_, Line::Name(n)) if DATA.get(usize::from(n)) == Some(&byte) => {
                    self.line = Line::Name(n + 1)
                }
                (_, Line::Name(_)) => self.line = Line::Other,
                (_, Line::Data | Line::Other) => {
                    let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
                    rest = &rest[end.unwrap_or(rest.len())..];
                }
            }
        }
        found
    }

    fn end_line(&mut self, found: &mut Found) {
        match std::mem::take(&mut self.line) {
            Line::Empty => {
                found.events += u32::from(self.has_data);
                found.keep_alives += u32::from(self.has_lines && !self.has_data);
                (self.has_lines, self.has_data) = (false, false);
            }
            line => {
                self.has_lines = true;
                self.has_data |= matches!(line, Line::Data | Line::Name(4));
            }
        }
    }

    /// What follows the byte order mark, which may come in pieces. The beginning of one that turns out to be none is a line
    /// that begins with no field's name.
    fn without_mark<'p>(&mut self, mut piece: &'p [u8]) -> &'p [u8] {
        while let Some(&wanted) = MARK.get(usize::from(self.mark)) {
            match piece.split_first() {
                None => break,
                Some((&byte, after)) if byte == wanted => {
                    self.mark += 1;
                    piece = after;
                }
                Some(_) => {
                    if self.mark > 0 {
                        self.line = Line::Other;
                    }
                    self.mark = MARK.len() as u8;
                }
            }
        }
        piece
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(format: EventFormat, pieces: &[&[u8]]) -> (u32, u32) {
        let mut reader = EventReader::default();
        let mut sum = Found::default();
        let mut add = |one: Found| {
            sum.events += one.events;
            sum.keep_alives += one.keep_alives;
        };
        pieces.iter().for_each(|piece| add(reader.read(format, piece)));
        add(reader.end(format));
        (sum.events, sum.keep_alives)
    }

    /// The same by the words of the standard: decode, cut into lines, and look at one after the other.
    fn by_the_standard(body: &[u8]) -> (u32, u32) {
        let body = body.strip_prefix(MARK).unwrap_or(body);
        let text: String = body.iter().map(|&byte| char::from(byte)).collect();
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let (mut events, mut keep_alives, mut lines, mut data) = (0, 0, 0, String::new());
        // What follows the last end of line is no line that has ended.
        let ended = text.rsplit_once('\n').map_or("", |(ended, _)| ended);
        for line in ended.split('\n').filter(|_| text.contains('\n')) {
            if line.is_empty() {
                if !data.is_empty() {
                    events += 1;
                } else if lines > 0 {
                    keep_alives += 1;
                }
                (data, lines) = (String::new(), 0);
                continue;
            }
            lines += 1;
            let (name, value) = line.split_once(':').unwrap_or((line, ""));
            if name == "data" {
                data += value;
                data.push('\n');
            }
        }
        (events, keep_alives)
    }

    #[test]
    fn events_of_a_stream() {
        for (body, events, keep_alives) in [
            ("", 0, 0),
            ("data: a\n\n", 1, 0),
            ("data: a\ndata: b\n\ndata\n\n", 2, 0),
            ("data:\r\n\r\ndata:x\r\rdata: y\n\n", 3, 0),
            (": ping\n\n:\n\ndata: a\n\n", 1, 2),
            ("event: x\nid: 7\n\n", 0, 1),
            ("data: a\n", 0, 0),
            ("data: a\n\n\n\n\r\n", 1, 0),
            ("database: a\n\ndat: b\n\n data: c\n\nDATA: d\n\n", 0, 4),
            ("\u{feff}data: a\n\n", 1, 0),
            ("\u{feff}\u{feff}data: a\n\n", 0, 1),
            ("retry: 10\ndata: [DONE]\n\n", 1, 0),
        ] {
            assert_eq!(found(EventFormat::Sse, &[body.as_bytes()]), (events, keep_alives), "{body:?}");
            assert_eq!(by_the_standard(body.as_bytes()), (events, keep_alives), "{body:?}");
        }
    }

    #[test]
    fn lines_that_are_not_blank() {
        for (body, events) in
            [("", 0), ("{}\n{}\n", 2), ("{}\r\n\r\n \t\n{}", 2), ("\n\n", 0), ("{\"a\":\n1}\n", 2)]
        {
            assert_eq!(found(EventFormat::Lines, &[body.as_bytes()]), (events, 0), "{body:?}");
        }
    }

    proptest! {
        /// Wherever a body is cut, there are as many events in it as the standard says.
        #[test]
        fn cuts_change_nothing(
            parts in prop::collection::vec(
                prop::sample::select(vec!["data", "data:", "dat", "a", ":", " ", "\n", "\r", "\r\n", "\u{feff}", "x"]), 0..40,
            ),
            cuts in prop::collection::vec(0usize..120, 0..8),
        ) {
            let body = parts.concat().into_bytes();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(body.len())).collect();
            cuts.extend([0, body.len()]);
            cuts.sort_unstable();
            let pieces: Vec<&[u8]> = cuts.windows(2).map(|two| &body[two[0]..two[1]]).collect();
            prop_assert_eq!(found(EventFormat::Sse, &pieces), by_the_standard(&body));
            let lines = body.split(|&byte| byte == b'\n');
            let lines = lines.filter(|line| !line.iter().all(|byte| b" \t\r".contains(byte))).count();
            prop_assert_eq!(found(EventFormat::Lines, &pieces), (lines as u32, 0));
        }
    }
}
