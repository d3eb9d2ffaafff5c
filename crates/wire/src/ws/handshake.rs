//! The upgrade from HTTP/1.1 (RFC 6455 §4).

use super::fault::Fault;
use crate::syntax::trim;
use crate::{Limits, RenderError, RequestBuilder};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha1::{Digest, Sha1};

/// What a server adds to the key before it hashes it.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// The headers that the handshake is made of.
const OWN: [&str; 8] = [
    "connection",
    "upgrade",
    "sec-websocket-key",
    "sec-websocket-version",
    "sec-websocket-extensions",
    "sec-websocket-accept",
    "content-length",
    "transfer-encoding",
];

/// How every connection asks to become a WebSocket, rendered ahead but for its key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handshake {
    /// All of it but the key and the end.
    head: Box<[u8]>,
    /// The subprotocols that it offers.
    subprotocols: Vec<String>,
}

/// Why there is no handshake.
#[derive(thiserror::Error, Clone, PartialEq, Eq, Debug)]
pub enum Unrenderable {
    /// For a reason that every request of HTTP/1.1 shares.
    #[error(transparent)]
    Shared(#[from] RenderError),
    /// A header of the handshake itself.
    #[error("header {name} belongs to the handshake of a WebSocket, which sets it: leave it out")]
    OwnHeader {
        /// The header's name.
        name: String,
    },
}

impl Handshake {
    /// The upgrade of a `GET` for `target` at `host`, with these headers more.
    ///
    /// # Errors
    /// [`Unrenderable`] if a part would break it.
    pub fn new(target: &str, host: &str, headers: &[(String, String)]) -> Result<Handshake, Unrenderable> {
        if let Some((name, _)) =
            headers.iter().find(|(name, _)| OWN.iter().any(|own| name.eq_ignore_ascii_case(own)))
        {
            return Err(Unrenderable::OwnHeader { name: name.clone() });
        }
        let mut all = headers.to_vec();
        for (name, value) in
            [("Connection", "Upgrade"), ("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13")]
        {
            all.push((name.to_string(), value.to_string()));
        }
        let builder = RequestBuilder { method: "GET", target, host, headers: &all, body: b"" };
        let mut head = builder.render()?;
        // The key comes last, and then the empty line.
        head.truncate(head.len() - 2);
        head.extend_from_slice(b"Sec-WebSocket-Key: ");
        let offered = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("sec-websocket-protocol"));
        let offered = offered.flat_map(|(_, value)| value.split(',')).map(|one| one.trim().to_string());
        Ok(Handshake { head: head.into(), subprotocols: offered.collect() })
    }

    /// Appends what is sent, with `nonce` as its key. Returns the `Sec-WebSocket-Accept` that belongs to it.
    pub(super) fn put(&self, nonce: [u8; 16], out: &mut Vec<u8>) -> String {
        out.extend_from_slice(&self.head);
        self.put_key(nonce, out)
    }

    /// All that is sent before the key.
    pub(super) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Appends the key alone, with the end.
    pub(super) fn put_key(&self, nonce: [u8; 16], out: &mut Vec<u8>) -> String {
        let key = STANDARD.encode(nonce);
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(b"\r\n\r\n");
        accept(&key)
    }

    /// How many of `bytes` the server's answer takes, if it is whole and switches to WebSocket as it must.
    pub(super) fn check(&self, bytes: &[u8], accept: &str, limits: &Limits) -> Result<Option<usize>, Fault> {
        let mut headers = vec![httparse::EMPTY_HEADER; limits.headers_max];
        let mut response = httparse::Response::new(&mut headers);
        let length = match response.parse(bytes) {
            Ok(httparse::Status::Complete(length)) => length,
            Ok(httparse::Status::Partial) if bytes.len() > limits.head_bytes_max => {
                return Err(Fault::HandshakeTooLarge);
            }
            Ok(httparse::Status::Partial) => return Ok(None),
            Err(httparse::Error::TooManyHeaders) => return Err(Fault::HandshakeTooLarge),
            Err(_) => return Err(Fault::NotHttp),
        };
        let status = response.code.unwrap_or_default();
        if status != super::CODE {
            return Err(Fault::of_status(status));
        }
        let headers = &*response.headers;
        let values = |name: &'static str| {
            headers.iter().filter(move |header| header.name.eq_ignore_ascii_case(name)).map(|h| trim(h.value))
        };
        let has = |name: &'static str, token: &[u8]| {
            let mut tokens = values(name).flat_map(|value| value.split(|byte| *byte == b','));
            tokens.any(|one| trim(one).eq_ignore_ascii_case(token))
        };
        if !has("upgrade", b"websocket") || !has("connection", b"upgrade") {
            return Err(Fault::WrongUpgrade);
        }
        let mut accepts = values("sec-websocket-accept");
        if accepts.next() != Some(accept.as_bytes()) || accepts.next().is_some() {
            return Err(Fault::WrongAccept);
        }
        if values("sec-websocket-extensions").any(|value| !value.is_empty()) {
            return Err(Fault::ExtensionUnasked);
        }
        let is_offered = |value: &[u8]| self.subprotocols.iter().any(|one| one.as_bytes() == value);
        let mut chosen = values("sec-websocket-protocol");
        if chosen.any(|value| !is_offered(value)) {
            return Err(Fault::SubprotocolUnasked);
        }
        Ok(Some(length))
    }
}

/// The `Sec-WebSocket-Accept` for a key (§4.2.2).
pub(super) fn accept(key: &str) -> String {
    STANDARD.encode(Sha1::digest(format!("{key}{GUID}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn handshake(headers: &[(&str, &str)]) -> Result<Handshake, Unrenderable> {
        let headers: Vec<_> = headers.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        Handshake::new("/chat?a=1", "a.test:9001", &headers)
    }

    #[test]
    fn the_key_of_the_rfc_is_accepted_as_there() {
        assert_eq!(accept("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn what_is_sent() {
        let mut out = Vec::new();
        let accept = handshake(&[("Origin", "http://a.test"), ("User-Agent", "u"), ("Accept", "x")])
            .unwrap()
            .put(*b"the sample nonce", &mut out);
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "GET /chat?a=1 HTTP/1.1\r\nHost: a.test:9001\r\nOrigin: http://a.test\r\nUser-Agent: u\r\nAccept: x\r\n\
             Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
             Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        );
        assert_eq!(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn its_own_headers_are_not_the_users() {
        for name in ["Upgrade", "sec-websocket-key", "Sec-WebSocket-Extensions", "Content-Length"] {
            assert_eq!(handshake(&[(name, "x")]), Err(Unrenderable::OwnHeader { name: name.into() }));
        }
    }

    #[test]
    fn an_answer_is_taken_only_if_all_of_it_is_right() {
        let handshake = handshake(&[("Sec-WebSocket-Protocol", "a, b")]).unwrap();
        let limits = Limits { head_bytes_max: 400, headers_max: 8, ..Limits::default() };
        let check = |text: &str| handshake.check(text.as_bytes(), "x=", &limits);
        let right = "HTTP/1.1 101 Switching\r\nUpgrade: WebSocket\r\nconnection: keep-alive, upgrade\r\n\
                     Sec-WebSocket-Accept: x=\r\n";
        let whole = format!("{right}Sec-WebSocket-Protocol: b\r\n\r\n");
        assert_eq!(check(&format!("{whole}\u{1}")), Ok(Some(whole.len())));
        for end in 0..whole.len() {
            assert_eq!(check(&whole[..end]), Ok(None), "{end}");
        }
        for (text, fault) in [
            ("220 smtp\r\n".to_string(), Fault::NotHttp),
            ("HTTP/1.1 200 OK\r\n\r\n".into(), Fault::NotSwitched),
            ("HTTP/1.1 302 Found\r\n\r\n".into(), Fault::RefusedRedirect),
            ("HTTP/1.1 403 Forbidden\r\n\r\nno".into(), Fault::RefusedClient),
            ("HTTP/1.1 503 Busy\r\n\r\n".into(), Fault::RefusedServer),
            (whole.replace("WebSocket\r", "h2c\r"), Fault::WrongUpgrade),
            (whole.replace(", upgrade", ""), Fault::WrongUpgrade),
            (whole.replace("x=", "X="), Fault::WrongAccept),
            (format!("{right}Sec-WebSocket-Accept: x=\r\n\r\n"), Fault::WrongAccept),
            (format!("{right}Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n"), Fault::ExtensionUnasked),
            (format!("{right}Sec-WebSocket-Protocol: c\r\n\r\n"), Fault::SubprotocolUnasked),
            (format!("{right}A: {}", "a".repeat(400)), Fault::HandshakeTooLarge),
            (format!("{right}{}\r\n", "A: b\r\n".repeat(8)), Fault::HandshakeTooLarge),
        ] {
            assert_eq!(check(&text), Err(fault), "{text}");
        }
    }
}
