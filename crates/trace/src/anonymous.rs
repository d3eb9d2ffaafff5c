//! What of a request stays in a trace: by default, nothing that names anyone or lets anyone in.
//!
//! The method, the status, sizes and times stay as they are. Of a path, words stay and everything that may be an id
//! becomes a number; a user becomes a number too. The numbers come from a keyed hash (SipHash-2-4): with the same key
//! the same id has the same number, and without the key nobody can compute it from a guess. The rest goes, unless it
//! is named ([`Keep`]).

use crate::Lacking;
use crate::entry::Entry;
use crate::format::Request;
use sha2::{Digest, Sha256};
use siphasher::sip::SipHasher24;
use std::borrow::Cow;
use std::fmt::Write;
use std::hash::Hasher;

/// Bytes that a secret of [`Key::from_secret`] has at the least.
pub const SECRET_MIN: usize = 16;
/// Longer segments of a path are ids, whatever they are made of.
const WORD_MAX: usize = 32;
/// Bits of an id's number: 15 decimal digits at the most, so that ids of a million users hardly ever share one.
const ID_BITS: u32 = 49;
/// Ends of file names that stay.
const EXTENSIONS: &[&str] = &[
    "asp", "aspx", "avif", "css", "csv", "eot", "gif", "gz", "htm", "html", "ico", "jpeg", "jpg", "js",
    "json", "jsp", "m3u8", "map", "mjs", "mp3", "mp4", "pdf", "php", "png", "svg", "tar", "tgz", "ts", "ttf",
    "txt", "wasm", "webm", "webp", "woff", "woff2", "xml", "zip",
];
/// Methods that need no memory of their own.
const METHODS: &[&str] = &["GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"];

/// Turns ids and users into numbers. Not shown by `Debug`.
#[derive(Clone)]
pub struct Key([u8; 16]);

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// One that nobody will have again.
    ///
    /// # Errors
    /// The system has no random bytes.
    pub fn random() -> Result<Key, std::io::Error> {
        let mut key = [0; 16];
        getrandom::fill(&mut key).map_err(std::io::Error::other)?;
        Ok(Key(key))
    }

    /// One that follows from a secret of [`SECRET_MIN`] bytes or more.
    pub fn from_secret(secret: &[u8]) -> Key {
        let digest = Sha256::digest(secret);
        let mut key = [0; 16];
        key.copy_from_slice(&digest[..16]);
        Key(key)
    }

    /// Eight digits that are the same for the same key, and say nothing about it.
    pub fn id(&self) -> String {
        let mut hash = Sha256::new();
        hash.update(b"unblink.trace key");
        hash.update(self.0);
        hash.finalize()[..4].iter().fold(String::new(), |mut id, byte| {
            let _ = write!(id, "{byte:02x}");
            id
        })
    }

    fn hash(&self, what: u8, text: &[u8]) -> u64 {
        let mut hasher = SipHasher24::new_with_key(&self.0);
        hasher.write_u8(what);
        hasher.write(text);
        hasher.finish()
    }
}

/// What stays beside the usual.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Paths as they are.
    pub path: bool,
    /// Values of all queries.
    pub query: bool,
    /// Values of these fields of queries.
    pub query_fields: Vec<String>,
    /// Users as they are.
    pub user: bool,
    /// These headers, by their names in small letters.
    pub headers: Vec<String>,
}

impl Keep {
    /// Adds what is named: `path`, `query`, `query.FIELD`, `user` or `header.NAME`.
    ///
    /// # Errors
    /// Nothing is called so.
    pub fn add(&mut self, name: &str) -> Result<(), String> {
        match (name, name.split_once('.')) {
            ("path", _) => self.path = true,
            ("query", _) => self.query = true,
            ("user", _) => self.user = true,
            (_, Some(("query", field))) if !field.is_empty() => self.query_fields.push(field.into()),
            (_, Some(("header", header))) if !header.is_empty() => {
                self.headers.push(header.to_ascii_lowercase())
            }
            _ => {
                return Err(format!(
                    "{name:?} is nothing that a log has; there are path, query, query.FIELD, user and header.NAME"
                ));
            }
        }
        Ok(())
    }
}

/// Makes requests of entries.
#[derive(Clone, Debug)]
pub struct Anonymous {
    key: Key,
    keep: Keep,
}

impl Anonymous {
    /// With this key; `keep` stays as it is.
    pub fn new(key: Key, keep: Keep) -> Anonymous {
        Anonymous { key, keep }
    }

    /// What stays beside the usual.
    pub fn keep(&self) -> &Keep {
        &self.keep
    }

    /// See [`Key::id`].
    pub fn key_id(&self) -> String {
        self.key.id()
    }

    /// The request that an entry becomes, without its time; and tells what it lacks.
    pub(crate) fn request(&self, entry: &mut Entry, lacking: &mut impl FnMut(Lacking)) -> Request {
        let method = std::str::from_utf8(&entry.method).unwrap_or_default();
        if ["POST", "PUT", "PATCH"].contains(&method) || (method == "DELETE" && entry.request_bytes > Some(0))
        {
            lacking(Lacking::Body);
        }
        if entry.has_credentials || !entry.login.is_empty() {
            lacking(Lacking::Credentials);
        }
        let path = self.path(&entry.target, &entry.query, lacking);
        let user = match (entry.login.is_empty(), entry.address.is_empty()) {
            (false, _) => Some(self.user(b'l', &entry.login)),
            (true, false) => Some(self.user(b'a', &entry.address)),
            _ => None,
        };
        Request {
            at: 0,
            method: METHODS
                .iter()
                .find(|known| **known == method)
                .map_or_else(|| Cow::Owned(method.to_string()), |known| Cow::Borrowed(*known)),
            path: path.into(),
            status: entry.status,
            answer_bytes: entry.answer_bytes,
            request_bytes: entry.request_bytes,
            took: entry.took,
            user: user.map(Into::into),
            headers: std::mem::take(&mut entry.headers),
        }
    }

    fn user(&self, kind: u8, name: &[u8]) -> String {
        if self.keep.user {
            return String::from_utf8_lossy(name).into_owned();
        }
        let mut text = String::with_capacity(16);
        let _ = write!(text, "{:016x}", self.key.hash(kind, name));
        text
    }

    fn id(&self, text: &[u8], to: &mut String) {
        let _ = write!(to, "{}", self.key.hash(b'i', text) >> (64 - ID_BITS));
    }

    fn path(&self, target: &[u8], query: &[u8], lacking: &mut impl FnMut(Lacking)) -> String {
        let target = without_origin(target);
        let target = &target[..memchr::memchr(b'#', target).unwrap_or(target.len())];
        let (path, in_target) = match memchr::memchr(b'?', target) {
            Some(mark) => (&target[..mark], &target[mark + 1..]),
            None => (target, &b""[..]),
        };
        let mut out = String::with_capacity(path.len() + in_target.len() + 24);
        if path == b"*" {
            out.push('*');
            lacking(Lacking::Path);
        } else if path.first() != Some(&b'/') {
            self.id(path, &mut out);
            lacking(Lacking::Path);
        } else if self.keep.path {
            encode(path, &mut out);
        } else {
            let mut has_ids = false;
            for segment in path[1..].split(|byte| *byte == b'/') {
                out.push('/');
                has_ids |= self.segment(segment, &mut out);
            }
            if has_ids {
                lacking(Lacking::PathIds);
            }
        }
        for query in [in_target, query.strip_prefix(b"?").unwrap_or(query)] {
            if !query.is_empty() && self.query(query, &mut out) {
                lacking(Lacking::QueryValues);
            }
        }
        out
    }

    /// Appends a segment of a path; true if it became a number.
    fn segment(&self, segment: &[u8], out: &mut String) -> bool {
        if is_word(segment) {
            out.push_str(std::str::from_utf8(segment).unwrap_or_default());
            return false;
        }
        let end = extension(segment);
        let stem = &segment[..segment.len() - end.len()];
        if is_word(stem) && !end.is_empty() {
            out.push_str(std::str::from_utf8(segment).unwrap_or_default());
            return false;
        }
        self.id(stem, out);
        out.push_str(end);
        true
    }

    /// Appends a query; true if something of it was left out.
    fn query(&self, query: &[u8], out: &mut String) -> bool {
        let (mut mark, mut leaves_out) = (if out.contains('?') { '&' } else { '?' }, false);
        for field in query.split(|byte| *byte == b'&').filter(|field| !field.is_empty()) {
            let equals = memchr::memchr(b'=', field);
            let name = &field[..equals.unwrap_or(field.len())];
            let is_kept =
                self.keep.query || self.keep.query_fields.iter().any(|kept| kept.as_bytes() == name);
            // What has no value may be one itself.
            let is_named = equals.is_some() && is_word(name);
            let is_whole = is_named && field.len() == name.len() + 1;
            leaves_out |= !is_kept && !is_whole;
            if is_kept || is_named {
                out.push(mark);
                mark = '&';
                encode(if is_kept { field } else { &field[..=name.len()] }, out);
            }
        }
        leaves_out
    }
}

/// A target without scheme and authority, in which a password may stand.
fn without_origin(target: &[u8]) -> &[u8] {
    let scheme = target.iter().position(|b| !b.is_ascii_alphanumeric() && !b"+-.".contains(b));
    let Some(rest) = scheme.and_then(|end| target[end..].strip_prefix(b"://")) else { return target };
    match rest.iter().position(|b| b"/?#".contains(b)) {
        Some(end) if rest[end] == b'/' => &rest[end..],
        _ => b"/",
    }
}

/// A word that a program was written with, such as `items`, `sign-in`, `v2` or `OrderList`; not what it was asked for.
pub(crate) fn is_word(segment: &[u8]) -> bool {
    if segment.len() > WORD_MAX {
        return false;
    }
    if let [b'v' | b'V', version @ ..] = segment
        && (1..=2).contains(&version.len())
        && version.iter().all(u8::is_ascii_digit)
    {
        return true;
    }
    let is_plain = segment.iter().all(|b| b.is_ascii_alphabetic() || b"-_.".contains(b));
    // Capitals in the middle of many places are those of a token.
    let is_turn = |pair: &&[u8]| pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase();
    let turns = segment.windows(2).filter(is_turn).count();
    is_plain && turns * 5 <= segment.len()
}

/// The known end of a file's name, with its point.
pub(crate) fn extension(segment: &[u8]) -> &str {
    let Some(point) = memchr::memrchr(b'.', segment) else { return "" };
    let end = std::str::from_utf8(&segment[point..]).unwrap_or_default();
    if end.len() > 1 && EXTENSIONS.contains(&&end[1..]) { end } else { "" }
}

/// Appends bytes as a request line may have them.
fn encode(text: &[u8], out: &mut String) {
    for &byte in text {
        match byte {
            0x21..=0x7e => out.push(byte.into()),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
}

/// A line that shows how it is built and not what it says: letters are `x`, digits `0`.
pub(crate) fn redacted(line: &[u8]) -> String {
    const SHOWN: usize = 160;
    let mut text: String = String::from_utf8_lossy(&line[..line.len().min(SHOWN)])
        .chars()
        .map(|c| match c {
            '0'..='9' => '0',
            '!'..='/' | ':'..='@' | '['..='`' | '{'..='~' | ' ' => c,
            _ => 'x',
        })
        .collect();
    if line.len() > SHOWN {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn anonymous(keep: &[&str]) -> Anonymous {
        let mut all = Keep::default();
        keep.iter().for_each(|name| all.add(name).unwrap());
        Anonymous::new(Key::from_secret(b"0123456789abcdef"), all)
    }

    fn path(target: &str, keep: &[&str]) -> String {
        anonymous(keep).path(target.as_bytes(), b"", &mut |_| ())
    }

    #[test]
    fn words_stay_and_ids_become_numbers() {
        for word in ["/", "/items", "/api/v2/sign-in", "/OrderList/all_of.them", "/js/app.js", "/a//b/"] {
            assert_eq!(path(word, &[]), word);
        }
        for (target, like) in [
            ("/items/17", "/items/#"),
            ("/items/17/parts/5d41402abc4b2a76b9719d911017c592", "/items/#/parts/#"),
            ("/users/eve@example.com", "/users/#"),
            ("/img/photo17.jpg", "/img/#.jpg"),
            ("/t/eyJhbGciOiJIUzI", "/t/#"),
            ("/t/aGVsbG9UaGVyZQ", "/t/#"),
            ("/caf%C3%A9", "/#"),
            ("/cart;jsessionid=abc", "/#"),
            ("/v234", "/#"),
            ("http://eve:pw@host:80/items/17?x=1", "/items/#?x="),
            ("https://host", "/"),
            ("/x?q=secret&page=2&hunter2&a1=3#top", "/x?q=&page="),
            ("host:443", "#"),
        ] {
            let got = path(target, &[]);
            let mut parts = like.split('#');
            let mut rest =
                got.strip_prefix(parts.next().unwrap()).unwrap_or_else(|| panic!("{target}: {got}"));
            for part in parts {
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                assert!((1..=15).contains(&digits), "{target}: {got}");
                rest = rest[digits..].strip_prefix(part).unwrap_or_else(|| panic!("{target}: {got}"));
            }
            assert_eq!(rest, "", "{target}: {got}");
        }
    }

    #[test]
    fn the_same_id_has_the_same_number_wherever_it_stands() {
        assert_eq!(path("/items/17", &[])["/items/".len()..], path("/carts/17", &[])["/carts/".len()..]);
        assert_ne!(path("/items/17", &[]), path("/items/18", &[]));
        let other = Anonymous::new(Key::from_secret(b"another of 16 or more"), Keep::default());
        assert_ne!(path("/items/17", &[]), other.path(b"/items/17", b"", &mut |_| ()));
        assert_ne!(anonymous(&[]).key_id(), other.key_id());
        assert_ne!(Key::random().unwrap().id(), Key::random().unwrap().id());
    }

    #[test]
    fn what_is_named_stays() {
        assert_eq!(path("/items/17?q=a b&t=x", &["path", "query.q"]), "/items/17?q=a%20b&t=");
        assert_eq!(path("/items?q=%C3%A9&flag", &["query"]), "/items?q=%C3%A9&flag");
        assert!(Keep::default().add("cookie").unwrap_err().contains("header.NAME"));
    }

    #[test]
    fn what_a_request_lacks_is_told() {
        let of = |method: &str, target: &str, login: &str| {
            let mut entry = Entry {
                method: method.into(),
                target: target.into(),
                login: login.into(),
                ..Entry::default()
            };
            let mut lacks = Vec::new();
            anonymous(&[]).request(&mut entry, &mut |what| lacks.push(what));
            lacks
        };
        assert_eq!(of("GET", "/items?q=", ""), []);
        assert_eq!(of("POST", "/items", "eve"), [Lacking::Body, Lacking::Credentials]);
        assert_eq!(of("GET", "/items/1?q=2", ""), [Lacking::PathIds, Lacking::QueryValues]);
        assert_eq!(of("OPTIONS", "*", ""), [Lacking::Path]);
        assert_eq!(of("CONNECT", "host:443", ""), [Lacking::Path]);
    }

    #[test]
    fn a_redacted_line_shows_its_form_only() {
        assert_eq!(redacted("eve [1] \"GET\" é\t\u{7f}".as_bytes()), "xxx [0] \"xxx\" xxx");
        assert!(redacted(&[b'"'; 500]).ends_with("\"…"));
    }

    proptest! {
        #[test]
        fn any_target_becomes_a_path_of_printable_characters(target in prop::collection::vec(any::<u8>(), 0..80)) {
            for keep in [&[][..], &["path", "query"]] {
                let path = anonymous(keep).path(&target, b"", &mut |_| ());
                prop_assert!(path.bytes().all(|b| (0x21..=0x7e).contains(&b)), "{path:?}");
            }
        }
    }
}
