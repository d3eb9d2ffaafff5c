//! What HTTP/1.1 says to people.

use super::Http1;
use crate::ProtocolError;
use crate::protocol::{Reply, Violation};
use crate::words::{Words, first_line};

impl Words for Http1 {
    const NAME: &'static str = "HTTP/1.1";

    const SCHEMES: [&'static str; 2] = ["http", "https"];

    fn explain(&self, violation: Violation) -> String {
        let known = self.parser.error().filter(|&error| Violation::from(error) == violation);
        let error = known.unwrap_or(match violation {
            Violation::ClosedEarly if self.parser.is_close_delimited_body() => ProtocolError::ClosedInBody,
            Violation::ClosedEarly => ProtocolError::ClosedBeforeAnswer,
            Violation::TooLarge => ProtocolError::BodyTooLarge,
            Violation::Malformed(number) => ProtocolError::ALL[usize::from(number)],
        });
        error.to_string()
    }

    fn quote(reply: &Reply, received: &[u8]) -> String {
        first_line(final_head(received)).unwrap_or_else(|| reply.code.to_string())
    }

    fn objection(reply: &Reply) -> Option<&'static str> {
        // Not modified: what a conditional request asks for.
        ((300..400).contains(&reply.code) && reply.code != 304)
            .then_some("redirects are not followed, so the page behind it would not be measured")
    }
}

/// What follows the 1xx heads.
fn final_head(mut bytes: &[u8]) -> &[u8] {
    while is_interim(bytes) {
        let lines = bytes.split_inclusive(|&byte| byte == b'\n');
        // Those before the empty line, and the empty line itself.
        let ends = lines.scan(0, |at, line| {
            *at += line.len();
            Some((*at, line.trim_ascii().is_empty()))
        });
        match ends.into_iter().find(|&(_, is_empty)| is_empty) {
            Some((end, _)) => bytes = &bytes[end..],
            None => return bytes,
        }
    }
    bytes
}

fn is_interim(bytes: &[u8]) -> bool {
    matches!(bytes, [b'H', b'T', b'T', b'P', b'/', _, b'.', _, b' ', b'1', ..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::blank::NothingToFill;
    use crate::http1::Request;
    use crate::protocol::{Protocol, Sink, Tag};
    use crate::{RequestBuilder, RequestKind};

    #[test]
    fn the_final_answer_is_quoted() {
        let reply = Reply { code: 404, body_bytes: 0, reusable: true };
        for (received, quoted) in [
            ("HTTP/1.1 404 Gone\r\nA: b\r\n\r\n", "HTTP/1.1 404 Gone"),
            (
                "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 P\r\nA: b\r\n\r\nHTTP/1.1 404 Gone\r\n",
                "HTTP/1.1 404 Gone",
            ),
            ("HTTP/1.1 100 Continue\r\n\r\n", "404"),
        ] {
            assert_eq!(Http1::quote(&reply, received.as_bytes()), quoted);
        }
    }

    struct Deaf;

    impl Sink for Deaf {
        fn ready(&mut self) {}
        fn room(&mut self, _: u32) {}
        fn retired(&mut self) {}
        fn first(&mut self, _: Tag) {}
        fn head(&mut self, _: Tag, _: &[u8]) {}
        fn body(&mut self, _: Tag, _: &[u8]) {}
        fn done(&mut self, _: Tag, _: Reply) {}
        fn lost(&mut self, _: Tag, _: Violation, _: bool) {}
    }

    #[test]
    fn a_connection_tells_what_is_wrong_with_it() {
        let head = RequestBuilder { method: "GET", target: "/", host: "a.test", headers: &[], body: b"" };
        let request = Request {
            head: head.render().expect("a request").into(),
            body: [].into(),
            kind: RequestKind::Normal,
            closes: false,
            blank: None,
        };
        let small = Limits { body_bytes_max: 3, ..Limits::default() };
        for (received, clean, error) in [
            ("", true, ProtocolError::ClosedBeforeAnswer),
            ("HTTP/1.1 200", true, ProtocolError::ClosedInHead),
            ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhe", true, ProtocolError::ClosedInBody),
            ("HTTP/1.1 200 OK\r\n\r\nhe", false, ProtocolError::ClosedInBody),
            ("HTTP/1.1 200 OK\r\n\r\nhello", true, ProtocolError::BodyTooLarge),
            ("220 smtp", true, ProtocolError::NotHttp),
        ] {
            let (mut http, mut shared) = (Http1::new(&small), Http1::shared(1));
            http.submit(&mut shared, Tag(0), 0, &request, &mut NothingToFill);
            let fed = http.feed(&mut shared, received.as_bytes(), &mut Deaf);
            let violation = fed.and_then(|()| http.eof(clean, &mut Deaf)).expect_err(received);
            assert_eq!(http.explain(violation), error.to_string(), "{received:?}");
        }
    }
}
