//! Where HTTP/1.x requests begin and end: a sans-IO state machine.
//!
//! Feed it what the socket gave; it says how many bytes it took and what they made. It stops at the end of each
//! request, so that pipelined ones are taken one at a time. Bodies are counted and thrown away. Strict where two
//! readers could disagree (RFC 9112, section 6.3): anything doubtful is rejected and the connection closed.

mod head;

use self::head::{Body, Head};
pub(crate) use self::head::{Reject, Request, Route};

/// The longest request head, the longest trailer section and the longest chunk-size line, in bytes.
pub(crate) const LARGEST_HEAD_BYTES: usize = 16 * 1024;
/// The most digits of a chunk size: 16 hexadecimal digits fill a u64.
const MOST_CHUNK_DIGITS: u32 = 15;

/// What the bytes made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// All bytes are taken and the request is not complete.
    More,
    /// The client waits for `100 Continue` before it sends the body. Feed on afterwards.
    Continue,
    /// A request is complete, body included.
    Complete(Request),
    /// Answer with this status and close.
    Reject(Reject),
}

/// One connection's requests. Empty between requests: an idle connection holds no memory here.
#[derive(Debug, Default)]
pub(crate) struct Framer {
    state: State,
    /// An incomplete head.
    head: Vec<u8>,
    /// How much of `head` is known not to contain its end; in the other states, bytes of chunk framing so far.
    scanned: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Head,
    Length(Request, u64),
    Chunk(Request, Chunk),
    /// After a rejection nothing makes sense any more.
    Dead,
}

/// Where in a chunked body the next byte lies (RFC 9112, section 7.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Chunk {
    Size { value: u64, digits: u32 },
    Extension { value: u64 },
    SizeLf { value: u64 },
    Data { left: u64 },
    DataCr,
    DataLf,
    TrailerStart,
    Trailer,
    TrailerLf,
    EndLf,
}

impl Framer {
    /// Takes bytes from the front of `input`; gives how many, and what they made. Call again with the rest.
    pub(crate) fn feed(&mut self, input: &[u8]) -> (usize, Step) {
        let (taken, result) = match self.state {
            State::Head => self.feed_head(input),
            State::Length(request, left) => self.feed_length(input, request, left),
            State::Chunk(request, chunk) => self.feed_chunks(input, request, chunk),
            State::Dead => (input.len(), Ok(Step::More)),
        };
        let step = result.unwrap_or_else(|reject| {
            self.state = State::Dead;
            self.head = Vec::new();
            Step::Reject(reject)
        });
        (taken, step)
    }

    fn feed_head(&mut self, input: &[u8]) -> (usize, Result<Step, Reject>) {
        // Empty lines before a request are to be skipped (RFC 9112, section 2.2), here at most a head's worth.
        let mut skipped = 0;
        if self.head.is_empty() {
            skipped = input.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            self.scanned += skipped;
            if self.scanned > LARGEST_HEAD_BYTES {
                return (skipped, Err(Reject::HeadTooLarge));
            }
        }
        let fresh = &input[skipped..];
        if self.head.is_empty() {
            // The usual case: the whole head is here, and needs no copy.
            if let Some(end) = head_end(fresh, 0) {
                return (skipped + end, self.finish_head(&fresh[..end]));
            }
        } else {
            let before = self.head.len();
            let room = LARGEST_HEAD_BYTES + 1 - before;
            self.head.extend_from_slice(&fresh[..fresh.len().min(room)]);
            // The end may lie across the seam.
            if let Some(end) = head_end(&self.head, self.scanned.saturating_sub(3)) {
                let head = std::mem::take(&mut self.head);
                return (end - before, self.finish_head(&head[..end]));
            }
            self.scanned = self.head.len();
            let too_large = self.head.len() > LARGEST_HEAD_BYTES;
            return (input.len(), if too_large { Err(Reject::HeadTooLarge) } else { Ok(Step::More) });
        }
        if fresh.len() > LARGEST_HEAD_BYTES {
            return (input.len(), Err(Reject::HeadTooLarge));
        }
        if !fresh.is_empty() {
            self.head.extend_from_slice(fresh);
            self.scanned = fresh.len();
        }
        (input.len(), Ok(Step::More))
    }

    fn finish_head(&mut self, head: &[u8]) -> Result<Step, Reject> {
        self.scanned = 0;
        if head.len() > LARGEST_HEAD_BYTES {
            return Err(Reject::HeadTooLarge);
        }
        let Head { request, body, expects_continue } = Head::parse(head)?;
        self.state = match body {
            Body::Length(0) => return Ok(Step::Complete(request)),
            Body::Length(left) => State::Length(request, left),
            Body::Chunked => State::Chunk(request, Chunk::Size { value: 0, digits: 0 }),
        };
        Ok(if expects_continue { Step::Continue } else { Step::More })
    }

    fn feed_length(&mut self, input: &[u8], request: Request, left: u64) -> (usize, Result<Step, Reject>) {
        let taken = left.min(input.len() as u64);
        (taken as usize, Ok(self.finish_if(taken == left, request, State::Length(request, left - taken))))
    }

    fn finish_if(&mut self, complete: bool, request: Request, otherwise: State) -> Step {
        self.state = if complete { State::Head } else { otherwise };
        if complete { Step::Complete(request) } else { Step::More }
    }

    fn feed_chunks(
        &mut self,
        input: &[u8],
        request: Request,
        mut chunk: Chunk,
    ) -> (usize, Result<Step, Reject>) {
        let mut at = 0;
        while at < input.len() {
            if let Chunk::Data { left } = chunk {
                let taken = left.min((input.len() - at) as u64);
                at += taken as usize;
                chunk = if taken == left { Chunk::DataCr } else { Chunk::Data { left: left - taken } };
                continue;
            }
            let byte = input[at];
            at += 1;
            self.scanned += 1;
            if self.scanned > LARGEST_HEAD_BYTES {
                return (at, Err(Reject::HeadTooLarge));
            }
            if (chunk, byte) == (Chunk::EndLf, b'\n') {
                self.scanned = 0;
                return (at, Ok(self.finish_if(true, request, State::Head)));
            }
            chunk = match next_chunk_state(chunk, byte) {
                Some(next) => next,
                None => return (at, Err(Reject::BadRequest)),
            };
            if matches!(chunk, Chunk::Data { .. }) {
                self.scanned = 0;
            }
        }
        self.state = State::Chunk(request, chunk);
        (at, Ok(Step::More))
    }
}

/// The state after one byte of chunk framing; `None`: not allowed here.
fn next_chunk_state(chunk: Chunk, byte: u8) -> Option<Chunk> {
    Some(match (chunk, byte) {
        (Chunk::Size { value, digits: 1.. } | Chunk::Extension { value }, b'\r') => Chunk::SizeLf { value },
        (Chunk::Size { value, digits: 1.. }, b';' | b' ' | b'\t') => Chunk::Extension { value },
        (Chunk::Size { value, digits }, _) if digits < MOST_CHUNK_DIGITS => {
            let digit = (byte as char).to_digit(16)?;
            Chunk::Size { value: value * 16 + u64::from(digit), digits: digits + 1 }
        }
        (Chunk::Extension { .. }, b'\n') | (Chunk::Trailer, b'\n') => return None,
        (Chunk::Extension { value }, _) => Chunk::Extension { value },
        (Chunk::SizeLf { value: 0 }, b'\n') => Chunk::TrailerStart,
        (Chunk::SizeLf { value }, b'\n') => Chunk::Data { left: value },
        (Chunk::DataCr, b'\r') => Chunk::DataLf,
        (Chunk::DataLf, b'\n') => Chunk::Size { value: 0, digits: 0 },
        (Chunk::TrailerStart, b'\r') => Chunk::EndLf,
        (Chunk::Trailer, b'\r') => Chunk::TrailerLf,
        (Chunk::TrailerLf, b'\n') => Chunk::TrailerStart,
        (Chunk::TrailerStart | Chunk::Trailer, byte) if byte != b'\n' => Chunk::Trailer,
        _ => return None,
    })
}

/// The position after the empty line that ends a head, searched from `from` on.
fn head_end(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = bytes.get(at..)?.iter().position(|&byte| byte == b'\n') {
        at += found + 1;
        match bytes.get(at..)? {
            [b'\n', ..] => return Some(at + 1),
            [b'\r', b'\n', ..] => return Some(at + 2),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::head::MOST_FIELDS;
    use super::*;

    const GET: Request = Request::SCENARIO;

    /// Every step but `More`, with the input cut into pieces of `piece` bytes.
    fn steps(input: &[u8], piece: usize) -> Vec<Step> {
        let (mut framer, mut steps) = (Framer::default(), Vec::new());
        for mut part in input.chunks(piece) {
            while !part.is_empty() {
                let (taken, step) = framer.feed(part);
                assert!(taken > 0, "no progress");
                part = &part[taken..];
                if step != Step::More {
                    steps.push(step);
                }
            }
        }
        steps
    }

    /// The same however the bytes are cut.
    #[track_caller]
    fn check(input: &str, expected: &[Step]) {
        for piece in [1, 2, 3, 7, input.len()] {
            assert_eq!(steps(input.as_bytes(), piece), expected, "in pieces of {piece}");
        }
    }

    #[track_caller]
    fn check_rejected(input: &str, reject: Reject) {
        for piece in [1, 2, 3, 7, input.len()] {
            let steps = steps(input.as_bytes(), piece);
            assert_eq!(steps.last(), Some(&Step::Reject(reject)), "in pieces of {piece}");
        }
    }

    #[test]
    fn requests_end_where_they_end() {
        let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        check(get, &[Step::Complete(GET)]);
        check(&format!("\r\n{get}\r\n\r\n{get}"), &[Step::Complete(GET); 2]);
        check("GET / HTTP/1.1\nHost: a\n\n", &[Step::Complete(GET)]);
        let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nGET /";
        check(&format!("{post}{post}{get}"), &[Step::Complete(GET); 3]);
    }

    #[test]
    fn chunked_bodies() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        for body in [
            "0\r\n\r\n",
            "5\r\nhello\r\n0\r\n\r\n",
            "5;a=b\r\nhello\r\n0A\r\n0123456789\r\n000\r\nTrailer: x\r\nB: y\r\n\r\n",
            "1 \r\n\n\r\n0\r\n\r\n",
        ] {
            check(&format!("{head}{body}{head}{body}"), &[Step::Complete(GET); 2]);
        }
        for body in [
            "\r\n",
            ";x\r\n",
            "g\r\n",
            "-1\r\n",
            "5\nhello",
            "5\r\nhello!",
            "5\r\nhello\n",
            "0\r\n\n",
            "1;a\nb",
            "0\r\nTrailer: x\n\r\n",
            "1000000000000000\r\n",
        ] {
            check_rejected(&format!("{head}{body}"), Reject::BadRequest);
        }
    }

    /// Broken requests mean the same however they are cut, and never stop the framer from making progress.
    #[test]
    fn random_damage_is_read_alike_in_all_pieces() {
        let whole = "\r\nPOST /a HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n\
                     5;x=y\r\nhello\r\n0\r\nT: u\r\n\r\nPUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbodyGET / HTTP/1.0\r\n\r\n";
        let mut state = 0x9E37_79B9_7F4A_7C15_u64;
        let mut random = |below: usize| {
            // Xorshift, by Marsaglia.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state % below as u64) as usize
        };
        for _ in 0..20_000 {
            let mut bytes = whole.as_bytes().to_vec();
            for _ in 0..=random(3) {
                let at = random(bytes.len());
                match random(3) {
                    0 => bytes[at] = b"\r\n 0;:,aF\0\xff"[random(11)],
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, whole.as_bytes()[random(whole.len())]),
                }
            }
            let expected = steps(&bytes, bytes.len());
            for piece in [1, 2, 5] {
                assert_eq!(steps(&bytes, piece), expected, "{:?}", String::from_utf8_lossy(&bytes));
            }
        }
    }

    #[test]
    fn keep_alive_follows_version_and_connection() {
        let steps = |head: &str| steps(format!("{head}\r\n\r\n").as_bytes(), 4_096);
        let keep_alive = |head| match steps(head)[..] {
            [Step::Complete(request)] => request.keep_alive,
            ref other => panic!("{other:?}"),
        };
        assert!(keep_alive("GET / HTTP/1.1\r\nHost: a"));
        assert!(!keep_alive("GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close"));
        assert!(!keep_alive("GET / HTTP/1.0"));
        assert!(keep_alive("GET / HTTP/1.0\r\nConnection: Keep-Alive"));
        assert!(!keep_alive("GET / HTTP/1.0\r\nConnection: keep-alive, close"));
    }

    #[test]
    fn continue_is_asked_for_once_and_only_with_a_body() {
        let head = "POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n";
        check(&format!("{head}Content-Length: 2\r\n\r\nab"), &[Step::Continue, Step::Complete(GET)]);
        check(&format!("{head}\r\n"), &[Step::Complete(GET)]);
        check_rejected("GET / HTTP/1.1\r\nHost: a\r\nExpect: tea\r\n\r\n", Reject::ExpectationFailed);
    }

    #[test]
    fn doubtful_heads_are_rejected() {
        let with = |fields: &str| format!("POST / HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
        for head in [
            "GET / HTTP/1.1\r\n\r\n".to_owned(),
            "GET /\r\n\r\n".to_owned(),
            "\0\0\0\n\n".to_owned(),
            with("Host: b"),
            with("Content-Length: 1\r\nContent-Length: 1"),
            with("Content-Length: 1, 1"),
            with("Content-Length: +1"),
            with("Content-Length: "),
            with("Content-Length: 18446744073709551616"),
            with("Content-Length: 1\r\nTransfer-Encoding: chunked"),
            with("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
            with("Folded: a\r\n b"),
            with("Space : a"),
            "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
        ] {
            check_rejected(&head, Reject::BadRequest);
        }
        check_rejected(&with("Transfer-Encoding: gzip, chunked"), Reject::UnknownTransferCoding);
        check_rejected("GET / HTTP/2.0\r\n\r\n", Reject::UnknownVersion);
    }

    #[test]
    fn heads_are_limited() {
        let head = |bytes: usize| format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", "a".repeat(bytes - 26));
        assert_eq!(head(100).len(), 100);
        check(&head(LARGEST_HEAD_BYTES), &[Step::Complete(GET)]);
        check_rejected(&head(LARGEST_HEAD_BYTES + 1), Reject::HeadTooLarge);
        check_rejected(&"\r\n".repeat(LARGEST_HEAD_BYTES), Reject::HeadTooLarge);
        check_rejected(&"a".repeat(LARGEST_HEAD_BYTES + 1), Reject::HeadTooLarge);
        let fields = "A: b\r\n".repeat(MOST_FIELDS + 1);
        check_rejected(&format!("GET / HTTP/1.1\r\n{fields}\r\n"), Reject::HeadTooLarge);
        let post = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        check_rejected(&format!("{post}0;{}", "x".repeat(LARGEST_HEAD_BYTES)), Reject::HeadTooLarge);
        check_rejected(&format!("{post}0\r\n{}", "A: b\r\n".repeat(4_096)), Reject::HeadTooLarge);
    }
}
