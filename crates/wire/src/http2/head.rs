//! The header fields of an answer (RFC 9113 §8.2 and §8.3.2), made into lines, and blocks that are recognised.

use super::fault::Fault;
use super::hpack::decoder::{Decoder, Scratch};
use crate::Limits;
use crate::syntax::{is_token_byte, is_value_byte};

/// Blocks that a connection remembers.
const RECENT_MAX: usize = 4;
/// Longer blocks, and those with longer fields, are read anew each time.
const RECENT_BLOCK_BYTES: usize = 512;
const RECENT_TEXT_BYTES: usize = 2048;

/// What header fields say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Head {
    /// 100 to 999.
    pub(super) status: u16,
    pub(super) content_length: Option<u64>,
}

/// Takes fields one by one and writes them as lines. Where the request alone is wrong, and not the connection, it takes all
/// of them: the table of the connection must stay what the server thinks it is.
struct Reader<'a> {
    text: &'a mut Vec<u8>,
    limits: &'a Limits,
    is_trailers: bool,
    status: Option<u16>,
    content_length: Option<u64>,
    lines: usize,
    fault: Option<Fault>,
}

impl Reader<'_> {
    fn take(&mut self, name: &[u8], value: &[u8]) -> Result<(), Fault> {
        self.lines += 1;
        if self.lines > self.limits.headers_max {
            return Err(Fault::TooManyHeaders);
        }
        // With ": " and a line's end.
        if self.text.len() + name.len() + value.len() + 4 > self.limits.head_bytes_max {
            return Err(Fault::HeadTooLarge);
        }
        if self.fault.is_none() {
            self.fault = self.note(name, value).err();
        }
        if self.fault.is_none() && name != b":status" {
            for part in [name, b": ", value, b"\r\n"] {
                self.text.extend_from_slice(part);
            }
        }
        Ok(())
    }

    fn note(&mut self, name: &[u8], value: &[u8]) -> Result<(), Fault> {
        if name.first() == Some(&b':') {
            return self.note_pseudo(name, value);
        }
        if self.status.is_none() && !self.is_trailers {
            return Err(Fault::InvalidStatus);
        }
        if name.is_empty() || !name.iter().all(|&b| is_token_byte(b) && !b.is_ascii_uppercase()) {
            return Err(Fault::InvalidHeaderName);
        }
        let is_blank = |byte: Option<&u8>| matches!(byte, Some(b' ' | b'\t'));
        if !value.iter().copied().all(is_value_byte) || is_blank(value.first()) || is_blank(value.last()) {
            return Err(Fault::InvalidHeaderValue);
        }
        match name {
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => {
                Err(Fault::ConnectionHeader)
            }
            b"content-length" if !self.is_trailers => {
                let length =
                    decimal(value).filter(|&length| self.content_length.is_none_or(|known| known == length));
                self.content_length = Some(length.ok_or(Fault::InvalidContentLength)?);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn note_pseudo(&mut self, name: &[u8], value: &[u8]) -> Result<(), Fault> {
        if name != b":status" || self.is_trailers {
            return Err(Fault::InvalidPseudoHeader);
        }
        match *value {
            [a @ b'1'..=b'9', b @ b'0'..=b'9', c @ b'0'..=b'9'] if self.status.is_none() => {
                let digit = |digit: u8| u16::from(digit - b'0');
                self.status = Some(digit(a) * 100 + digit(b) * 10 + digit(c));
                for part in [b"HTTP/2 ", value, b"\r\n"] {
                    self.text.extend_from_slice(part);
                }
                Ok(())
            }
            _ => Err(Fault::InvalidStatus),
        }
    }
}

fn decimal(digits: &[u8]) -> Option<u64> {
    let digits = std::str::from_utf8(digits).ok().filter(|text| text.bytes().all(|b| b.is_ascii_digit()))?;
    digits.parse().ok()
}

/// What a block says: a head, or why the request has failed.
pub(super) type Said = Result<Head, Fault>;

/// A block that was read before.
#[derive(Debug)]
struct Recent {
    block: Vec<u8>,
    generation: u64,
    text: Vec<u8>,
    head: Head,
}

/// Reads the answers' blocks of one connection.
#[derive(Debug)]
pub(super) struct Heads {
    decoder: Decoder,
    recent: [Recent; RECENT_MAX],
}

impl Heads {
    pub(super) fn new() -> Heads {
        let none = || Recent {
            // No block is empty.
            block: Vec::with_capacity(RECENT_BLOCK_BYTES),
            generation: 0,
            text: Vec::with_capacity(RECENT_TEXT_BYTES),
            head: Head { status: 0, content_length: None },
        };
        Heads { decoder: Decoder::new(), recent: [none(), none(), none(), none()] }
    }

    /// Reads the head of an answer to request `number`, and hands its lines to `take`.
    ///
    /// # Errors
    /// What is wrong for the whole connection.
    pub(super) fn read(
        &mut self,
        number: u32,
        block: &[u8],
        limits: &Limits,
        (scratch, text): (&mut Scratch, &mut Vec<u8>),
        take: impl FnOnce(&Head, &[u8]),
    ) -> Result<Said, Fault> {
        let place = number as usize % RECENT_MAX;
        let generation = self.decoder.generation();
        let recent = &self.recent[place];
        if !block.is_empty() && recent.generation == generation && recent.block == block {
            take(&recent.head, &recent.text);
            return Ok(Ok(recent.head));
        }
        let said = self.decode(block, limits, (scratch, &mut *text), false)?;
        if let Ok(head) = said {
            text.extend_from_slice(b"\r\n");
            // A block that has changed the table means something else the next time.
            if self.decoder.generation() == generation {
                self.learn(place, block, text, head);
            }
            take(&head, text);
        }
        Ok(said)
    }

    /// Reads trailers, or the head of an answer that nobody waits for.
    pub(super) fn pass_over(
        &mut self,
        block: &[u8],
        limits: &Limits,
        texts: (&mut Scratch, &mut Vec<u8>),
    ) -> Result<Option<Fault>, Fault> {
        self.decode(block, limits, texts, true).map(Result::err)
    }

    fn decode(
        &mut self,
        block: &[u8],
        limits: &Limits,
        (scratch, text): (&mut Scratch, &mut Vec<u8>),
        is_trailers: bool,
    ) -> Result<Said, Fault> {
        text.clear();
        let (status, content_length, lines, fault) = (None, None, 0, None);
        let mut reader = Reader { text, limits, is_trailers, status, content_length, lines, fault };
        self.decoder.decode(block, scratch, |name, value| reader.take(name, value))?;
        Ok(match reader {
            Reader { fault: Some(fault), .. } => Err(fault),
            Reader { status: None, is_trailers: false, .. } => Err(Fault::InvalidStatus),
            Reader { status, content_length, .. } => Ok(Head { status: status.unwrap_or(0), content_length }),
        })
    }

    fn learn(&mut self, place: usize, block: &[u8], text: &[u8], head: Head) {
        if block.len() > RECENT_BLOCK_BYTES || text.len() > RECENT_TEXT_BYTES {
            return;
        }
        let recent = &mut self.recent[place];
        recent.block.clear();
        recent.block.extend_from_slice(block);
        recent.text.clear();
        recent.text.extend_from_slice(text);
        (recent.generation, recent.head) = (self.decoder.generation(), head);
    }
}

#[cfg(test)]
mod tests {
    use super::super::hpack::encoder::Encoder;
    use super::super::hpack::literal::Parts;
    use super::*;

    fn block(fields: &[(&str, &str)]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut parts = Parts::default();
        fields.iter().for_each(|(name, value)| parts.put(name, value));
        // A server that keeps nothing, so that a block means the same on every connection.
        let mut encoder = Encoder::new();
        encoder.set_limit(0);
        encoder.put_block(0, (&parts.done(), &[(); 0]), &mut Vec::new(), |_, _| {}, &mut out);
        out.remove(0);
        out
    }

    fn read(heads: &mut Heads, block: &[u8]) -> (Result<Said, Fault>, String) {
        let (mut scratch, mut text, mut said) = (Scratch::default(), Vec::new(), String::new());
        let small = Limits { head_bytes_max: 64, headers_max: 3, body_bytes_max: 0 };
        let read = heads.read(0, block, &small, (&mut scratch, &mut text), |_, text| {
            said = String::from_utf8_lossy(text).into_owned();
        });
        (read, said)
    }

    #[test]
    fn a_head_becomes_lines() {
        let block = block(&[(":status", "200"), ("content-length", "12"), ("server", "x")]);
        let (said, text) = read(&mut Heads::new(), &block);
        assert_eq!(said, Ok(Ok(Head { status: 200, content_length: Some(12) })));
        assert_eq!(text, "HTTP/2 200\r\ncontent-length: 12\r\nserver: x\r\n\r\n");
    }

    #[test]
    fn what_is_wrong_with_one_answer_leaves_the_connection_alone() {
        for (fields, fault) in [
            (&[("server", "x")][..], Fault::InvalidStatus),
            (&[], Fault::InvalidStatus),
            (&[(":status", "20")], Fault::InvalidStatus),
            (&[(":status", "020")], Fault::InvalidStatus),
            (&[(":status", "200"), (":status", "200")], Fault::InvalidStatus),
            (&[(":path", "/")], Fault::InvalidPseudoHeader),
            (&[(":status", "200"), ("Server", "x")], Fault::InvalidHeaderName),
            (&[(":status", "200"), ("", "x")], Fault::InvalidHeaderName),
            (&[(":status", "200"), ("a b", "x")], Fault::InvalidHeaderName),
            (&[(":status", "200"), ("a", "x\r\nb")], Fault::InvalidHeaderValue),
            (&[(":status", "200"), ("a", " x")], Fault::InvalidHeaderValue),
            (&[(":status", "200"), ("connection", "close")], Fault::ConnectionHeader),
            (&[(":status", "200"), ("transfer-encoding", "chunked")], Fault::ConnectionHeader),
            (&[(":status", "200"), ("content-length", "+1")], Fault::InvalidContentLength),
            (
                &[(":status", "200"), ("content-length", "1"), ("content-length", "2")],
                Fault::InvalidContentLength,
            ),
        ] {
            let (said, text) = read(&mut Heads::new(), &block(fields));
            assert_eq!((said, &text[..]), (Ok(Err(fault)), ""), "{fields:?}");
        }
        let many = [(":status", "200"), ("a", ""), ("b", ""), ("c", "")];
        assert_eq!(read(&mut Heads::new(), &block(&many)).0, Err(Fault::TooManyHeaders));
        let long = "x".repeat(60);
        let large = block(&[(":status", "200"), ("a", &long)]);
        assert_eq!(read(&mut Heads::new(), &large).0, Err(Fault::HeadTooLarge));
    }

    #[test]
    fn a_block_is_recognised_only_while_the_table_stays_as_it_was() {
        let mut heads = Heads::new();
        // The first inserts `a: 1`, the second refers to the latest entry.
        let insert = |value: u8| [b"\x88\x40\x01a\x01", &[value][..]].concat();
        let refer = b"\x88\xbe";
        assert_eq!(read(&mut heads, &insert(b'1')).1, "HTTP/2 200\r\na: 1\r\n\r\n");
        for _ in 0..3 {
            assert_eq!(read(&mut heads, refer).1, "HTTP/2 200\r\na: 1\r\n\r\n");
        }
        assert_eq!(heads.recent[0].block, refer);
        // An insertion is never recognised: it would have to be made again.
        assert_eq!(read(&mut heads, &insert(b'2')).1, "HTTP/2 200\r\na: 2\r\n\r\n");
        assert_eq!(read(&mut heads, refer).1, "HTTP/2 200\r\na: 2\r\n\r\n");
        assert_eq!(read(&mut heads, &insert(b'2')).1, "HTTP/2 200\r\na: 2\r\n\r\n");
        assert_eq!(heads.decoder.generation(), 3);
    }

    #[test]
    fn trailers_have_no_status() {
        let (mut scratch, mut text) = (Scratch::default(), Vec::new());
        let mut pass = |fields: &[(&str, &str)]| {
            let limits = Limits::default();
            Heads::new().pass_over(&block(fields), &limits, (&mut scratch, &mut text))
        };
        assert_eq!(pass(&[("grpc-status", "0"), ("content-length", "x")]), Ok(None));
        assert_eq!(pass(&[(":status", "200")]), Ok(Some(Fault::InvalidPseudoHeader)));
    }
}
