//! Requests that somebody else has rendered, such as a script: is it one, and how does its answer end?

use crate::RequestKind;
use crate::syntax::trim;

/// Header lines of a request at the most.
const HEADERS_MAX: usize = 128;

/// What must be known of a request to read its answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Whole {
    /// How its answer is framed.
    pub kind: RequestKind,
    /// It asks for the connection to be closed after the answer.
    pub closes: bool,
}

/// Why bytes are not one request.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotWhole {
    /// There is nothing.
    #[error("it is empty")]
    Empty,
    /// The head does not follow the grammar.
    #[error("its head is not one of HTTP/1.1: {0}")]
    Malformed(httparse::Error),
    /// There is no empty line.
    #[error("its head has no end: an empty line is missing")]
    NoEnd,
    /// The body is shorter than the head says.
    #[error("its Content-Length is {said}, and its body has {found} bytes")]
    Short {
        /// In the head.
        said: u64,
        /// Behind the head.
        found: u64,
    },
    /// Something follows the request.
    #[error("{beyond} bytes follow the request: a body needs its Content-Length")]
    Beyond {
        /// Bytes behind its end.
        beyond: u64,
    },
    /// A length that is none, or two.
    #[error("its Content-Length is not one number")]
    Length,
    /// A framing that is not read.
    #[error("it has Transfer-Encoding: send the body with its Content-Length")]
    Coding,
    /// A method that turns the connection into something else.
    #[error("CONNECT opens a tunnel, which can't be measured as a request")]
    Connect,
}

impl Whole {
    /// Reads a request, from its first byte to its last.
    ///
    /// # Errors
    /// [`NotWhole`] if the bytes are not exactly one.
    pub fn read(bytes: &[u8]) -> Result<Whole, NotWhole> {
        match Whole::first(bytes)? {
            (whole, length) if length == bytes.len() => Ok(whole),
            (_, length) => Err(NotWhole::Beyond { beyond: (bytes.len() - length) as u64 }),
        }
    }

    /// Requests that follow each other: what is known of each, and its length. What follows the first one and is no request counts as
    /// a body that was not announced.
    ///
    /// # Errors
    /// [`NotWhole`] if the bytes are not requests throughout.
    pub fn all(bytes: &[u8]) -> Result<Vec<(Whole, usize)>, NotWhole> {
        let mut all = vec![Whole::first(bytes)?];
        let mut at = all[0].1;
        while at < bytes.len() {
            let beyond = NotWhole::Beyond { beyond: (bytes.len() - at) as u64 };
            let next = Whole::first(&bytes[at..]).map_err(|_| beyond)?;
            at += next.1;
            all.push(next);
        }
        Ok(all)
    }

    /// The same of the first request, which others may follow. Gives its length, too.
    ///
    /// # Errors
    /// [`NotWhole`] if the bytes do not begin with one.
    pub fn first(bytes: &[u8]) -> Result<(Whole, usize), NotWhole> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut request = httparse::Request::new(&mut headers);
        let head = match request.parse(bytes).map_err(NotWhole::Malformed)? {
            httparse::Status::Complete(length) => length,
            httparse::Status::Partial if bytes.is_empty() => return Err(NotWhole::Empty),
            httparse::Status::Partial => return Err(NotWhole::NoEnd),
        };
        let kind = RequestKind::of_method(request.method.unwrap_or_default());
        if kind == RequestKind::Connect {
            return Err(NotWhole::Connect);
        }
        let (mut length, mut closes) = (None, request.version == Some(0));
        for header in request.headers.iter() {
            if header.name.eq_ignore_ascii_case("content-length") {
                let value = std::str::from_utf8(trim(header.value)).ok();
                let digits = value.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
                let number: u64 = digits.and_then(|text| text.parse().ok()).ok_or(NotWhole::Length)?;
                if length.replace(number).is_some() {
                    return Err(NotWhole::Length);
                }
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                return Err(NotWhole::Coding);
            } else if header.name.eq_ignore_ascii_case("connection") {
                let mut options = header.value.split(|&byte| byte == b',');
                closes |= options.any(|option| trim(option).eq_ignore_ascii_case(b"close"));
            }
        }
        let (said, found) = (length.unwrap_or(0), (bytes.len() - head) as u64);
        if found < said {
            return Err(NotWhole::Short { said, found });
        }
        Ok((Whole { kind, closes }, head + said as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_request_is_whole() {
        let read = |text: &str| Whole::read(text.as_bytes()).unwrap();
        let plain = Whole { kind: RequestKind::Normal, closes: false };
        assert_eq!(read("GET / HTTP/1.1\r\nHost: a\r\n\r\n"), plain);
        assert_eq!(read("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n"), Whole { kind: RequestKind::Head, ..plain });
        let post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\na=1";
        assert_eq!(read(post), plain);
        let closes = "GET / HTTP/1.1\r\nHost: a\r\nConnection: x, Close\r\n\r\n";
        assert!(read(closes).closes && read("GET / HTTP/1.0\r\n\r\n").closes);
        let several = format!("{post}{closes}");
        let each = [(plain, post.len()), (Whole { closes: true, ..plain }, closes.len())];
        assert_eq!(Whole::all(several.as_bytes()), Ok(each.to_vec()));
        let body = Whole::all(format!("{post}b=2").as_bytes());
        assert_eq!(body, Err(NotWhole::Beyond { beyond: 3 }));
    }

    #[test]
    fn whatever_else_is_refused() {
        let get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
        let post =
            |length: &str, body: &str| format!("POST / HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}");
        for (text, expected) in [
            (String::new(), NotWhole::Empty),
            ("GET /".to_string(), NotWhole::NoEnd),
            ("GET / HTTP/1.1\r\nHost: a\r\n".to_string(), NotWhole::NoEnd),
            (
                "GET / HTTP/1.1\r\nA b: c\r\n\r\n".to_string(),
                NotWhole::Malformed(httparse::Error::HeaderName),
            ),
            (get.repeat(3), NotWhole::Beyond { beyond: 2 * get.len() as u64 }),
            ("POST / HTTP/1.1\r\n\r\nbody".to_string(), NotWhole::Beyond { beyond: 4 }),
            (post("5", "1234"), NotWhole::Short { said: 5, found: 4 }),
            (post("3", "1234"), NotWhole::Beyond { beyond: 1 }),
            (post("x", "1234"), NotWhole::Length),
            (post("4\r\nContent-Length: 4", "1234"), NotWhole::Length),
            ("POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_string(), NotWhole::Coding),
            ("CONNECT a:1 HTTP/1.1\r\n\r\n".to_string(), NotWhole::Connect),
        ] {
            assert_eq!(Whole::read(text.as_bytes()), Err(expected), "{text:?}");
        }
    }
}
