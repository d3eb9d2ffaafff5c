//! Frames of Cassandra's native protocol, versions 3 and 4, as far as it takes to see where they end.

use super::Unreadable;

/// The bit of a version that says who speaks.
const SERVER: u8 = 0x80;
/// Later versions pack frames into segments.
const VERSIONS: [u8; 2] = [3, 4];
const HEAD_BYTES: usize = 9;
/// No frame is longer, says the protocol.
const BODY_BYTES_MAX: u32 = 256 << 20;

/// One direction.
#[derive(Debug)]
pub(super) struct Cql {
    speaker: u8,
    head: [u8; HEAD_BYTES],
    /// How much of `head` has come.
    known: usize,
    /// Bytes of a body that are still to come.
    left: usize,
}

/// One that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) stream: i16,
    pub(super) opcode: u8,
}

impl Frame {
    pub(super) const ERROR: u8 = 0x00;
    pub(super) const STARTUP: u8 = 0x01;
    pub(super) const READY: u8 = 0x02;
    pub(super) const QUERY: u8 = 0x07;
    pub(super) const RESULT: u8 = 0x08;
    /// Of a prepared statement.
    pub(super) const EXECUTE: u8 = 0x0a;
}

/// What a client says.
pub(super) fn frame(stream: i16, opcode: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![4, 0];
    bytes.extend(stream.to_be_bytes());
    bytes.push(opcode);
    bytes.extend((body.len() as u32).to_be_bytes());
    bytes.extend(body);
    bytes
}

impl Cql {
    pub(super) fn client() -> Cql {
        Cql { speaker: 0, head: [0; HEAD_BYTES], known: 0, left: 0 }
    }

    pub(super) fn server() -> Cql {
        Cql { speaker: SERVER, ..Cql::client() }
    }

    /// Each frame that ends in these bytes.
    pub(super) fn take(&mut self, mut bytes: &[u8], mut each: impl FnMut(Frame)) -> Result<(), Unreadable> {
        while !bytes.is_empty() {
            if self.known < HEAD_BYTES {
                let (head, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES - self.known));
                self.head[self.known..self.known + head.len()].copy_from_slice(head);
                self.known += head.len();
                bytes = rest;
                if !VERSIONS.contains(&(self.head[0] ^ self.speaker)) {
                    return Err(Unreadable);
                }
                if self.known < HEAD_BYTES {
                    return Ok(());
                }
                let [.., a, b, c, d] = self.head;
                let length = u32::from_be_bytes([a, b, c, d]);
                if length > BODY_BYTES_MAX {
                    return Err(Unreadable);
                }
                self.left = length as usize;
            }
            let passed = bytes.len().min(self.left);
            self.left -= passed;
            bytes = &bytes[passed..];
            if self.left == 0 {
                let [_, _, high, low, opcode, ..] = self.head;
                self.known = 0;
                each(Frame { stream: i16::from_be_bytes([high, low]), opcode });
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(mut cql: Cql, bytes: &[u8], sizes: &[usize]) -> Result<Vec<(i16, u8)>, Unreadable> {
        let (mut all, mut at) = (Vec::new(), 0);
        let mut sizes = sizes.iter().cycle();
        while at < bytes.len() {
            let to = (at + sizes.next().copied().unwrap_or(usize::MAX).max(1)).min(bytes.len());
            cql.take(&bytes[at..to], |frame| all.push((frame.stream, frame.opcode)))?;
            at = to;
        }
        Ok(all)
    }

    proptest! {
        #[test]
        fn frames_end_where_they_end(sizes in prop::collection::vec(1_usize..40, 1..20)) {
            let all = [frame(0, Frame::STARTUP, b""), frame(7, Frame::EXECUTE, &[0; 100]), frame(-1, 0x0c, b"x")].concat();
            let expected = [(0, Frame::STARTUP), (7, Frame::EXECUTE), (-1, 0x0c)];
            prop_assert_eq!(read(Cql::client(), &all, &sizes), Ok(expected.to_vec()));
        }

        #[test]
        fn noise_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(Cql::client(), &bytes, &[7]);
            let _ = read(Cql::server(), &bytes, &[7]);
        }
    }

    #[test]
    fn what_nobody_can_read_is_refused() {
        for (bytes, why) in [
            (&[0x16, 3, 1][..], "TLS"),
            (&[5], "a version with segments"),
            (&[0x84], "an answer"),
            (&[4, 0, 0, 0, 7, 0xff, 0, 0, 0], "4 GiB"),
        ] {
            assert_eq!(read(Cql::client(), bytes, &[1]), Err(Unreadable), "{why}");
        }
    }
}
