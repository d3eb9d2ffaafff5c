//! A line of RESP: a number, a name, an error, or how much follows.

use super::fault::Fault;

/// Of a line: numbers, names and errors.
const LINE_MAX: u32 = 64 << 10;

/// A line up to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) kind: u8,
    pub(super) length: u32,
    pub(super) digits: u32,
    pub(super) sign: Option<u8>,
    pub(super) number: u64,
}

impl Line {
    /// Of the type that its first byte says.
    pub(super) fn new(kind: u8) -> Line {
        Line { kind, length: 0, digits: 0, sign: None, number: 0 }
    }

    /// Takes a part of the line on.
    #[inline]
    pub(super) fn check(&mut self, piece: &[u8]) -> Result<(), Fault> {
        let (piece, beyond) = piece.split_at(piece.len().min((LINE_MAX - self.length) as usize));
        self.length += piece.len() as u32;
        let is_right = match self.kind {
            b'+' | b'-' => true,
            b'#' => self.length <= 1 && piece.iter().all(|byte| matches!(byte, b't' | b'f')),
            b'_' => piece.is_empty(),
            b',' => piece.iter().all(|byte| {
                matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E' | b'i' | b'n' | b'f' | b'a')
            }),
            _ => piece.iter().all(|&byte| self.digit(byte)),
        };
        match (is_right, beyond) {
            (false, _) => Err(self.fault()),
            (true, []) => Ok(()),
            (true, _) => Err(Fault::LineTooLong),
        }
    }

    /// Takes a digit, or a sign before the first one.
    #[inline]
    fn digit(&mut self, byte: u8) -> bool {
        match byte {
            b'-' | b'+' if self.digits == 0 && self.sign.is_none() => {
                self.sign = Some(byte);
                match self.kind {
                    b':' | b'(' => true,
                    // A null of RESP2 is a text, or an array, of the length -1.
                    b'$' | b'*' => byte == b'-',
                    _ => false,
                }
            }
            b'0'..=b'9' => {
                self.digits += 1;
                let number = self.number.checked_mul(10).and_then(|n| n.checked_add(u64::from(byte - b'0')));
                self.number = number.unwrap_or_default();
                // A big number may be of any size.
                number.is_some() || self.kind == b'('
            }
            _ => false,
        }
    }

    pub(super) fn is_negative(&self) -> bool {
        self.sign == Some(b'-')
    }

    /// The line is whole.
    #[inline]
    pub(super) fn check_end(&self) -> Result<(), Fault> {
        let positive_max = i64::MAX as u64;
        let is_right = match self.kind {
            b'+' | b'-' | b'_' => true,
            b',' | b'#' => self.length > 0,
            b'(' => self.digits > 0,
            b':' => self.digits > 0 && self.number <= positive_max + u64::from(self.is_negative()),
            _ if self.is_negative() => (self.digits, self.number) == (1, 1),
            _ => self.digits > 0 && self.number <= positive_max,
        };
        if is_right { Ok(()) } else { Err(self.fault()) }
    }

    fn fault(&self) -> Fault {
        match self.kind {
            b':' | b'(' => Fault::BadInteger,
            b',' | b'#' | b'_' => Fault::BadValue,
            _ => Fault::BadLength,
        }
    }
}
