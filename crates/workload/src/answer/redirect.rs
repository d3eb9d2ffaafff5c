//! Redirects (RFC 9110 §15.4): where an answer sends its request on, and which request asks there.

use super::capture::KEPT_BYTES_MAX;
use super::head;
use std::sync::Arc;
use unblink_core::failure::FailureKind;

/// Redirects that the requests of a step follow.
#[derive(Clone, Debug, PartialEq)]
pub struct Redirects {
    /// The number of the value that keeps where the journey's latest request went.
    pub kept: u32,
    /// Where this one goes; nothing where the value says it.
    pub target: Option<TargetText>,
    /// The place of its origin among these.
    pub origin: usize,
    /// Whoever is told to look elsewhere asks with the same method, or with GET.
    pub method: Method,
    /// The only origins that are asked.
    pub origins: Arc<[Elsewhere]>,
}

/// What of a method decides how a redirect is followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// GET and HEAD: always the same again.
    Safe,
    /// POST, which 301, 302 and 303 turn into GET.
    Post,
    /// Another one, which 303 turns into GET.
    Other,
}

/// An origin, and the operations that ask there for what a redirect says.
#[derive(Clone, Debug, PartialEq)]
pub struct Elsewhere {
    /// It is https, and not http.
    pub tls: bool,
    /// In lower case, and without brackets.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The operation with the same method and body.
    pub same: u32,
    /// The operation with GET; the same one where the method is safe.
    pub get: u32,
}

/// A path and query as text with places, without the slash that it begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct TargetText(Box<[Part]>);

#[derive(Clone, Debug, PartialEq)]
enum Part {
    Text(Box<str>),
    Place(u32),
}

impl Method {
    /// That of a request.
    pub fn of(method: &str) -> Method {
        match method {
            "GET" | "HEAD" => Method::Safe,
            "POST" => Method::Post,
            _ => Method::Other,
        }
    }
}

impl TargetText {
    /// `text` has its places by number, as it is rendered: `{{3}}`.
    pub fn new(text: &str) -> TargetText {
        let mut rest = text.strip_prefix('/').unwrap_or(text);
        let mut parts = Vec::new();
        while let Some((before, (number, behind))) =
            rest.split_once("{{").and_then(|(before, inside)| Some((before, inside.split_once("}}")?)))
        {
            parts.push(Part::Text(before.into()));
            parts.push(Part::Place(number.parse().unwrap_or_default()));
            rest = behind;
        }
        parts.push(Part::Text(rest.into()));
        TargetText(parts.into())
    }

    /// Appends it; `fill` writes what stands in a place.
    pub fn write(&self, mut fill: impl FnMut(u32, &mut Vec<u8>), out: &mut Vec<u8>) {
        for part in &self.0 {
            match part {
                Part::Text(text) => out.extend_from_slice(text.as_bytes()),
                Part::Place(number) => fill(*number, out),
            }
        }
    }
}

impl Redirects {
    /// An answer with this status sends its request on (RFC 9110 §15.4). 300 leaves the choice to the reader, and 304 is about
    /// a cache.
    #[inline]
    pub fn is_one(status: u16) -> bool {
        matches!(status, 301 | 302 | 303 | 307 | 308)
    }

    /// Where the answer with this status and head sends a request on that went to `base`: the operation that asks there. Its
    /// path and query take the place of `out`, both without the slash that they begin with.
    ///
    /// # Errors
    /// As what the request then counts as failed.
    pub fn follow(
        &self,
        status: u16,
        head: &[u8],
        base: &[u8],
        out: &mut Vec<u8>,
    ) -> Result<u32, FailureKind> {
        let location = head::values(head, "location").next().ok_or(FailureKind::BAD_REDIRECT)?;
        if location.len() > KEPT_BYTES_MAX {
            return Err(FailureKind::BAD_REDIRECT);
        }
        out.clear();
        let origin = self.resolve(location, base, out)?;
        // It would have to stand in a request line.
        encode(out);
        let is_get = match self.method {
            // Also a POST that an earlier redirect has turned into GET: 307 and 308 keep the method of the request that they
            // answer, and that was GET.
            Method::Safe => true,
            Method::Post => matches!(status, 301..=303),
            Method::Other => status == 303,
        };
        let Elsewhere { same, get, .. } = self.origins[origin];
        Ok(if is_get { get } else { same })
    }

    /// RFC 3986 §5.2: the place of the origin that `location` names, with path and query in `out`.
    fn resolve(&self, location: &[u8], base: &[u8], out: &mut Vec<u8>) -> Result<usize, FailureKind> {
        let location = location.split(|&byte| byte == b'#').next().unwrap_or_default();
        let (scheme, rest) = scheme_of(location);
        let is_tls = match scheme {
            None => self.origins[self.origin].tls,
            Some(scheme) if scheme.eq_ignore_ascii_case(b"http") => false,
            Some(scheme) if scheme.eq_ignore_ascii_case(b"https") => true,
            Some(_) => return Err(FailureKind::REDIRECTED_ELSEWHERE),
        };
        if let Some(rest) = rest.strip_prefix(b"//") {
            let end = rest.iter().position(|byte| b"/?".contains(byte)).unwrap_or(rest.len());
            let (authority, path) = rest.split_at(end);
            let origin = self.origins.iter().position(|origin| origin.is(is_tls, authority));
            write(path, out);
            return origin.ok_or(FailureKind::REDIRECTED_ELSEWHERE);
        }
        if scheme.is_some() {
            // A scheme and no host: nothing that can be asked for.
            return Err(FailureKind::BAD_REDIRECT);
        }
        let base_path = base.split(|&byte| byte == b'?').next().unwrap_or_default();
        match rest.first() {
            // The very same again, as far as a server can tell.
            None => out.extend_from_slice(base),
            Some(b'/') => write(rest, out),
            Some(b'?') => {
                out.extend_from_slice(base_path);
                out.extend_from_slice(rest);
            }
            Some(_) => {
                let folder = base_path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
                out.extend_from_slice(&base_path[..folder]);
                out.extend_from_slice(rest);
                remove_dots(out);
            }
        }
        Ok(self.origin)
    }
}

impl Elsewhere {
    /// `authority` with this scheme is this one. A user or a password in it is nobody's of the plan.
    fn is(&self, is_tls: bool, authority: &[u8]) -> bool {
        let behind_host = match authority.strip_prefix(b"[") {
            Some(inside) => {
                inside.iter().position(|&byte| byte == b']').map(|end| (&inside[..end], &inside[end + 1..]))
            }
            None => {
                let end = authority.iter().position(|&byte| byte == b':').unwrap_or(authority.len());
                Some(authority.split_at(end))
            }
        };
        let Some((host, port)) = behind_host else { return false };
        let usual = if is_tls { 443 } else { 80 };
        let port = match port.strip_prefix(b":") {
            Some(b"") => Some(usual),
            Some(digits) => std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()),
            None => port.is_empty().then_some(usual),
        };
        self.tls == is_tls && port == Some(self.port) && host.eq_ignore_ascii_case(self.host.as_bytes())
    }
}

/// The scheme that a reference begins with, and what is behind its colon.
fn scheme_of(reference: &[u8]) -> (Option<&[u8]>, &[u8]) {
    let end = reference.iter().position(|byte| b":/?".contains(byte));
    match end.filter(|&end| reference[end] == b':') {
        Some(end) => (Some(&reference[..end]), &reference[end + 1..]),
        None => (None, reference),
    }
}

/// Appends a path from the root without its slash, dot segments removed.
fn write(path: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(path.strip_prefix(b"/").unwrap_or(path));
    remove_dots(out);
}

/// Removes `.` and `..` from the path in `target`, which may have a query (RFC 3986 §5.2.4).
fn remove_dots(target: &mut Vec<u8>) {
    let mut end = target.iter().position(|&byte| byte == b'?').unwrap_or(target.len());
    let mut from = 0;
    while from <= end {
        let to = target[from..end].iter().position(|&byte| byte == b'/').map_or(end, |slash| from + slash);
        // With the slash behind it, if there is one.
        let behind = (to + 1).min(end);
        let drop_from = match &target[from..to] {
            b"." => from,
            b".." => target[..from.saturating_sub(1)]
                .iter()
                .rposition(|&byte| byte == b'/')
                .map_or(0, |slash| slash + 1),
            _ => {
                from = to + 1;
                continue;
            }
        };
        target.drain(drop_from..behind);
        end -= behind - drop_from;
        from = drop_from;
        if to + 1 > behind {
            break;
        }
    }
}

/// What must not stand in a request line is percent-encoded.
fn encode(target: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    let mut at = 0;
    while at < target.len() {
        let byte = target[at];
        if byte.is_ascii_graphic() {
            at += 1;
        } else {
            target.splice(at..=at, [b'%', HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            at += 3;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redirects(method: Method) -> Redirects {
        let origin =
            |tls, host: &str, port, same| Elsewhere { tls, host: host.into(), port, same, get: same + 1 };
        let origins = [
            origin(false, "a.test", 8080, 10),
            origin(true, "b.test", 443, 20),
            origin(false, "::1", 80, 30),
        ];
        Redirects { kept: 0, target: None, origin: 0, method, origins: origins.into() }
    }

    fn followed(location: &str, base: &str) -> Result<(u32, String), FailureKind> {
        let (head, mut out) = (format!("HTTP/1.1 307 x\r\nLocation: {location}\r\n\r\n"), b"old".to_vec());
        let operation = redirects(Method::Other).follow(307, head.as_bytes(), base.as_bytes(), &mut out)?;
        Ok((operation, format!("/{}", String::from_utf8(out).unwrap())))
    }

    /// The examples of RFC 3986 §5.4 that have a path, and more.
    #[test]
    fn references_are_resolved() {
        for (location, expected) in [
            ("g", "/b/c/g"),
            ("./g", "/b/c/g"),
            ("g/", "/b/c/g/"),
            ("/g", "/g"),
            ("?y", "/b/c/d;p?y"),
            ("g?y", "/b/c/g?y"),
            ("g?y#s", "/b/c/g?y"),
            (";x", "/b/c/;x"),
            ("g;x?y#s", "/b/c/g;x?y"),
            (".", "/b/c/"),
            ("./", "/b/c/"),
            ("..", "/b/"),
            ("../", "/b/"),
            ("../g", "/b/g"),
            ("../..", "/"),
            ("../../", "/"),
            ("../../g", "/g"),
            ("../../../g", "/g"),
            ("../../../../g", "/g"),
            ("/./g", "/g"),
            ("/../g", "/g"),
            ("g.", "/b/c/g."),
            (".g", "/b/c/.g"),
            ("..g", "/b/c/..g"),
            ("./../g", "/b/g"),
            ("./g/.", "/b/c/g/"),
            ("g/./h", "/b/c/g/h"),
            ("g/../h", "/b/c/h"),
            ("g?y/./x", "/b/c/g?y/./x"),
            ("g?y/../x", "/b/c/g?y/../x"),
            ("#s", "/b/c/d;p?q"),
            ("http://a.test:8080", "/"),
            ("http://a.test:8080?x", "/?x"),
            ("HTTP://A.Test:8080/x/../y", "/y"),
            ("//a.test:8080/x", "/x"),
            ("/caf\u{e9}/a b", "/caf%C3%A9/a%20b"),
        ] {
            assert_eq!(followed(location, "b/c/d;p?q"), Ok((10, expected.to_string())), "{location}");
        }
        assert_eq!(followed("g", ""), Ok((10, "/g".into())));
    }

    #[test]
    fn only_origins_of_the_plan_are_asked() {
        assert_eq!(followed("https://b.test/x", "y"), Ok((20, "/x".into())));
        assert_eq!(followed("https://b.test:443/x", "y"), Ok((20, "/x".into())));
        assert_eq!(followed("http://[::1]/x", "y"), Ok((30, "/x".into())));
        assert_eq!(followed("http://[::1]:/x", "y"), Ok((30, "/x".into())));
        for elsewhere in [
            "http://b.test/x",
            "https://b.test:444/x",
            "http://a.test/x",
            "http://user@a.test:8080/x",
            "http://a.test:8080.other/x",
            "http://a.test:8080x/",
            "http://[::1/x",
            "//c.test/",
            "ftp://a.test:8080/",
            "mailto:x@a.test",
        ] {
            assert_eq!(followed(elsewhere, "y"), Err(FailureKind::REDIRECTED_ELSEWHERE), "{elsewhere}");
        }
        assert_eq!(followed("http:x", "y"), Err(FailureKind::BAD_REDIRECT));
        let nowhere = redirects(Method::Safe).follow(302, b"A: b\r\n", b"", &mut Vec::new());
        assert_eq!(nowhere, Err(FailureKind::BAD_REDIRECT));
    }

    /// RFC 9110 §15.4: 303 always means GET, 301 and 302 do so for POST as clients have always read them, 307 and 308 never.
    #[test]
    fn the_status_says_whether_the_method_stays() {
        let is_get = |method, status| {
            let followed = redirects(method).follow(status, b"Location: /x\r\n", b"", &mut Vec::new());
            followed.map(|operation| operation == 11)
        };
        let all = |method| [301, 302, 303, 307, 308].map(|status| is_get(method, status).unwrap());
        // The operation "with GET" is the same one for a step with a safe method, and not for what was a POST before.
        assert_eq!(all(Method::of("GET")), [true; 5]);
        assert_eq!(all(Method::of("HEAD")), [true; 5]);
        assert_eq!(all(Method::of("POST")), [true, true, true, false, false]);
        assert_eq!(all(Method::of("PUT")), [false, false, true, false, false]);
        let ones = (100..600).filter(|&status| Redirects::is_one(status)).collect::<Vec<u16>>();
        assert_eq!(ones, [301, 302, 303, 307, 308]);
    }

    #[test]
    fn a_target_is_written_with_its_places() {
        let mut out = Vec::new();
        let text = TargetText::new("/a/{{0}}/b?q={{12}}");
        text.write(|place, out| out.extend(format!("<{place}>").bytes()), &mut out);
        assert_eq!(out, b"a/<0>/b?q=<12>");
    }
}
