//! Reads a complete head: status, connection persistence and the framing of the body.

use std::mem::MaybeUninit;

use crate::ProtocolError;
use crate::syntax::{is_token, trim};

/// Header lines that fit the array on the stack; a parser with a higher limit allocates beyond it.
const HEADERS_ON_STACK: usize = 128;

/// What the request was, as far as it decides whether the answer has a body (RFC 9112 §6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RequestKind {
    /// Any method but the two below.
    Normal,
    /// An answer to `HEAD` never has a body.
    Head,
    /// After a 2xx answer to `CONNECT` the connection is a tunnel.
    Connect,
}

impl RequestKind {
    /// The kind of a method. Methods are case-sensitive (RFC 9110 §9.1).
    pub fn of_method(method: &str) -> RequestKind {
        match method {
            "HEAD" => RequestKind::Head,
            "CONNECT" => RequestKind::Connect,
            _ => RequestKind::Normal,
        }
    }
}

/// How the end of a body is known (RFC 9112 §6.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framing {
    /// No body at all: the answer ends with its head.
    Empty,
    Length(u64),
    Chunked,
    UntilClose,
}

/// What the codec needs of a head; the header lines themselves are not kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Head {
    /// Bytes of the head, with the empty line.
    pub(crate) len: usize,
    pub(crate) status: u16,
    pub(crate) http10: bool,
    /// The server is willing to take another request, as far as the head says.
    pub(crate) keeps_alive: bool,
    /// A fault here belongs to framing only, so that answers without a body can ignore it.
    framing: Result<Framing, ProtocolError>,
}

impl Head {
    /// Parses a head. `Ok(None)` if `bytes` do not contain all of it.
    pub(crate) fn parse(bytes: &[u8], headers_max: usize) -> Result<Option<Head>, ProtocolError> {
        // Uninitialised on purpose: clearing 4 KiB would cost as much as parsing a usual head.
        let mut headers = [const { MaybeUninit::uninit() }; HEADERS_ON_STACK];
        let on_stack = headers_max.min(HEADERS_ON_STACK);
        match Head::parse_into(bytes, &mut headers[..on_stack]) {
            Err(ProtocolError::TooManyHeaders) if headers_max > HEADERS_ON_STACK => {
                // No head can have more lines than bytes, whatever the limit says.
                let mut headers = vec![MaybeUninit::uninit(); headers_max.min(bytes.len())];
                Head::parse_into(bytes, &mut headers)
            }
            parsed => parsed,
        }
    }

    /// The framing of the body that follows this head, for an answer to `kind` (RFC 9112 §6.3).
    pub(crate) fn framing(&self, kind: RequestKind) -> Result<Framing, ProtocolError> {
        // Rule 1: "regardless of the header fields present in the message".
        match (kind, self.status) {
            (RequestKind::Head, _) | (_, 204 | 304) => Ok(Framing::Empty),
            // Rule 2: the tunnel begins after the head.
            (RequestKind::Connect, 200..=299) => Ok(Framing::Empty),
            _ => self.framing,
        }
    }

    fn parse_into<'b>(
        bytes: &'b [u8],
        headers: &mut [MaybeUninit<httparse::Header<'b>>],
    ) -> Result<Option<Head>, ProtocolError> {
        let mut parsed = httparse::Response::new(&mut []);
        let mut config = httparse::ParserConfig::default();
        // RFC 9112 §5.2: a user agent must read an obs-fold in an answer as spaces.
        config.allow_obsolete_multiline_headers_in_responses(true);
        let len = match config.parse_response_with_uninit_headers(&mut parsed, bytes, headers) {
            Ok(httparse::Status::Complete(len)) => len,
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(error) => return Err(from_httparse(error)),
        };
        let (Some(version), Some(status)) = (parsed.version, parsed.code) else {
            return Err(ProtocolError::InvalidStatusLine);
        };
        // RFC 9110 §15: three digits, the first 1 to 5. 600 and above is accepted as an odd status.
        if status < 100 {
            return Err(ProtocolError::InvalidStatusCode);
        }
        let http10 = version == 0;
        let fields = Fields::read(parsed.headers);
        Ok(Some(Head {
            len,
            status,
            http10,
            // RFC 9112 §9.3: close wins; then the version decides, unless keep-alive is given.
            keeps_alive: !fields.close && (!http10 || fields.keep_alive),
            framing: fields.framing(http10),
        }))
    }
}

/// The header fields that matter here, folded over all header lines.
struct Fields {
    content_length: Result<Option<u64>, ProtocolError>,
    transfer_encoding: Option<Result<Coding, ProtocolError>>,
    close: bool,
    keep_alive: bool,
}

/// What the transfer codings seen so far end in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Coding {
    /// Only empty list elements so far.
    None,
    Chunked,
    /// Ends in another coding; `chunked_before` if chunked stands earlier in the list.
    Other {
        chunked_before: bool,
    },
}

impl Fields {
    fn read(headers: &[httparse::Header<'_>]) -> Fields {
        let mut fields =
            Fields { content_length: Ok(None), transfer_encoding: None, close: false, keep_alive: false };
        for header in headers {
            // The length is compared first: almost no header of an answer has one of these.
            match header.name.len() {
                10 if header.name.eq_ignore_ascii_case("connection") => fields.connection(header.value),
                14 if header.name.eq_ignore_ascii_case("content-length") => {
                    fields.content_length =
                        fields.content_length.and_then(|known| content_length(known, header.value));
                }
                17 if header.name.eq_ignore_ascii_case("transfer-encoding") => {
                    let before = fields.transfer_encoding.unwrap_or(Ok(Coding::None));
                    fields.transfer_encoding =
                        Some(before.and_then(|before| transfer_encoding(before, header.value)));
                }
                _ => {}
            }
        }
        fields
    }

    fn connection(&mut self, value: &[u8]) {
        for option in value.split(|&byte| byte == b',').map(trim) {
            self.close |= option.eq_ignore_ascii_case(b"close");
            self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
        }
    }

    fn framing(&self, http10: bool) -> Result<Framing, ProtocolError> {
        let Some(coding) = self.transfer_encoding else {
            return Ok(self.content_length?.map_or(Framing::UntilClose, Framing::Length));
        };
        // RFC 9112 §6.1: "MUST treat the message as if the framing is faulty".
        if http10 {
            return Err(ProtocolError::TransferEncodingInHttp10);
        }
        // RFC 9112 §6.3 rule 3 would let Transfer-Encoding win but calls for an error: it is how
        // answers are smuggled past a reader that believes the other one.
        if self.content_length != Ok(None) {
            return Err(ProtocolError::ContentLengthWithTransferEncoding);
        }
        match coding? {
            Coding::Chunked => Ok(Framing::Chunked),
            // Rule 4: in an answer, chunked that is not final means until close.
            Coding::Other { .. } => Ok(Framing::UntilClose),
            Coding::None => Err(ProtocolError::InvalidTransferEncoding),
        }
    }
}

/// Folds one Content-Length line into what earlier ones said. RFC 9112 §6.3 rule 5: a list of identical
/// values is as good as one.
fn content_length(mut known: Option<u64>, value: &[u8]) -> Result<Option<u64>, ProtocolError> {
    for element in value.split(|&byte| byte == b',').map(trim) {
        let length = decimal(element)?;
        if known.is_some_and(|known| known != length) {
            return Err(ProtocolError::ConflictingContentLength);
        }
        known = Some(length);
    }
    Ok(known)
}

/// `1*DIGIT` (RFC 9110 §8.6); `str::parse` would take a sign.
fn decimal(digits: &[u8]) -> Result<u64, ProtocolError> {
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(ProtocolError::InvalidContentLength);
    }
    digits
        .iter()
        .try_fold(0u64, |value, digit| value.checked_mul(10)?.checked_add(u64::from(digit - b'0')))
        .ok_or(ProtocolError::ContentLengthOverflow)
}

/// Folds one Transfer-Encoding line into the codings of earlier ones. Parameters are cut at the comma
/// without regard to quotes: a quoted comma leaves a part that is no token, which is refused.
fn transfer_encoding(mut coding: Coding, value: &[u8]) -> Result<Coding, ProtocolError> {
    for element in value.split(|&byte| byte == b',').map(trim) {
        // RFC 9110 §5.6.1: empty elements of a list are ignored.
        if element.is_empty() {
            continue;
        }
        let name_len = element.iter().position(|&byte| byte == b';').unwrap_or(element.len());
        let name = trim(&element[..name_len]);
        if !is_token(name) {
            return Err(ProtocolError::InvalidTransferEncoding);
        }
        let chunked_before = matches!(coding, Coding::Chunked | Coding::Other { chunked_before: true });
        coding = if !name.eq_ignore_ascii_case(b"chunked") {
            Coding::Other { chunked_before }
        } else if name_len < element.len() {
            // RFC 9112 §7.1: parameters of chunked should be treated as an error.
            return Err(ProtocolError::InvalidTransferEncoding);
        } else if chunked_before {
            // RFC 9112 §6.1: chunked must not be applied more than once.
            return Err(ProtocolError::ChunkedTwice);
        } else {
            Coding::Chunked
        };
    }
    Ok(coding)
}

fn from_httparse(error: httparse::Error) -> ProtocolError {
    match error {
        httparse::Error::HeaderName => ProtocolError::InvalidHeaderName,
        httparse::Error::HeaderValue => ProtocolError::InvalidHeaderValue,
        httparse::Error::NewLine => ProtocolError::InvalidLineEnd,
        httparse::Error::TooManyHeaders => ProtocolError::TooManyHeaders,
        // The scanner has approved the version, so that a fault in it is only the missing space after.
        httparse::Error::Status | httparse::Error::Token | httparse::Error::Version => {
            ProtocolError::InvalidStatusLine
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn framing(lines: &str) -> Result<Framing, ProtocolError> {
        let text = format!("HTTP/1.1 200 OK\r\n{lines}\r\n");
        Head::parse(text.as_bytes(), 128).unwrap().unwrap().framing(RequestKind::Normal)
    }

    #[test]
    fn content_length_takes_digits_and_identical_repeats_only() {
        use ProtocolError::{ConflictingContentLength, ContentLengthOverflow, InvalidContentLength};
        for (value, expected) in [
            ("5", Ok(Framing::Length(5))),
            ("005", Ok(Framing::Length(5))),
            ("  5\t", Ok(Framing::Length(5))),
            ("5, 5", Ok(Framing::Length(5))),
            ("5,5\r\ncontent-LENGTH: 5", Ok(Framing::Length(5))),
            ("\r\n 5", Ok(Framing::Length(5))),
            ("18446744073709551615", Ok(Framing::Length(u64::MAX))),
            ("18446744073709551616", Err(ContentLengthOverflow)),
            ("5, 6", Err(ConflictingContentLength)),
            ("5\r\nContent-Length: 6", Err(ConflictingContentLength)),
            ("", Err(InvalidContentLength)),
            ("5,", Err(InvalidContentLength)),
            ("+5", Err(InvalidContentLength)),
            ("-5", Err(InvalidContentLength)),
            ("5 5", Err(InvalidContentLength)),
            ("5\r\n 5", Err(InvalidContentLength)),
            ("0x5", Err(InvalidContentLength)),
            ("5.0", Err(InvalidContentLength)),
        ] {
            assert_eq!(framing(&format!("Content-Length: {value}\r\n")), expected, "{value:?}");
        }
    }

    #[test]
    fn transfer_encoding_is_chunked_only_if_chunked_is_final() {
        use ProtocolError::{ChunkedTwice, InvalidTransferEncoding};
        for (value, expected) in [
            ("chunked", Ok(Framing::Chunked)),
            ("CHUNKED", Ok(Framing::Chunked)),
            ("gzip, chunked", Ok(Framing::Chunked)),
            ("gzip\r\nTransfer-Encoding: chunked", Ok(Framing::Chunked)),
            (", chunked ,", Ok(Framing::Chunked)),
            ("gzip;level=9 , chunked", Ok(Framing::Chunked)),
            ("gzip", Ok(Framing::UntilClose)),
            ("identity", Ok(Framing::UntilClose)),
            ("chunked, gzip", Ok(Framing::UntilClose)),
            ("chunkedd", Ok(Framing::UntilClose)),
            ("chunked, chunked", Err(ChunkedTwice)),
            ("chunked, gzip, chunked", Err(ChunkedTwice)),
            ("chunked\r\nTransfer-Encoding: chunked", Err(ChunkedTwice)),
            ("chunked;q=1", Err(InvalidTransferEncoding)),
            ("gzip;a=\", chunked\"", Err(InvalidTransferEncoding)),
            ("\"chunked\"", Err(InvalidTransferEncoding)),
            ("", Err(InvalidTransferEncoding)),
            (", ,", Err(InvalidTransferEncoding)),
        ] {
            assert_eq!(framing(&format!("Transfer-Encoding: {value}\r\n")), expected, "{value:?}");
        }
    }

    #[test]
    fn more_headers_than_fit_the_stack() {
        let text = format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(300));
        assert_eq!(Head::parse(text.as_bytes(), 299), Err(ProtocolError::TooManyHeaders));
        assert_eq!(Head::parse(text.as_bytes(), 128), Err(ProtocolError::TooManyHeaders));
        assert!(Head::parse(text.as_bytes(), 300).unwrap().is_some());
        assert!(Head::parse(text.as_bytes(), usize::MAX).unwrap().is_some());
    }
}
