//! What a server's frames come to: messages in pieces, pings and the end.

use super::fault::Fault;
use super::frame::{CONTROL_MAX, Head, Heading, Opcode};
use super::utf8::Utf8;
use crate::protocol::Violation;

/// What has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Event<'a> {
    /// The first bytes of a message.
    Begins,
    /// A piece of it; never empty.
    Piece(&'a [u8]),
    /// It is whole, and has so many bytes.
    Ends(u64),
    /// To be sent back.
    Ping(&'a [u8]),
    Pong,
    /// The server closes, and may have said why.
    Close(Option<u16>),
}

/// A message whose last fragment is yet to come.
#[derive(Clone, Copy, Debug)]
struct Begun {
    /// Of a text.
    utf8: Option<Utf8>,
    bytes: u64,
}

/// Reads the frames of one connection.
#[derive(Debug)]
pub(super) struct Reader {
    bytes_max: u64,
    heading: Heading,
    /// The frame whose payload is being read, with the bytes that are left of it.
    frame: Option<Head>,
    message: Option<Begun>,
    /// The payload of a control frame that came in pieces.
    control: Vec<u8>,
}

impl Reader {
    /// Of messages with no more bytes than that.
    pub(super) fn new(bytes_max: u64) -> Reader {
        Reader { bytes_max, heading: Heading::default(), frame: None, message: None, control: Vec::new() }
    }

    /// A message has begun and is not whole.
    pub(super) fn is_inside(&self) -> bool {
        self.message.is_some() || self.frame.is_some() || self.heading.has_begun()
    }

    /// Takes all of `bytes`, and tells what they come to.
    #[inline]
    pub(super) fn take(
        &mut self,
        mut bytes: &[u8],
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        loop {
            let mut frame = match self.frame {
                Some(frame) => frame,
                None => match self.heading.take(&mut bytes)? {
                    Some(head) => {
                        self.begin(head, tell)?;
                        head
                    }
                    None => return Ok(()),
                },
            };
            let taken = usize::try_from(frame.length).map_or(bytes.len(), |left| left.min(bytes.len()));
            let (piece, rest) = bytes.split_at(taken);
            bytes = rest;
            frame.length -= taken as u64;
            self.frame = (frame.length > 0).then_some(frame);
            if frame.opcode.is_control() {
                self.control(frame, piece, tell)?;
            } else {
                self.data(frame, piece, tell)?;
            }
            if frame.length > 0 {
                return Ok(());
            }
        }
    }

    fn begin(
        &mut self,
        head: Head,
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        if head.opcode.is_control() {
            return Ok(());
        }
        let begun = match (head.opcode, &self.message) {
            (Opcode::Continuation, Some(begun)) => *begun,
            (Opcode::Continuation, None) => return Err(Fault::ContinuationUnexpected.into()),
            (_, Some(_)) => return Err(Fault::ContinuationExpected.into()),
            (opcode, None) => {
                tell(Event::Begins)?;
                Begun { utf8: (opcode == Opcode::Text).then(Utf8::default), bytes: 0 }
            }
        };
        let bytes = begun.bytes.saturating_add(head.length);
        if bytes > self.bytes_max {
            return Err(Violation::TooLarge);
        }
        self.message = Some(Begun { bytes, ..begun });
        Ok(())
    }

    #[inline]
    fn data(
        &mut self,
        frame: Head,
        piece: &[u8],
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let Some(Begun { utf8, bytes }) = &mut self.message else { return Ok(()) };
        if utf8.as_mut().is_some_and(|utf8| !utf8.take(piece)) {
            return Err(Fault::InvalidUtf8.into());
        }
        if !piece.is_empty() {
            tell(Event::Piece(piece))?;
        }
        if frame.length > 0 || !frame.is_last {
            return Ok(());
        }
        if utf8.is_some_and(|utf8| !utf8.is_whole()) {
            return Err(Fault::InvalidUtf8.into());
        }
        let bytes = *bytes;
        self.message = None;
        tell(Event::Ends(bytes))
    }

    fn control(
        &mut self,
        frame: Head,
        piece: &[u8],
        tell: &mut impl FnMut(Event<'_>) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        if frame.length > 0 {
            self.control.reserve_exact(CONTROL_MAX as usize);
            self.control.extend_from_slice(piece);
            return Ok(());
        }
        let payload = match self.control.is_empty() {
            true => piece,
            false => {
                self.control.extend_from_slice(piece);
                &self.control
            }
        };
        let told = match frame.opcode {
            Opcode::Ping => tell(Event::Ping(payload)),
            Opcode::Close => {
                close_code(payload).map_err(Violation::from).and_then(|code| tell(Event::Close(code)))
            }
            _ => tell(Event::Pong),
        };
        self.control.clear();
        told
    }
}

/// The status code of a close, which may be left out (RFC 6455 §5.5.1, §7.4).
fn close_code(payload: &[u8]) -> Result<Option<u16>, Fault> {
    let (code, reason) = match payload {
        [] => return Ok(None),
        [_] => return Err(Fault::CloseTruncated),
        [high, low, reason @ ..] => (u16::from_be_bytes([*high, *low]), reason),
    };
    if std::str::from_utf8(reason).is_err() {
        return Err(Fault::InvalidUtf8);
    }
    match code {
        // 1004 to 1006 and 1015 are for what is never sent; 1012 to 1014 were registered later.
        1000..=1003 | 1007..=1014 | 3000..=4999 => Ok(Some(code)),
        _ => Err(Fault::CloseCode),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(bytes: &[u8], piece: usize) -> Result<String, Violation> {
        let (mut reader, mut told) = (Reader::new(10), Vec::new());
        let mut tell = |event: Event<'_>| {
            told.extend(match event {
                Event::Begins => b"<".to_vec(),
                Event::Piece(piece) => piece.to_vec(),
                Event::Ends(bytes) => format!("{bytes}>").into_bytes(),
                Event::Ping(payload) => [b"ping(", payload, b")"].concat(),
                Event::Pong => b"pong".to_vec(),
                Event::Close(code) => format!("close({code:?})").into_bytes(),
            });
            Ok(())
        };
        bytes.chunks(piece).try_for_each(|piece| reader.take(piece, &mut tell))?;
        Ok(String::from_utf8_lossy(&told).into_owned())
    }

    #[test]
    fn fragments_are_one_message_however_they_come() {
        let bytes = b"\x01\x03Hel\x89\x02hi\x80\x02lo\x81\x00\x8a\x00\x82\x01\xff\x01\x00\x80\x02\xc3\xbc\x88\x02\x03\xe8";
        for piece in 1..=bytes.len() {
            let told = events(bytes, piece).unwrap();
            assert_eq!(told, "<Helping(hi)lo5><0>pong<\u{fffd}1><ü2>close(Some(1000))", "by {piece}");
        }
    }

    #[test]
    fn what_breaks_the_rules_is_told_apart() {
        for (bytes, violation) in [
            (&b"\x80\x00"[..], Fault::ContinuationUnexpected.into()),
            (b"\x01\x01a\x81\x01b", Fault::ContinuationExpected.into()),
            (b"\x81\x01\xff", Fault::InvalidUtf8.into()),
            (b"\x01\x01\xc3\x80\x01a", Fault::InvalidUtf8.into()),
            (b"\x81\x01\xc3", Fault::InvalidUtf8.into()),
            (b"\x88\x01\x03", Fault::CloseTruncated.into()),
            (b"\x88\x02\x03\xe7", Fault::CloseCode.into()),
            (b"\x88\x02\x03\xed", Fault::CloseCode.into()),
            (b"\x88\x02\x13\x88", Fault::CloseCode.into()),
            (b"\x88\x03\x03\xe8\xff", Fault::InvalidUtf8.into()),
            (b"\x82\x0b", Violation::TooLarge),
            (b"\x02\x0aaaaaaaaaaa\x80\x01a", Violation::TooLarge),
            (b"\x82\x7f\x7f\xff\xff\xff\xff\xff\xff\xff", Violation::TooLarge),
        ] {
            for piece in [1, 2, bytes.len()] {
                assert_eq!(events(bytes, piece), Err(violation), "{bytes:x?} by {piece}");
            }
        }
    }
}
