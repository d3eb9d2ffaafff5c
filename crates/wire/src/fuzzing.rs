//! Invariants of the parser, checked for any input. Shared by the fuzz target, the replay of its corpus
//! and the property tests; not part of the API.

use crate::cuts::Cuts;
use crate::{LastHead, Limits, Parser, Parts, Progress, ProtocolError, RequestKind, Response};

/// What became of an answer, with everything that must not depend on how its bytes were cut.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Driven {
    /// The answer, or what is wrong with it.
    pub result: Result<Response, ProtocolError>,
    /// The final head, as handed out.
    pub head: Vec<u8>,
    /// The body, as handed out.
    pub body: Vec<u8>,
    /// Bytes of the input that belonged to the answer; all that was fed, if the answer failed or was
    /// ended by the close. `None` after an error, which may be noticed only at the end of a piece.
    pub consumed: Option<usize>,
}

/// What was handed out.
#[derive(Default)]
struct Taken {
    head: Vec<u8>,
    body: Vec<u8>,
}

impl Taken {
    fn outcome(self, result: Result<Response, ProtocolError>, consumed: Option<usize>) -> Driven {
        Driven { result, head: self.head, body: self.body, consumed }
    }
}

impl Parts for Taken {
    fn head(&mut self, _: u16, head: &[u8]) {
        assert!(self.head.is_empty() && self.body.is_empty(), "a second head, or one behind its body");
        assert!(head.ends_with(b"\n"), "a head without its end");
        self.head.extend_from_slice(head);
    }

    fn body(&mut self, piece: &[u8]) {
        assert!(!piece.is_empty(), "an empty slice was delivered");
        assert!(!self.head.is_empty(), "a body before its head");
        self.body.extend_from_slice(piece);
    }
}

/// Feeds `bytes` in pieces of the lengths that `next_len` yields (at least 1), then closes.
///
/// # Panics
/// If the parser breaks an invariant that holds for every call.
pub fn drive(
    parser: &mut Parser,
    kind: RequestKind,
    bytes: &[u8],
    next_len: impl FnMut() -> usize,
) -> Driven {
    drive_after(&mut LastHead::none(), parser, kind, bytes, next_len)
}

/// The same with a head that was read before.
fn drive_after(
    last: &mut LastHead,
    parser: &mut Parser,
    kind: RequestKind,
    bytes: &[u8],
    mut next_len: impl FnMut() -> usize,
) -> Driven {
    let mut taken = Taken::default();
    let mut at = 0;
    parser.begin(kind);
    assert!(!parser.has_started());
    while at < bytes.len() {
        let len = next_len().clamp(1, bytes.len() - at);
        let piece = &bytes[at..at + len];
        let before = taken.body.len();
        let progress = parser.feed_after(last, piece, &mut taken);
        assert!(taken.body.len() - before <= len, "more was delivered than given");
        assert!(parser.has_started());
        match progress {
            Ok(Progress::NeedMore) => at += len,
            Ok(Progress::Done { response, consumed }) => {
                assert!(consumed <= len, "more was taken than given");
                assert!(consumed > 0, "the answer was complete one piece before");
                assert_eq!(response.body_bytes, taken.body.len() as u64);
                assert_rests(parser, Ok(response));
                return taken.outcome(Ok(response), Some(at + consumed));
            }
            Err(error) => {
                assert_rests(parser, Err(error));
                return taken.outcome(Err(error), None);
            }
        }
    }
    let closes = parser.is_close_delimited_body();
    let result = parser.eof();
    assert_eq!(closes, result.is_ok(), "only a close-delimited body may end with the close");
    if let Err(error) = result {
        assert!(error.is_closed_early());
        assert_eq!(error == ProtocolError::ClosedBeforeAnswer, bytes.is_empty());
    }
    assert_rests(parser, result);
    let consumed = result.is_ok().then_some(at);
    taken.outcome(result, consumed)
}

/// The same with bodies of known length passed over instead of fed.
fn drive_skipping(parser: &mut Parser, kind: RequestKind, bytes: &[u8], cuts: &mut Cuts) -> Driven {
    let mut at = 0;
    parser.begin(kind);
    while at < bytes.len() {
        let len = cuts.next_len().clamp(1, bytes.len() - at);
        let left = usize::try_from(parser.body_left()).unwrap_or(usize::MAX);
        let progress = match left {
            0 => parser.feed(&bytes[at..at + len], &mut |_| {}),
            left => Ok(parser.skip(len.min(left) as u64)),
        };
        match progress {
            Ok(Progress::NeedMore) => at += if left > 0 { len.min(left) } else { len },
            Ok(Progress::Done { response, consumed }) => {
                assert_rests(parser, Ok(response));
                return Taken::default().outcome(Ok(response), Some(at + consumed));
            }
            Err(error) => return Taken::default().outcome(Err(error), None),
        }
    }
    let result = parser.eof();
    Taken::default().outcome(result, result.is_ok().then_some(at))
}

/// After an answer or an error nothing more may happen until the next request.
fn assert_rests(parser: &mut Parser, result: Result<Response, ProtocolError>) {
    let mut parser = parser.clone();
    assert_eq!(parser.eof(), result);
    let mut nothing = |_: &[u8]| panic!("a body was delivered after the end");
    let again = parser.feed(b"HTTP/1.1 200 OK\r\n\r\nx", &mut nothing);
    assert_eq!(again, Err(result.err().unwrap_or(ProtocolError::UnsolicitedData)));
    assert_eq!(parser.feed(b"", &mut nothing), again);
}

/// Limits small enough for short inputs to reach each of them.
pub const SMALL_LIMITS: Limits = Limits { head_bytes_max: 96, headers_max: 3, body_bytes_max: 24 };

/// Checks one input of the fuzzer. Its first byte chooses request and limits (`0` normal, `1` HEAD,
/// `2` CONNECT, `3` to `5` the same with small limits), its second how the rest is cut; the rest is what
/// the server sends, possibly several answers.
///
/// # Panics
/// If the outcome depends on the cuts or on what the parser did before, or an invariant breaks.
pub fn check(data: &[u8]) {
    let [choice, seed, bytes @ ..] = data else { return };
    let choice = choice.wrapping_sub(b'0');
    let kind = match choice % 3 {
        0 => RequestKind::Normal,
        1 => RequestKind::Head,
        _ => RequestKind::Connect,
    };
    let limits = if choice % 6 >= 3 { SMALL_LIMITS } else { Limits::default() };

    // One parser goes through the whole input with cuts, as it would on a connection; fresh ones read
    // each answer whole and byte by byte.
    let mut reused = Parser::new(limits);
    let mut last = LastHead::new();
    let mut cuts = Cuts::new(*seed);
    let mut rest = bytes;
    loop {
        let whole = drive(&mut Parser::new(limits), kind, rest, || rest.len());
        let cut = drive(&mut reused, kind, rest, || cuts.next_len());
        assert_eq!(whole, cut, "the outcome depends on how the bytes are cut");
        let bytewise = drive(&mut Parser::new(limits), kind, rest, || 1);
        assert_eq!(whole, bytewise, "the outcome depends on how the bytes are cut");
        let skipped = drive_skipping(&mut reused, kind, rest, &mut cuts);
        assert_eq!(
            (whole.result, whole.consumed),
            (skipped.result, skipped.consumed),
            "the outcome depends on whether the body is looked at"
        );
        // The head of the answer before is known, then this one's own.
        for _ in 0..2 {
            let known = drive_after(&mut last, &mut reused, kind, rest, || rest.len());
            assert_eq!(whole, known, "the outcome depends on what was read before");
        }
        assert!(whole.body.len() as u64 <= limits.body_bytes_max);
        match whole.consumed {
            Some(consumed) if consumed > 0 && consumed < rest.len() => rest = &rest[consumed..],
            _ => return,
        }
    }
}
