//! One call: what its head, its message and its trailers say
//! ([PROTOCOL-HTTP2](https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md)).

use super::fault::Fault;
use super::status::{CODES, OK, UNKNOWN};

/// Bytes before a message: a flag and its length.
const PREFIX_BYTES: usize = 5;

/// How far an answer has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Call {
    prefix: [u8; PREFIX_BYTES],
    /// Bytes of the prefix that have come; all while the message is read.
    have: usize,
    /// Bytes of the message that are to come.
    left: u32,
    messages: u32,
    /// There may be any number of them.
    is_stream: bool,
    /// Bytes of messages.
    pub(super) bytes: u64,
    status: Option<u16>,
    fault: Option<Fault>,
}

impl Call {
    /// Nothing has come yet.
    pub(super) fn new(is_stream: bool) -> Call {
        Call { is_stream, ..Call::default() }
    }

    /// Takes the head, which may have the status already (Trailers-Only).
    pub(super) fn head(&mut self, head: &[u8]) {
        let status = head.split(|byte| b" \r\n".contains(byte)).nth(1);
        let mut is_grpc = false;
        for (name, value) in fields(head) {
            match name {
                b"content-type" => is_grpc = is_of_grpc(value),
                _ => self.field(name, value),
            }
        }
        if status != Some(b"200") {
            self.note(Fault::HttpStatus);
        } else if !is_grpc {
            self.note(Fault::NotGrpc);
        }
    }

    /// Takes the trailers.
    pub(super) fn trailers(&mut self, lines: &[u8]) {
        fields(lines).for_each(|(name, value)| self.field(name, value));
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        match name {
            b"grpc-status" => {
                match std::str::from_utf8(value).ok().and_then(|text| text.parse::<u32>().ok()) {
                    // What nobody knows is unknown.
                    Some(code) if code as usize >= CODES.len() => self.status = Some(UNKNOWN),
                    Some(code) => self.status = Some(code as u16),
                    None => self.note(Fault::BadStatus),
                }
            }
            b"grpc-message" if !is_percent_encoded(value) => self.note(Fault::BadMessage),
            _ => {}
        }
    }

    /// Takes a piece of the body, and hands on what belongs to a message, and (`None`) that one is whole.
    pub(super) fn body(&mut self, mut piece: &[u8], mut take: impl FnMut(Option<&[u8]>)) {
        while !piece.is_empty() && self.fault.is_none() {
            if self.have < PREFIX_BYTES {
                let n = piece.len().min(PREFIX_BYTES - self.have);
                self.prefix[self.have..self.have + n].copy_from_slice(&piece[..n]);
                (self.have, piece) = (self.have + n, &piece[n..]);
                if self.have == PREFIX_BYTES {
                    self.begin_message();
                    // One of no length has ended, too.
                    if self.have == 0 && self.fault.is_none() {
                        take(None);
                    }
                }
                continue;
            }
            let n = piece.len().min(self.left as usize);
            take(Some(&piece[..n]));
            (self.left, piece) = (self.left - n as u32, &piece[n..]);
            self.bytes += n as u64;
            if self.left == 0 {
                self.have = 0;
                take(None);
            }
        }
    }

    fn begin_message(&mut self) {
        let [flag, length @ ..] = self.prefix;
        self.messages += 1;
        match flag {
            0 if self.messages > 1 && !self.is_stream => self.note(Fault::SeveralMessages),
            0 => {}
            1 => self.note(Fault::Compressed),
            _ => self.note(Fault::BadFlag),
        }
        self.left = u32::from_be_bytes(length);
        if self.left == 0 {
            self.have = 0;
        }
    }

    /// What is wrong first.
    fn note(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    /// The status of an answer that is whole.
    pub(super) fn end(&self) -> Result<u16, Fault> {
        match (self.fault, self.status) {
            (Some(fault), _) => Err(fault),
            (None, None) => Err(Fault::NoStatus),
            (None, Some(_)) if self.have > 0 => Err(Fault::Truncated),
            (None, Some(OK)) if self.messages == 0 && !self.is_stream => Err(Fault::NoMessage),
            (None, Some(status)) => Ok(status),
        }
    }
}

/// The lines of `name: value`.
pub(super) fn fields(lines: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    lines.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end).filter_map(field)
}

/// `name: value`.
fn field(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = line.iter().position(|&byte| byte == b':').filter(|&colon| colon > 0)?;
    Some((&line[..colon], line[colon + 1..].trim_ascii()))
}

/// `application/grpc`, and what may follow: `+proto`, or parameters.
fn is_of_grpc(content_type: &[u8]) -> bool {
    let kind = b"application/grpc";
    let begins = content_type.get(..kind.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(kind));
    begins && matches!(content_type.get(kind.len()), None | Some(b'+' | b';' | b' '))
}

fn is_percent_encoded(text: &[u8]) -> bool {
    let mut parts = text.split(|&byte| byte == b'%');
    parts.next();
    parts.all(|part| part.len() >= 2 && part[..2].iter().all(u8::is_ascii_hexdigit))
}
