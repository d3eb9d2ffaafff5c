//! Frames (RFC 6455 §5.2).

use super::fault::Fault;

/// Bytes of a payload that a control frame has at the most.
pub(super) const CONTROL_MAX: u64 = 125;

/// Bytes of the longest head of a frame that is not masked.
pub(super) const HEAD_MAX: usize = 10;

/// What a frame is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Opcode {
    /// It goes on with a message.
    Continuation = 0,
    /// It begins a message that is UTF-8.
    Text = 1,
    /// It begins a message of any bytes.
    Binary = 2,
    /// It ends the connection.
    Close = 8,
    /// It asks for a pong.
    Ping = 9,
    /// It answers a ping.
    Pong = 10,
}

impl Opcode {
    fn of(number: u8) -> Option<Opcode> {
        use Opcode::*;
        [Continuation, Text, Binary, Close, Ping, Pong].into_iter().find(|opcode| *opcode as u8 == number)
    }

    /// It may stand between the fragments of a message.
    pub(super) fn is_control(self) -> bool {
        self as u8 >= 8
    }
}

/// The head of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    pub(super) opcode: Opcode,
    /// It is the last fragment.
    pub(super) is_last: bool,
    /// Bytes of the payload behind it.
    pub(super) length: u64,
}

/// A head as its bytes come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Heading {
    bytes: [u8; HEAD_MAX],
    have: u8,
}

impl Heading {
    /// Takes what it lacks from `bytes`; the head, if it is whole. A server's frame is never masked.
    ///
    /// A length that a shorter form could hold is taken as it is: nobody can read it in another way.
    #[inline]
    pub(super) fn take(&mut self, bytes: &mut &[u8]) -> Result<Option<Head>, Fault> {
        while let [byte, rest @ ..] = *bytes {
            self.bytes[usize::from(self.have)] = *byte;
            self.have += 1;
            *bytes = rest;
            if let Some(head) = self.read()? {
                self.have = 0;
                return Ok(Some(head));
            }
        }
        Ok(None)
    }

    fn read(&self) -> Result<Option<Head>, Fault> {
        let [first, second, length @ ..] = self.bytes;
        let opcode = Opcode::of(first & 0x0f);
        if self.have == 1 {
            return match (first & 0x70, opcode) {
                (0, Some(opcode)) if opcode.is_control() && first & 0x80 == 0 => {
                    Err(Fault::ControlFragmented)
                }
                (0, Some(_)) => Ok(None),
                (0, None) => Err(Fault::UnknownOpcode),
                _ => Err(Fault::ReservedBits),
            };
        }
        let opcode = opcode.ok_or(Fault::UnknownOpcode)?;
        if second & 0x80 != 0 {
            return Err(Fault::Masked);
        }
        if opcode.is_control() && u64::from(second) > CONTROL_MAX {
            return Err(Fault::ControlTooLong);
        }
        let length = match (second, self.have) {
            (0..=125, _) => u64::from(second),
            (126, 4) => u64::from(u16::from_be_bytes([length[0], length[1]])),
            (127, 10) => u64::from_be_bytes(length),
            _ => return Ok(None),
        };
        if length >> 63 != 0 {
            return Err(Fault::LengthTopBit);
        }
        Ok(Some(Head { opcode, is_last: first & 0x80 != 0, length }))
    }

    /// A head has begun and is not whole.
    pub(super) fn has_begun(&self) -> bool {
        self.have > 0
    }
}

/// Appends a whole message, or a control frame, masked by `key` as a client's must be.
pub(super) fn put(out: &mut Vec<u8>, opcode: Opcode, payload: &[u8], key: [u8; 4]) {
    out.push(0x80 | opcode as u8);
    match payload.len() {
        length @ 0..=125 => out.push(0x80 | length as u8),
        length @ 126..=0xffff => {
            out.push(0x80 | 126);
            out.extend_from_slice(&(length as u16).to_be_bytes());
        }
        length => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&key);
    let at = out.len();
    out.extend_from_slice(payload);
    mask(&mut out[at..], key);
}

/// Masks, or unmasks, a payload (§5.3).
pub(super) fn mask(payload: &mut [u8], key: [u8; 4]) {
    let (words, rest) = payload.as_chunks_mut::<4>();
    let key_word = u32::from_ne_bytes(key);
    for word in words {
        *word = (u32::from_ne_bytes(*word) ^ key_word).to_ne_bytes();
    }
    for (byte, key) in rest.iter_mut().zip(key) {
        *byte ^= key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(mut bytes: &[u8]) -> Result<Option<Head>, Fault> {
        Heading::default().take(&mut bytes)
    }

    /// RFC 6455 §5.7.
    #[test]
    fn the_examples_of_the_rfc() {
        let mut out = Vec::new();
        put(&mut out, Opcode::Text, b"Hello", [0x37, 0xfa, 0x21, 0x3d]);
        assert_eq!(out, [0x81, 0x85, 0x37, 0xfa, 0x21, 0x3d, 0x7f, 0x9f, 0x4d, 0x51, 0x58]);
        for (bytes, opcode, is_last, length) in [
            (&b"\x81\x05Hello"[..], Opcode::Text, true, 5),
            (b"\x01\x03Hel", Opcode::Text, false, 3),
            (b"\x80\x02lo", Opcode::Continuation, true, 2),
            (b"\x89\x05Hello", Opcode::Ping, true, 5),
            (b"\x82\x7e\x01\x00", Opcode::Binary, true, 256),
            (b"\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00", Opcode::Binary, true, 65_536),
        ] {
            assert_eq!(read(bytes), Ok(Some(Head { opcode, is_last, length })));
        }
    }

    #[test]
    fn what_no_server_may_send_is_told_apart() {
        for (bytes, fault) in [
            (&b"\xc1"[..], Fault::ReservedBits),
            (b"\x91", Fault::ReservedBits),
            (b"\x83", Fault::UnknownOpcode),
            (b"\x8b", Fault::UnknownOpcode),
            (b"\x81\x85", Fault::Masked),
            (b"\x09", Fault::ControlFragmented),
            (b"\x89\x7e", Fault::ControlTooLong),
            (b"\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00", Fault::LengthTopBit),
        ] {
            assert_eq!(read(bytes), Err(fault), "{bytes:x?}");
        }
        assert_eq!(read(b"\x82\x7f\x00\x00"), Ok(None));
    }

    #[test]
    fn lengths_take_the_shortest_form() {
        for (length, head) in [(0, 2), (125, 2), (126, 4), (65_535, 4), (65_536, 10)] {
            let mut out = Vec::new();
            put(&mut out, Opcode::Binary, &vec![7; length], [1, 2, 3, 4]);
            assert_eq!(out.len(), head + 4 + length);
            let (_, payload) = out.split_at_mut(head + 4);
            mask(payload, [1, 2, 3, 4]);
            assert!(payload.iter().all(|byte| *byte == 7));
        }
    }
}
