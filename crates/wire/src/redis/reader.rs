//! Replies of RESP2 and RESP3, checked as their bytes pass by. Nothing of them is kept but the beginning of an error.

mod whole;

use super::NESTING_MAX;
use super::codes::{self, ERROR_BYTES, NIL, OK};
use super::fault::Fault;
use super::line::Line;
use crate::protocol::Violation;
use whole::{bulk_string, simple_string};

/// What has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event<'a> {
    /// The first byte of a reply.
    Begins,
    /// A part of its text: of several values, one line each.
    Piece(&'a [u8]),
    /// The line feed before the text of a value that is not the first.
    Parting,
    /// What came since the last line feed is a value by itself: the reply, or the one at this place among those that it holds.
    /// Not said of null, of an error, and of what lies deeper.
    Value(Option<u64>),
    /// It is whole, and its text has so many bytes. One that `is_list` holds other values.
    Ends { code: u16, bytes: u64, is_list: bool },
    /// All of these for a reply that is there as a whole, and is this text.
    Whole(&'a [u8]),
    /// A whole push, which is no reply.
    Push,
}

/// Values that are still to come before one that holds them is whole.
#[derive(Clone, Copy, Debug)]
struct Open {
    left: u64,
    /// They are said about the value behind them, and are no part of it.
    is_attribute: bool,
}

#[derive(Clone, Copy, Debug)]
enum State {
    /// The first byte of a value.
    Type,
    Line(Line),
    /// The line feed of a line.
    LineFeed(Line),
    /// So many bytes of a text; of an error, its beginning is kept.
    Text {
        left: u64,
        is_error: bool,
    },
    /// The carriage return behind a text, or (`is_half`) the line feed behind that.
    TextEnd {
        is_error: bool,
        is_half: bool,
    },
}

/// One connection's replies.
#[derive(Debug)]
pub(super) struct Reader {
    is_resp3: bool,
    bytes_max: u64,
    state: State,
    open: Vec<Open>,
    /// How many of those are attributes.
    attributes: u32,
    is_inside: bool,
    is_push: bool,
    has_value: bool,
    /// Values that the reply itself holds, as far as they are whole.
    held: u64,
    bytes: u64,
    code: u16,
    error: [u8; ERROR_BYTES],
    error_bytes: u8,
}

impl Reader {
    pub(super) fn new(is_resp3: bool, bytes_max: u64) -> Reader {
        Reader {
            is_resp3,
            bytes_max,
            state: State::Type,
            open: Vec::new(),
            attributes: 0,
            is_inside: false,
            is_push: false,
            has_value: false,
            held: 0,
            bytes: 0,
            code: OK,
            error: [0; ERROR_BYTES],
            error_bytes: 0,
        }
    }

    /// A reply has come in part.
    pub(super) fn is_answering(&self) -> bool {
        self.is_inside && !self.is_push
    }

    /// So many bytes that come next are of a text.
    #[inline]
    pub(super) fn text_left(&self) -> u64 {
        match self.state {
            // What is looked at is not passed over.
            State::Text { left, is_error: false } => left,
            _ => 0,
        }
    }

    /// So many of these came, and nobody looked at them; fewer than all.
    pub(super) fn skip(&mut self, n: u64) {
        if let State::Text { left, .. } = &mut self.state {
            *left -= n;
            if self.counts() {
                self.bytes += n;
            }
        }
    }

    /// Takes the next bytes, all of them.
    #[inline]
    pub(super) fn take(
        &mut self,
        bytes: &[u8],
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let mut rest = bytes;
        while let [first, tail @ ..] = rest {
            rest = match self.state {
                State::Type => match self.whole(rest) {
                    Some((text, after)) => {
                        tell(Event::Whole(text))?;
                        after
                    }
                    None => {
                        self.begin(*first, tell)?;
                        tail
                    }
                },
                State::Line(line) => self.line(line, rest, tell)?,
                State::LineFeed(line) => {
                    expect(*first, b'\n')?;
                    self.line_ends(line, tell)?;
                    tail
                }
                State::Text { left, is_error } => self.text(left, is_error, rest, tell)?,
                State::TextEnd { is_error, is_half: false } => {
                    expect(*first, b'\r')?;
                    self.state = State::TextEnd { is_error, is_half: true };
                    tail
                }
                State::TextEnd { is_error, is_half: true } => {
                    expect(*first, b'\n')?;
                    if is_error {
                        self.note_error();
                    }
                    self.value_ends(!is_error, tell)?;
                    tail
                }
            };
        }
        Ok(())
    }

    /// A text that stands alone and is there as a whole, as nearly every reply is; and what follows it.
    #[inline]
    fn whole<'b>(&self, bytes: &'b [u8]) -> Option<(&'b [u8], &'b [u8])> {
        let found = match bytes {
            _ if self.is_inside => None,
            [b'$', rest @ ..] => bulk_string(rest),
            [b'+', rest @ ..] => simple_string(rest),
            _ => None,
        };
        found.filter(|(text, _)| text.len() as u64 <= self.bytes_max)
    }

    /// What comes is a part of a reply's own text.
    fn counts(&self) -> bool {
        !self.is_push && self.attributes == 0
    }

    #[inline]
    fn begin(
        &mut self,
        kind: u8,
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        match kind {
            b'+' | b'-' | b':' | b'$' | b'*' => {}
            b'_' | b'#' | b',' | b'(' | b'!' | b'=' | b'%' | b'~' | b'|' | b'>' if self.is_resp3 => {}
            b'_' | b'#' | b',' | b'(' | b'!' | b'=' | b'%' | b'~' | b'|' | b'>' => {
                return Err(Fault::Resp3Unasked.into());
            }
            // No type of value begins so, and every answer of HTTP does.
            b'H' if !self.is_inside => return Err(Fault::HttpAnswer.into()),
            _ => return Err(Fault::UnknownType.into()),
        }
        if !self.is_inside {
            self.is_inside = true;
            self.is_push = kind == b'>';
            if !self.is_push {
                tell(Event::Begins)?;
            }
        } else if kind == b'>' {
            return Err(Fault::PushInside.into());
        }
        if matches!(kind, b'-' | b'!') {
            self.error_bytes = 0;
        }
        if !matches!(kind, b'*' | b'%' | b'~' | b'|' | b'>') {
            self.value_begins(tell)?;
        }
        self.state = State::Line(Line::new(kind));
        Ok(())
    }

    /// Of a value that has a text. Each is a line of its own.
    #[inline]
    fn value_begins(
        &mut self,
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        if !self.counts() {
            return Ok(());
        }
        match std::mem::replace(&mut self.has_value, true) {
            true => {
                self.count(1)?;
                tell(Event::Parting)
            }
            false => Ok(()),
        }
    }

    /// So many bytes of the reply's text.
    #[inline]
    fn count(&mut self, bytes: usize) -> Result<(), Violation> {
        self.bytes += bytes as u64;
        if self.bytes > self.bytes_max { Err(Violation::TooLarge) } else { Ok(()) }
    }

    #[inline]
    fn piece(
        &mut self,
        piece: &[u8],
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        if piece.is_empty() || !self.counts() {
            return Ok(());
        }
        self.count(piece.len())?;
        tell(Event::Piece(piece))
    }

    /// Takes a line as far as it is there, and gives what follows.
    #[inline]
    fn line<'b>(
        &mut self,
        mut line: Line,
        rest: &'b [u8],
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Violation>,
    ) -> Result<&'b [u8], Violation> {
        let end = rest.iter().position(|&byte| byte == b'\r' || byte == b'\n');
        let piece = &rest[..end.unwrap_or(rest.len())];
        let is_text = matches!(line.kind, b'+' | b'-' | b':' | b'(' | b',' | b'#');
        let room = usize::try_from(self.bytes_max - self.bytes).unwrap_or(usize::MAX);
        if is_text && self.counts() && piece.len() > room {
            // What comes first counts, however the bytes are cut.
            line.check(&piece[..=room])?;
            return Err(Violation::TooLarge);
        }
        line.check(piece)?;
        if line.kind == b'-' {
            self.keep_error(piece);
        }
        if is_text {
            self.piece(piece, tell)?;
        }
        match end {
            None => {
                self.state = State::Line(line);
                Ok(&[])
            }
            Some(end) => {
                expect(rest[end], b'\r')?;
                self.state = State::LineFeed(line);
                Ok(&rest[end + 1..])
            }
        }
    }

    #[inline]
    fn line_ends(
        &mut self,
        line: Line,
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        line.check_end()?;
        match line.kind {
            b'$' | b'!' | b'=' if !line.is_negative() => {
                if line.number > self.bytes_max - self.bytes {
                    return Err(Violation::TooLarge);
                }
                let is_error = line.kind == b'!';
                self.state = match line.number {
                    0 => State::TextEnd { is_error, is_half: false },
                    left => State::Text { left, is_error },
                };
                Ok(())
            }
            b'*' | b'%' | b'~' | b'|' | b'>' if !line.is_negative() => self.open(line, tell),
            kind => {
                match kind {
                    b'-' => self.note_error(),
                    b'*' => {
                        self.value_begins(tell)?;
                        self.note_null();
                    }
                    b'$' | b'_' => self.note_null(),
                    _ => {}
                }
                let is_text = !matches!(kind, b'-' | b'*' | b'$' | b'_' | b'%' | b'~' | b'!' | b'=');
                self.value_ends(is_text, tell)
            }
        }
    }

    /// A value that holds others.
    fn open(
        &mut self,
        Line { kind, number, .. }: Line,
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let is_attribute = kind == b'|';
        let left = number.checked_mul(if matches!(kind, b'%' | b'|') { 2 } else { 1 });
        // Each has a byte at the least.
        let left = left.filter(|left| *left <= self.bytes_max).ok_or(Violation::TooLarge)?;
        self.state = State::Type;
        match left {
            0 if is_attribute => Ok(()),
            0 => self.value_ends(false, tell),
            _ if self.open.len() == NESTING_MAX => Err(Fault::TooDeep.into()),
            left => {
                self.attributes += u32::from(is_attribute);
                self.open.push(Open { left, is_attribute });
                Ok(())
            }
        }
    }

    #[inline]
    fn text<'b>(
        &mut self,
        left: u64,
        is_error: bool,
        rest: &'b [u8],
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Violation>,
    ) -> Result<&'b [u8], Violation> {
        let taken = usize::try_from(left).unwrap_or(usize::MAX).min(rest.len());
        let (piece, rest) = rest.split_at(taken);
        if is_error {
            self.keep_error(piece);
        }
        self.state = match left - taken as u64 {
            0 => State::TextEnd { is_error, is_half: false },
            left => State::Text { left, is_error },
        };
        self.piece(piece, tell)?;
        Ok(rest)
    }

    /// A value is whole, and with it maybe others that hold it. One that `is_text` is neither null, nor an error, nor does it hold
    /// others.
    #[inline]
    fn value_ends(
        &mut self,
        is_text: bool,
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        self.state = State::Type;
        if is_text && self.counts() {
            match self.open.len() {
                0 => tell(Event::Value(None))?,
                1 => tell(Event::Value(Some(self.held)))?,
                _ => {}
            }
        }
        let mut depth = self.open.len();
        while let Some(open) = self.open.last_mut() {
            open.left -= 1;
            self.held += u64::from(depth == 1 && !open.is_attribute);
            depth -= 1;
            if open.left > 0 {
                return Ok(());
            }
            let Open { is_attribute, .. } = *open;
            self.open.pop();
            if is_attribute {
                // The value that it is about follows.
                self.attributes -= 1;
                return Ok(());
            }
        }
        let event = match self.is_push {
            true => Event::Push,
            false => Event::Ends { code: self.code, bytes: self.bytes, is_list: self.held > 0 },
        };
        (self.is_inside, self.is_push, self.has_value, self.held) = (false, false, false, 0);
        (self.bytes, self.code) = (0, OK);
        tell(event)
    }

    /// Of values within others, a null is one of them.
    fn note_null(&mut self) {
        if self.open.is_empty() {
            self.code = NIL;
        }
    }

    /// An error within a reply makes it one: the first counts.
    fn note_error(&mut self) {
        if self.counts() && matches!(self.code, OK | NIL) {
            self.code = codes::of_error(&self.error[..usize::from(self.error_bytes)]);
        }
    }

    fn keep_error(&mut self, piece: &[u8]) {
        let from = usize::from(self.error_bytes);
        let kept = piece.len().min(ERROR_BYTES - from);
        self.error[from..from + kept].copy_from_slice(&piece[..kept]);
        self.error_bytes += kept as u8;
    }
}

#[inline]
fn expect(byte: u8, expected: u8) -> Result<(), Fault> {
    if byte == expected { Ok(()) } else { Err(Fault::LineEnd) }
}

#[cfg(test)]
mod tests;
