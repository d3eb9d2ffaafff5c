//! The chunked transfer coding (RFC 9112 §7.1), decoded without keeping any byte.
//!
//! Strict where the RFC lets a recipient be lenient: lines end in CR LF only, never in a bare LF, since
//! readers that disagree about the end of a chunk extension can be fed different bodies. White space
//! between the size and what follows is accepted (BWS, §7.1.1; some servers pad their sizes).
//! httparse's `parse_chunk_size` is not used: it reads an empty line as size 0, the end of the body.

use crate::syntax::{is_token_byte, is_value_byte};
use crate::{Limits, ProtocolError};

/// Bytes of padding and extensions in one chunk's size line. Nothing of them is kept; the limit ends
/// a line that never ends.
pub(crate) const EXTENSION_BYTES_MAX: u32 = 16 * 1024;
/// Digits of 2⁶⁴ − 1. Counted, so that a run of zeros ends too.
const SIZE_DIGITS_MAX: u8 = 16;

/// Where the decoder stands in one chunked body.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunked {
    state: State,
    /// In a size line the size so far, in data the bytes still to come.
    remaining: u64,
    size_digits: u8,
    extension_bytes: u32,
    trailer_bytes: usize,
    trailers: usize,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Size,
    /// White space after the size.
    Padding,
    Extension,
    SizeLf,
    Data,
    DataCr,
    DataLf,
    /// At the start of a trailer line, or of the empty line that ends the body.
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
}

impl Chunked {
    pub(crate) const fn new() -> Chunked {
        Chunked {
            state: State::Size,
            remaining: 0,
            size_digits: 0,
            extension_bytes: 0,
            trailer_bytes: 0,
            trailers: 0,
        }
    }

    /// Decodes a piece, handing data to `body` and adding its length to `body_bytes`. Returns the
    /// offset just after the body's end, or `None` if the whole piece was taken and more must come.
    #[inline]
    pub(crate) fn feed(
        &mut self,
        piece: &[u8],
        limits: &Limits,
        body_bytes: &mut u64,
        body: &mut impl FnMut(&[u8]),
    ) -> Result<Option<usize>, ProtocolError> {
        let mut at = 0;
        while at < piece.len() {
            if let State::Data = self.state {
                let available = piece.len() - at;
                let take = usize::try_from(self.remaining).map_or(available, |left| left.min(available));
                body(&piece[at..at + take]);
                at += take;
                *body_bytes += take as u64;
                self.remaining -= take as u64;
                if self.remaining == 0 {
                    self.state = State::DataCr;
                }
            } else {
                let done = self.step(piece[at], limits, *body_bytes)?;
                at += 1;
                if done {
                    return Ok(Some(at));
                }
            }
        }
        Ok(None)
    }

    /// Takes one byte outside the data. True at the end of the body.
    fn step(&mut self, byte: u8, limits: &Limits, body_bytes: u64) -> Result<bool, ProtocolError> {
        self.state = match self.state {
            State::Size => self.size(byte)?,
            State::Padding => match byte {
                b' ' | b'\t' => self.extension(State::Padding)?,
                b';' => self.extension(State::Extension)?,
                b'\r' => State::SizeLf,
                b'\n' => return Err(ProtocolError::InvalidChunkLineEnd),
                _ => return Err(ProtocolError::InvalidChunkSize),
            },
            State::Extension => match byte {
                b'\r' => State::SizeLf,
                b'\n' => return Err(ProtocolError::InvalidChunkLineEnd),
                byte if is_value_byte(byte) => self.extension(State::Extension)?,
                _ => return Err(ProtocolError::InvalidChunkExtension),
            },
            State::SizeLf if byte == b'\n' => self.begin_data(limits, body_bytes)?,
            State::SizeLf => return Err(ProtocolError::InvalidChunkLineEnd),
            State::DataCr if byte == b'\r' => State::DataLf,
            State::DataLf if byte == b'\n' => {
                self.size_digits = 0;
                self.extension_bytes = 0;
                State::Size
            }
            State::DataCr | State::DataLf => return Err(ProtocolError::InvalidChunkEnd),
            State::EndLf if byte == b'\n' => return Ok(true),
            State::EndLf => return Err(ProtocolError::InvalidTrailer),
            State::TrailerStart if byte == b'\r' => State::EndLf,
            _ => self.trailer(byte, limits)?,
        };
        Ok(false)
    }

    fn size(&mut self, byte: u8) -> Result<State, ProtocolError> {
        let digit = match byte {
            b'0'..=b'9' => byte - b'0',
            b'a'..=b'f' => byte - b'a' + 10,
            b'A'..=b'F' => byte - b'A' + 10,
            _ if self.size_digits == 0 => return Err(ProtocolError::InvalidChunkSize),
            b' ' | b'\t' => return self.extension(State::Padding),
            b';' => return self.extension(State::Extension),
            b'\r' => return Ok(State::SizeLf),
            b'\n' => return Err(ProtocolError::InvalidChunkLineEnd),
            _ => return Err(ProtocolError::InvalidChunkSize),
        };
        if self.size_digits == SIZE_DIGITS_MAX {
            return Err(ProtocolError::ChunkSizeOverflow);
        }
        self.size_digits += 1;
        // 16 digits fit 64 bits exactly.
        self.remaining = self.remaining << 4 | u64::from(digit);
        Ok(State::Size)
    }

    fn extension(&mut self, next: State) -> Result<State, ProtocolError> {
        self.extension_bytes += 1;
        if self.extension_bytes > EXTENSION_BYTES_MAX {
            return Err(ProtocolError::ChunkExtensionTooLarge);
        }
        Ok(next)
    }

    fn begin_data(&self, limits: &Limits, body_bytes: u64) -> Result<State, ProtocolError> {
        if self.remaining == 0 {
            return Ok(State::TrailerStart);
        }
        match body_bytes.checked_add(self.remaining) {
            Some(total) if total <= limits.body_bytes_max => Ok(State::Data),
            _ => Err(ProtocolError::BodyTooLarge),
        }
    }

    /// Trailers are checked and counted, never read: RFC 9110 §6.5.1 forbids that they change framing.
    fn trailer(&mut self, byte: u8, limits: &Limits) -> Result<State, ProtocolError> {
        self.trailer_bytes += 1;
        if self.trailer_bytes > limits.head_bytes_max {
            return Err(ProtocolError::TrailersTooLarge);
        }
        match (self.state, byte) {
            (State::TrailerStart, byte) if is_token_byte(byte) => {
                self.trailers += 1;
                if self.trailers > limits.headers_max {
                    return Err(ProtocolError::TooManyTrailers);
                }
                Ok(State::TrailerName)
            }
            (State::TrailerName, byte) if is_token_byte(byte) => Ok(State::TrailerName),
            (State::TrailerName, b':') => Ok(State::TrailerValue),
            (State::TrailerValue, byte) if is_value_byte(byte) => Ok(State::TrailerValue),
            (State::TrailerValue, b'\r') => Ok(State::TrailerLf),
            (State::TrailerLf, b'\n') => Ok(State::TrailerStart),
            _ => Err(ProtocolError::InvalidTrailer),
        }
    }
}
