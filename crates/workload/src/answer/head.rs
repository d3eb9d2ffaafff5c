//! The head of an answer: lines of `Name: value`, behind a first line that is the protocol's own or behind none.

/// The values of every line named `name`, in any case, in their order. Folded lines (RFC 9112 §5.2) are not joined: a check
/// sees the first.
pub fn values<'h>(head: &'h [u8], name: &str) -> impl Iterator<Item = &'h [u8]> {
    lines(head).filter(move |(known, _)| known.eq_ignore_ascii_case(name.as_bytes())).map(|(_, value)| value)
}

/// Names and values, in their order.
pub fn lines(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let lines = head.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii_end);
    lines.filter_map(|line| {
        let colon = line.iter().position(|&byte| byte == b':')?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        // No name has a space in it: this is a first line, or the rest of a folded one.
        let is_name = !name.is_empty() && name.iter().all(|byte| byte.is_ascii_graphic());
        is_name.then(|| (name, value.trim_ascii()))
    })
}

/// The value of a cookie that the answer sets (RFC 6265 §5.2). The last of several wins, as in a browser.
pub fn cookie<'h>(head: &'h [u8], name: &str) -> Option<&'h [u8]> {
    cookies(head).filter(|(known, _)| *known == name.as_bytes()).map(|(_, value)| value).last()
}

/// Names and values of all cookies that the answer sets, without what else it says of them.
pub fn cookies(head: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    values(head, "set-cookie").filter_map(|line| {
        let pair = line.split(|&byte| byte == b';').next()?;
        let equals = pair.iter().position(|&byte| byte == b'=')?;
        let name = pair[..equals].trim_ascii();
        (!name.is_empty()).then(|| (name, pair[equals + 1..].trim_ascii()))
    })
}

/// The text may name a header (RFC 9110 §5.6.2).
pub(super) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"\r\nHTTP/1.1 200 see: this\r\nX-Id:  7 \r\nx-id: 8\nEmpty:\r\n folded: no\r\n\
        Set-Cookie: sid=a b; Path=/; HttpOnly\r\nSet-Cookie: other=1\r\nset-cookie: sid = c=d\r\n\r\n";

    #[test]
    fn values_of_a_name() {
        let all =
            |name| values(HEAD, name).map(|v| String::from_utf8_lossy(v).into_owned()).collect::<Vec<_>>();
        assert_eq!(all("X-ID"), ["7", "8"]);
        assert_eq!(all("empty"), [""]);
        assert!(all("HTTP/1.1 200 see").is_empty() && all("folded").is_empty() && all("missing").is_empty());
        assert!(values(b"", "a").next().is_none());
    }

    #[test]
    fn cookies() {
        assert_eq!(cookie(HEAD, "sid"), Some(&b"c=d"[..]));
        assert_eq!(cookie(HEAD, "other"), Some(&b"1"[..]));
        assert_eq!(cookie(HEAD, "SID"), None);
    }
}
