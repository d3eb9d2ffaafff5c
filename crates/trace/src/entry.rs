//! What a log says of one request, before it is anonymised; one value is used again for every line.

/// Nanoseconds in a second.
pub(crate) const SECOND: i64 = 1_000_000_000;

/// One request as a log has it. Empty texts were not logged.
#[derive(Clone, Default, Debug, PartialEq)]
pub(crate) struct Entry {
    /// What the log stamps, in ns since 1970 UTC.
    pub(crate) stamp: Option<i64>,
    /// The stamp knows no parts of a second.
    pub(crate) whole_second: bool,
    /// From the start to the end of the answer, ns.
    pub(crate) took: Option<u64>,
    pub(crate) method: Vec<u8>,
    /// Path and query, or a whole URL.
    pub(crate) target: Vec<u8>,
    /// The query where the log has it apart.
    pub(crate) query: Vec<u8>,
    pub(crate) status: Option<u16>,
    pub(crate) answer_bytes: Option<u64>,
    pub(crate) request_bytes: Option<u64>,
    /// The name that was given with a password.
    pub(crate) login: Vec<u8>,
    /// Whatever else tells users apart, such as an address.
    pub(crate) address: Vec<u8>,
    /// The request had credentials, though the trace has not.
    pub(crate) has_credentials: bool,
    /// Headers by their names in small letters; only those that are to be kept.
    pub(crate) headers: Vec<(String, String)>,
}

impl Entry {
    /// Forgets the line before, but not its room.
    pub(crate) fn clear(&mut self) {
        self.stamp = None;
        self.whole_second = false;
        self.took = None;
        self.status = None;
        self.answer_bytes = None;
        self.request_bytes = None;
        self.has_credentials = false;
        self.headers.clear();
        for text in [&mut self.method, &mut self.target, &mut self.query, &mut self.login, &mut self.address]
        {
            text.clear();
        }
    }

    /// Takes a request line: `GET /path HTTP/1.1`. False where it is none, as of a connection that sent something else.
    pub(crate) fn request_line(&mut self, line: &[u8]) -> bool {
        let Some(first) = memchr::memchr(b' ', line) else { return false };
        let (method, rest) = (&line[..first], &line[first + 1..]);
        // HTTP/0.9 has no version.
        let target = match memchr::memrchr(b' ', rest) {
            Some(last) if rest[last + 1..].starts_with(b"HTTP/") => &rest[..last],
            _ => rest,
        };
        self.method.extend_from_slice(method);
        self.target.extend_from_slice(target);
        is_method(method) && !target.is_empty()
    }
}

/// A method as servers accept it.
pub(crate) fn is_method(text: &[u8]) -> bool {
    (1..=20).contains(&text.len()) && text.iter().all(|b| b.is_ascii_uppercase() || b"-_".contains(b))
}
