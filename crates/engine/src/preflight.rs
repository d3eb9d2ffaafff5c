//! One request before the run, so that a wrong address or a login page is found out at once.

use crate::clock::Clock;
use crate::job::Job;
use crate::target::{Address, Target};
use crate::tls::TlsTarget;
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use unblink_core::failure::FailureKind;
use unblink_core::time::{Instant, Nanos};
use unblink_wire::http1::Http1;
use unblink_wire::{Parser, Progress, ProtocolError, Response, status_line};

/// Bytes of an answer kept to quote its first line.
const QUOTED_MAX: usize = 512;
/// Bytes of an answer kept to find a header in them.
const HEAD_MAX: usize = 16 * 1024;

/// Why the run should not start.
#[derive(Debug, thiserror::Error)]
pub enum PreflightError {
    /// No connection.
    #[error("can't connect to {address}: {source}")]
    Connect {
        /// The address tried.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// TLS failed, or the connection broke.
    #[error("{address} gave no answer: {source}{}", tls_hint(source))]
    Exchange {
        /// The address tried.
        address: String,
        /// What went wrong.
        source: io::Error,
    },
    /// Not HTTP/1.1, or not well-formed.
    #[error("{address} {}: {violation}{}{}", plaint(*violation), quoted(first_line), hint(*violation, first_line, *is_tls))]
    Protocol {
        /// The address tried.
        address: String,
        /// What is wrong.
        violation: ProtocolError,
        /// The answer's first line.
        first_line: Option<String>,
        /// It was asked over TLS.
        is_tls: bool,
    },
    /// An answer that would count as failed, or a redirect.
    #[error("the target answers \"{first_line}\": {reason}")]
    Answer {
        /// The answer's first line.
        first_line: String,
        /// What it means for the run.
        reason: &'static str,
    },
}

impl PreflightError {
    /// There is nothing at the address to ask: a Unix socket that does not exist.
    pub fn is_usage(&self) -> bool {
        matches!(self, PreflightError::Connect { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

fn plaint(violation: ProtocolError) -> &'static str {
    match violation {
        ProtocolError::BodyTooLarge => "answers with too much",
        e if e.is_closed_early() => "gave no whole answer",
        _ => "does not answer in well-formed HTTP/1.1",
    }
}

fn hint(violation: ProtocolError, first_line: &Option<String>, is_asked_by_tls: bool) -> &'static str {
    // The first byte of a TLS record that holds an alert or a handshake (RFC 8446 §5.1), escaped.
    let is_tls = first_line.as_ref().is_some_and(|l| l.starts_with("\\u{15}") || l.starts_with("\\u{16}"));
    match violation {
        ProtocolError::BodyTooLarge => " (--max-body-size allows more)",
        _ if is_tls => "; it seems to speak TLS: write https",
        e if e.is_closed_early() && first_line.is_none() && !is_asked_by_tls => {
            "; a server that speaks TLS may do so: if it is one, write https"
        }
        _ => "",
    }
}

fn tls_hint(source: &io::Error) -> &'static str {
    match source.to_string() {
        s if s.contains("CaUsedAsEndEntity") => {
            ": the target presents a certificate that is marked as an authority's own; trust that very \
             certificate with --cacert FILE, make it with basicConstraints=CA:FALSE (openssl req -x509 -addext), or \
             accept any with -k"
        }
        s if s.contains("NotValidForName") || s.contains("not valid for name") => {
            ": the certificate is for another name than the URL's (-k accepts any)"
        }
        s if s.contains("certificate") => " (--cacert FILE trusts its issuer, -k accepts any)",
        s if s.contains("InvalidContentType") || s.contains("corrupt message") => {
            "; it does not seem to speak TLS: write http"
        }
        _ => "",
    }
}

fn quoted(first_line: &Option<String>) -> String {
    first_line.as_ref().map(|line| format!(" (\"{line}\")")).unwrap_or_default()
}

trait Stream: Read + Write {}
impl<T: Read + Write> Stream for T {}

/// Sends operation `number` once, on a connection of its own, and judges the answer as the run would.
/// Each wait of it lasts no longer than `timeout`, and reading the answer no longer in all.
pub fn preflight(job: &Job<Http1>, number: usize, timeout: Duration) -> Result<(), PreflightError> {
    let Target { addresses, tls, .. } = &job.target;
    let mut refused = None;
    for address in addresses {
        match connect(address, tls.as_ref(), timeout) {
            Ok(mut stream) => return exchange(job, number, address, &mut *stream, timeout),
            Err(source) => {
                refused.get_or_insert(PreflightError::Connect { address: address.to_string(), source });
            }
        }
    }
    Err(refused.expect("a target has at least one address"))
}

fn connect(address: &Address, tls: Option<&TlsTarget>, timeout: Duration) -> io::Result<Box<dyn Stream>> {
    match address {
        Address::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, timeout)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            secure(stream, tls)
        }
        Address::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(timeout))?;
            stream.set_write_timeout(Some(timeout))?;
            secure(stream, tls)
        }
    }
}

fn secure<S: Read + Write + 'static>(stream: S, tls: Option<&TlsTarget>) -> io::Result<Box<dyn Stream>> {
    let Some(tls) = tls else { return Ok(Box::new(stream)) };
    let session = ClientConnection::new(tls.config.clone(), tls.name.clone()).map_err(io::Error::other)?;
    Ok(Box::new(StreamOwned::new(session, stream)))
}

fn exchange(
    job: &Job<Http1>,
    number: usize,
    address: &Address,
    stream: &mut dyn Stream,
    timeout: Duration,
) -> Result<(), PreflightError> {
    let operation = &job.operations[number];
    let is_patience =
        |source: &io::Error| matches!(source.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
    let broken = |source: io::Error| {
        let source = if !is_patience(&source) {
            source
        } else if job.target.tls.is_some() {
            io::Error::new(
                io::ErrorKind::TimedOut,
                "the timeout passed; a server that does not speak TLS waits like this: if it is one, write http",
            )
        } else {
            io::Error::new(io::ErrorKind::TimedOut, "the timeout passed")
        };
        PreflightError::Exchange { address: address.to_string(), source }
    };
    // A server may answer and close before it has read all: then reading tells more than writing. But a handshake that
    // has waited once does not wait again.
    // In one piece, as far as the system takes it.
    let request = [&operation.head[..], &operation.body[..]].concat();
    let written = stream.write_all(&request).and_then(|()| stream.flush());
    if let Err(error) = &written
        && is_patience(error)
    {
        return Err(broken(io::ErrorKind::TimedOut.into()));
    }
    let mut parser = Parser::new(job.settings);
    parser.begin(operation.kind);
    let (mut matched, mut first_bytes) = (0, Vec::new());
    let mut buffer = vec![0; 16 * 1024];
    // A server that drips bytes never lets one read time out.
    let (clock, deadline) = (Clock::start(), Instant(0) + Nanos(timeout.as_nanos() as u64));
    let ended = loop {
        if clock.now() > deadline {
            return Err(broken(io::ErrorKind::TimedOut.into()));
        }
        let n = match stream.read(&mut buffer) {
            Ok(n) => n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
            Err(e) => return Err(broken(written.err().unwrap_or(e))),
        };
        first_bytes.extend(buffer[..n].iter().take(HEAD_MAX.saturating_sub(first_bytes.len())));
        let mut body = |piece: &[u8]| {
            if let Some(needle) = &job.expect.contains {
                matched = needle.advance(matched, piece);
            }
        };
        match if n == 0 { parser.eof().map(Some) } else { fed(&mut parser, &buffer[..n], &mut body) } {
            Ok(Some(response)) => break Ok(response),
            Ok(None) => {}
            Err(violation) => break Err(violation),
        }
    };
    let first_line = status_line(&first_bytes[..first_bytes.len().min(QUOTED_MAX)]);
    match ended {
        Err(violation) => {
            let is_tls = job.target.tls.is_some();
            Err(PreflightError::Protocol { address: address.to_string(), violation, first_line, is_tls })
        }
        Ok(response) => {
            let found = job.expect.contains.as_ref().is_none_or(|needle| matched == needle.len());
            judge(job, &response, found).map_or(Ok(()), |reason| {
                let first_line = first_line.unwrap_or_else(|| response.status.to_string());
                let reason = match reason {
                    NOT_CONTAINED if is_encoded(&first_bytes) => NOT_CONTAINED_ENCODED,
                    reason => reason,
                };
                Err(PreflightError::Answer { first_line, reason })
            })
        }
    }
}

fn fed(
    parser: &mut Parser,
    bytes: &[u8],
    body: &mut impl FnMut(&[u8]),
) -> Result<Option<Response>, ProtocolError> {
    Ok(match parser.feed(bytes, body)? {
        Progress::NeedMore => None,
        Progress::Done { response, .. } => Some(response),
    })
}

fn judge(job: &Job<Http1>, response: &Response, found: bool) -> Option<&'static str> {
    match job.expect.allows_status(response.status) {
        Some(true) => {}
        Some(false) => return Some("its status is not what --expect asks for"),
        None if FailureKind::of_status(response.status).is_some() => {
            return Some("every such answer would count as failed");
        }
        None if (300..400).contains(&response.status) && response.status != 304 => {
            return Some("redirects are not followed, so the page behind it would not be measured");
        }
        None => {}
    }
    if !job.expect.allows_size(response.body_bytes) {
        return Some("the size of its body is not what --expect asks for");
    }
    (!found).then_some(NOT_CONTAINED)
}

const NOT_CONTAINED: &str = "its body does not contain what --expect asks for";
const NOT_CONTAINED_ENCODED: &str = "its body does not contain what --expect asks for; it is encoded (Content-Encoding), \
     and is searched as it is sent: ask for a plain one with -H 'Accept-Encoding: identity'";

/// The head says that the body is compressed, or encoded otherwise.
fn is_encoded(bytes: &[u8]) -> bool {
    let lines = bytes.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let mut headers = lines.skip(1).take_while(|line| !line.is_empty());
    headers.any(|line| {
        let (name, value) = line.split_at(line.iter().position(|&byte| byte == b':').unwrap_or(line.len()));
        let value = value.get(1..).unwrap_or_default().trim_ascii();
        name.eq_ignore_ascii_case(b"content-encoding") && !value.eq_ignore_ascii_case(b"identity")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_encoded_body_is_known_by_its_head() {
        for (head, encoded) in [
            ("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\nA: b\r\ncontent-encoding:br\r\n\r\n", true),
            ("HTTP/1.1 200 OK\r\nContent-Encoding: identity\r\n\r\n", false),
            ("HTTP/1.1 200 OK\r\nA: b\r\n\r\nContent-Encoding: gzip\r\n", false),
        ] {
            assert_eq!(is_encoded(head.as_bytes()), encoded, "{head:?}");
        }
    }
}
