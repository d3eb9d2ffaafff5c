//! What is to be written: frames in the order in which they leave, and the bodies that wait for the server's windows.

use super::frame::{self, HEADER_BYTES, MAX_31_BITS, PAYLOAD_MAX, WINDOW, flag, kind};
use super::hpack::encoder::Encoder;
use std::collections::VecDeque;

/// While so much waits to be written, no body is added to it.
const PENDING_MAX: usize = 4 * PAYLOAD_MAX;
/// While so much waits to be written, nothing that the server asks for is added to it.
const UNREAD_MAX: usize = 1 << 22;
/// More than a frame without a body takes, as a rule.
const SMALL_BYTES: usize = 1024;
/// Memory for bytes to be written: bodies up to their limit, a third more for what was written and is still there, and heads of 100
/// requests at once. What is not used is only address space.
const RESERVED: usize = 112 << 10;

/// The writing side of a connection.
#[derive(Debug)]
pub(super) struct Outgoing {
    bytes: Vec<u8>,
    written: usize,
    /// Bytes of bodies that the server takes on this connection.
    window: i64,
    /// Requests with something to send, in turn.
    sending: VecDeque<u32>,
    /// What the server knows of header fields.
    pub(super) encoder: Encoder,
}

impl Outgoing {
    /// With room for bodies and the heads of so many requests.
    pub(super) fn new(requests: usize) -> Outgoing {
        Outgoing {
            bytes: Vec::with_capacity(RESERVED),
            written: 0,
            window: i64::from(WINDOW),
            sending: VecDeque::with_capacity(requests),
            encoder: Encoder::new(),
        }
    }

    pub(super) fn pending(&self) -> &[u8] {
        &self.bytes[self.written..]
    }

    pub(super) fn wrote(&mut self, n: usize) {
        self.written += n;
        if self.written == self.bytes.len() {
            self.bytes.clear();
            self.written = 0;
        } else if self.written > PENDING_MAX {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
    }

    /// The frames are appended here.
    pub(super) fn frames(&mut self) -> &mut Vec<u8> {
        self.make_room(SMALL_BYTES);
        &mut self.bytes
    }

    /// Drops what has been written where so many bytes have no room behind it. While little was written, memory grows instead:
    /// moving the rest each time would cost more.
    fn make_room(&mut self, bytes: usize) {
        let capacity = self.bytes.capacity();
        if capacity - self.bytes.len() < bytes && self.written >= capacity / 4 {
            self.bytes.drain(..self.written);
            self.written = 0;
        }
    }

    /// The server does not read what it asks for.
    pub(super) fn is_unread(&self) -> bool {
        self.pending().len() > UNREAD_MAX
    }

    /// Puts a block of header fields, which `write` appends.
    pub(super) fn put_head(
        &mut self,
        stream: u32,
        ends: bool,
        write: impl FnOnce(&mut Encoder, &mut Vec<u8>),
    ) {
        let end = if ends { flag::END_STREAM } else { 0 };
        self.make_room(SMALL_BYTES);
        let at = self.bytes.len();
        frame::put_header(&mut self.bytes, 0, kind::HEADERS, end | flag::END_HEADERS, stream);
        write(&mut self.encoder, &mut self.bytes);
        let length = self.bytes.len() - at - HEADER_BYTES;
        if length <= PAYLOAD_MAX {
            self.bytes[at..at + 3].copy_from_slice(&(length as u32).to_be_bytes()[1..]);
            return;
        }
        // Too long for one frame; rare enough to be copied.
        let block = self.bytes.split_off(at + HEADER_BYTES);
        self.bytes.truncate(at);
        let pieces = block.chunks(PAYLOAD_MAX);
        let last = pieces.len() - 1;
        for (i, piece) in pieces.enumerate() {
            let (kind, flags) = if i == 0 { (kind::HEADERS, end) } else { (kind::CONTINUATION, 0) };
            let flags = flags | if i == last { flag::END_HEADERS } else { 0 };
            frame::put_header(&mut self.bytes, piece.len(), kind, flags, stream);
            self.bytes.extend_from_slice(piece);
        }
    }

    /// Puts as much of what is `left` of a body as one frame and the windows take, and says how much that was.
    pub(super) fn put_body(&mut self, stream: u32, left: &[u8], stream_window: &mut i64) -> usize {
        let allowed = self.window.min(*stream_window).clamp(0, PAYLOAD_MAX as i64) as usize;
        let n = left.len().min(allowed);
        if n == 0 || self.pending().len() >= PENDING_MAX {
            return 0;
        }
        let end = if n == left.len() { flag::END_STREAM } else { 0 };
        self.make_room(HEADER_BYTES + n);
        frame::put_header(&mut self.bytes, n, kind::DATA, end, stream);
        self.bytes.extend_from_slice(&left[..n]);
        self.window -= n as i64;
        *stream_window -= n as i64;
        n
    }

    /// The request may send more of its body when its turn comes.
    pub(super) fn queue(&mut self, stream: u32) {
        self.sending.push_back(stream);
    }

    /// The next request whose turn it is, if anything can be sent at all.
    pub(super) fn next(&mut self) -> Option<u32> {
        if self.window <= 0 || self.pending().len() >= PENDING_MAX {
            return None;
        }
        self.sending.pop_front()
    }

    /// The server takes so many bytes more. False if that is beyond what a window can be.
    pub(super) fn widen(&mut self, by: u32) -> bool {
        self.window += i64::from(by);
        self.window <= i64::from(MAX_31_BITS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http2::frame::Header;

    fn frames(mut bytes: &[u8]) -> Vec<(Header, Vec<u8>)> {
        let mut all = Vec::new();
        while let Some((header, payload, rest)) = Header::split(bytes).unwrap() {
            all.push((header, payload.to_vec()));
            bytes = rest;
        }
        assert!(bytes.is_empty());
        all
    }

    #[test]
    fn a_long_block_goes_on_in_other_frames() {
        let mut outgoing = Outgoing::new(1);
        outgoing.put_head(1, true, |_, out| out.resize(out.len() + 2 * PAYLOAD_MAX + 1, 7));
        outgoing.put_head(3, false, |_, out| out.push(8));
        let all = frames(outgoing.pending());
        let heads: Vec<_> = all.iter().map(|(h, _)| (h.kind, h.flags, h.stream, h.length)).collect();
        assert_eq!(
            heads,
            [
                (kind::HEADERS, flag::END_STREAM, 1, PAYLOAD_MAX),
                (kind::CONTINUATION, 0, 1, PAYLOAD_MAX),
                (kind::CONTINUATION, flag::END_HEADERS, 1, 1),
                (kind::HEADERS, flag::END_HEADERS, 3, 1),
            ]
        );
        assert_eq!((all[0].1[0], all[3].1[0]), (7, 8));
    }

    #[test]
    fn bodies_keep_to_both_windows() {
        let mut outgoing = Outgoing::new(1);
        let (body, mut window) = (vec![1; 100_000], 20_000);
        assert_eq!(outgoing.put_body(1, &body, &mut window), PAYLOAD_MAX);
        assert_eq!(outgoing.put_body(1, &body, &mut window), 20_000 - PAYLOAD_MAX);
        assert_eq!(outgoing.put_body(1, &body, &mut window), 0);
        assert!(outgoing.widen(10) && !outgoing.widen(MAX_31_BITS));
        let mut below = -5;
        assert_eq!(outgoing.put_body(1, &body, &mut below), 0);
    }
}
