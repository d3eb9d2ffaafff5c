//! Frames (RFC 9113 §4 and §6).

use super::fault::Fault;

/// Bytes before a frame's payload.
pub(super) const HEADER_BYTES: usize = 9;
/// What both sides take unless they say otherwise (`SETTINGS_MAX_FRAME_SIZE`), and all that is sent or taken here.
pub(super) const PAYLOAD_MAX: usize = 16_384;
/// The largest window, and the largest stream identifier.
pub(super) const MAX_31_BITS: u32 = (1 << 31) - 1;
/// A window and the size of a table before anything is said of them.
pub(super) const WINDOW: u32 = 65_535;

/// The client's first bytes (§3.4).
pub(super) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Types of frames.
pub(super) mod kind {
    pub(in super::super) const DATA: u8 = 0;
    pub(in super::super) const HEADERS: u8 = 1;
    pub(in super::super) const PRIORITY: u8 = 2;
    pub(in super::super) const RST_STREAM: u8 = 3;
    pub(in super::super) const SETTINGS: u8 = 4;
    pub(in super::super) const PUSH_PROMISE: u8 = 5;
    pub(in super::super) const PING: u8 = 6;
    pub(in super::super) const GOAWAY: u8 = 7;
    pub(in super::super) const WINDOW_UPDATE: u8 = 8;
    pub(in super::super) const CONTINUATION: u8 = 9;
}

/// Flags of frames.
pub(super) mod flag {
    pub(in super::super) const END_STREAM: u8 = 1;
    pub(in super::super) const ACK: u8 = 1;
    pub(in super::super) const END_HEADERS: u8 = 4;
    pub(in super::super) const PADDED: u8 = 8;
    pub(in super::super) const PRIORITY: u8 = 0x20;
}

/// Settings (§6.5.2).
pub(super) mod setting {
    pub(in super::super) const HEADER_TABLE_SIZE: u16 = 1;
    pub(in super::super) const ENABLE_PUSH: u16 = 2;
    pub(in super::super) const MAX_CONCURRENT_STREAMS: u16 = 3;
    pub(in super::super) const INITIAL_WINDOW_SIZE: u16 = 4;
    pub(in super::super) const MAX_FRAME_SIZE: u16 = 5;
    pub(in super::super) const MAX_HEADER_LIST_SIZE: u16 = 6;
}

/// Error codes (§7).
pub(super) mod code {
    pub(in super::super) const NO_ERROR: u32 = 0;
    pub(in super::super) const PROTOCOL_ERROR: u32 = 1;
    pub(in super::super) const REFUSED_STREAM: u32 = 7;
    pub(in super::super) const CANCEL: u32 = 8;
}

/// What stands before a frame's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    /// Bytes of the payload.
    pub(super) length: usize,
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

/// A frame's header and payload, and what follows it.
pub(super) type Split<'a> = (Header, &'a [u8], &'a [u8]);

impl Header {
    pub(super) fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// The frame that `bytes` begin with, and what follows it; `None` while it is not whole.
    pub(super) fn split(bytes: &[u8]) -> Result<Option<Split<'_>>, Fault> {
        let Some((header, rest)) = bytes.split_first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let [a, b, c, kind, flags, s @ ..] = *header;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        if length > PAYLOAD_MAX {
            return Err(Fault::FrameTooLarge);
        }
        let header = Header { length, kind, flags, stream: u32::from_be_bytes(s) & MAX_31_BITS };
        Ok(rest.split_at_checked(length).map(|(payload, rest)| (header, payload, rest)))
    }

    /// The payload without its padding (§6.1).
    pub(super) fn unpadded<'a>(&self, payload: &'a [u8]) -> Result<&'a [u8], Fault> {
        if !self.has(flag::PADDED) {
            return Ok(payload);
        }
        let (&padding, rest) = payload.split_first().ok_or(Fault::FrameSize)?;
        let left = rest.len().checked_sub(usize::from(padding)).ok_or(Fault::Padding)?;
        Ok(&rest[..left])
    }
}

/// Appends what stands before a payload of `length` bytes.
pub(super) fn put_header(out: &mut Vec<u8>, length: usize, kind: u8, flags: u8, stream: u32) {
    let [_, a, b, c] = (length as u32).to_be_bytes();
    out.extend_from_slice(&[a, b, c, kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
}

/// Appends a frame whose payload is one number, such as RST_STREAM.
pub(super) fn put_number(out: &mut Vec<u8>, kind: u8, stream: u32, number: u32) {
    put_header(out, 4, kind, 0, stream);
    out.extend_from_slice(&number.to_be_bytes());
}

/// The number that a payload of four bytes is.
pub(super) fn number(payload: &[u8]) -> Result<u32, Fault> {
    payload.try_into().map(u32::from_be_bytes).map_err(|_| Fault::FrameSize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_whole_or_none() {
        let mut bytes = Vec::new();
        put_header(&mut bytes, 3, kind::DATA, flag::END_STREAM, 5);
        bytes.extend_from_slice(b"abcrest");
        for cut in 0..12 {
            assert_eq!(Header::split(&bytes[..cut]), Ok(None), "{cut}");
        }
        let header = Header { length: 3, kind: kind::DATA, flags: flag::END_STREAM, stream: 5 };
        assert_eq!(Header::split(&bytes), Ok(Some((header, &b"abc"[..], &b"rest"[..]))));
        let mut large = Vec::new();
        put_header(&mut large, PAYLOAD_MAX + 1, kind::DATA, 0, 1);
        assert_eq!(Header::split(&large), Err(Fault::FrameTooLarge));
    }

    #[test]
    fn padding_is_shorter_than_its_frame() {
        let header = Header { length: 0, kind: kind::DATA, flags: flag::PADDED, stream: 1 };
        assert_eq!(header.unpadded(b"\x02abc\0\0"), Ok(&b"abc"[..]));
        assert_eq!(header.unpadded(b"\x02\0\0"), Ok(&b""[..]));
        assert_eq!(header.unpadded(b"\x03\0\0"), Err(Fault::Padding));
        assert_eq!(header.unpadded(b""), Err(Fault::FrameSize));
    }
}
