//! URLs without what may be secret in them. What may be seen is listed; everything else is masked.

use super::{MASK, is_one_variable};

/// Query parameters that say how an answer is to look, and nothing of who asks.
const HARMLESS_PARAMETERS: [&str; 10] =
    ["count", "format", "lang", "limit", "locale", "offset", "order", "per_page", "size", "sort"];
/// A longer value of such a parameter is masked as well.
const HARMLESS_VALUE_MAX: usize = 24;

/// A URL as whoever typed it meant it.
struct Parts<'a> {
    /// With `://`, and with slashes that are too many.
    scheme: &'a str,
    /// Before the `@`.
    userinfo: Option<&'a str>,
    /// Host and port.
    authority: &'a str,
    path: &'a str,
    query: Option<&'a str>,
}

impl<'a> Parts<'a> {
    fn of(url: &'a str) -> Parts<'a> {
        let start = address_start(url);
        let (scheme, rest) = url.split_at(start.unwrap_or(0));
        // What has no address is a path.
        let host_end = |rest: &str| start.map_or(0, |_| rest.find(HOST_ENDS).unwrap_or(rest.len()));
        let end = host_end(rest);
        let userinfo_end = match start {
            Some(_) if has_cut_password(rest, end) => rest.rfind('@'),
            _ => rest[..end].rfind('@'),
        };
        let (userinfo, rest) = match userinfo_end {
            Some(end) => (Some(&rest[..end]), &rest[end + 1..]),
            None => (None, rest),
        };
        let (authority, rest) = rest.split_at(host_end(rest));
        // A fragment is never sent, and tokens stand in it.
        let rest = rest.split('#').next().unwrap_or(rest);
        let (path, query) = match rest.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (rest, None),
        };
        Parts { scheme, userinfo, authority, path, query }
    }

    /// `mask` says what stands in a secret's place; it is told what the secret is called.
    fn masked(&self, mask: &mut dyn FnMut(&str, &str) -> String) -> String {
        let mut out = self.scheme.to_string();
        if let Some(userinfo) = self.userinfo {
            let (user, password) = userinfo.split_once(':').map_or((userinfo, None), |(u, p)| (u, Some(p)));
            out += &match password {
                Some(password) if is_one_variable(user) && is_one_variable(password) => userinfo.to_string(),
                None if is_one_variable(user) => userinfo.to_string(),
                _ => mask("userinfo", userinfo),
            };
            out.push('@');
        }
        out += &match self.authority.rsplit_once(':') {
            // What is no port may be a password whose @ is missing.
            Some((host, port))
                if !host.is_empty() && !is_port(port) && !port.ends_with(']') && !is_one_variable(port) =>
            {
                format!("{host}:{}", mask("port", port))
            }
            // And what is no host may be a parameter.
            _ if self.authority.contains(['=', ';', '&']) => mask("host", self.authority),
            _ => self.authority.to_string(),
        };
        // Parameters may stand in the segments of a path, too (RFC 3986 §3.3): `;jsessionid=…`.
        let mut segments = Vec::new();
        for segment in self.path.split('/') {
            let (name, parameters) = segment
                .split_once(';')
                .map_or((segment, None), |(name, parameters)| (name, Some(parameters)));
            let mut segment = match name.contains('=') {
                true => parameter(name, mask),
                false => name.to_string(),
            };
            for one in parameters.into_iter().flat_map(|parameters| parameters.split(';')) {
                segment = format!("{segment};{}", parameter(one, mask));
            }
            segments.push(segment);
        }
        out += &segments.join("/");
        if let Some(query) = self.query {
            let parameters: Vec<String> = query.split('&').map(|one| parameter(one, mask)).collect();
            out += &format!("?{}", parameters.join("&"));
        }
        out
    }
}

/// What ends the part of a URL that holds user and host.
const HOST_ENDS: [char; 3] = ['/', '?', '#'];

/// Behind the `://` of a scheme. Further on, it belongs to an address that stands in a parameter.
pub(super) fn scheme_end(url: &str) -> Option<usize> {
    let at = url.find("://")?;
    let is_scheme = |c: char| c.is_ascii_alphanumeric() || "+-._${}".contains(c);
    url[..at].chars().all(is_scheme).then_some(at + 3)
}

/// Where user and host begin, if the text has them: behind a scheme or two slashes, and wherever a password seems to
/// stand though both are missing.
fn address_start(url: &str) -> Option<usize> {
    let scheme = scheme_end(url);
    let behind = &url[scheme.unwrap_or(0)..];
    let rest = behind.trim_start_matches('/');
    let slashes = behind.len() - rest.len();
    let seems_one = || {
        let first = &rest[..rest.find(HOST_ENDS).unwrap_or(rest.len())];
        rest.contains('@') && first.contains(':')
    };
    (scheme.is_some() || slashes > 1 || seems_one()).then_some(url.len() - rest.len())
}

/// Does the `@` that ends a user's password stand behind a `/`, `?` or `#` of that password? `rest` is what follows the
/// scheme, `host_end` where its host would end.
fn has_cut_password(rest: &str, host_end: usize) -> bool {
    let (authority, tail) = rest.split_at(host_end);
    // Behind a userinfo, and behind what may be a port, an @ at the beginning of a segment (`/@scope/`) may be meant.
    let goes_on = tail.match_indices('@').any(|(at, _)| !tail[..at].ends_with('/'));
    match authority.rsplit_once('@') {
        Some(_) => goes_on,
        None => match authority.rsplit_once(':').filter(|_| !authority.ends_with(']')) {
            None => false,
            Some((_, port)) if !is_port(port) => tail.contains('@'),
            Some((host, _)) => goes_on && !looks_like_host(host),
        },
    }
}

/// With a port behind it, it could be a user as well, whose password begins with digits.
fn looks_like_host(text: &str) -> bool {
    text.contains(['.', ':']) || text.eq_ignore_ascii_case("localhost") || is_one_variable(text)
}

/// The same of a whole URL.
pub(crate) fn has_unencoded_password(url: &str) -> bool {
    address_start(url).is_some_and(|at| {
        let rest = &url[at..];
        has_cut_password(rest, rest.find(HOST_ENDS).unwrap_or(rest.len()))
    })
}

fn is_port(text: &str) -> bool {
    !text.is_empty() && text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// `name=value` as it may be seen. A word alone may be a value as well as a name.
fn parameter(text: &str, mask: &mut dyn FnMut(&str, &str) -> String) -> String {
    let (name, value) = match text.split_once('=') {
        Some((_, "")) => return text.to_string(),
        Some((_, value)) if is_one_variable(value) => return text.to_string(),
        Some(both) => both,
        None if text.is_empty() || is_one_variable(text) => return text.to_string(),
        None => return mask("query", text),
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-,".contains(c);
    let is_short = value.len() <= HARMLESS_VALUE_MAX && value.chars().all(is_plain);
    // What is not UTF-8 is on no list.
    let plain_name = percent_decoded(name).unwrap_or_default().to_ascii_lowercase();
    match is_short && HARMLESS_PARAMETERS.contains(&plain_name.as_str()) {
        true => text.to_string(),
        false => format!("{name}={}", mask(name, value)),
    }
}

/// Percent-decoded, if that is UTF-8.
pub(crate) fn percent_decoded(name: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = (*first == b'%').then(|| tail.get(..2)).flatten();
        let code = code.and_then(|code| u8::from_str_radix(std::str::from_utf8(code).ok()?, 16).ok());
        bytes.push(code.unwrap_or(*first));
        rest = &tail[if code.is_some() { 2 } else { 0 }..];
    }
    String::from_utf8(bytes).ok()
}

/// A URL, or its path and query, as it may be seen.
pub(crate) fn mask_url(url: &str) -> String {
    mask_url_by(url, &mut |_, _| MASK.to_string())
}

/// The same with `mask` saying what stands in a secret's place; it is told what the secret is called.
pub(crate) fn mask_url_by(url: &str, mask: &mut dyn FnMut(&str, &str) -> String) -> String {
    Parts::of(url).masked(mask)
}

/// Path and query of a URL, as they may be seen; never empty.
pub(crate) fn mask_path_of(url: &str) -> String {
    let masked = Parts { scheme: "", userinfo: None, authority: "", ..Parts::of(url) }
        .masked(&mut |_, _| MASK.to_string());
    if masked.starts_with('/') { masked } else { format!("/{masked}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::mask_wrong_url;

    #[test]
    fn what_may_be_seen_is_listed() {
        for (url, seen) in [
            ("http://h/a?page=2&limit=10#f", "http://h/a?page=***&limit=10"),
            ("http://h/?li%6Dit=5&to%6Ben=s3cret", "http://h/?li%6Dit=5&to%6Ben=***"),
            (
                "http://h/?pw=s3cret&otp=123456&SAMLResponse=s3cret",
                "http://h/?pw=***&otp=***&SAMLResponse=***",
            ),
            ("http://h/?limit=s3cret-and-longer-than-any-limit", "http://h/?limit=***"),
            ("http://h/?sort=a;token=s3cret", "http://h/?sort=***"),
            ("http://h/?s3cret", "http://h/?***"),
            ("http://h/?a=&b", "http://h/?a=&***"),
            ("http://h/?id=${ID}&x=a${B}", "http://h/?id=${ID}&x=***"),
            ("http://u:s3cret@h:8080/p", "http://***@h:8080/p"),
            ("http://${USER}:${PASSWORD}@h/", "http://${USER}:${PASSWORD}@h/"),
            (
                "http://h/a;jsessionid=s3cret/b;v=1/token=s3cret",
                "http://h/a;jsessionid=***/b;v=***/token=***",
            ),
            ("http://[::1]:80/a", "http://[::1]:80/a"),
            ("http://h/@scope/p@1", "http://h/@scope/p@1"),
            ("http://u:p@h/@scope/p", "http://***@h/@scope/p"),
            ("/cart?x=s3cret#s3cret", "/cart?x=***"),
            ("/cart?x=s3cret&next=http://u:s3cret@h/", "/cart?x=***&next=***"),
            ("/@scope/p@1", "/@scope/p@1"),
            ("//u:s3cret@h:80/p?a=s3cret", "//***@h:80/p?a=***"),
            ("/u:s3cret@h/p", "/***@h/p"),
            ("u:s3/cret@h/p", "***@h/p"),
            ("http:///u:s3cret@h/", "http:///***@h/"),
            ("http://h:${PORT}/p", "http://h:${PORT}/p"),
        ] {
            assert_eq!(mask_url(url), seen, "{url}");
        }
    }

    #[test]
    fn an_unencoded_password_is_one() {
        for url in [
            "http://user:s3/cret@h/p",
            "http://user:s3?cret@h/p",
            "http://user:s3#cret@h/p",
            "http://user:s3/cr/et@h",
            "http://user:p@s3/cret@h/",
            "http://user:s3/cr?et#x@h/",
            "http://user:12/s3cret@h/",
            "http://user:12?s3cret@h/",
            "http://user:12#s3cret@h/",
        ] {
            assert!(has_unencoded_password(url), "{url}");
            for seen in [mask_url(url), mask_wrong_url(url), mask_path_of(url)] {
                assert!(
                    !seen.contains("s3") && !seen.contains("cr") && !seen.contains("et"),
                    "{url}: {seen}"
                );
            }
            assert!(mask_url(url).starts_with("http://***@h"), "{url}");
        }
        for url in [
            "http://h/@a/b",
            "http://h/a@b",
            "http://h:80/@a/b",
            "http://h.test:80/a@b",
            "http://localhost:80/a@b",
            "http://[::1]:80/a@b",
            "http://127.0.0.1:80/?a=b@c",
            "http://${HOST}:80/a@b",
            "http://u:p@h/",
            "http://h/?a=b@c",
        ] {
            assert!(!has_unencoded_password(url), "{url}");
        }
        assert_eq!(mask_url("http://user:s3cret/p"), "http://user:***/p");
    }
}
