//! Frames as bytes (native_protocol_v4.spec of Apache Cassandra, §2 and §3).

pub(super) const HEADER_BYTES: usize = 9;

/// No frame is longer (§2.5).
pub(super) const LENGTH_MAX: u32 = 256 << 20;

/// Version 4, from a client and from a server.
const REQUEST: u8 = 0x04;
pub(super) const RESPONSE: u8 = 0x84;

/// The stream of what answers nothing.
pub(super) const OF_NOBODY: i16 = -1;

/// What a frame is (§2.4).
pub(super) mod opcode {
    pub(in super::super) const ERROR: u8 = 0x00;
    pub(in super::super) const STARTUP: u8 = 0x01;
    pub(in super::super) const READY: u8 = 0x02;
    pub(in super::super) const AUTHENTICATE: u8 = 0x03;
    pub(in super::super) const QUERY: u8 = 0x07;
    pub(in super::super) const RESULT: u8 = 0x08;
    pub(in super::super) const PREPARE: u8 = 0x09;
    pub(in super::super) const EXECUTE: u8 = 0x0a;
    pub(in super::super) const REGISTER: u8 = 0x0b;
    pub(in super::super) const EVENT: u8 = 0x0c;
    pub(in super::super) const AUTH_CHALLENGE: u8 = 0x0e;
    pub(in super::super) const AUTH_RESPONSE: u8 = 0x0f;
    pub(in super::super) const AUTH_SUCCESS: u8 = 0x10;
}

/// What stands before the body's own fields (§2.2).
pub(super) mod flag {
    pub(in super::super) const COMPRESSED: u8 = 0x01;
    pub(in super::super) const TRACING: u8 = 0x02;
    pub(in super::super) const PAYLOAD: u8 = 0x04;
    pub(in super::super) const WARNING: u8 = 0x08;
}

/// How a frame begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) version: u8,
    pub(super) flags: u8,
    pub(super) stream: i16,
    pub(super) opcode: u8,
    /// Bytes of the body.
    pub(super) length: u32,
}

impl Header {
    pub(super) fn read(bytes: [u8; HEADER_BYTES]) -> Header {
        let [version, flags, s, t, opcode, length @ ..] = bytes;
        let (stream, length) = (i16::from_be_bytes([s, t]), u32::from_be_bytes(length));
        Header { version, flags, stream, opcode, length }
    }
}

/// Appends a frame, whose body `write` appends.
#[inline]
pub(super) fn put(stream: i16, opcode: u8, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let [s, t] = stream.to_be_bytes();
    out.extend_from_slice(&[REQUEST, 0, s, t, opcode]);
    put_bytes(out, write);
}

/// Appends \[bytes\], which `write` appends: they stand behind their length.
#[inline]
pub(super) fn put_bytes(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    // A request is far shorter than 2 GiB: its templates are, and what fills them.
    let length = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&length.to_be_bytes());
}

/// Appends a \[string\], which is shorter than 64 KiB.
pub(super) fn put_string(text: &str, out: &mut Vec<u8>) {
    put_short_bytes(text.as_bytes(), out);
}

/// Appends \[short bytes\].
#[inline]
pub(super) fn put_short_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&(bytes.len() as u16).to_be_bytes());
    out.extend_from_slice(bytes);
}

/// Appends a frame that prepares a statement.
pub(super) fn put_prepare(stream: i16, cql: &str, out: &mut Vec<u8>) {
    put(stream, opcode::PREPARE, out, |out| put_bytes(out, |out| out.extend_from_slice(cql.as_bytes())));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_a_header_and_its_body() {
        let mut out = b"x".to_vec();
        put_prepare(258, "SELECT", &mut out);
        assert_eq!(out, b"x\x04\0\x01\x02\x09\0\0\0\x0a\0\0\0\x06SELECT");
        let header = Header::read(*out[1..].first_chunk().unwrap());
        assert_eq!((header.version, header.stream, header.opcode, header.length), (4, 258, 9, 10));
    }
}
